/**
 * Where the files of an area are. An area of a server has a directory with its
 * name. A shard of a cluster has one with its number, and its files name the
 * shard, so that those of two shards cannot be mixed:
 *
 *     store/        "store"         an area of a single server
 *     shards/12/    "store.0012"    shard 12 of a cluster, which is a store
 */
import { areaDirectory, shardDirectory } from "../../persistence/data-directory.ts";
import type { AreaName } from "./area.ts";

export interface AreaPlace {
  readonly directory: string;
  /** The area in the headers of its files. */
  readonly name: string;
}

const SHARD_DIGITS = 4;

/** The place of an area, or of the shard with this number, in a data directory. */
export function areaPlace(dataDirectory: string, area: AreaName, shard?: number): AreaPlace {
  if (shard === undefined) return { directory: areaDirectory(dataDirectory, area), name: area };
  const digits = String(shard).padStart(SHARD_DIGITS, "0");
  return { directory: shardDirectory(dataDirectory, shard), name: `${area}.${digits}` };
}

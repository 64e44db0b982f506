/** An area of a single server as an import takes it into the shards of a cluster. */
import type { SqlSession, Statement } from "../../../../cluster/postgres/session.ts";
import type { OnBytes } from "../../../../persistence/byte-progress.ts";
import type { AreaReport } from "../../../../persistence/inspection.ts";
import type { AreaName } from "../../../areas/area.ts";
import type { Transaction } from "../transaction.ts";

/** What a shard has: nothing, or what this import writes, or something else. */
export type ShardContents = "empty" | "same" | "other";

export interface ImportSource {
  readonly area: AreaName;
  readonly report: AreaReport;
  /** The shards of the area in the cluster: at least one. */
  readonly shards: readonly number[];
  /** Those that get data. */
  readonly filled: readonly number[];
  /** For people: besides the line of the report. */
  readonly lines: readonly string[];
  contentsOf(session: SqlSession, shard: number): Promise<ShardContents>;
  /** Writes all shards, each under its new epoch. They have nothing. */
  write(
    transaction: Transaction,
    options: { epochOf(shard: number): number; readonly onBytes: OnBytes },
  ): Promise<void>;
}

const POINTER: Statement = {
  name: "larder-import-pointer",
  text: `SELECT epoch::float8 AS epoch, snapshot_number::float8 AS number, snapshot_bytes::float8 AS bytes
    FROM larder.shard WHERE id = $1::int`,
};

export interface ShardPointer {
  readonly epoch: number;
  /** Of its snapshot; null: it has none. */
  readonly number: number | null;
  readonly bytes: number | null;
}

/** The row of a shard, as far as an import compares it. */
export async function readPointer(session: SqlSession, shard: number): Promise<ShardPointer> {
  const [row] = (await session.run<ShardPointer>(POINTER, [shard])).rows;
  return row ?? { epoch: 0, number: null, bytes: null };
}

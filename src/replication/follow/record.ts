/**
 * The file `follow.json` in a directory that follows a copy: what the files beside it
 * have. It is replaced as a whole, and always after the files that it is about are
 * durable.
 *
 *     waiting -> fetching <-> following -> (a data directory: the file is removed)
 *
 * `following` is the only state that can be promoted: each area has everything before
 * its place, and the bytes after it do not count. A directory with this file and
 * without a format file is no data directory, so a server refuses it.
 */
import { parseJsonText } from "../../kernel/json/parse.ts";
import type { Disk } from "../../persistence/disk/disk.ts";
import { readFileIfThere, writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { DamagedData } from "../../persistence/errors.ts";

export const FOLLOW_FILE = "follow.json";
const FILE_MODE = 0o600;

/** `waiting`: the copy has nothing yet. `fetching`: the files are not a whole state. `following`: they are one. */
export type FollowPhase = (typeof phases)[number];

const phases = ["waiting", "fetching", "following"] as const;

export interface FollowedPlace {
  readonly name: string;
  /** The place after the last byte: a segment, and a byte in it, or 0 if the segment before is ended. */
  readonly segment: number;
  readonly offset: number;
  /** Everything that was durable at this time on the server is there. Wall-clock milliseconds of the server. */
  readonly completeToMs: number;
}

export interface FollowRecord {
  /** Of the copy, with its parameters; an address has no secret. */
  readonly address: string;
  readonly phase: FollowPhase;
  /** The id of the data directory that is copied; empty: it is not known yet. */
  readonly directory: string;
  /** 0: none yet. */
  readonly generation: number;
  /** The text of the format file. */
  readonly format: string;
  readonly areas: readonly FollowedPlace[];
  readonly tokens: "restored" | "none" | "no key";
  /** When the store was last read without a failure; 0: never. */
  readonly checkedAtMs: number;
  /** Why the last attempt failed; empty: it did not. */
  readonly problem: string;
}

export function newRecord(address: string): FollowRecord {
  return {
    ...{ address, phase: "waiting", directory: "", generation: 0, format: "", areas: [] },
    ...{ tokens: "none", checkedAtMs: 0, problem: "" },
  };
}

/** Undefined if the directory does not follow. Rejects with `DamagedData`, or with the system's error. */
export async function readRecord(disk: Disk, directory: string): Promise<FollowRecord | undefined> {
  const path = `${directory}/${FOLLOW_FILE}`;
  const bytes = await readFileIfThere(disk, path);
  return bytes === undefined ? undefined : parseRecord(bytes.toString("utf8"), path);
}

/** Rejects with the system's error; then the old record remains. */
export function writeRecord(disk: Disk, directory: string, record: FollowRecord): Promise<void> {
  return writeFileDurably(`${directory}/${FOLLOW_FILE}`, printRecord(record), { mode: FILE_MODE, disk });
}

export function printRecord(record: FollowRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`;
}

/** Throws `DamagedData`. */
export function parseRecord(text: string, path: string): FollowRecord {
  try {
    return recordOf(parseJsonText(text));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    throw new DamagedData(path, 0, "it does not say what the directory follows", { cause: error });
  }
}

function recordOf(value: unknown): FollowRecord {
  const of = fieldsOf(value);
  const phase = phases.find((each) => each === of.get("phase"));
  const tokens = (["restored", "none", "no key"] as const).find((each) => each === of.get("tokens"));
  const areas = of.get("areas");
  if (phase === undefined || tokens === undefined || !Array.isArray(areas)) throw new TypeError("A field is missing");
  return {
    ...{ phase, tokens, address: textOf(of, "address"), directory: textOf(of, "directory") },
    ...{ format: textOf(of, "format"), problem: textOf(of, "problem") },
    ...{ generation: countOf(of, "generation"), checkedAtMs: countOf(of, "checkedAtMs") },
    areas: areas.map((each: unknown) => {
      const area = fieldsOf(each);
      return {
        ...{ name: textOf(area, "name"), segment: countOf(area, "segment"), offset: countOf(area, "offset") },
        completeToMs: countOf(area, "completeToMs"),
      };
    }),
  };
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null) throw new TypeError("It is not an object");
  return new Map(Object.entries(value));
}

function textOf(of: ReadonlyMap<string, unknown>, name: string): string {
  const value = of.get(name);
  if (typeof value !== "string") throw new TypeError(`${name} is not a string`);
  return value;
}

function countOf(of: ReadonlyMap<string, unknown>, name: string): number {
  const value = of.get(name);
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new TypeError(`${name} is not a count`);
  return value;
}

/**
 * The small objects of a copy: a line of JSON, and a line with the start of its
 * SHA-256, so that a damaged one is noticed.
 *
 *     {"timeMs":1767225600000,…}
 *     2c26b46b68ffc68ff99b453c1d304134
 */
import { createHash } from "node:crypto";
import { parseJsonText } from "../kernel/json/parse.ts";
import { DamagedCopy } from "./errors.ts";
import { SUM_DIGITS } from "./names.ts";
import type { ListedObject, ObjectStore } from "./objects/object-store.ts";

/** A server that began to copy. */
export interface OwnerNote {
  readonly generation: number;
  /** The id of its data directory. */
  readonly directory: string;
  readonly version: string;
  readonly startedAtMs: number;
}

/** From `timeMs` on the generation has the state. */
export interface BeginNote {
  readonly timeMs: number;
  readonly directory: string;
  readonly version: string;
  /** The text of the format file of the data directory. */
  readonly format: string;
  readonly areas: readonly BegunArea[];
}

/** An area at a time: everything that was durable then is in the copy. */
export interface AreaProof {
  readonly name: string;
  readonly completeToMs: number;
  /** Where the copy ended: a segment, and a byte in it. */
  readonly segment: number;
  readonly offset: number;
}

export interface BegunArea extends AreaProof {
  /** Objects of earlier generations that are part of this one. */
  readonly objects: readonly ListedObject[];
}

/** A proof that areas without newer objects were idle. */
export interface TickNote {
  readonly timeMs: number;
  readonly areas: readonly TickedArea[];
}

export interface TickedArea extends AreaProof {
  /**
   * The segments of the data directory, when the copy last had everything: later states need none before `segmentsFrom` except
   * these. 0: all.
   */
  readonly segments: readonly number[];
  readonly segmentsFrom: number;
}

/** A byte of a segment up to which it was complete at a time. */
export interface SegmentTime {
  readonly end: number;
  readonly timeMs: number;
}

export interface TimesNote {
  /** Ascending; the last one is the end of the segment. */
  readonly times: readonly SegmentTime[];
}

const NOTE_BYTES_MAX = 256 * 1024 * 1024;

export function printNote(note: OwnerNote | BeginNote | TickNote | TimesNote): Buffer {
  const line = JSON.stringify(note);
  return Buffer.from(`${line}\n${sumOf(line)}\n`, "utf8");
}

/** The note of this name; undefined if it does not exist. Rejects with `DamagedCopy`, or as the store does. */
export async function readNote<Note>(
  store: ObjectStore,
  name: string,
  parse: (fields: ReadonlyMap<string, unknown>) => Note,
): Promise<Note | undefined> {
  const bytes = await store.get(name, { start: 0, end: NOTE_BYTES_MAX });
  if (bytes === undefined) return undefined;
  const [line = "", sum, ...rest] = bytes.toString("utf8").split("\n");
  if (sum !== sumOf(line) || rest.length !== 1 || rest[0] !== "") throw new DamagedCopy(name, "its checksum differs");
  try {
    return parse(objectOf(parseJsonText(line)));
  } catch (error) {
    if (!(error instanceof NotThis || error instanceof SyntaxError)) throw error;
    throw new DamagedCopy(name, error.message);
  }
}

export function parseOwner(of: ReadonlyMap<string, unknown>): OwnerNote {
  return {
    generation: countOf(of.get("generation")),
    directory: textOf(of.get("directory")),
    version: textOf(of.get("version")),
    startedAtMs: countOf(of.get("startedAtMs")),
  };
}

export function parseBegin(of: ReadonlyMap<string, unknown>): BeginNote {
  return {
    timeMs: countOf(of.get("timeMs")),
    directory: textOf(of.get("directory")),
    version: textOf(of.get("version")),
    format: textOf(of.get("format")),
    areas: listOf(of.get("areas")).map((value) => {
      const area = objectOf(value);
      const objects = listOf(area.get("objects")).map((object) => {
        const { name, bytes } = Object.fromEntries(objectOf(object));
        return { name: textOf(name), bytes: countOf(bytes) };
      });
      return { ...proofOf(area), objects };
    }),
  };
}

export function parseTick(of: ReadonlyMap<string, unknown>): TickNote {
  return {
    timeMs: countOf(of.get("timeMs")),
    areas: listOf(of.get("areas")).map((value) => {
      const area = objectOf(value);
      return {
        ...proofOf(area),
        segments: listOf(area.get("segments")).map(countOf),
        segmentsFrom: countOf(area.get("segmentsFrom")),
      };
    }),
  };
}

export function parseTimes(of: ReadonlyMap<string, unknown>): TimesNote {
  return {
    times: listOf(of.get("times")).map((value) => {
      const entry = objectOf(value);
      return { end: countOf(entry.get("end")), timeMs: countOf(entry.get("timeMs")) };
    }),
  };
}

function proofOf(area: ReadonlyMap<string, unknown>): AreaProof {
  return {
    name: textOf(area.get("name")),
    completeToMs: countOf(area.get("completeToMs")),
    segment: countOf(area.get("segment")),
    offset: countOf(area.get("offset")),
  };
}

/** The start of the SHA-256 that names of objects have. */
export function sumOf(bytes: string | Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, SUM_DIGITS);
}

class NotThis extends Error {}

function objectOf(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null) throw new NotThis("a field is not an object");
  return new Map(Object.entries(value));
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new NotThis("a field is not an array");
  return value;
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new NotThis("a field is not a string");
  return value;
}

function countOf(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new NotThis("a field is not a count");
  return value;
}

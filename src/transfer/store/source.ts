/** The source of `larder import`: it returns its keys in batches, from a position on. */
import type { Bytes } from "../../kernel/bytes.ts";
import { StartRefusal } from "../../program/refusal.ts";
import type { SearchIndexValue } from "./search-index.ts";

export interface SourceEntry {
  readonly key: Bytes;
  /** When it expires, in ms since the epoch; undefined: never. */
  readonly atMs: number | undefined;
  readonly value: SourceValue;
}

export type SourceValue =
  /** A payload of DUMP. */
  | { readonly kind: "dump"; readonly payload: Bytes }
  /** A JSON document, as UTF-8 text. */
  | { readonly kind: "document"; readonly text: Bytes }
  | SearchIndexValue
  /** A value that cannot be transferred, and the reason. */
  | { readonly kind: "refused"; readonly reason: string };

export interface SourceBatch {
  readonly entries: readonly SourceEntry[];
  /** The position from which a later import continues, once these are stored; opaque text of the source. */
  readonly position: string;
}

export interface SourceLibraries {
  /** The code of each library of functions. */
  readonly codes: readonly Bytes[];
  /** Why there may be more libraries than were read. */
  readonly remark?: string;
}

export interface StoreSource {
  /** For people; never contains a secret. */
  readonly name: string;
  /** An import continues only from a source with the same value. */
  readonly identity: string;
  /** The number of keys, if known. Rejects with a `StartRefusal` if nothing can be read. */
  open(): Promise<{ readonly keyCount: number | undefined; readonly remarks: readonly string[] }>;
  readLibraries(): Promise<SourceLibraries>;
  /** Whether a position of an earlier import is still one of this source; otherwise all keys are read again. */
  continuesAt(position: string): boolean;
  /** All keys, or those after a position. A key may come twice. Fails with a `StartRefusal`. */
  batches(from: string | undefined): AsyncIterable<SourceBatch>;
  close(): Promise<void>;
}

/** Keys per request. */
export const BATCH_KEYS = 500;
/** A batch ends when its values have this length together. */
export const BATCH_BYTES = 4 * 1024 * 1024;

/** The process that answered, in its reply to INFO server; empty if it does not say. */
export function runIdOf(info: unknown): string {
  return (typeof info === "string" ? /^run_id:(\w+)/m.exec(info)?.[1] : undefined) ?? "";
}

/** A refusal about the source. */
export function sourceRefusal(name: string, reason: string, cause?: unknown): StartRefusal {
  return new StartRefusal(`${name}: ${reason}`, 1, cause === undefined ? undefined : { cause });
}

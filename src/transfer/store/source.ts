/** What `larder import` reads a store from: a source gives its keys in batches, from a position on. */
import type { Bytes } from "../../kernel/bytes.ts";
import { StartRefusal } from "../../program/refusal.ts";

export interface SourceEntry {
  readonly key: Bytes;
  /** When it expires, in ms since the epoch; undefined: never. */
  readonly atMs: number | undefined;
  readonly value: SourceValue;
}

export type SourceValue =
  /** As DUMP gives it. */
  | { readonly kind: "dump"; readonly payload: Buffer }
  /** A JSON document, as its text in UTF-8. */
  | { readonly kind: "document"; readonly text: Bytes }
  /** One that cannot be carried, and why. */
  | { readonly kind: "refused"; readonly reason: string };

export interface SourceBatch {
  readonly entries: readonly SourceEntry[];
  /** From where a later import goes on, once these are stored; text that only the source understands. */
  readonly position: string;
}

export interface SourceLibraries {
  /** The code of each library of functions. */
  readonly codes: readonly Bytes[];
  /** Why there may be more than was read. */
  readonly remark?: string;
}

export interface StoreSource {
  /** For people; never with a secret in it. */
  readonly name: string;
  /** An import goes on only from a source that says the same here. */
  readonly identity: string;
  /** How many keys there are, as far as it is known. Rejects with a `StartRefusal` when nothing can be read. */
  open(): Promise<{ readonly keyCount: number | undefined; readonly remarks: readonly string[] }>;
  readLibraries(): Promise<SourceLibraries>;
  /** Everything, or what comes behind a position. A key may come twice. Fails with a `StartRefusal`. */
  batches(from: string | undefined): AsyncIterable<SourceBatch>;
  close(): Promise<void>;
}

/** So many keys are asked for at a time. */
export const BATCH_KEYS = 500;
/** A batch ends when its values are so long together. */
export const BATCH_BYTES = 4 * 1024 * 1024;

/** What the source itself says is wrong. */
export function sourceRefusal(name: string, reason: string, cause?: unknown): StartRefusal {
  return new StartRefusal(`${name}: ${reason}`, 1, cause === undefined ? undefined : { cause });
}

/** The records of the history. They do not depend on messaging: states are numbers, details are bytes. */
import { assert } from "../../kernel/assert.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";

/** One per message, when it is accepted. */
export interface HistoryMessage {
  /** 0 … 2^53 - 1; grows with the order of acceptance and is unique in the server. */
  readonly message: number;
  readonly user: number;
  readonly id: string;
  /** The attributes that listings can filter by; a name may occur several times. */
  readonly attributes: readonly (readonly [name: string, value: string])[];
  /** Returned with each of its entries. */
  readonly detail: Uint8Array;
}

/** A message entered a state. */
export interface HistoryEntry {
  readonly message: number;
  readonly timeMs: number;
  /** 0 … STATE_MAX. */
  readonly state: number;
  readonly detail: Uint8Array | undefined;
}

export const STATE_MAX = 15;

/** The changes of some frames of the journal, in order. */
export interface HistoryBatch {
  readonly messages: readonly HistoryMessage[];
  readonly entries: readonly HistoryEntry[];
  /** The position of the journal after the last of these frames; they begin where the previous batch ended. */
  readonly position: number;
  /** Deleted users: their messages up to now are no longer listed. */
  readonly droppedUsers?: readonly number[];
}

/** Attributes as `JSON.stringify` wrote them. */
export function parseAttributes(text: string): HistoryMessage["attributes"] {
  const pairs: unknown = parseJsonText(text);
  assert(Array.isArray(pairs) && pairs.every(isPair), "attributes are pairs of name and value");
  return pairs;
}

function isPair(pair: unknown): pair is readonly [string, string] {
  return Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "string" && typeof pair[1] === "string";
}

/**
 * The size limit of a reply (threats A-15): a short request must not make the
 * server hold an unbounded reply. A command whose reply is not bounded by its
 * own arguments counts the elements while it builds them.
 */
import { replyTooLarge, StoppedUnit } from "../errors.ts";
import type { Reply } from "./reply.ts";

/** Limit of the strings of one reply in bytes, and the cost of each beside its bytes. */
export const REPLY_BYTES_MAX = 128 * 1024 * 1024;
/** Approximate size of an element on the wire and in memory, however short it is. */
const ELEMENT_BYTES = 16;
/** What the digits of a number take beside that. */
const NUMBER_BYTES = 16;

/** Limit of the size of a reply in RESP and in memory. The reply of a script may be nested by thousands of levels. */
function replyBytesOf(reply: Reply): number {
  let bytes = 0;
  const lists: (readonly Reply[])[] = [[reply]];
  for (let list = lists.pop(); list !== undefined; list = lists.pop()) {
    bytes += list.length * ELEMENT_BYTES;
    for (const item of list) {
      if (item === null) continue;
      if (typeof item === "number" || typeof item === "bigint") bytes += NUMBER_BYTES;
      else if (typeof item === "string" || item instanceof Uint8Array) bytes += item.length;
      else if (!("kind" in item)) lists.push(item);
      else if (item.kind === "map" || item.kind === "pairs") for (const pair of item.pairs) lists.push(pair);
      else if (item.kind === "flat pairs" || item.kind === "push") lists.push(item.items);
      else if (item.kind === "array in resp3") lists.push([item.elsewhere]);
      else if (item.kind === "set") lists.push(item.members);
      else if (item.kind === "verbatim") bytes += item.text.length;
      else if (item.kind === "double") bytes += item.text?.length ?? NUMBER_BYTES;
    }
  }
  return bytes;
}

/** The limit of all replies of one batch. */
const BATCH_REPLY_BYTES_MAX = 256 * 1024 * 1024;

/** The replies of a transaction, while they are made. They fit one reply in RESP. */
export class BatchReplies {
  readonly replies: Reply[] = [];
  readonly #bytesMax: number;
  /** Those of the array around them. */
  #bytes = ELEMENT_BYTES;

  constructor(bytesMax = BATCH_REPLY_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** @throws {StoppedUnit} if they are too large together. */
  add(reply: Reply): void {
    this.#bytes += replyBytesOf(reply);
    if (this.#bytes > this.#bytesMax) throw StoppedUnit.becauseOf(replyTooLarge);
    this.replies.push(reply);
  }
}

export class ReplyBudget {
  #leftBytes: number;

  constructor(bytesMax = REPLY_BYTES_MAX) {
    this.#leftBytes = bytesMax;
  }

  /** Refuses a number of elements that can never fit, before any of them is built. */
  expect(elementCount: number): void {
    if (elementCount * ELEMENT_BYTES > this.#leftBytes) throw replyTooLarge;
  }

  /** Counts one element of this many bytes. Throws `replyTooLarge` above the limit. */
  take(byteCount: number): void {
    this.#leftBytes -= byteCount + ELEMENT_BYTES;
    if (this.#leftBytes < 0) throw replyTooLarge;
  }
}

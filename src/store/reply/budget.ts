/**
 * The size limit of a reply (threats A-15): a short request must not make the
 * server hold an unbounded reply. A command whose reply is not bounded by its
 * own arguments counts the elements while it builds them.
 */
import { replyTooLarge } from "../errors.ts";
import { errorReply, type Reply } from "./reply.ts";

/** Limit of the strings of one reply in bytes, and the cost of each beside its bytes. */
export const REPLY_BYTES_MAX = 128 * 1024 * 1024;
/** Approximate size of an element on the wire and in memory, however short it is. */
const ELEMENT_BYTES = 16;

/** Approximate size of a reply on the wire and in memory. */
function replyBytesOf(reply: Reply): number {
  if (reply === null || typeof reply === "number" || typeof reply === "bigint") return ELEMENT_BYTES;
  if (typeof reply === "string" || reply instanceof Uint8Array) return ELEMENT_BYTES + reply.length;
  if (!("kind" in reply)) return bytesOfAll(reply);
  switch (reply.kind) {
    case "map":
    case "pairs":
      return reply.pairs.reduce((sum, [key, value]) => sum + replyBytesOf(key) + replyBytesOf(value), ELEMENT_BYTES);
    case "flat pairs":
    case "push":
      return bytesOfAll(reply.items);
    case "set":
      return bytesOfAll(reply.members);
    case "verbatim":
      return ELEMENT_BYTES + reply.text.length;
    default:
      return ELEMENT_BYTES;
  }
}

function bytesOfAll(replies: readonly Reply[]): number {
  let sum = ELEMENT_BYTES;
  for (let i = 0; i < replies.length; i += 1) sum += replyBytesOf(replies[i] as Reply);
  return sum;
}

/** The limit of all replies of one batch: those above it are errors, as when they are printed. */
const BATCH_REPLY_BYTES_MAX = 256 * 1024 * 1024;

const tooLarge = errorReply(replyTooLarge);

/** The replies of a transaction, while they are made. */
export class BatchReplies {
  readonly replies: Reply[] = [];
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax = BATCH_REPLY_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  add(reply: Reply): void {
    const bytes = replyBytesOf(reply);
    if (this.#bytes + bytes > this.#bytesMax) {
      this.replies.push(tooLarge);
      return;
    }
    this.#bytes += bytes;
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

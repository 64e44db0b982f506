/**
 * How much one command may answer (threats A-15): a short request must not
 * make the server hold a reply without bounds. A command whose reply is not
 * bounded by its own arguments counts what it puts in, while it builds it.
 */
import { replyTooLarge } from "../errors.ts";
import { errorReply, type Reply } from "./reply.ts";

/** Bytes of all strings of one reply, and what each of them costs beside its bytes. */
export const REPLY_BYTES_MAX = 128 * 1024 * 1024;
/** An element takes about so much on the wire and in memory, however short it is. */
const ELEMENT_BYTES = 16;

/** About what a reply takes on the wire and in memory. */
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

/** What the replies of one batch may take together: those beyond it are errors, as when they are printed. */
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

  /** Refuses at once so many elements as can never fit, before any of them is built. */
  expect(elementCount: number): void {
    if (elementCount * ELEMENT_BYTES > this.#leftBytes) throw replyTooLarge;
  }

  /** Counts one element of so many bytes. Throws `replyTooLarge` when it is one too many. */
  take(byteCount: number): void {
    this.#leftBytes -= byteCount + ELEMENT_BYTES;
    if (this.#leftBytes < 0) throw replyTooLarge;
  }
}

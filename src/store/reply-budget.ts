/**
 * How much one command may answer (threats A-15): a short request must not
 * make the server hold a reply without bounds. A command whose reply is not
 * bounded by its own arguments counts what it puts in, while it builds it.
 */
import { replyTooLarge } from "./errors.ts";

/** Bytes of all strings of one reply, and what each of them costs beside its bytes. */
export const REPLY_BYTES_MAX = 128 * 1024 * 1024;
/** An element takes about so much on the wire and in memory, however short it is. */
const ELEMENT_BYTES = 16;

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

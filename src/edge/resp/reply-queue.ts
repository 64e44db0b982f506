/**
 * The replies of a connection, until the journal is safe and the socket takes
 * them.
 *
 * (1) Bytes leave in the order in which they were added.
 * (2) Replies leave when the journal is safe up to its end at the time of their
 *     flush, which is after everything that they saw. So the code that adds a
 *     reply flushes before anything else can happen.
 * (3) There is one wait for the journal at a time. Its end is also the answer for
 *     what was held when it began, up to its position: in a cluster, nothing
 *     else can say so (`Journal.safe`).
 */
import type { Bytes } from "../../kernel/bytes.ts";

/** The journal of the store, which replies wait for. */
export interface ReplyJournal {
  readonly end: number;
  readonly safe: number;
  whenSafe(position: number): Promise<void>;
}

interface Held {
  readonly text: Bytes;
  readonly position: number;
}

export interface ReplyQueueOptions {
  readonly journal: ReplyJournal;
  /** Sends bytes that may leave. */
  readonly write: (text: Bytes) => void;
  /** Called after held bytes have been written. */
  readonly released: () => void;
}

export class ReplyQueue {
  readonly #options: ReplyQueueOptions;
  #text: Bytes = "";
  /** Whether `#text` has replies; pushes are safe already. */
  #hasReplies = false;
  #held: Held[] = [];
  #heldBytes = 0;
  #isWaiting = false;
  #isDropped = false;

  constructor(options: ReplyQueueOptions) {
    this.#options = options;
  }

  addReply(text: Bytes): void {
    this.#text += text;
    this.#hasReplies = true;
  }

  addPush(text: Bytes): void {
    this.#text += text;
  }

  /** Added bytes that were not passed to `write` yet. */
  get bytes(): number {
    return this.#text.length + this.#heldBytes;
  }

  /** Bytes that are not flushed yet. */
  get unflushedBytes(): number {
    return this.#text.length;
  }

  /** Writes the bytes that may leave now, and holds the rest. keeps (2) */
  flush(): void {
    const text = this.#text;
    if (text === "" || this.#isDropped) return;
    const { journal, write } = this.#options;
    const position = this.#hasReplies ? journal.end : -1;
    this.#text = "";
    this.#hasReplies = false;
    if (this.#held.length === 0 && journal.safe >= position) {
      write(text);
      return;
    }
    this.#held.push({ text, position }); // keeps (1)
    this.#heldBytes += text.length;
    this.#wait();
  }

  /** Drops all bytes, because the connection has ended. */
  drop(): void {
    this.#isDropped = true;
    this.#text = "";
    this.#held = [];
    this.#heldBytes = 0;
  }

  /** keeps (3) */
  #wait(): void {
    const [first] = this.#held;
    if (first === undefined || this.#isWaiting) return;
    this.#isWaiting = true;
    const waited = { position: first.position, count: this.#held.length };
    void this.#options.journal.whenSafe(first.position).then(() => {
      this.#isWaiting = false;
      this.#release(waited);
    });
  }

  #release(waited: { position: number; count: number }): void {
    const { safe } = this.#options.journal;
    let count = 0;
    let text = "";
    for (const held of this.#held) {
      if (held.position > (count < waited.count ? Math.max(safe, waited.position) : safe)) break;
      text += held.text;
      count += 1;
    }
    this.#held.splice(0, count);
    this.#heldBytes -= text.length;
    if (text !== "") this.#options.write(text);
    this.#wait();
    this.#options.released();
  }
}

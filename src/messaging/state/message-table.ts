/**
 * All unfinished messages by sequence number. Sequence numbers ascend, so the
 * table consists of pages of consecutive numbers: a lookup takes two steps, the
 * table is never rehashed, and a page is removed with its last message. (A `Map`
 * blocks for 0.3 s when it grows beyond 3 M entries.)
 */
import { assert } from "../../kernel/assert.ts";
import type { Message } from "./message.ts";

const PAGE_MESSAGES = 1_024;

interface Page {
  readonly messages: (Message | undefined)[];
  count: number;
}

export class MessageTable {
  readonly #pages = new Map<number, Page>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(sequence: number): Message | undefined {
    return this.#pages.get(Math.floor(sequence / PAGE_MESSAGES))?.messages[sequence % PAGE_MESSAGES];
  }

  add(message: Message): void {
    const { sequence } = message;
    const number = Math.floor(sequence / PAGE_MESSAGES);
    let page = this.#pages.get(number);
    if (page === undefined) {
      page = { messages: new Array(PAGE_MESSAGES).fill(undefined), count: 0 };
      this.#pages.set(number, page);
    }
    assert(page.messages[sequence % PAGE_MESSAGES] === undefined, "a sequence number is given out once");
    page.messages[sequence % PAGE_MESSAGES] = message;
    page.count += 1;
    this.#size += 1;
  }

  remove({ sequence }: Message): void {
    const number = Math.floor(sequence / PAGE_MESSAGES);
    const page = this.#pages.get(number);
    assert(page?.messages[sequence % PAGE_MESSAGES] !== undefined, "a message exists when it is removed");
    page.messages[sequence % PAGE_MESSAGES] = undefined;
    page.count -= 1;
    this.#size -= 1;
    if (page.count === 0) this.#pages.delete(number);
  }

  /** In the order of acceptance. Messages may be removed during the iteration; added ones may be skipped. */
  *[Symbol.iterator](): Generator<Message> {
    for (const number of [...this.#pages.keys()].sort((a, b) => a - b)) {
      for (const message of this.#pages.get(number)?.messages ?? []) if (message !== undefined) yield message;
    }
  }
}

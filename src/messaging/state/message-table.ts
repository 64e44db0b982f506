/**
 * All unfinished messages by their sequence number. Numbers are given out
 * ascending, so the table is pages of neighbours: finding one costs two looks,
 * nothing is ever rehashed, and a page goes with its last message. (A `Map`
 * stops everybody for 0.3 s when it grows beyond 3 M entries.)
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
    assert(page?.messages[sequence % PAGE_MESSAGES] !== undefined, "a message that is removed is there");
    page.messages[sequence % PAGE_MESSAGES] = undefined;
    page.count -= 1;
    this.#size -= 1;
    if (page.count === 0) this.#pages.delete(number);
  }

  /** In the order of acceptance. Messages may be removed meanwhile; those added meanwhile may come or not. */
  *[Symbol.iterator](): Generator<Message> {
    for (const number of [...this.#pages.keys()].sort((a, b) => a - b)) {
      for (const message of this.#pages.get(number)?.messages ?? []) if (message !== undefined) yield message;
    }
  }
}

/** Turns found entries into a page: adds their details and messages, up to the bounds of a page. */
import { bytesOf, type Database, numberOf, type Statement, textOf } from "./database.ts";
import type { FoundEntry } from "./listing.ts";
import { type EntryKey, type HistoryPage, PAGE_BYTES_MAX, printCursor } from "./query.ts";
import { type HistoryMessage, parseAttributes } from "./record.ts";

export class PageBuilder {
  readonly #findMessage: Statement;
  readonly #findDetail: Statement;

  constructor(database: Database) {
    this.#findMessage = database.prepare("SELECT user, id, attributes, detail FROM message WHERE number = ?");
    this.#findDetail = database.prepare("SELECT bytes FROM detail WHERE entry = ?");
  }

  /** Another page follows if `found` has more than `count` entries, or after `end` if it is defined. */
  build(found: readonly FoundEntry[], count: number, end: EntryKey | undefined): HistoryPage {
    const entries: HistoryPage["entries"][number][] = [];
    const messages = new Map<number, HistoryMessage>();
    let bytes = 0;
    let last: FoundEntry | undefined;
    for (const foundEntry of found) {
      // The first entry may be longer than a page.
      if (last !== undefined && (entries.length === count || bytes >= PAGE_BYTES_MAX)) {
        return { entries, cursor: printCursor(last) };
      }
      last = foundEntry;
      let message = messages.get(foundEntry.message);
      if (message === undefined) {
        message = this.#readMessage(foundEntry.message);
        // The message was removed while another of its entries was added.
        if (message === undefined) continue;
        messages.set(foundEntry.message, message);
        bytes += message.detail.length;
      }
      const detail = this.#readDetail(foundEntry.number);
      bytes += detail?.length ?? 0;
      const { timeMs, state } = foundEntry;
      entries.push({ entry: { message: foundEntry.message, timeMs, state, detail }, message });
    }
    return { entries, cursor: end === undefined ? undefined : printCursor(end) };
  }

  #readMessage(message: number): HistoryMessage | undefined {
    const row = this.#findMessage.get(message);
    if (row === undefined) return undefined;
    return {
      message,
      user: numberOf(row["user"]),
      id: textOf(row["id"]),
      attributes: parseAttributes(textOf(row["attributes"])),
      detail: bytesOf(row["detail"]),
    };
  }

  #readDetail(entry: number): Uint8Array | undefined {
    const row = this.#findDetail.get(entry);
    return row === undefined ? undefined : bytesOf(row["bytes"]);
  }
}

/**
 * The spans as the writer knows them: stretches of time, one after the other,
 * that together hold all time.
 *
 * (1) Span 0 begins at 0 and stays. What begins before all others belongs to it.
 * (2) Spans are numbered in the order of time. The newest one ends, and the
 *     next begins, at the time of an entry that is later than all before it: no
 *     entry changes its span. So while a wall clock that was far ahead is back,
 *     the newest span grows beyond its size: listings of it take longer.
 */
import { assert } from "../../kernel/assert.ts";
import { type Database, numberOf, type Statement } from "./database.ts";
import { SPAN_ENTRIES, TIME_MS_END } from "./layout.ts";

interface Span {
  readonly number: number;
  readonly startMs: number;
  endMs: number;
  lastMs: number;
  entryCount: number;
  isChanged: boolean;
}

export class Spans {
  readonly #spanEntries: number;
  readonly #select: Statement;
  readonly #write: Statement;
  #spans: Span[] = [];

  constructor(database: Database, spanEntries = SPAN_ENTRIES) {
    this.#spanEntries = spanEntries;
    this.#select = database.prepare("SELECT * FROM span ORDER BY number");
    this.#write = database.prepare("INSERT OR REPLACE INTO span VALUES (?, ?, ?, ?, ?)");
    this.read();
  }

  /** Reads what the file says, after others changed it or a transaction was undone. */
  read(): void {
    this.#spans = this.#select.all().map((row) => ({
      number: numberOf(row["number"]),
      startMs: numberOf(row["start_ms"]),
      endMs: numberOf(row["end_ms"]),
      lastMs: numberOf(row["last_ms"]),
      entryCount: numberOf(row["entry_count"]),
      isChanged: false,
    }));
  }

  /** Counts one entry. Returns the number of its span. */
  take(timeMs: number): number {
    const newest = this.#spans.at(-1);
    const span = newest === undefined || timeMs < newest.startMs ? this.#find(timeMs) : newest;
    if (span === newest && span.entryCount >= this.#spanEntries && timeMs > span.lastMs)
      return this.#begin(timeMs, span);
    span.entryCount += 1;
    if (timeMs > span.lastMs) span.lastMs = timeMs;
    span.isChanged = true;
    return span.number;
  }

  /** Writes what `take` changed. */
  write(): void {
    for (const span of this.#spans) {
      if (!span.isChanged) continue;
      this.#write.run(span.number, span.startMs, span.endMs, span.lastMs, span.entryCount);
      span.isChanged = false;
    }
  }

  #begin(startMs: number, before: Span): number {
    before.endMs = startMs;
    before.isChanged = true;
    const number = before.number + 1;
    this.#spans.push({ number, startMs, endMs: TIME_MS_END, lastMs: startMs, entryCount: 1, isChanged: true });
    return number;
  }

  /** From the newest backwards: what is late is late by little. */
  #find(timeMs: number): Span {
    const span = this.#spans.findLast(({ startMs }) => startMs <= timeMs);
    assert(span !== undefined, "span 0 begins before all entries"); // keeps (1)
    return span;
  }
}

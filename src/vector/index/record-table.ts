/**
 * The records of a namespace: id to record number and back, insertion order, and
 * the parts that are not searched: data and the version of the vector. All of it
 * is outside V8's heap (`../records/`).
 *
 * (1) Numbers are dense: every number below `end` was assigned, and a freed
 *     number is assigned again before a new one.
 * (2) If fewer than half of the numbers are taken, `nextMove` returns the record
 *     to move into a gap, so that arrays by number shrink.
 */
import { assert } from "../../kernel/assert.ts";
import { IdTable } from "../records/id-table.ts";
import { Float64Pages, Uint32Pages } from "../records/number-pages.ts";
import { TextStore } from "../records/text-store.ts";
import type { RowMemory } from "../rows/row-memory.ts";
import { InsertionOrder } from "./insertion-order.ts";

/** Namespaces smaller than this are never compacted. */
const GAPS_MIN = 1_024;
/** Of a record: its version and its place. */
const RECORD_BYTES = 20;
/** Of a record with data: its location. */
const DATA_BYTES = 4;

export class RecordTable {
  readonly order: InsertionOrder;
  readonly #ids: IdTable;
  readonly #data: TextStore;
  #dataCount = 0;
  readonly #versions: Float64Pages;
  #end = 0;
  /** May hold numbers that are taken again or beyond the end, so each is checked when it is taken. */
  readonly #free: Uint32Pages;
  #freeCount = 0;

  constructor(memory: RowMemory) {
    this.order = new InsertionOrder(memory);
    this.#ids = new IdTable(memory);
    this.#data = new TextStore(memory);
    this.#versions = new Float64Pages(memory);
    this.#free = new Uint32Pages(memory);
  }

  /** The number of records. */
  get count(): number {
    return this.order.count;
  }

  /** One above the highest number in use or free. */
  get end(): number {
    return this.#end;
  }

  /** The bytes of all data, in UTF-8. */
  get dataBytes(): number {
    return this.#data.textBytes;
  }

  /** The memory of all records in it, without what `byteCount` has unused. */
  get liveBytes(): number {
    const data = this.#data.liveBytes + this.#dataCount * DATA_BYTES;
    return this.#ids.liveBytes + data + this.count * RECORD_BYTES;
  }

  /** The memory outside the heap. */
  get byteCount(): number {
    const numbers = this.#versions.byteCount + this.#free.byteCount + this.order.byteCount;
    return this.#ids.byteCount + this.#data.byteCount + numbers;
  }

  find(id: string): number | undefined {
    return this.#ids.find(id);
  }

  /** Whether a record has that number. */
  has(record: number): boolean {
    return this.#ids.has(record);
  }

  /** The id, or undefined if no record has that number. */
  idOf(record: number): string | undefined {
    return this.#ids.idOf(record);
  }

  /** Whether a record has that number, and an id that begins with `prefix`. */
  hasPrefix(record: number, prefix: string): boolean {
    return this.#ids.startsWith(record, prefix);
  }

  dataOf(record: number): string | undefined {
    return this.#data.get(record);
  }

  setData(record: number, data: string | undefined): void {
    this.#dataCount += Number(data !== undefined) - Number(this.#data.has(record));
    this.#data.set(record, data);
  }

  versionOf(record: number): number {
    return this.#versions.get(record);
  }

  setVersion(record: number, version: number): void {
    this.#versions.set(record, version);
  }

  /** Assigns a number to a new id. */
  add(id: string): number {
    const record = this.#takeFree() ?? this.#end;
    this.#end = Math.max(this.#end, record + 1);
    this.#ids.add(id, record);
    this.order.append(record);
    return record;
  }

  remove(record: number): void {
    assert(this.has(record), "a removed record exists");
    this.setData(record, undefined);
    this.#versions.set(record, 0);
    this.#ids.remove(record);
    this.order.remove(record);
    this.#free.set(this.#freeCount, record);
    this.#freeCount += 1;
  }

  /** The record with the highest number and its target gap, while more numbers are free than taken: keeps (2). */
  nextMove(): { readonly from: number; readonly to: number } | undefined {
    if (this.end - this.count <= Math.max(GAPS_MIN, this.count)) return undefined;
    this.#dropFreeEnd();
    const from = this.end - 1;
    const to = this.#takeFree();
    return to === undefined || from < 0 ? undefined : { from, to };
  }

  /** Changes the record's number to `to`, which `nextMove` took. */
  move(from: number, to: number): void {
    assert(this.has(from) && !this.has(to), "a record moves to a free number");
    this.#ids.move(from, to);
    this.#data.move(from, to);
    this.#versions.set(to, this.#versions.get(from));
    this.#versions.set(from, 0);
    this.order.rename(from, to);
    this.#dropFreeEnd();
  }

  clear(): void {
    for (const part of [this.order, this.#ids, this.#data, this.#versions, this.#free]) part.clear();
    this.#dataCount = 0;
    this.#end = 0;
    this.#freeCount = 0;
  }

  #takeFree(): number | undefined {
    while (this.#freeCount > 0) {
      this.#freeCount -= 1;
      const record = this.#free.get(this.#freeCount);
      if (record < this.#end && !this.has(record)) return record; // keeps (1)
    }
    this.#free.clear();
    return undefined;
  }

  #dropFreeEnd(): void {
    let { end } = this;
    while (end > 0 && !this.has(end - 1)) end -= 1;
    this.#end = end;
    this.#ids.freeFrom(end);
    this.#data.freeFrom(end);
    this.#versions.freeFrom(end);
    this.order.freeFrom(end);
  }
}

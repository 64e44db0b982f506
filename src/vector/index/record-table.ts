/**
 * The records of a namespace: id to record number and back, insertion order, and
 * the parts that are not searched: data and the version of the vector.
 *
 * (1) Numbers are dense: every number below `end` was assigned, and a freed
 *     number is assigned again before a new one.
 * (2) If fewer than half of the numbers are taken, `nextMove` returns the record
 *     to move into a gap, so that arrays by number shrink.
 */
import { assert } from "../../kernel/assert.ts";
import { InsertionOrder } from "./insertion-order.ts";

/**
 * A Map of a million ids grows in one call that takes a tenth of a second. Many
 * small ones grow at different times, and each quickly.
 */
const SHARD_COUNT = 64;
/** Namespaces smaller than this are never compacted. */
const GAPS_MIN = 1_024;

export class RecordTable {
  readonly order = new InsertionOrder();
  #shards: Map<string, number>[] = [new Map()];
  readonly #ids: (string | undefined)[] = [];
  readonly #data: (string | undefined)[] = [];
  readonly #versions: number[] = [];
  /** May hold numbers that are taken again or beyond the end, so each is checked when it is taken. */
  #free: number[] = [];
  #dataBytes = 0;

  /** The number of records. */
  get count(): number {
    return this.order.count;
  }

  /** One above the highest number in use or free. */
  get end(): number {
    return this.#ids.length;
  }

  /** The bytes of all data, in UTF-8. */
  get dataBytes(): number {
    return this.#dataBytes;
  }

  find(id: string): number | undefined {
    return this.#shardOf(id).get(id);
  }

  /** The id, or undefined if no record has that number. */
  idOf(record: number): string | undefined {
    return this.#ids[record];
  }

  dataOf(record: number): string | undefined {
    return this.#data[record];
  }

  setData(record: number, data: string | undefined): void {
    const before = this.#data[record];
    if (before !== undefined) this.#dataBytes -= Buffer.byteLength(before);
    if (data !== undefined) this.#dataBytes += Buffer.byteLength(data);
    this.#data[record] = data;
  }

  versionOf(record: number): number {
    return this.#versions[record] as number;
  }

  setVersion(record: number, version: number): void {
    this.#versions[record] = version;
  }

  /** Assigns a number to a new id. */
  add(id: string): number {
    const record = this.#takeFree() ?? this.#ids.length;
    this.#ids[record] = id;
    this.#data[record] = undefined;
    this.#versions[record] = 0;
    if (this.#shards.length === 1 && this.count >= SHARD_COUNT * 16) this.#split();
    this.#shardOf(id).set(id, record);
    this.order.append(record);
    return record;
  }

  remove(record: number): void {
    const id = this.#ids[record];
    assert(id !== undefined, "a removed record exists");
    this.setData(record, undefined);
    this.#shardOf(id).delete(id);
    this.order.remove(record);
    this.#ids[record] = undefined;
    this.#free.push(record);
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
    const id = this.#ids[from];
    assert(id !== undefined && this.#ids[to] === undefined, "a record moves to a free number");
    this.#ids[to] = id;
    this.#data[to] = this.#data[from];
    this.#versions[to] = this.#versions[from] as number;
    this.#shardOf(id).set(id, to);
    this.order.rename(from, to);
    this.#ids[from] = undefined;
    this.#data[from] = undefined;
    this.#dropFreeEnd();
  }

  clear(): void {
    this.order.clear();
    this.#shards = [new Map()];
    this.#ids.length = 0;
    this.#data.length = 0;
    this.#versions.length = 0;
    this.#free = [];
    this.#dataBytes = 0;
  }

  #takeFree(): number | undefined {
    for (;;) {
      const record = this.#free.pop();
      if (record === undefined) return undefined;
      if (record < this.#ids.length && this.#ids[record] === undefined) return record; // keeps (1)
    }
  }

  #dropFreeEnd(): void {
    let { end } = this;
    while (end > 0 && this.#ids[end - 1] === undefined) end -= 1;
    this.#ids.length = end;
    this.#data.length = end;
    this.#versions.length = end;
  }

  #split(): void {
    const [all] = this.#shards as [Map<string, number>];
    this.#shards = Array.from({ length: SHARD_COUNT }, () => new Map());
    for (const [id, record] of all) this.#shardOf(id).set(id, record);
  }

  /** The Map of an id. Chosen ids that all go to one Map only make it as slow as a single Map. */
  #shardOf(id: string): Map<string, number> {
    const shards = this.#shards;
    if (shards.length === 1) return shards[0] as Map<string, number>;
    let hash = 0;
    for (let i = Math.max(0, id.length - SHARD_UNITS); i < id.length; i += 1)
      hash = (Math.imul(hash, 31) + id.charCodeAt(i)) | 0;
    return shards[(hash ^ (hash >>> 15)) & (SHARD_COUNT - 1)] as Map<string, number>;
  }
}

/** Units at the end of an id that select its Map: numbered ids differ there. */
const SHARD_UNITS = 16;

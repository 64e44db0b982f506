/**
 * The ids of a namespace by record number and back, outside V8's heap: the texts
 * in a `TextStore`, and a hash table with chains.
 *
 *     buckets   0 .. bucketCount - 1: the first record of a chain, plus one
 *     links     by record: the next record of its chain, plus one; 0 ends it
 *     hashes    by record
 *
 * The buckets are those of linear hashing (Litwin 1980): an insertion splits one
 * bucket at most and a removal merges two, so no call waits for a table that grows.
 *
 * (1) The record of an id is in exactly one chain, that of the bucket of its hash.
 * (2) The bucket of a hash is its lowest bits: as many as `#mask` has, or one
 *     fewer if that bucket does not exist yet.
 * (3) count <= bucketCount, and bucketCount <= 2 * count beyond the smallest table.
 *
 * The hash has a secret key, so that chosen ids do not fall into one chain.
 */
import { bytesFromText } from "../../kernel/bytes.ts";
import { halfSipHash, hashKey } from "../../kernel/checksum/half-sip-hash.ts";
import { secretBytes } from "../../kernel/random.ts";
import type { RowMemory } from "../rows/row-memory.ts";
import { Uint32Pages } from "./number-pages.ts";
import { TextStore } from "./text-store.ts";

const BUCKETS_MIN = 16;
/** A hash, a link and a bucket, and the location of the text. */
const RECORD_BYTES = 16;

const { key0, key1 } = hashKey(secretBytes(8));

// The last hashed id, for all tables: a write looks its id up a few times before it adds it.
let memoId = "";
let memoHash = hashOfText(memoId);

export class IdTable {
  readonly #texts: TextStore;
  readonly #hashes: Uint32Pages;
  readonly #links: Uint32Pages;
  readonly #buckets: Uint32Pages;
  #count = 0;
  #bucketCount = BUCKETS_MIN;
  /** The smallest 2^n - 1 that is at least bucketCount - 1. */
  #mask = BUCKETS_MIN - 1;

  constructor(memory: RowMemory) {
    this.#texts = new TextStore(memory);
    this.#hashes = new Uint32Pages(memory);
    this.#links = new Uint32Pages(memory);
    this.#buckets = new Uint32Pages(memory);
  }

  get count(): number {
    return this.#count;
  }

  /** The memory of all ids, without what `byteCount` has unused. */
  get liveBytes(): number {
    return this.#texts.liveBytes + this.#count * RECORD_BYTES;
  }

  /** The memory outside the heap. */
  get byteCount(): number {
    return this.#texts.byteCount + this.#hashes.byteCount + this.#links.byteCount + this.#buckets.byteCount;
  }

  find(id: string): number | undefined {
    const hash = hashOf(id);
    let link = this.#buckets.get(this.#bucketOf(hash));
    while (link !== 0) {
      if (this.#hashes.get(link - 1) === hash && this.#texts.equals(link - 1, id)) return link - 1;
      link = this.#links.get(link - 1);
    }
    return undefined;
  }

  /** Whether the record has an id. */
  has(record: number): boolean {
    return this.#texts.has(record);
  }

  /** Undefined if the record has no id. */
  idOf(record: number): string | undefined {
    return this.#texts.get(record);
  }

  /** Whether the record has an id that begins with `prefix`. */
  startsWith(record: number, prefix: string): boolean {
    return this.#texts.startsWith(record, prefix);
  }

  /** Gives an id that no record has to a record without one. */
  add(id: string, record: number): void {
    const hash = hashOf(id);
    this.#texts.set(record, id);
    this.#hashes.set(record, hash);
    this.#link(record, this.#bucketOf(hash));
    this.#count += 1;
    if (this.#count > this.#bucketCount) this.#split(); // keeps (3)
  }

  /** Removes the id of a record that has one. */
  remove(record: number): void {
    this.#unlink(record);
    this.#texts.set(record, undefined);
    this.#count -= 1;
    if (this.#bucketCount > BUCKETS_MIN && this.#bucketCount > 2 * this.#count) this.#merge(); // keeps (3)
  }

  /** Gives the id of a record to another one, which has none. */
  move(from: number, to: number): void {
    const hash = this.#hashes.get(from);
    this.#unlink(from);
    this.#texts.move(from, to);
    this.#hashes.set(to, hash);
    this.#link(to, this.#bucketOf(hash));
  }

  /** Frees memory for records from `count` on, which have no ids. */
  freeFrom(count: number): void {
    this.#texts.freeFrom(count);
    this.#hashes.freeFrom(count);
    this.#links.freeFrom(count);
  }

  clear(): void {
    for (const part of [this.#texts, this.#hashes, this.#links, this.#buckets]) part.clear();
    this.#count = 0;
    this.#bucketCount = BUCKETS_MIN;
    this.#mask = BUCKETS_MIN - 1;
  }

  #bucketOf(hash: number): number {
    const bucket = (hash & this.#mask) >>> 0;
    return bucket < this.#bucketCount ? bucket : bucket & (this.#mask >>> 1); // (2)
  }

  #link(record: number, bucket: number): void {
    this.#links.set(record, this.#buckets.get(bucket));
    this.#buckets.set(bucket, record + 1);
  }

  #unlink(record: number): void {
    const bucket = this.#bucketOf(this.#hashes.get(record));
    const next = this.#links.get(record);
    let link = this.#buckets.get(bucket);
    if (link === record + 1) {
      this.#buckets.set(bucket, next);
      return;
    }
    while (this.#links.get(link - 1) !== record + 1) link = this.#links.get(link - 1);
    this.#links.set(link - 1, next);
  }

  /** Adds a bucket, with the records of its buddy that belong to it. */
  #split(): void {
    const added = this.#bucketCount;
    this.#bucketCount += 1;
    if (added > this.#mask) this.#mask = 2 * this.#mask + 1;
    const buddy = added & (this.#mask >>> 1);
    let link = this.#buckets.get(buddy);
    this.#buckets.set(buddy, 0);
    while (link !== 0) {
      const record = link - 1;
      link = this.#links.get(record);
      this.#link(record, this.#bucketOf(this.#hashes.get(record)));
    }
  }

  /** Removes the last bucket; its records go to its buddy. */
  #merge(): void {
    const removed = this.#bucketCount - 1;
    let link = this.#buckets.get(removed);
    this.#buckets.set(removed, 0);
    this.#buckets.freeFrom(removed);
    this.#bucketCount = removed;
    if (removed === (this.#mask + 1) / 2) this.#mask = removed - 1;
    while (link !== 0) {
      const record = link - 1;
      link = this.#links.get(record);
      this.#link(record, this.#bucketOf(this.#hashes.get(record)));
    }
  }
}

/** The hash of an id, unsigned. */
function hashOf(id: string): number {
  if (id !== memoId) {
    memoHash = hashOfText(id);
    memoId = id;
  }
  return memoHash;
}

function hashOfText(id: string): number {
  return halfSipHash(key0, key1, isOfBytes(id) ? id : bytesFromText(id)) >>> 0;
}

/** Whether every unit of the text is below 256. */
function isOfBytes(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) > 0xff) return false;
  return true;
}

/**
 * A hash table from byte strings to values, for keyspaces, hashes and sets.
 *
 * A `Map` ends at 2^24 entries, and an insertion that makes one grow copies all
 * of it. Here no operation touches more than a few entries:
 *
 *     slots     0 .. size - 1, dense, in chunks of 4096:  keys | values | links (hash, next, stamp)
 *     buckets   0 .. bucketCount - 1, in segments of 4096: the first slot of a chain, plus one
 *
 * The buckets are those of linear hashing (Litwin 1980): the table grows by
 * splitting one bucket and shrinks by merging the last one into its buddy, in a
 * fixed order, so it never has a second table and never resizes.
 *
 * Invariants
 * (1) A slot below `size` is in exactly one chain, that of the bucket of its hash. Removing a slot moves the last slot
 *     into the gap: a random member is a random number, and callers must not use a slot after a removal.
 * (2) The bucket of a hash is its lowest bits: as many as `#mask` has, or one fewer if that bucket does not exist yet.
 *     Read in reverse, those bits are an interval of [0, 1), and the buckets divide [0, 1) among them.
 * (3) size <= bucketCount, and bucketCount <= 2 * size beyond the smallest table. An insertion splits one bucket at
 *     most, a removal merges two at most. Between `beginLoad` and `endLoad` splits may be late by SPLIT_COUNT_MAX.
 *     Entries that `append` added are in no chain until the next operation that reads or changes chains.
 * (4) Up to `PLAIN_COUNT_MAX` entries there is no index (unless stamps are requested): comparing a few strings is as
 *     fast as hashing one, and a small hash stays small.
 *
 * SCAN. By (2) a cursor is a point in [0, 1): everything before it was visited. A step visits the bucket whose interval
 * contains the point and moves to the end of that interval. Splits and merges cut the intervals differently but never
 * move an entry's own point, so an entry that stays is visited at least once whatever is added or removed. The point is
 * bit-reversed, as in Redis, so that cursors are small numbers.
 */
import { assert } from "../../kernel/assert.ts";
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import { halfSipHash, hashKey } from "../../kernel/checksum/half-sip-hash.ts";
import { keyHash } from "./hashing/key-hash.ts";

const CHUNK_SHIFT = 12;
/** Entries of a chunk, and buckets of a segment. Only the first of each may be smaller. */
const CHUNK_COUNT = 1 << CHUNK_SHIFT;
const CHUNK_MASK = CHUNK_COUNT - 1;

/** Entries that are compared one by one instead of hashed. */
const PLAIN_COUNT_MAX = 16;
/** The index is dropped at this size, so that a size that varies around the limit does not rebuild it each time. */
const PLAIN_COUNT_RETURN = 8;

/** Buckets and links of the smallest index. */
const INDEX_COUNT_MIN = 16;

/** V8's object for a number. */
const LARGE_NUMBER_BYTES = 16;

/** Approximate memory of an empty dictionary with its first chunk. */
const FIXED_BYTES = 400;

interface Chunk<V> {
  readonly keys: Bytes[];
  /** Empty in a dictionary without values. */
  readonly values: V[];
  /** Per entry: hash, next slot of the chain plus one (0 ends it) and, with stamps, the stamp. Empty without index. */
  links: Int32Array;
}

export interface DictionaryOptions {
  /** Stores a 32-bit number per entry beside its hash: an access clock. */
  readonly stamps?: boolean;
  /** False stores keys alone, as for a set: `valueAt` returns undefined, and `insert` ignores the value. */
  readonly values?: boolean;
  /** True if the strings of the keys are shared with another table, which counts them. */
  readonly sharesKeys?: boolean;
  /** True if the values are numbers beyond 32 bits, such as times: V8 stores each as an object, counted here. */
  readonly largeNumbers?: boolean;
}

/** Slots of one call of `siftKeysOf`: as many memory accesses as a processor can overlap, a few times over. */
export const SIFT_COUNT_MAX = 32;
const siftHashes = new Int32Array(SIFT_COUNT_MAX);
const siftLinks = new Int32Array(SIFT_COUNT_MAX);

/** Buckets that a load splits at once: enough to overlap the waits for memory, and their entries fit a processor's cache. */
const SPLIT_COUNT_MAX = 256;
const splitLinks = new Int32Array(SPLIT_COUNT_MAX);

/** From this number of buckets on, a whole segment of them, a recovery doubles the buckets. */
const DOUBLED_COUNT_MIN = CHUNK_COUNT;

const NO_LINKS = new Int32Array(0);

export class Dictionary<V> {
  /** Entries examined by searches so far. Only grows; complexity tests read it. */
  visits = 0;
  /** Entries moved by splits, merges and removals so far. Only grows. */
  moves = 0;

  readonly #key0: number;
  readonly #key1: number;
  /** Numbers per entry in `links`: 2, or 3 with stamps. */
  readonly #stride: number;
  readonly #hasValues: boolean;
  readonly #sharesKeys: boolean;
  /** Memory of an entry beside its key, without an index. */
  readonly #plainEntryBytes: number;
  #size = 0;
  #keyBytes = 0;
  #chunks: Chunk<V>[];
  /** Segments of buckets, empty without an index. */
  #heads: Int32Array[] = [];
  #bucketCount = 0;
  /** Current memory of an entry beside its key. Stored, because each write reads the memory in use. */
  #entryBytes = 0;
  /** The smallest 2^n - 1 that is at least bucketCount - 1. */
  #mask = 0;
  /** Buckets that may be missing: 0, or SPLIT_COUNT_MAX - 1 during a load. */
  #missingMax = 0;
  #isRecovering = false;
  /** The last entries, which are in no chain yet. */
  #unlinkedCount = 0;

  /** `seed`: 8 secret bytes, the key of the hash. */
  constructor(seed: Uint8Array, options?: DictionaryOptions) {
    assert(seed.length === 8, "the seed of a dictionary has 8 bytes");
    const { key0, key1 } = hashKey(seed);
    this.#key0 = key0;
    this.#key1 = key1;
    this.#stride = options?.stamps === true ? 3 : 2;
    this.#hasValues = options?.values !== false;
    this.#sharesKeys = options?.sharesKeys === true;
    this.#plainEntryBytes = (this.#hasValues ? 16 : 8) + (options?.largeNumbers === true ? LARGE_NUMBER_BYTES : 0);
    this.#entryBytes = this.#plainEntryBytes;
    this.#chunks = [{ keys: [], values: [], links: NO_LINKS }];
    if (this.#stride === 3) this.#buildIndex();
  }

  /** The number of entries. Slots run from 0 to size - 1. */
  get size(): number {
    return this.#size;
  }

  /** The number of buckets, 0 without an index: one SCAN step visits one of them. */
  get bucketCount(): number {
    return this.#bucketCount;
  }

  /** Approximate memory of the table and its keys in bytes. The caller counts the values. */
  get memoryBytes(): number {
    const keyBytes = this.#sharesKeys ? 0 : this.#keyBytes;
    return FIXED_BYTES + this.#size * this.#entryBytes + this.#bucketCount * 4 + keyBytes;
  }

  /** The share of one entry in it, without a bucket of its own. */
  entryBytesOf(key: Bytes): number {
    return this.#entryBytes + (this.#bucketCount === 0 ? 0 : 4) + (this.#sharesKeys ? 0 : memoryBytesOf(key));
  }

  /** Memory of the strings of the keys, whichever table counts them. */
  get keyBytes(): number {
    return this.#keyBytes;
  }

  has(key: Bytes): boolean {
    return this.find(key) >= 0;
  }

  get(key: Bytes): V | undefined {
    const slot = this.find(key);
    return slot < 0 ? undefined : this.valueAt(slot);
  }

  /** The slot of `key`, or -1. Valid until the next insertion or removal. */
  find(key: Bytes): number {
    if (this.#bucketCount === 0) {
      const keys = (this.#chunks[0] as Chunk<V>).keys;
      for (let slot = 0; slot < keys.length; slot += 1) {
        this.visits += 1;
        if (keys[slot] === key) return slot;
      }
      return -1;
    }
    if (this.#unlinkedCount > 0) {
      // In a snapshot, the record of a key's expiry follows that of its value.
      if (this.keyAt(this.#size - 1) === key) return this.#size - 1;
      this.#linkAppended();
    }
    const hash = this.#hashOf(key);
    const chunks = this.#chunks;
    const stride = this.#stride;
    let link = this.#headOf(this.#bucketOf(hash));
    while (link !== 0) {
      this.visits += 1;
      const slot = link - 1;
      const chunk = chunks[slot >>> CHUNK_SHIFT] as Chunk<V>;
      const at = (slot & CHUNK_MASK) * stride;
      if (chunk.links[at] === hash && chunk.keys[slot & CHUNK_MASK] === key) return slot;
      link = chunk.links[at + 1] as number;
    }
    return -1;
  }

  /**
   * Filters slots of another dictionary to those whose keys this one has (or does not have), in order and in place, and
   * returns how many remain. If both use the same hash, nothing is hashed again.
   *
   * In a large table each step to an entry waits for memory. So all slots of a batch take the first step, then all the
   * second: the waits overlap.
   */
  siftKeysOf(other: Dictionary<unknown>, slots: Int32Array, options: { count: number; wanted: boolean }): number {
    const { count, wanted } = options;
    assert(count <= SIFT_COUNT_MAX, "a batch is not too large");
    if (this.#unlinkedCount > 0) this.#linkAppended();
    const isHashed =
      this.#bucketCount > 0 && other.#bucketCount > 0 && this.#key0 === other.#key0 && this.#key1 === other.#key1;
    let left = 0;
    if (!isHashed) {
      for (let i = 0; i < count; i += 1) {
        const slot = slots[i] as number;
        if (this.has(other.keyAt(slot)) === wanted) slots[left++] = slot;
      }
      return left;
    }
    for (let i = 0; i < count; i += 1) {
      const hash = other.#hashAt(slots[i] as number);
      siftHashes[i] = hash;
      siftLinks[i] = this.#headOf(this.#bucketOf(hash));
    }
    for (let i = 0; i < count; i += 1) siftLinks[i] = this.#seekHash(siftLinks[i] as number, siftHashes[i] as number);
    for (let i = 0; i < count; i += 1) {
      const slot = slots[i] as number;
      const key = other.keyAt(slot);
      const link = siftLinks[i] as number;
      // Another key with the same 32 bits earlier in the chain is so rare that a new search is acceptable.
      const has = link !== 0 && (this.keyAt(link - 1) === key || this.has(key));
      if (has === wanted) slots[left++] = slot;
    }
    return left;
  }

  keyAt(slot: number): Bytes {
    return this.#chunkOf(slot).keys[slot & CHUNK_MASK] as Bytes;
  }

  valueAt(slot: number): V {
    return this.#chunkOf(slot).values[slot & CHUNK_MASK] as V;
  }

  setValueAt(slot: number, value: V): void {
    if (this.#hasValues) this.#chunkOf(slot).values[slot & CHUNK_MASK] = value;
  }

  /** The stamp of an entry, an unsigned 32-bit number; 0 for a new entry. Only with `stamps`. */
  stampAt(slot: number): number {
    assert(this.#stride === 3, "the dictionary was made with stamps");
    return (this.#chunkOf(slot).links[(slot & CHUNK_MASK) * 3 + 2] as number) >>> 0;
  }

  setStampAt(slot: number, stamp: number): void {
    assert(this.#stride === 3, "the dictionary was made with stamps");
    this.#chunkOf(slot).links[(slot & CHUNK_MASK) * 3 + 2] = stamp;
  }

  /** Stores `value` at `key`. True if the key is new. */
  set(key: Bytes, value: V): boolean {
    const slot = this.find(key);
    if (slot >= 0) {
      this.setValueAt(slot, value);
      return false;
    }
    this.insert(key, value);
    return true;
  }

  /** Adds a key for which `find` has just returned -1. Returns its slot, which is the last one. */
  insert(key: Bytes, value: V): number {
    if (this.#unlinkedCount > 0) this.#linkAppended();
    const slot = this.#size;
    const chunk = this.#addEntry(key, value);
    if (this.#bucketCount > 0) {
      this.#reserveLinks(chunk, slot & CHUNK_MASK);
      this.#link(chunk, slot, this.#hashOf(key));
      if (this.#size > this.#bucketCount + this.#missingMax) this.#splitMissing(); // keeps (3)
    } else if (this.#size > PLAIN_COUNT_MAX) {
      this.#buildIndex(); // keeps (4)
    }
    return slot;
  }

  /**
   * Adds a key that the dictionary does not have, without a search, during a recovery and with an index. Returns its slot.
   * The next operation on chains, or the end of the recovery, throws an `AssertionFailure` if it had the key.
   *
   * A search waits for memory twice. Appended keys are put into their chains together, and compared together with those
   * that have the same hash: then the waits overlap.
   */
  append(key: Bytes, value: V): number {
    assert(this.#isRecovering && this.#bucketCount > 0, "keys are appended to an index, during a recovery");
    const slot = this.#size;
    const chunk = this.#addEntry(key, value);
    this.#reserveLinks(chunk, slot & CHUNK_MASK);
    const at = (slot & CHUNK_MASK) * this.#stride;
    chunk.links[at] = halfSipHash(this.#key0, this.#key1, key);
    if (this.#stride === 3) chunk.links[at + 2] = 0;
    this.#unlinkedCount += 1;
    return slot;
  }

  /** Throws an `AssertionFailure` if an appended key was in the dictionary before. */
  endAppending(): void {
    if (this.#unlinkedCount > 0) this.#linkAppended();
  }

  /**
   * Many insertions may follow, and nobody waits for a single one: buckets are split by the hundred, so that the waits for
   * memory overlap. Everything else works as always.
   */
  beginLoad(): void {
    this.#missingMax = SPLIT_COUNT_MAX - 1;
  }

  /** Ends a load: there is a bucket for each entry again. */
  endLoad(): void {
    this.#missingMax = 0;
    if (this.#unlinkedCount === 0 && this.#bucketCount > 0 && this.#size > this.#bucketCount) this.#splitMissing(); // keeps (3)
  }

  /**
   * Millions of insertions may follow before anybody waits: the buckets are doubled by one pass over all entries in their
   * order, which waits far less for memory than a split for each entry. Everything else works as always.
   */
  beginRecovery(): void {
    this.#isRecovering = true;
  }

  /** Ends a recovery: beyond a segment, there are no more buckets than entries, as if each insertion had split one. */
  endRecovery(): void {
    this.#isRecovering = false;
    if (this.#unlinkedCount > 0) this.#linkAppended();
    const count = Math.max(this.#size, DOUBLED_COUNT_MIN);
    if (this.#bucketCount > count) this.#rebuildIndex(count);
  }

  /** Removes `key`. True if it existed. */
  delete(key: Bytes): boolean {
    const slot = this.find(key);
    if (slot < 0) return false;
    this.removeAt(slot);
    return true;
  }

  /** Removes the entry in `slot`; the entry of the last slot takes its place. */
  removeAt(slot: number): void {
    if (this.#unlinkedCount > 0) this.#linkAppended();
    const chunk = this.#chunkOf(slot);
    const offset = slot & CHUNK_MASK;
    const indexed = this.#bucketCount > 0;
    this.#keyBytes -= memoryBytesOf(chunk.keys[offset] as Bytes);
    if (indexed) this.#unlink(chunk, slot);

    const last = this.#size - 1;
    const lastChunk = this.#chunkOf(last);
    if (slot !== last) {
      if (indexed) this.#relink(lastChunk, last, slot);
      const lastOffset = last & CHUNK_MASK;
      chunk.keys[offset] = lastChunk.keys[lastOffset] as Bytes;
      if (this.#hasValues) chunk.values[offset] = lastChunk.values[lastOffset] as V;
      this.moves += 1;
    }
    lastChunk.keys.pop();
    lastChunk.values.pop();
    this.#size = last;

    if (indexed) this.#shrinkIndex();
    // An empty chunk stays until half of the one before it is free, so that a size that varies around a border does
    // not allocate each time.
    if (this.#chunks.length > 1 && last <= (this.#chunks.length - 1) * CHUNK_COUNT - CHUNK_COUNT / 2)
      this.#chunks.pop();
  }

  /** Reverses `removeAt`, if nothing has changed since: every entry is in its slot again. */
  restoreAt(slot: number, key: Bytes, value: V): void {
    if (this.#unlinkedCount > 0) this.#linkAppended();
    if (slot === this.#size) {
      this.insert(key, value);
      return;
    }
    const chunk = this.#chunkOf(slot);
    const offset = slot & CHUNK_MASK;
    const moved = chunk.keys[offset] as Bytes;
    const movedValue = chunk.values[offset] as V;
    const stamp = this.#stride === 3 ? this.stampAt(slot) : 0;
    if (this.#bucketCount > 0) this.#unlink(chunk, slot);
    chunk.keys[offset] = key;
    if (this.#hasValues) chunk.values[offset] = value;
    if (this.#bucketCount > 0) this.#link(chunk, slot, this.#hashOf(key));
    // The insertion counts the moved key again.
    this.#keyBytes += memoryBytesOf(key) - memoryBytesOf(moved);
    const last = this.insert(moved, movedValue);
    if (this.#stride === 3) this.setStampAt(last, stamp);
  }

  /** Restores the current entries after a `clear`, if nothing has changed since. */
  restorer(): () => void {
    if (this.#unlinkedCount > 0) this.#linkAppended();
    const size = this.#size;
    const keyBytes = this.#keyBytes;
    const chunks = this.#chunks;
    const heads = this.#heads;
    const bucketCount = this.#bucketCount;
    const entryBytes = this.#entryBytes;
    const mask = this.#mask;
    return () => {
      this.#size = size;
      this.#keyBytes = keyBytes;
      this.#chunks = chunks;
      this.#heads = heads;
      this.#bucketCount = bucketCount;
      this.#entryBytes = entryBytes;
      this.#mask = mask;
    };
  }

  /** Removes everything and frees the memory. */
  clear(): void {
    this.#size = 0;
    this.#keyBytes = 0;
    this.#unlinkedCount = 0;
    this.#chunks = [{ keys: [], values: [], links: NO_LINKS }];
    this.#dropIndex();
    if (this.#stride === 3) this.#buildIndex();
  }

  /**
   * One step of a scan: calls `visit` with the slot of each entry of one bucket and returns the next cursor. 0 starts
   * a scan and means its end. `visit` must not insert or remove. Any number is accepted as a cursor.
   */
  scan(cursor: number, visit: (slot: number) => void): number {
    if (this.#unlinkedCount > 0) this.#linkAppended();
    if (this.#bucketCount === 0) {
      for (let slot = 0; slot < this.#size; slot += 1) visit(slot);
      return 0;
    }
    const half = this.#mask >>> 1;
    const mask = (cursor & half) + half + 1 < this.#bucketCount ? this.#mask : half;
    let link = this.#headOf(cursor & mask);
    while (link !== 0) {
      const slot = link - 1;
      link = this.#chunkOf(slot).links[(slot & CHUNK_MASK) * this.#stride + 1] as number;
      visit(slot);
    }
    // All bits below the interval become ones, so that adding one carries into the next interval.
    return reverseBits(reverseBits(cursor | ~mask) + 1);
  }

  /** The keys in the order of their slots. The dictionary must not change meanwhile. */
  *keys(): Generator<Bytes> {
    for (const chunk of this.#chunks) yield* chunk.keys;
  }

  /** Pairs of key and value in the order of their slots. The dictionary must not change meanwhile. */
  *entries(): Generator<[Bytes, V]> {
    for (let slot = 0; slot < this.#size; slot += 1) yield [this.keyAt(slot), this.valueAt(slot)];
  }

  #hashAt(slot: number): number {
    return this.#chunkOf(slot).links[(slot & CHUNK_MASK) * this.#stride] as number;
  }

  /** Starting at a link, the first of its chain with this hash; 0 if no link has it. */
  #seekHash(first: number, hash: number): number {
    const chunks = this.#chunks;
    const stride = this.#stride;
    let link = first;
    while (link !== 0) {
      this.visits += 1;
      const { links } = chunks[(link - 1) >>> CHUNK_SHIFT] as Chunk<V>;
      const at = ((link - 1) & CHUNK_MASK) * stride;
      if (links[at] === hash) return link;
      link = links[at + 1] as number;
    }
    return 0;
  }

  #chunkOf(slot: number): Chunk<V> {
    return this.#chunks[slot >>> CHUNK_SHIFT] as Chunk<V>;
  }

  #hashOf(key: Bytes): number {
    return keyHash(this.#key0, this.#key1, key);
  }

  /** The bucket of a hash now: (2). */
  #bucketOf(hash: number): number {
    const bucket = hash & this.#mask;
    return bucket < this.#bucketCount ? bucket : bucket & (this.#mask >>> 1);
  }

  #headOf(bucket: number): number {
    return (this.#heads[bucket >>> CHUNK_SHIFT] as Int32Array)[bucket & CHUNK_MASK] as number;
  }

  #setHead(bucket: number, link: number): void {
    (this.#heads[bucket >>> CHUNK_SHIFT] as Int32Array)[bucket & CHUNK_MASK] = link;
  }

  /** Adds an entry in the next slot, in no chain. */
  #addEntry(key: Bytes, value: V): Chunk<V> {
    if (this.#size >>> CHUNK_SHIFT === this.#chunks.length) this.#addChunk();
    const chunk = this.#chunkOf(this.#size);
    chunk.keys.push(key);
    if (this.#hasValues) chunk.values.push(value);
    this.#size += 1;
    this.#keyBytes += memoryBytesOf(key);
    return chunk;
  }

  #addChunk(): void {
    this.#chunks.push({ keys: [], values: [], links: new Int32Array(CHUNK_COUNT * this.#stride) });
  }

  /** Extends the links for the entry at `offset`. Only the first chunk may need it. */
  #reserveLinks(chunk: Chunk<V>, offset: number): void {
    if ((offset + 1) * this.#stride <= chunk.links.length) return;
    const links = new Int32Array(Math.max(chunk.links.length * 2, INDEX_COUNT_MIN * this.#stride));
    links.set(chunk.links);
    chunk.links = links;
  }

  /** Puts a slot at the head of the chain of its hash. */
  #link(chunk: Chunk<V>, slot: number, hash: number): void {
    const at = (slot & CHUNK_MASK) * this.#stride;
    const bucket = this.#bucketOf(hash);
    chunk.links[at] = hash;
    chunk.links[at + 1] = this.#headOf(bucket);
    if (this.#stride === 3) chunk.links[at + 2] = 0;
    this.#setHead(bucket, slot + 1);
  }

  /** Puts the appended entries into their chains. keeps (3) */
  #linkAppended(): void {
    const first = this.#size - this.#unlinkedCount;
    this.#unlinkedCount = 0;
    if (this.#size > this.#bucketCount && this.#size >= DOUBLED_COUNT_MIN) {
      // As many as doublings lead to, or for good.
      this.#rebuildIndex(this.#isRecovering ? 2 ** (32 - Math.clz32(this.#size - 1)) : this.#size);
    } else {
      for (let slot = first; slot < this.#size; slot += 1) {
        const { links } = this.#chunkOf(slot);
        const at = (slot & CHUNK_MASK) * this.#stride;
        const bucket = this.#bucketOf(links[at] as number);
        links[at + 1] = this.#headOf(bucket);
        this.#setHead(bucket, slot + 1);
      }
    }
    this.#assertDistinct(first);
    while (this.#size > this.#bucketCount) this.#split();
  }

  /** Compares each entry from a slot on with the entries after it in its chain: later slots are first in every chain. */
  #assertDistinct(first: number): void {
    for (let slot = first; slot < this.#size; slot += 1) {
      const { keys, links } = this.#chunkOf(slot);
      const at = (slot & CHUNK_MASK) * this.#stride;
      const same = this.#seekHash(links[at + 1] as number, links[at] as number);
      if (same === 0) continue;
      const key = keys[slot & CHUNK_MASK] as Bytes;
      for (let link = same; link !== 0; link = this.#seekHash(this.#nextOf(link), links[at] as number))
        assert(this.keyAt(link - 1) !== key, "a key is appended once");
    }
  }

  /** Takes a slot out of its chain. */
  #unlink(chunk: Chunk<V>, slot: number): void {
    const at = (slot & CHUNK_MASK) * this.#stride;
    this.#replaceLink(chunk.links[at] as number, slot + 1, chunk.links[at + 1] as number);
  }

  /** Moves the links of slot `from` to slot `to`, which is in no chain. */
  #relink(fromChunk: Chunk<V>, from: number, to: number): void {
    const stride = this.#stride;
    const fromAt = (from & CHUNK_MASK) * stride;
    const toAt = (to & CHUNK_MASK) * stride;
    const toLinks = this.#chunkOf(to).links;
    this.#replaceLink(fromChunk.links[fromAt] as number, from + 1, to + 1);
    for (let i = 0; i < stride; i += 1) toLinks[toAt + i] = fromChunk.links[fromAt + i] as number;
  }

  /** In the chain of `hash`, changes the link to `old` to `next`. */
  #replaceLink(hash: number, old: number, next: number): void {
    const bucket = this.#bucketOf(hash);
    let link = this.#headOf(bucket);
    if (link === old) {
      this.#setHead(bucket, next);
      return;
    }
    for (;;) {
      this.visits += 1;
      const links = this.#chunkOf(link - 1).links;
      const at = ((link - 1) & CHUNK_MASK) * this.#stride + 1;
      link = links[at] as number;
      if (link === old) {
        links[at] = next;
        return;
      }
      assert(link !== 0, "a slot is in the chain of its hash");
    }
  }

  /** Splits until there is a bucket for each entry. The steps to entries overlap, as in `siftKeysOf`. */
  #splitMissing(): void {
    if (this.#isRecovering && this.#bucketCount >= DOUBLED_COUNT_MIN) {
      this.#rebuildIndex(this.#bucketCount * 2); // keeps (3): there are more entries than buckets
      return;
    }
    const count = this.#size - this.#bucketCount;
    if (count > 1 && this.#bucketCount >= SPLIT_COUNT_MAX) this.#loadChains(count);
    for (let i = 0; i < count; i += 1) this.#split();
  }

  /** Puts all entries into `count` buckets, at least a segment of them. Touches every entry: only for a recovery. */
  #rebuildIndex(count: number): void {
    const heads = Array.from({ length: Math.ceil(count / CHUNK_COUNT) }, () => new Int32Array(CHUNK_COUNT));
    this.#heads = heads;
    this.#bucketCount = count;
    const mask = 2 ** (32 - Math.clz32(count - 1)) - 1;
    this.#mask = mask;
    const stride = this.#stride;
    let link = 1;
    for (const { keys, links } of this.#chunks) {
      for (let at = 0; at < keys.length * stride; at += stride) {
        const bucket = this.#bucketOf(links[at] as number);
        const segment = heads[bucket >>> CHUNK_SHIFT] as Int32Array;
        links[at + 1] = segment[bucket & CHUNK_MASK] as number;
        segment[bucket & CHUNK_MASK] = link;
        link += 1;
      }
    }
    this.moves += this.#size;
  }

  /** Reads the first links of the chains of the next `count` splits, so that the processor has them at hand. */
  #loadChains(count: number): void {
    assert(count <= SPLIT_COUNT_MAX, "a load is not too late");
    for (let i = 0; i < count; i += 1) {
      const added = this.#bucketCount + i;
      // Without its highest bit, a bucket is its buddy, which exists: there are at least `count` buckets.
      splitLinks[i] = this.#nextOf(this.#headOf(added ^ (1 << (31 - Math.clz32(added)))));
    }
    for (let i = 0; i < count; i += 1) splitLinks[i] = this.#nextOf(splitLinks[i] as number);
  }

  /** The link after a link; 0 after the last one. */
  #nextOf(link: number): number {
    if (link === 0) return 0;
    const { links } = this.#chunkOf(link - 1);
    return links[((link - 1) & CHUNK_MASK) * this.#stride + 1] as number;
  }

  /** Adds one bucket and moves its entries into it: the upper half of its buddy's interval. */
  #split(): void {
    const added = this.#bucketCount;
    if (added > this.#mask) this.#mask = this.#mask * 2 + 1;
    const buddy = added & (this.#mask >>> 1);
    this.#addBucket();

    const mask = this.#mask;
    const stride = this.#stride;
    let link = this.#headOf(buddy);
    let staying = 0;
    let moved = 0;
    while (link !== 0) {
      const slot = link - 1;
      const links = this.#chunkOf(slot).links;
      const at = (slot & CHUNK_MASK) * stride;
      const next = links[at + 1] as number;
      if (((links[at] as number) & mask) === added) {
        links[at + 1] = moved;
        moved = link;
      } else {
        links[at + 1] = staying;
        staying = link;
      }
      this.moves += 1;
      link = next;
    }
    this.#setHead(buddy, staying);
    this.#setHead(added, moved);
  }

  /** Extends the bucket heads by one. Only the first segment may be smaller than the others. */
  #addBucket(): void {
    const bucket = this.#bucketCount;
    const segment = bucket >>> CHUNK_SHIFT;
    if (segment === this.#heads.length) {
      this.#heads.push(new Int32Array(CHUNK_COUNT));
    } else if (segment === 0) {
      const old = this.#heads[0] as Int32Array;
      if (bucket === old.length) {
        const heads = new Int32Array(old.length * 2);
        heads.set(old);
        this.#heads[0] = heads;
      }
    }
    this.#bucketCount += 1;
  }

  /** After a removal: merges as (3) requires and frees unused memory. */
  #shrinkIndex(): void {
    if (this.#stride === 2 && this.#size <= PLAIN_COUNT_RETURN) {
      this.#dropIndex();
      return;
    }
    for (let i = 0; i < 2; i += 1) {
      if (this.#bucketCount <= INDEX_COUNT_MIN || this.#bucketCount <= 2 * this.#size) break;
      this.#merge(); // keeps (3)
    }
    const chunk = this.#chunks[0] as Chunk<V>;
    const linkCount = chunk.links.length / this.#stride;
    if (linkCount > INDEX_COUNT_MIN && this.#size <= linkCount / 4)
      chunk.links = chunk.links.slice(0, (linkCount / 2) * this.#stride);
  }

  /** Removes the last bucket; its chain goes before that of its buddy. */
  #merge(): void {
    const last = this.#bucketCount - 1;
    const buddy = last & (this.#mask >>> 1);
    const first = this.#headOf(last);
    if (first !== 0) {
      let slot = first - 1;
      for (;;) {
        this.moves += 1;
        const links = this.#chunkOf(slot).links;
        const at = (slot & CHUNK_MASK) * this.#stride + 1;
        const next = links[at] as number;
        if (next === 0) {
          links[at] = this.#headOf(buddy);
          break;
        }
        slot = next - 1;
      }
      this.#setHead(buddy, first);
      this.#setHead(last, 0);
    }
    this.#bucketCount = last;
    if (last - 1 <= this.#mask >>> 1) this.#mask >>>= 1;
    if ((last & CHUNK_MASK) === 0 && last > 0) this.#heads.pop();
    const heads = this.#heads[0] as Int32Array;
    if (heads.length > INDEX_COUNT_MIN && last <= heads.length / 4) this.#heads[0] = heads.slice(0, heads.length / 2);
  }

  /** Hashes the existing entries (a few at most) into a first index. */
  #buildIndex(): void {
    this.#bucketCount = INDEX_COUNT_MIN * 2;
    this.#entryBytes = this.#plainEntryBytes + 4 * this.#stride;
    this.#mask = INDEX_COUNT_MIN * 2 - 1;
    this.#heads = [new Int32Array(INDEX_COUNT_MIN * 2)];
    const chunk = this.#chunks[0] as Chunk<V>;
    chunk.links = new Int32Array(INDEX_COUNT_MIN * 2 * this.#stride);
    for (let slot = 0; slot < this.#size; slot += 1) this.#link(chunk, slot, this.#hashOf(chunk.keys[slot] as Bytes));
  }

  #dropIndex(): void {
    this.#bucketCount = 0;
    this.#entryBytes = this.#plainEntryBytes;
    this.#mask = 0;
    this.#heads = [];
    (this.#chunks[0] as Chunk<V>).links = NO_LINKS;
  }
}

/** The 32 bits in reverse order, as an unsigned number. */
function reverseBits(word: number): number {
  let bits = word;
  bits = ((bits >>> 1) & 0x5555_5555) | ((bits & 0x5555_5555) << 1);
  bits = ((bits >>> 2) & 0x3333_3333) | ((bits & 0x3333_3333) << 2);
  bits = ((bits >>> 4) & 0x0f0f_0f0f) | ((bits & 0x0f0f_0f0f) << 4);
  bits = ((bits >>> 8) & 0x00ff_00ff) | ((bits & 0x00ff_00ff) << 8);
  return ((bits >>> 16) | (bits << 16)) >>> 0;
}

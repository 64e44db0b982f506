/**
 * A cursor over the live documents of a term. It reads a chunk at a time into an array, so that most calls of `next`
 * are an index; `seek` finds the chunk by the last documents of chunks, and reads none between.
 */
import type { LiveDocuments } from "../documents/live-documents.ts";
import { NO_DOCUMENT, type PostingBounds, type Postings, type Term } from "../index-reader.ts";
import { lengthOfCode } from "../lengths.ts";
import { byteOffset, wordOffset } from "./byte-arena.ts";
import {
  CHUNK_DOCUMENTS,
  ENTRY_BLOCK,
  ENTRY_FREQUENCY_MAX,
  ENTRY_LAST,
  ENTRY_SHAPE,
  ENTRY_WORDS,
  type LengthCodes,
  type PostingLists,
  readWide,
  TailPostings,
} from "./posting-lists.ts";
import { reading, readVarint, skipVarints } from "./varint.ts";

const nothing = new Uint32Array(0);
const noDocuments = new Int32Array(0);
const noBytes = new Uint8Array(0);
/** In place of the width of frequencies: those of a tail are in an array. */
const OF_TAIL = -1;

export class PostingsCursor implements Postings {
  document = -1;
  readonly #lists: PostingLists;
  readonly #term: Term;
  readonly #live: LiveDocuments;
  readonly #lengths: LengthCodes;
  /** The tail has this number. */
  readonly #chunkCount: number;
  readonly #tailCount: number;

  // The chunk that is read: -1 before the first.
  #chunk = -1;
  /** Live documents of the chunk; `#length` of them. */
  #documents: Int32Array = noDocuments;
  #length = 0;
  /** For the documents of chunks; those of a tail have their own array. */
  #chunkDocuments = noDocuments;
  /** The place of `document` in `#documents`. */
  #at = -1;
  /** The last document of the chunk, live or not. */
  #last = -1;
  /** By place, the number of a document in the chunk, if some documents are not live. */
  #slots: Uint8Array = noBytes;
  #hasSlots = false;
  #tail: TailPostings | undefined;

  // The block of the chunk, if it is not the tail.
  #bytes: Uint8Array = noBytes;
  #frequenciesAt = 0;
  #frequencyWidth = 0;
  /** Where the positions of `#positionsSlot` begin. */
  #positionsAt = 0;
  #positionsSlot = 0;
  #positions: Uint32Array = nothing;

  readonly #bounds = { last: NO_DOCUMENT, maxFrequency: 0, minLength: 0 };
  /** The chunk of the last call of `boundsAt`. */
  #boundsChunk = 0;
  #tailBounds: { readonly last: number; readonly maxFrequency: number; readonly minLength: number } | undefined;

  constructor(
    lists: PostingLists,
    term: Term,
    documents: { readonly live: LiveDocuments; readonly lengths: LengthCodes },
  ) {
    this.#lists = lists;
    this.#term = term;
    this.#live = documents.live;
    this.#lengths = documents.lengths;
    const count = lists.postingCount(term);
    this.#tailCount = count % CHUNK_DOCUMENTS;
    this.#chunkCount = (count - this.#tailCount) / CHUNK_DOCUMENTS;
  }

  next(): number {
    const at = this.#at + 1;
    if (at >= this.#length) return this.#enterChunk(this.#chunk + 1);
    this.#at = at;
    const document = this.#documents[at] as number;
    this.document = document;
    return document;
  }

  seek(document: number): number {
    if (document <= this.document) return this.document;
    if (document > this.#last) {
      const chunk = this.#chunkWith(document, this.#chunk + 1);
      if (chunk > this.#chunkCount) return this.#end();
      this.#read(chunk);
    }
    const documents = this.#documents;
    let low = this.#at + 1;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((documents[middle] as number) < document) low = middle + 1;
      else high = middle;
    }
    if (low >= this.#length) return this.#enterChunk(this.#chunk + 1);
    this.#at = low;
    this.document = documents[low] as number;
    return this.document;
  }

  get frequency(): number {
    if (this.#at < 0 || this.#at >= this.#length) return 0;
    return this.#frequencyOf(this.#slot);
  }

  positions(): Uint32Array {
    if (this.#at < 0 || this.#at >= this.#length) return nothing;
    const slot = this.#slot;
    const frequency = this.#frequencyOf(slot);
    if (this.#positions.length < frequency) this.#positions = new Uint32Array(Math.max(8, 2 * frequency));
    const bytes = this.#isInTail ? (this.#tail as TailPostings).bytes : this.#bytes;
    let at = this.#isInTail ? ((this.#tail as TailPostings).starts[slot] as number) : this.#findPositions(slot);
    const positions = this.#positions;
    for (let i = 0, position = 0; i < frequency; i += 1) {
      position += readVarint(bytes, at);
      at = reading.at;
      positions[i] = position;
    }
    return positions;
  }

  boundsAt(document: number): PostingBounds {
    const bounds = this.#bounds;
    const hint = this.#boundsChunk;
    const isLater = hint === 0 || document > this.#lastOf(hint - 1);
    const chunk = this.#chunkWith(document, isLater ? hint : 0);
    this.#boundsChunk = Math.min(chunk, this.#chunkCount);
    if (chunk < this.#chunkCount) {
      const { words, at } = this.#entry(chunk);
      bounds.last = words[at + ENTRY_LAST] as number;
      bounds.maxFrequency = words[at + ENTRY_FREQUENCY_MAX] as number;
      bounds.minLength = lengthOfCode[(words[at + ENTRY_SHAPE] as number) & 0xff] as number;
      return bounds;
    }
    const tail = this.#boundsOfTail();
    const isAtEnd = document > tail.last;
    bounds.last = isAtEnd ? NO_DOCUMENT : tail.last;
    bounds.maxFrequency = isAtEnd ? 0 : tail.maxFrequency;
    bounds.minLength = isAtEnd ? 0 : tail.minLength;
    return bounds;
  }

  /** Moves to the first live document of a chunk or of a later one. */
  #enterChunk(first: number): number {
    for (let chunk = first; chunk <= this.#chunkCount; chunk += 1) {
      this.#read(chunk);
      if (this.#length === 0) continue;
      this.#at = 0;
      this.document = this.#documents[0] as number;
      return this.document;
    }
    return this.#end();
  }

  #end(): number {
    this.#chunk = this.#chunkCount;
    this.#length = 0;
    this.#at = 0;
    this.#last = NO_DOCUMENT;
    this.document = NO_DOCUMENT;
    return NO_DOCUMENT;
  }

  get #slot(): number {
    return this.#hasSlots ? (this.#slots[this.#at] as number) : this.#at;
  }

  get #isInTail(): boolean {
    return this.#chunk === this.#chunkCount;
  }

  #frequencyOf(slot: number): number {
    const width = this.#frequencyWidth;
    if (width === 1) return this.#bytes[this.#frequenciesAt + slot] as number;
    if (width === 0) return 1;
    if (width === OF_TAIL) return this.#tailPostings().frequencies[slot] as number;
    return readWide(this.#bytes, this.#frequenciesAt + slot * width, width);
  }

  /** Where the positions of a document of a chunk begin: after those of the ones before it. */
  #findPositions(slot: number): number {
    let numbers = 0;
    for (let i = this.#positionsSlot; i < slot; i += 1) numbers += this.#frequencyOf(i);
    this.#positionsAt = skipVarints(this.#bytes, this.#positionsAt, numbers);
    this.#positionsSlot = slot;
    return this.#positionsAt;
  }

  /** Reads a chunk or the tail, and stands before its first live document. */
  #read(chunk: number): void {
    this.#chunk = chunk;
    this.#at = -1;
    if (chunk === this.#chunkCount) this.#readTail();
    else this.#readChunk(chunk);
  }

  #readTail(): void {
    const { count, documents } = this.#tailPostings();
    this.#documents = documents;
    this.#frequencyWidth = OF_TAIL;
    this.#last = count === 0 ? NO_DOCUMENT : (documents[count - 1] as number);
    this.#keepLive(count);
  }

  #tailPostings(): TailPostings {
    if (this.#tail === undefined) {
      this.#tail = new TailPostings(this.#tailCount);
      this.#lists.readTail(this.#term, this.#tail);
    }
    return this.#tail;
  }

  #readChunk(chunk: number): void {
    const { words, at } = this.#entry(chunk);
    const block = words[at + ENTRY_BLOCK] as number;
    const shape = words[at + ENTRY_SHAPE] as number;
    const gapWidth = (shape >>> 8) & 0xf;
    const bytes = this.#lists.arena.bytesOf(block);
    const gaps = byteOffset(block);
    if (this.#chunkDocuments.length === 0) this.#chunkDocuments = new Int32Array(CHUNK_DOCUMENTS);
    const documents = this.#chunkDocuments;
    let document = chunk === 0 ? -1 : this.#lastOf(chunk - 1);
    if (gapWidth === 1) {
      for (let i = 0; i < CHUNK_DOCUMENTS; i += 1) {
        document += (bytes[gaps + i] as number) + 1;
        documents[i] = document;
      }
    } else {
      for (let i = 0; i < CHUNK_DOCUMENTS; i += 1) {
        document += readWide(bytes, gaps + i * gapWidth, gapWidth) + 1;
        documents[i] = document;
      }
    }
    this.#documents = documents;
    this.#last = document;
    this.#bytes = bytes;
    this.#frequencyWidth = shape >>> 12;
    this.#frequenciesAt = gaps + CHUNK_DOCUMENTS * gapWidth;
    this.#positionsAt = this.#frequenciesAt + CHUNK_DOCUMENTS * this.#frequencyWidth;
    this.#positionsSlot = 0;
    this.#keepLive(CHUNK_DOCUMENTS);
  }

  /** Drops removed documents from the first `count`. */
  #keepLive(count: number): void {
    this.#length = count;
    this.#hasSlots = this.#live.count < this.#live.limit;
    if (!this.#hasSlots) return;
    if (this.#slots.length < count) this.#slots = new Uint8Array(count);
    const { flags } = this.#live;
    const all = this.#documents;
    // The bounds of a tail need the numbers of its documents in their places.
    const documents = this.#isInTail ? new Int32Array(count) : all;
    this.#documents = documents;
    let kept = 0;
    for (let i = 0; i < count; i += 1) {
      const document = all[i] as number;
      documents[kept] = document;
      this.#slots[kept] = i;
      kept += flags[document] as number;
    }
    this.#length = kept;
  }

  /** The first chunk from `first` on whose last document is not before `document`; the number after the tail at the end. */
  #chunkWith(document: number, first: number): number {
    const chunkCount = this.#chunkCount;
    // Most calls need the next chunk or one near it.
    let low = first;
    let high = first;
    for (let step = 1; high < chunkCount && this.#lastOf(high) < document; step *= 2) {
      low = high + 1;
      high += step;
    }
    high = Math.min(high, chunkCount);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#lastOf(middle) < document) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #lastOf(chunk: number): number {
    const chunks = this.#lists.chunksOf(this.#term);
    const words = this.#lists.arena.wordsOf(chunks);
    return words[wordOffset(chunks) + chunk * ENTRY_WORDS + ENTRY_LAST] as number;
  }

  #entry(chunk: number): { readonly words: Uint32Array; readonly at: number } {
    const chunks = this.#lists.chunksOf(this.#term);
    return { words: this.#lists.arena.wordsOf(chunks), at: wordOffset(chunks) + chunk * ENTRY_WORDS };
  }

  #boundsOfTail(): { readonly last: number; readonly maxFrequency: number; readonly minLength: number } {
    if (this.#tailBounds !== undefined) return this.#tailBounds;
    const { count, documents, frequencies } = this.#tailPostings();
    const { codes } = this.#lengths;
    let last = -1;
    let maxFrequency = 0;
    let leastCode = 255;
    for (let i = 0; i < count; i += 1) {
      const code = codes[documents[i] as number] as number;
      if (code === 0) continue;
      last = documents[i] as number;
      maxFrequency = Math.max(maxFrequency, frequencies[i] as number);
      leastCode = Math.min(leastCode, code);
    }
    this.#tailBounds = { last, maxFrequency, minLength: lengthOfCode[leastCode] as number };
    return this.#tailBounds;
  }
}

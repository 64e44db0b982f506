/**
 * What an index holds: documents by number, with their keys and digests, the postings of TEXT fields and the columns of
 * all others. A compaction makes a second one, and copies the live documents in order.
 *
 * (1) A removed document has no key, no length and no values at once, and is in no count; only its postings and its
 *     sequence of terms stay.
 * (2) What a document has in a field follows from its values alone, so a copy equals an index that never had the
 *     removed documents, but for the numbers of terms and ordinals.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { Dictionary } from "../../structures/dictionary.ts";
import type { FieldValue, IndexDefinition, SearchDocument, SearchField } from "../definition.ts";
import type { Analyzer } from "../text/analyzer.ts";
import { ByteStringList } from "./byte-string-list.ts";
import { BoolCells } from "./columns/bool-column.ts";
import { NumberCells } from "./columns/number-column.ts";
import { WordCells } from "./columns/word-column.ts";
import { DocumentWords } from "./documents/document-words.ts";
import { grown, LiveDocuments } from "./documents/live-documents.ts";
import { DIGEST_WORDS, digest } from "./documents/value-digest.ts";
import type { Column } from "./index-reader.ts";
import { ByteArena, byteOffset, NO_BLOCK } from "./postings/byte-arena.ts";
import { TextIndex } from "./text-index.ts";
import { GAP, TokenSequence } from "./token-sequence.ts";

type Cells = NumberCells | BoolCells | WordCells;

/** A compaction begins when one in so many documents is a removed one. */
const REMOVED_SHARE = 3;
/** An index of less memory with fewer removed documents is not worth a copy. */
const REMOVED_COUNT_MIN = 256;
const SMALL_BYTES = 1_048_576;

/** The objects of an index and of each field. */
const CONTENTS_BYTES = 2_000;
const FIELD_BYTES = 1_000;

export class IndexContents {
  readonly live = new LiveDocuments();
  readonly #keys = new ByteStringList();
  /** The document of each key. */
  readonly #numbers: Dictionary<number>;
  readonly #digests = new DocumentWords(DIGEST_WORDS);
  /** By document, where the sequences of its TEXT fields are, in the order of the fields. */
  readonly #sequences = new DocumentWords(1);
  readonly #arena = new ByteArena();
  /** By the number of the field. */
  readonly texts: readonly (TextIndex | undefined)[];
  readonly #columns: readonly (Cells | undefined)[];
  /** Tokens and values of all documents, removed ones too; a long value counts for several. */
  #weight = 0;
  #removedWeight = 0;

  constructor({ fields }: IndexDefinition, hashSeed: Uint8Array) {
    this.#numbers = new Dictionary(hashSeed, { sharesKeys: true });
    this.texts = fields.map(({ type }) =>
      type === "TEXT" ? new TextIndex(this.#arena, { live: this.live, hashSeed }) : undefined,
    );
    this.#columns = fields.map((field) => newCells(field, hashSeed));
  }

  text(field: number): TextIndex {
    return this.texts[field] as TextIndex;
  }

  column(field: number): Column {
    return this.#columns[field] as Cells;
  }

  get termCount(): number {
    let count = 0;
    for (const text of this.texts) if (text !== undefined) count += text.termCount;
    return count;
  }

  get memoryBytes(): number {
    let sum = CONTENTS_BYTES + this.live.memoryBytes + this.#keys.memoryBytes + this.#numbers.memoryBytes;
    sum += this.#digests.memoryBytes + this.#sequences.memoryBytes + this.#arena.memoryBytes;
    for (const text of this.texts) if (text !== undefined) sum += FIELD_BYTES + text.memoryBytes;
    for (const column of this.#columns) if (column !== undefined) sum += FIELD_BYTES + column.memoryBytes;
    return sum;
  }

  /** Whether a third of the documents, or of what they have, belongs to removed ones and is worth a copy of the others. */
  get isCompactable(): boolean {
    const { count, limit } = this.live;
    const removedCount = limit - count;
    if (removedCount === 0) return false;
    let weight = this.#weight;
    let removedWeight = this.#removedWeight;
    for (const text of this.texts) {
      weight += weightOfBytes(text?.tokenBytes ?? 0);
      removedWeight += weightOfBytes(text?.unusedTokenBytes ?? 0);
    }
    const isShare = removedCount * REMOVED_SHARE >= limit;
    const isWeightShare = removedWeight * REMOVED_SHARE >= Math.max(1, weight);
    if (!(isShare || isWeightShare)) return false;
    return removedCount >= REMOVED_COUNT_MIN || this.memoryBytes >= SMALL_BYTES;
  }

  tokenCountOf(document: number): number {
    let count = 0;
    for (const text of this.texts) if (text !== undefined) count += text.lengthOf(document);
    return count;
  }

  numberOf(key: Bytes): number | undefined {
    return this.#numbers.get(key);
  }

  keyOf(document: number): Bytes {
    return this.#keys.at(document);
  }

  /** Whether a document has the last digest. */
  hasDigest(document: number): boolean {
    const page = this.#digests.pageOf(document);
    const at = this.#digests.placeOf(document);
    for (let i = 0; i < DIGEST_WORDS; i += 1) if (page[at + i] !== digest[i]) return false;
    return true;
  }

  /** Adds a document with a new key and the last digest. */
  add(key: Bytes, values: SearchDocument, analyzers: readonly (Analyzer | undefined)[]): void {
    const document = this.#addKey(key);
    this.#digests.pageOf(document).set(digest, this.#digests.placeOf(document));
    const sequences = emptySequences(this.texts.length);
    for (let field = 0; field < this.texts.length; field += 1) {
      const ofField = values[field];
      const text = this.texts[field];
      if (text === undefined) this.#addToColumn(document, field, ofField);
      else {
        const sequence = sequences[field] as TokenSequence;
        if (ofField !== undefined) text.analyse(ofField, analyzers[field] as Analyzer, sequence);
        text.add(document, sequence);
      }
    }
    this.#writeSequences(document, sequences);
  }

  /** Removes a live document. */
  remove(document: number): void {
    this.#numbers.delete(this.keyOf(document));
    this.#keys.drop(document);
    this.live.remove(document);
    const sequences = this.#readSequences(document);
    for (let field = 0; field < this.texts.length; field += 1) {
      const text = this.texts[field];
      if (text === undefined) this.#removeFromColumn(document, field);
      else {
        text.remove(document, sequences[field] as TokenSequence);
        this.#removedWeight += (sequences[field] as TokenSequence).length;
      }
    }
  }

  /** Adds a live document of other contents of the same definition; returns the number of its tokens. */
  copy(other: IndexContents, from: number, maps: TermMaps): number {
    const document = this.#addKey(other.keyOf(from));
    const at = other.#digests.placeOf(from);
    const ofDocument = other.#digests.pageOf(from).subarray(at, at + DIGEST_WORDS);
    this.#digests.pageOf(document).set(ofDocument, this.#digests.placeOf(document));
    let tokenCount = 0;
    const sequences = other.#readSequences(from);
    for (let field = 0; field < this.texts.length; field += 1) {
      const text = this.texts[field];
      if (text === undefined) this.#addToColumn(document, field, valuesOf(other.column(field), from));
      else {
        const sequence = sequences[field] as TokenSequence;
        tokenCount += sequence.length;
        maps.translate(sequence, field, { from: other.text(field), to: text });
        text.add(document, sequence);
      }
    }
    this.#writeSequences(document, sequences);
    return tokenCount;
  }

  #addToColumn(document: number, field: number, values: readonly FieldValue[] | undefined): void {
    this.#columns[field]?.add(document, values);
    this.#weight += weightOf(values);
  }

  #removeFromColumn(document: number, field: number): void {
    const column = this.#columns[field] as Cells;
    this.#removedWeight += weightOf(valuesOf(column, document));
    column.remove(document);
  }

  #addKey(key: Bytes): number {
    const document = this.live.add();
    this.#keys.push(key);
    this.#numbers.insert(key, document);
    this.#sequences.reserve(document);
    this.#digests.reserve(document);
    return document;
  }

  #writeSequences(document: number, sequences: readonly TokenSequence[]): void {
    let byteCount = 0;
    let tokenCount = 0;
    for (let field = 0; field < this.texts.length; field += 1) {
      if (this.texts[field] === undefined) continue;
      const sequence = sequences[field] as TokenSequence;
      byteCount += sequence.codedBytes;
      tokenCount += sequence.length;
    }
    if (tokenCount === 0) return;
    this.#weight += tokenCount;
    const block = this.#arena.allocate(byteCount);
    this.#sequences.pageOf(document)[this.#sequences.placeOf(document)] = block;
    const bytes = this.#arena.bytesOf(block);
    let at = byteOffset(block);
    for (let field = 0; field < this.texts.length; field += 1)
      if (this.texts[field] !== undefined) at = (sequences[field] as TokenSequence).write(bytes, at);
  }

  /** The sequences of a document by field; those of the last call are gone. */
  #readSequences(document: number): readonly TokenSequence[] {
    const sequences = emptySequences(this.texts.length);
    const block = this.#sequences.pageOf(document)[this.#sequences.placeOf(document)] as number;
    if (block === NO_BLOCK) return sequences;
    const bytes = this.#arena.bytesOf(block);
    let at = byteOffset(block);
    for (let field = 0; field < this.texts.length; field += 1)
      if (this.texts[field] !== undefined) at = (sequences[field] as TokenSequence).read(bytes, at);
    return sequences;
  }
}

/** By field, the terms of one index in another one, made when they are first needed. */
export class TermMaps {
  /** By term, the other one plus 1. */
  readonly #maps: Uint32Array[] = [];

  get memoryBytes(): number {
    return this.#maps.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Replaces the terms of a sequence. */
  translate(sequence: TokenSequence, field: number, texts: { readonly from: TextIndex; readonly to: TextIndex }): void {
    const { from, to } = texts;
    let map = this.#maps[field] ?? new Uint32Array(from.termCount);
    if (map.length < from.termCount) map = grown(map, from.termCount);
    for (let i = this.#maps.length; i <= field; i += 1) this.#maps.push(new Uint32Array(0));
    this.#maps[field] = map;
    const { terms, length } = sequence;
    for (let i = 0; i < length; i += 1) {
      const term = terms[i] as number;
      if (term === GAP) continue;
      if (map[term] === 0) map[term] = to.termFor(from.tokenOf(term)) + 1;
      terms[i] = (map[term] as number) - 1;
    }
  }
}

/** Used by one index after the other. */
const scratch: TokenSequence[] = [];

function emptySequences(count: number): readonly TokenSequence[] {
  while (scratch.length < count) scratch.push(new TokenSequence());
  for (let i = 0; i < count; i += 1) (scratch[i] as TokenSequence).clear();
  return scratch;
}

function newCells({ type }: SearchField, hashSeed: Uint8Array): Cells | undefined {
  switch (type) {
    case "TEXT":
      return undefined;
    case "KEYWORD":
    case "FACET":
      return new WordCells(hashSeed);
    case "BOOL":
      return new BoolCells();
    default:
      return new NumberCells(type);
  }
}

function weightOf(values: readonly FieldValue[] | undefined): number {
  let weight = 0;
  if (values === undefined) return weight;
  for (const value of values) weight += 1 + (typeof value === "string" ? weightOfBytes(value.length) : 0);
  return weight;
}

/** A token takes about this many bytes. */
function weightOfBytes(byteCount: number): number {
  return byteCount >>> 4;
}

function valuesOf(column: Column, document: number): FieldValue[] | undefined {
  const count = column.countOf(document);
  if (count === 0) return undefined;
  const values: FieldValue[] = [];
  for (let at = 0; at < count; at += 1)
    values.push(column.kind === "words" ? column.wordOf(column.ordinalOf(document, at)) : column.valueOf(document, at));
  return values;
}

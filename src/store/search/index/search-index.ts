/**
 * A search index: the documents of its keys, and what queries read of them.
 *
 * A document that changes gets a new number, so a third of the numbers may be of removed documents before `compact`
 * copies the others, in slices. Until the last slice, readers see the old contents, and the copy grows beside them: the
 * memory of an index is then that of both. Once it has caught up, the copy takes their place, and documents have new
 * numbers in the same order.
 *
 * (1) The copy has the live documents below `#copied` in order, and no others.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { IndexDefinition, SearchDocument } from "../definition.ts";
import type { Analyzer, AnalyzerFor } from "../text/analyzer.ts";
import { digestValues } from "./documents/value-digest.ts";
import { IndexContents, TermMaps } from "./index-contents.ts";
import type { Column, IndexReader, TextReader } from "./index-reader.ts";

/** The steps of a compaction, of about 10 ns: of a document, a field, and a token. */
const DOCUMENT_STEPS = 100;
const FIELD_STEPS = 5;
const TOKEN_STEPS = 25;

interface Copy {
  readonly contents: IndexContents;
  readonly maps: TermMaps;
}

export class SearchIndex implements IndexReader {
  readonly definition: IndexDefinition;
  /** By the number of the field. */
  readonly #analyzers: readonly (Analyzer | undefined)[];
  readonly #hashSeed: Uint8Array;
  #contents: IndexContents;
  #copy: Copy | undefined;
  #copied = 0;
  /** Undefined after a change. */
  #memoryBytes: number | undefined;
  /** How often documents have got new numbers. */
  renumberings = 0;

  /** @param hashSeed 8 secret bytes, best those of the keyspace: then the hash of a key is mostly at hand */
  constructor(definition: IndexDefinition, analyzerFor: AnalyzerFor, hashSeed: Uint8Array) {
    this.definition = definition;
    this.#hashSeed = hashSeed;
    this.#analyzers = definition.fields.map((field) =>
      field.type === "TEXT" ? analyzerFor(definition.language, field) : undefined,
    );
    this.#contents = new IndexContents(definition, hashSeed);
  }

  get documentCount(): number {
    return this.#contents.live.count;
  }

  get documentLimit(): number {
    return this.#contents.live.limit;
  }

  /** Distinct terms of all TEXT fields together. */
  get termCount(): number {
    return this.#contents.termCount;
  }

  /** The memory of the index, in bytes. */
  get memoryBytes(): number {
    this.#memoryBytes ??=
      this.#contents.memoryBytes +
      (this.#copy === undefined ? 0 : this.#copy.contents.memoryBytes + this.#copy.maps.memoryBytes);
    return this.#memoryBytes;
  }

  /**
   * Takes in the document of a key.
   *
   * @param document the values of each field, as many as the definition has fields
   * @returns false if the key has these values already: it keeps its number
   */
  put(key: Bytes, document: SearchDocument): boolean {
    digestValues(document);
    const old = this.#contents.numberOf(key);
    if (old !== undefined) {
      if (this.#contents.hasDigest(old)) return false;
      this.remove(key);
    }
    this.#contents.add(key, document, this.#analyzers);
    this.#memoryBytes = undefined;
    return true;
  }

  /** Removes the document of a key; false if it has no document. */
  remove(key: Bytes): boolean {
    const document = this.#contents.numberOf(key);
    if (document === undefined) return false;
    this.#contents.remove(document);
    if (this.#copy !== undefined && document < this.#copied) {
      // keeps (1)
      const copy = this.#copy.contents;
      copy.remove(copy.numberOf(key) as number);
    }
    this.#memoryBytes = undefined;
    return true;
  }

  has(key: Bytes): boolean {
    return this.#contents.numberOf(key) !== undefined;
  }

  /** About how many tokens the document of a key has; 0 without one. */
  tokenCountOf(key: Bytes): number {
    const document = this.#contents.numberOf(key);
    return document === undefined ? 0 : this.#contents.tokenCountOf(document);
  }

  /** Removes all documents. */
  clear(): void {
    this.#contents = new IndexContents(this.definition, this.#hashSeed);
    this.#copy = undefined;
    this.#memoryBytes = undefined;
    this.renumberings += 1;
  }

  /** The keys of all documents, in the order of their numbers. */
  *keys(): Generator<Bytes> {
    for (let document = 0; document < this.documentLimit; document += 1)
      if (this.isLive(document)) yield this.keyOf(document);
  }

  /** Whether `compact` has something to do. */
  get isCompactable(): boolean {
    return this.#copy !== undefined || this.#contents.isCompactable;
  }

  /**
   * Continues a compaction, or begins one if a third of the documents, or of what they have, belongs to removed ones.
   *
   * @param steps about how much to do, in steps of 10 ns; one document is always copied
   * @returns whether more is to be done. The numbers of documents change in the last call.
   */
  compact(steps: number): boolean {
    if (!this.isCompactable) return false;
    if (this.#copy === undefined) {
      this.#copy = { contents: new IndexContents(this.definition, this.#hashSeed), maps: new TermMaps() };
      this.#copied = 0;
    }
    this.#memoryBytes = undefined;
    const { contents, maps } = this.#copy;
    const fieldSteps = FIELD_STEPS * this.definition.fields.length;
    for (let left = steps; this.#copied < this.documentLimit; ) {
      if (left <= 0) return true;
      left -= 1;
      if (this.isLive(this.#copied)) {
        const tokenCount = contents.copy(this.#contents, this.#copied, maps);
        left -= DOCUMENT_STEPS + fieldSteps + TOKEN_STEPS * tokenCount;
      }
      this.#copied += 1;
    }
    this.#contents = contents;
    this.#copy = undefined;
    this.renumberings += 1;
    return this.isCompactable;
  }

  isLive(document: number): boolean {
    return this.#contents.live.flags[document] === 1;
  }

  keyOf(document: number): Bytes {
    return this.#contents.keyOf(document);
  }

  text(field: number): TextReader {
    return this.#contents.text(field);
  }

  column(field: number): Column {
    return this.#contents.column(field);
  }
}

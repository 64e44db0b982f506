/**
 * The metadata of one namespace by record number, as the original texts, outside
 * V8's heap.
 *
 * (1) A record exists from `set` to `remove`, even without metadata: then it
 *     passes HAS NOT FIELD. A record that does not exist passes nothing.
 * (2) Texts are parsed when a filter needs them, not when they are set.
 * (3) Every change that a filter could see is noted in `log`.
 */

import { hasEscapedName } from "../../kernel/json/parse.ts";
import { type Json, parseMetadata, parsePlainMetadata } from "../filter/json.ts";
import { TextStore } from "../records/text-store.ts";
import type { RowMemory } from "../rows/row-memory.ts";
import { clearBit, hasBit, setBit, widened, wordCountOf } from "../search/bits.ts";
import { MetadataLog } from "./metadata-log.ts";

export class MetadataStore {
  readonly log = new MetadataLog();
  readonly #texts: TextStore;
  #limit = 0;
  #present: Uint32Array = new Uint32Array(0);
  /** Whether a text since the last `clear` had one. A search for it is a quarter of the time of parsing a text with quotes. */
  #hasEscapedName = false;

  /** `memory` is that of the rows. */
  constructor(memory: RowMemory) {
    this.#texts = new TextStore(memory);
  }

  /** One above the highest record number that existed since the last `truncate`. */
  get limit(): number {
    return this.#limit;
  }

  /** The bytes of all texts, in UTF-8. */
  get textBytes(): number {
    return this.#texts.textBytes;
  }

  /** The memory of all texts, without what `byteCount` has unused; without the locations of texts. */
  get liveBytes(): number {
    return this.#texts.liveBytes;
  }

  /** The memory outside the heap. */
  get byteCount(): number {
    return this.#texts.byteCount + this.#present.byteLength + this.log.byteCount;
  }

  /** The bits of existing records. The array is live, and is replaced when it must grow. */
  get present(): Uint32Array {
    return this.#present;
  }

  /** Sets the metadata of a record: compact JSON of an object, or undefined for none. */
  set(record: number, text: string | undefined): void {
    if (record >= this.limit) this.#grow(record + 1);
    if (hasBit(this.#present, record) && this.#texts.equals(record, text)) return;
    this.#replace(record, text);
    setBit(this.#present, record);
    this.log.append(record, this.limit);
  }

  /** Removes a record. */
  remove(record: number): void {
    if (!hasBit(this.#present, record)) return;
    this.#replace(record, undefined);
    clearBit(this.#present, record);
    this.log.append(record, this.limit);
  }

  /** Gives the metadata of an existing record to a number without a record. */
  move(from: number, to: number): void {
    if (to >= this.limit) this.#grow(to + 1);
    this.#texts.move(from, to);
    clearBit(this.#present, from);
    setBit(this.#present, to);
    this.log.append(from, this.limit);
    this.log.append(to, this.limit);
  }

  has(record: number): boolean {
    return hasBit(this.#present, record);
  }

  /** Undefined for a record without metadata, or one that does not exist. */
  text(record: number): string | undefined {
    return this.#texts.get(record);
  }

  /** The bytes of a text; undefined for a record without metadata, or one that does not exist. */
  textBytesOf(record: number): number | undefined {
    return this.#texts.lengthOf(record);
  }

  /** The parsed metadata; undefined as in `textBytesOf`. Each call parses it again. */
  parsed(record: number): Json | undefined {
    const text = this.#texts.look(record);
    if (text === undefined) return undefined;
    return this.#hasEscapedName ? parseMetadata(text) : parsePlainMetadata(text);
  }

  /** Removes the records from `count` on. */
  truncate(count: number): void {
    if (count === 0) this.clear();
    for (let record = count; record < this.limit; record += 1) this.remove(record);
    if (count >= this.limit) return;
    this.#limit = count;
    this.#texts.freeFrom(count);
  }

  /** Removes all records. */
  clear(): void {
    this.#texts.clear();
    this.#limit = 0;
    this.#present = new Uint32Array(0);
    this.#hasEscapedName = false;
    this.log.forget();
  }

  #replace(record: number, text: string | undefined): void {
    if (text !== undefined) this.#hasEscapedName ||= hasEscapedName(text);
    this.#texts.set(record, text);
  }

  #grow(limit: number): void {
    this.#limit = limit;
    const wordCount = wordCountOf(limit);
    if (this.#present.length < wordCount) this.#present = widened(this.#present, Math.max(4, 2 * wordCount));
  }
}

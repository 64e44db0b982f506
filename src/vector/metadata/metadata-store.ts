/**
 * The metadata of one namespace by record number, as the original texts.
 *
 * (1) A record exists from `set` to `remove`, even without metadata: then it
 *     passes HAS NOT FIELD. A record that does not exist passes nothing.
 * (2) Texts are parsed when a filter needs them, not when they are set.
 * (3) Every change that a filter could see is noted in `log`.
 */

import { hasEscapedName } from "../../kernel/json/parse.ts";
import { type Json, parseMetadata, parsePlainMetadata } from "../filter/json.ts";
import { clearBit, hasBit, setBit, widened, wordCountOf } from "../search/bits.ts";
import { MetadataLog } from "./metadata-log.ts";

export class MetadataStore {
  readonly log = new MetadataLog();
  /** As long as the highest number that existed since the last `truncate`. */
  readonly #texts: (string | undefined)[] = [];
  #present: Uint32Array = new Uint32Array(0);
  #byteCount = 0;
  /** Whether a text since the last `clear` had one. A search for it is a quarter of the time of parsing a text with quotes. */
  #hasEscapedName = false;

  /** One above the highest record number that may exist. */
  get limit(): number {
    return this.#texts.length;
  }

  /** The bytes of all texts, in UTF-8. */
  get byteCount(): number {
    return this.#byteCount;
  }

  /** The bits of existing records. The array is live, and is replaced when it must grow. */
  get present(): Uint32Array {
    return this.#present;
  }

  /** Sets the metadata of a record: compact JSON of an object, or undefined for none. */
  set(record: number, text: string | undefined): void {
    if (record >= this.limit) this.#grow(record + 1);
    const before = this.#texts[record];
    if (before === text && hasBit(this.#present, record)) return;
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

  has(record: number): boolean {
    return hasBit(this.#present, record);
  }

  /** Undefined for a record without metadata, or one that does not exist. */
  text(record: number): string | undefined {
    return this.#texts[record];
  }

  /** The parsed metadata, or undefined if there is none. Each call parses it again. */
  parsed(record: number): Json | undefined {
    const text = this.#texts[record];
    if (text === undefined) return undefined;
    return this.#hasEscapedName ? parseMetadata(text) : parsePlainMetadata(text);
  }

  /** Removes the records from `count` on. */
  truncate(count: number): void {
    if (count === 0) this.clear();
    for (let record = count; record < this.limit; record += 1) this.remove(record);
    if (count < this.limit) this.#texts.length = count;
  }

  /** Removes all records. */
  clear(): void {
    this.#texts.length = 0;
    this.#present = new Uint32Array(0);
    this.#byteCount = 0;
    this.#hasEscapedName = false;
    this.log.forget();
  }

  #replace(record: number, text: string | undefined): void {
    const before = this.#texts[record];
    if (before !== undefined) this.#byteCount -= Buffer.byteLength(before);
    if (text !== undefined) {
      this.#byteCount += Buffer.byteLength(text);
      this.#hasEscapedName ||= hasEscapedName(text);
    }
    this.#texts[record] = text;
  }

  #grow(limit: number): void {
    // Without gaps: a gap would make V8 turn the array into a hash table.
    while (this.#texts.length < limit) this.#texts.push(undefined);
    const wordCount = wordCountOf(limit);
    if (this.#present.length < wordCount) this.#present = widened(this.#present, Math.max(32, 2 * wordCount));
  }
}

/**
 * The metadata of one namespace by record number, as the texts that it came in.
 *
 * (1) A record exists from `set` to `remove`. One without metadata exists too:
 *     it passes HAS NOT FIELD, and a record that does not exist passes nothing.
 * (2) Texts are parsed when a filter asks, not when they come.
 * (3) Every change of what a filter could see is noted in `log`.
 */

import { type Json, parseMetadata } from "../filter/json.ts";
import { clearBit, hasBit, setBit, widened, wordCountOf } from "../search/bits.ts";
import { MetadataLog } from "./metadata-log.ts";

export class MetadataStore {
  readonly log = new MetadataLog();
  /** As long as the highest number that ever existed since the last `truncate`. */
  readonly #texts: (string | undefined)[] = [];
  #present: Uint32Array = new Uint32Array(0);
  #byteCount = 0;

  /** Behind the highest record number that may exist. */
  get limit(): number {
    return this.#texts.length;
  }

  /** Of all texts, in UTF-8. */
  get byteCount(): number {
    return this.#byteCount;
  }

  /** Which records exist. Live: changes with the records, and is replaced when it must grow. */
  get present(): Uint32Array {
    return this.#present;
  }

  /** The record exists, with this metadata: compact JSON of an object, or undefined for none. */
  set(record: number, text: string | undefined): void {
    if (record >= this.limit) this.#grow(record + 1);
    const before = this.#texts[record];
    if (before === text && hasBit(this.#present, record)) return;
    this.#replace(record, text);
    setBit(this.#present, record);
    this.log.append(record, this.limit);
  }

  /** The record does not exist any more. */
  remove(record: number): void {
    if (!hasBit(this.#present, record)) return;
    this.#replace(record, undefined);
    clearBit(this.#present, record);
    this.log.append(record, this.limit);
  }

  has(record: number): boolean {
    return hasBit(this.#present, record);
  }

  /** Undefined for a record without metadata, and for one that does not exist. */
  text(record: number): string | undefined {
    return this.#texts[record];
  }

  /** The parsed metadata, or undefined when there is none. Parsed anew at each call. */
  parsed(record: number): Json | undefined {
    const text = this.#texts[record];
    return text === undefined ? undefined : parseMetadata(text);
  }

  /** Only the records below `count` still exist. */
  truncate(count: number): void {
    if (count === 0) this.clear();
    for (let record = count; record < this.limit; record += 1) this.remove(record);
    if (count < this.limit) this.#texts.length = count;
  }

  /** No record exists any more. */
  clear(): void {
    this.#texts.length = 0;
    this.#present = new Uint32Array(0);
    this.#byteCount = 0;
    this.log.forget();
  }

  #replace(record: number, text: string | undefined): void {
    const before = this.#texts[record];
    if (before !== undefined) this.#byteCount -= Buffer.byteLength(before);
    if (text !== undefined) this.#byteCount += Buffer.byteLength(text);
    this.#texts[record] = text;
  }

  #grow(limit: number): void {
    // One after the other: a gap would make V8 turn the array into a hash table.
    while (this.#texts.length < limit) this.#texts.push(undefined);
    const wordCount = wordCountOf(limit);
    if (this.#present.length < wordCount) this.#present = widened(this.#present, Math.max(32, 2 * wordCount));
  }
}

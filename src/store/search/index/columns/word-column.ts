/**
 * The column of a KEYWORD or FACET field: the distinct values have ordinals, and a document has one cell of 4 bytes: 0
 * without a value, the ordinal plus 1, or the place of a list of ordinals.
 */
import type { Bytes } from "../../../../kernel/bytes.ts";
import { Dictionary } from "../../../structures/dictionary.ts";
import type { FieldValue } from "../../definition.ts";
import { ByteStringList, ownBytes } from "../byte-string-list.ts";
import { grown } from "../documents/live-documents.ts";
import type { WordColumn } from "../index-reader.ts";
import { GrowingCells } from "./growing-cells.ts";

const NONE = 0;
/** From here on a cell is this and the place of a list. */
const LISTS_FROM = 2 ** 31;

export class WordCells implements WordColumn {
  readonly kind = "words";
  readonly #words = new ByteStringList();
  readonly #ordinals: Dictionary<number>;
  readonly #cells = new GrowingCells(Uint32Array);
  /** A count, then so many ordinals. */
  #lists = new Uint32Array(0);
  #listsEnd = 0;

  constructor(hashSeed: Uint8Array) {
    this.#ordinals = new Dictionary(hashSeed, { sharesKeys: true });
  }

  get ordinalLimit(): number {
    return this.#words.length;
  }

  get singles(): Uint32Array | undefined {
    return this.#listsEnd === 0 ? this.#cells.array : undefined;
  }

  get memoryBytes(): number {
    return this.#words.memoryBytes + this.#ordinals.memoryBytes + this.#cells.memoryBytes + this.#lists.byteLength;
  }

  /** Sets the values of a new document, whose number is above all others. */
  add(document: number, values: readonly FieldValue[] | undefined): void {
    this.#cells.add(document, this.#cellOf(values));
  }

  remove(document: number): void {
    this.#cells.set(document, NONE);
  }

  ordinalOfWord(word: Bytes): number | undefined {
    return this.#ordinals.get(word);
  }

  wordOf(ordinal: number): Bytes {
    return this.#words.at(ordinal);
  }

  countOf(document: number): number {
    const cell = this.#cells.array[document] as number;
    if (cell < LISTS_FROM) return cell === NONE ? 0 : 1;
    return this.#lists[cell - LISTS_FROM] as number;
  }

  ordinalOf(document: number, at: number): number {
    const cell = this.#cells.array[document] as number;
    if (cell < LISTS_FROM) return cell - 1;
    return this.#lists[cell - LISTS_FROM + 1 + at] as number;
  }

  #cellOf(values: readonly FieldValue[] | undefined): number {
    if (values === undefined || values.length === 0) return NONE;
    if (values.length === 1) return this.#add(values[0] as Bytes) + 1;
    const start = this.#listsEnd;
    const end = start + 1 + values.length;
    if (end > this.#lists.length) this.#lists = grown(this.#lists, end);
    this.#lists[start] = values.length;
    for (let i = 0; i < values.length; i += 1) this.#lists[start + 1 + i] = this.#add(values[i] as Bytes);
    this.#listsEnd = end;
    return LISTS_FROM + start;
  }

  #add(word: Bytes): number {
    const known = this.#ordinals.get(word);
    if (known !== undefined) return known;
    const ordinal = this.#words.length;
    const own = ownBytes(word);
    this.#words.push(own);
    this.#ordinals.insert(own, ordinal);
    return ordinal;
  }
}

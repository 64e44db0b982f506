/**
 * The column of a U64, I64, F64 or DATE field: one double for each document. Two values that no field has mark documents
 * without a value (NaN) and with several ones (infinity), so the usual document takes 8 bytes.
 *
 * Integers beyond 2^53 - 1 are in a list of their own; their cell is 2^53 plus twice the place in it, which is exact and
 * no value of such a field.
 */
import type { FieldValue } from "../../definition.ts";
import { grown } from "../documents/live-documents.ts";
import type { NumberColumn } from "../index-reader.ts";
import { GrowingCells } from "./growing-cells.ts";

const NONE = Number.NaN;
const SEVERAL = Number.POSITIVE_INFINITY;
const BIGINTS_FROM = 2 ** 53;

export class NumberCells implements NumberColumn {
  readonly kind = "numbers";
  readonly #isInteger: boolean;
  readonly #isSigned: boolean;
  readonly #cells = new GrowingCells(Float64Array);
  /** Of a document with several values, where they are in `#lists`; empty while every document has at most one. */
  #starts = new Uint32Array(0);
  /** A count, then so many cells. */
  #lists = new Float64Array(0);
  #listsEnd = 0;
  #bigints = new BigUint64Array(0);
  #bigintsEnd = 0;
  /** Values of live documents that are bigints. */
  #bigintCount = 0;

  constructor(type: "U64" | "I64" | "F64" | "DATE") {
    this.#isInteger = type === "U64" || type === "I64";
    this.#isSigned = type === "I64";
  }

  get hasBigints(): boolean {
    return this.#bigintCount > 0;
  }

  get singles(): Float64Array | undefined {
    return this.#listsEnd === 0 && this.#bigintsEnd === 0 ? this.#cells.array : undefined;
  }

  get memoryBytes(): number {
    return this.#cells.memoryBytes + this.#starts.byteLength + this.#lists.byteLength + this.#bigints.byteLength;
  }

  /** Sets the values of a new document, whose number is above all others. */
  add(document: number, values: readonly FieldValue[] | undefined): void {
    let cell = NONE;
    if (values?.length === 1) cell = this.#cellOf(values[0] as number | bigint);
    else if (values !== undefined && values.length > 1) cell = SEVERAL;
    this.#cells.add(document, cell);
    if (cell === SEVERAL) this.#addList(document, values as readonly FieldValue[]);
  }

  remove(document: number): void {
    if (this.#bigintCount > 0) {
      const count = this.countOf(document);
      for (let at = 0; at < count; at += 1) if (typeof this.valueOf(document, at) === "bigint") this.#bigintCount -= 1;
    }
    this.#cells.set(document, NONE);
  }

  countOf(document: number): number {
    const cell = this.#cells.array[document] as number;
    if (Number.isNaN(cell)) return 0;
    return cell === SEVERAL ? (this.#lists[this.#starts[document] as number] as number) : 1;
  }

  valueOf(document: number, at: number): number | bigint {
    let cell = this.#cells.array[document] as number;
    if (cell === SEVERAL) cell = this.#lists[(this.#starts[document] as number) + 1 + at] as number;
    if (!this.#isInteger || cell < BIGINTS_FROM) return cell;
    const bits = this.#bigints[(cell - BIGINTS_FROM) / 2] as bigint;
    return this.#isSigned ? BigInt.asIntN(64, bits) : bits;
  }

  #addList(document: number, values: readonly FieldValue[]): void {
    const { length } = this.#cells.array;
    if (this.#starts.length < length) this.#starts = grown(this.#starts, length);
    const end = this.#listsEnd + 1 + values.length;
    if (end > this.#lists.length) this.#lists = grown(this.#lists, end);
    this.#starts[document] = this.#listsEnd;
    this.#lists[this.#listsEnd] = values.length;
    for (let i = 0; i < values.length; i += 1)
      this.#lists[this.#listsEnd + 1 + i] = this.#cellOf(values[i] as number | bigint);
    this.#listsEnd = end;
  }

  #cellOf(value: number | bigint): number {
    if (typeof value === "number") return value;
    if (this.#bigintsEnd === this.#bigints.length)
      this.#bigints = grown(this.#bigints, Math.max(8, this.#bigintsEnd + 1));
    const place = this.#bigintsEnd;
    this.#bigints[place] = BigInt.asUintN(64, value);
    this.#bigintsEnd += 1;
    this.#bigintCount += 1;
    return BIGINTS_FROM + 2 * place;
  }
}

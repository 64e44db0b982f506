/** The column of a BOOL field: a byte for each document, and lists for documents with several values. */
import type { FieldValue } from "../../definition.ts";
import { grown } from "../documents/live-documents.ts";
import type { NumberColumn } from "../index-reader.ts";

const NONE = 0;
/** A value is this and 0 or 1. */
const ONE = 1;
const SEVERAL = 3;

export class BoolCells implements NumberColumn {
  readonly kind = "numbers";
  readonly hasBigints = false;
  #cells = new Uint8Array(0);
  /** Of a document with several values, where they are in `#lists`; empty while every document has at most one. */
  #starts = new Uint32Array(0);
  /** A count, then so many values. */
  #lists = new Uint32Array(0);
  #listsEnd = 0;

  get memoryBytes(): number {
    return this.#cells.byteLength + this.#starts.byteLength + this.#lists.byteLength;
  }

  /** Sets the values of a new document, whose number is above all others. */
  add(document: number, values: readonly FieldValue[] | undefined): void {
    if (document >= this.#cells.length) this.#cells = grown(this.#cells, Math.max(16, document + 1));
    if (values === undefined || values.length === 0) return;
    if (values.length === 1) {
      this.#cells[document] = ONE + (values[0] as number);
      return;
    }
    if (this.#starts.length < this.#cells.length) this.#starts = grown(this.#starts, this.#cells.length);
    const end = this.#listsEnd + 1 + values.length;
    if (end > this.#lists.length) this.#lists = grown(this.#lists, end);
    this.#cells[document] = SEVERAL;
    this.#starts[document] = this.#listsEnd;
    this.#lists[this.#listsEnd] = values.length;
    for (let i = 0; i < values.length; i += 1) this.#lists[this.#listsEnd + 1 + i] = values[i] as number;
    this.#listsEnd = end;
  }

  remove(document: number): void {
    this.#cells[document] = NONE;
  }

  countOf(document: number): number {
    const cell = this.#cells[document] as number;
    if (cell !== SEVERAL) return cell === NONE ? 0 : 1;
    return this.#lists[this.#starts[document] as number] as number;
  }

  valueOf(document: number, at: number): number {
    const cell = this.#cells[document] as number;
    if (cell !== SEVERAL) return cell - ONE;
    return this.#lists[(this.#starts[document] as number) + 1 + at] as number;
  }
}

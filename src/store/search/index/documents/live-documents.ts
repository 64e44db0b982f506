/** Which numbers of documents are in use. */

const CAPACITY_MIN = 16;

export class LiveDocuments {
  /** 1 for each live document. Replaced when it grows. */
  flags = new Uint8Array(CAPACITY_MIN);
  /** The number of live documents. */
  count = 0;
  /** The next number. */
  limit = 0;

  /** Takes the next number. */
  add(): number {
    const document = this.limit;
    if (document === this.flags.length) this.flags = grown(this.flags, document + 1);
    this.flags[document] = 1;
    this.limit += 1;
    this.count += 1;
    return document;
  }

  remove(document: number): void {
    this.flags[document] = 0;
    this.count -= 1;
  }

  get memoryBytes(): number {
    return this.flags.byteLength;
  }
}

type Cells = Uint8Array | Uint32Array | Float64Array | BigUint64Array;

/** A copy with room for at least `length` cells, and at least twice as long; new cells are 0. */
export function grown<T extends Cells>(cells: T, length: number): T {
  const create = cells.constructor as new (length: number) => T;
  const larger = new create(Math.max(length, 2 * cells.length));
  // Both have cells of one kind.
  (larger as Uint8Array).set(cells as Uint8Array);
  return larger;
}

/**
 * The cells of a column, in one array, as aggregations read them. A larger array is made when three quarters are in use,
 * and each new document copies some cells to it: so none pays for the copy of all.
 *
 * (1) The cells below `#copied` are equal in both arrays. All are copied when the smaller one is full: a quarter of its
 *     documents copies five cells each.
 */
type Cells = Uint32Array | Float64Array;

type Create<T> = new (length: number) => T;

const CAPACITY_MIN = 16;
/** One in so many cells is free when the copy begins; each new document copies one more than this. */
const FREE_SHARE = 4;

export class GrowingCells<T extends Cells> {
  /** Replaced when it is full. */
  array: T;
  readonly #create: Create<T>;
  #next: T | undefined;
  #copied = 0;
  /** Cells that growth has copied so far. Only grows; a test of the work reads it. */
  moves = 0;

  constructor(create: Create<T>) {
    this.#create = create;
    this.array = new create(0);
  }

  get memoryBytes(): number {
    return this.array.byteLength + (this.#next?.byteLength ?? 0);
  }

  /** Sets the cell of the document after the last one. */
  add(document: number, cell: number): void {
    const { length } = this.array;
    if (document >= length - length / FREE_SHARE) this.#grow(document);
    this.array[document] = cell;
  }

  set(document: number, cell: number): void {
    this.array[document] = cell;
    if (this.#next !== undefined && document < this.#copied) this.#next[document] = cell; // keeps (1)
  }

  /** Copies the next cells, and takes the larger array once the other one is full. */
  #grow(document: number): void {
    const { array } = this;
    this.#next ??= new this.#create(Math.max(CAPACITY_MIN, 2 * array.length));
    const end = Math.min(document, this.#copied + FREE_SHARE + 1);
    for (let at = this.#copied; at < end; at += 1) this.#next[at] = array[at] as number;
    this.moves += end - this.#copied;
    this.#copied = end; // keeps (1)
    if (document < array.length) return;
    this.array = this.#next;
    this.#next = undefined;
    this.#copied = 0;
  }
}

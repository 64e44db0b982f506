/** The place of each record's row, in pages outside V8's heap, so that no growth copies more than a page. */

const PAGE_SHIFT = 12;
const PAGE_LENGTH = 1 << PAGE_SHIFT;
const PAGE_MASK = PAGE_LENGTH - 1;

export class PlaceTable {
  /** The place plus one; 0 for none. */
  readonly #pages: Uint32Array[] = [];

  get byteCount(): number {
    return this.#pages.length * PAGE_LENGTH * Uint32Array.BYTES_PER_ELEMENT;
  }

  find(record: number): number | undefined {
    const place = this.#pages[record >>> PAGE_SHIFT]?.[record & PAGE_MASK] ?? 0;
    return place === 0 ? undefined : place - 1;
  }

  set(record: number, place: number): void {
    const number = record >>> PAGE_SHIFT;
    while (this.#pages.length <= number) this.#pages.push(new Uint32Array(PAGE_LENGTH));
    (this.#pages[number] as Uint32Array)[record & PAGE_MASK] = place + 1;
  }

  delete(record: number): void {
    const page = this.#pages[record >>> PAGE_SHIFT];
    if (page !== undefined) page[record & PAGE_MASK] = 0;
  }

  /** Frees the pages of records from `count` on, which have no place. */
  truncate(count: number): void {
    const pageCount = (count + PAGE_MASK) >>> PAGE_SHIFT;
    if (this.#pages.length > pageCount) this.#pages.length = pageCount;
  }
}

/**
 * Numbers by record, outside V8's heap. They are in pages, so that no growth
 * copies more than one page; the first page grows from a few numbers, so that a
 * small namespace stays small.
 *
 * (1) A number that was not set since its page was made is 0.
 */

const PAGE_SHIFT = 12;
/** Numbers of a page. */
const PAGE_LENGTH = 1 << PAGE_SHIFT;
const PAGE_MASK = PAGE_LENGTH - 1;
/** V8 keeps an array of so few bytes in its heap, without a buffer of its own. */
const PAGE_BYTES_MIN = 64;

type Numbers = Uint32Array | Float64Array;

interface PageKind<Page extends Numbers> {
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): Page;
}

class NumberPages<Page extends Numbers> {
  readonly #Page: PageKind<Page>;
  readonly #pages: Page[] = [];

  constructor(Page: PageKind<Page>) {
    this.#Page = Page;
  }

  /** The memory of the pages. */
  get byteCount(): number {
    const [first, second] = this.#pages;
    return (first?.byteLength ?? 0) + (this.#pages.length - 1) * (second?.byteLength ?? 0);
  }

  get(index: number): number {
    return this.#pages[index >>> PAGE_SHIFT]?.[index & PAGE_MASK] ?? 0;
  }

  set(index: number, value: number): void {
    const page = this.#pages[index >>> PAGE_SHIFT];
    if (page !== undefined && (index & PAGE_MASK) < page.length) page[index & PAGE_MASK] = value;
    else if (value !== 0) this.#reserved(index)[index & PAGE_MASK] = value;
  }

  /** Frees the pages that have only numbers from `length` on. Those on other pages keep their values. */
  freeFrom(length: number): void {
    const pageCount = (length + PAGE_MASK) >>> PAGE_SHIFT;
    if (this.#pages.length > pageCount) this.#pages.length = pageCount;
  }

  clear(): void {
    this.#pages.length = 0;
  }

  /** The page of a number, which exists afterwards. */
  #reserved(index: number): Page {
    const number = index >>> PAGE_SHIFT;
    while (this.#pages.length < number) this.#reserved((this.#pages.length << PAGE_SHIFT) | PAGE_MASK);
    const page = this.#pages[number];
    const place = index & PAGE_MASK;
    if (page !== undefined && place < page.length) return page;
    const isSmall = number === 0;
    let length = isSmall
      ? Math.max(PAGE_BYTES_MIN / this.#Page.BYTES_PER_ELEMENT, 2 * (page?.length ?? 0))
      : PAGE_LENGTH;
    while (length <= place) length *= 2;
    const longer = new this.#Page(length);
    if (page !== undefined) longer.set(page);
    this.#pages[number] = longer;
    return longer;
  }
}

/** Whole numbers below 2^32. */
export class Uint32Pages extends NumberPages<Uint32Array> {
  constructor() {
    super(Uint32Array);
  }
}

export class Float64Pages extends NumberPages<Float64Array> {
  constructor() {
    super(Float64Array);
  }
}

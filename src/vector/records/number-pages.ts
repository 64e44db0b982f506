/**
 * Numbers by record, outside V8's heap. They are in pages, so that no growth
 * copies more than one page; the first page grows from a few numbers, so that a
 * small namespace stays small.
 *
 * (1) A number that was not set since its page was made is 0.
 * (2) A page is in a block of the memory of rows, so that its place is used again
 *     without gaps, or in an array of its own if it is small, there is no block, or
 *     no memory was given.
 */
import type { Block, RowMemory } from "../rows/row-memory.ts";

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
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): Page;
}

class NumberPages<Page extends Numbers> {
  readonly #Page: PageKind<Page>;
  readonly #memory: RowMemory | undefined;
  readonly #pages: Page[] = [];
  /** The blocks of the pages. Undefined until the first one, as a small namespace has none. */
  #blocks: (Block | undefined)[] | undefined;

  constructor(Page: PageKind<Page>, memory: RowMemory | undefined) {
    this.#Page = Page;
    this.#memory = memory;
  }

  /** The memory of the pages. */
  get byteCount(): number {
    const [first, second] = this.#pages;
    return (first?.byteLength ?? 0) + Math.max(0, this.#pages.length - 1) * (second?.byteLength ?? 0);
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
    while (this.#pages.length > pageCount) {
      this.#pages.pop();
      this.#release(this.#blocks?.pop());
    }
  }

  clear(): void {
    this.freeFrom(0);
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
    return this.#replace(number, length);
  }

  /** Makes a page, or a longer one with the same numbers. */
  #replace(number: number, length: number): Page {
    const block = this.#memory?.findBlock(length * this.#Page.BYTES_PER_ELEMENT); // keeps (2)
    const former = this.#pages[number];
    let page: Page;
    if (block === undefined) {
      page = new this.#Page(length);
    } else {
      page = new this.#Page(block.arena.floats.buffer, block.address, length);
      page.fill(0); // keeps (1)
      this.#blocks ??= this.#pages.map(() => undefined);
    }
    if (former !== undefined) page.set(former);
    this.#pages[number] = page;
    if (this.#blocks !== undefined) {
      this.#release(this.#blocks[number]);
      this.#blocks[number] = block;
    }
    return page;
  }

  #release(block: Block | undefined): void {
    if (block !== undefined) this.#memory?.release(block);
  }
}

/** Whole numbers below 2^32. */
export class Uint32Pages extends NumberPages<Uint32Array> {
  constructor(memory?: RowMemory) {
    super(Uint32Array, memory);
  }
}

export class Float64Pages extends NumberPages<Float64Array> {
  constructor(memory: RowMemory) {
    super(Float64Array, memory);
  }
}

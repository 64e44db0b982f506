/**
 * Some words of 32 bits for each document, in pages of 4,096 documents. A full page is never copied: so the document that
 * an index has no room for does not pay for all before it. The first page grows, so that a small index is small.
 */
import { grown } from "./live-documents.ts";

const PAGE_BITS = 12;
const PAGE_DOCUMENTS = 1 << PAGE_BITS;
const FIRST_DOCUMENTS = 16;

export class DocumentWords {
  readonly #width: number;
  readonly #pages: Uint32Array[];

  /** @param width the words of a document */
  constructor(width: number) {
    this.#width = width;
    this.#pages = [new Uint32Array(FIRST_DOCUMENTS * width)];
  }

  get memoryBytes(): number {
    const first = this.#pages[0] as Uint32Array;
    return first.byteLength * this.#pages.length;
  }

  /** Makes room for the document after the last one. */
  reserve(document: number): void {
    const pages = this.#pages;
    const first = pages[0] as Uint32Array;
    if (document >>> PAGE_BITS === pages.length) pages.push(new Uint32Array(PAGE_DOCUMENTS * this.#width));
    else if (document < PAGE_DOCUMENTS && document * this.#width === first.length)
      pages[0] = grown(first, first.length + this.#width);
  }

  /** The page that has the words of a document, from `placeOf` on. */
  pageOf(document: number): Uint32Array {
    return this.#pages[document >>> PAGE_BITS] as Uint32Array;
  }

  placeOf(document: number): number {
    return (document & (PAGE_DOCUMENTS - 1)) * this.#width;
  }
}

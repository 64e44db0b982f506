/**
 * A run of at most 128 elements of a list, in one of two forms:
 *
 *     open      an array of byte strings, changed in place
 *     packed    one byte string: | length | bytes | length | bytes | …
 *               length: u8 up to 254, else ff and u16, lowest byte first
 *
 * Packed, an element takes its bytes and one more, and the garbage collector
 * sees one object for the whole run. Open, it takes a pointer and a separate
 * string, some 30 bytes more. A block with an element above 255 bytes stays
 * open: there the difference is small.
 *
 * An open block that grows to the left keeps free places before its first element,
 * so a push there moves nothing.
 *
 * (1) There are at most twice as many free places as elements, and new ones are as
 *     many as the elements: so between two moves of all elements there are a third
 *     as many pushes or pops.
 */
import type { Bytes } from "../../kernel/bytes.ts";

/** 128: bench/list.bench.ts. 64 halves the cost of changes in the middle and doubles the objects; 256 is slower in every row. */
export const BLOCK_ELEMENTS_MAX = 128;

/** Bytes of all elements of a packed block. */
const PACKED_CONTENT_BYTES_MAX = BLOCK_ELEMENTS_MAX * 256;
/** In place of a length: the length follows in two bytes. */
const LONG = 0xff;
const LONG_LENGTH_BYTES = 3;

/** Buffer for packing and unpacking one block at a time. */
const scratch = Buffer.allocUnsafe(PACKED_CONTENT_BYTES_MAX + BLOCK_ELEMENTS_MAX * LONG_LENGTH_BYTES);

/** V8 copies a shorter slice of a string; a longer one would keep the whole packed string alive. */
const PART_LENGTH_MIN = 13;
/** Up to this length a loop over char codes is faster than a call into native code, as in `kernel/frame.ts`. */
const LOOP_LENGTH_MAX = 10;

/** Free places are copied from here: an array without holes, which is faster to read. */
const freePlaces: readonly Bytes[] = Array.from({ length: BLOCK_ELEMENTS_MAX }, () => "");

export class ListBlock {
  /** From `#start` on; the places before are free. */
  #items: Bytes[] | undefined;
  #start = 0;
  #packed: Bytes = "";
  /** The number of elements. */
  count: number;
  /** Bytes of all elements. */
  contentBytes = 0;

  /** An open block that owns `items`. */
  constructor(items: Bytes[]) {
    this.#items = items;
    this.count = items.length;
    for (const item of items) this.contentBytes += item.length;
  }

  get isOpen(): boolean {
    return this.#items !== undefined;
  }

  /** The element at an index that exists. From a packed block it may be a slice of a longer string: do not store it. */
  at(index: number): Bytes {
    const items = this.#items;
    if (items !== undefined) return items[this.#start + index] as Bytes;
    const packed = this.#packed;
    const offset = this.#offsetOf(index);
    const start = startAt(packed, offset);
    return packed.slice(start, start + lengthAt(packed, offset));
  }

  /** The elements from one index up to, not including, another, for immediate use only; see `at`. */
  range(from: number, to: number): readonly Bytes[] {
    const items = this.#items;
    const first = this.#start;
    if (items !== undefined) return to - from === items.length ? items : items.slice(first + from, first + to);
    const packed = this.#packed;
    const elements: Bytes[] = [];
    let offset = this.#offsetOf(from);
    for (let index = from; index < to; index += 1) {
      const start = startAt(packed, offset);
      const end = start + lengthAt(packed, offset);
      elements.push(packed.slice(start, end));
      offset = end;
    }
    return elements;
  }

  /** Opens a packed block. Returns how many elements were copied for it. */
  open(): number {
    if (this.#items !== undefined) return 0;
    const packed = this.#packed;
    scratch.latin1Write(packed, 0, packed.length);
    const items: Bytes[] = [];
    for (let offset = 0; offset < packed.length; ) {
      let start = offset + 1;
      let length = scratch[offset] as number;
      if (length === LONG) {
        length = (scratch[start] as number) | ((scratch[start + 1] as number) << 8);
        start = offset + LONG_LENGTH_BYTES;
      }
      const end = start + length;
      items.push(length < PART_LENGTH_MIN ? packed.slice(start, end) : scratch.latin1Slice(start, end));
      offset = end;
    }
    this.#items = items;
    this.#packed = "";
    return this.count;
  }

  /** Packs an open block, unless it is too long. Returns how many elements were copied for it. */
  pack(): number {
    const items = this.#items;
    if (items === undefined || this.contentBytes > PACKED_CONTENT_BYTES_MAX) return 0;
    let end = 0;
    for (let index = this.#start; index < items.length; index += 1) {
      const item = items[index] as Bytes;
      const length = item.length;
      if (length < LONG) {
        scratch[end++] = length;
      } else {
        scratch[end++] = LONG;
        scratch[end++] = length & 0xff;
        scratch[end++] = length >>> 8;
      }
      if (length <= LOOP_LENGTH_MAX) for (let i = 0; i < length; i += 1) scratch[end + i] = item.charCodeAt(i);
      else scratch.latin1Write(item, end, length);
      end += length;
    }
    this.#packed = scratch.latin1Slice(0, end);
    this.#items = undefined;
    this.#start = 0;
    return this.count;
  }

  // The following functions change the block, which must be open.

  set(index: number, element: Bytes): void {
    const items = this.#items as Bytes[];
    const place = this.#start + index;
    this.contentBytes += element.length - (items[place] as Bytes).length;
    items[place] = element;
  }

  insert(index: number, element: Bytes): void {
    const items = this.#items as Bytes[];
    // An array literal of one element has capacity for one; an empty array that grows has capacity for 17.
    if (this.count === 0) this.#setItems([element]);
    else if (index === this.count) items.push(element);
    else if (index === 0) this.#insertFirst(element);
    else this.#open.splice(index, 0, element);
    this.count += 1;
    this.contentBytes += element.length;
  }

  /** Removes one element. */
  take(index: number): Bytes {
    const items = this.#items as Bytes[];
    let element: Bytes;
    if (index === this.count - 1) element = items.pop() as Bytes;
    else if (index > 0) element = this.#open.splice(index, 1)[0] as Bytes;
    else if (this.#start === 0) element = items.shift() as Bytes;
    else {
      element = items[this.#start] as Bytes;
      items[this.#start] = "";
      this.#start += 1;
    }
    this.count -= 1;
    this.contentBytes -= element.length;
    if (this.#start > 2 * this.count) this.#dropFreePlaces(); // keeps (1)
    return element;
  }

  /** Trims the block to the elements from one index up to, not including, another. */
  keep(from: number, to: number): void {
    this.#replace(this.#open.slice(from, to));
  }

  /** Removes at most `countMax` elements that equal `element`, from the front or from the back. Returns how many. */
  removeEqual(element: Bytes, options: { countMax: number; backwards: boolean }): number {
    const { countMax, backwards } = options;
    const rest: Bytes[] = [];
    const items = backwards ? this.#open.toReversed() : this.#open;
    let removed = 0;
    for (const item of items) {
      if (removed < countMax && item === element) removed += 1;
      else rest.push(item);
    }
    this.#replace(backwards ? rest.reverse() : rest);
    return removed;
  }

  /** Appends the elements of the next block. */
  absorb(next: ListBlock): void {
    for (const item of next.range(0, next.count)) this.#open.push(item);
    this.count += next.count;
    this.contentBytes += next.contentBytes;
  }

  /** Moves the elements from an index on into a new block, which is open. */
  split(index: number): ListBlock {
    const right = new ListBlock(this.#open.splice(index));
    this.count = index;
    this.contentBytes -= right.contentBytes;
    return right;
  }

  // End of the functions for open blocks.

  /** Moves everything, in its current form, into a new block. This one is empty and open then. */
  moveAll(): ListBlock {
    const moved = this.copy();
    this.#replace([]);
    return moved;
  }

  /** A copy in the same form; a packed one shares its string, an open one does not share its array. */
  copy(): ListBlock {
    const copy = new ListBlock([]);
    copy.#items = this.#items?.slice(this.#start);
    copy.#packed = this.#packed;
    copy.count = this.count;
    copy.contentBytes = this.contentBytes;
    return copy;
  }

  /** The elements, for changes at any place. */
  get #open(): Bytes[] {
    if (this.#start > 0) this.#dropFreePlaces();
    return this.#items as Bytes[];
  }

  #setItems(items: Bytes[]): void {
    this.#items = items;
    this.#start = 0;
  }

  #insertFirst(element: Bytes): void {
    if (this.#start === 0) {
      // keeps (1)
      const start = Math.min(this.count, BLOCK_ELEMENTS_MAX - this.count);
      this.#items = freePlaces.slice(0, start).concat(this.#items as Bytes[]);
      this.#start = start;
    }
    this.#start -= 1;
    (this.#items as Bytes[])[this.#start] = element;
  }

  #dropFreePlaces(): void {
    this.#setItems((this.#items as Bytes[]).slice(this.#start));
  }

  #replace(items: Bytes[]): void {
    this.#setItems(items);
    this.#packed = "";
    this.count = items.length;
    this.contentBytes = 0;
    for (const item of items) this.contentBytes += item.length;
  }

  #offsetOf(index: number): number {
    const packed = this.#packed;
    let offset = 0;
    for (let i = 0; i < index; i += 1) offset = startAt(packed, offset) + lengthAt(packed, offset);
    return offset;
  }
}

/** The length of the element at an offset of a packed block. */
function lengthAt(packed: Bytes, offset: number): number {
  const length = packed.charCodeAt(offset);
  return length === LONG ? packed.charCodeAt(offset + 1) | (packed.charCodeAt(offset + 2) << 8) : length;
}

/** The start of the bytes of that element. */
function startAt(packed: Bytes, offset: number): number {
  return offset + (packed.charCodeAt(offset) === LONG ? LONG_LENGTH_BYTES : 1);
}

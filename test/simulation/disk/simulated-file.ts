/**
 * The contents of one simulated file: what a reader sees now, and what a power
 * cut would leave of it.
 *
 * (1) `durable` survives any power cut. A list of changes that no sync has
 *     covered follows; applied in order they give `current`.
 * (2) A power cut leaves of the changes what real disks leave: each 4-KiB page
 *     is in the state before some change, not all pages before the same one; a
 *     page may be torn, at a byte or at 512-byte sectors; the length is one that
 *     the file had, or one in between, and bytes below it that were never
 *     written read as zeros.
 * (3) After a failed sync the pages that it covered count as clean: some of them
 *     reached the disk, and no later sync writes the others.
 */
import type { Random } from "../../../src/kernel/random.ts";

export const PAGE_BYTES = 4_096;
export const SECTOR_BYTES = 512;

type Change =
  | { readonly kind: "write"; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: "truncate"; readonly length: number };

export class SimulatedFile {
  #current: Content;
  #durable: Content;
  #changes: Change[] = [];
  /** Changes that are already in `#durable`. */
  #settledCount = 0;

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#current = new Content(bytes);
    this.#durable = this.#current.share();
  }

  get length(): number {
    return this.#current.length;
  }

  /** What a reader sees; read only. */
  get bytes(): Buffer {
    return this.#current.bytes;
  }

  get isDurable(): boolean {
    return this.#changes.length === 0;
  }

  /** The number of changes so far: what a sync requested now will cover. */
  get changeCount(): number {
    return this.#settledCount + this.#changes.length;
  }

  write(offset: number, bytes: Uint8Array): void {
    this.#change({ kind: "write", offset, bytes: Buffer.from(bytes) });
  }

  truncate(length: number): void {
    this.#change({ kind: "truncate", length });
  }

  /** Makes the first `changeCount` changes durable. */
  sync(changeCount: number): void {
    const covered = this.#changes.splice(0, Math.max(0, changeCount - this.#settledCount));
    this.#settledCount += covered.length;
    for (const change of covered) apply(change, this.#durable);
  }

  /** keeps (3) */
  failSync(changeCount: number, random: Random): void {
    const covered = this.#changes.splice(0, Math.max(0, changeCount - this.#settledCount));
    this.#settledCount += covered.length;
    this.#durable = remains(this.#durable, covered, random);
  }

  /** Alters durable data, as a failing medium does. */
  flipBit(offset: number, bit: number): void {
    for (const content of [this.#current, this.#durable]) {
      if (offset < content.length) content.write(offset, Buffer.from([content.byteAt(offset) ^ (1 << bit)]));
    }
  }

  /** An independent file in the same state. */
  copy(): SimulatedFile {
    const copy = new SimulatedFile();
    copy.#current = this.#current.share();
    copy.#durable = this.#durable.share();
    copy.#changes = [...this.#changes];
    copy.#settledCount = this.#settledCount;
    return copy;
  }

  /** What a power cut leaves: (2). */
  afterPowerCut(random: Random): SimulatedFile {
    const left = new SimulatedFile();
    left.#durable = remains(this.#durable.share(), this.#changes, random);
    left.#current = left.#durable.share();
    return left;
  }

  #change(change: Change): void {
    this.#changes.push(change);
    apply(change, this.#current);
  }
}

/** keeps (2). The caller gives `durable` away. */
function remains(durable: Content, changes: readonly Change[], random: Random): Content {
  if (changes.length === 0) return durable;
  const lengths = [durable.length];
  for (const change of changes) {
    const before = lengths.at(-1) ?? 0;
    lengths.push(change.kind === "truncate" ? change.length : Math.max(before, change.offset + change.bytes.length));
  }
  // Whole outcomes are frequent enough that not only mixes are tried.
  const draw = stepDraw(changes.length, random);
  let length = lengths[draw()] as number;
  if (random.below(4) === 0) {
    const shortest = Math.min(...lengths);
    length = shortest + random.below(Math.max(...lengths) - shortest + 1);
  }
  const bytes = Buffer.alloc(length);
  durable.bytes.copy(bytes, 0, 0, length);
  for (let start = 0; start < length; start += PAGE_BYTES) {
    const end = Math.min(start + PAGE_BYTES, length);
    if (!changes.some((change) => touches(change, start, end))) continue;
    const page = rangeAfter(durable, changes.slice(0, draw()), { start, end });
    if (random.below(3) === 0) tear(page, rangeAfter(durable, changes.slice(0, draw()), { start, end }), random);
    page.copy(bytes, start);
  }
  return new Content(bytes);
}

/** Draws how many changes had reached the disk: all, none, or a number for each page. */
function stepDraw(count: number, random: Random): () => number {
  switch (random.below(6)) {
    case 0:
      return () => count;
    case 1:
      return () => 0;
    case 2:
      return () => (random.below(2) === 0 ? count : 0);
    case 3:
      return () => (random.below(8) === 0 ? random.below(count + 1) : count);
    default:
      return () => random.below(count + 1);
  }
}

/** Puts a part of `other` into the page: up to or from one byte, or any of its sectors. */
function tear(page: Buffer, other: Buffer, random: Random): void {
  const cut = random.below(page.length + 1);
  switch (random.below(3)) {
    case 0:
      other.copy(page, 0, 0, cut);
      return;
    case 1:
      other.copy(page, cut, cut);
      return;
    default:
      for (let start = 0; start < page.length; start += SECTOR_BYTES) {
        if (random.below(2) === 0) other.copy(page, start, start, Math.min(start + SECTOR_BYTES, page.length));
      }
  }
}

function touches(change: Change, start: number, end: number): boolean {
  if (change.kind === "truncate") return change.length < end;
  return change.offset < end && change.offset + change.bytes.length > start;
}

function rangeAfter(
  durable: Content,
  changes: readonly Change[],
  { start, end }: { start: number; end: number },
): Buffer {
  const range = Buffer.alloc(end - start);
  durable.bytes.copy(range, 0, Math.min(start, durable.length), end);
  for (const change of changes) {
    if (change.kind === "truncate") {
      if (change.length < end) range.fill(0, Math.max(0, change.length - start));
    } else if (touches(change, start, end)) {
      const from = Math.max(start, change.offset);
      change.bytes.copy(range, from - start, from - change.offset, end - change.offset);
    }
  }
  return range;
}

function apply(change: Change, content: Content): void {
  if (change.kind === "write") content.write(change.offset, change.bytes);
  else content.truncate(change.length);
}

/** Bytes with a length, shared between copies until one of them changes. */
class Content {
  #buffer: Buffer;
  #length: number;
  #isShared = true;

  constructor(bytes: Buffer) {
    this.#buffer = bytes;
    this.#length = bytes.length;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  byteAt(offset: number): number {
    return this.#buffer[offset] as number;
  }

  share(): Content {
    this.#isShared = true;
    return new Content(this.bytes);
  }

  write(offset: number, bytes: Uint8Array): void {
    const end = offset + bytes.length;
    this.#own(end);
    this.#buffer.set(bytes, offset);
    this.#length = Math.max(this.#length, end);
  }

  truncate(length: number): void {
    this.#own(length);
    // Bytes cut off must not come back when the file grows again.
    if (length < this.#length) this.#buffer.fill(0, length, this.#length);
    this.#length = length;
  }

  #own(capacity: number): void {
    if (!this.#isShared && capacity <= this.#buffer.length) return;
    const own = Buffer.alloc(Math.max(capacity, this.#length, Math.min(2 * this.#length, this.#length + 65_536)));
    this.#buffer.copy(own, 0, 0, this.#length);
    this.#buffer = own;
    this.#isShared = false;
  }
}

/**
 * Reads the items of a segment or a snapshot from start to end, through a
 * window of bounded size, so that a file of many gigabytes costs a megabyte.
 *
 * Reading stops at the first item that is not whole. What that means (the tail
 * of a crash, or damage) is for the caller to say.
 */

import { type DiskFile, readFully } from "../disk/disk.ts";
import { crc32 } from "./checksum.ts";
import { FRAME_HEADER_BYTES, findMark, frameSeed, MARK_BYTES, type Mark } from "./file-format.ts";

/** From 64 KB to 4 MB the speed is the same (bench/journal.bench.ts, recovery). */
const WINDOW_BYTES = 1024 * 1024;

export interface ItemSource {
  readonly file: DiskFile;
  /** Of the whole file, in bytes. */
  readonly size: number;
  readonly number: number;
  readonly salt: number;
  /** The first word of this kind of file's marks. */
  readonly markWord: number;
}

export interface ItemSink {
  /** One whole frame, and where in the file its payload begins. The bytes are only valid until this returns. */
  frame(payload: Buffer, offset: number): void;
  /** One whole mark, with all items in front of it already told. `stop` ends the reading in front of it. */
  mark(mark: Mark, at: { offset: number; position: number }): "go on" | "stop";
  /** Told after each part of the file, in bytes. What it returns is awaited. */
  progress?(bytes: number): unknown;
}

export interface ItemsRead {
  /** Behind the last whole item, in bytes. */
  readonly offset: number;
  /** Behind the last whole frame. */
  readonly position: number;
  /** Why no item follows: the file ends here, the sink stopped, or the bytes that follow are no whole item. */
  readonly end: "end of file" | "stopped" | "bad";
}

/** Reads items from `offset`; `position` is that of the first frame. */
export async function readItems(
  source: ItemSource,
  sink: ItemSink,
  from: { offset: number; position: number },
): Promise<ItemsRead> {
  const window = new FileWindow(source.file, source.size, from.offset);
  const shape = { word: source.markWord, number: source.number, salt: source.salt };
  let { position } = from;
  for (;;) {
    let needed = 4;
    while (window.count >= needed) {
      const { bytes, start } = window;
      const word = bytes.readUInt32LE(start);
      if (word > 0x7fff_ffff) {
        needed = MARK_BYTES;
        if (window.count < needed) break;
        const mark = findMark(bytes, start, shape);
        if (mark === undefined) return { offset: window.offset, position, end: "bad" };
        const at = { offset: window.offset, position };
        if (sink.mark(mark, at) === "stop") return { ...at, end: "stopped" };
      } else {
        needed = FRAME_HEADER_BYTES + word;
        if (word === 0) return { offset: window.offset, position, end: "bad" };
        if (window.count < needed) break;
        const payloadStart = start + FRAME_HEADER_BYTES;
        const crc = crc32(bytes, payloadStart, start + needed, frameSeed(shape.salt, position, word));
        if (crc !== bytes.readUInt32LE(start + 4)) return { offset: window.offset, position, end: "bad" };
        sink.frame(bytes.subarray(payloadStart, start + needed), window.offset + FRAME_HEADER_BYTES);
        position += 1;
      }
      window.take(needed);
      needed = 4;
    }
    const paused = sink.progress?.(window.offset);
    if (paused !== undefined) await paused;
    if (window.offset === source.size) return { offset: window.offset, position, end: "end of file" };
    // A bad length must not make us ask for memory: what is longer than the rest of the file is not whole.
    if (window.offset + needed > source.size || !(await window.fill(needed))) {
      return { offset: window.offset, position, end: "bad" };
    }
  }
}

/** A part of a file that moves forward. */
class FileWindow {
  readonly #file: DiskFile;
  readonly #size: number;
  bytes: Buffer;
  /** Index in `bytes` of the first byte that was not taken. */
  start = 0;
  #end = 0;
  /** Where `start` lies in the file. */
  offset: number;

  constructor(file: DiskFile, size: number, offset: number) {
    this.#file = file;
    this.#size = size;
    this.offset = offset;
    this.bytes = Buffer.allocUnsafeSlow(Math.max(1, Math.min(WINDOW_BYTES, size - offset)));
  }

  /** Bytes that are there and not taken. */
  get count(): number {
    return this.#end - this.start;
  }

  take(count: number): void {
    this.start += count;
    this.offset += count;
  }

  /** Reads on until `needed` bytes are there. False if the file turns out to be shorter than it said. */
  async fill(needed: number): Promise<boolean> {
    const kept = this.count;
    const target = needed > this.bytes.length ? Buffer.allocUnsafeSlow(needed) : this.bytes;
    this.bytes.copy(target, 0, this.start, this.#end);
    this.bytes = target;
    this.start = 0;
    const left = this.#size - this.offset - kept;
    const free = target.subarray(kept, Math.min(target.length, kept + left));
    this.#end = kept + (await readFully(this.#file, free, this.offset + kept));
    return this.count >= needed;
  }
}

/** How far behind damage a search looks at a time. */
const SEARCH_BYTES = 4 * 1024 * 1024;

/**
 * Looks for whole marks anywhere after `offset` and returns the highest synced position that one of them states, or
 * -1 if there is none. Marks lie at any byte, because what came before them may be lost.
 */
export async function findSyncedPosition(source: ItemSource, offset: number): Promise<number> {
  const shape = { word: source.markWord, number: source.number, salt: source.salt };
  const word = Buffer.alloc(4);
  word.writeUInt32LE(shape.word);
  const bytes = Buffer.allocUnsafeSlow(Math.max(1, Math.min(SEARCH_BYTES, source.size - offset)));
  let highest = -1;
  let start = offset;
  while (start + MARK_BYTES <= source.size) {
    const count = await readFully(source.file, bytes.subarray(0, Math.min(bytes.length, source.size - start)), start);
    const found = bytes.subarray(0, count);
    for (let i = found.indexOf(word); i !== -1; i = found.indexOf(word, i + 1)) {
      const mark = findMark(found, i, shape);
      if (mark !== undefined) highest = Math.max(highest, mark.syncedPosition);
    }
    if (count < MARK_BYTES) break;
    // The next part starts inside this one, so that a mark across the border is seen whole.
    start += count - MARK_BYTES + 1;
  }
  return highest;
}

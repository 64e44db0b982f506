/**
 * Reads the items of a segment or a snapshot from start to end, through a
 * window of bounded size, so that a file of many gigabytes costs a megabyte.
 *
 * Reading stops at the first item that is incomplete or has a wrong checksum.
 * The caller decides whether that is the tail of a crash or damage.
 */

import { type DiskFile, readFully } from "../disk/disk.ts";
import { crc32 } from "./checksum.ts";
import { FRAME_HEADER_BYTES, findMark, frameSeed, MARK_BYTES, type Mark } from "./file-format.ts";

/** From 64 KB to 4 MB the speed is the same (bench/journal.bench.ts, recovery). */
const WINDOW_BYTES = 1024 * 1024;

export interface ItemSource {
  readonly file: Pick<DiskFile, "read">;
  /** The size of the file in bytes. */
  readonly size: number;
  readonly number: number;
  readonly salt: number;
  /** The first word of this kind of file's marks. */
  readonly markWord: number;
}

export interface ItemSink {
  /** Receives a valid frame and the offset of its payload in the file. The bytes are only valid until this returns. */
  frame(payload: Buffer, offset: number): void;
  /** Receives a valid mark, after all items before it. `stop` ends the reading before the mark. */
  mark(mark: Mark, at: { offset: number; position: number }): "go on" | "stop";
  /** Called with the bytes read after each part of the file. Its result is awaited. */
  progress?(bytes: number): unknown;
}

export interface ItemsRead {
  /** The offset after the last valid item. */
  readonly offset: number;
  /** The position after the last valid frame. */
  readonly position: number;
  /** Why no item follows: the file ends here, the sink stopped, or the next bytes are not a valid item. */
  readonly end: "end of file" | "stopped" | "bad";
}

/** Reads items from `offset`; `position` is the position before the first frame. */
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
    // A bad length must not allocate memory: an item longer than the rest of the file is incomplete.
    if (window.offset + needed > source.size || !(await window.fill(needed))) {
      return { offset: window.offset, position, end: "bad" };
    }
  }
}

/** A window that moves forward through a file. */
class FileWindow {
  readonly #file: ItemSource["file"];
  readonly #size: number;
  bytes: Buffer;
  /** The index in `bytes` of the first byte that was not taken. */
  start = 0;
  #end = 0;
  /** The offset of `start` in the file. */
  offset: number;

  constructor(file: ItemSource["file"], size: number, offset: number) {
    this.#file = file;
    this.#size = size;
    this.offset = offset;
    this.bytes = Buffer.allocUnsafeSlow(Math.max(1, Math.min(WINDOW_BYTES, size - offset)));
  }

  /** The number of bytes read but not taken. */
  get count(): number {
    return this.#end - this.start;
  }

  take(count: number): void {
    this.start += count;
    this.offset += count;
  }

  /** Reads until `needed` bytes are available. Returns false if the file is shorter than its stated size. */
  async fill(needed: number): Promise<boolean> {
    const unread = this.count;
    const target = needed > this.bytes.length ? Buffer.allocUnsafeSlow(needed) : this.bytes;
    this.bytes.copy(target, 0, this.start, this.#end);
    this.bytes = target;
    this.start = 0;
    const left = this.#size - this.offset - unread;
    const free = target.subarray(unread, Math.min(target.length, unread + left));
    this.#end = unread + (await readFully(this.#file, free, this.offset + unread));
    return this.count >= needed;
  }
}

/** The bytes that a search after damage reads at a time. */
const SEARCH_BYTES = 4 * 1024 * 1024;

/** All valid marks from `offset` on, in order. A mark may begin at any byte, because the items before it may be lost. */
export async function* findMarks(
  source: ItemSource,
  offset: number,
): AsyncGenerator<{ readonly mark: Mark; readonly offset: number }> {
  const shape = { word: source.markWord, number: source.number, salt: source.salt };
  const word = Buffer.alloc(4);
  word.writeUInt32LE(shape.word);
  const bytes = Buffer.allocUnsafeSlow(Math.max(1, Math.min(SEARCH_BYTES, source.size - offset)));
  let start = offset;
  while (start + MARK_BYTES <= source.size) {
    const count = await readFully(source.file, bytes.subarray(0, Math.min(bytes.length, source.size - start)), start);
    const found = bytes.subarray(0, count);
    for (let i = found.indexOf(word); i !== -1; i = found.indexOf(word, i + 1)) {
      const mark = findMark(found, i, shape);
      if (mark !== undefined) yield { mark, offset: start + i };
    }
    if (count < MARK_BYTES) break;
    // The next part overlaps this one, so that a mark across the border is found.
    start += count - MARK_BYTES + 1;
  }
}

/** The highest synced position that a valid mark after `offset` states, or -1 if there is no mark. */
export async function findSyncedPosition(source: ItemSource, offset: number): Promise<number> {
  let highest = -1;
  for await (const { mark } of findMarks(source, offset)) highest = Math.max(highest, mark.syncedPosition);
  return highest;
}

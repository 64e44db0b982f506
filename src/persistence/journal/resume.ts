/**
 * Finds where a segment can be read again after a bad item.
 *
 *     | mark | frame | bad | frame | frame | mark | …
 *                           ^ here, because the lengths from here lead to a mark that states the same position
 *     | mark | frame | bad … bad …         | mark | …
 *                                            ^ or here
 *
 * (1) A place counts only if a valid mark after it, or the durable end, confirms
 *     its position: chosen payloads cannot forge a mark (file-format.ts). Each
 *     frame after it is still compared with its checksum, which covers the
 *     position too, so no frame is taken for another one.
 * (2) A place is after the bad item, at its position or a later one, so that
 *     reading makes progress and returns to no earlier frame.
 */
import { codeOf, type DiskFile, readFully } from "../disk/disk.ts";
import { FRAME_HEADER_BYTES, findMark, MARK_BYTES } from "./file-format.ts";
import { findMarks, type ItemSource } from "./item-reader.ts";

/** The start of an item, and the position before it. */
export interface ItemPlace {
  readonly offset: number;
  readonly position: number;
}

/**
 * The first place after a bad item from which the segment can be read; undefined if it has no such place. `end` is the durable
 * end of an open segment, at which `source` ends too.
 */
export async function findResumePlace(
  source: ItemSource,
  bad: ItemPlace,
  end: ItemPlace | undefined,
): Promise<ItemPlace | undefined> {
  for (const place of await placesAfter(source, bad)) {
    if (await isConfirmed(source, place, end)) return place;
  }
  for await (const { mark, offset } of findMarks(source, bad.offset)) {
    if (mark.position > bad.position) return { offset, position: mark.position }; // keeps (2)
  }
  return undefined;
}

/** Where the next item begins if the bad one has its right length: it is a frame, or a mark, which has no position. */
async function placesAfter(source: ItemSource, { offset, position }: ItemPlace): Promise<readonly ItemPlace[]> {
  const head = Buffer.alloc(4);
  if ((await readFully(source.file, head, offset)) < head.length) return [];
  const word = head.readUInt32LE();
  const afterMark = { offset: offset + MARK_BYTES, position };
  if (word === 0 || word > 0x7fff_ffff) return [afterMark];
  return [{ offset: offset + FRAME_HEADER_BYTES + word, position: position + 1 }, afterMark];
}

/** keeps (1): follows the lengths from `place` to the next mark. */
async function isConfirmed(source: ItemSource, place: ItemPlace, end: ItemPlace | undefined): Promise<boolean> {
  const heads = new HeadReader(source);
  const shape = { word: source.markWord, number: source.number, salt: source.salt };
  for (let { offset, position } = place; ; position += 1) {
    if (offset === end?.offset) return position === end.position;
    const head = await heads.read(offset);
    if (head.length < FRAME_HEADER_BYTES) return false;
    const word = head.readUInt32LE();
    if (word > 0x7fff_ffff) return findMark(head, 0, shape)?.position === position;
    if (word === 0) return false;
    offset += FRAME_HEADER_BYTES + word;
  }
}

const HEADS_BYTES = 64 * 1024;

/** Reads the first bytes of items, whose frames may be short and many. */
class HeadReader {
  readonly #source: ItemSource;
  readonly #bytes = Buffer.allocUnsafeSlow(HEADS_BYTES);
  #start = 0;
  #count = 0;

  constructor(source: ItemSource) {
    this.#source = source;
  }

  /** Up to `MARK_BYTES` bytes at `offset`; fewer at the end of the file. */
  async read(offset: number): Promise<Buffer> {
    const { file, size } = this.#source;
    const isRead = offset >= this.#start && offset + MARK_BYTES <= this.#start + this.#count;
    if (!isRead) {
      this.#start = offset;
      const wanted = Math.max(0, Math.min(HEADS_BYTES, size - offset));
      this.#count = await readFully(file, this.#bytes.subarray(0, wanted), offset);
    }
    const at = offset - this.#start;
    return this.#bytes.subarray(at, Math.min(at + MARK_BYTES, this.#count));
  }
}

/** The part of a file that a disk typically loses at once. */
const BLOCK_BYTES = 4096;

/** A file whose unreadable blocks (EIO) read as zeros, which are no valid item: everything around them can be read. */
export function withUnreadableAsZeros(file: DiskFile): Pick<DiskFile, "read"> {
  return {
    async read(target, offset) {
      try {
        return await file.read(target, offset);
      } catch (error) {
        if (codeOf(error) !== "EIO") throw error;
        return readBlocks(file, target, offset);
      }
    },
  };
}

async function readBlocks(file: DiskFile, target: Uint8Array, offset: number): Promise<number> {
  const length = Math.min(target.length, Math.max(0, (await file.size()) - offset));
  for (let done = 0; done < length; ) {
    const block = target.subarray(done, Math.min(length, done + BLOCK_BYTES - ((offset + done) % BLOCK_BYTES)));
    try {
      const count = await file.read(block, offset + done);
      if (count === 0) return done;
      done += count;
    } catch (error) {
      if (codeOf(error) !== "EIO") throw error;
      block.fill(0);
      done += block.length;
    }
  }
  return length;
}

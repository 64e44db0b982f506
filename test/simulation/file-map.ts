/**
 * Where the items of a segment or a snapshot lie, read without any check: for
 * tests that know the file to be whole and are about to damage it.
 */
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  FOOTER_WORD,
  FRAME_HEADER_BYTES,
  MARK_BYTES,
} from "../../src/persistence/journal/file-format.ts";

export interface Item {
  readonly kind: "header" | "mark" | "frame";
  readonly start: number;
  readonly end: number;
  /** In front of the item. */
  readonly position: number;
  /** What a mark says is durable; -1 for other items. */
  readonly syncedPosition: number;
}

const POSITION_OFFSET = 16;
const SYNCED_OFFSET = 16;

/** The items up to the first one that is not whole. */
export function itemsOf(bytes: Buffer): readonly Item[] {
  if (bytes.length < FILE_HEADER_BYTES) return [];
  let position = Number(bytes.readBigUInt64LE(POSITION_OFFSET));
  const items: Item[] = [{ kind: "header", start: 0, end: FILE_HEADER_BYTES, position, syncedPosition: -1 }];
  for (let start = FILE_HEADER_BYTES; start + 4 <= bytes.length; ) {
    const word = bytes.readUInt32LE(start);
    const isMark = word === BATCH_WORD || word === FOOTER_WORD;
    const end = start + (isMark ? MARK_BYTES : FRAME_HEADER_BYTES + word);
    if (word === 0 || end > bytes.length) break;
    const syncedPosition = isMark ? Number(bytes.readBigUInt64LE(start + SYNCED_OFFSET)) : -1;
    items.push({ kind: isMark ? "mark" : "frame", start, end, position, syncedPosition });
    if (!isMark) position += 1;
    start = end;
  }
  return items;
}

/** The highest position that a mark calls durable, of the marks that hold none of these bytes; 0 if there is none. */
export function statedPosition(bytes: Buffer, damaged: readonly number[] = []): number {
  const marks = itemsOf(bytes).filter(({ kind }) => kind === "mark");
  const whole = marks.filter(({ start, end }) => !damaged.some((offset) => offset >= start && offset < end));
  return Math.max(0, ...whole.map(({ syncedPosition }) => syncedPosition));
}

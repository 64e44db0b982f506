/**
 * Positions of the items in a segment or a snapshot, read without any check, for
 * tests that damage a file known to be intact.
 */
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  FOOTER_WORD,
  FRAME_HEADER_BYTES,
  MARK_BYTES,
} from "../../../src/persistence/journal/file-format.ts";

export interface Item {
  readonly kind: "header" | "mark" | "frame";
  readonly start: number;
  readonly end: number;
  /** Start of the item's data. */
  readonly position: number;
  /** The position that a mark calls durable; -1 for other items. */
  readonly syncedPosition: number;
}

const POSITION_OFFSET = 16;
const SYNCED_OFFSET = 16;

/** The items up to the first incomplete one. */
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

/** The highest position that an undamaged mark calls durable (a mark without any of these bytes); 0 if none does. */
export function statedPosition(bytes: Buffer, damaged: readonly number[] = []): number {
  const marks = itemsOf(bytes).filter(({ kind }) => kind === "mark");
  const whole = marks.filter(({ start, end }) => !damaged.some((offset) => offset >= start && offset < end));
  return Math.max(0, ...whole.map(({ syncedPosition }) => syncedPosition));
}

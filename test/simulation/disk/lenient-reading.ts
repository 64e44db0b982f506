/** Segments as read by a reader that is too lenient about checksums, for planted bugs. */
import { crc32 } from "../../../src/persistence/journal/checksum.ts";
import {
  BATCH_WORD,
  FILE_HEADER_BYTES,
  FRAME_HEADER_BYTES,
  findMark,
  frameSeed,
  MARK_BYTES,
} from "../../../src/persistence/journal/file-format.ts";

const NUMBER_OFFSET = 12;
const POSITION_OFFSET = 16;
const SALT_OFFSET = 24;
const CHECKSUM_BYTES = 4;

/** The segment with every checksum recomputed for its contents. */
export function withFittingChecksums(bytes: Buffer): Buffer {
  const repaired = Buffer.from(bytes);
  walk(bytes, (item) => {
    const { isMark, start, end, seed } = item;
    if (isMark) repaired.writeUInt32LE(crc32(bytes, start, end - CHECKSUM_BYTES, seed), end - CHECKSUM_BYTES);
    else repaired.writeUInt32LE(crc32(bytes, start + FRAME_HEADER_BYTES, end, seed), start + CHECKSUM_BYTES);
    return true;
  });
  return repaired;
}

/** The segment cut off at the first bad item. */
export function withoutBadRest(bytes: Buffer): Buffer {
  const whole = walk(bytes, ({ isMark, start, end, seed }) => {
    if (isMark) return findMark(bytes, start, { word: BATCH_WORD, ...shapeOf(bytes) }) !== undefined;
    return crc32(bytes, start + FRAME_HEADER_BYTES, end, seed) === bytes.readUInt32LE(start + CHECKSUM_BYTES);
  });
  return bytes.subarray(0, whole);
}

interface Place {
  readonly isMark: boolean;
  readonly start: number;
  readonly end: number;
  /** Of its checksum. */
  readonly seed: number;
}

/** Visits items by their lengths alone. Returns the start of the first one that is incomplete or not accepted. */
function walk(bytes: Buffer, accept: (place: Place) => boolean): number {
  if (bytes.length < FILE_HEADER_BYTES) return bytes.length;
  const { salt } = shapeOf(bytes);
  let position = Number(bytes.readBigUInt64LE(POSITION_OFFSET));
  let start = FILE_HEADER_BYTES;
  while (start + 4 <= bytes.length) {
    const word = bytes.readUInt32LE(start);
    const isMark = word === BATCH_WORD;
    const end = start + (isMark ? MARK_BYTES : FRAME_HEADER_BYTES + word);
    if (word === 0 || end > bytes.length) break;
    if (!accept({ isMark, start, end, seed: isMark ? salt : frameSeed(salt, position, word) })) break;
    if (!isMark) position += 1;
    start = end;
  }
  return start;
}

function shapeOf(bytes: Buffer): { number: number; salt: number } {
  return { number: bytes.readUInt32LE(NUMBER_OFFSET), salt: bytes.readUInt32LE(SALT_OFFSET) };
}

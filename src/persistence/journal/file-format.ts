/**
 * The format of segments and snapshots on disk. Numbers are little-endian.
 *
 *     segment   | file header | (batch mark | frame | frame | … )… | end mark |
 *     snapshot  | file header | frame | frame | …                  | footer   |
 *
 *     file header, 64 bytes
 *       magic 8 | format u32 | number u32 | position u64 | salt u32 | area 16 | zeros 16 | crc u32 |
 *     frame
 *       bytes u32 | crc u32 | payload |
 *     mark, 32 bytes: a batch mark, an end mark (bytes 0) or the footer of a snapshot
 *       word u32 | number u32 | position u64 | synced position u64 | bytes u32 | crc u32 |
 *
 * A position is a count of frames since the area was created: the position
 * before the first frame is 0.
 *
 * (1) The first word of an item gives its kind: a mark has the top bit set and
 *     a frame does not. Zero is never written, so a part of the file that never
 *     reached the disk reads as the end.
 * (2) A frame's checksum also covers its length, its position and the salt of
 *     its file; a mark's checksum covers the salt. So a frame in the wrong
 *     place is bad, and chosen payloads cannot forge a mark: the salt is random
 *     and never leaves the disk.
 * (3) Magic and format stay where they are in all future versions, so that a
 *     newer file is refused by name.
 */

import { DamagedData, NewerFormat, WrongFile } from "../errors.ts";
import { crc32 } from "./checksum.ts";

/** 2: records of search indexes. This version reads 1 too, and writes 2. */
export const FORMAT = 2;

export type FileKind = "segment" | "snapshot";

const MAGIC: Readonly<Record<FileKind, string>> = { segment: "LARDERJ\n", snapshot: "LARDERS\n" };
const SUFFIX: Readonly<Record<FileKind, string>> = { segment: ".journal", snapshot: ".snapshot" };
/** The suffix of an unfinished file, which the next start removes. */
export const UNFINISHED_SUFFIX = ".new";

const NUMBER_DIGITS = 10;
export const FILE_NUMBER_MAX = 0xffff_ffff;

export const FILE_HEADER_BYTES = 64;
const AREA_BYTES_MAX = 16;
const FORMAT_OFFSET = 8;
const AREA_OFFSET = 28;
const HEADER_CRC_OFFSET = FILE_HEADER_BYTES - 4;

export const FRAME_HEADER_BYTES = 8;
/** The longest payload of one frame. */
export const FRAME_BYTES_MAX = 0x7fff_ffff;

export const MARK_BYTES = 32;
const MARK_CRC_OFFSET = MARK_BYTES - 4;
export const BATCH_WORD = 0xb47c_91ed;
export const FOOTER_WORD = 0xf007_c3a5;

export interface FileHeader {
  /** The number of the segment; for a snapshot, the first segment that it does not cover. */
  readonly number: number;
  /** The position before the first frame of the segment; for a snapshot, the position of its state. */
  readonly position: number;
  readonly salt: number;
}

export interface Mark {
  /** The file's own number. */
  readonly number: number;
  /** The position before the batch's first frame; in a snapshot's footer, the count of its frames. */
  readonly position: number;
  /** The position known to be durable when the batch was built; in a footer, the offset of the footer. */
  readonly syncedPosition: number;
  /** The bytes of all frames of the batch, including their headers; 0 ends the segment. */
  readonly bytes: number;
}

/** The location of a frame: its payload begins at the byte `offset` of the segment's file. */
export interface JournalLocation {
  readonly segment: number;
  readonly offset: number;
}

/** A durable position and its location: `position` frames end before the byte `offset` of the segment's file. */
export interface SyncedLocation {
  readonly segment: number;
  readonly offset: number;
  readonly position: number;
}

/** For example `0000000007.journal`. Names chosen by users never become file names. */
export function fileName(kind: FileKind, number: number): string {
  return `${String(number).padStart(NUMBER_DIGITS, "0")}${SUFFIX[kind]}`;
}

/** The number in a name made by `fileName`, or undefined. */
export function findFileNumber(kind: FileKind, name: string): number | undefined {
  const number = Number.parseInt(name, 10);
  return name === fileName(kind, number) && number <= FILE_NUMBER_MAX ? number : undefined;
}

export function encodeFileHeader(kind: FileKind, area: string, header: FileHeader): Buffer {
  const bytes = Buffer.alloc(FILE_HEADER_BYTES);
  bytes.write(MAGIC[kind], 0, "latin1");
  bytes.writeUInt32LE(FORMAT, FORMAT_OFFSET);
  bytes.writeUInt32LE(header.number, 12);
  writePosition(bytes, header.position, 16);
  bytes.writeUInt32LE(header.salt, 24);
  bytes.write(area, AREA_OFFSET, AREA_BYTES_MAX, "latin1");
  bytes.writeUInt32LE(crc32(bytes, 0, HEADER_CRC_OFFSET, 0), HEADER_CRC_OFFSET);
  return bytes;
}

export interface ExpectedFile {
  readonly kind: FileKind;
  readonly path: string;
  readonly area: string;
  readonly number: number;
}

/** Reads the first bytes of a file. Throws `NewerFormat`, `WrongFile`, or `DamagedData` if they are not a header. */
export function parseFileHeader(bytes: Buffer, expected: ExpectedFile): FileHeader {
  const { kind, path, area, number } = expected;
  if (bytes.length >= FORMAT_OFFSET + 4 && bytes.toString("latin1", 0, FORMAT_OFFSET) === MAGIC[kind]) {
    const format = bytes.readUInt32LE(FORMAT_OFFSET);
    if (format > FORMAT) throw new NewerFormat(path, format, FORMAT); // keeps (3)
  }
  if (
    bytes.length < FILE_HEADER_BYTES ||
    bytes.toString("latin1", 0, FORMAT_OFFSET) !== MAGIC[kind] ||
    crc32(bytes, 0, HEADER_CRC_OFFSET, 0) !== bytes.readUInt32LE(HEADER_CRC_OFFSET)
  ) {
    throw new DamagedData(path, 0, `it does not start as a ${kind}`);
  }
  const areaFound = bytes.toString("latin1", AREA_OFFSET, AREA_OFFSET + AREA_BYTES_MAX).replace(/\0+$/, "");
  if (areaFound !== area) throw new WrongFile(path, `belongs to area ${areaFound}, not ${area}`);
  const numberFound = bytes.readUInt32LE(12);
  if (numberFound !== number) throw new WrongFile(path, `was written as number ${numberFound}`);
  return { number, position: readPosition(bytes, 16), salt: bytes.readUInt32LE(24) };
}

/** keeps (2): another position, length or salt gives another seed, and another seed gives another checksum. */
export function frameSeed(salt: number, position: number, bytes: number): number {
  return (salt ^ Math.imul(position, 0x9e37_79b1) ^ Math.imul(position / 2 ** 32, 0x85eb_ca6b) ^ bytes) >>> 0;
}

export function writeMark(target: Buffer, offset: number, mark: Mark & { word: number; salt: number }): void {
  target.writeUInt32LE(mark.word, offset);
  target.writeUInt32LE(mark.number, offset + 4);
  writePosition(target, mark.position, offset + 8);
  writePosition(target, mark.syncedPosition, offset + 16);
  target.writeUInt32LE(mark.bytes, offset + 24);
  target.writeUInt32LE(crc32(target, offset, offset + MARK_CRC_OFFSET, mark.salt), offset + MARK_CRC_OFFSET);
}

/** The mark at `offset`, or undefined if no valid mark of this file is there. */
export function findMark(
  bytes: Buffer,
  offset: number,
  file: { word: number; number: number; salt: number },
): Mark | undefined {
  if (offset + MARK_BYTES > bytes.length || bytes.readUInt32LE(offset) !== file.word) return undefined;
  const crc = bytes.readUInt32LE(offset + MARK_CRC_OFFSET);
  if (crc32(bytes, offset, offset + MARK_CRC_OFFSET, file.salt) !== crc) return undefined;
  const number = bytes.readUInt32LE(offset + 4);
  if (number !== file.number) return undefined;
  return {
    number,
    position: readPosition(bytes, offset + 8),
    syncedPosition: readPosition(bytes, offset + 16),
    bytes: bytes.readUInt32LE(offset + 24),
  };
}

function writePosition(target: Buffer, position: number, offset: number): void {
  target.writeUInt32LE(position >>> 0, offset);
  target.writeUInt32LE(Math.floor(position / 2 ** 32), offset + 4);
}

function readPosition(bytes: Buffer, offset: number): number {
  return bytes.readUInt32LE(offset) + bytes.readUInt32LE(offset + 4) * 2 ** 32;
}

/**
 * The container of a backup file: a tar archive (POSIX ustar) of regular files,
 * which standard tools can list and unpack.
 *
 *     | header 512 | bytes of the file | zeros to 512 | header | … | zeros 1024 |
 *
 * (1) A header is exactly what this file writes for its name, size and time,
 *     byte for byte: no links, no directories, no names outside the archive. So
 *     any change in a header is detected.
 * (2) A size of more than eight gigabytes (the octal maximum) is written in the
 *     binary form that GNU tar and libarchive read.
 */

export const BLOCK_BYTES = 512;
/** The end of the archive. */
export const END_BYTES = 2 * BLOCK_BYTES;

export interface TarEntry {
  /** `name` or `directory/name` (`isEntryName`). */
  readonly name: string;
  readonly bytes: number;
  /** The time of the backup, in seconds. */
  readonly madeAtS: number;
}

const NAME_LENGTH_MAX = 100;

const NAME = /^(?:[a-z0-9]+(?:[.-][a-z0-9]+)*\/)?[a-z0-9]+(?:[.-][a-z0-9]+)*$/;

/** Whether a file may have this name: lower-case letters, digits, single dots and hyphens, in at most one directory. */
export function isEntryName(name: string): boolean {
  return name.length <= NAME_LENGTH_MAX && NAME.test(name);
}

const SIZE_OFFSET = 124;
const TIME_OFFSET = 136;
const CHECKSUM_OFFSET = 148;
const OCTAL_MAX = 0o77777777777;
const BINARY_FLAG = 0x80;

export function encodeTarHeader({ name, bytes, madeAtS }: TarEntry): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0, NAME_LENGTH_MAX, "latin1");
  header.write("0000600\0", 100, "latin1");
  header.write("0000000\0", 108, "latin1");
  header.write("0000000\0", 116, "latin1");
  if (bytes <= OCTAL_MAX) header.write(octal(bytes), SIZE_OFFSET, "latin1");
  else {
    // keeps (2)
    header.writeUInt8(BINARY_FLAG, SIZE_OFFSET);
    header.writeBigUInt64BE(BigInt(bytes), SIZE_OFFSET + 4);
  }
  header.write(octal(madeAtS), TIME_OFFSET, "latin1");
  header.write("        ", CHECKSUM_OFFSET, "latin1");
  header.write("0", 156, "latin1");
  header.write("ustar\u000000", 257, "latin1");
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM_OFFSET, "latin1");
  return header;
}

/** Reads a header. Undefined if it is not one of ours (1). */
export function parseTarHeader(header: Buffer): TarEntry | undefined {
  const nameEnd = header.indexOf(0);
  const name = header.toString("latin1", 0, nameEnd < 0 ? NAME_LENGTH_MAX : Math.min(nameEnd, NAME_LENGTH_MAX));
  if (header.length !== BLOCK_BYTES || !isEntryName(name)) return undefined;
  const bytes =
    header.readUInt8(SIZE_OFFSET) === BINARY_FLAG
      ? Number(header.readBigUInt64BE(SIZE_OFFSET + 4))
      : readOctal(header, SIZE_OFFSET);
  const madeAtS = readOctal(header, TIME_OFFSET);
  if (!Number.isSafeInteger(bytes) || !Number.isSafeInteger(madeAtS)) return undefined;
  const entry = { name, bytes, madeAtS };
  return encodeTarHeader(entry).equals(header) ? entry : undefined;
}

/** The zeros after a file of this many bytes. */
export function paddingOf(bytes: number): number {
  return (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

function octal(value: number): string {
  return `${value.toString(8).padStart(11, "0")}\0`;
}

function readOctal(header: Buffer, offset: number): number {
  const digits = header.toString("latin1", offset, offset + 11);
  return /^[0-7]{11}$/.test(digits) ? Number.parseInt(digits, 8) : Number.NaN;
}

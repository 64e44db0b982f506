/**
 * Reads files that a person has written or named: settings, secrets, tokens, files to import.
 *
 * (1) A text is UTF-8, or refused with the byte where it is not: a replaced
 *     character would be another password, and nobody would see it.
 * (2) A file has a bound, and no device has the name of one. A pipe is read until its
 *     writer closes it: some password managers offer secrets that way, and so
 *     does `<(…)` of a shell.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { otherKind } from "./file-kind.ts";

/** A file that cannot be read as a text: a sentence about its path, to which the remedy is added. */
export class NoText extends Error {
  override name = "NoText";

  constructor(path: string, reason: string) {
    super(`${path} ${reason}`);
  }
}

/** A configuration of ten thousand tenants has some MB. */
const TEXT_BYTES_MAX = 64 * 1024 * 1024;
const MB = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
/** Files of the process itself, such as /dev/stdin, may be a terminal. */
const OF_PROCESS = /^\/(dev|proc)\//;

/** The whole text of a file of at most `bytesMax`. Throws `NoText`, or the system's error. */
export function readTextFile(path: string, bytesMax = TEXT_BYTES_MAX): string {
  return textOf(readFileBytes(path, bytesMax), { path, from: 0 });
}

/** The text of bytes that are in a file from an offset on. Throws `NoText`. */
export function textOf(bytes: Buffer, { path, from }: { readonly path: string; readonly from: number }): string {
  const text = bytes.utf8Slice();
  const offset = invalidOffset(bytes, text);
  if (offset === undefined) return text;
  const byte = (bytes[offset] ?? 0).toString(16).padStart(2, "0");
  throw new NoText(path, `is not UTF-8: byte ${from + offset} (0x${byte}) is invalid`); // keeps (1)
}

/** The bytes of a file of at most `bytesMax`. Throws `NoText`, or the system's error. */
export function readFileBytes(path: string, bytesMax = TEXT_BYTES_MAX): Buffer {
  const what = otherKind(statSync(path));
  // keeps (2)
  if (what === "a directory" || (what !== undefined && what !== "a pipe" && !OF_PROCESS.test(path)))
    throw new NoText(path, `is ${what}, not a file`);
  const descriptor = openSync(path, "r");
  try {
    const bytes = readUpTo(descriptor, bytesMax);
    if (bytes === undefined) throw new NoText(path, `has more than ${bytesMax / MB} MB`);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}

/** Undefined if there are more bytes. */
function readUpTo(descriptor: number, bytesMax: number): Buffer | undefined {
  const pieces: Buffer[] = [];
  for (let bytes = 0; ; ) {
    const piece = Buffer.alloc(PIECE_BYTES);
    const count = readSync(descriptor, piece);
    if (count === 0) return Buffer.concat(pieces);
    bytes += count;
    if (bytes > bytesMax) return undefined;
    pieces.push(piece.subarray(0, count));
  }
}

/** Where the bytes are no UTF-8: a character of the text that other bytes stand for. */
function invalidOffset(bytes: Buffer, text: string): number | undefined {
  let offset = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf("\ufffd", from);
    if (at === -1) return undefined;
    offset += Buffer.byteLength(text.slice(from, at));
    if (bytes.readUIntBE(offset, Math.min(3, bytes.length - offset)) !== REPLACEMENT) return offset;
    offset += REPLACEMENT_BYTES;
    from = at + 1;
  }
}

/** The bytes of U+FFFD itself. */
const REPLACEMENT = 0xef_bf_bd;
const REPLACEMENT_BYTES = 3;

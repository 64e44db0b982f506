/**
 * The WebAssembly of `assembly/json-strings.ts` with its memory: the content of
 * strings as JSON has it, as bytes. This thread has one. Long strings go through it
 * in pieces, so its memory never grows.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { compileModule, instantiate, PAGE_BYTES } from "../../../kernel/web-assembly.ts";
import { jsonStringsWasm } from "./json-strings.generated.ts";

/** The exports, as `assembly/json-strings.ts` describes them. */
interface JsonStringsExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly INPUT: { readonly value: number };
  readonly OUTPUT: { readonly value: number };
  readonly PIECE_BYTES: { readonly value: number };
  readonly MEMORY_BYTES: { readonly value: number };
  escape(length: number): number;
  escapedLength(length: number): number;
  readonly RESULT: { readonly value: number };
  readonly AFTER_QUOTE: { readonly value: number };
  readonly MALFORMED: { readonly value: number };
  unescape(length: number, isLast: number): number;
}

const wasm = instantiate<JsonStringsExports>(compileModule(jsonStringsWasm), {});
const INPUT = wasm.INPUT.value;
const OUTPUT = wasm.OUTPUT.value;
wasm.memory.grow(Math.ceil(wasm.MEMORY_BYTES.value / PAGE_BYTES) - wasm.memory.buffer.byteLength / PAGE_BYTES);
const memory = Buffer.from(wasm.memory.buffer);

/** The longest piece of a string, in bytes. */
export const PIECE_BYTES_MAX = wasm.PIECE_BYTES.value;

/** The number of bytes of `content` between the quotes of its JSON text. */
export function escapedLengthOf(content: Buffer): number {
  let length = 0;
  for (let start = 0; start < content.length; start += PIECE_BYTES_MAX)
    length += wasm.escapedLength(takePiece(content, start));
  return length;
}

/**
 * `content` as between the quotes of its JSON text, with the escapes of `JSON.stringify`; bytes from 0x80 on stay as
 * they are. The result has space for `before` and `after` on both sides, which must be ASCII.
 */
export function escapedBetween(content: Buffer, before: string, after: string): Buffer {
  if (content.length <= PIECE_BYTES_MAX) {
    const { result, at } = framed(wasm.escape(takePiece(content, 0)), before, after);
    memory.copy(result, at, OUTPUT, OUTPUT + result.length - before.length - after.length);
    return result;
  }
  const escapedBytes = escapedLengthOf(content);
  const { result, at } = framed(escapedBytes, before, after);
  if (escapedBytes === content.length) content.copy(result, at);
  else writePieces(content, result, at);
  return result;
}

function framed(bytes: number, before: string, after: string): { readonly result: Buffer; readonly at: number } {
  const result = Buffer.allocUnsafeSlow(before.length + bytes + after.length);
  result.latin1Write(before, 0, before.length);
  result.latin1Write(after, before.length + bytes, after.length);
  return { result, at: before.length };
}

function writePieces(content: Buffer, result: Buffer, start: number): void {
  let at = start;
  for (let piece = 0; piece < content.length; piece += PIECE_BYTES_MAX)
    at += memory.copy(result, at, OUTPUT, OUTPUT + wasm.escape(takePiece(content, piece)));
}

/** `content` as a JSON string, as `escapedBetween` has it. */
export function quotedText(content: Buffer): Bytes {
  let text = '"';
  for (let start = 0; start < content.length; start += PIECE_BYTES_MAX)
    text += memory.latin1Slice(OUTPUT, OUTPUT + wasm.escape(takePiece(content, start)));
  return `${text}"`;
}

const RESULT = wasm.RESULT.value;
const AFTER_QUOTE = wasm.AFTER_QUOTE.value;
const MALFORMED = wasm.MALFORMED.value;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The bytes of a string literal, and the position after the literal. */
export interface ReadString {
  /** A part of the text, or in memory of its own if the literal has escapes. */
  readonly content: Buffer;
  readonly end: number;
}

/**
 * The string whose content begins at `start` of a JSON text that is UTF-8; undefined if the literal is not valid, or has
 * more than a piece without an escape. As in the UTF-8 of what `JSON.parse` returns, a lone surrogate is U+FFFD.
 */
export function readString(json: Buffer, start: number): ReadString | undefined {
  // Without escapes `JSON.parse` takes less time for such a length.
  if (json.length - start > PIECE_BYTES_MAX && !hasEscape(json, start)) return undefined;
  const piece = readPiece(json, start);
  if (piece.reason === AFTER_QUOTE) {
    // Without escapes the literal is its content, and a quote.
    if (piece.end - start - 1 === piece.writtenBytes)
      return { content: json.subarray(start, piece.end - 1), end: piece.end };
    const content = Buffer.allocUnsafeSlow(piece.writtenBytes);
    memory.copy(content, 0, OUTPUT, OUTPUT + piece.writtenBytes);
    return { content, end: piece.end };
  }
  return piece.reason === MALFORMED || piece.isLast ? undefined : readPieces(json, start);
}

function readPieces(json: Buffer, start: number): ReadString | undefined {
  const result = Buffer.allocUnsafeSlow(json.length - start);
  let at = 0;
  for (let end = start; ; ) {
    const piece = readPiece(json, end);
    if (piece.reason === MALFORMED) return undefined;
    at += memory.copy(result, at, OUTPUT, OUTPUT + piece.writtenBytes);
    end = piece.end;
    if (piece.reason !== AFTER_QUOTE) {
      if (piece.isLast) return undefined;
      continue;
    }
    const content = Buffer.allocUnsafeSlow(at);
    result.copy(content, 0, 0, at);
    return { content, end };
  }
}

/** Whether a backslash comes before the next quote. */
function hasEscape(json: Buffer, start: number): boolean {
  const backslash = json.indexOf(BACKSLASH, start);
  const quote = json.indexOf(QUOTE, start);
  return backslash >= 0 && (quote < 0 || backslash < quote);
}

interface ReadPiece {
  /** The position in the text after the piece. */
  readonly end: number;
  readonly reason: number;
  readonly isLast: boolean;
  readonly writtenBytes: number;
}

function readPiece(json: Buffer, start: number): ReadPiece {
  const isLast = json.length - start <= PIECE_BYTES_MAX;
  const writtenBytes = wasm.unescape(takePiece(json, start), isLast ? 1 : 0);
  const end = start + memory.readUInt32LE(RESULT);
  return { end, reason: memory.readUInt32LE(RESULT + 4), isLast, writtenBytes };
}

/** Copies the piece of `content` from `start` on into the memory. Returns its length. */
function takePiece(content: Buffer, start: number): number {
  return content.copy(memory, INPUT, start, Math.min(start + PIECE_BYTES_MAX, content.length));
}

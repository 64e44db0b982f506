/**
 * RESP 2 for a client: prints commands, and reads replies that arrive in pieces of
 * any size.
 *
 * (1) Announced lengths are bounded, and memory follows the received bytes.
 */
import { type Bytes, bytesFrom } from "../../kernel/bytes.ts";

/** An error is a value: in a batch, each command has its own. */
export class ReplyError {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type RespReply = Bytes | number | null | ReplyError | readonly RespReply[];

/** The other end does not speak RESP. */
export class WrongReply extends Error {
  override name = "WrongReply";
}

const SIMPLE = 0x2b; // +
const ERROR = 0x2d; // -
const INTEGER = 0x3a; // :
const BULK = 0x24; // $
const ARRAY = 0x2a; // *
const CARRIAGE_RETURN = 0x0d;
const MINUS = 0x2d;
const ZERO = 0x30;
/** Numbers of so many digits are exact while they are built. */
const DIGITS_EXACT_MAX = 15;
const LINE_BYTES_MAX = 65_536;
/** The longest string of Redis. */
const BULK_BYTES_MAX = 512 * 1024 * 1024;
const ITEMS_MAX = 2 ** 24;
const DEPTH_MAX = 32;
const NOT_ALL_HERE = Symbol("not all here");

export class ReplyReader {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;

  /** Adds received bytes, which must not change afterwards. */
  feed(chunk: Buffer): void {
    const leftBytes = this.#end - this.#at;
    if (leftBytes === 0) {
      this.#bytes = chunk;
      this.#at = 0;
      this.#end = chunk.length;
      return;
    }
    if (this.#end + chunk.length > this.#bytes.length) {
      // Twice the needed size, so that a long reply in small pieces is not copied for each piece.
      const grown = Buffer.allocUnsafeSlow(2 * (leftBytes + chunk.length));
      this.#bytes.copy(grown, 0, this.#at, this.#end);
      this.#bytes = grown;
      this.#at = 0;
      this.#end = leftBytes;
    }
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
  }

  /** The next reply, or undefined if it is incomplete. Throws `WrongReply`. */
  next(): RespReply | undefined {
    const start = this.#at;
    const reply = this.#read(0);
    if (reply !== NOT_ALL_HERE) return reply;
    this.#at = start;
    return undefined;
  }

  #read(depth: number): RespReply | typeof NOT_ALL_HERE {
    if (depth > DEPTH_MAX) throw new WrongReply("its replies are nested too deeply");
    const start = this.#at;
    const lineEnd = this.#lineEnd();
    if (lineEnd === undefined) return NOT_ALL_HERE;
    const bytes = this.#bytes;
    switch (bytes[start]) {
      case SIMPLE:
        return bytesFrom(bytes, start + 1, lineEnd);
      case ERROR:
        return new ReplyError(bytesFrom(bytes, start + 1, lineEnd));
      case INTEGER:
        return readNumber(bytes, { start: start + 1, end: lineEnd, max: Number.MAX_VALUE });
      case BULK:
        return this.#bulk(readNumber(bytes, { start: start + 1, end: lineEnd, max: BULK_BYTES_MAX }));
      case ARRAY: {
        const count = readNumber(bytes, { start: start + 1, end: lineEnd, max: ITEMS_MAX });
        if (count < 0) return null;
        const items: RespReply[] = [];
        while (items.length < count) {
          const item = this.#read(depth + 1);
          if (item === NOT_ALL_HERE) return NOT_ALL_HERE;
          items.push(item);
        }
        return items;
      }
      default:
        throw new WrongReply("it does not speak RESP");
    }
  }

  #bulk(length: number): Bytes | null | typeof NOT_ALL_HERE {
    if (length < 0) return null;
    const start = this.#at;
    if (this.#end - start < length + 2) return NOT_ALL_HERE;
    this.#at = start + length + 2;
    return bytesFrom(this.#bytes, start, start + length);
  }

  /** Moves behind the line that begins here; undefined: it is incomplete. */
  #lineEnd(): number | undefined {
    const start = this.#at;
    const lineEnd = this.#bytes.indexOf(CARRIAGE_RETURN, start);
    if (lineEnd < 0 || lineEnd + 2 > this.#end) {
      if (this.#end - start > LINE_BYTES_MAX) throw new WrongReply("it does not speak RESP");
      return undefined;
    }
    this.#at = lineEnd + 2;
    return lineEnd;
  }
}

/** Most lines are lengths, so they are read without a string. */
function readNumber(bytes: Buffer, { start, end, max }: { start: number; end: number; max: number }): number {
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  if (end - first > DIGITS_EXACT_MAX) return readLongNumber(bytesFrom(bytes, start, end), max);
  let value = 0;
  for (let at = first; at < end; at += 1) {
    const digit = (bytes[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) throw new WrongReply("it does not speak RESP");
    value = 10 * value + digit;
  }
  if (end === first || value > max) throw new WrongReply("it does not speak RESP");
  return isNegative ? -value : value;
}

function readLongNumber(text: Bytes, max: number): number {
  const value = /^-?\d{1,20}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= max)) throw new WrongReply("it does not speak RESP");
  return value;
}

const LONG_WORD_BYTES = 4_096;

/** The commands as a client sends them. */
export function printCommands(commands: readonly (readonly Bytes[])[]): Buffer {
  let byteCount = 0;
  for (const words of commands) byteCount += printedBytes(words);
  const body = Buffer.allocUnsafe(byteCount);
  let at = 0;
  // Short words are collected: a write costs more than their bytes.
  let text = "";
  for (const words of commands) {
    text += `*${words.length}\r\n`;
    for (const word of words) {
      text += `$${word.length}\r\n`;
      if (word.length > LONG_WORD_BYTES) {
        at += body.latin1Write(text, at);
        at += body.latin1Write(word, at);
        text = "\r\n";
      } else text += `${word}\r\n`;
    }
    if (text.length > LONG_WORD_BYTES) {
      at += body.latin1Write(text, at);
      text = "";
    }
  }
  body.latin1Write(text, at);
  return body;
}

/** The length of a command in bytes. */
export function printedBytes(words: readonly Bytes[]): number {
  let byteCount = lineBytes(words.length);
  for (const word of words) byteCount += lineBytes(word.length) + word.length + 2;
  return byteCount;
}

/** A kind, a number, and the end of the line. */
function lineBytes(count: number): number {
  if (count < 10) return 4;
  if (count < 100) return 5;
  return String(count).length + 3;
}

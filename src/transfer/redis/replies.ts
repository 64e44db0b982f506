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

const CARRIAGE_RETURN = 0x0d;
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
    const kind = this.#bytes[this.#at];
    const line = this.#line();
    if (line === undefined) return NOT_ALL_HERE;
    switch (kind === undefined ? "" : String.fromCharCode(kind)) {
      case "+":
        return line;
      case "-":
        return new ReplyError(line);
      case ":":
        return readNumber(line, Number.MAX_VALUE);
      case "$":
        return this.#bulk(readNumber(line, BULK_BYTES_MAX));
      case "*": {
        const count = readNumber(line, ITEMS_MAX);
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

  /** The rest of the line after the kind. */
  #line(): Bytes | undefined {
    const start = this.#at;
    const lineEnd = this.#bytes.indexOf(CARRIAGE_RETURN, start);
    if (lineEnd < 0 || lineEnd + 2 > this.#end) {
      if (this.#end - start > LINE_BYTES_MAX) throw new WrongReply("it does not speak RESP");
      return undefined;
    }
    this.#at = lineEnd + 2;
    return bytesFrom(this.#bytes, start + 1, lineEnd);
  }
}

function readNumber(text: Bytes, max: number): number {
  const value = /^-?\d{1,20}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= max)) throw new WrongReply("it does not speak RESP");
  return value;
}

/** The commands as a client sends them. */
export function printCommands(commands: readonly (readonly Bytes[])[]): Buffer {
  let byteCount = 0;
  for (const words of commands) byteCount += printedBytes(words);
  const body = Buffer.allocUnsafe(byteCount);
  let at = 0;
  for (const words of commands) {
    at += body.latin1Write(`*${words.length}\r\n`, at);
    for (const word of words) {
      at += body.latin1Write(`$${word.length}\r\n`, at);
      at += body.latin1Write(word, at);
      at += body.latin1Write("\r\n", at);
    }
  }
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
  return String(count).length + 3;
}

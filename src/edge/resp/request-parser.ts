/**
 * Parses requests in RESP from a TCP stream: arrays of bulk strings
 * (`*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`), or inline commands. Limits, texts and corner
 * cases are those of Redis 7.0.15 (`networking.c`).
 *
 *     feed(chunk) -> next() … next() -> undefined: more bytes are needed
 *
 * (1) The words do not depend on how the bytes are split into chunks.
 * (2) A word is a copy: it holds no chunk in memory.
 * (3) Memory follows the received bytes, not announced lengths.
 * (4) After a failure nothing more is read.
 * (5) The time is linear in the received bytes, however they are split and however
 *     many of them wait.
 *
 * `#bytes` holds the rest of a chunk after the last complete request: the
 * beginning of a line or of a short bulk string. A long bulk string is collected
 * in a buffer of its own, so that each byte is copied once or twice for any number
 * of chunks.
 */
import { assert } from "../../kernel/assert.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import { cutBytes, cutName, SUBSTRING_LENGTH_MIN } from "../../kernel/short-bytes.ts";
import { requestTooLarge } from "../errors.ts";
import { BodyBuffer } from "../http/bodies/body-buffer.ts";
import { splitLine } from "./inline-words.ts";

export interface ParserOptions {
  /** The most bytes of a request, including the protocol around its words. */
  readonly requestBytesMax: number;
  /** False before the login: then requests must be small, as in Redis. */
  readonly isTrusted: () => boolean;
}

/** The longest line, and the longest count of an array or a bulk string (`PROTO_INLINE_MAX_SIZE`). */
const LINE_BYTES_MAX = 64 * 1024;
/** The default of Redis' `proto-max-bulk-len`. */
const BULK_BYTES_MAX = 512 * 1024 * 1024;
const WORDS_MAX = 2 ** 31 - 1;
/** Limits before the login. */
const UNTRUSTED_WORDS_MAX = 10;
const UNTRUSTED_BULK_BYTES_MAX = 16 * 1024;
/** Longer bulk strings that are incomplete are collected in a buffer of their own. */
const COLLECTED_BYTES_MIN = 4 * 1024;
/** From this size on, a string of the unread bytes pays: it makes short words cheap. */
const TEXT_BYTES_MIN = 192;
/** The longest such string. Joining chunks may drop it, and then at most this much is copied again. */
const TEXT_BYTES_MAX = 16 * 1024;
/** Longer counts take the slow path; all limits are far below. */
const QUICK_DIGITS_MAX = 10;

const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const ASTERISK = 0x2a;
const DOLLAR = 0x24;
const ZERO = 0x30;
/** Unread bytes that are a smaller part of their packet than this are copied. */
const KEPT_PART = 2;
const NOTHING = Buffer.alloc(0);

/** The length of the bulk string is not known yet. */
const NO_COUNT = -1;

/** The places of the words of the request that `#readShort` reads. */
const starts = new Int32Array(9);
const ends = new Int32Array(9);

export class RequestParser {
  readonly #options: ParserOptions;
  /** Unread bytes are between `#at` and `#end`. There may be free space after `#end`. */
  #bytes: Buffer = NOTHING;
  #at = 0;
  #end = 0;
  /** `#bytes` from `#textStart` to `#textEnd` as a string. No unread byte is before it. */
  #text: Bytes = "";
  #textStart = 0;
  #textEnd = 0;
  /** Whether `#bytes` may be written to: chunks belong to the caller of `feed`. */
  #isOwn = false;
  /** The words of the current request; undefined between requests. */
  #words: Bytes[] | undefined;
  #wordsLeft = 0;
  /** Length of the current bulk string; negative: its length is read next. */
  #bulkBytes = NO_COUNT;
  #collected: BodyBuffer | undefined;
  #requestBytes = 0;
  #failure: Bytes | undefined;
  /** Bytes that were copied to join chunks, or into a text. Only grows; a test of (5) reads it. */
  copiedBytes = 0;

  constructor(options: ParserOptions) {
    this.#options = options;
  }

  /** The text of the error reply after a failure, or undefined. */
  get failure(): Bytes | undefined {
    return this.#failure;
  }

  /** Received bytes that belong to no complete request yet. */
  get unreadBytes(): number {
    return this.#end - this.#at + (this.#collected?.length ?? 0);
  }

  /** True if no part of a further request was received. */
  get isBetweenRequests(): boolean {
    return this.#words === undefined && this.unreadBytes === 0;
  }

  /** True while `next` may find a request. */
  get hasUnread(): boolean {
    return this.#end > this.#at;
  }

  /** Takes the bytes after the last request that `next` has returned, so that another reader has them. */
  takeUnread(): Buffer {
    assert(this.#words === undefined && this.#collected === undefined, "no request was begun");
    const unread = this.#bytes.subarray(this.#at, this.#end);
    this.#bytes = NOTHING;
    this.#at = 0;
    this.#end = 0;
    this.#dropText();
    return unread;
  }

  /** Copies the unread bytes if they are a small part of a packet, which others may share. Once for each chunk. keeps (3) */
  leavePacket(): void {
    const unreadBytes = this.#end - this.#at;
    if (this.#isOwn || unreadBytes === 0 || unreadBytes * KEPT_PART > this.#bytes.buffer.byteLength) return;
    this.#bytes = ownCopyOf(this.#bytes.subarray(this.#at, this.#end));
    this.#at = 0;
    this.#end = unreadBytes;
    this.#isOwn = true;
    this.copiedBytes += unreadBytes;
    this.#dropText();
  }

  /** Adds bytes, which must not change afterwards. */
  feed(chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    if (this.#at === this.#end) {
      this.#bytes = chunk;
      this.#at = 0;
      this.#end = chunk.length;
      this.#dropText();
      this.#isOwn = false;
    } else this.#append(chunk);
  }

  /**
   * The words of the next request; undefined if it needs more bytes, or after a failure. Skips empty lines and empty
   * arrays.
   */
  next(): Bytes[] | undefined {
    for (;;) {
      if (this.#at === this.#end) {
        // An idle peer needs no buffer.
        this.#bytes = NOTHING;
        this.#at = 0;
        this.#end = 0;
        this.#dropText();
        return undefined;
      }
      let words = this.#words;
      if (words === undefined) {
        this.#requestBytes = 0;
        if (this.#bytes[this.#at] !== ASTERISK) {
          const line = this.#readLine();
          if (line === undefined) return undefined;
          if (line.length > 0) return line;
          continue;
        }
        const short = this.#readShort();
        if (short !== undefined) return short;
        const count = this.#readCount(WORDS_MAX, "mbulk count string");
        if (count === undefined) return undefined;
        if (count <= 0) continue;
        words = [];
        this.#words = words;
        this.#wordsLeft = count;
      }
      while (this.#wordsLeft > 0) {
        const word = this.#readBulk();
        if (word === undefined) return undefined;
        words.push(word);
        this.#wordsLeft -= 1;
      }
      this.#words = undefined;
      return words;
    }
  }

  /** Joins the unread bytes and a chunk. keeps (5) */
  #append(chunk: Buffer): void {
    const leftBytes = this.#end - this.#at;
    const before = this.#bytes;
    if (!this.#isOwn || this.#end + chunk.length > before.length) {
      const length = leftBytes + chunk.length;
      // Read bytes pay for moving the unread ones to the front.
      const mayMove = this.#isOwn && length <= before.length && leftBytes <= this.#at;
      // Twice the needed size, so that a peer that sends single bytes does not cause a copy of all of them each time.
      if (!mayMove) this.#bytes = Buffer.allocUnsafeSlow(2 * length);
      before.copy(this.#bytes, 0, this.#at, this.#end);
      this.#isOwn = true;
      this.#at = 0;
      this.#end = leftBytes;
      this.copiedBytes += leftBytes;
      this.#dropText();
    }
    chunk.copy(this.#bytes, this.#end);
    this.#end += chunk.length;
    this.copiedBytes += chunk.length;
  }

  #dropText(): void {
    this.#text = "";
    this.#textStart = 0;
    this.#textEnd = 0;
  }

  /** `*<count>` or `$<count>` and its line end; undefined if incomplete or invalid. */
  #readCount(max: number, what: string): number | undefined {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at + 1;
    let count = 0;
    const first = at;
    while (at < end) {
      const digit = (bytes[at] as number) - ZERO;
      if (digit < 0 || digit > 9) break;
      count = count * 10 + digit;
      at += 1;
    }
    const digits = at - first;
    // Only unusual and long counts take the slow path.
    if (at + 1 < end && bytes[at] === CARRIAGE_RETURN && digits > 0 && digits < QUICK_DIGITS_MAX) {
      if (bytes[first] !== ZERO || digits === 1) return this.#checkCount(count, { max, next: at + 2 });
    }
    return this.#readOddCount(max, what);
  }

  #readOddCount(max: number, what: string): number | undefined {
    const at = this.#at;
    const lineEnd = findInLine(this.#bytes, { at, end: this.#end, byte: CARRIAGE_RETURN });
    if ((lineEnd < 0 ? this.#end : lineEnd) - at > LINE_BYTES_MAX) {
      return this.#fail(`ERR Protocol error: too big ${what}`);
    }
    if (lineEnd < 0 || lineEnd + 2 > this.#end) return undefined;
    const isArray = max === WORDS_MAX;
    const kind = this.#bytes[at] as number;
    if (!isArray && kind !== DOLLAR) {
      // Redis prints line breaks within an error as spaces.
      const found = kind === LINE_FEED || kind === CARRIAGE_RETURN ? " " : String.fromCharCode(kind);
      return this.#fail(`ERR Protocol error: expected '$', got '${found}'`);
    }
    const text = this.#bytes.latin1Slice(at + 1, lineEnd);
    const count = readWholeNumber(text);
    if (count === undefined || count > max || (!isArray && count < 0)) {
      return this.#fail(`ERR Protocol error: invalid ${isArray ? "multibulk" : "bulk"} length`);
    }
    return this.#checkCount(count, { max, next: lineEnd + 2 });
  }

  /** Checks the limits of a count; `next`: the end of its line. */
  #checkCount(count: number, { max, next }: { max: number; next: number }): number | undefined {
    const isArray = max === WORDS_MAX;
    if (count > max) return this.#fail("ERR Protocol error: invalid bulk length");
    if (count > (isArray ? UNTRUSTED_WORDS_MAX : UNTRUSTED_BULK_BYTES_MAX) && !this.#options.isTrusted()) {
      return this.#fail(`ERR Protocol error: unauthenticated ${isArray ? "multibulk" : "bulk"} length`);
    }
    this.#requestBytes += next - this.#at + (isArray ? 0 : count + 2);
    const { requestBytesMax } = this.#options;
    if (this.#requestBytes > requestBytesMax) {
      return this.#fail(requestTooLarge(requestBytesMax, this.#requestBytes).text);
    }
    this.#at = next;
    return count;
  }

  /** The next bulk string, or undefined if it is incomplete. */
  #readBulk(): Bytes | undefined {
    if (this.#bulkBytes < 0) {
      if (this.#at === this.#end) return undefined;
      const count =
        this.#bytes[this.#at] === DOLLAR
          ? this.#readCount(BULK_BYTES_MAX, "bulk count string")
          : this.#readOddCount(BULK_BYTES_MAX, "bulk count string");
      if (count === undefined) return undefined;
      this.#bulkBytes = count;
    }
    const length = this.#bulkBytes;
    const at = this.#at;
    if (this.#collected !== undefined || this.#end - at < length + 2) return this.#collect(length);
    this.#at = at + length + 2;
    this.#bulkBytes = NO_COUNT;
    return this.#cut(at, at + length);
  }

  /**
   * The next request in one pass, if all of it is there and all its counts have one digit, or two for a word. No limit
   * applies to such a request but `requestBytesMax`. Undefined: nothing was read.
   */
  #readShort(): Bytes[] | undefined {
    const bytes = this.#bytes;
    const end = this.#end;
    const start = this.#at;
    // The shortest request is `*1\r\n$0\r\n\r\n`.
    if (end - start < 10 || bytes[start + 2] !== CARRIAGE_RETURN) return undefined;
    const count = (bytes[start + 1] as number) - ZERO;
    if (count < 1 || count > 9) return undefined;
    let at = start + 4;
    for (let index = 0; index < count; index += 1) {
      if (at + 5 > end || bytes[at] !== DOLLAR) return undefined;
      let length = (bytes[at + 1] as number) - ZERO;
      if (length < 0 || length > 9) return undefined;
      at += 2;
      if (bytes[at] !== CARRIAGE_RETURN) {
        const digit = (bytes[at] as number) - ZERO;
        if (digit < 0 || digit > 9 || length === 0 || bytes[at + 1] !== CARRIAGE_RETURN) return undefined;
        length = length * 10 + digit;
        at += 1;
      }
      at += 2;
      starts[index] = at;
      ends[index] = at + length;
      at += length + 2;
      if (at > end) return undefined;
    }
    if (at - start > this.#options.requestBytesMax) return undefined;
    this.#at = at;
    const name = cutName(bytes, starts[0] as number, ends[0] as number);
    // Literals have room for their words alone; an array that grows begins with room for 17.
    if (count === 2) return [name, this.#shortWord(1)];
    if (count === 3) return [name, this.#shortWord(1), this.#shortWord(2)];
    const words = [name];
    for (let index = 1; index < count; index += 1) words.push(this.#shortWord(index));
    return words;
  }

  #shortWord(index: number): Bytes {
    return this.#cut(starts[index] as number, ends[index] as number);
  }

  /** keeps (2) */
  #cut(start: number, end: number): Bytes {
    if (end - start >= SUBSTRING_LENGTH_MIN) return cutBytes(this.#bytes, start, end);
    if (end > this.#textEnd) {
      if (this.#end - start < TEXT_BYTES_MIN) return cutBytes(this.#bytes, start, end);
      this.#makeText(start);
    }
    return this.#text.substring(start - this.#textStart, end - this.#textStart);
  }

  /** Makes a text of the bytes from `start` on: only one word is copied into two texts. keeps (5) */
  #makeText(start: number): void {
    this.#textStart = start;
    this.#textEnd = Math.min(this.#end, start + TEXT_BYTES_MAX);
    this.#text = this.#bytes.latin1Slice(start, this.#textEnd);
    this.copiedBytes += this.#text.length;
  }

  /** Collects a bulk string and its line break from several chunks. */
  #collect(length: number): Bytes | undefined {
    if (this.#collected === undefined) {
      if (length < COLLECTED_BYTES_MIN) return undefined;
      this.#collected = new BodyBuffer(length + 2);
    }
    const collected = this.#collected;
    const part = this.#bytes.subarray(this.#at, Math.min(this.#end, this.#at + length + 2 - collected.length));
    this.#at += part.length;
    // BodyBuffer stores the first part without a copy, our own buffer is overwritten later, and a packet is kept for most of it only.
    const isSmall = part.length * KEPT_PART <= part.buffer.byteLength;
    collected.add((this.#isOwn || isSmall) && collected.length === 0 ? ownCopyOf(part) : part);
    if (collected.length < length + 2) return undefined;
    this.#collected = undefined;
    this.#bulkBytes = NO_COUNT;
    return collected.take().latin1Slice(0, length);
  }

  /** The words of a line; undefined if incomplete or invalid. */
  #readLine(): Bytes[] | undefined {
    const at = this.#at;
    const lineFeed = findInLine(this.#bytes, { at, end: this.#end, byte: LINE_FEED });
    if ((lineFeed < 0 ? this.#end : lineFeed) - at > LINE_BYTES_MAX) {
      return this.#fail("ERR Protocol error: too big inline request");
    }
    if (lineFeed < 0) return undefined;
    const hasReturn = lineFeed > at && this.#bytes[lineFeed - 1] === CARRIAGE_RETURN;
    const words = splitLine(this.#bytes.latin1Slice(at, hasReturn ? lineFeed - 1 : lineFeed));
    if (words === undefined) return this.#fail("ERR Protocol error: unbalanced quotes in request");
    this.#at = lineFeed + 1;
    return words;
  }

  /** keeps (4) */
  #fail(text: Bytes): undefined {
    this.#failure = text;
    this.#bytes = NOTHING;
    this.#dropText();
    this.#at = 0;
    this.#end = 0;
    this.#collected = undefined;
    this.#words = undefined;
  }
}

/** Outside the pool of small buffers, which one of them would keep. */
function ownCopyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** A request in RESP, as a parser reads it. */
export function printRequest(words: readonly Bytes[]): Buffer {
  const parts = words.map((word) => `$${word.length}\r\n${word}\r\n`);
  return Buffer.from(`*${words.length}\r\n${parts.join("")}`, "latin1");
}

const WHOLE_NUMBER = /^(?:0|-?[1-9][0-9]{0,18})$/;

/** A 64-bit integer as Redis reads it: no plus sign, no leading zero. Approximate if it is large. */
function readWholeNumber(text: Bytes): number | undefined {
  if (!WHOLE_NUMBER.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? Number(value) : undefined;
}

/** The position of a byte, or -1. As in C, a zero byte before it ends the search. */
function findInLine(bytes: Buffer, { at, end, byte }: { at: number; end: number; byte: number }): number {
  const found = bytes.indexOf(byte, at);
  if (found < 0 || found >= end) return -1;
  return bytes.subarray(at, found).includes(0) ? -1 : found;
}

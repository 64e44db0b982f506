/**
 * Requests in RESP as they come over TCP, in whatever packets: arrays of bulk
 * strings (`*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`), or lines as a person types them.
 * Limits, texts and corner cases are those of Redis 7.0.15 (`networking.c`).
 *
 *     feed(chunk) -> next() … next() -> undefined: more bytes are needed
 *
 * (1) How the bytes are cut into chunks changes nothing of the words.
 * (2) A word is a string of its own: it keeps no chunk alive.
 * (3) Memory follows what has arrived, not what was announced.
 * (4) After a failure nothing more is read.
 *
 * What is needed of a chunk beyond a whole request is kept in `#bytes`: the
 * beginning of a line, or of a short bulk string. A long one is collected by
 * itself, so that each of its bytes is copied once or twice, however many
 * chunks it has.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { requestTooLarge } from "../errors.ts";
import { BodyBuffer } from "../http/body-buffer.ts";
import { splitLine } from "./inline-words.ts";

export interface ParserOptions {
  /** The most bytes that a request may have, all that is around its words included. */
  readonly requestBytesMax: number;
  /** False before the peer has logged in: then requests must be small, as in Redis. */
  readonly isTrusted: () => boolean;
}

/** The longest line, and the longest count in front of an array or a bulk string (`PROTO_INLINE_MAX_SIZE`). */
const LINE_BYTES_MAX = 64 * 1024;
/** What Redis' `proto-max-bulk-len` is unless told otherwise. */
const BULK_BYTES_MAX = 512 * 1024 * 1024;
const WORDS_MAX = 2 ** 31 - 1;
/** Of a peer that has not logged in. */
const UNTRUSTED_WORDS_MAX = 10;
const UNTRUSTED_BULK_BYTES_MAX = 16 * 1024;
/** A bulk string that is longer, and not all there, is collected by itself. */
const COLLECTED_BYTES_MIN = 4 * 1024;
/** V8 copies substrings that are shorter, and lets longer ones point into the string that they were cut from. */
const SLICE_LENGTH_MIN = 13;
/** No more digits than this are read as a plain number: all limits are far below. */
const QUICK_DIGITS_MAX = 10;

const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;
const ASTERISK = 0x2a;
const DOLLAR = 0x24;
const ZERO = 0x30;
const NOTHING = Buffer.alloc(0);

/** For the length of a bulk string that is not known yet. */
const NO_COUNT = -1;

export class RequestParser {
  readonly #options: ParserOptions;
  /** What has come and is not read yet: from `#at` to `#end`. Behind `#end` there may be room. */
  #bytes: Buffer = NOTHING;
  #at = 0;
  #end = 0;
  /** `#bytes` up to `#end` as a string, made when the first word is cut from it. */
  #text: Bytes | undefined;
  /** Whether `#bytes` is ours to write to: a chunk belongs to whoever gave it. */
  #isOwn = false;
  /** The words of the request that is being read; undefined between requests. */
  #words: Bytes[] | undefined;
  #wordsLeft = 0;
  /** Length of the bulk string that is being read; negative: its length is read next. */
  #bulkBytes = NO_COUNT;
  #collected: BodyBuffer | undefined;
  #requestBytes = 0;
  #failure: Bytes | undefined;

  constructor(options: ParserOptions) {
    this.#options = options;
  }

  /** Why nothing more can be read, as the text of an error reply; undefined while all is well. */
  get failure(): Bytes | undefined {
    return this.#failure;
  }

  /** Bytes that have come and belong to no whole request yet. */
  get unreadBytes(): number {
    return this.#end - this.#at + (this.#collected?.length ?? 0);
  }

  /** True when nothing of a further request has come. */
  get isBetweenRequests(): boolean {
    return this.#words === undefined && this.unreadBytes === 0;
  }

  /** True while there are bytes that `next` may read a request from. */
  get hasUnread(): boolean {
    return this.#end > this.#at;
  }

  /** Takes bytes, which must not change afterwards. */
  feed(chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    if (this.#at === this.#end) {
      this.#bytes = chunk;
      this.#at = 0;
      this.#end = chunk.length;
      this.#text = undefined;
      this.#isOwn = false;
    } else this.#append(chunk);
  }

  /**
   * The words of the next request; undefined when more bytes are needed, or when the parser has failed. An empty line or
   * array is no request.
   */
  next(): Bytes[] | undefined {
    for (;;) {
      if (this.#at === this.#end) {
        // A peer that is silent costs no buffer.
        this.#bytes = NOTHING;
        this.#text = undefined;
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

  /** Keeps what is left of the chunk before, in one piece with this one. */
  #append(chunk: Buffer): void {
    const leftBytes = this.#end - this.#at;
    const length = leftBytes + chunk.length;
    const before = this.#bytes;
    if (!this.#isOwn || length > before.length) {
      // Twice what is needed, so that a peer that sends single bytes does not make us copy all of them each time.
      this.#bytes = Buffer.allocUnsafeSlow(2 * length);
      this.#isOwn = true;
      before.copy(this.#bytes, 0, this.#at, this.#end);
      this.#at = 0;
    } else if (this.#end + chunk.length > before.length) {
      before.copyWithin(0, this.#at, this.#end);
      this.#at = 0;
    }
    chunk.copy(this.#bytes, this.#at + leftBytes);
    this.#end = this.#at + length;
    this.#text = undefined;
  }

  /** `*<count>` or `$<count>` and the end of its line; undefined when it is not all there, or wrong. */
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
    // All but odd and long counts are read by now.
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

  /** Holds a count against the limits; `next`: where its line ends. */
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

  /** The next bulk string, or undefined when it is not all there. */
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
    if (length >= SLICE_LENGTH_MIN) return this.#bytes.latin1Slice(at, at + length); // keeps (2)
    this.#text ??= this.#bytes.latin1Slice(0, this.#end);
    return this.#text.substring(at, at + length);
  }

  /** Puts a bulk string and its line break together that came in parts. */
  #collect(length: number): Bytes | undefined {
    if (this.#collected === undefined) {
      if (length < COLLECTED_BYTES_MIN) return undefined;
      this.#collected = new BodyBuffer(length + 2);
    }
    const collected = this.#collected;
    const part = this.#bytes.subarray(this.#at, Math.min(this.#end, this.#at + length + 2 - collected.length));
    this.#at += part.length;
    // The first part is kept as it is, and what is ours is written over later.
    collected.add(this.#isOwn && collected.length === 0 ? Buffer.from(part) : part);
    if (collected.length < length + 2) return undefined;
    this.#collected = undefined;
    this.#bulkBytes = NO_COUNT;
    return collected.take().latin1Slice(0, length);
  }

  /** The words of a line; undefined when it has not ended, or is wrong. */
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
    this.#text = undefined;
    this.#at = 0;
    this.#end = 0;
    this.#collected = undefined;
    this.#words = undefined;
  }
}

const WHOLE_NUMBER = /^(?:0|-?[1-9][0-9]{0,18})$/;

/** As Redis reads integers of 64 bits: no sign but a minus, no zero in front. About right when it is large. */
function readWholeNumber(text: Bytes): number | undefined {
  if (!WHOLE_NUMBER.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? Number(value) : undefined;
}

/** Where a byte is, looked for as C does: a zero byte in front of it ends the search. -1: nowhere. */
function findInLine(bytes: Buffer, { at, end, byte }: { at: number; end: number; byte: number }): number {
  const found = bytes.indexOf(byte, at);
  if (found < 0 || found >= end) return -1;
  return bytes.subarray(at, found).includes(0) ? -1 : found;
}

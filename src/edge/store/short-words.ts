/**
 * Reads the commands of a short body in one pass over its bytes: arrays of strings
 * and integers without white space, as clients print them. `JSON.parse` would need
 * the body as a string, and looks each short string up in the table of all
 * strings of the process.
 *
 * (1) The result is that of the exact reader (json-reader.ts), or undefined: then
 *     the body may be anything, and is read again. So this reader reports no
 *     error, and reads only what needs no rule: not `\u`, white space, fractions,
 *     exponents, minus zero, integers of more than 15 digits, `true`, `false`,
 *     null, objects or deeper arrays, nor invalid UTF-8.
 * (2) No word shares memory with the body or with a text of it.
 */
import { isUtf8 } from "node:buffer";
import type { Bytes } from "../../kernel/bytes.ts";
import { cutBytes, cutName, SUBSTRING_LENGTH_MIN } from "../../kernel/short-bytes.ts";

/** Longer bodies are for the other readers. It also bounds the words, which take three bytes of a body each. */
export const SHORT_BODY_BYTES_MAX = 65_536;
/** From this size on, a text of the whole body pays: it makes short words cheap. */
const TEXT_BYTES_MIN = 192;
/** `JSON.parse` copies longer words faster; for a single command its fixed cost is larger than that gain. */
const BATCH_WORD_BYTES_MAX = 24;
const COMMAND_WORD_BYTES_MAX = 64;
/** Every integer of so many digits is exact. */
const DIGITS_MAX = 15;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const ARRAY_START = 0x5b;
const BACKSLASH = 0x5c;
const ARRAY_END = 0x5d;
/** Smaller bytes must be escaped in a string. */
const FIRST_PRINTABLE = 0x20;
const FIRST_BEYOND_ASCII = 0x80;

/** The reader gives up. */
const UNKNOWN = -1;

/** The byte of each escape of one letter, by that letter; 0: none. */
const escaped = new Uint8Array(256);
for (const pair of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"])
  escaped[pair.charCodeAt(0)] = pair.charCodeAt(1);

/** Words with escapes are made here. */
const scratch = Buffer.alloc(SHORT_BODY_BYTES_MAX);

/** The words of the command, or undefined: (1). */
export function readShortCommand(body: Buffer): Bytes[] | undefined {
  return body.length > SHORT_BODY_BYTES_MAX ? undefined : new ShortReader(body, COMMAND_WORD_BYTES_MAX).command();
}

/** The words of each command, or undefined: (1). */
export function readShortBatch(body: Buffer): Bytes[][] | undefined {
  return body.length > SHORT_BODY_BYTES_MAX ? undefined : new ShortReader(body, BATCH_WORD_BYTES_MAX).batch();
}

/** The words of the command that is read; reused. After a long command it is emptied. */
const found: Bytes[] = [];
const FOUND_COUNT_KEPT = 64;

class ShortReader {
  readonly #body: Buffer;
  /** The bytes of a body that is not very short, as a string. */
  readonly #text: Bytes | undefined;
  readonly #wordBytesMax: number;
  /** The number of words in `found`. */
  #count = 0;
  /** All bytes of strings so far, joined by OR. */
  #bits = 0;

  constructor(body: Buffer, wordBytesMax: number) {
    this.#body = body;
    this.#wordBytesMax = wordBytesMax;
    this.#text = body.length < TEXT_BYTES_MIN ? undefined : body.latin1Slice();
  }

  command(): Bytes[] | undefined {
    const body = this.#body;
    if (body[0] !== ARRAY_START || this.#readWords(1) !== body.length) return undefined;
    return this.#isText ? this.#takeWords() : undefined;
  }

  batch(): Bytes[][] | undefined {
    const body = this.#body;
    const last = body.length - 1;
    if (last < 2 || body[0] !== ARRAY_START || body[last] !== ARRAY_END) return undefined;
    const commands: Bytes[][] = [];
    for (let at = 1; ; at += 1) {
      if (body[at] !== ARRAY_START) return undefined;
      at = this.#readWords(at + 1);
      if (at === UNKNOWN || at > last) return undefined;
      commands.push(this.#takeWords());
      if (at === last) return this.#isText ? commands : undefined;
      if (body[at] !== COMMA) return undefined;
    }
  }

  /** False if a string has bytes that are not UTF-8. */
  get #isText(): boolean {
    return this.#bits < FIRST_BEYOND_ASCII || isUtf8(this.#body);
  }

  /** The words that were read, in an array of their number: one that grows by `push` begins with room for 17. */
  #takeWords(): Bytes[] {
    const [first, second, third] = found;
    if (this.#count === 3) return [first, second, third] as Bytes[];
    if (this.#count === 2) return [first, second] as Bytes[];
    const words = found.slice(0, this.#count);
    if (words.length > FOUND_COUNT_KEPT) found.length = 0;
    return words;
  }

  /** Reads the words of the array that began before `start`. Returns the position after it. */
  #readWords(start: number): number {
    this.#count = 0;
    const body = this.#body;
    const { length } = body;
    if (start < length && body[start] === ARRAY_END) return start + 1;
    let at = start;
    while (at < length) {
      at = body[at] === QUOTE ? this.#readString(at + 1) : this.#readInteger(at);
      if (at === UNKNOWN || at >= length) return UNKNOWN;
      const mark = body[at];
      at += 1;
      if (mark === ARRAY_END) return at;
      if (mark !== COMMA) return UNKNOWN;
    }
    return UNKNOWN;
  }

  /** Adds the string whose quote is before `start`. Returns the position after its second quote. */
  #readString(start: number): number {
    const body = this.#body;
    const { length } = body;
    let bits = this.#bits;
    const end = Math.min(length, start + this.#wordBytesMax + 1);
    for (let at = start; at < end; at += 1) {
      const byte = body[at] as number;
      if (byte === QUOTE) {
        this.#bits = bits;
        this.#add(this.#count === 0 ? cutName(body, start, at) : this.#cut(start, at));
        return at + 1;
      }
      if (byte === BACKSLASH) {
        this.#bits = bits;
        return this.#readEscaped(start, at);
      }
      if (byte < FIRST_PRINTABLE) return UNKNOWN;
      bits |= byte;
    }
    return UNKNOWN;
  }

  /** As `#readString`, for a string with an escape at `first`. */
  #readEscaped(start: number, first: number): number {
    const body = this.#body;
    const { length } = body;
    let size = first - start;
    body.copy(scratch, 0, start, first);
    for (let at = first; at < length; at += 1) {
      let byte = body[at] as number;
      if (byte === QUOTE) {
        this.#add(cutBytes(scratch, 0, size));
        return at + 1;
      }
      if (byte < FIRST_PRINTABLE) return UNKNOWN;
      if (byte === BACKSLASH) {
        at += 1;
        byte = at < length ? (escaped[body[at] as number] as number) : 0;
        if (byte === 0) return UNKNOWN;
      }
      this.#bits |= byte;
      scratch[size] = byte;
      size += 1;
    }
    return UNKNOWN;
  }

  /** Adds an integer as its digits. Returns the position after it. */
  #readInteger(start: number): number {
    const body = this.#body;
    const { length } = body;
    const first = body[start] === MINUS ? start + 1 : start;
    let at = first;
    while (at < length && (body[at] as number) >= ZERO && (body[at] as number) <= NINE) at += 1;
    const digits = at - first;
    if (digits === 0 || digits > DIGITS_MAX) return UNKNOWN;
    // A leading zero is malformed, and minus zero is zero for some readers.
    if (body[first] === ZERO && (digits > 1 || first > start)) return UNKNOWN;
    this.#add(this.#cut(start, at));
    return at;
  }

  #add(word: Bytes): void {
    found[this.#count] = word;
    this.#count += 1;
  }

  #cut(start: number, end: number): Bytes {
    const text = this.#text;
    return text !== undefined && end - start < SUBSTRING_LENGTH_MIN
      ? text.substring(start, end)
      : cutBytes(this.#body, start, end);
  }
}

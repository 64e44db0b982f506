/**
 * Reads commands out of JSON exactly: an array of words, or an array of such
 * arrays. Used where `JSON.parse` loses information (a number's digits, a
 * surrogate) or would need too much memory (deep nesting).
 *
 * (1) A word is the UTF-8 bytes of a string, the spelling of a number (`1.10`,
 *     `1e3`, `12345678901234567890`), or `true`/`false`.
 * (2) null, objects and arrays below the level of a command are refused where
 *     they begin, so depth costs nothing (threats A-14). A null in a batch
 *     invalidates only its own command: clients send it for a missing value, and
 *     may have the commands of several callers in one batch.
 * (3) No word is a slice of the body's text, which would keep the whole body in
 *     memory.
 */
import { isUtf8 } from "node:buffer";
import { type Bytes, bytesFromText, copyOf } from "../../kernel/bytes.ts";
import { parseJsonString } from "../../kernel/json/parse.ts";
import { type RequestFailure, tooManyWords, wordOfWrongType } from "../errors.ts";

/** Words of one request, as in one command of Redis; a body of `[""],[""],…` would cost 20 times its size. */
export const WORDS_MAX = 1_048_576;

/** `["SET", "k", 1]` as words. Throws `malformed` or a more specific failure. */
export function readCommandExactly(body: Buffer, malformed: RequestFailure): Bytes[] {
  const reader = new JsonReader(body, malformed);
  reader.expectArray();
  const words = reader.words();
  reader.expectEnd();
  return words;
}

/** A command of a batch that cannot run because one of its words is null. */
export class InvalidCommand {
  /** Index of the first null; 0 is the name of the command. */
  readonly wordIndex: number;

  constructor(wordIndex: number) {
    this.wordIndex = wordIndex;
  }
}

export type BatchCommand = readonly Bytes[] | InvalidCommand;

/** `[["SET", "k", 1], …]` as words of words. Throws `malformed` or a more specific failure. */
export function readBatchExactly(body: Buffer, malformed: RequestFailure): BatchCommand[] {
  const reader = new JsonReader(body, malformed);
  reader.expectArray();
  const commands: BatchCommand[] = [];
  if (reader.takeArrayEnd()) {
    reader.expectEnd();
    return commands;
  }
  do {
    reader.expectArray();
    commands.push(reader.wordsOrSpoilt());
  } while (reader.takeCommaOrEnd());
  reader.expectEnd();
  return commands;
}

const NULL = "null";
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
/** Smaller code units must be escaped in a string. */
const FIRST_PRINTABLE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;
const ARRAY_START = 0x5b;
const ARRAY_END = 0x5d;

/** RFC 8259 section 6. */
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** Longer strings are left to `JSON.parse`, which copies and checks them faster. */
const SHORT_LENGTH_MAX = 12;

class JsonReader {
  readonly #malformed: RequestFailure;
  /** The body as UTF-8, with U+FFFD for invalid bytes. */
  readonly #body: Buffer;
  /** The same bytes as code units. */
  readonly #text: Bytes;
  #at = 0;
  /** The first backslash at or after `#at`, or the length of the text. */
  #backslash = -1;
  #wordCount = 0;

  constructor(body: Buffer, malformed: RequestFailure) {
    this.#malformed = malformed;
    this.#body = isUtf8(body) ? body : Buffer.from(body.utf8Slice());
    this.#text = this.#body.latin1Slice();
  }

  expectArray(): void {
    if (this.#next() !== ARRAY_START) throw this.#malformed;
    this.#at += 1;
  }

  expectEnd(): void {
    if (!Number.isNaN(this.#next())) throw this.#malformed;
  }

  takeArrayEnd(): boolean {
    if (this.#next() !== ARRAY_END) return false;
    this.#at += 1;
    return true;
  }

  /** True after a comma, false after the end of the array. */
  takeCommaOrEnd(): boolean {
    const unit = this.#next();
    if (unit !== COMMA && unit !== ARRAY_END) throw this.#malformed;
    this.#at += 1;
    return unit === COMMA;
  }

  /** The words of the array whose start has been read, including its end. */
  words(): Bytes[] {
    const words: Bytes[] = [];
    if (this.takeArrayEnd()) return words;
    do {
      words.push(this.#countedWord(words.length));
    } while (this.takeCommaOrEnd());
    return words;
  }

  /** Like `words`, but allows null. */
  wordsOrSpoilt(): BatchCommand {
    const words: Bytes[] = [];
    let invalid: InvalidCommand | undefined;
    if (this.takeArrayEnd()) return words;
    do {
      if (this.#takeNull()) invalid ??= new InvalidCommand(words.length);
      else words.push(this.#countedWord(words.length));
    } while (this.takeCommaOrEnd());
    return invalid ?? words;
  }

  #takeNull(): boolean {
    this.#next();
    if (!this.#text.startsWith(NULL, this.#at)) return false;
    this.#at += NULL.length;
    return true;
  }

  #countedWord(index: number): Bytes {
    this.#wordCount += 1;
    if (this.#wordCount > WORDS_MAX) throw tooManyWords(WORDS_MAX);
    return this.#word(index);
  }

  /** The next code unit that is not white space, or NaN at the end. */
  #next(): number {
    for (;;) {
      const unit = this.#text.charCodeAt(this.#at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return unit;
      this.#at += 1;
    }
  }

  // keeps (1) and (2)
  #word(index: number): Bytes {
    const unit = this.#next();
    if (unit === QUOTE) return this.#string();
    if (unit === MINUS || (unit >= ZERO && unit <= NINE)) return this.#number();
    for (const literal of ["true", "false"]) {
      if (!this.#text.startsWith(literal, this.#at)) continue;
      this.#at += literal.length;
      return literal;
    }
    if (unit === ARRAY_START || unit === 0x7b || this.#text.startsWith(NULL, this.#at))
      throw wordOfWrongType(this.#malformed, index);
    throw this.#malformed;
  }

  #number(): Bytes {
    NUMBER.lastIndex = this.#at;
    if (!NUMBER.test(this.#text)) throw this.#malformed;
    const start = this.#at;
    this.#at = NUMBER.lastIndex;
    return copyOf(this.#text, start, this.#at); // keeps (3)
  }

  #string(): Bytes {
    const text = this.#text;
    const start = this.#at + 1;
    let end = text.indexOf('"', start);
    if (this.#backslash < start) this.#backslash = this.#positionOf("\\", start);
    if (end < 0) throw this.#malformed;
    const isEscaped = this.#backslash < end;
    while (this.#backslash < end) {
      // A backslash escapes the next unit, which may be a quote or another backslash.
      const next = this.#backslash + 2;
      if (end < next) end = text.indexOf('"', next);
      if (end < 0) throw this.#malformed;
      this.#backslash = this.#positionOf("\\", next);
    }
    this.#at = end + 1;
    if (isEscaped || end - start > SHORT_LENGTH_MAX) return this.#parsed(start - 1, end + 1);
    for (let at = start; at < end; at += 1) if (text.charCodeAt(at) < FIRST_PRINTABLE) throw this.#malformed;
    return text.slice(start, end);
  }

  /** A string literal through `JSON.parse`, which returns a copy: keeps (3). */
  #parsed(start: number, end: number): Bytes {
    const literal = this.#text.slice(start, end);
    try {
      // `\u00e9` is a character, not a byte, so this literal is read as text.
      if (!literal.includes("\\u")) return parseJsonString(literal) as Bytes;
      return bytesFromText(parseJsonString(this.#body.utf8Slice(start, end)));
    } catch (error) {
      if (error instanceof SyntaxError) throw this.#malformed;
      throw error;
    }
  }

  #positionOf(mark: string, start: number): number {
    const position = this.#text.indexOf(mark, start);
    return position < 0 ? this.#text.length : position;
  }
}

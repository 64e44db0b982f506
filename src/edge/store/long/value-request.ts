/**
 * Reads a command with a long value out of its JSON array: `["SET", "k", "…"]`.
 * The value does not become a string. Any other body, also one that is not valid,
 * is left to `json-commands.ts`, which has the same meaning and the errors.
 *
 * The value is a part of the body, or has memory of its own if it has escapes.
 */
import { isUtf8 } from "node:buffer";
import type { Bytes } from "../../../kernel/bytes.ts";
import { findCommand, LARGE_BYTES_MIN, type RequestWithValue } from "../../../store/mod.ts";
import { readString } from "./json-strings.ts";

/** Shorter bodies have no long value. */
export const LONG_BODY_BYTES_MIN = LARGE_BYTES_MIN;

/** Words besides the value: options are few. */
const WORDS_MAX = 32;
/** Longer words other than the value are left to the other readers. */
const WORD_BYTES_MAX = 1_024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const ARRAY_START = 0x5b;
const ARRAY_END = 0x5d;

/** A backslash, or a control character: not from U+0020 on, or a backslash. The string has no quotes. */
const NOT_PLAIN = /[^ !#-[\]-\uffff]/;
/** An integer in JavaScript's spelling, and what follows it. */
const INTEGER = /^(?:0|-?[1-9][0-9]{0,14})(?=[,\] \t\r\n])/;
/** Longer than an integer with the byte after it. */
const INTEGER_BYTES_MAX = 20;

/** The command; undefined if it has no long value, or another form. */
export function readCommandWithValue(body: Buffer): RequestWithValue | undefined {
  const reader = new WordReader(body);
  if (!reader.take(ARRAY_START)) return undefined;
  const name = reader.word();
  if (name === undefined) return undefined;
  const valueAt = findCommand(name)?.valueAt;
  if (valueAt === undefined) return undefined;
  const words = [name];
  let value: Buffer | undefined;
  while (reader.take(COMMA)) {
    const isValue = words.length === valueAt;
    if (isValue) value = reader.value();
    const word = isValue ? "" : reader.word();
    if (word === undefined || (isValue && value === undefined) || words.length === WORDS_MAX) return undefined;
    words.push(word);
  }
  return reader.takeEnd() && value !== undefined && isUtf8(body) ? { words, value } : undefined;
}

class WordReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  take(byte: number): boolean {
    if (this.#next() !== byte) return false;
    this.#at += 1;
    return true;
  }

  /** Whether the rest is the end of the array. */
  takeEnd(): boolean {
    return this.take(ARRAY_END) && this.#next() === undefined;
  }

  /** A short string without escapes, or an integer. */
  word(): Bytes | undefined {
    const body = this.#body;
    if (this.#next() !== QUOTE) {
      const end = Math.min(this.#at + INTEGER_BYTES_MAX, body.length);
      const integer = INTEGER.exec(body.latin1Slice(this.#at, end))?.[0];
      this.#at += integer?.length ?? 0;
      return integer;
    }
    const start = this.#at + 1;
    const end = body.indexOf(QUOTE, start);
    if (end < 0 || end - start > WORD_BYTES_MAX) return undefined;
    this.#at = end + 1;
    const word = body.latin1Slice(start, end);
    return NOT_PLAIN.test(word) ? undefined : word;
  }

  /** A string that the store has as a Buffer. */
  value(): Buffer | undefined {
    if (this.#next() !== QUOTE) return undefined;
    const string = readString(this.#body, this.#at + 1);
    if (string === undefined || string.content.length < LARGE_BYTES_MIN) return undefined;
    this.#at = string.end;
    return string.content;
  }

  /** The next byte that is not white space; undefined at the end. */
  #next(): number | undefined {
    for (;;) {
      const byte = this.#body[this.#at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.#at += 1;
    }
  }
}

/**
 * Reads JSON (RFC 8259) into a document. It does not use `JSON.parse`, which
 * rounds integers, loses the fraction of 1.0, and has no limit of depth.
 *
 * The text is UTF-8 as bytes, and so are the resulting strings. Of members with
 * the same name the last one counts. A lone surrogate becomes U+FFFD.
 */
import { isUtf8 } from "node:buffer";
import { type Bytes, bufferFrom, bytesFrom, bytesFromText, isAscii } from "../../kernel/bytes.ts";
import { CommandError, notUtf8 } from "../errors.ts";
import { DOCUMENT_DEPTH_MAX, ELEMENTS_MAX, JSON_STRING_BYTES_MAX, type JsonNode } from "./node.ts";
import { numberFrom } from "./number.ts";
import { type JsonObject, MEMBERS_MAX, objectOf } from "./object.ts";

export interface Parsed {
  readonly node: JsonNode;
  /** Depth of nested containers: 0 for a scalar. */
  readonly depth: number;
}

/** Throws a `CommandError` that names the fault and its position. */
export function parseJson(text: Bytes): Parsed {
  return new Parser(text).document();
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;
/** V8 copies shorter slices anyway; a longer slice would keep the whole text alive. */
const SLICE_LENGTH_MIN = 13;

const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

class Parser {
  readonly #text: Bytes;
  #buffer: Buffer | undefined;
  #at = 0;
  #depthSeen = 0;
  /** The contents of the open containers so far, one after the other. */
  readonly #stack: JsonNode[] = [];

  constructor(text: Bytes) {
    this.#text = text;
  }

  document(): Parsed {
    if (!isAscii(this.#text) && !isUtf8(this.#bytes)) throw notUtf8;
    const node = this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#failure("expected the end");
    return { node, depth: this.#depthSeen };
  }

  get #bytes(): Buffer {
    this.#buffer ??= bufferFrom(this.#text);
    return this.#buffer;
  }

  #value(depth: number): JsonNode {
    this.#skipSpace();
    const text = this.#text;
    switch (text[this.#at]) {
      case '"':
        return this.#string();
      case "{":
        return this.#object(depth + 1);
      case "[":
        return this.#array(depth + 1);
      case "t":
        return this.#word("true", true);
      case "f":
        return this.#word("false", false);
      case "n":
        return this.#word("null", null);
      default:
        return this.#number();
    }
  }

  #word<Value>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) throw this.#failure("expected a value");
    this.#at += word.length;
    return value;
  }

  #enter(depth: number): void {
    if (depth > DOCUMENT_DEPTH_MAX) throw this.#failure(`nested deeper than ${DOCUMENT_DEPTH_MAX}`);
    if (depth > this.#depthSeen) this.#depthSeen = depth;
    this.#at += 1;
  }

  #array(depth: number): JsonNode[] {
    this.#enter(depth);
    const stack = this.#stack;
    const start = stack.length;
    if (!this.#take("]")) {
      do {
        const node = this.#value(depth);
        stack.push(node);
        if (stack.length - start > ELEMENTS_MAX) throw this.#failure("too many elements");
      } while (this.#takeComma("]"));
    }
    const elements = stack.slice(start);
    stack.length = start;
    return elements;
  }

  #object(depth: number): JsonObject {
    this.#enter(depth);
    const stack = this.#stack;
    const start = stack.length;
    if (!this.#take("}")) {
      do {
        this.#skipSpace();
        if (this.#text[this.#at] !== '"') throw this.#failure("expected a name in double quotes");
        stack.push(this.#string());
        if (!this.#take(":")) throw this.#failure('expected ":"');
        const node = this.#value(depth);
        stack.push(node);
        if (stack.length - start > 2 * MEMBERS_MAX) throw this.#failure("too many members");
      } while (this.#takeComma("}"));
    }
    const object = objectOf(stack, start);
    stack.length = start;
    return object;
  }

  /** True at a comma; false at the end of the container, which is consumed. */
  #takeComma(end: string): boolean {
    if (this.#take(",")) return true;
    if (this.#take(end)) return false;
    throw this.#failure(`expected "," or "${end}"`);
  }

  #take(sign: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #string(): Bytes {
    const text = this.#text;
    const start = this.#at + 1;
    let end = start;
    for (;;) {
      const code = text.charCodeAt(end);
      if (code === QUOTE) break;
      if (code === BACKSLASH) return this.#escapedString(start);
      this.#checkCharacter(code, end);
      end += 1;
    }
    this.#at = end + 1;
    return this.#cut(start, end);
  }

  #escapedString(start: number): Bytes {
    const text = this.#text;
    const parts: Bytes[] = [];
    let from = start;
    let at = start;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      this.#checkCharacter(code, at);
      at += 1;
      if (code !== BACKSLASH) continue;
      parts.push(text.slice(from, at - 1));
      const letter = text[at] ?? "";
      if (letter === "u") {
        const [characters, next] = this.#unicode(at + 1);
        parts.push(characters);
        at = next;
      } else {
        const character = escapes.get(letter);
        if (character === undefined) throw this.#failureAt("unknown escape", at);
        parts.push(character);
        at += 1;
      }
      from = at;
    }
    parts.push(text.slice(from, at));
    this.#at = at + 1;
    // Copied to a flat string, so that it keeps neither the text nor the parts alive.
    const joined = parts.join("");
    if (joined.length > JSON_STRING_BYTES_MAX) throw this.#failureAt("string too long", start);
    return joined.length < SLICE_LENGTH_MIN ? joined : bytesFrom(bufferFrom(joined));
  }

  /** The bytes of one escaped character, or of a surrogate pair, and the position after them. */
  #unicode(at: number): readonly [Bytes, number] {
    const high = this.#hexadecimal(at);
    if (high >= 0xd800 && high < 0xdc00 && this.#text.startsWith("\\u", at + 4)) {
      const low = this.#hexadecimal(at + 6);
      if (low >= 0xdc00 && low < 0xe000) return [bytesFromText(String.fromCharCode(high, low)), at + 10];
    }
    return [bytesFromText(String.fromCharCode(high)), at + 4];
  }

  #hexadecimal(at: number): number {
    const digits = this.#text.slice(at, at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#failureAt("expected four hexadecimal digits", at);
    return Number.parseInt(digits, 16);
  }

  #checkCharacter(code: number, at: number): void {
    // After the end of the text the code is NaN, for which no comparison is true.
    if (!(code >= SPACE)) throw this.#failureAt(at < this.#text.length ? "control character" : "open string", at);
  }

  #cut(start: number, end: number): Bytes {
    if (end - start > JSON_STRING_BYTES_MAX) throw this.#failureAt("string too long", start);
    return end - start < SLICE_LENGTH_MIN ? this.#text.slice(start, end) : bytesFrom(this.#bytes, start, end);
  }

  #number(): JsonNode {
    const text = this.#text;
    const start = this.#at;
    let at = start;
    if (text[at] === "-") at += 1;
    const firstDigit = at;
    at = this.#passDigits(at);
    if (at === firstDigit) throw this.#failure("expected a value");
    if (text[firstDigit] === "0" && at > firstDigit + 1) throw this.#failure("leading zero");
    if (text[at] === ".") at = this.#passDigitsAtLeastOne(at + 1);
    if (text[at] === "e" || text[at] === "E") {
      at += 1;
      if (text[at] === "+" || text[at] === "-") at += 1;
      at = this.#passDigitsAtLeastOne(at);
    }
    const number = numberFrom(text.slice(start, at));
    if (number === undefined) throw this.#failure("number out of range");
    this.#at = at;
    return number;
  }

  #passDigits(from: number): number {
    let at = from;
    for (let code = this.#text.charCodeAt(at); code >= ZERO && code <= NINE; code = this.#text.charCodeAt(at)) at += 1;
    return at;
  }

  #passDigitsAtLeastOne(from: number): number {
    const at = this.#passDigits(from);
    if (at === from) throw this.#failureAt("expected a digit", at);
    return at;
  }

  #skipSpace(): void {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.#at);
      if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }

  #failure(what: string): CommandError {
    return this.#failureAt(what, this.#at);
  }

  #failureAt(what: string, at: number): CommandError {
    return new CommandError(`ERR Invalid JSON at character ${at + 1}: ${what}`);
  }
}

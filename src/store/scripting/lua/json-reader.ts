/**
 * Reads JSON into values of Lua as lua-cjson does: more than JSON (numbers such
 * as `01`, `0x10`, `nan`; control characters in strings), with its error texts.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { LuaHost } from "./host.ts";
import type { LuaPointer } from "./instance.ts";

type Token =
  | "T_OBJ_BEGIN"
  | "T_OBJ_END"
  | "T_ARR_BEGIN"
  | "T_ARR_END"
  | "T_STRING"
  | "T_NUMBER"
  | "T_BOOLEAN"
  | "T_NULL"
  | "T_COLON"
  | "T_COMMA"
  | "T_END"
  | "error";

const punctuation: ReadonlyMap<string, Token> = new Map([
  ["{", "T_OBJ_BEGIN"],
  ["}", "T_OBJ_END"],
  ["[", "T_ARR_BEGIN"],
  ["]", "T_ARR_END"],
  [":", "T_COLON"],
  [",", "T_COMMA"],
  ["", "T_END"],
  ["\0", "T_END"],
]);
const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["t", "\t"],
  ["n", "\n"],
  ["f", "\f"],
  ["r", "\r"],
]);

const NUMBER =
  /[+-]?(?:0x(?:[\da-f]+\.?[\da-f]*|\.[\da-f]+)(?:p[+-]?\d+)?|inf(?:inity)?|nan|\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)/iy;
/** Numbers that strtod reads and JSON does not have. */
const INVALID_NUMBER = /\+|-?(?:0[x\d]|inf|nan)/iy;
const PLAIN = /[^"\\\0]*/y;
const STACK_SLOTS = 4;

export class JsonReader {
  readonly #host: LuaHost;
  readonly #lua: LuaPointer;
  readonly #text: Bytes;
  readonly #depthMax: number;
  readonly #takesInvalidNumbers: boolean;
  #at = 0;
  #depth = 0;
  // Data of the last token.
  #token: Token = "T_END";
  #tokenAt = 0;
  #string = "";
  #number = 0;
  #boolean = false;
  #reason = "";

  constructor(
    host: LuaHost,
    options: { lua: LuaPointer; text: Bytes; depthMax: number; takesInvalidNumbers: boolean },
  ) {
    this.#host = host;
    this.#lua = options.lua;
    this.#text = options.text;
    this.#depthMax = options.depthMax;
    this.#takesInvalidNumbers = options.takesInvalidNumbers;
  }

  /** Pushes the value of the whole text, or raises an error in Lua. */
  read(): void {
    const text = this.#text;
    if (text.length >= 2 && (text[0] === "\0" || text[1] === "\0"))
      this.#host.instance.raise(this.#lua, "JSON parser does not support UTF-16 or UTF-32");
    this.#next();
    this.#pushValue();
    this.#next();
    if (this.#token !== "T_END") this.#refuse("the end");
  }

  #refuse(expected: string): never {
    const found = this.#token === "error" ? this.#reason : this.#token;
    return this.#host.instance.raise(
      this.#lua,
      `Expected ${expected} but found ${found} at character ${this.#tokenAt + 1}`,
    );
  }

  #pushValue(): void {
    const { instance } = this.#host;
    const lua = this.#lua;
    switch (this.#token) {
      case "T_STRING":
        instance.push(lua, this.#string);
        return;
      case "T_NUMBER":
        instance.api.lua_pushnumber(lua, this.#number);
        return;
      case "T_BOOLEAN":
        instance.api.lua_pushboolean(lua, this.#boolean ? 1 : 0);
        return;
      case "T_NULL":
        instance.api.lua_pushlightuserdata(lua, 0);
        return;
      case "T_OBJ_BEGIN":
        this.#pushObject();
        return;
      case "T_ARR_BEGIN":
        this.#pushArray();
        return;
      default:
        this.#refuse("value");
    }
  }

  #descend(): void {
    this.#depth += 1;
    if (this.#depth > this.#depthMax || this.#host.instance.api.lua_checkstack(this.#lua, STACK_SLOTS) === 0)
      this.#host.instance.raise(
        this.#lua,
        `Found too many nested data structures (${this.#depth}) at character ${this.#at}`,
      );
  }

  #pushObject(): void {
    const { instance } = this.#host;
    this.#descend();
    instance.api.lua_createtable(this.#lua, 0, 0);
    let token = this.#next();
    while (token !== "T_OBJ_END") {
      if (token !== "T_STRING") this.#refuse("object key string");
      instance.push(this.#lua, this.#string);
      token = this.#next();
      if (token !== "T_COLON") this.#refuse("colon");
      this.#next();
      this.#pushValue();
      instance.api.lua_rawset(this.#lua, -3);
      token = this.#next();
      if (token === "T_OBJ_END") break;
      if (token !== "T_COMMA") this.#refuse("comma or object end");
      token = this.#next();
      // A comma is followed by a key.
      if (token === "T_OBJ_END") this.#refuse("object key string");
    }
    this.#depth -= 1;
  }

  #pushArray(): void {
    const { instance } = this.#host;
    this.#descend();
    instance.api.lua_createtable(this.#lua, 0, 0);
    let token = this.#next();
    for (let index = 1; token !== "T_ARR_END"; index += 1) {
      this.#pushValue();
      instance.api.lua_rawseti(this.#lua, -2, index);
      token = this.#next();
      if (token === "T_ARR_END") break;
      if (token !== "T_COMMA") this.#refuse("comma or array end");
      token = this.#next();
      if (token === "T_ARR_END") this.#refuse("value");
    }
    this.#depth -= 1;
  }

  /** Reads the next token; it is also `#token`. */
  #next(): Token {
    this.#readToken();
    return this.#token;
  }

  #readToken(): void {
    const text = this.#text;
    while (isSpace(text.charCodeAt(this.#at))) this.#at += 1;
    this.#tokenAt = this.#at;
    const first = text.charAt(this.#at);
    const mark = punctuation.get(first);
    if (mark !== undefined) {
      this.#token = mark;
      if (mark !== "T_END") this.#at += 1;
      return;
    }
    if (first === '"') this.#readString();
    else if (first === "-" || (first >= "0" && first <= "9")) {
      if (!this.#takesInvalidNumbers && this.#isInvalidNumber()) this.#fail("invalid number");
      else this.#readNumber();
    } else if (text.startsWith("true", this.#at)) this.#literal("T_BOOLEAN", 4, true);
    else if (text.startsWith("false", this.#at)) this.#literal("T_BOOLEAN", 5, false);
    else if (text.startsWith("null", this.#at)) this.#literal("T_NULL", 4, false);
    else if (this.#takesInvalidNumbers && this.#isInvalidNumber()) this.#readNumber();
    else this.#fail("invalid token");
  }

  #fail(reason: string, at = this.#tokenAt): void {
    this.#token = "error";
    this.#reason = reason;
    this.#tokenAt = at;
  }

  #literal(token: Token, length: number, value: boolean): void {
    this.#token = token;
    this.#boolean = value;
    this.#at += length;
  }

  #isInvalidNumber(): boolean {
    INVALID_NUMBER.lastIndex = this.#at;
    return INVALID_NUMBER.test(this.#text);
  }

  #readNumber(): void {
    NUMBER.lastIndex = this.#at;
    const found = NUMBER.exec(this.#text)?.[0];
    if (found === undefined) {
      this.#fail("invalid number");
      return;
    }
    this.#token = "T_NUMBER";
    this.#number = numberOf(found.startsWith("+") ? found.slice(1) : found);
    this.#at += found.length;
  }

  #readString(): void {
    const text = this.#text;
    let at = this.#at + 1;
    let value = "";
    for (;;) {
      PLAIN.lastIndex = at;
      const plain = PLAIN.exec(text)?.[0] ?? "";
      value += plain;
      at += plain.length;
      const character = text.charAt(at);
      if (character === '"') break;
      if (character !== "\\") {
        this.#fail("unexpected end of string", at);
        return;
      }
      const letter = text.charAt(at + 1);
      if (letter === "u") {
        const unicode = readUnicodeEscape(text, at);
        if (unicode === undefined) {
          this.#fail("invalid unicode escape code", at);
          return;
        }
        value += unicode.bytes;
        at += unicode.length;
        continue;
      }
      const escaped = escapes.get(letter);
      if (escaped === undefined) {
        this.#fail("invalid escape code", at);
        return;
      }
      value += escaped;
      at += 2;
    }
    this.#token = "T_STRING";
    this.#string = value;
    this.#at = at + 1;
  }
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13;
}

function numberOf(text: string): number {
  const isNegative = text.startsWith("-");
  const size = text.replace(/^-/, "").toLowerCase();
  let value: number;
  if (size.startsWith("inf")) value = Number.POSITIVE_INFINITY;
  else if (size === "nan") value = Number.NaN;
  else if (size.startsWith("0x")) value = hexadecimal(size.slice(2));
  else value = Number(size);
  return isNegative ? -value : value;
}

function hexadecimal(text: string): number {
  const [mantissa = "", exponent = "0"] = text.split("p");
  const [whole = "", fraction = ""] = mantissa.split(".");
  let value = 0;
  for (const digit of whole + fraction) value = value * 16 + Number.parseInt(digit, 16);
  return value * 2 ** (Number(exponent) - 4 * fraction.length);
}

const FOUR_DIGITS = /[\da-fA-F]{4}/y;

function fourDigits(text: string, at: number): number | undefined {
  FOUR_DIGITS.lastIndex = at;
  const found = FOUR_DIGITS.exec(text)?.[0];
  return found === undefined ? undefined : Number.parseInt(found, 16);
}

/** The escape at `at` and, for a surrogate, the second half after it, in UTF-8. */
function readUnicodeEscape(text: string, at: number): { bytes: Bytes; length: number } | undefined {
  const first = fourDigits(text, at + 2);
  if (first === undefined) return undefined;
  if ((first & 0xf800) !== 0xd800)
    return { bytes: Buffer.from(String.fromCharCode(first), "utf8").latin1Slice(), length: 6 };
  if ((first & 0x400) !== 0 || text.charAt(at + 6) !== "\\" || text.charAt(at + 7) !== "u") return undefined;
  const second = fourDigits(text, at + 8);
  if (second === undefined || (second & 0xfc00) !== 0xdc00) return undefined;
  return { bytes: Buffer.from(String.fromCharCode(first, second), "utf8").latin1Slice(), length: 12 };
}

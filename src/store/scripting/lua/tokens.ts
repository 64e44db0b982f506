/** The tokens of Lua 5.1, as its own lexer splits them (llex.c), for counting without compiling. */
import type { Bytes } from "../../../kernel/bytes.ts";

export const Token = {
  end: 0,
  name: 1,
  string: 2,
  number: 3,
  and: 4,
  or: 5,
  /** `( [ {` */
  open: 6,
  /** `) ] }` */
  close: 7,
  comma: 8,
  /** `.` and `:` */
  dot: 9,
  /** `=` */
  assign: 10,
  /** `;` */
  separator: 11,
  /** Operators and literals without effect on the count. */
  other: 12,
  local: 13,
  function: 14,
  if: 15,
  /** `then`, `in` and `return`: they end an expression, and nothing else. */
  word: 16,
  elseif: 17,
  else: 18,
  while: 19,
  for: 20,
  do: 22,
  repeat: 23,
  until: 24,
  break: 26,
  /** The word `end`. */
  end_: 27,
} as const;
export type Token = (typeof Token)[keyof typeof Token];

const keywords: ReadonlyMap<string, Token> = new Map<string, Token>([
  ["and", Token.and],
  ["or", Token.or],
  ["not", Token.other],
  ["nil", Token.other],
  ["true", Token.other],
  ["false", Token.other],
  ["local", Token.local],
  ["function", Token.function],
  ["if", Token.if],
  ["then", Token.word],
  ["elseif", Token.elseif],
  ["else", Token.else],
  ["while", Token.while],
  ["for", Token.for],
  ["in", Token.word],
  ["do", Token.do],
  ["repeat", Token.repeat],
  ["until", Token.until],
  ["return", Token.word],
  ["break", Token.break],
  ["end", Token.end_],
]);
const KEYWORD_LENGTH_MAX = 8;

const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const MINUS = 0x2d;
const DOT = 0x2e;
const EQUALS = 0x3d;
const OPEN_SQUARE = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_SQUARE = 0x5d;
const UNDERSCORE = 0x5f;

export class LuaTokens {
  readonly #source: Bytes;
  #at = 0;
  #start = 0;
  /** Line feeds before it. */
  #line = 1;
  #countedTo = 0;
  /** The content of the last string, if its characters differ from the source. */
  #decoded: Bytes | undefined;
  /** Of the last string, without its quotes. */
  #contentStart = 0;
  #contentEnd = 0;

  constructor(source: Bytes) {
    this.#source = source;
  }

  /** The line of the last token, counted on demand. */
  get line(): number {
    for (let at = this.#source.indexOf("\n", this.#countedTo); at >= 0 && at < this.#start; ) {
      this.#line += 1;
      this.#countedTo = at + 1;
      at = this.#source.indexOf("\n", this.#countedTo);
    }
    return this.#line;
  }

  /** The last token as written; of a string, its content. */
  text(): Bytes {
    return this.#decoded ?? this.#source.slice(this.#contentStart, this.#contentEnd);
  }

  next(): Token {
    const source = this.#source;
    for (;;) {
      const unit = source.charCodeAt(this.#at);
      this.#start = this.#at;
      if (Number.isNaN(unit)) return Token.end;
      if (isNameStart(unit)) return this.#name();
      this.#at += 1;
      if (unit === 0x20 || (unit >= 0x09 && unit <= RETURN)) continue;
      if (isDigit(unit)) return this.#number();
      switch (unit) {
        case MINUS:
          if (source.charCodeAt(this.#at) !== MINUS) return Token.other;
          this.#comment();
          continue;
        case QUOTE:
        case APOSTROPHE:
          return this.#shortString(unit);
        case OPEN_SQUARE: {
          const level = this.#longLevel(this.#start);
          return level < 0 ? Token.open : this.#longString(level);
        }
        case 0x28:
        case 0x7b:
          return Token.open;
        case 0x29:
        case CLOSE_SQUARE:
        case 0x7d:
          return Token.close;
        case 0x2c:
          return Token.comma;
        case 0x3a:
          return Token.dot;
        case 0x3b:
          return Token.separator;
        case DOT:
          return this.#dots();
        case EQUALS:
        case 0x3c:
        case 0x3e:
        case 0x7e:
          if (source.charCodeAt(this.#at) !== EQUALS) return unit === EQUALS ? Token.assign : Token.other;
          this.#at += 1;
          return Token.other;
        default:
          return Token.other;
      }
    }
  }

  #name(): Token {
    const source = this.#source;
    let at = this.#at + 1;
    while (isNamePart(source.charCodeAt(at))) at += 1;
    this.#at = at;
    this.#content(this.#start, at);
    if (at - this.#start > KEYWORD_LENGTH_MAX) return Token.name;
    return keywords.get(source.slice(this.#start, at)) ?? Token.name;
  }

  /** As `read_numeral`: the result may not be a number. */
  #number(): Token {
    const source = this.#source;
    let at = this.#at;
    while (isDigit(source.charCodeAt(at)) || source.charCodeAt(at) === DOT) at += 1;
    if ((source.charCodeAt(at) | 0x20) === 0x65) {
      at += 1;
      const sign = source.charCodeAt(at);
      if (sign === 0x2b || sign === MINUS) at += 1;
    }
    while (isNamePart(source.charCodeAt(at))) at += 1;
    this.#at = at;
    this.#content(this.#start, at);
    return Token.number;
  }

  #dots(): Token {
    const source = this.#source;
    if (isDigit(source.charCodeAt(this.#at))) return this.#number();
    if (source.charCodeAt(this.#at) !== DOT) return Token.dot;
    this.#at += source.charCodeAt(this.#at + 1) === DOT ? 2 : 1;
    return Token.other;
  }

  #comment(): void {
    const source = this.#source;
    this.#at += 1;
    if (source.charCodeAt(this.#at) === OPEN_SQUARE) {
      const level = this.#longLevel(this.#at);
      if (level >= 0) {
        this.#skipLong(level);
        return;
      }
    }
    while (this.#at < source.length && !isLineEnd(source.charCodeAt(this.#at))) this.#at += 1;
  }

  /** The number of equals signs between the brackets that open a long string, which it skips; -1 without them. */
  #longLevel(start: number): number {
    const source = this.#source;
    let at = start + 1;
    while (source.charCodeAt(at) === EQUALS) at += 1;
    if (source.charCodeAt(at) !== OPEN_SQUARE) return -1;
    this.#at = at + 1;
    return at - start - 1;
  }

  /** Skips the end of a long string. Returns the end of its content. */
  #skipLong(level: number): number {
    const end = this.#source.indexOf(`]${"=".repeat(level)}]`, this.#at);
    if (end < 0) {
      this.#at = this.#source.length;
      return this.#at;
    }
    this.#at = end + level + 2;
    return end;
  }

  #longString(level: number): Token {
    const source = this.#source;
    let start = this.#at;
    const end = this.#skipLong(level);
    if (isLineEnd(source.charCodeAt(start))) start += isLineEndPair(source, start) ? 2 : 1;
    this.#content(start, end);
    const content = source.slice(start, end);
    // Any line break is a line feed there.
    if (content.includes("\r")) this.#decoded = content.replace(/\r\n|\n\r|\r/g, "\n");
    return Token.string;
  }

  #shortString(quote: number): Token {
    const source = this.#source;
    const start = this.#at;
    let at = start;
    let hasEscape = false;
    for (;;) {
      const unit = source.charCodeAt(at);
      if (unit === quote) break;
      // It has no end, so nothing after it is compiled.
      if (Number.isNaN(unit) || isLineEnd(unit)) {
        this.#at = source.length;
        return Token.other;
      }
      if (unit === BACKSLASH) {
        hasEscape = true;
        at += 1;
        if (isLineEndPair(source, at)) at += 1;
      }
      at += 1;
    }
    this.#at = at + 1;
    this.#content(start, at);
    if (hasEscape) this.#decoded = decoded(source.slice(start, at));
    return Token.string;
  }

  #content(start: number, end: number): void {
    this.#contentStart = start;
    this.#contentEnd = end;
    this.#decoded = undefined;
  }
}

const ESCAPED = /\\(?:(\r\n|\n\r|[\r\n])|(\d{1,3})|([\s\S]))/g;
const namedEscapes: ReadonlyMap<string, string> = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

function decoded(text: Bytes): Bytes {
  return text.replace(
    ESCAPED,
    (_, lineEnd: string | undefined, digits: string | undefined, letter: string | undefined) =>
      lineEnd !== undefined
        ? "\n"
        : digits !== undefined
          ? String.fromCharCode(Number(digits) & 0xff)
          : (namedEscapes.get(letter ?? "") ?? letter ?? ""),
  );
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

function isNameStart(unit: number): boolean {
  const lower = unit | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || unit === UNDERSCORE;
}

function isNamePart(unit: number): boolean {
  return isNameStart(unit) || isDigit(unit);
}

function isLineEnd(unit: number): boolean {
  return unit === LINE_FEED || unit === RETURN;
}

/** Two different line break characters that are one. */
function isLineEndPair(source: Bytes, at: number): boolean {
  const one = source.charCodeAt(at);
  const other = source.charCodeAt(at + 1);
  return isLineEnd(one) && isLineEnd(other) && one !== other;
}

/**
 * Reads JSON (RFC 8259) as `JSON.parse` should: the same values, the same order of
 * members, the last of equal names at the place of the first, `__proto__` as a
 * member. For the rare texts whose names V8 may read wrongly (`parse.ts`).
 *
 * It is a loop, so the depth of a text has no limit, as in `JSON.parse`.
 */

/** The value in place of a number, by the number and its spelling. */
export type NumberOf = (value: number, spelling: string) => unknown;

/** The value of the text. Throws the SyntaxError of `JSON.parse`. */
export function readText(text: string, numberOf: NumberOf = numberItself): unknown {
  return new Reader(text, numberOf).document();
}

/** The place of the first code unit from `start` on that is not white space. */
export function skipSpace(text: string, start: number): number {
  for (let at = start; ; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit !== SPACE && unit !== LINE_FEED && unit !== CARRIAGE_RETURN && unit !== TAB) return at;
  }
}

function numberItself(value: number): number {
  return value;
}

type Members = Record<string, unknown>;

/** An open container: a list, or an object with the name of the member that is read now. */
type Level =
  | { readonly kind: "list"; readonly value: unknown[] }
  | { readonly kind: "object"; readonly value: Members; name: string };

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LIST_START = 0x5b;
const BACKSLASH = 0x5c;
const LIST_END = 0x5d;
const SMALL_F = 0x66;
const SMALL_N = 0x6e;
const SMALL_T = 0x74;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;
/** V8 copies slices of this length; a longer one keeps the whole text in memory. */
const SLICE_LENGTH_MAX = 12;
/** Sticky: it matches at its own `lastIndex`. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** In place of a value: a container was opened, and its first value follows. */
const OPENED = Symbol("opened");

class Reader {
  readonly #text: string;
  readonly #numberOf: NumberOf;
  /** The containers around the place, the outermost first. */
  readonly #open: Level[] = [];
  #at = 0;

  constructor(text: string, numberOf: NumberOf) {
    this.#text = text;
    this.#numberOf = numberOf;
  }

  document(): unknown {
    for (;;) {
      let value = this.#value();
      if (value === OPENED) continue;
      for (;;) {
        const level = this.#open.at(-1);
        if (level === undefined) return this.#last(value);
        put(level, value);
        if (this.#continues(level)) break;
        this.#open.pop();
        value = level.value;
      }
    }
  }

  #value(): unknown {
    switch (this.#next()) {
      case OBJECT_START:
        this.#at += 1;
        if (this.#takes(OBJECT_END)) return {};
        this.#open.push({ kind: "object", value: {}, name: this.#name() });
        return OPENED;
      case LIST_START:
        this.#at += 1;
        if (this.#takes(LIST_END)) return [];
        this.#open.push({ kind: "list", value: [] });
        return OPENED;
      case QUOTE:
        return this.#string();
      case SMALL_T:
        return this.#word("true", true);
      case SMALL_F:
        return this.#word("false", false);
      case SMALL_N:
        return this.#word("null", null);
      default:
        return this.#number();
    }
  }

  /** After a value of an open container: true if another follows. */
  #continues(level: Level): boolean {
    if (this.#takes(COMMA)) {
      if (level.kind === "object") level.name = this.#name();
      return true;
    }
    if (this.#takes(level.kind === "object" ? OBJECT_END : LIST_END)) return false;
    throw this.#malformed();
  }

  #name(): string {
    if (this.#next() !== QUOTE) throw this.#malformed();
    const name = this.#string();
    if (!this.#takes(COLON)) throw this.#malformed();
    return name;
  }

  /** The string at a quote. */
  #string(): string {
    const text = this.#text;
    const start = this.#at;
    let isPlain = true;
    let at = start + 1;
    for (let unit = text.charCodeAt(at); unit !== QUOTE; unit = text.charCodeAt(at)) {
      if (at >= text.length) throw this.#malformed();
      if (unit === BACKSLASH || unit < SPACE) isPlain = false;
      at += unit === BACKSLASH ? 2 : 1;
    }
    this.#at = at + 1;
    if (isPlain && at - start - 1 <= SLICE_LENGTH_MAX) return text.slice(start + 1, at);
    try {
      // Right for a single string, and the result does not keep the text in memory.
      return JSON.parse(text.slice(start, this.#at));
    } catch {
      throw this.#malformed();
    }
  }

  #word<Value>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) throw this.#malformed();
    this.#at += word.length;
    return value;
  }

  #number(): unknown {
    NUMBER.lastIndex = this.#at;
    if (!NUMBER.test(this.#text)) throw this.#malformed();
    const spelling = this.#text.slice(this.#at, NUMBER.lastIndex);
    this.#at = NUMBER.lastIndex;
    return this.#numberOf(Number(spelling), spelling);
  }

  /** The outermost value, after which nothing may follow. */
  #last(value: unknown): unknown {
    this.#next();
    if (this.#at < this.#text.length) throw this.#malformed();
    return value;
  }

  #takes(unit: number): boolean {
    if (this.#next() !== unit) return false;
    this.#at += 1;
    return true;
  }

  /** The next code unit that is not white space; NaN at the end. */
  #next(): number {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }

  /** The error of `JSON.parse`, which describes the fault and its place: V8 judges rightly what is JSON. */
  #malformed(): unknown {
    try {
      JSON.parse(this.#text);
    } catch (error) {
      return error;
    }
    return new SyntaxError(`Unexpected token in JSON at position ${this.#at}`);
  }
}

function put(level: Level, value: unknown): void {
  if (level.kind === "list") level.value.push(value);
  else if (level.name !== "__proto__") level.value[level.name] = value;
  // An assignment would set the prototype.
  else Object.defineProperty(level.value, level.name, { value, configurable: true, enumerable: true, writable: true });
}

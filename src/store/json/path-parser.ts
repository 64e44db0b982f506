/**
 * Reads JSON paths: all of RFC 9535, and the extensions of Redis' module.
 *
 *     path       "$" segment*  |  "."  |  ["."] name segment*  |  segment*        the last three are the old syntax
 *     segment    "." name | ".*" | ["."] "[" selectors "]" | ".." (name | "*" | "[" selectors "]")
 *     selectors  selector ("," selector)*
 *     selector   string | "*" | integer | [integer] ":" [integer] [":" [integer]] | "?" test
 *     test       and ("||" and)*         and   basic ("&&" basic)*
 *     basic      ["!"] "(" test ")"  |  ["!"] query  |  ["!"] match or search  |  operand comparison operand
 *                | operand "=~" (string | query)
 *     operand    literal | query to one node | length(operand) | count(query) | value(query)
 *
 * Extensions to RFC 9535 are `=~`, a dot before a bracket, and names after a dot
 * that start with digits or contain `-`, `$` and other signs without a meaning there.
 *
 * The text is UTF-8 as bytes, and so are the resulting names.
 */
import { isUtf8 } from "node:buffer";
import { type Bytes, bufferFrom, bytesFromText, copyOf, isAscii, textFromBytes } from "../../kernel/bytes.ts";
import { type CommandError, invalidPath, notUtf8 } from "../errors.ts";
import type { JsonNode } from "./node.ts";
import { numberFrom } from "./number.ts";
import type { Comparison, JsonPath, Operand, Query, Segment, Selector, Test } from "./path.ts";
import { isSingular } from "./path.ts";
import { compilePattern, PatternFailure } from "./pattern.ts";

/** A path is written by a person or built from a few parts. */
export const PATH_BYTES_MAX = 64 * 1024;
/** Nested parentheses and filters. */
const EXPRESSION_DEPTH_MAX = 64;

const BLANK = /[ \t\n\r]*/y;
/** Characters of a name after a dot: no sign with a meaning in paths and filters. Bytes from \x80 on are not ASCII. */
const NAME = /[\w$@#%/:+~;^`\x80-\xff-]+/y;
const INTEGER = /-?\d+/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const FUNCTION_NAME = /[a-z][a-z0-9_]*(?=\()/y;
const WORD = /[a-z]+(?![\w-])/y;
const comparisons: readonly Comparison[] = ["==", "!=", "<=", ">=", "<", ">"];

const simpleEscapes: ReadonlyMap<string, string> = new Map([
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["/", "/"],
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
]);

/** Throws a `CommandError` that names the fault and its position. */
export function parsePath(text: Bytes): JsonPath {
  return new PathParser(text).path();
}

/** A side of a comparison, or a test of its own. */
type Term =
  | { readonly kind: "operand"; readonly operand: Operand }
  | { readonly kind: "query"; readonly query: Query }
  | { readonly kind: "test"; readonly test: Test };

class PathParser {
  readonly #text: Bytes;
  #at = 0;

  constructor(text: Bytes) {
    this.#text = text;
  }

  path(): JsonPath {
    const text = this.#text;
    if (text.length > PATH_BYTES_MAX) throw this.#failure(`longer than ${PATH_BYTES_MAX} bytes`);
    if (text === "") throw this.#failure("empty");
    // Names of the path may be stored in documents.
    if (!isAscii(text) && !isUtf8(bufferFrom(text))) throw notUtf8;
    const isLegacy = text[0] !== "$";
    const segments = isLegacy ? this.#legacySegments() : this.#afterRoot();
    if (this.#at < text.length) throw this.#failure("unexpected character");
    return { text, isLegacy, segments };
  }

  #afterRoot(): readonly Segment[] {
    this.#at = 1;
    return this.#segments();
  }

  #legacySegments(): readonly Segment[] {
    if (this.#text === ".") {
      this.#at = 1;
      return [];
    }
    const first = this.#text[0];
    if (first === "." || first === "[") return this.#segments();
    const selector: Selector = this.#take("*") ? { kind: "wildcard" } : { kind: "name", name: this.#name() };
    return [{ isDescendant: false, selectors: [selector] }, ...this.#segments()];
  }

  /** All consecutive segments. The caller handles the rest. */
  #segments(depth = 0): readonly Segment[] {
    const segments: Segment[] = [];
    for (;;) {
      const start = this.#at;
      this.#skipBlanks();
      if (this.#next !== "." && this.#next !== "[") {
        this.#at = start;
        return segments;
      }
      segments.push(this.#segment(depth));
    }
  }

  #segment(depth: number): Segment {
    const isDescendant = this.#take("..");
    if (!isDescendant) this.#take(".");
    if (this.#next === "[") return { isDescendant, selectors: this.#bracket(depth) };
    const selector: Selector = this.#take("*") ? { kind: "wildcard" } : { kind: "name", name: this.#name() };
    return { isDescendant, selectors: [selector] };
  }

  #name(): Bytes {
    const start = this.#at;
    if (this.#takeMatch(NAME) === undefined) throw this.#failure("expected a name");
    // A document that stores the name must not keep the path alive.
    return copyOf(this.#text, start, this.#at);
  }

  #bracket(depth: number): readonly Selector[] {
    this.#at += 1;
    const selectors: Selector[] = [];
    do {
      this.#skipBlanks();
      selectors.push(this.#selector(depth));
      this.#skipBlanks();
    } while (this.#take(","));
    if (!this.#take("]")) throw this.#failure('expected "," or "]"');
    return selectors;
  }

  #selector(depth: number): Selector {
    const next = this.#next;
    if (next === "'" || next === '"') return { kind: "name", name: this.#string() };
    if (this.#take("*")) return { kind: "wildcard" };
    if (this.#take("?")) return { kind: "filter", test: this.#test(depth + 1) };
    const start = this.#integer();
    this.#skipBlanks();
    if (!this.#take(":")) {
      if (start === undefined) throw this.#failure("expected a selector");
      return { kind: "index", index: start };
    }
    this.#skipBlanks();
    const end = this.#integer();
    this.#skipBlanks();
    let step: number | undefined;
    if (this.#take(":")) {
      this.#skipBlanks();
      step = this.#integer();
    }
    return { kind: "slice", start, end, step: step ?? 1 };
  }

  #integer(): number | undefined {
    const start = this.#at;
    const digits = this.#takeMatch(INTEGER);
    if (digits === undefined) return undefined;
    const value = Number(digits);
    if (/^-?0./.test(digits) || digits === "-0" || !Number.isSafeInteger(value)) {
      this.#at = start;
      throw this.#failure("expected an integer without leading zeros, from -(2^53 - 1) to 2^53 - 1");
    }
    return value;
  }

  #test(depth: number): Test {
    if (depth > EXPRESSION_DEPTH_MAX) throw this.#failure(`nested deeper than ${EXPRESSION_DEPTH_MAX}`);
    const tests = [this.#conjunction(depth)];
    while (this.#takeBetween("||")) tests.push(this.#conjunction(depth));
    return tests.length === 1 ? (tests[0] as Test) : { kind: "or", tests };
  }

  #conjunction(depth: number): Test {
    const tests = [this.#basic(depth)];
    while (this.#takeBetween("&&")) tests.push(this.#basic(depth));
    return tests.length === 1 ? (tests[0] as Test) : { kind: "and", tests };
  }

  #basic(depth: number): Test {
    this.#skipBlanks();
    if (this.#isAt("!") && !this.#isAt("!=")) {
      this.#at += 1;
      this.#skipBlanks();
      if (this.#isAt("(")) return { kind: "not", test: this.#group(depth) };
      return { kind: "not", test: this.#asTest(this.#term(depth)) };
    }
    if (this.#isAt("(")) return this.#group(depth);
    const left = this.#term(depth);
    const end = this.#at;
    this.#skipBlanks();
    if (this.#take("=~")) return this.#patternTest(this.#asOperand(left), depth);
    const comparison = comparisons.find((sign) => this.#take(sign));
    if (comparison === undefined) {
      this.#at = end;
      return this.#asTest(left);
    }
    this.#skipBlanks();
    return { kind: "compare", comparison, left: this.#asOperand(left), right: this.#asOperand(this.#term(depth)) };
  }

  #group(depth: number): Test {
    this.#at += 1;
    const test = this.#test(depth + 1);
    if (!this.#takeBetween(")")) throw this.#failure('expected ")"');
    return test;
  }

  #patternTest(text: Operand, depth: number): Test {
    this.#skipBlanks();
    return this.#matchTest({ isWhole: false, text, pattern: this.#asOperand(this.#term(depth)) });
  }

  #matchTest({ isWhole, text, pattern }: { isWhole: boolean; text: Operand; pattern: Operand }): Test {
    if (pattern.kind !== "literal") return { kind: "match", isWhole, text, pattern };
    if (typeof pattern.node !== "string") throw this.#failure("a pattern is a string");
    try {
      return { kind: "match", isWhole, text, pattern: compilePattern(textFromBytes(pattern.node)) };
    } catch (error) {
      if (error instanceof PatternFailure) throw this.#failure(`in the pattern before it: ${error.reason}`);
      throw error;
    }
  }

  #asTest(term: Term): Test {
    if (term.kind === "test") return term.test;
    if (term.kind === "query") return { kind: "exists", query: term.query };
    throw this.#failure("expected a comparison");
  }

  #asOperand(term: Term): Operand {
    if (term.kind === "operand") return term.operand;
    if (term.kind === "test") throw this.#failure("match() and search() cannot be compared");
    if (!isSingular(term.query.segments)) throw this.#failure("only a path to one node can be compared");
    return { kind: "node", query: term.query };
  }

  #term(depth: number): Term {
    const next = this.#next ?? "";
    if (next === "@" || next === "$") {
      this.#at += 1;
      return { kind: "query", query: { isAbsolute: next === "$", segments: this.#segments(depth) } };
    }
    if (next === "'" || next === '"') return literal(this.#string());
    const name = this.#takeMatch(FUNCTION_NAME);
    if (name !== undefined) return this.#call(name, depth);
    const word = this.#takeMatch(WORD);
    if (word === "true" || word === "false") return literal(word === "true");
    if (word === "null") return literal(null);
    const lexeme = word === undefined ? this.#takeMatch(NUMBER) : undefined;
    const number = lexeme === undefined ? undefined : numberFrom(lexeme);
    if (number === undefined) throw this.#failure("expected a path, a literal or a function");
    return literal(number);
  }

  #call(name: string, depth: number): Term {
    if (depth > EXPRESSION_DEPTH_MAX) throw this.#failure(`nested deeper than ${EXPRESSION_DEPTH_MAX}`);
    const given: Term[] = [];
    this.#at += 1;
    if (!this.#takeBetween(")")) {
      do {
        this.#skipBlanks();
        given.push(this.#term(depth + 1));
      } while (this.#takeBetween(","));
      if (!this.#takeBetween(")")) throw this.#failure('expected "," or ")"');
    }
    const [first, second] = given;
    if (first !== undefined && given.length === 1 && name === "length")
      return { kind: "operand", operand: { kind: "length", of: this.#asOperand(first) } };
    if (first !== undefined && given.length === 1 && (name === "count" || name === "value")) {
      if (first.kind !== "query") throw this.#failure(`${name}() takes a path`);
      return { kind: "operand", operand: { kind: name, query: first.query } };
    }
    if (first !== undefined && second !== undefined && given.length === 2 && (name === "match" || name === "search")) {
      const [text, pattern] = [this.#asOperand(first), this.#asOperand(second)];
      return { kind: "test", test: this.#matchTest({ isWhole: name === "match", text, pattern }) };
    }
    throw this.#failure(`no function ${name}() with ${given.length} arguments`);
  }

  #string(): Bytes {
    const text = this.#text;
    const quote = text[this.#at];
    this.#at += 1;
    let value = "";
    for (;;) {
      const character = text[this.#at] ?? this.#fail("open string");
      this.#at += 1;
      if (character === quote) return copyOf(`${value} `, 0, value.length);
      if (character < " ") throw this.#failure("control character");
      value += character === "\\" ? this.#escaped() : character;
    }
  }

  #escaped(): Bytes {
    const letter = this.#text[this.#at] ?? this.#fail("open string");
    this.#at += 1;
    if (letter !== "u") return simpleEscapes.get(letter) ?? this.#fail("unknown escape");
    const high = this.#hexadecimal();
    if (high < 0xd800 || high > 0xdfff) return bytesFromText(String.fromCharCode(high));
    const low = high < 0xdc00 && this.#take("\\u") ? this.#hexadecimal() : 0;
    if (low < 0xdc00 || low > 0xdfff) throw this.#failure("unpaired surrogate");
    return bytesFromText(String.fromCharCode(high, low));
  }

  #hexadecimal(): number {
    const digits = this.#text.slice(this.#at, this.#at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#failure("expected four hexadecimal digits");
    this.#at += 4;
    return Number.parseInt(digits, 16);
  }

  get #next(): string | undefined {
    return this.#text[this.#at];
  }

  #isAt(sign: string): boolean {
    return this.#text.startsWith(sign, this.#at);
  }

  #skipBlanks(): void {
    BLANK.lastIndex = this.#at;
    this.#at += BLANK.exec(this.#text)?.[0].length ?? 0;
  }

  #take(sign: string): boolean {
    if (!this.#isAt(sign)) return false;
    this.#at += sign.length;
    return true;
  }

  /** Consumes a sign after blanks, or nothing. */
  #takeBetween(sign: string): boolean {
    const start = this.#at;
    this.#skipBlanks();
    if (this.#take(sign)) return true;
    this.#at = start;
    return false;
  }

  #takeMatch(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }

  #fail(reason: string): never {
    throw this.#failure(reason);
  }

  #failure(reason: string): CommandError {
    return invalidPath(this.#at + 1, reason);
  }
}

function literal(node: JsonNode): Term {
  return { kind: "operand", operand: { kind: "literal", node } };
}

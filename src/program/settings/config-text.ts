/**
 * The text of the configuration file: JSON with comments and trailing commas.
 * Every value has a position, so that a problem can name its line.
 *
 * (1) A key that appears twice in an object is a problem: one of its values
 *     would be ignored silently.
 * (2) A problem never quotes the text, which may be a token.
 * (3) A key such as `__proto__` is a key like any other.
 */
import { createRequire } from "node:module";
import type { Node, ParseError } from "jsonc-parser";
import { at } from "./field-reader.ts";

/** The package of the parser, loaded with the first file: most starts read none. */
const require = createRequire(import.meta.url);
const loadParser = (): typeof import("jsonc-parser") => require("jsonc-parser");

/** Counted from 1, as editors do. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A problem of the file, as one sentence, and its place in the text. */
export interface Problem {
  readonly position: Position;
  readonly text: string;
}

export interface ConfigText {
  /** Undefined if the text is not JSON. */
  readonly value: unknown;
  readonly problems: readonly Problem[];
  /** The position of the value at a path such as `store.databases[0].token`, or of the nearest object around it. */
  readonly positionOf: (path: string) => Position;
}

/** A valid configuration file nests seven levels. */
const DEPTH_MAX = 64;

const START: Position = { line: 1, column: 1 };

/** Reads the text of a configuration file. */
export function readConfigText(text: string): ConfigText {
  const body = text.replace(/^\uFEFF/, "");
  const lines = new LineStarts(body);
  const refused = (offset: number, fault: string): ConfigText => ({
    value: undefined,
    problems: [{ position: lines.positionAt(offset), text: `is not JSON: ${fault}` }],
    positionOf: () => START,
  });
  const deep = findDeepNesting(body);
  if (deep !== undefined) return refused(deep, `more than ${DEPTH_MAX} levels of nesting`);
  const { parseTree, printParseErrorCode } = loadParser();
  const faults: ParseError[] = [];
  const root = parseTree(body, faults, { allowTrailingComma: true });
  // The faults after the first are its consequences.
  const [first] = faults;
  if (first !== undefined) return refused(first.offset, faultTexts[printParseErrorCode(first.error)] ?? "syntax error");
  if (root === undefined) return refused(0, "no value");
  const tree = new TreeReader(lines);
  return {
    value: tree.read(root, ""),
    problems: tree.problems,
    positionOf: (path) => tree.positionOf(path),
  };
}

/** Texts for the parser's names of errors. */
const faultTexts: Readonly<Record<string, string>> = {
  InvalidSymbol: "unknown word; keys and texts are in double quotes",
  InvalidNumberFormat: "invalid number",
  PropertyNameExpected: "a key in double quotes is missing",
  ValueExpected: "a value is missing",
  ColonExpected: "a colon is missing",
  CommaExpected: "a comma is missing",
  CloseBraceExpected: "a closing brace is missing",
  CloseBracketExpected: "a closing bracket is missing",
  EndOfFileExpected: "text after the end of the value",
  UnexpectedEndOfComment: "the comment is not closed",
  UnexpectedEndOfString: "the closing quote is missing",
  UnexpectedEndOfNumber: "invalid number",
  InvalidUnicode: "invalid escape in a text",
  InvalidEscapeCharacter: "invalid escape in a text",
  InvalidCharacter: "control character in a text",
};

/** Where the nesting exceeds the limit. The parser is recursive, so this comes first. */
function findDeepNesting(text: string): number | undefined {
  const scanner = loadParser().createScanner(text, true);
  let depth = 0;
  while (scanner.getPosition() < text.length) {
    scanner.scan();
    const offset = scanner.getTokenOffset();
    const first = text[offset];
    if (first === "{" || first === "[") depth += 1;
    if (first === "}" || first === "]") depth -= 1;
    if (depth > DEPTH_MAX) return offset;
  }
  return undefined;
}

class TreeReader {
  readonly problems: Problem[] = [];
  readonly #lines: LineStarts;
  /** The offset of each value by its path; of a field, the offset of its key. */
  readonly #offsets = new Map<string, number>();

  constructor(lines: LineStarts) {
    this.#lines = lines;
  }

  read(node: Node, path: string): unknown {
    if (!this.#offsets.has(path)) this.#offsets.set(path, node.offset);
    switch (node.type) {
      case "object":
        return this.#object(node.children ?? [], path);
      case "array":
        return (node.children ?? []).map((item, index) => this.read(item, `${path}[${index}]`));
      default:
        return node.value;
    }
  }

  positionOf(path: string): Position {
    let place = path;
    while (place !== "" && !this.#offsets.has(place)) place = place.replace(/(?:^|\.|\[)[^.[]*$/, "");
    return this.#lines.positionAt(this.#offsets.get(place) ?? 0);
  }

  #object(members: readonly Node[], path: string): unknown {
    const fields = new Map<string, unknown>();
    for (const { children: [key, value] = [] } of members) {
      if (key === undefined || value === undefined) continue;
      const name = String(key.value);
      const place = at(path, name);
      if (fields.has(name)) {
        // keeps (1)
        const { line } = this.positionOf(place);
        const position = this.#lines.positionAt(key.offset);
        this.problems.push({ position, text: `${place} is given twice, first in line ${line}` });
        continue;
      }
      this.#offsets.set(place, key.offset);
      fields.set(name, this.read(value, place));
    }
    // Unlike an assignment, this keeps (3).
    return Object.fromEntries(fields);
  }
}

class LineStarts {
  /** The offset at which each line begins. */
  readonly #offsets: readonly number[];

  constructor(text: string) {
    const ends = [...text.matchAll(/\r\n|\r|\n/g)].map((end) => end.index + end[0].length);
    this.#offsets = [0, ...ends];
  }

  positionAt(offset: number): Position {
    let low = 0;
    let high = this.#offsets.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#offsets[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#offsets[low] ?? 0) + 1 };
  }
}

/**
 * Slices JSON texts without building their values: the records of a page go from
 * a source to a file or an index as they were written, so that no number is
 * formatted again.
 *
 * A slice only finds the end of a value. The later parser checks that the value is
 * valid JSON.
 */
import { parseJsonText } from "../../kernel/json/parse.ts";

/** The values of an object's members by name, as written; the last of equal names. Throws a SyntaxError. */
export function memberTexts(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  let at = expect(text, skipSpace(text, 0), "{");
  at = skipSpace(text, at);
  if (text[at] === "}") return members;
  for (;;) {
    const nameEnd = endOfValue(text, at);
    const name: unknown = parseJsonText(text.slice(at, nameEnd));
    if (typeof name !== "string") throw malformed(at);
    const start = skipSpace(text, expect(text, skipSpace(text, nameEnd), ":"));
    const end = endOfValue(text, start);
    members.set(name, text.slice(start, end));
    at = skipSpace(text, end);
    if (text[at] === "}") return members;
    at = skipSpace(text, expect(text, at, ","));
  }
}

/** The elements of an array, as written. Throws a SyntaxError. */
export function elementTexts(text: string): readonly string[] {
  const elements: string[] = [];
  let at = skipSpace(text, expect(text, skipSpace(text, 0), "["));
  if (text[at] === "]") return elements;
  for (;;) {
    const end = endOfValue(text, at);
    elements.push(text.slice(at, end));
    at = skipSpace(text, end);
    if (text[at] === "]") return elements;
    at = skipSpace(text, expect(text, at, ","));
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const LIST_START = 0x5b;
const LIST_END = 0x5d;
const OBJECT_START = 0x7b;
const OBJECT_END = 0x7d;
const SPACE = 0x20;

/** The offset after the value that begins at `start`. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text, at) - 1;
      if (depth === 0) return at + 1;
    } else if (unit === LIST_START || unit === OBJECT_START) depth += 1;
    else if (unit === LIST_END || unit === OBJECT_END) {
      if (depth === 0) return ended(start, at);
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && (unit === COMMA || unit <= SPACE)) return ended(start, at);
  }
  if (depth > 0) throw malformed(text.length);
  return ended(start, text.length);
}

function ended(start: number, end: number): number {
  if (start === end) throw malformed(start);
  return end;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw malformed(text.length);
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && text.charCodeAt(at) <= SPACE) at += 1;
  return at;
}

function expect(text: string, at: number, character: string): number {
  if (text[at] !== character) throw malformed(at);
  return at + 1;
}

function malformed(at: number): SyntaxError {
  return new SyntaxError(`it is not valid JSON at character ${at}`);
}

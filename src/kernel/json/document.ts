/**
 * Parses JSON of clients, after a check of its size (threats A-14): `JSON.parse` of
 * 10 MB of brackets takes a second of CPU time, and creates 300 MB of arrays.
 *
 * The check is one pass over the bytes. It counts levels, containers and values,
 * finds names with an escape (`parse.ts`), and leaves syntax errors to the parser.
 */
import { readText } from "./reader.ts";

export interface JsonLimits {
  readonly depthMax: number;
  /** Objects and lists. */
  readonly containersMax: number;
  /** Values after a comma or a colon. */
  readonly valuesMax: number;
}

/** More than any request needs: a batch of 10,000 messages, each with ten lists of headers, has 120,001 containers. */
export const requestJsonLimits: JsonLimits = { depthMax: 128, containersMax: 500_000, valuesMax: 1_000_000 };

/** A text beyond the limits. The message ends a sentence about it: "nests deeper than 128 levels". */
export class JsonTooLarge extends Error {
  override name = "JsonTooLarge";
}

/** Like `parseJsonText` of the bytes as UTF-8. Throws `JsonTooLarge` before anything is parsed, or a SyntaxError. */
export function parseJson(bytes: Buffer, limits: JsonLimits = requestJsonLimits): unknown {
  const { hasEscapedName } = checkJson(bytes, limits);
  const text = bytes.utf8Slice();
  return hasEscapedName ? readText(text) : JSON.parse(text);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** In a longer string a native search is faster. */
const SHORT_LENGTH_MAX = 16;
/** In a shorter text the search of its names takes less time than one native search. */
const SHORT_BYTES_MAX = 512;

export interface JsonFacts {
  /** Of a text that is not JSON, it may be either. */
  readonly hasEscapedName: boolean;
}

/** Throws `JsonTooLarge`. */
export function checkJson(bytes: Buffer, { depthMax, containersMax, valuesMax }: JsonLimits): JsonFacts {
  // Most texts have no escape, and then no name needs a search.
  const hasEscape = bytes.length <= SHORT_BYTES_MAX || bytes.includes(BACKSLASH);
  let hasEscapedName = false;
  let stringAt = 0;
  let stringEndAt = 0;
  let depth = 0;
  let containerCount = 0;
  let valueCount = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case QUOTE:
        stringAt = at;
        at = stringEnd(bytes, at);
        stringEndAt = at;
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        containerCount += 1;
        if (depth > depthMax) throw new JsonTooLarge(`nests deeper than ${depthMax} levels`);
        if (containerCount > containersMax) throw new JsonTooLarge(`has more than ${containersMax} objects and lists`);
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COLON:
        // A name is the last string before a colon.
        if (hasEscape && !hasEscapedName) hasEscapedName = hasBackslash(bytes, stringAt, stringEndAt);
        valueCount += 1;
        if (valueCount > valuesMax) throw new JsonTooLarge(`has more than ${valuesMax} values`);
        break;
      case COMMA:
        valueCount += 1;
        if (valueCount > valuesMax) throw new JsonTooLarge(`has more than ${valuesMax} values`);
        break;
      default:
        break;
    }
  }
  return { hasEscapedName };
}

function hasBackslash(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/** The end of a string that begins at a place: its quote, or the end of the text. */
function stringEnd(bytes: Buffer, start: number): number {
  const shortEnd = Math.min(start + SHORT_LENGTH_MAX, bytes.length);
  let at = start + 1;
  for (; at < shortEnd; at += 1) {
    if (bytes[at] === QUOTE) return at;
    if (bytes[at] === BACKSLASH) at += 1;
  }
  for (;;) {
    const end = bytes.indexOf(QUOTE, at);
    if (end < 0) return bytes.length;
    let backslashCount = 0;
    while (end - backslashCount > at && bytes[end - backslashCount - 1] === BACKSLASH) backslashCount += 1;
    if (backslashCount % 2 === 0) return end;
    at = end + 1;
  }
}

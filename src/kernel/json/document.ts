/**
 * Parses JSON of clients, after a check of its size (threats A-14): `JSON.parse` of
 * 10 MB of brackets takes a second of CPU time, and creates 300 MB of arrays.
 *
 * The check is one pass over the bytes. It counts levels, containers and values,
 * and leaves syntax errors to `JSON.parse`.
 */

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

/** Like `JSON.parse` of the bytes as UTF-8. Throws `JsonTooLarge` before anything is parsed, or a SyntaxError. */
export function parseJson(bytes: Buffer, limits: JsonLimits = requestJsonLimits): unknown {
  checkJson(bytes, limits);
  return JSON.parse(bytes.utf8Slice());
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

/** Throws `JsonTooLarge`. */
export function checkJson(bytes: Buffer, { depthMax, containersMax, valuesMax }: JsonLimits): void {
  let depth = 0;
  let containerCount = 0;
  let valueCount = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case QUOTE:
        at = stringEnd(bytes, at);
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
      case COMMA:
      case COLON:
        valueCount += 1;
        if (valueCount > valuesMax) throw new JsonTooLarge(`has more than ${valuesMax} values`);
        break;
      default:
        break;
    }
  }
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

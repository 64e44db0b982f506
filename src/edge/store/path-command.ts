/**
 * The path form of a command: `/set/key/value?EX=100` (A1.path,
 * A1.body, A1.query).
 *
 * (1) The raw path is split at `/` before its segments are decoded, so `%2F` is a
 *     slash inside an argument.
 * (2) One slash at the end is dropped: `/get/key/` is `/get/key`. An empty segment
 *     anywhere else is an empty argument, so `/get//` names the empty key.
 * (3) Query parameters follow path and body in their order, with duplicates:
 *     `NAME=value` is two words, `NAME` is one. `_token` is always dropped.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { RequestFailure } from "../errors.ts";
import { percentDecode } from "../http/percent.ts";

const TOKEN_PARAMETER = "_token";

/** Path and query of a target, the query without its `?`. */
export interface Target {
  /** The raw target; path and query are positions in it. */
  readonly text: string;
  readonly pathEnd: number;
  /** After the `?`, or the end of the text. */
  readonly queryStart: number;
}

export function splitTarget(text: string): Target {
  const mark = text.indexOf("?");
  return mark < 0
    ? { text, pathEnd: text.length, queryStart: text.length }
    : { text, pathEnd: mark, queryStart: mark + 1 };
}

/** The words of the path, decoded; none for `/`. keeps (1) and (2) */
export function pathWords({ text, pathEnd }: Target): Bytes[] {
  const words: Bytes[] = [];
  const end = text.charCodeAt(pathEnd - 1) === SLASH ? pathEnd - 1 : pathEnd;
  let start = 1;
  while (start <= end) {
    const slash = text.indexOf("/", start);
    const stop = slash < 0 || slash > end ? end : slash;
    words.push(percentDecode(text, { start, end: stop, part: "path" }));
    start = stop + 1;
  }
  return words;
}

/** Appends the words of the query. keeps (3) */
export function appendQueryWords(words: Bytes[], target: Target): void {
  if (target.queryStart >= target.text.length) return;
  for (const range of parametersOf(target)) {
    const { name, value } = decoded(target, range);
    if (name === TOKEN_PARAMETER) continue;
    words.push(name);
    if (value !== undefined) words.push(value);
  }
}

/**
 * The value of the first `_token`, or undefined. Ignores parameters that cannot be decoded: they are refused once the
 * caller is known.
 */
export function findTokenParameter(target: Target): Bytes | undefined {
  if (target.queryStart >= target.text.length) return undefined;
  for (const range of parametersOf(target)) {
    try {
      const { name, value } = decoded(target, range);
      if (name === TOKEN_PARAMETER) return value;
    } catch (thrown) {
      if (!(thrown instanceof RequestFailure)) throw thrown;
    }
  }
  return undefined;
}

const SLASH = 0x2f;

/** The positions of a parameter in its target. */
interface ParameterRange {
  readonly start: number;
  readonly nameEnd: number;
  readonly end: number;
}

/** Throws a RequestFailure. */
function decoded(
  { text }: Target,
  { start, nameEnd, end }: ParameterRange,
): { readonly name: Bytes; readonly value: Bytes | undefined } {
  const name = percentDecode(text, { start, end: nameEnd, part: "query" });
  const value = nameEnd < end ? percentDecode(text, { start: nameEnd + 1, end, part: "query" }) : undefined;
  return { name, value };
}

function* parametersOf({ text, queryStart }: Target): Generator<ParameterRange> {
  let start = queryStart;
  // Searched again only after its position, so that a long query without `=` is not read repeatedly.
  let equals = -1;
  while (start < text.length) {
    const and = text.indexOf("&", start);
    const end = and < 0 ? text.length : and;
    if (end > start) {
      if (equals < start) equals = positionOf(text, "=", start);
      yield { start, nameEnd: Math.min(equals, end), end };
    }
    start = end + 1;
  }
}

/** The position of `mark` at or after `start`, or the length of the text. */
function positionOf(text: string, mark: string, start: number): number {
  const position = text.indexOf(mark, start);
  return position < 0 ? text.length : position;
}

/**
 * Durations as text: `50s`, `1d10h30m`, `1.5h`, `250ms`.
 *
 * (1) A text is one or more pairs of a decimal number and a unit, in any order
 *     and number, as in Go's `time.ParseDuration`.
 * (2) A sign, a blank, an unknown unit or a sum of 2^53 ms and more is invalid.
 * (3) The result is a whole number of milliseconds, rounded to the nearest.
 */

const MS_BY_UNIT: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Go's units. `µs` is spelled with U+00B5 or U+03BC. */
const MS_BY_GO_UNIT: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  "\u00b5s": 1e-3,
  "\u03bcs": 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Longer texts are not parsed. */
const TEXT_LENGTH_MAX = 64;

/**
 * The duration in ms, or undefined if `text` is invalid. `units` has the allowed letters of `s`, `m`, `h` and `d`. A
 * number alone is in seconds.
 */
export function parseDurationMs(text: string, units: string): number | undefined {
  const seconds = parseDecimal(text);
  if (seconds !== undefined) return wholeMs(seconds * 1_000);
  return sumOfPairs(text, (unit) => (unit.length === 1 && units.includes(unit) ? MS_BY_UNIT[unit] : undefined));
}

/**
 * The duration in Go's notation (`6m5s`, `250ms`, `1m0.5s`, `0`), in ms, or undefined if `text` is invalid or negative.
 * Each number except a lone zero needs its unit.
 */
export function parseGoDurationMs(text: string): number | undefined {
  if (text === "0") return 0;
  return sumOfPairs(text, (unit) => (Object.hasOwn(MS_BY_GO_UNIT, unit) ? MS_BY_GO_UNIT[unit] : undefined));
}

/** The number that digits with at most one point spell (`12`, `1.5`, `.5`, `2.`), or undefined. May be infinite. */
export function parseDecimal(text: string): number | undefined {
  return text !== "" && text.length <= TEXT_LENGTH_MAX && endOfDecimal(text, 0) === text.length
    ? Number(text)
    : undefined;
}

function sumOfPairs(text: string, msOf: (unit: string) => number | undefined): number | undefined {
  if (text === "" || text.length > TEXT_LENGTH_MAX) return undefined;
  let sumMs = 0;
  let at = 0;
  while (at < text.length) {
    const endOfNumber = endOfDecimal(text, at);
    const endOfUnit = endOfLetters(text, endOfNumber);
    if (endOfNumber === at) return undefined;
    const unitMs = msOf(text.slice(endOfNumber, endOfUnit));
    if (unitMs === undefined) return undefined;
    sumMs += Number(text.slice(at, endOfNumber)) * unitMs;
    at = endOfUnit;
  }
  return wholeMs(sumMs);
}

function wholeMs(ms: number): number | undefined {
  const rounded = Math.round(ms);
  return rounded <= Number.MAX_SAFE_INTEGER ? rounded : undefined;
}

/** The end of the decimal number that starts at `start`; `start` itself without a number. */
function endOfDecimal(text: string, start: number): number {
  let at = start;
  let digits = 0;
  let points = 0;
  for (; at < text.length; at += 1) {
    if (isDigit(text.charCodeAt(at))) digits += 1;
    else if (text[at] === "." && points === 0) points = 1;
    else break;
  }
  return digits === 0 ? start : at;
}

/** The end of a unit that starts at `start`: before the next digit or point. */
function endOfLetters(text: string, start: number): number {
  let at = start;
  while (at < text.length && !isDigit(text.charCodeAt(at)) && text[at] !== ".") at += 1;
  return at;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

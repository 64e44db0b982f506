/**
 * GLOB patterns, compiled once and matched against many strings.
 *
 *     *        any characters, or none      [abc]   one of these       [^abc]  none of these
 *     ?        one character                [a-c]   one of a range     \x      x itself
 *
 * The patterns are those of KEYS in the store, and equally lenient: a class
 * without its ] ends with the pattern, and a range may end at ]. But they match
 * text, not bytes: a character is a code point, and * matches the empty string
 * too. So the two do not share a matcher.
 *
 * Every element except * takes exactly one character. So when a later * is
 * reached, earlier ones are never tried again: on failure only the last star
 * takes one character more. The work is at most pattern length times subject
 * length (threats A-07, B-04).
 */
import { filterWork } from "./work.ts";

/** An element is a code point, or one of these, or a class: `FIRST_CLASS` minus its number. */
const ANY = -1;
const STAR = -2;
const FIRST_CLASS = -3;

interface CharacterClass {
  readonly negated: boolean;
  /** Pairs of first and last code point. */
  readonly ranges: readonly number[];
}

interface Pattern {
  readonly elements: readonly number[];
  readonly classes: readonly CharacterClass[];
}

const code = (sign: string): number => sign.charCodeAt(0);
const STAR_SIGN = code("*");
const QUESTION = code("?");
const OPEN = code("[");
const CLOSE = code("]");
const BACKSLASH = code("\\");
const CARET = code("^");
const DASH = code("-");

/** Returns a function that tests whether the pattern matches a whole string. The function allocates nothing. */
export function compileGlob(pattern: string): (subject: string) => boolean {
  const { elements, classes } = parse(pattern);
  const pieces = literalPieces(elements);
  return pieces === undefined ? elementMatcher({ elements, classes }) : pieceMatcher(pieces);
}

function elementMatcher({ elements, classes }: Pattern): (subject: string) => boolean {
  const count = elements.length;
  return (subject) => {
    const length = subject.length;
    let at = 0;
    let taken = 0;
    /** The element after the last star, and the first character that this star has not taken. */
    let afterStar = -1;
    let starTaken = 0;
    let steps = 1;
    while (taken < length) {
      const element = at < count ? (elements[at] as number) : undefined;
      if (element === STAR) {
        at += 1;
        if (at === count) break;
        afterStar = at;
        starTaken = taken;
        continue;
      }
      steps += 1;
      const character = characterAt(subject, taken);
      if (element === character || (element !== undefined && element < 0 && takes(element, character, classes))) {
        at += 1;
        taken += character > 0xffff ? 2 : 1;
        continue;
      }
      if (afterStar < 0) {
        filterWork.steps += steps;
        return false;
      }
      starTaken += characterAt(subject, starTaken) > 0xffff ? 2 : 1;
      taken = starTaken;
      at = afterStar;
    }
    filterWork.steps += steps;
    return at === count || (at === count - 1 && elements[at] === STAR);
  };
}

/** `codePointAt`, at less than half the cost if the unit is not a surrogate. */
function characterAt(subject: string, at: number): number {
  const unit = subject.charCodeAt(at);
  return unit >= 0xd800 && unit < 0xdc00 ? (subject.codePointAt(at) as number) : unit;
}

/**
 * The literals between the stars, or undefined if the pattern has other elements.
 * Lone surrogates are left to the other matcher: they must not match in a pair.
 */
function literalPieces(elements: readonly number[]): readonly string[] | undefined {
  const pieces = [""];
  for (const element of elements) {
    if (element < 0 && element !== STAR) return undefined;
    if (element === STAR) pieces.push("");
    else pieces[pieces.length - 1] += String.fromCodePoint(element);
  }
  return pieces.every((piece) => piece.isWellFormed()) ? pieces : undefined;
}

/** The same results as `elementMatcher`, by V8's own search, in a fraction of the time. */
function pieceMatcher(pieces: readonly string[]): (subject: string) => boolean {
  const [first = ""] = pieces;
  const last = pieces.at(-1) ?? "";
  const lastAt = pieces.length - 1;
  if (lastAt === 0) return (subject) => subject === first;
  return (subject) => {
    filterWork.steps += subject.length;
    const end = subject.length - last.length;
    if (end < first.length || !subject.startsWith(first) || !subject.endsWith(last)) return false;
    let at = first.length;
    for (let i = 1; i < lastAt; i += 1) {
      const piece = pieces[i] as string;
      const found = subject.indexOf(piece, at);
      if (found < 0) return false;
      at = found + piece.length;
      if (at > end) return false;
    }
    return true;
  };
}

function takes(element: number, character: number, classes: readonly CharacterClass[]): boolean {
  if (element === ANY) return true;
  const { negated, ranges } = classes[FIRST_CLASS - element] as CharacterClass;
  filterWork.steps += ranges.length >> 1;
  for (let i = 0; i < ranges.length; i += 2)
    if (character >= (ranges[i] as number) && character <= (ranges[i + 1] as number)) return !negated;
  return negated;
}

function parse(pattern: string): Pattern {
  const codes = Array.from(pattern, (character) => character.codePointAt(0) as number);
  const elements: number[] = [];
  const classes: CharacterClass[] = [];
  let at = 0;
  while (at < codes.length) {
    const sign = codes[at] as number;
    at += 1;
    if (sign === STAR_SIGN) {
      if (elements.at(-1) !== STAR) elements.push(STAR);
    } else if (sign === QUESTION) {
      elements.push(ANY);
    } else if (sign === OPEN) {
      elements.push(FIRST_CLASS - classes.length);
      const { end, ...characterClass } = parseClass(codes, at);
      classes.push(characterClass);
      at = end;
    } else if (sign === BACKSLASH && at < codes.length) {
      elements.push(codes[at] as number);
      at += 1;
    } else {
      elements.push(sign);
    }
  }
  return { elements, classes };
}

/** Parses the class whose [ is before `start`. */
function parseClass(codes: readonly number[], start: number): CharacterClass & { readonly end: number } {
  const ranges: number[] = [];
  let at = start;
  const negated = codes[at] === CARET;
  if (negated) at += 1;
  for (; at < codes.length; at += 1) {
    const first = codes[at] as number;
    if (first === BACKSLASH && at + 1 < codes.length) {
      at += 1;
      ranges.push(codes[at] as number, codes[at] as number);
    } else if (first === CLOSE) {
      return { negated, ranges, end: at + 1 };
    } else if (codes[at + 1] === DASH && at + 2 < codes.length) {
      at += 2;
      const last = codes[at] as number;
      ranges.push(Math.min(first, last), Math.max(first, last));
    } else {
      ranges.push(first, first);
    }
  }
  return { negated, ranges, end: at };
}

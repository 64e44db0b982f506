/** How a TEXT becomes terms: the words of a text, in lower case, reduced to their stems. */
import { type Bytes, isAscii } from "../../../kernel/bytes.ts";
import type { Language, SearchField } from "../definition.ts";
import { byteCountOf, codePointAt, INVALID, lowerCaseOf, SEPARATOR, wordCharacter } from "./characters.ts";
import { KNOWN_BYTES_MAX, type KnownWords, loadText, UNKNOWN } from "./known-words.ts";
import { stemmerOf } from "./stemmers.ts";
import { ownCopyOf, StemCache } from "./terms.ts";

/**
 * Called for each token of a text, in order.
 *
 * @param term  the analysed token, as UTF-8
 * @param start where it begins in the text, in bytes
 * @param end   the byte after it
 */
export type TakeToken = (term: Bytes, start: number, end: number) => void;

/** A word of a filter before and after stemming, both as UTF-8. */
export interface AnalysedWord {
  readonly lower: Bytes;
  readonly term: Bytes;
}

/** The terms of a field by number, for an index. */
export interface TermNumbers {
  readonly known: KnownWords;
  /** The number of a term, which gets one if it is new. */
  readonly termFor: (term: Bytes) => number;
}

/** One for each combination of language and options; it has no state that callers can see. */
export interface Analyzer {
  /** The tokens of a text, which is UTF-8. */
  readonly analyse: (text: Bytes, take: TakeToken) => void;
  /** Pushes the numbers of the same terms. An analyzer without it is asked for the terms. */
  readonly number?: (text: Bytes, numbers: TermNumbers, list: { push(term: number): void }) => void;
  /** The words of a text of a filter. */
  readonly words: (text: Bytes) => readonly AnalysedWord[];
}

export type AnalyzerFor = (language: Language, field: Pick<SearchField, "isTokenized" | "isStemmed">) => Analyzer;

/** Longer terms are dropped: the limit of the engine whose results ours follow. */
export const TERM_BYTES_MAX = 65_530;

const analyzers = new Map<string, Analyzer>();

/** The analyzer of a field, the same one for the same language and options. */
export const analyzerFor: AnalyzerFor = (language, field) => {
  const isStemmed = field.isTokenized && field.isStemmed;
  const name = isStemmed ? language : field.isTokenized ? "words" : "whole";
  let analyzer = analyzers.get(name);
  if (analyzer === undefined) {
    analyzer = new TextAnalyzer(
      field.isTokenized ? visitWords : visitWhole,
      isStemmed ? new StemCache(stemmerOf(language)) : undefined,
    );
    analyzers.set(name, analyzer);
  }
  return analyzer;
};

/** Calls `take` for each token of a text, in lower case. The token may be a slice of the text. */
type Visit = (text: Bytes, take: TakeToken) => void;

class TextAnalyzer implements Analyzer {
  readonly #visit: Visit;
  /** Undefined: words are their own terms. */
  readonly #stems: StemCache | undefined;

  constructor(visit: Visit, stems: StemCache | undefined) {
    this.#visit = visit;
    this.#stems = stems;
  }

  analyse(text: Bytes, take: TakeToken): void {
    this.#visit(text, (lower, start, end) => {
      const term = this.#termOf(lower);
      if (term.length <= TERM_BYTES_MAX) take(term, start, end);
    });
  }

  number(text: Bytes, numbers: TermNumbers, list: { push(term: number): void }): void {
    const take = (lower: Bytes): void => {
      const term = this.#termOf(lower);
      if (term.length <= TERM_BYTES_MAX) list.push(numbers.termFor(term));
    };
    if (this.#visit !== visitWords) {
      this.#visit(text, take);
      return;
    }
    const { known } = numbers;
    const bytes = loadText(text);
    for (let at = 0; at < text.length; ) {
      let kind = byteClasses[bytes[at] as number] as number;
      while (kind === SEPARATES) kind = byteClasses[bytes[++at] as number] as number;
      const start = at;
      for (; kind === SMALL || kind === CAPITAL; kind = byteClasses[bytes[at] as number] as number) {
        if (kind === CAPITAL) bytes[at] = (bytes[at] as number) | CASE_BIT;
        at += 1;
      }
      // The byte after the text is of this class, too.
      if (kind === OTHER && at < text.length) at = passWord(text, { from: at > start ? start : -1, at }, take);
      else if (at > start + KNOWN_BYTES_MAX) take(text.slice(start, at).toLowerCase());
      else if (at > start) {
        let term = known.find(start, at);
        if (term === UNKNOWN) {
          term = numbers.termFor(this.#termOf(text.slice(start, at).toLowerCase()));
          known.remember(term);
        }
        list.push(term);
      }
    }
  }

  words(text: Bytes): readonly AnalysedWord[] {
    const words: AnalysedWord[] = [];
    this.#visit(text, (lower) => {
      const term = this.#termOf(lower);
      if (term.length <= TERM_BYTES_MAX) words.push({ lower: ownCopyOf(lower), term });
    });
    return words;
  }

  #termOf(lower: Bytes): Bytes {
    return this.#stems === undefined ? ownCopyOf(lower) : this.#stems.termOf(lower);
  }
}

/** For NOTOKENIZE: the whole text is one token, except that an empty text has none. */
function visitWhole(text: Bytes, take: TakeToken): void {
  if (text.length > 0) take(lowerCase(text), 0, text.length);
}

/** The text in lower case, one code point for one. Bytes that are not UTF-8 stay. */
export function lowerCase(text: Bytes): Bytes {
  if (isAscii(text)) return text.toLowerCase();
  // A code point takes at most one byte more in lower case, where it took two.
  const lower = Buffer.allocUnsafe(2 * text.length);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    const codePoint = unit < 0x80 ? unit : codePointAt(text, at);
    if (codePoint === INVALID) {
      lower[length++] = unit;
      at += 1;
      continue;
    }
    length = writeCodePoint(lower, length, lowerCaseOf(codePoint));
    at += byteCountOf(codePoint);
  }
  return lower.latin1Slice(0, length);
}

/** Classes of bytes. `SMALL` has the digits, too, and `OTHER` all bytes of characters beyond ASCII. */
const SEPARATES = 0;
const SMALL = 1;
const CAPITAL = 2;
const OTHER = 3;
/** The difference of a capital and its small letter. */
const CASE_BIT = 0x20;

const byteClasses = Uint8Array.from({ length: 0x100 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  if (unit >= 0x80) return OTHER;
  return /[A-Z]/.test(character) ? CAPITAL : /[a-z0-9]/.test(character) ? SMALL : SEPARATES;
});

/** The maximal runs of letters and digits. */
function visitWords(text: Bytes, take: TakeToken): void {
  const { length } = text;
  let start = -1;
  let capitals = 0;
  for (let at = 0; at < length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) {
      at = passWord(text, { from: start, at }, take) - 1;
      start = -1;
      capitals = 0;
      continue;
    }
    const kind = byteClasses[unit] as number;
    if (kind !== SEPARATES) {
      if (start < 0) start = at;
      capitals |= kind;
    } else if (start >= 0) {
      takeAscii(text, { start, end: at, hasCapitals: capitals >= CAPITAL }, take);
      start = -1;
      capitals = 0;
    }
  }
  if (start >= 0) takeAscii(text, { start, end: length, hasCapitals: capitals >= CAPITAL }, take);
}

function takeAscii(text: Bytes, word: { start: number; end: number; hasCapitals: boolean }, take: TakeToken): void {
  const token = text.slice(word.start, word.end);
  take(word.hasCapitals ? token.toLowerCase() : token, word.start, word.end);
}

/** The lower case of the word under way, reused by the next one. Nothing of it is kept. */
let scratch = Buffer.allocUnsafeSlow(256);

/**
 * Passes a word with a byte of 128 or more at `at`: it began at `from`, or has not begun (-1). Returns where to go on,
 * which is after the word, or after the separator at `at`.
 */
function passWord(text: Bytes, { from, at: first }: { from: number; at: number }, take: TakeToken): number {
  let at = from < 0 ? first : from;
  const start = at;
  let length = 0;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    const codePoint = unit < 0x80 ? unit : codePointAt(text, at);
    const lower = codePoint === INVALID ? SEPARATOR : wordCharacter(codePoint);
    if (lower === SEPARATOR) {
      if (at > start) break;
      return at + (codePoint === INVALID ? 1 : byteCountOf(codePoint));
    }
    if (length + 4 > scratch.length) scratch = Buffer.concat([scratch], 2 * scratch.length);
    length = writeCodePoint(scratch, length, lower);
    at += byteCountOf(codePoint);
  }
  const word = scratch.latin1Slice(0, length);
  if (scratch.length > SCRATCH_BYTES_MAX) scratch = Buffer.allocUnsafeSlow(256);
  take(word, start, at);
  return at;
}

/** A text may be one word of megabytes, for which no memory stays. */
const SCRATCH_BYTES_MAX = 65_536;

/** Writes a code point as UTF-8, and returns the position after it. */
function writeCodePoint(buffer: Buffer, at: number, codePoint: number): number {
  if (codePoint < 0x80) {
    buffer[at] = codePoint;
    return at + 1;
  }
  if (codePoint < 0x800) {
    buffer[at] = 0xc0 | (codePoint >> 6);
    buffer[at + 1] = 0x80 | (codePoint & 0x3f);
    return at + 2;
  }
  if (codePoint < 0x1_0000) {
    buffer[at] = 0xe0 | (codePoint >> 12);
    buffer[at + 1] = 0x80 | ((codePoint >> 6) & 0x3f);
    buffer[at + 2] = 0x80 | (codePoint & 0x3f);
    return at + 3;
  }
  buffer[at] = 0xf0 | (codePoint >> 18);
  buffer[at + 1] = 0x80 | ((codePoint >> 12) & 0x3f);
  buffer[at + 2] = 0x80 | ((codePoint >> 6) & 0x3f);
  buffer[at + 3] = 0x80 | (codePoint & 0x3f);
  return at + 4;
}

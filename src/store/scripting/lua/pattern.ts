/**
 * Lua 5.1's patterns, matched in the memory of an instance.
 *
 * Lua's own matcher backtracks without bounds inside one C call, where no hook
 * runs. This one has the same results and counts its steps.
 *
 * (1) Each step (a character compared, a branch taken) takes one from
 *     `stepsLeft`; at zero the match ends with `PatternError`.
 * (2) It recurses at most `NESTING_MAX` deep, for any pattern.
 * (3) Positions are addresses. Nothing here refers to the memory object, which
 *     may be replaced by any call into Lua.
 */

/** The pattern is invalid, or too expensive. The message is an error for the script. */
export class PatternError extends Error {
  override name = "PatternError";
}

const CAPTURES_MAX = 32;
const NESTING_MAX = 200;
/** Length of an open capture, and of a position capture. */
const OPEN = -1;
export const POSITION_CAPTURE = -2;

const NONE = -1;
const ESCAPE = 37; // %
const OPEN_PARENTHESIS = 40;
const CLOSE_PARENTHESIS = 41;
const STAR = 42;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const QUESTION = 63;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const CARET = 94;
const DOLLAR = 36;

export class PatternMatcher {
  stepsLeft = 0;
  captureCount = 0;
  readonly captureStart = new Float64Array(CAPTURES_MAX);
  /** Or OPEN, or POSITION_CAPTURE. */
  readonly captureLength = new Float64Array(CAPTURES_MAX);
  #memory: Uint8Array = new Uint8Array(0);
  #subject = 0;
  #subjectEnd = 0;
  #patternEnd = 0;
  #depth = 0;

  /** Sets the subject and the pattern: addresses, `…End` just after the last byte. */
  prepare(memory: Uint8Array, subject: { start: number; end: number; patternEnd: number }): void {
    this.#memory = memory;
    this.#subject = subject.start;
    this.#subjectEnd = subject.end;
    this.#patternEnd = subject.patternEnd;
  }

  /** The end of the match of `pattern` that begins at `start`, or -1. Throws PatternError. */
  match(start: number, pattern: number): number {
    this.captureCount = 0;
    this.#depth = 0;
    return this.#match(start, pattern);
  }

  /** The character at an address, 0 after the end of the pattern, as C's strings end. */
  #patternAt(at: number): number {
    return at < this.#patternEnd ? (this.#memory[at] as number) : 0;
  }

  #match(from: number, fromPattern: number): number {
    this.#depth += 1;
    if (this.#depth > NESTING_MAX) throw new PatternError("pattern too complex"); // keeps (2)
    const result = this.#matchItems(from, fromPattern);
    this.#depth -= 1;
    return result;
  }

  #matchItems(from: number, fromPattern: number): number {
    const memory = this.#memory;
    let at = from;
    let pattern = fromPattern;
    for (;;) {
      this.#step();
      if (pattern === this.#patternEnd) return at;
      const item = memory[pattern] as number;
      if (item === OPEN_PARENTHESIS) {
        return this.#patternAt(pattern + 1) === CLOSE_PARENTHESIS
          ? this.#startCapture(at, pattern + 2, POSITION_CAPTURE)
          : this.#startCapture(at, pattern + 1, OPEN);
      }
      if (item === CLOSE_PARENTHESIS) return this.#endCapture(at, pattern + 1);
      if (item === ESCAPE) {
        const escaped = this.#patternAt(pattern + 1);
        if (escaped === 98 /* b */) {
          at = this.#matchBalance(at, pattern + 2);
          if (at === NONE) return NONE;
          pattern += 4;
          continue;
        }
        if (escaped === 102 /* f */) {
          pattern += 2;
          if (this.#patternAt(pattern) !== OPEN_BRACKET) throw new PatternError("missing '[' after '%f' in pattern");
          const classEnd = this.#classEnd(pattern);
          const before = at === this.#subject ? 0 : (memory[at - 1] as number);
          const here = at < this.#subjectEnd ? (memory[at] as number) : 0;
          if (this.#isInSet(before, pattern, classEnd - 1) || !this.#isInSet(here, pattern, classEnd - 1)) return NONE;
          pattern = classEnd;
          continue;
        }
        if (escaped >= 48 && escaped <= 57) {
          at = this.#matchCapture(at, escaped);
          if (at === NONE) return NONE;
          pattern += 2;
          continue;
        }
      }
      if (item === DOLLAR && pattern + 1 === this.#patternEnd) return at === this.#subjectEnd ? at : NONE;
      const itemEnd = this.#classEnd(pattern);
      const isMatch = at < this.#subjectEnd && this.#isSingleMatch(memory[at] as number, pattern, itemEnd);
      const suffix = this.#patternAt(itemEnd);
      if (suffix === QUESTION) {
        if (isMatch) {
          const end = this.#match(at + 1, itemEnd + 1);
          if (end !== NONE) return end;
        }
        pattern = itemEnd + 1;
        continue;
      }
      if (suffix === STAR) return this.#matchLongest(at, pattern, itemEnd);
      if (suffix === PLUS) return isMatch ? this.#matchLongest(at + 1, pattern, itemEnd) : NONE;
      if (suffix === MINUS) return this.#matchShortest(at, pattern, itemEnd);
      if (!isMatch) return NONE;
      at += 1;
      pattern = itemEnd;
    }
  }

  // keeps (1)
  #step(): void {
    this.stepsLeft -= 1;
    if (this.stepsLeft < 0) throw new PatternError("pattern takes too many steps");
  }

  #classEnd(pattern: number): number {
    let at = pattern;
    const first = this.#patternAt(at);
    at += 1;
    if (first === ESCAPE) {
      if (at >= this.#patternEnd) throw new PatternError("malformed pattern (ends with '%')");
      return at + 1;
    }
    if (first !== OPEN_BRACKET) return at;
    if (this.#patternAt(at) === CARET) at += 1;
    do {
      // A set is parsed at each position where it is tried, so its length is work too.
      this.#step();
      if (at >= this.#patternEnd) throw new PatternError("malformed pattern (missing ']')");
      const character = this.#patternAt(at);
      at += 1;
      if (character === ESCAPE && at < this.#patternEnd) at += 1;
    } while (at >= this.#patternEnd || this.#patternAt(at) !== CLOSE_BRACKET);
    return at + 1;
  }

  #isSingleMatch(character: number, pattern: number, itemEnd: number): boolean {
    const item = this.#memory[pattern] as number;
    if (item === DOT) return true;
    if (item === ESCAPE) return isInClass(character, this.#patternAt(pattern + 1));
    if (item === OPEN_BRACKET) return this.#isInSet(character, pattern, itemEnd - 1);
    return item === character;
  }

  /** `pattern` is at the opening bracket of the set, `closing` at the closing one. */
  #isInSet(character: number, pattern: number, closing: number): boolean {
    let at = pattern;
    let isListed = true;
    if (this.#patternAt(at + 1) === CARET) {
      isListed = false;
      at += 1;
    }
    for (at += 1; at < closing; at += 1) {
      this.#step();
      const item = this.#patternAt(at);
      if (item === ESCAPE) {
        at += 1;
        if (isInClass(character, this.#patternAt(at))) return isListed;
      } else if (this.#patternAt(at + 1) === MINUS && at + 2 < closing) {
        at += 2;
        if (item <= character && character <= this.#patternAt(at)) return isListed;
      } else if (item === character) {
        return isListed;
      }
    }
    return !isListed;
  }

  #matchBalance(at: number, pattern: number): number {
    if (pattern >= this.#patternEnd || pattern + 1 >= this.#patternEnd) throw new PatternError("unbalanced pattern");
    const memory = this.#memory;
    if (at >= this.#subjectEnd || memory[at] !== memory[pattern]) return NONE;
    const open = memory[pattern];
    const close = memory[pattern + 1];
    let depth = 1;
    for (let here = at + 1; here < this.#subjectEnd; here += 1) {
      this.#step();
      const character = memory[here];
      if (character === close) {
        depth -= 1;
        if (depth === 0) return here + 1;
      } else if (character === open) {
        depth += 1;
      }
    }
    return NONE;
  }

  #matchLongest(at: number, pattern: number, itemEnd: number): number {
    let count = 0;
    while (at + count < this.#subjectEnd && this.#isSingleMatch(this.#memory[at + count] as number, pattern, itemEnd)) {
      this.#step();
      count += 1;
    }
    for (; count >= 0; count -= 1) {
      const end = this.#match(at + count, itemEnd + 1);
      if (end !== NONE) return end;
    }
    return NONE;
  }

  #matchShortest(from: number, pattern: number, itemEnd: number): number {
    for (let at = from; ; at += 1) {
      const end = this.#match(at, itemEnd + 1);
      if (end !== NONE) return end;
      if (at >= this.#subjectEnd || !this.#isSingleMatch(this.#memory[at] as number, pattern, itemEnd)) return NONE;
    }
  }

  #startCapture(at: number, pattern: number, length: number): number {
    if (this.captureCount >= CAPTURES_MAX) throw new PatternError("too many captures");
    this.captureStart[this.captureCount] = at;
    this.captureLength[this.captureCount] = length;
    this.captureCount += 1;
    const end = this.#match(at, pattern);
    if (end === NONE) this.captureCount -= 1;
    return end;
  }

  #endCapture(at: number, pattern: number): number {
    const capture = this.#openCapture();
    this.captureLength[capture] = at - (this.captureStart[capture] as number);
    const end = this.#match(at, pattern);
    if (end === NONE) this.captureLength[capture] = OPEN;
    return end;
  }

  #openCapture(): number {
    for (let capture = this.captureCount - 1; capture >= 0; capture -= 1)
      if (this.captureLength[capture] === OPEN) return capture;
    throw new PatternError("invalid pattern capture");
  }

  #matchCapture(at: number, digit: number): number {
    const capture = digit - 49;
    if (capture < 0 || capture >= this.captureCount || this.captureLength[capture] === OPEN)
      throw new PatternError("invalid capture index");
    const length = this.captureLength[capture] as number;
    const start = this.captureStart[capture] as number;
    // A position capture has no text; C compares its length as a huge number.
    if (length < 0 || this.#subjectEnd - at < length) return NONE;
    for (let index = 0; index < length; index += 1) {
      this.#step();
      if (this.#memory[start + index] !== this.#memory[at + index]) return NONE;
    }
    return at + length;
  }
}

const ALPHA = 1;
const CONTROL = 2;
const DIGIT = 4;
const LOWER = 8;
const PUNCTUATION = 16;
const SPACE = 32;
const UPPER = 64;
const HEXADECIMAL = 128;

/** The classes of C's locale. */
const classesOf = Uint8Array.from({ length: 256 }, (_, code) => {
  const isUpper = code >= 65 && code <= 90;
  const isLower = code >= 97 && code <= 122;
  const isDigit = code >= 48 && code <= 57;
  const isHexadecimal = isDigit || (code >= 65 && code <= 70) || (code >= 97 && code <= 102);
  const isPrinted = code > 32 && code < 127;
  return (
    (isUpper || isLower ? ALPHA : 0) |
    (code < 32 || code === 127 ? CONTROL : 0) |
    (isDigit ? DIGIT : 0) |
    (isLower ? LOWER : 0) |
    (isPrinted && !isUpper && !isLower && !isDigit ? PUNCTUATION : 0) |
    (code === 32 || (code >= 9 && code <= 13) ? SPACE : 0) |
    (isUpper ? UPPER : 0) |
    (isHexadecimal ? HEXADECIMAL : 0)
  );
});

/** The class of a letter in lower case, 0 if the letter has none. */
const classOfLetter = new Uint8Array(256);
for (const [letter, bits] of [
  ["a", ALPHA],
  ["c", CONTROL],
  ["d", DIGIT],
  ["l", LOWER],
  ["p", PUNCTUATION],
  ["s", SPACE],
  ["u", UPPER],
  ["w", ALPHA | DIGIT],
  ["x", HEXADECIMAL],
] as const)
  classOfLetter[letter.charCodeAt(0)] = bits;

function isInClass(character: number, letter: number): boolean {
  const isCapital = letter >= 65 && letter <= 90;
  const lower = isCapital ? letter + 32 : letter;
  if (lower === 122 /* z: the zero byte */) return (character === 0) !== isCapital;
  const bits = classOfLetter[lower] as number;
  if (bits === 0) return letter === character;
  return (((classesOf[character] as number) & bits) !== 0) !== isCapital;
}

/**
 * Glob patterns as Redis matches them (`stringmatchlen`), for KEYS, SCAN,
 * PSUBSCRIBE, CONFIG GET and ACL patterns.
 *
 *     *        any bytes, also none        [abc]   one of these       [^abc]  none of these
 *     ?        one byte                    [a-c]   one of a range     \x      x itself
 *
 * Every element but `*` matches exactly one byte. So when a later `*` is
 * reached, the earlier ones need never be tried again: on failure only the last
 * star takes one byte more. Work is at most pattern length times subject length
 * (threats A-07), where backtracking into every star is exponential.
 *
 * As in Redis, oddities included, and compared with it:
 * - an empty subject matches the empty pattern only, not even `*` (KEYS and SCAN handle a lone `*` separately);
 * - a class without its `]` ends with the pattern; `[^` alone matches any byte;
 * - the ends of a range are signed bytes in either order, and a range may end at `]`;
 * - an escaped byte inside a class is compared exactly even when case is ignored;
 * - letters are those of ASCII.
 */
import type { Bytes } from "../../kernel/bytes.ts";

export interface GlobOptions {
  /** True if ASCII letters match in either case. */
  readonly ignoreCase?: boolean;
}

/** Elements compared with a byte so far, in all calls. Only grows; complexity tests read it. */
export const globWork = { steps: 0 };

const STAR = 0x2a;
const QUESTION = 0x3f;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const BACKSLASH = 0x5c;
const CARET = 0x5e;
const DASH = 0x2d;

/** True if the whole of `subject` matches `pattern`. */
export function matchesGlob(pattern: Bytes, subject: Bytes, options?: GlobOptions): boolean {
  const patternLength = pattern.length;
  const subjectLength = subject.length;
  if (subjectLength === 0) return patternLength === 0;
  const ignoreCase = options?.ignoreCase === true;

  let at = 0;
  let taken = 0;
  /** The position after the last star, and the first byte that this star has not taken. */
  let afterStar = -1;
  let starTaken = 0;
  let steps = 0;
  while (taken < subjectLength) {
    steps += 1;
    if (at < patternLength) {
      if (pattern.charCodeAt(at) === STAR) {
        do at += 1;
        while (at < patternLength && pattern.charCodeAt(at) === STAR);
        if (at === patternLength) break;
        afterStar = at;
        starTaken = taken;
        continue;
      }
      const next = matchElement(pattern, at, { code: subject.charCodeAt(taken), ignoreCase });
      if (next >= 0) {
        at = next;
        taken += 1;
        continue;
      }
    }
    if (afterStar < 0) {
      globWork.steps += steps;
      return false;
    }
    starTaken += 1;
    taken = starTaken;
    at = afterStar;
  }
  globWork.steps += steps;
  while (at < patternLength && pattern.charCodeAt(at) === STAR) at += 1;
  return at === patternLength;
}

interface Wanted {
  readonly code: number;
  readonly ignoreCase: boolean;
}

/** The end of the element at `at` if it matches the byte, else -1. */
function matchElement(pattern: Bytes, at: number, { code, ignoreCase }: Wanted): number {
  let element = pattern.charCodeAt(at);
  if (element === QUESTION) return at + 1;
  if (element === OPEN) return matchClass(pattern, at, { code, ignoreCase });
  let end = at + 1;
  if (element === BACKSLASH && end < pattern.length) {
    element = pattern.charCodeAt(end);
    end += 1;
  }
  const same = element === code || (ignoreCase && lowerCase(element) === lowerCase(code));
  return same ? end : -1;
}

/** As `matchElement`, for a class. */
function matchClass(pattern: Bytes, open: number, { code, ignoreCase }: Wanted): number {
  const length = pattern.length;
  let at = open + 1;
  const negated = at < length && pattern.charCodeAt(at) === CARET;
  if (negated) at += 1;
  let found = false;
  for (; at < length; at += 1) {
    const element = pattern.charCodeAt(at);
    if (element === BACKSLASH && at + 1 < length) {
      at += 1;
      if (pattern.charCodeAt(at) === code) found = true;
    } else if (element === CLOSE) {
      at += 1;
      break;
    } else if (at + 2 < length && pattern.charCodeAt(at + 1) === DASH) {
      at += 2;
      if (isInRange(code, { one: element, other: pattern.charCodeAt(at), ignoreCase })) found = true;
    } else if (element === code || (ignoreCase && lowerCase(element) === lowerCase(code))) {
      found = true;
    }
  }
  return found !== negated ? at : -1;
}

function isInRange(code: number, range: { one: number; other: number; ignoreCase: boolean }): boolean {
  // The ends are ordered before their case is changed, as in Redis.
  let first = Math.min(signed(range.one), signed(range.other));
  let last = Math.max(signed(range.one), signed(range.other));
  let wanted = signed(code);
  if (range.ignoreCase) {
    first = lowerCase(first);
    last = lowerCase(last);
    wanted = lowerCase(wanted);
  }
  return wanted >= first && wanted <= last;
}

/** A byte as C's `char` has it on the platforms that Redis is tested on. */
function signed(code: number): number {
  return (code << 24) >> 24;
}

function lowerCase(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code + 32 : code;
}

/**
 * The tokens of a filter.
 *
 *     word      a letter or _, then letters, digits and _ . [ ] # - [*]  a field, a keyword, true, false
 *               or `…` at its start and after its dots; a \ before another sign there
 *     number    [+-] digits [.digits] [e[+-]digits], or .digits          finite
 *     string    '…' or "…"; \' \" \\ mean ' " \, any other backslash is literal
 *     symbol    ( ) , or a run of = ! < >
 *
 * A hyphen is part of a word, so `a-1` is a field. Anything else ends the list
 * with a `broken` token, whose problem the parser reports if it gets that far,
 * so that the first of two mistakes is reported.
 */

import { numberOf } from "./json.ts";

export type Token =
  | { readonly kind: "word" | "symbol" | "end"; readonly text: string; readonly start: number }
  | { readonly kind: "string"; readonly text: string; readonly start: number; readonly value: string }
  | { readonly kind: "number"; readonly text: string; readonly start: number; readonly value: number | bigint }
  | { readonly kind: "broken"; readonly text: string; readonly start: number; readonly problem: string };

/** The most characters of a token in an error text. */
const SHOWN_LENGTH_MAX = 40;

/** At least one token, the last of kind `end` or `broken`. Takes time linear in the text. Never throws. */
export function tokensOf(filter: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    while (isSpace(filter.charCodeAt(at))) at += 1;
    if (at === filter.length) return [...tokens, { kind: "end", text: "", start: at }];
    const token = tokenAt(filter, at);
    tokens.push(token);
    if (token.kind === "broken") return tokens;
    at += token.text.length;
  }
}

/** How an error text names a token. */
export function shown(token: Token): string {
  if (token.kind === "end") return "the end";
  return clipped(token.text);
}

function clipped(text: string): string {
  const characters = Array.from(text.slice(0, 2 * SHOWN_LENGTH_MAX + 2));
  if (characters.length <= SHOWN_LENGTH_MAX) return text;
  return `${characters.slice(0, SHOWN_LENGTH_MAX).join("")}…`;
}

function tokenAt(filter: string, start: number): Token {
  const code = filter.charCodeAt(start);
  if (isWordStart(code) || code === BACKTICK) return wordAt(filter, start);
  if (code === SINGLE_QUOTE || code === DOUBLE_QUOTE) return stringAt(filter, start);
  if (isDigit(code) || code === DOT || code === PLUS || code === MINUS) return numberAt(filter, start);
  if (code === OPEN || code === CLOSE || code === COMMA) return { kind: "symbol", text: filter.charAt(start), start };
  let end = start;
  while (isOperatorSign(filter.charCodeAt(end))) end += 1;
  if (end > start) return { kind: "symbol", text: filter.slice(start, end), start };
  const text = String.fromCodePoint(filter.codePointAt(start) ?? 0);
  return { kind: "broken", text, start, problem: `unexpected character ${text}` };
}

function wordAt(filter: string, start: number): Token {
  let end = endOfWord(filter, start);
  while (filter.charCodeAt(end) === BACKTICK && (end === start || filter.charCodeAt(end - 1) === DOT)) {
    const close = endOfQuotedName(filter, end);
    if (close < 0) return { kind: "broken", text: filter.slice(end), start: end, problem: "the name has no closing `" };
    const next = filter.charCodeAt(close);
    end = next === DOT || next === OPEN_BRACKET ? endOfWord(filter, close) : close;
  }
  return { kind: "word", text: filter.slice(start, end), start };
}

/** The end of the name in backticks that begins at `start`, after its closing backtick; -1 if it has none. */
export function endOfQuotedName(filter: string, start: number): number {
  for (let at = start + 1; at < filter.length; at += 1) {
    const code = filter.charCodeAt(at);
    if (code === BACKTICK) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return -1;
}

function stringAt(filter: string, start: number): Token {
  const quote = filter.charCodeAt(start);
  let value = "";
  let copied = start + 1;
  for (let at = start + 1; at < filter.length; at += 1) {
    const code = filter.charCodeAt(at);
    if (code === quote) {
      value += filter.slice(copied, at);
      return { kind: "string", text: filter.slice(start, at + 1), start, value };
    }
    if (code === BACKSLASH && isEscapable(filter.charCodeAt(at + 1))) {
      value += filter.slice(copied, at);
      at += 1;
      copied = at;
    }
  }
  const text = filter.slice(start);
  return { kind: "broken", text, start, problem: `the string has no closing ${filter.charAt(start)}` };
}

function numberAt(filter: string, start: number): Token {
  const end = endOfNumber(filter, start);
  const wordEnd = endOfWord(filter, Math.max(end, start + 1));
  if (end < 0 || wordEnd > end) {
    const text = filter.slice(start, wordEnd);
    const problem = `${clipped(text)} is not a number, and a field name starts with a letter or _`;
    return { kind: "broken", text, start, problem };
  }
  const text = filter.slice(start, end);
  if (!Number.isFinite(Number(text)))
    return { kind: "broken", text, start, problem: `the number ${clipped(text)} is too large` };
  return { kind: "number", text, start, value: numberOf(text) };
}

/** The end of the longest number that starts here, or -1 if none does. */
function endOfNumber(filter: string, start: number): number {
  let at = start;
  if (filter.charCodeAt(at) === PLUS || filter.charCodeAt(at) === MINUS) at += 1;
  const whole = endOfDigits(filter, at);
  let end = whole > at ? whole : -1;
  if (filter.charCodeAt(whole) === DOT) {
    const fraction = endOfDigits(filter, whole + 1);
    if (fraction > whole + 1) end = fraction;
  }
  if (end < 0 || (filter.charCodeAt(end) | LOWER_CASE) !== LETTER_E) return end;
  at = end + 1;
  if (filter.charCodeAt(at) === PLUS || filter.charCodeAt(at) === MINUS) at += 1;
  const exponent = endOfDigits(filter, at);
  return exponent > at ? exponent : end;
}

function endOfDigits(filter: string, start: number): number {
  let at = start;
  while (isDigit(filter.charCodeAt(at))) at += 1;
  return at;
}

function endOfWord(filter: string, start: number): number {
  let at = start;
  for (;;) {
    const code = filter.charCodeAt(at);
    if (!isWordPart(code) && !(code === STAR && filter.startsWith(ANY_ELEMENT_INDEX, at - 1))) return at;
    at += 1;
  }
}

// Past the end of a text the code is NaN, for which each of these returns false.

const ANY_ELEMENT_INDEX = "[*]";

const SINGLE_QUOTE = 0x27;
const DOUBLE_QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x28;
const CLOSE = 0x29;
const STAR = 0x2a;
const COMMA = 0x2c;
const DOT = 0x2e;
const PLUS = 0x2b;
const MINUS = 0x2d;
const BACKTICK = 0x60;
const OPEN_BRACKET = 0x5b;
const LETTER_E = 0x65;
const LOWER_CASE = 0x20;

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

export function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isWordStart(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f;
}

function isWordPart(code: number): boolean {
  if (isWordStart(code) || isDigit(code)) return true;
  return code === DOT || code === MINUS || code === OPEN_BRACKET || code === 0x5d || code === 0x23;
}

function isOperatorSign(code: number): boolean {
  return code === 0x3d || code === 0x21 || code === 0x3c || code === 0x3e;
}

function isEscapable(code: number): boolean {
  return code === SINGLE_QUOTE || code === DOUBLE_QUOTE || code === BACKSLASH;
}

/**
 * Splits an inline command into words as Redis does (`sdssplitargs`): blanks
 * separate words, "…" may contain escapes (`\n`, `\x41`, `\"`), '…' may contain
 * `\'`, and a closing quote must be followed by a blank or the end.
 */
import { type Bytes, copyOf } from "../../kernel/bytes.ts";

const BLANK = /[ \t\n\v\f\r]/;
/** The blanks that end a word outside quotes; fewer than those that separate words. */
const WORD_END = /[ \t\n\r]/;
const HEX_PAIR = /^[0-9a-fA-F]{2}$/;

const escapes: ReadonlyMap<string, string> = new Map([
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["b", "\b"],
  ["a", "\x07"],
]);

/** A word, and the index after it. */
interface Cut {
  readonly word: Bytes;
  readonly end: number;
}

/** The words of a line without its line end; undefined if a quote is not closed, or is closed within a word. */
export function splitLine(line: Bytes): Bytes[] | undefined {
  const words: Bytes[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && BLANK.test(line.charAt(at))) at += 1;
    if (at === line.length) return words;
    const cut = cutWord(line, at);
    if (cut === undefined) return undefined;
    words.push(cut.word);
    at = cut.end;
  }
}

/** A quote may open in the middle of a word; the closing quote ends the word. */
function cutWord(line: Bytes, start: number): Cut | undefined {
  let at = start;
  while (at < line.length) {
    const sign = line.charAt(at);
    if (WORD_END.test(sign)) break;
    if (sign === '"' || sign === "'") {
      const quoted = sign === '"' ? cutDoubleQuoted(line, at + 1) : cutSingleQuoted(line, at + 1);
      if (quoted === undefined) return undefined;
      const isEnd = quoted.end === line.length || BLANK.test(line.charAt(quoted.end));
      return isEnd ? { word: copyOf(line, start, at) + quoted.word, end: quoted.end } : undefined;
    }
    at += 1;
  }
  return { word: copyOf(line, start, at), end: at };
}

function cutDoubleQuoted(line: Bytes, start: number): Cut | undefined {
  let word = "";
  let at = start;
  while (at < line.length) {
    const sign = line.charAt(at);
    if (sign === '"') return { word, end: at + 1 };
    const hex = line.slice(at + 2, at + 4);
    if (sign === "\\" && line.charAt(at + 1) === "x" && HEX_PAIR.test(hex)) {
      word += String.fromCharCode(Number.parseInt(hex, 16));
      at += 4;
    } else if (sign === "\\" && at + 1 < line.length) {
      const escaped = line.charAt(at + 1);
      word += escapes.get(escaped) ?? escaped;
      at += 2;
    } else {
      word += sign;
      at += 1;
    }
  }
  return undefined;
}

function cutSingleQuoted(line: Bytes, start: number): Cut | undefined {
  let word = "";
  let at = start;
  while (at < line.length) {
    const sign = line.charAt(at);
    if (sign === "'") return { word, end: at + 1 };
    const isEscape = sign === "\\" && line.charAt(at + 1) === "'";
    word += isEscape ? "'" : sign;
    at += isEscape ? 2 : 1;
  }
  return undefined;
}

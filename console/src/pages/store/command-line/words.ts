/** A typed line as words, with the quotes and escapes of redis-cli. */
import { type Bytes, bytesOfHex, bytesOfText } from "../values/bytes.ts";

const escapes: Readonly<Record<string, Bytes>> = { n: "\n", r: "\r", t: "\t", b: "\b", a: "\x07" };

/** Undefined if a quote is not closed, or text follows a closing one. */
export function wordsOfLine(line: string): Bytes[] | undefined {
  const words: Bytes[] = [];
  let at = 0;
  for (;;) {
    while (/\s/.test(line[at] ?? "")) at += 1;
    if (at >= line.length) return words;
    const word = readWord(line, at);
    if (word === undefined) return undefined;
    words.push(word.bytes);
    at = word.end;
  }
}

interface Part {
  readonly bytes: Bytes;
  readonly end: number;
}

function readWord(line: string, start: number): Part | undefined {
  let bytes = "";
  let at = start;
  while (at < line.length) {
    const char = line[at] ?? "";
    if (/\s/.test(char)) break;
    if (char === '"' || char === "'") {
      const part = char === '"' ? readDouble(line, at + 1) : readSingle(line, at + 1);
      if (part === undefined || /\S/.test(line[part.end] ?? " ")) return undefined;
      return { bytes: bytes + part.bytes, end: part.end };
    }
    const code = line.codePointAt(at) ?? 0;
    const text = String.fromCodePoint(code);
    bytes += bytesOfText(text);
    at += text.length;
  }
  return { bytes, end: at };
}

function readDouble(line: string, start: number): Part | undefined {
  let bytes = "";
  for (let at = start; at < line.length; ) {
    const char = line[at] ?? "";
    if (char === '"') return { bytes, end: at + 1 };
    if (char !== "\\") {
      const text = String.fromCodePoint(line.codePointAt(at) ?? 0);
      bytes += bytesOfText(text);
      at += text.length;
      continue;
    }
    const hex = line[at + 1] === "x" && at + 4 <= line.length ? bytesOfHex(line.slice(at + 2, at + 4)) : undefined;
    if (hex?.length === 1) {
      bytes += hex;
      at += 4;
      continue;
    }
    const escaped = line[at + 1];
    if (escaped === undefined) return undefined;
    bytes += escapes[escaped] ?? bytesOfText(escaped);
    at += 2;
  }
  return undefined;
}

function readSingle(line: string, start: number): Part | undefined {
  let text = "";
  for (let at = start; at < line.length; at += 1) {
    if (line[at] === "\\" && line[at + 1] === "'") at += 1;
    else if (line[at] === "'") return { bytes: bytesOfText(text), end: at + 1 };
    text += line[at];
  }
  return undefined;
}

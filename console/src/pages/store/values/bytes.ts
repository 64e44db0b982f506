/**
 * Byte strings: a string with a code unit of 0-255 for each byte, as in the store, because keys and values need not be text.
 * ASCII is the same in both forms; any other text passes through `bytesOfText` and `textOfBytes`.
 */
export type Bytes = string;

const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Arguments of one call of `fromCharCode`: more overflow the stack. */
const CHUNK = 8_192;
const HEX_DIGITS = /^(?:[0-9a-f]{2})*$/i;

export function bytesOfArray(array: Uint8Array): Bytes {
  const parts: string[] = [];
  for (let at = 0; at < array.length; at += CHUNK) parts.push(String.fromCharCode(...array.subarray(at, at + CHUNK)));
  return parts.join("");
}

export function arrayOfBytes(bytes: Bytes): Uint8Array<ArrayBuffer> {
  const array = new Uint8Array(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) {
    const code = bytes.charCodeAt(at);
    if (code > 255) throw new Error("a byte string has a code unit above 255");
    array[at] = code;
  }
  return array;
}

/** The UTF-8 of a text. */
export function bytesOfText(text: string): Bytes {
  return bytesOfArray(encoder.encode(text));
}

/** Undefined if the bytes are not UTF-8. */
export function textOfBytes(bytes: Bytes): string | undefined {
  try {
    return strictDecoder.decode(arrayOfBytes(bytes));
  } catch {
    return undefined;
  }
}

/** The text of a part of a longer value, without characters that are cut at its ends; undefined if it is not UTF-8. */
export function textOfPart(bytes: Bytes): string | undefined {
  let start = 0;
  while (start < Math.min(3, bytes.length) && isContinuation(bytes, start)) start += 1;
  let last = bytes.length - 1;
  while (last > bytes.length - 4 && isContinuation(bytes, last)) last -= 1;
  const lead = bytes.charCodeAt(last);
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return textOfBytes(bytes.slice(start, last + needed > bytes.length ? last : bytes.length));
}

function isContinuation(bytes: Bytes, at: number): boolean {
  return (bytes.charCodeAt(at) & 0xc0) === 0x80;
}

export function hexOfBytes(bytes: Bytes): string {
  let hex = "";
  for (let at = 0; at < bytes.length; at += 1) hex += bytes.charCodeAt(at).toString(16).padStart(2, "0");
  return hex;
}

/** Spaces and line ends between digits are left out; undefined if the rest is not pairs of hex digits. */
export function bytesOfHex(hex: string): Bytes | undefined {
  const digits = hex.replace(/\s+/g, "");
  if (!HEX_DIGITS.test(digits)) return undefined;
  const array = new Uint8Array(digits.length / 2);
  for (let at = 0; at < array.length; at += 1) array[at] = Number.parseInt(digits.slice(at * 2, at * 2 + 2), 16);
  return bytesOfArray(array);
}

const escapes: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\x07": "\\a",
  "\b": "\\b",
};

/** As redis-cli prints a string: in quotes, and every byte that is not printable ASCII escaped. */
export function quoted(bytes: Bytes): string {
  let text = "";
  for (const char of bytes) text += escapes[char] ?? (char >= " " && char <= "~" ? char : `\\x${hexOfBytes(char)}`);
  return `"${text}"`;
}

/** On one line: the text with its control characters escaped, or as redis-cli prints it if it is not text. */
export function shownBytes(bytes: Bytes, lengthMax = 300): string {
  const part = bytes.slice(0, lengthMax);
  const text = part.length === bytes.length ? textOfBytes(part) : textOfPart(part);
  const shown = text === undefined ? quoted(part) : text.replace(/[\p{Cc}\u2028\u2029]/gu, escapeControl);
  return part.length === bytes.length ? shown : `${shown}…`;
}

function escapeControl(char: string): string {
  return escapes[char] ?? `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

/** A pattern of SCAN that matches these bytes only. */
export function globOfBytes(bytes: Bytes): Bytes {
  return bytes.replace(/[\\*?[\]^]/g, "\\$&");
}

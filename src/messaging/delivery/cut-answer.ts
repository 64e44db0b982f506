/**
 * Answers of destinations that are longer than the limit, so only their start
 * is stored. A header says so in callbacks, in results of workflow calls, in
 * logs and in dead letters.
 */
import { parseJsonText } from "../../kernel/json/parse.ts";

/** How many bytes are stored. In both spellings, like the headers of deliveries. */
const CUT_NAMES = ["Service-Body-Cut", "Upstash-Body-Cut"];

/** Headers that describe the whole body only. Lower case. */
const OF_WHOLE_BODY: ReadonlySet<string> = new Set([
  "content-length",
  "content-md5",
  "digest",
  "content-digest",
  "repr-digest",
  ...CUT_NAMES.map((name) => name.toLowerCase()),
]);

/** The headers of an answer of which `storedBytes` are stored: name, value, name, value, … */
export function cutHeaders(headers: readonly string[], storedBytes: number): readonly string[] {
  const shown: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!OF_WHOLE_BODY.has(name.toLowerCase())) shown.push(name, headers[i + 1] as string);
  }
  for (const name of CUT_NAMES) shown.push(name, String(storedBytes));
  return shown;
}

export function isCut(headers: readonly string[]): boolean {
  return headers.some((name, index) => index % 2 === 0 && name === CUT_NAMES[0]);
}

/** The quotes of both JSON texts, and the backslashes of the inner quotes. */
const QUOTES_BYTES = 6;
/** Of a control character, which is written as an escape with its number. */
const TWICE_QUOTED_BYTES_MAX = 7;

/** The bytes that a byte takes at most in a JSON text within a JSON text: official clients read bytes as Latin 1. */
const TWICE_QUOTED_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return 2;
  return Buffer.byteLength(JSON.stringify(JSON.stringify(String.fromCharCode(byte)))) - QUOTES_BYTES;
});

/** How many bytes of the start of `text` fit into `room` bytes in a JSON text within a JSON text. */
export function twiceQuotedWithin(text: Buffer, room: number): number {
  if (text.length * TWICE_QUOTED_BYTES_MAX <= room) return text.length;
  let left = room;
  for (let i = 0; i < text.length; i += 1) {
    left -= TWICE_QUOTED_BYTES[text[i] as number] as number;
    if (left < 0) return i;
  }
  return text.length;
}

/** Parsing this much of an error takes some 50 ms; a longer start is not useful. */
const MENDED_BYTES_MAX = 16 * 1024 * 1024;
/** An error has a few levels. */
const DEPTH_MAX = 100;

/**
 * Completes the start of an error that an endpoint of a workflow answered, `{"error", "message", "stack"}`, to an
 * object with the same fields: clients parse it as JSON, and show nothing of a truncated text.
 */
export function mendedError(start: Buffer): Buffer {
  const text = start.subarray(0, MENDED_BYTES_MAX).toString("utf8");
  const value = parsed(closed(text)) ?? {};
  const hasMessage = "message" in value && typeof value.message === "string" && value.message !== "";
  return Buffer.from(JSON.stringify(hasMessage ? value : { ...value, message: `${text}…` }));
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The closing character of each opening character code. */
const CLOSING: ReadonlyMap<number, string> = new Map([
  [0x7b, "}"],
  [0x5b, "]"],
]);

/** A truncated JSON text with its open strings, arrays and objects closed. */
function closed(text: string): string {
  const open: string[] = [];
  let isInString = false;
  let isEscaped = false;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (isEscaped) isEscaped = false;
    else if (code === QUOTE) isInString = !isInString;
    else if (isInString) isEscaped = code === BACKSLASH;
    else if (code === 0x7b || code === 0x5b) {
      if (open.length === DEPTH_MAX) return "";
      open.push(CLOSING.get(code) ?? "");
    } else if (code === 0x7d || code === 0x5d) open.pop();
  }
  const whole = isEscaped ? text.slice(0, -1) : text.slice(0, -5) + text.slice(-5).replace(/\\u[\da-f]{0,3}$/i, "");
  return `${whole}${isInString ? '…"' : ""}${open.reverse().join("")}`;
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = parseJsonText(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

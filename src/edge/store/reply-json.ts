/**
 * Replies as JSON: `{"result": …}` or `{"error": …}` (A.result, A.json-types).
 *
 * The result is bytes (a string of code units 0-255), not text: values of the
 * store are not decoded and encoded again, and its length is the content length.
 * `JSON.stringify` does not change code units from U+0080 to U+00FF, so bytes
 * that are UTF-8 stay UTF-8.
 *
 * (1) Only null, integers, strings and arrays occur: the clients do not know other
 *     types. Doubles are strings, maps and sets are flat arrays, and an integer
 *     beyond ±(2^53 - 1) is a string of its digits.
 * (2) Invalid UTF-8 becomes U+FFFD. The caller of the printers does this once for
 *     a whole text, with `utf8Of`: there is always ASCII between two strings, so
 *     no sequence extends from one string into the next.
 * (3) A text never grows beyond its budget; a larger reply becomes an error. The
 *     length of a string is compared with the rest of the budget before it is
 *     printed, and a long string is printed in pieces: V8 ends the process, without
 *     an exception, when it quotes a string of about 2^28 characters.
 */
import { isUtf8 } from "node:buffer";
import { type Bytes, bytesFromText } from "../../kernel/bytes.ts";
import type { Reply } from "../../store/mod.ts";
import { formatDouble, ok, replyTooLarge } from "../../store/reply/mod.ts";
import { itemsOf, type ListCursor } from "./reply-items.ts";

const OK_RESULT = '{"result":"OK"}';
const NULL_RESULT = '{"result":null}';

export type SpecialReply = Extract<Reply, { readonly kind: string }>;

/** A reply that is not an aggregate, as JSON. Throws `replyTooLarge` above `bytesMax` bytes. */
export type PrintScalar = (reply: Reply, bytesMax: number) => Bytes;

/** One reply as an object with one field. Throws `replyTooLarge` above `bytesMax` bytes. */
export function jsonResult(reply: Reply, bytesMax: number, printScalar: PrintScalar = jsonScalar): Bytes {
  if (reply === ok) return OK_RESULT;
  if (reply === null) return NULL_RESULT;
  if (typeof reply === "object" && "kind" in reply) {
    if (reply.kind === "simple" && reply.text === "OK") return OK_RESULT;
    if (reply.kind === "error") return jsonError(reply.error);
  }
  return `{"result":${printJson(reply, printScalar, bytesMax)}}`;
}

/** `{"error": text}`. The text may quote the caller's bytes. */
export function jsonError({ text }: { readonly text: string }): Bytes {
  return `{"error":${quoted(textBytes(text), Number.POSITIVE_INFINITY)}}`;
}

/** Texts quote the caller's words, and upper case turns some bytes into code units above 255. */
export function textBytes(text: string): Bytes {
  return WIDE.test(text) ? bytesFromText(text) : text;
}

/** keeps (2). Throws `replyTooLarge` if the result has more than `bytesMax` bytes: U+FFFD has three. keeps (3) */
export function utf8Of(bytes: Bytes, bytesMax = Number.POSITIVE_INFINITY): Bytes {
  // The lengths are equal only if all bytes are ASCII.
  if (Buffer.byteLength(bytes, "utf8") === bytes.length) return bytes;
  const buffer = Buffer.from(bytes, "latin1");
  if (isUtf8(buffer)) return bytes;
  let text = "";
  for (let start = 0; start < buffer.length; ) {
    const end = characterStart(buffer, start + PIECE_LENGTH);
    text = within(text + bytesFromText(buffer.utf8Slice(start, end)), bytesMax);
    start = end;
  }
  return text;
}

/** The start of the character at `place`, so that no valid sequence is cut. */
function characterStart(bytes: Buffer, place: number): number {
  if (place >= bytes.length) return bytes.length;
  let start = place;
  while (start > place - SEQUENCE_BYTES_MAX && ((bytes[start] as number) & 0xc0) === 0x80) start -= 1;
  return start;
}

/** A reply of any depth, its scalars printed by `printScalar`. keeps (3) */
export function printJson(reply: Reply, printScalar: PrintScalar, bytesMax: number): Bytes {
  const items = itemsOf(reply);
  if (items === undefined) return printScalar(reply, bytesMax);
  const outer: ListCursor[] = [];
  let cursor: ListCursor = { items, done: 0 };
  let text = "[";
  for (;;) {
    if (cursor.done === cursor.items.length) {
      text += "]";
      const parent = outer.pop();
      if (parent === undefined) return within(text, bytesMax);
      cursor = parent;
      continue;
    }
    if (cursor.done > 0) text += ",";
    const item = cursor.items[cursor.done] as Reply;
    cursor.done += 1;
    const inner = itemsOf(item);
    if (inner === undefined) text = within(text + printScalar(item, bytesMax - text.length), bytesMax);
    else {
      outer.push(cursor);
      cursor = { items: inner, done: 0 };
      text = within(`${text}[`, bytesMax);
    }
  }
}

function within(text: Bytes, bytesMax: number): Bytes {
  if (text.length > bytesMax) throw replyTooLarge;
  return text;
}

/** keeps (1) */
export function jsonScalar(reply: Reply, bytesMax: number): Bytes {
  if (typeof reply === "string") return quoted(reply, bytesMax);
  if (typeof reply === "number" || typeof reply === "bigint") {
    return isExact(reply) ? String(reply) : `"${reply}"`;
  }
  if (reply === null) return "null";
  if (Buffer.isBuffer(reply)) return quotedBuffer(reply, bytesMax);
  if (!("kind" in reply)) throw new TypeError("An aggregate is not a scalar");
  switch (reply.kind) {
    case "nil array":
      return "null";
    case "boolean":
      return reply.value ? "1" : "0";
    case "array in resp3":
      return jsonScalar(reply.elsewhere, bytesMax);
    default:
      return quoted(textOf(reply), bytesMax);
  }
}

/** Whether a JSON reader gets the integer back exactly. */
export function isExact(value: number | bigint): boolean {
  return value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER;
}

/** The text of a special scalar. An error inside an array is its text. */
export function textOf(reply: SpecialReply): Bytes {
  switch (reply.kind) {
    case "simple":
    case "verbatim":
      return reply.text;
    case "double":
      return reply.text ?? formatDouble(reply.value);
    case "error":
      return textBytes(reply.error.text);
    default:
      throw new TypeError(`A reply of kind ${reply.kind} has no text`);
  }
}

/** Code units that are not bytes. */
const WIDE = /[\u0100-\uffff]/;

/** Longer strings are printed in pieces of this length. keeps (3) */
const PIECE_LENGTH = 2 ** 20;
/** Bytes of a character in UTF-8. */
const SEQUENCE_BYTES_MAX = 4;

/** For one-byte strings this is faster than a check whether they need escapes: bench/edge.bench.ts. */
function quoted(bytes: Bytes, bytesMax: number): Bytes {
  if (bytes.length <= PIECE_LENGTH) return within(JSON.stringify(bytes), bytesMax);
  return quotedPieces(bytes.length, bytesMax, (start, end) => bytes.slice(start, end));
}

function quotedBuffer(buffer: Buffer, bytesMax: number): Bytes {
  if (buffer.length <= PIECE_LENGTH) return within(JSON.stringify(buffer.latin1Slice()), bytesMax);
  return quotedPieces(buffer.length, bytesMax, (start, end) => buffer.latin1Slice(start, end));
}

/** The characters of a byte string are independent, so it may be cut anywhere. */
function quotedPieces(length: number, bytesMax: number, pieceOf: (start: number, end: number) => Bytes): Bytes {
  if (length > bytesMax) throw replyTooLarge;
  let text = '"';
  for (let start = 0; start < length; start += PIECE_LENGTH)
    text = within(text + JSON.stringify(pieceOf(start, Math.min(start + PIECE_LENGTH, length))).slice(1, -1), bytesMax);
  return within(`${text}"`, bytesMax);
}

/**
 * Replies as JSON: `{"result": …}` or `{"error": …}` (A.result, A.json-types).
 *
 * The text is made as bytes (a string of code units 0-255), not as text: what
 * the store holds goes out without being decoded and encoded again, and its
 * length is the content length. `JSON.stringify` leaves code units from U+0080
 * to U+00FF alone, so bytes that are UTF-8 stay UTF-8.
 *
 * (1) Only null, integers, strings and arrays occur: the clients know nothing
 *     else. Doubles are strings, maps and sets are flat arrays, and an integer
 *     beyond ±(2^53 - 1) is a string of its digits.
 * (2) Bytes that are no UTF-8 become U+FFFD. That is done once for a whole
 *     text, by `utf8Of`: between two strings there is always ASCII, so no
 *     sequence can run from one into the other. The printers leave it to their
 *     caller.
 * (3) A text never grows beyond the budget it was given; a reply that would is
 *     answered with an error. The length of a string is compared with what is
 *     left before anything of it is printed, and a long one is printed in
 *     pieces: V8 ends the process, without an exception, when it is asked to
 *     quote a string of about 2^28 characters.
 */
import { isUtf8 } from "node:buffer";
import { type Bytes, bytesFromText } from "../../kernel/bytes.ts";
import type { Reply } from "../../store/mod.ts";
import { formatDouble, replyTooLarge } from "../../store/reply/mod.ts";
import { itemsOf, type Place } from "./reply-items.ts";

const OK_RESULT = '{"result":"OK"}';
const NULL_RESULT = '{"result":null}';

export type SpecialReply = Extract<Reply, { readonly kind: string }>;

/** A reply that is not an aggregate, as JSON. Throws `replyTooLarge` when it has more than `bytesMax` bytes. */
export type PrintScalar = (reply: Reply, bytesMax: number) => Bytes;

/** One reply as an object of one field. Throws `replyTooLarge` when it has more than `bytesMax` bytes. */
export function jsonResult(reply: Reply, bytesMax: number): Bytes {
  if (reply === null) return NULL_RESULT;
  if (typeof reply === "object" && "kind" in reply) {
    if (reply.kind === "simple" && reply.text === "OK") return OK_RESULT;
    if (reply.kind === "error") return jsonError(reply.error);
  }
  return `{"result":${printJson(reply, jsonScalar, bytesMax)}}`;
}

/** `{"error": text}`. The text may quote the caller's bytes. */
export function jsonError({ text }: { readonly text: string }): Bytes {
  return `{"error":${quoted(textBytes(text), Number.POSITIVE_INFINITY)}}`;
}

/** Texts quote what the caller sent, and upper case makes code units above 255 of some bytes. */
export function textBytes(text: string): Bytes {
  return WIDE.test(text) ? bytesFromText(text) : text;
}

/** keeps (2). Throws `replyTooLarge` when U+FFFD, which has three bytes, makes more than `bytesMax` of it. keeps (3) */
export function utf8Of(bytes: Bytes, bytesMax = Number.POSITIVE_INFINITY): Bytes {
  // The length in UTF-8 of a string of bytes is its own length only if all of them are ASCII.
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

/** The start of the character that is at a place, or a little before it. No sequence that decodes as one is cut there. */
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
  const outer: Place[] = [];
  let place: Place = { items, done: 0 };
  let text = "[";
  for (;;) {
    if (place.done === place.items.length) {
      text += "]";
      const parent = outer.pop();
      if (parent === undefined) return within(text, bytesMax);
      place = parent;
      continue;
    }
    if (place.done > 0) text += ",";
    const item = place.items[place.done] as Reply;
    place.done += 1;
    const inner = itemsOf(item);
    if (inner === undefined) text = within(text + printScalar(item, bytesMax - text.length), bytesMax);
    else {
      outer.push(place);
      place = { items: inner, done: 0 };
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
    default:
      return quoted(textOf(reply), bytesMax);
  }
}

/** Integers that a reader of JSON gets back as they were. */
export function isExact(value: number | bigint): boolean {
  return value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER;
}

/** What a special scalar spells. An error inside an array has no other form than its text. */
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

/** Code units that are no bytes. */
const WIDE = /[\u0100-\uffff]/;

/** Longer strings are printed in pieces of so many characters. keeps (3) */
const PIECE_LENGTH = 2 ** 20;
/** Of a character in UTF-8. */
const SEQUENCE_BYTES_MAX = 4;

/** Of one-byte strings this is faster than to look whether quotes alone would do: bench/edge.bench.ts. */
function quoted(bytes: Bytes, bytesMax: number): Bytes {
  if (bytes.length <= PIECE_LENGTH) return within(JSON.stringify(bytes), bytesMax);
  return quotedPieces(bytes.length, bytesMax, (start, end) => bytes.slice(start, end));
}

function quotedBuffer(buffer: Buffer, bytesMax: number): Bytes {
  if (buffer.length <= PIECE_LENGTH) return within(JSON.stringify(buffer.latin1Slice()), bytesMax);
  return quotedPieces(buffer.length, bytesMax, (start, end) => buffer.latin1Slice(start, end));
}

/** No character of a byte string depends on its neighbours, so it may be cut anywhere. */
function quotedPieces(length: number, bytesMax: number, pieceOf: (start: number, end: number) => Bytes): Bytes {
  if (length > bytesMax) throw replyTooLarge;
  let text = '"';
  for (let start = 0; start < length; start += PIECE_LENGTH)
    text = within(text + JSON.stringify(pieceOf(start, Math.min(start + PIECE_LENGTH, length))).slice(1, -1), bytesMax);
  return within(`${text}"`, bytesMax);
}

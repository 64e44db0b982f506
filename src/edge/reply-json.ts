/**
 * Replies as JSON: `{"result": …}` or `{"error": …}` (spec: store 1.3).
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
 *     answered with an error.
 */
import { isUtf8 } from "node:buffer";
import { type Bytes, bytesFromText } from "../kernel/bytes.ts";
import { replyTooLarge } from "../store/errors.ts";
import type { Reply } from "../store/mod.ts";
import { formatDouble } from "../store/structures/number-text.ts";
import { itemsOf, type Place } from "./reply-items.ts";

const OK_RESULT = '{"result":"OK"}';
const NULL_RESULT = '{"result":null}';

export type SpecialReply = Extract<Reply, { readonly kind: string }>;

/** A reply that is not an aggregate, as JSON. */
export type PrintScalar = (reply: Reply) => Bytes;

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
  return `{"error":${quoted(textBytes(text))}}`;
}

/** Texts quote what the caller sent, and upper case makes code units above 255 of some bytes. */
export function textBytes(text: string): Bytes {
  return WIDE.test(text) ? bytesFromText(text) : text;
}

/** keeps (2) */
export function utf8Of(bytes: Bytes): Bytes {
  // The length in UTF-8 of a string of bytes is its own length only if all of them are ASCII.
  if (Buffer.byteLength(bytes, "utf8") === bytes.length) return bytes;
  const buffer = Buffer.from(bytes, "latin1");
  return isUtf8(buffer) ? bytes : bytesFromText(buffer.utf8Slice());
}

/** A reply of any depth, its scalars printed by `printScalar`. keeps (3) */
export function printJson(reply: Reply, printScalar: PrintScalar, bytesMax: number): Bytes {
  const items = itemsOf(reply);
  if (items === undefined) return within(printScalar(reply), bytesMax);
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
    if (inner === undefined) text = within(text + printScalar(item), bytesMax);
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
export function jsonScalar(reply: Reply): Bytes {
  if (typeof reply === "string") return quoted(reply);
  if (typeof reply === "number" || typeof reply === "bigint") {
    return isExact(reply) ? String(reply) : `"${reply}"`;
  }
  if (reply === null) return "null";
  if (Buffer.isBuffer(reply)) return quoted(reply.latin1Slice());
  if (!("kind" in reply)) throw new TypeError("An aggregate is not a scalar");
  switch (reply.kind) {
    case "nil array":
      return "null";
    case "boolean":
      return reply.value ? "1" : "0";
    default:
      return quoted(textOf(reply));
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

/** Of one-byte strings this is faster than to look whether quotes alone would do: bench/edge.bench.ts. */
function quoted(bytes: Bytes): Bytes {
  try {
    return JSON.stringify(bytes);
  } catch (error) {
    // The longest string that V8 makes has 2^29 - 24 characters; a value of control characters grows sixfold.
    if (error instanceof RangeError) throw replyTooLarge;
    throw error;
  }
}

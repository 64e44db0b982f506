/**
 * Replies in JSON with long values, which the store has as Buffers: the same bytes
 * as `jsonResult` and `utf8Of` print. A reply that is one such value becomes the
 * body without becoming a string.
 */
import { isUtf8 } from "node:buffer";
import type { Bytes } from "../../../kernel/bytes.ts";
import type { Reply } from "../../../store/mod.ts";
import { replyTooLarge } from "../../../store/reply/mod.ts";
import { jsonResult, jsonScalar, utf8Of } from "../reply-json.ts";
import { escapedBetween, escapedLengthOf, quotedText } from "./json-strings.ts";

/** From this length on a Buffer costs less than the strings in its place. */
const LONG_BYTES_MIN = 1_024;
/** A byte becomes six at most. */
const ESCAPED_BYTES_MAX = 6;

/** The whole body of a reply. Throws `replyTooLarge` if the value takes more than `bytesMax` bytes. */
export function jsonBody(reply: Reply, bytesMax: number): Bytes | Buffer {
  // U+FFFD in the place of invalid bytes is rare, so it may cost strings.
  if (!isLong(reply) || !isUtf8(reply)) return utf8Of(jsonResultWithLong(reply, bytesMax), bytesMax);
  checkRoom(reply, bytesMax);
  return escapedBetween(reply, '{"result":"', '"}');
}

/** As `jsonResult`. Long values among its items are escaped in WebAssembly. */
export function jsonResultWithLong(reply: Reply, bytesMax: number): Bytes {
  return jsonResult(reply, bytesMax, printScalar);
}

function printScalar(reply: Reply, bytesMax: number): Bytes {
  if (!isLong(reply)) return jsonScalar(reply, bytesMax);
  checkRoom(reply, bytesMax);
  return quotedText(reply);
}

function isLong(reply: Reply): reply is Buffer {
  return typeof reply === "object" && Buffer.isBuffer(reply) && reply.length >= LONG_BYTES_MIN;
}

/** Both quotes count. */
function checkRoom(value: Buffer, bytesMax: number): void {
  if (2 + ESCAPED_BYTES_MAX * value.length <= bytesMax) return;
  if (2 + value.length > bytesMax || 2 + escapedLengthOf(value) > bytesMax) throw replyTooLarge;
}

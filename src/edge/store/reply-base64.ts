/**
 * Replies as JSON with `Service-Encoding: base64`: every string, at every
 * depth, is the padded base64 of its bytes (A.encoding).
 *
 * (1) A whole reply of `OK` stays `OK`. Inside an array, `OK` is encoded like any
 *     other string: the official client decodes all elements of an array, and
 *     base64 is never `OK`, whose length is not a multiple of four.
 * (2) The text of `error` is never encoded.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Reply } from "../../store/mod.ts";
import { ok, replyTooLarge } from "../../store/reply/mod.ts";
import { isExact, jsonError, jsonScalar, printJson, textOf, utf8Of } from "./reply-json.ts";

const OK_RESULT = '{"result":"OK"}';

/** One reply as an object with one field. Throws `replyTooLarge` above `bytesMax` bytes. */
export function base64Result(reply: Reply, bytesMax: number): Bytes {
  if (reply === ok || reply === "OK") return OK_RESULT;
  if (typeof reply === "object" && reply !== null) {
    if (Buffer.isBuffer(reply)) {
      if (reply.length === 2 && reply.latin1Slice() === "OK") return OK_RESULT;
    } else if ("kind" in reply) {
      if (reply.kind === "error") return utf8Of(jsonError(reply.error));
      if (reply.kind === "simple" && reply.text === "OK") return OK_RESULT;
    }
  }
  return `{"result":${printJson(reply, base64Scalar, bytesMax)}}`;
}

function base64Scalar(reply: Reply, bytesMax: number): Bytes {
  if (typeof reply === "string") return quotedBase64(reply, bytesMax);
  if (typeof reply === "number" || typeof reply === "bigint") {
    return isExact(reply) ? String(reply) : quotedBase64(String(reply), bytesMax);
  }
  if (reply === null) return "null";
  if (Buffer.isBuffer(reply)) return quotedBase64(reply, bytesMax);
  if (!("kind" in reply)) throw new TypeError("An aggregate is not a scalar");
  if (reply.kind === "nil array" || reply.kind === "boolean") return jsonScalar(reply, bytesMax);
  if (reply.kind === "array in resp3") return base64Scalar(reply.elsewhere, bytesMax);
  return quotedBase64(textOf(reply), bytesMax);
}

/** Checks the length before encoding: `btoa` ends the process if the result is too long for a string. */
function quotedBase64(bytes: Bytes | Buffer, bytesMax: number): Bytes {
  if (Math.ceil(bytes.length / 3) * 4 + 2 > bytesMax) throw replyTooLarge;
  // For one-byte strings, `btoa` is three times as fast as a Buffer: bench/edge.bench.ts.
  return `"${typeof bytes === "string" ? btoa(bytes) : bytes.toString("base64")}"`;
}

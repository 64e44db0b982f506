/**
 * The JSON forms of a command: one array of words (service.md A2), or an array
 * of such arrays (A3, A4; spec: store 1.1).
 *
 * Most bodies hold nothing but strings without `\u`. Those go through
 * `JSON.parse`, over the body read as code units 0-255: each string that comes
 * out is then the word's bytes already, fresh and not cut from the body. What
 * that would get wrong or hold too much of is read again by `json-reader.ts`:
 * numbers, booleans, `\u`, bytes that are no UTF-8, and long bodies, which might
 * nest deeply.
 */
import { isUtf8 } from "node:buffer";
import type { Bytes } from "../kernel/bytes.ts";
import type { RequestFailure } from "./errors.ts";
import { readBatchExactly, readCommandExactly } from "./json-reader.ts";

/** A body up to here cannot cost more than a few MiB, however it nests: bench/edge.bench.ts. */
const QUICK_BYTES_MAX = 65_536;

/** The words of one command; none for `[]`. Throws `malformed`, or a failure that says more. */
export function parseCommand(body: Buffer, malformed: RequestFailure): readonly Bytes[] {
  const value = parseQuickly(body);
  return isWords(value) ? value : readCommandExactly(body, malformed);
}

/** The words of each command, in order. Throws `malformed`, or a failure that says more. */
export function parseBatch(body: Buffer, malformed: RequestFailure): readonly (readonly Bytes[])[] {
  const value = parseQuickly(body);
  return Array.isArray(value) && value.every(isWords) ? value : readBatchExactly(body, malformed);
}

/** The body's value when each string in it is right as bytes; undefined when only the exact reader may say. */
function parseQuickly(body: Buffer): unknown {
  if (body.length > QUICK_BYTES_MAX || !isUtf8(body)) return undefined;
  const text = body.latin1Slice();
  if (text.includes("\\u")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // No JSON: the exact reader finds the same and words the refusal.
    return undefined;
  }
}

function isWords(value: unknown): value is readonly Bytes[] {
  if (!Array.isArray(value)) return false;
  for (const word of value) if (typeof word !== "string") return false;
  return true;
}

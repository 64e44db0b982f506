/**
 * The JSON forms of a command: one array of words (A2), or an array
 * of such arrays (A3, A4; A2.types).
 *
 * Most bodies hold strings without `\u`, and integers. Those go through
 * `JSON.parse`, over the body read as code units 0-255: each string that comes
 * out is then the word's bytes already, fresh and not cut from the body. What
 * that would get wrong or hold too much of is read again by `json-reader.ts`:
 * numbers that were not written as JavaScript writes them, `\u`, bytes that are
 * no UTF-8, and long bodies, which might nest deeply.
 */
import { isUtf8 } from "node:buffer";
import type { Bytes } from "../../kernel/bytes.ts";
import type { RequestFailure } from "../errors.ts";
import { type BatchCommand, readBatchExactly, readCommandExactly } from "./json-reader.ts";

/** Nested as deeply as it may, a body of this size becomes 65,536 arrays: a few MiB. */
const QUICK_BYTES_MAX = 65_536;

/** The words of one command; none for `[]`. Throws `malformed`, or a failure that says more. */
export function parseCommand(body: Buffer, malformed: RequestFailure): readonly Bytes[] {
  const quick = parseQuickly(body);
  if (quick !== undefined && becomesWords(quick.value, quick)) return quick.value;
  return readCommandExactly(body, malformed);
}

/** The words of each command, in order. Throws `malformed`, or a failure that says more. */
export function parseBatch(body: Buffer, malformed: RequestFailure): readonly BatchCommand[] {
  const quick = parseQuickly(body);
  if (quick !== undefined) {
    const { value } = quick;
    if (Array.isArray(value) && value.every((command) => becomesWords(command, quick))) return value;
  }
  return readBatchExactly(body, malformed);
}

interface QuickBody {
  readonly text: Bytes;
  readonly value: unknown;
  /** Looked for when the first number is met. */
  hasOddNumber: boolean | undefined;
}

/** The body's value, if each string in it is right as bytes; undefined when only the exact reader may say. */
function parseQuickly(body: Buffer): QuickBody | undefined {
  if (body.length > QUICK_BYTES_MAX || !isUtf8(body)) return undefined;
  const text = body.latin1Slice();
  if (text.includes("\\u")) return undefined;
  try {
    return { text, value: JSON.parse(text), hasOddNumber: undefined };
  } catch {
    // No JSON: the exact reader finds the same and words the refusal.
    return undefined;
  }
}

/**
 * What begins a number that was not written as JavaScript writes integers: a fraction, an exponent, or minus zero.
 * Strings may match it too, which costs time and nothing else.
 */
const ODD_NUMBER = /[,[\s](?:-0|-?[0-9]+[.eE])/;

/** Whether these are the words of a command. Integers and booleans among them are replaced by their words. */
function becomesWords(value: unknown, body: QuickBody): value is Bytes[] {
  if (!Array.isArray(value)) return false;
  for (let i = 0; i < value.length; i += 1) {
    const word: unknown = value[i];
    if (typeof word === "string") continue;
    if (typeof word === "number" && Number.isSafeInteger(word)) {
      body.hasOddNumber ??= ODD_NUMBER.test(body.text);
      if (body.hasOddNumber) return false;
    } else if (typeof word !== "boolean") return false;
    value[i] = String(word);
  }
  return true;
}

/**
 * The JSON forms of a command: one array of words (A2), or an array
 * of such arrays (A3, A4; A2.types).
 *
 * Most bodies are short and hold strings and integers without white space:
 * `short-words.ts` reads them in one pass. Others go through `JSON.parse`, over
 * the body read as code units 0-255: each resulting string is the bytes of a
 * word, and does not share memory with the body. Bodies that it would read
 * wrongly, or with too much memory, go to `json-reader.ts`: numbers that are not
 * in JavaScript's spelling, `\u`, invalid UTF-8, and long bodies, which might nest
 * deeply.
 */
import { isUtf8 } from "node:buffer";
import type { Bytes } from "../../kernel/bytes.ts";
import type { RequestFailure } from "../errors.ts";
import { type BatchCommand, readBatchExactly, readCommandExactly } from "./json-reader.ts";
import { readShortBatch, readShortCommand } from "./short-words.ts";

/** With the deepest nesting, a body of this size becomes 65,536 arrays: a few MiB. */
const QUICK_BYTES_MAX = 65_536;

/** The words of one command; none for `[]`. Throws `malformed` or a more specific failure. */
export function parseCommand(body: Buffer, malformed: RequestFailure): readonly Bytes[] {
  const short = readShortCommand(body);
  if (short !== undefined) return short;
  const quick = parseQuickly(body);
  if (quick !== undefined && becomesWords(quick.value, quick)) return quick.value;
  return readCommandExactly(body, malformed);
}

/** The words of each command, in order. Throws `malformed` or a more specific failure. */
export function parseBatch(body: Buffer, malformed: RequestFailure): readonly BatchCommand[] {
  const short = readShortBatch(body);
  if (short !== undefined) return short;
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
  /** Determined at the first number. */
  hasOddNumber: boolean | undefined;
}

/** The value of the body, with strings as bytes; undefined if it needs the exact reader. */
function parseQuickly(body: Buffer): QuickBody | undefined {
  if (body.length > QUICK_BYTES_MAX || !isUtf8(body)) return undefined;
  const text = body.latin1Slice();
  if (text.includes("\\u")) return undefined;
  try {
    return { text, value: JSON.parse(text), hasOddNumber: undefined };
  } catch {
    // Invalid JSON: the exact reader fails too, with the right error.
    return undefined;
  }
}

/**
 * The start of a number that is not in JavaScript's spelling of integers: a fraction, an exponent, or minus zero.
 * Strings may match it too, which only costs time.
 */
const ODD_NUMBER = /[,[\s](?:-0|-?[0-9]+[.eE])/;

/** Whether the value is the words of a command. Replaces integers and booleans in it by their words. */
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

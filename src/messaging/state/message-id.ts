/**
 * Ids of messages, schedules and tokens, as text and as numbers.
 *
 *     msg_0000000Bq0Zk3d8Tq2n9        prefix, then 18 digits to base 62: nine for the sequence, nine for the nonce
 *
 * (1) Ids of one prefix sort as text in the order of their sequence, because the number of digits is fixed and the
 *     digits are in the order of ASCII.
 * (2) Each pair of numbers has one text, and each accepted text is the text of its pair.
 * (3) The nonce is random, so the id of another message cannot be guessed from a known one.
 */
import { assert } from "../../kernel/assert.ts";

export interface IdNumbers {
  /** Order of acceptance: 0 to 2^53 - 1. */
  readonly sequence: number;
  /** 0 to 2^53 - 1. */
  readonly nonce: number;
}

/** With the underscore. Other kinds of ids are created elsewhere or chosen by callers. */
export type IdPrefix = "msg_" | "scd_" | "jwt_" | "wfr_";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE = 62;
/** 62^9 is the first power above 2^53. */
const PLACES = 9;
const PREFIX_LENGTH = 4;
const TEXT_LENGTH = PREFIX_LENGTH + 2 * PLACES;

/** The value of each ASCII code as a digit, or -1. */
const digitOfCode = new Int8Array(128).fill(-1);
for (let digit = 0; digit < BASE; digit += 1) digitOfCode[DIGITS.charCodeAt(digit)] = digit;

/** Two digits at a time, which halves the divisions. */
const pairs: readonly string[] = Array.from(
  { length: BASE * BASE },
  (_, value) => `${DIGITS[Math.floor(value / BASE)]}${DIGITS[value % BASE]}`,
);

/** The id of a message. */
export function messageId(sequence: number, nonce: number): string {
  return idText("msg_", { sequence, nonce });
}

/** The numbers of a message's id, or undefined for any other text. */
export function parseMessageId(text: string): IdNumbers | undefined {
  return parseId("msg_", text);
}

export function idText(prefix: IdPrefix, { sequence, nonce }: IdNumbers): string {
  return prefix + digitsOf(sequence) + digitsOf(nonce);
}

/** The numbers of an id with this prefix; undefined for any text that `idText` would not write. */
export function parseId(prefix: IdPrefix, text: string): IdNumbers | undefined {
  if (text.length !== TEXT_LENGTH || !text.startsWith(prefix)) return undefined;
  const sequence = valueAt(text, PREFIX_LENGTH);
  const nonce = valueAt(text, PREFIX_LENGTH + PLACES);
  return sequence === undefined || nonce === undefined ? undefined : { sequence, nonce };
}

function digitsOf(value: number): string {
  assert(Number.isSafeInteger(value) && value >= 0, "an id is made of whole numbers from 0 to 2^53 - 1");
  let rest = value;
  let text = "";
  for (let place = 1; place < PLACES; place += 2) {
    const next = Math.floor(rest / (BASE * BASE));
    text = (pairs[rest - next * BASE * BASE] as string) + text;
    rest = next;
  }
  return (DIGITS[rest] as string) + text;
}

function valueAt(text: string, start: number): number | undefined {
  let value = 0;
  for (let at = start; at < start + PLACES; at += 1) {
    const digit = digitOfCode[text.charCodeAt(at)] ?? -1;
    if (digit < 0) return undefined;
    value = value * BASE + digit;
  }
  // Only the last step can exceed the safe integers, and then the result is at least 2^53: keeps (2).
  return value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}

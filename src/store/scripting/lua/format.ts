/**
 * Integers of `string.format` beyond 32 bits. Lua passes an integer to C as a
 * `long`, which has 64 bits where Redis runs and 32 in WebAssembly; a time in
 * milliseconds would not fit. So these are printed here, as C's printf does.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

/** A conversion of printf, from `%` to its letter. */
export interface Conversion {
  /** Its index in the format. */
  readonly start: number;
  readonly end: number;
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly letter: string;
}

const CONVERSION = /%(?:%|([-+ #0]*)(\d{0,2})(?:\.(\d{0,2}))?(.))/gs;
const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** The conversions of a format that take an argument, in order. */
export function conversionsOf(format: Bytes): readonly Conversion[] {
  const found: Conversion[] = [];
  for (const match of format.matchAll(CONVERSION)) {
    const [text, flags = "", width = "", precision, letter] = match;
    if (letter === undefined) continue;
    found.push({
      start: match.index,
      end: match.index + text.length,
      flags,
      width: Number(width),
      precision: precision === undefined ? undefined : Number(precision),
      letter,
    });
  }
  return found;
}

/** True for a number that the conversion would truncate to 32 bits. */
export function isBeyondLong(letter: string, value: number): boolean {
  if (letter === "d" || letter === "i") return !(value >= INT32_MIN && value <= INT32_MAX);
  return "uoxX".includes(letter) && !(value >= 0 && value <= INT32_MAX);
}

/** The number as the conversion prints it with a `long` of 64 bits. Numbers that do not fit are converted as on x86. */
export function integerText({ letter, flags, width, precision }: Conversion, value: number): Bytes {
  const whole = Number.isFinite(value) ? BigInt(Math.trunc(value)) : INT64_MIN;
  const isSigned = letter === "d" || letter === "i";
  const fitting = whole >= INT64_MIN && whole <= (isSigned ? INT64_MAX : 2n * INT64_MAX + 1n) ? whole : INT64_MIN;
  const number = isSigned ? fitting : BigInt.asUintN(64, fitting);
  const radix = letter === "o" ? 8 : letter === "x" || letter === "X" ? 16 : 10;
  let digits = (number < 0n ? -number : number).toString(radix).padStart(precision ?? 0, "0");
  if (flags.includes("#") && radix === 8 && !digits.startsWith("0")) digits = `0${digits}`;
  let sign = flags.includes("#") && radix === 16 ? "0x" : "";
  if (isSigned) sign = number < 0n ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  const room = width - sign.length;
  if (flags.includes("0") && !flags.includes("-") && precision === undefined) digits = digits.padStart(room, "0");
  const text = flags.includes("-") ? (sign + digits).padEnd(width) : (sign + digits).padStart(width);
  return letter === "X" ? text.toUpperCase() : text;
}

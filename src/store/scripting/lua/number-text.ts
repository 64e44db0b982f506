/** Numbers as C's printf prints them with `%.<digits>g`, which Lua and its libraries use. */
import type { Bytes } from "../../../kernel/bytes.ts";

/** The number with at most `digits` significant digits, without trailing zeros. */
export function formatSignificant(value: number, digits: number): Bytes {
  // A power is computed by a call, and digits are mostly 14 or 17.
  if (Number.isInteger(value) && Math.abs(value) < (digits < 15 ? 10 ** digits : 1e15))
    return Object.is(value, -0) ? "-0" : `${value}`;
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const [mantissa = "", exponentText = "0"] = value.toExponential(digits - 1).split("e");
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= digits) {
    const size = `${Math.abs(exponent)}`.padStart(2, "0");
    return `${withoutZeros(mantissa)}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  return withoutZeros(value.toFixed(Math.max(0, digits - 1 - exponent)));
}

function withoutZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

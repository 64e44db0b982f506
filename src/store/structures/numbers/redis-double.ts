/**
 * A double as Redis 7.0 prints it, and as all versions of Redis put it into the
 * digest of their data: up to 17 digits, so 3.1 is `3.1000000000000001`, where
 * larder and Redis since 7.2 reply with the shortest text.
 */
import type { Bytes } from "../../../kernel/bytes.ts";

/** Significant digits of `%.17g`. */
const DOUBLE_DIGITS = 17;

/** `%.17g`, and `inf`, `-inf`. */
export function doubleOfRedis70(value: number): Bytes {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? "-0" : `${value}`;
  if (!Number.isFinite(value)) return value > 0 ? "inf" : value < 0 ? "-inf" : "nan";

  const [mantissa = "", exponentText = ""] = roundToEven(value).split("e");
  const exponent = Number(exponentText);
  const sign = value < 0 ? "-" : "";
  const digits = mantissa.replace(/[-.]/g, "").replace(/0+$/, "");
  if (exponent < -4 || exponent >= DOUBLE_DIGITS) {
    const exponentDigits = `${Math.abs(exponent)}`.padStart(2, "0");
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? "-" : "+"}${exponentDigits}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return digits.length > exponent + 1 ? `${sign}${whole}.${digits.slice(exponent + 1)}` : `${sign}${whole}`;
}

/** `toExponential` to 17 digits, but a value exactly in the middle is rounded to the even digit, as in C. */
function roundToEven(value: number): string {
  const nearest = value.toExponential(DOUBLE_DIGITS - 1);
  // With one digit more a middle is exact: a double whose digits end there differs from any other by more than that.
  const longer = value.toExponential(DOUBLE_DIGITS);
  const end = longer.indexOf("e");
  if (longer[end - 1] !== "5" || Number(longer[end - 2]) % 2 === 1) return nearest;
  const lower = `${longer.slice(0, end - 1)}${longer.slice(end)}`;
  return isExact(value, longer) ? lower : nearest;
}

/** True if a text with 18 digits is exactly the double. */
function isExact(value: number, text: string): boolean {
  const padded = value.toExponential(100);
  return /^-?\d\.\d{17}0{83}e/.test(padded) && padded.startsWith(text.slice(0, text.indexOf("e")));
}

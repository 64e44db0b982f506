/** Sums of signed 64-bit integers, exact: numbers where they are safe, bigints beyond ±(2^53 - 1). */
import { INTEGER_MAX, INTEGER_MIN } from "./number-text.ts";

/** The sum of two 64-bit integers, or undefined if it exceeds 64 bits. */
export function addIntegers(left: number | bigint, right: number | bigint): number | bigint | undefined {
  if (typeof left === "number" && typeof right === "number") {
    const sum = left + right;
    if (Number.isSafeInteger(sum)) return sum;
  }
  const sum = BigInt(left) + BigInt(right);
  if (sum > INTEGER_MAX || sum < INTEGER_MIN) return undefined;
  return Number.isSafeInteger(Number(sum)) ? Number(sum) : sum;
}

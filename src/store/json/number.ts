/**
 * Numbers of JSON documents. JSON has one kind of number; documents distinguish
 * two, by their spelling:
 *
 *     integer   1, -7, 9223372036854775807     exact from -2^63 to 2^64 - 1
 *     double    1.0, 1e3, -0, 0.5              and every integer beyond that
 *
 * In memory a `number` is a safe integer or a double with a fraction, so nearly
 * all of them need no object; a `bigint` is an integer beyond ±(2^53 - 1),
 * and a `WholeDouble` is a double without a fraction.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { INTEGER_MIN } from "../structures/numbers/number-text.ts";

/** A double without a fraction: 1.0, 1e300, -0.0. */
export class WholeDouble {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

export type JsonNumber = number | bigint | WholeDouble;

const INTEGER_MAX = 2n ** 64n - 1n;
/** `-9223372036854775808` and `18446744073709551615`. */
const INTEGER_LENGTH_MAX = 20;
const FRACTION_OR_EXPONENT = /[.eE]/;

/** The number of a JSON lexeme, which must be valid; undefined if it exceeds all doubles. */
export function numberFrom(lexeme: Bytes): JsonNumber | undefined {
  if (FRACTION_OR_EXPONENT.test(lexeme) || lexeme === "-0") return doubleFrom(Number(lexeme));
  const near = Number(lexeme);
  if (Number.isSafeInteger(near)) return near;
  return lexeme.length > INTEGER_LENGTH_MAX ? doubleFrom(near) : integerFrom(BigInt(lexeme));
}

/** The number as a double, in any spelling; undefined if it is not finite. */
export function doubleFrom(value: number): JsonNumber | undefined {
  if (!Number.isFinite(value)) return undefined;
  return Number.isInteger(value) ? new WholeDouble(value) : value;
}

/** An integer, or the nearest double of one that exceeds 64 bits. */
function integerFrom(value: bigint): JsonNumber | undefined {
  if (value < INTEGER_MIN || value > INTEGER_MAX) return doubleFrom(Number(value));
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}

export function isNumber(node: unknown): node is JsonNumber {
  return typeof node === "number" || typeof node === "bigint" || node instanceof WholeDouble;
}

export function isInteger(number: JsonNumber): number is number | bigint {
  return typeof number === "bigint" || (typeof number === "number" && Number.isInteger(number));
}

/** The nearest double. */
export function doubleOf(number: JsonNumber): number {
  return number instanceof WholeDouble ? number.value : Number(number);
}

/** As JavaScript prints it, with `.0` after a double that would otherwise be read as an integer. */
export function textOfNumber(number: JsonNumber): Bytes {
  if (!(number instanceof WholeDouble)) return `${number}`;
  const text = Object.is(number.value, -0) ? "-0" : `${number.value}`;
  return text.includes("e") ? text : `${text}.0`;
}

/** Undefined if the sum exceeds all doubles. Integers add up to an integer while it fits 64 bits. */
export function sumOf(one: JsonNumber, other: JsonNumber): JsonNumber | undefined {
  if (!isInteger(one) || !isInteger(other)) return doubleFrom(doubleOf(one) + doubleOf(other));
  if (typeof one === "number" && typeof other === "number" && Number.isSafeInteger(one + other)) return one + other;
  return integerFrom(BigInt(one) + BigInt(other));
}

/** Undefined if the product exceeds all doubles. Integers give an integer while it fits 64 bits. */
export function productOf(one: JsonNumber, other: JsonNumber): JsonNumber | undefined {
  if (!isInteger(one) || !isInteger(other)) return doubleFrom(doubleOf(one) * doubleOf(other));
  if (typeof one === "number" && typeof other === "number" && Number.isSafeInteger(one * other))
    // Integers have no negative zero.
    return one * other + 0;
  return integerFrom(BigInt(one) * BigInt(other));
}

/** Negative, zero or positive, by exact value: 1 equals 1.0, and 2^53 + 1 is greater than the double 2^53. */
export function compareNumbers(one: JsonNumber, other: JsonNumber): number {
  const left = one instanceof WholeDouble ? one.value : one;
  const right = other instanceof WholeDouble ? other.value : other;
  return left < right ? -1 : left > right ? 1 : 0;
}

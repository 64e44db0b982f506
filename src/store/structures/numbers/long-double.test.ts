/** Sums in 80 bits: by hand, and random ones against the real server's INCRBYFLOAT. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { redisMissing, startRedis } from "../../../../test/differential/redis-process.ts";
import { type Random, seededRandom } from "../../../kernel/random.ts";
import { addLongDoubles, formatLongDouble, isInfinite, parseLongDouble } from "./long-double.ts";

/** The sum as text, `refused` for an invalid number, `not finite` for an infinite or NaN sum. */
function sum(one: string, other: string): string {
  const left = parseLongDouble(one);
  const right = parseLongDouble(other);
  if (left === undefined || right === undefined) return "refused";
  const result = addLongDoubles(left, right);
  return result === undefined ? "not finite" : formatLongDouble(result);
}

const sums: readonly (readonly [one: string, other: string, expected: string])[] = [
  ["0.1", "0.2", "0.3"],
  ["10.5", "0.1", "10.6"],
  ["5.0e3", "2.0e2", "5200"],
  ["1.5", "1.5", "3"],
  ["3", "-5", "-2"],
  ["5", "-5", "0"],
  ["-0", "0", "0"],
  ["-0.1", "0.1", "0"],
  ["-1e-30", "0", "0"],
  ["1e-17", "0", "0.00000000000000001"],
  ["0x10", "1", "17"],
  ["0x1.8p1", ".5", "3.5"],
  ["17179869184", "1.5", "17179869185.5"],
  ["9223372036854775807", "1", "9223372036854775808"],
  ["18446744073709551615", "1", "18446744073709551616"],
  ["18446744073709551616", "1", "18446744073709551616"],
  ["18446744073709551616", "3", "18446744073709551620"],
  ["123456789.123456789", "0", "123456789.12345678899873747"],
  ["1e-4951", "1", "refused"],
  ["4e-4951", "1", "1"],
  ["1e4933", "1", "refused"],
  ["1e999999999999", "1", "refused"],
  ["1e-999999999999", "1", "refused"],
  ["0e999999999999", "1", "1"],
  ["1.18973149535723176e4932", "1.18973149535723176e4932", "not finite"],
  ["inf", "1", "not finite"],
  ["inf", "-inf", "not finite"],
  ["nan", "1", "refused"],
  ["", "1", "refused"],
  [" 1", "1", "refused"],
  ["1 ", "1", "refused"],
  ["1\x00", "1", "refused"],
  ["1e", "1", "refused"],
  [".", "1", "refused"],
  ["+-1", "1", "refused"],
  ["0x", "1", "refused"],
  ["1,5", "1", "refused"],
  ["1".repeat(5_120), "1", "refused"],
];

test("sums are those of an 80-bit long double, printed with at most 17 digits after the point", () => {
  for (const [one, other, expected] of sums) assert.equal(sum(one, other), expected, `${one} + ${other}`);
});

test("infinities are numbers until they are added", () => {
  for (const text of ["inf", "+inf", "-inf", "Infinity", "-INFINITY"]) {
    const value = parseLongDouble(text);
    assert.ok(value !== undefined && isInfinite(value), text);
  }
  assert.equal(parseLongDouble("info"), undefined);
});

test("any text of Redis' maximum length is read fast", () => {
  for (const text of [
    `1${"0".repeat(5_118)}`,
    `0.${"0".repeat(4_900)}1`,
    `${"9".repeat(4_000)}e-4000`,
    `0x${"f".repeat(5_000)}p-20000`,
    `${"1".repeat(5_118)}x`,
  ]) {
    parseLongDouble(text);
  }
  assert.equal(sum(`${"9".repeat(4_000)}e-4000`, "0"), "1");
});

test("random sums are redis-server's to the last digit", { skip: redisMissing }, async () => {
  const seed = Number(process.env["FLOAT_SEED"] ?? 20_260_101);
  const random = seededRandom(seed);
  const redis = await startRedis();
  try {
    const pairs = Array.from({ length: 8_000 }, () => [randomNumber(random), randomNumber(random)] as const);

    const replies = await redis.pipeline(
      pairs.flatMap(([one, other]) => [
        ["SET", "k", one],
        ["INCRBYFLOAT", "k", other],
      ]),
    );

    for (const [i, [one, other]] of pairs.entries()) {
      const reply = replies[2 * i + 1];
      const theirs =
        typeof reply === "string"
          ? reply
          : JSON.stringify(reply).includes("not a valid float")
            ? "refused"
            : "not finite";
      assert.equal(sum(one, other), theirs, `${one} + ${other}; replay with FLOAT_SEED=${seed}`);
    }
  } finally {
    await redis.stop();
  }
});

/** Numbers of all sizes and notations, many near each other so that sums cancel, and a few invalid ones. */
function randomNumber(random: Random): string {
  const sign = ["", "", "-", "+"][random.below(4)] ?? "";
  const digits = (countMax: number): string =>
    Array.from({ length: 1 + random.below(countMax) }, () => `${random.below(10)}`).join("");
  const hexDigits = (): string => random.below(2 ** 32).toString(16) + random.below(2 ** 32).toString(16);
  switch (random.below(10)) {
    case 0:
      return `${sign}${digits(20)}`;
    case 1:
      return `${sign}${digits(20)}.${digits(20)}`;
    case 2:
      return `${sign}${digits(3)}.${digits(3)}`;
    case 3:
      return `${sign}0.${"0".repeat(random.below(20))}${digits(20)}`;
    case 4:
      return `${sign}${digits(19)}.${digits(5)}e${random.below(40) - 20}`;
    case 5:
      return `${sign}${digits(5)}e${random.below(10_000) - 5_000}`;
    case 6:
      return `${sign}0x${hexDigits()}.${hexDigits()}p${random.below(160) - 80}`;
    case 7:
      return `${sign}0x1.${hexDigits()}${hexDigits()}p${random.below(33_000) - 16_500}`;
    case 8:
      return `${sign}${2n ** BigInt(random.below(90)) + BigInt(random.below(5)) - 2n}.5`;
    default:
      return ["", ".", "1e5.", "--1", "1e+", "infinit", "0x1p", "nan(1)", "1_0", "inf"][random.below(10)] ?? "";
  }
}

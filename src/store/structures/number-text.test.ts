/** Integers and doubles as text: by hand, and random ones against the real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { redisMissing, startRedis } from "../../../test/differential/redis-process.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { formatDouble, parseFloat64, parseInteger } from "./number-text.ts";

const integers: readonly (readonly [text: string, expected: number | bigint | undefined])[] = [
  ["0", 0],
  ["7", 7],
  ["-1", -1],
  ["10", 10],
  ["999999999999999", 999_999_999_999_999],
  ["9007199254740991", 9_007_199_254_740_991],
  ["9007199254740992", 9_007_199_254_740_992n],
  ["9007199254740993", 9_007_199_254_740_993n],
  ["-9007199254740991", -9_007_199_254_740_991],
  ["-9007199254740992", -9_007_199_254_740_992n],
  ["9223372036854775807", 9_223_372_036_854_775_807n],
  ["9223372036854775808", undefined],
  ["-9223372036854775808", -9_223_372_036_854_775_808n],
  ["-9223372036854775809", undefined],
  ["99999999999999999999", undefined],
  ["", undefined],
  ["-", undefined],
  ["-0", undefined],
  ["00", undefined],
  ["01", undefined],
  ["-01", undefined],
  ["+1", undefined],
  [" 1", undefined],
  ["1 ", undefined],
  ["1.0", undefined],
  ["1e3", undefined],
  ["0x1", undefined],
  ["1\x00", undefined],
  ["\xb2", undefined],
  ["123456789012345678901", undefined],
];

test("an integer is what printing it gives back, within 64 bits", () => {
  for (const [text, expected] of integers) assert.equal(parseInteger(text), expected, JSON.stringify(text));
});

const doubles: readonly (readonly [text: string, expected: number | undefined])[] = [
  ["0", 0],
  ["-0", -0],
  ["1.", 1],
  [".5", 0.5],
  ["+5", 5],
  ["1e3", 1_000],
  ["1E-3", 0.001],
  ["007", 7],
  ["0x1p3", 8],
  ["0X1.8P+1", 3],
  ["-0x.8", -0.5],
  ["0x1p-1074", 5e-324],
  ["0x1p-1075", undefined],
  ["0x1.8p-1075", 5e-324],
  ["0x1.fffffffffffff7p1023", 1.7976931348623157e308],
  ["0x1.fffffffffffff8p1023", undefined],
  ["0x1.00000000000008p0", 1],
  ["0x1.00000000000018p0", 1.0000000000000004],
  ["inf", Number.POSITIVE_INFINITY],
  ["-InFinity", Number.NEGATIVE_INFINITY],
  ["4.9e-324", 5e-324],
  ["1e308", 1e308],
  ["1e309", undefined],
  ["1e-400", undefined],
  ["0e-400", 0],
  ["0.0e999999999999999999", 0],
  ["nan", undefined],
  ["", undefined],
  ["-", undefined],
  [".", undefined],
  ["e5", undefined],
  ["1e", undefined],
  ["1e+", undefined],
  ["0x", undefined],
  ["0x.p1", undefined],
  ["0x1p", undefined],
  ["1_000", undefined],
  [" 1", undefined],
  ["1 ", undefined],
  ["1\n", undefined],
  ["1\x00", undefined],
  ["0b1", undefined],
  ["0o7", undefined],
  ["infinit", undefined],
];

test("a double is what strtod takes, without spaces, NaN, overflow and underflow", () => {
  for (const [text, expected] of doubles) assert.equal(parseFloat64(text), expected, JSON.stringify(text));
});

test("a long text that is no number is refused in linear time", () => {
  assert.equal(parseFloat64(`${"1".repeat(1_000_000)}x`), undefined);
  assert.equal(parseFloat64(`0x${"1".repeat(1_000_000)}x`), undefined);
  assert.equal(parseFloat64(`${"0".repeat(1_000_000)}e-5`), 0);
});

const printed: readonly (readonly [value: number, expected: string])[] = [
  [0, "0"],
  [-0, "-0"],
  [1, "1"],
  [-17, "-17"],
  [3.1, "3.1000000000000001"],
  [0.1, "0.10000000000000001"],
  [0.5, "0.5"],
  [-2.25, "-2.25"],
  [100.5, "100.5"],
  [0.0001, "0.0001"],
  [0.00001, "1.0000000000000001e-05"],
  [1e16, "10000000000000000"],
  [9007199254740992, "9007199254740992"],
  [12345678901234568, "12345678901234568"],
  [1e17, "1e+17"],
  [1.5e300, "1.5000000000000001e+300"],
  [5e-324, "4.9406564584124654e-324"],
  [1.7976931348623157e308, "1.7976931348623157e+308"],
  // Exactly in the middle of two texts of 17 digits.
  [2 ** -25, "2.9802322387695312e-08"],
  [-(2 ** -25), "-2.9802322387695312e-08"],
  [3 * 2 ** -25, "8.9406967163085938e-08"],
  [Number.POSITIVE_INFINITY, "inf"],
  [Number.NEGATIVE_INFINITY, "-inf"],
];

test("a double is printed with up to 17 digits, as %.17g does", () => {
  for (const [value, expected] of printed) assert.equal(formatDouble(value), expected);
});

test("random scores come back as redis-server prints them", { skip: redisMissing }, async () => {
  const seed = Number(process.env["FLOAT_SEED"] ?? 20_260_101);
  const random = seededRandom(seed);
  const redis = await startRedis(["--zset-max-listpack-entries", "0"]);
  try {
    const texts = Array.from({ length: 10_000 }, () => randomDouble(random));

    const replies = await redis.pipeline(
      texts.flatMap((text) => [
        ["ZADD", "z", text, "m"],
        ["ZSCORE", "z", "m"],
      ]),
    );

    for (const [i, text] of texts.entries()) {
      const refused = typeof replies[2 * i] !== "number";
      const ours = parseFloat64(text);
      assert.equal(ours === undefined, refused, `${text}; replay with FLOAT_SEED=${seed}`);
      if (ours !== undefined)
        assert.equal(formatDouble(ours), replies[2 * i + 1], `${text}; replay with FLOAT_SEED=${seed}`);
    }
  } finally {
    await redis.stop();
  }
});

/** Doubles of all bit patterns, short decimals, middles between two texts, hexadecimal, and a few non-numbers. */
function randomDouble(random: Random): string {
  const bits = new DataView(new ArrayBuffer(8));
  switch (random.below(7)) {
    case 0:
      bits.setUint32(0, random.below(2 ** 32));
      bits.setUint32(4, random.below(2 ** 32));
      return `${bits.getFloat64(0)}`;
    case 1:
      return `${(random.below(2_000_000) - 1_000_000) / 1_000}`;
    case 2:
      return `${random.below(2 ** 20) * 2 ** -(random.below(60) + 1)}`;
    case 3:
      return `${BigInt(random.below(2 ** 32)) * BigInt(random.below(2 ** 31)) - 2n ** 61n}`;
    case 4:
      return `0x${random.below(2 ** 32).toString(16)}.${random.below(2 ** 32).toString(16)}p${random.below(2_200) - 1_100}`;
    case 5:
      return `${random.below(100_000)}.${random.below(100_000)}e${random.below(680) - 340}`;
    default:
      return ["", "-", "1e", "0x1p", "inf", "-INF", "nan", "1..", "+.5", "1e5 "][random.below(10)] ?? "";
  }
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { parseFloat64 } from "../../src/store/structures/numbers/number-text.ts";
import { doubleOfRedis70 } from "../../src/store/structures/numbers/redis-double.ts";
import { redisMissing, startRedis } from "./redis-process.ts";

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
  // Exactly halfway between two texts of 17 digits.
  [2 ** -25, "2.9802322387695312e-08"],
  [-(2 ** -25), "-2.9802322387695312e-08"],
  [3 * 2 ** -25, "8.9406967163085938e-08"],
  [Number.POSITIVE_INFINITY, "inf"],
  [Number.NEGATIVE_INFINITY, "-inf"],
];

test("a double is printed with up to 17 digits, as %.17g does", () => {
  for (const [value, expected] of printed) assert.equal(doubleOfRedis70(value), expected);
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
        assert.equal(doubleOfRedis70(ours), replies[2 * i + 1], `${text}; replay with FLOAT_SEED=${seed}`);
    }
  } finally {
    await redis.stop();
  }
});

/** Doubles of all bit patterns, short decimals, midpoints of two texts, hexadecimal, and a few non-numbers. */
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

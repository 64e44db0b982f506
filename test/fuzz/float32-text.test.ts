/**
 * Text of floats at random: printed text is the shortest decimal that a
 * plain search finds, and parsed values are `Math.fround` of JavaScript's own
 * reading.
 *
 * Run again:  LARDER_FLOAT_TEXT_SEED=… npm run t -- test/fuzz/float32-text.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { JsonDocument } from "../../src/kernel/float32/document.ts";
import { float32Texts } from "../../src/kernel/float32/text.ts";
import { plainFloat32Text } from "../../src/kernel/float32/text.virtual.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";

const seed = seedFrom("LARDER_FLOAT_TEXT_SEED");
const BATCH_COUNT = 500;

test("every power of two and of ten, its neighbours and the smallest floats print as a plain search finds", () => {
  const patterns: number[] = [];
  for (let exponent = 0; exponent < 255; exponent += 1)
    for (const significand of [0, 1, 2, 0x400000, 0x7ffffe, 0x7fffff]) patterns.push((exponent << 23) | significand);
  for (let power = -45; power <= 38; power += 1) {
    for (const digits of [1, 2, 5, 9, 15, 99]) {
      const bits = bitsOf(Number(`${digits}e${power}`));
      for (const pattern of [bits - 1, bits, bits + 1])
        if (pattern >= 0 && pattern < 0x7f800000) patterns.push(pattern);
    }
  }
  for (let pattern = 0; pattern < 3_000; pattern += 1) patterns.push(pattern);
  checkPrinted([...patterns, ...patterns.map((bits) => bits + 2 ** 31)]);
});

test("random floats print as a plain search finds", (context) => {
  const random = seededRandom(seed);
  const count = repeat(() =>
    checkPrinted(
      Array.from({ length: BATCH_COUNT }, () => {
        const bits = random.below(2 ** 32);
        // Values that are not finite have no text.
        return (bits & 0x7f800000) === 0x7f800000 ? 0 : bits;
      }),
    ),
  );
  context.diagnostic(`SEED=${seed}: ${count} floats printed`);
});

test("random numbers are read as JavaScript reads them", (context) => {
  const random = seededRandom(seed);
  const count = repeat(() => {
    const texts = Array.from({ length: BATCH_COUNT }, () => drawNumber(random));
    const finite = texts.filter((text) => Number.isFinite(Math.fround(Number(text))));
    const separator = [",", ", ", " ,\n"][random.below(3)] ?? ",";

    const read = readFloats(finite.join(separator));

    assert.ok(typeof read !== "string", `SEED=${seed} ${read}`);
    for (const [index, text] of finite.entries())
      assert.ok(Object.is(read[index], Math.fround(Number(text))), `SEED=${seed} ${text} read as ${read[index]}`);
    for (const text of texts)
      if (!finite.includes(text)) assert.equal(readFloats(text), "out of range", `SEED=${seed} ${text}`);
  });
  context.diagnostic(`SEED=${seed}: ${count} numbers read`);
});

/** Runs batches until the allowance of a test is used up. Returns the number of floats. */
function repeat(once: () => void): number {
  const allowance = allowanceOf("float32-text");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs / 2 : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count / 2 : Number.POSITIVE_INFINITY;
  let count = 0;
  for (; count < countMax && systemClock.monotonicMs() < endMs; count += BATCH_COUNT) once();
  return count;
}

function readFloats(numbers: string): Float32Array | string {
  return new JsonDocument(Buffer.from(`[${numbers}]`)).readFloats(0, BATCH_COUNT);
}

function checkPrinted(patterns: readonly number[]): void {
  const values = new Float32Array(Uint32Array.from(patterns).buffer);
  const texts = float32Texts(values);
  for (const [index, value] of values.entries())
    if (texts[index] !== plainFloat32Text(value))
      assert.fail(`SEED=${seed} ${patterns[index]?.toString(16)}: ${texts[index]} is not ${plainFloat32Text(value)}`);
}

const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);

function bitsOf(value: number): number {
  float[0] = value;
  return word[0] ?? 0;
}

function floatOf(bits: number): number {
  word[0] = bits;
  return float[0] ?? 0;
}

/** A JSON number: as clients send it, between two floats, and as no client sends it. */
function drawNumber(random: Random): string {
  const digits = (countMax: number): string =>
    Array.from({ length: 1 + random.below(countMax) }, () => random.below(10)).join("");
  const whole = (): string => (random.below(3) === 0 ? "0" : `${1 + random.below(9)}${digits(25).slice(1)}`);
  const sign = random.below(2) === 0 ? "-" : "";
  const bits = random.below(0x7f7fffff);
  const middle = (floatOf(bits) + floatOf(bits + 1)) / 2;
  switch (random.below(8)) {
    case 0:
      return String(random.unit() * 2 - 1);
    case 1:
      return String(floatOf(bits));
    case 2:
      return `${sign}${middle}`;
    case 3:
      return `${sign}${middle.toPrecision(9 + random.below(80))}`;
    case 4:
      return `${sign}${middle.toPrecision(100).replace(/(?=e|$)/, middle < 1 ? "1" : "")}`;
    case 5:
      return `${sign}0.${"0".repeat(random.below(50))}${digits(40)}`;
    case 6:
      return `${sign}${whole()}.${digits(30)}`;
    default:
      return `${sign}${whole()}${random.below(2) === 0 ? `.${digits(30)}` : ""}${"eE"[random.below(2)]}${["", "+", "-"][random.below(3)]}${random.below(60)}`;
  }
}

/**
 * Arithmetic on JSON documents by its published rules: integers are exact while
 * 64 bits represent them and doubles beyond, a number with a fraction or an exponent
 * is a double, no result is out of range for doubles, and printed numbers parse back
 * to the same value. BigInt is the reference for integers, JavaScript for doubles.
 *
 * Run again:  LARDER_JSON_SEED=… npm run t -- test/fuzz/json-numbers.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { ok, type Reply } from "../../src/store/reply/reply.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { error, startSession } from "../harness/store-harness.ts";

const seed = seedFrom("LARDER_JSON_SEED");

const INTEGER_MIN = -(2n ** 63n);
const INTEGER_MAX = 2n ** 64n - 1n;
const OUT_OF_RANGE = error("ERR result is not a finite number");

/** A number as a document stores it. */
type Kept = { readonly integer: bigint } | { readonly double: number };

test("sums and products equal those of BigInt and of doubles", (context) => {
  const random = seededRandom(seed);
  const session = startSession();
  let beyondCount = 0;
  const count = repeat(() => {
    const [lexeme, operand] = [drawLexeme(random), drawLexeme(random)];
    const [one, other] = [keptFrom(lexeme), keptFrom(operand)];
    const isSum = random.below(2) === 0;
    const command = isSum ? "JSON.NUMINCRBY" : "JSON.NUMMULTBY";
    const isLegacy = random.below(2) === 0;
    const where = `SEED=${seed} ${lexeme} ${isSum ? "+" : "*"} ${operand}`;
    assert.deepEqual(session.call("JSON.SET", "key", "$", `{"n":${lexeme}}`), ok, where);
    assert.deepEqual(session.call("JSON.GET", "key", "$.n"), `[${printed(one)}]`, where);

    const result = isSum ? sum(one, other) : product(one, other);
    const reply = session.call(command, "key", isLegacy ? ".n" : "$.n", operand);

    const isBeyond = "double" in result && !Number.isFinite(result.double);
    if (isBeyond) beyondCount += 1;
    const answer = isLegacy ? printed(result) : `[${printed(result)}]`;
    assert.deepEqual(reply, isBeyond ? OUT_OF_RANGE : answer, where);
    const left = isBeyond ? one : result;
    const text = printed(left);
    assert.deepEqual(session.call("JSON.GET", "key", ".n"), text, where);
    assert.deepEqual(session.call("JSON.TYPE", "key", ".n"), "integer" in left ? "integer" : "number", where);
    assert.deepEqual(session.call("JSON.SET", "key", "$.n", text), ok, where);
    assert.deepEqual(session.call("JSON.GET", "key", ".n"), text, `${where}, read back`);
  });
  context.diagnostic(`SEED=${seed}: ${count} results, ${beyondCount} of them beyond all doubles`);
});

test("a sum of integers does not depend on the order in which they are added, nor on the document around them", (context) => {
  const random = seededRandom(seed);
  const session = startSession();
  const count = repeat(() => {
    const addends = Array.from({ length: 1 + random.below(6) }, () => random.below(2 ** 31) * 2 ** 20 - 2 ** 50);
    for (const key of ["forwards", "backwards"]) session.call("JSON.SET", key, "$", '{"x":[0,"0",{"n":0}],"y":0}');
    let last: Reply = null;
    for (const addend of addends) last = session.call("JSON.NUMINCRBY", "forwards", "$..n", `${addend}`);
    for (const addend of addends.toReversed()) session.call("JSON.NUMINCRBY", "backwards", "$..n", `${addend}`);

    const total = addends.reduce((all, addend) => all + BigInt(addend), 0n);
    const where = `SEED=${seed} ${addends.join(" + ")}`;
    assert.deepEqual(last, `[${total}]`, where);
    for (const key of ["forwards", "backwards"])
      assert.deepEqual(session.call("JSON.GET", key), `{"x":[0,"0",{"n":${total}}],"y":0}`, where);
  });
  context.diagnostic(`SEED=${seed}: ${count} sums`);
});

function keptFrom(lexeme: string): Kept {
  if (/[.eE]/.test(lexeme) || lexeme === "-0") return { double: Number(lexeme) };
  return keptInteger(BigInt(lexeme));
}

/** An integer if 64 bits represent it. */
function keptInteger(integer: bigint): Kept {
  return integer >= INTEGER_MIN && integer <= INTEGER_MAX ? { integer } : { double: Number(integer) };
}

function sum(left: Kept, right: Kept): Kept {
  if ("integer" in left && "integer" in right) return keptInteger(left.integer + right.integer);
  return { double: doubleOf(left) + doubleOf(right) };
}

function product(left: Kept, right: Kept): Kept {
  if ("integer" in left && "integer" in right) return keptInteger(left.integer * right.integer);
  return { double: doubleOf(left) * doubleOf(right) };
}

function doubleOf(kept: Kept): number {
  return "double" in kept ? kept.double : Number(kept.integer);
}

/** The text of a double is never that of an integer. */
function printed(kept: Kept): string {
  if ("integer" in kept) return `${kept.integer}`;
  const text = Object.is(kept.double, -0) ? "-0" : `${kept.double}`;
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** A number in any JSON spelling, often near a bound of integers. */
function drawLexeme(random: Random): string {
  const sign = random.below(2) === 0 ? "-" : "";
  switch (random.below(6)) {
    case 0:
      return `${sign}${random.below(100)}`;
    case 1: {
      const bound = 2n ** BigInt([31, 32, 53, 62, 63, 64][random.below(6)] ?? 0);
      const near = bound + BigInt(random.below(5) - 2);
      return `${sign}${near}`;
    }
    case 2:
      return `${sign}${1 + random.below(9)}${drawDigits(random, random.below(22))}`;
    case 3:
      return `${sign}${random.below(1_000)}.${drawDigits(random, 1 + random.below(18))}`;
    case 4:
      return `${sign}${random.below(10)}${random.below(2) === 0 ? "" : ".5"}e${random.below(616) - 308}`;
    default:
      return `${sign}${random.below(10)}E${random.below(2) === 0 ? "+" : "-"}${random.below(20)}`;
  }
}

function drawDigits(random: Random, count: number): string {
  return Array.from({ length: count }, () => random.below(10)).join("");
}

/** Half of the suite's allowance for each of the two tests. Returns the number of runs. */
function repeat(once: () => void): number {
  const allowance = allowanceOf("json-numbers");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs / 2 : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count / 2 : Number.POSITIVE_INFINITY;
  let count = 0;
  for (; count < countMax && systemClock.monotonicMs() < endMs; count += 1) once();
  return count;
}

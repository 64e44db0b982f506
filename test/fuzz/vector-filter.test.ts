/**
 * Metadata filters at random: random ones select random records as a plain
 * evaluation of the same filter does, and other texts are refused by a
 * `FilterFailure` quickly.
 *
 * Run again:  LARDER_VECTOR_FILTER_SEED=… npm run t -- test/fuzz/vector-filter.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { FilterFailure } from "../../src/vector/filter/failure.ts";
import { compileFilter, type Filter } from "../../src/vector/filter/filter.ts";
import { parseMetadata } from "../../src/vector/filter/json.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import {
  drawNode,
  drawObject,
  holds,
  jsonOf,
  names,
  patterns,
  pick,
  spell,
  strings,
  words,
} from "../simulation/vector/plain-filter.ts";

const seed = seedFrom("LARDER_VECTOR_FILTER_SEED");

test("B2.filter: a compiled filter decides as a plain evaluation does", (context) => {
  const random = seededRandom(seed);
  let passed = 0;
  const count = repeat(() => {
    const node = drawNode(random, 3);
    const text = spell(random, node);
    const filter = compile(text);
    for (let i = 0; i < 4; i += 1) {
      const value = drawObject(random, 3);
      const metadata = parseMetadata(jsonOf(value));
      const where = `SEED=${seed} ${text} on ${jsonOf(value)}`;
      assert.equal(filter.matches(metadata), holds(node, value), where);
      if (filter.matches(metadata)) passed += 1;
    }
  });
  assert.ok(count < 1_000 || (passed > count / 4 && passed < 3.75 * count), `${passed} of ${4 * count} records passed`);
  context.diagnostic(`SEED=${seed}: ${count} filters, ${passed} of ${4 * count} records passed`);
});

test("B-04: every text compiles or is refused, and none takes long", (context) => {
  const random = seededRandom(seed);
  let compiled = 0;
  const metadata = parseMetadata(jsonOf(drawObject(random, 3)));
  const count = repeat(() => {
    const text = drawJunk(random);
    const startMs = systemClock.monotonicMs();
    const filter = compileOrRefuse(text);
    filter?.matches(metadata);
    // Thousands of times the usual time; a parser that is not linear would exceed it at once.
    assert.ok(systemClock.monotonicMs() - startMs < 2_000, `SEED=${seed} ${JSON.stringify(text)}`);
    if (filter !== undefined) compiled += 1;
  });
  context.diagnostic(`SEED=${seed}: ${count} texts, ${compiled} of them filters`);
});

/** Half of the suite's allowance for each of the two tests. Returns the number of runs. */
function repeat(once: () => void): number {
  const allowance = allowanceOf("vector-filter");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs / 2 : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count / 2 : Number.POSITIVE_INFINITY;
  let count = 0;
  for (; count < countMax && systemClock.monotonicMs() < endMs; count += 1) once();
  return count;
}

function compile(text: string): Filter {
  try {
    return compileFilter(text);
  } catch (error) {
    return assert.fail(`SEED=${seed} ${JSON.stringify(text)}: ${JSON.stringify(error)}`);
  }
}

function compileOrRefuse(text: string): Filter | undefined {
  try {
    return compileFilter(text);
  } catch (error) {
    assert.ok(error instanceof FilterFailure, `SEED=${seed} ${JSON.stringify(text)}: ${String(error)}`);
    assert.match(error.text, /^Invalid filter(?: at character \d+)?: /);
    assert.ok(error.text.length < 300, error.text);
    return undefined;
  }
}

const junk = [
  ...[...words, ...names, ...strings, ...patterns].map((piece) => ` ${piece} `),
  ...["'a'", '"b"', "(", ")", ",", " AND ", " OR ", "HAS FIELD ", "HAS NOT FIELD ", "a[0]", "a[#-1]", "a.b", "[", "]"],
  ...["`", "`a b`", "`a`.", "\\`", "[*]", "*", "a[*]", "a.`b", "`a\\b`", "[*].a"],
  ...["1e999", "-", "+", ".", "#", "a = 1", "(((((", ")))))", "\\", "'", '"', "\0", "\ud800", "\u2028", "ö", " IN ("],
];

function drawJunk(random: Random): string {
  if (random.below(4) === 0) {
    // A filter with one edit.
    const text = spell(random, drawNode(random, 3));
    const at = random.below(text.length + 1);
    return text.slice(0, at) + (random.below(2) === 0 ? pick(random, junk) : "") + text.slice(at + random.below(3));
  }
  const lengthMax = random.below(16) === 0 ? 10_240 : random.below(60);
  const isOnePiece = random.below(4) === 0;
  const piece = pick(random, junk);
  let text = "";
  while (text.length < lengthMax) text += isOnePiece ? piece : pick(random, junk);
  return text;
}

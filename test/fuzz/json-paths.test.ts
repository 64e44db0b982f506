/**
 * JSON paths at random: random paths have the same matches in random documents as a plain
 * implementation of RFC 9535, in the same order and at the same locations, and
 * other texts are refused by a `CommandError` quickly.
 *
 * Run again:  LARDER_JSON_SEED=… npm run t -- test/fuzz/json-paths.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { CommandError } from "../../src/store/errors.ts";
import { parseJson } from "../../src/store/json/parse.ts";
import { parsePath } from "../../src/store/json/path-parser.ts";
import { textOfNode } from "../../src/store/json/print.ts";
import { StepBudget } from "../../src/store/json/step-budget.ts";
import { locationOf, matchesOf } from "../../src/store/json/walk.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { drawSegments, drawValue, follow, jsonOf, latin, pick, spellSegment } from "./plain-json.ts";

const seed = seedFrom("LARDER_JSON_SEED");

test("random paths have the matches of a plain implementation", (context) => {
  const random = seededRandom(seed);
  let foundCount = 0;
  const count = repeat(() => {
    const segments = drawSegments(random, 2);
    const path = `$${segments.map((segment) => spellSegment(random, segment)).join("")}`;
    const document = drawValue(random, 4);
    const text = jsonOf(document);
    const where = `SEED=${seed} ${path} in ${text}`;
    const expected = follow([{ value: document, at: [] }], segments, document);
    const { node } = parseJson(latin(text));
    const found = matchesOf(node, parsePath(latin(path)).segments, new StepBudget());
    assert.deepEqual(
      found.map((match) => [locationOf(match), textOfNode(match.node)]),
      expected.map(({ value, at }) => [
        at.map((step) => (typeof step === "string" ? latin(step) : step)),
        latin(jsonOf(value)),
      ]),
      where,
    );
    foundCount += found.length;
  });
  assert.ok(count < 1_000 || foundCount > count / 2, `${foundCount} nodes found by ${count} paths`);
  context.diagnostic(`SEED=${seed}: ${count} paths found ${foundCount} nodes`);
});

test("A-08: every text is a path or is refused, and none takes long", (context) => {
  const random = seededRandom(seed);
  const { node } = parseJson(latin(jsonOf(drawValue(random, 5))));
  let readCount = 0;
  const count = repeat(() => {
    const text = drawJunk(random);
    const startMs = systemClock.monotonicMs();
    try {
      matchesOf(node, parsePath(latin(text)).segments, new StepBudget());
      readCount += 1;
    } catch (error) {
      assert.ok(error instanceof CommandError, `SEED=${seed} ${JSON.stringify(text)}: ${String(error)}`);
      assert.match(error.text, /^ERR (?:Invalid JSON path at character \d+: |JSON path )/);
      assert.ok(error.text.length < 200, error.text);
    }
    assert.ok(systemClock.monotonicMs() - startMs < 4_000, `SEED=${seed} ${JSON.stringify(text)}`);
  });
  context.diagnostic(`SEED=${seed}: ${count} texts, ${readCount} of them paths`);
});

/** Half of the suite's allowance for each of the two tests. Returns the number of runs. */
function repeat(once: () => void): number {
  const allowance = allowanceOf("json-paths");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs / 2 : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count / 2 : Number.POSITIVE_INFINITY;
  let count = 0;
  for (; count < countMax && systemClock.monotonicMs() < endMs; count += 1) once();
  return count;
}

const junk = [
  ...[
    "$",
    ".",
    "..",
    "*",
    "[",
    "]",
    "(",
    ")",
    "?",
    "@",
    ":",
    ",",
    "-",
    "0",
    "1",
    "99999999999999999999",
    "'",
    '"',
    "\\",
  ],
  ...["==", "=~", "&&", "||", "!", "<=", "null", "true", "length(", "match(@,'(a+)+$')", "count(@..*)", "..*", "[*]"],
  ...["[?@.a]", "[?@==$]", "[?$..[?@]]", "[0]", "['a']", "[::]", " ", "\0", "é", "\u2028", "a", "__proto__", "\\u0041"],
];

function drawJunk(random: Random): string {
  if (random.below(3) === 0) {
    // A path with one edit.
    const segments = drawSegments(random, 2).map((segment) => spellSegment(random, segment));
    const text = `$${segments.join("")}`;
    const at = random.below(text.length + 1);
    return text.slice(0, at) + (random.below(2) === 0 ? pick(random, junk) : "") + text.slice(at + random.below(3));
  }
  const lengthMax = random.below(32) === 0 ? 70_000 : random.below(60);
  const isOnePiece = random.below(4) === 0;
  const piece = pick(random, junk);
  let text = random.below(2) === 0 ? "$" : "";
  while (text.length < lengthMax) text += isOnePiece ? piece : pick(random, junk);
  return text;
}

/**
 * Requests generated from the OpenAPI documents of the areas, and properties of
 * every answer.
 *
 * Run again:  LARDER_API_REQUESTS_SEED=… npm run t -- test/fuzz/api/api-requests.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../src/kernel/clock.ts";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { emptyTally, runRound, type Tally } from "./fuzz-api.ts";
import { plantedFaults } from "./planted-faults.ts";
import { findingLines, operationsNeverDone, operationsNotHit, reportLines } from "./report.ts";
import { faultOf } from "./validate.ts";

const seed = seedFrom("LARDER_API_REQUESTS_SEED", 2 ** 30);
/** Enough that every possible operation has succeeded. */
const MANY_REQUESTS = 20_000;

test("every answer of every operation conforms to its document, for any request", async (context) => {
  const tally = await fuzz();
  for (const line of reportLines(tally, { withCounts: false })) context.diagnostic(line);
  context.diagnostic(`LARDER_API_REQUESTS_SEED=${seed}`);

  assert.deepEqual(tally.findings.slice(0, 5).flatMap(findingLines), []);
  assert.deepEqual(operationsNotHit(tally), []);
  if (tally.requests >= MANY_REQUESTS) assert.deepEqual(operationsNeverDone(tally), []);
});

async function fuzz(): Promise<Tally> {
  const allowance = allowanceOf("api-requests");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count : Number.POSITIVE_INFINITY;
  const tally = emptyTally();
  for (let round = 0; tally.requests < countMax && systemClock.monotonicMs() < endMs; round += 1) {
    // The first round is complete, so that every operation is called.
    await runRound(seed + round, tally, { isOver: () => round > 0 && systemClock.monotonicMs() >= endMs });
  }
  return tally;
}

for (const { name, oracle, bend } of plantedFaults) {
  test(`a planted fault is found: ${name}`, async () => {
    const tally = emptyTally();
    const isFound = (): boolean => tally.findings.some((finding) => finding.oracle === oracle);
    for (let round = 0; round < 3 && !isFound(); round += 1)
      await runRound(7 + round, tally, { bend, isOver: isFound });

    assert.ok(isFound(), JSON.stringify(tally.findings[0]));
  });
}

const shapes = new Map([["Name", { type: "string" } as const]]);
const resolve: Parameters<typeof faultOf>[2] = (schema) =>
  schema.$ref === undefined ? schema : (shapes.get(schema.$ref) ?? {});
const person = {
  type: "object",
  properties: {
    name: { $ref: "Name" },
    age: { type: "integer", minimum: 0 },
    tags: { type: "array", items: { enum: ["a", "b"] } },
  },
  required: ["name"],
} as const;

const judged: readonly (readonly [value: unknown, fault: string | undefined])[] = [
  [{ name: "x" }, undefined],
  [{ name: "x", age: 3, tags: ["a"] }, undefined],
  [{}, "the body.name is missing"],
  [{ name: 3 }, "the body.name is 3 and no string"],
  [{ name: "x", age: -1 }, "the body.age is -1, below 0"],
  [{ name: "x", age: 1.5 }, "the body.age is 1.5 and no integer"],
  [{ name: "x", tags: ["a", "c"] }, 'the body.tags[1] is "c" and none of a, b'],
  [{ name: "x", more: 1 }, "the body.more is not in the document"],
  [[], "the body is [] and no object"],
];
for (const [value, fault] of judged) {
  test(`the shape of ${JSON.stringify(value)}: ${fault ?? "right"}`, () => {
    assert.equal(faultOf(value, person, resolve), fault);
  });
}

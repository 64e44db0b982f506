import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { budgets } from "../budget.ts";
import { batchesOf, count, describeTally, nextBatch, parseTally, printTally, type Tally } from "./tally.ts";

test("every suite in the table names files that run it", () => {
  for (const { suite, files, setting } of budgets) {
    assert.ok(files.length > 0, suite);
    for (const file of files) assert.ok(existsSync(file), `${suite}: ${file}`);
    if (setting !== undefined) continue;
    const texts = files.map((file) => readFileSync(file, "utf8"));
    const isUsed = texts.some((text) => text.includes(`"${suite}"`) || text.includes("testFamilies"));
    assert.ok(isUsed, `${suite} is used by ${files.join(" and ")}`);
  }
});

test("each suite is in one batch, and suites with the same files share one", () => {
  const all = batchesOf([]);
  assert.equal(all.flatMap(({ suites }) => suites).length, budgets.length);
  const shared = batchesOf(["vector-graph-programs", "vector-large-programs"]);
  assert.deepEqual(
    shared.map(({ files, suites }) => [files, suites.map(({ suite }) => suite)]),
    [[["test/simulation/vector/large-programs.test.ts"], ["vector-large-programs", "vector-graph-programs"]]],
  );
  const throughFront = batchesOf(["front-suites", "sessions"]);
  assert.deepEqual(
    throughFront.map(({ suites, setting }) => [suites.map(({ suite }) => suite), setting]),
    [
      [["front-suites"], "three-front"],
      [["sessions"], undefined],
    ],
  );
  assert.throws(() => batchesOf(["no-such-suite"]), /^Error: Unknown suite: no-such-suite\. Suites: differential, /);
});

test("batches take turns, also after failures", () => {
  const batches = batchesOf(["crash-states", "kill-rounds", "soak"]);
  const tally: Tally = new Map();
  const order: string[] = [];
  for (let i = 0; i < 7; i += 1) {
    const batch = nextBatch(batches, tally);
    order.push(batch.suites[0]?.suite ?? "");
    count(tally, batch, i === 1 ? "failed" : "passed");
  }
  const turn = ["crash-states", "kill-rounds", "soak"];
  assert.deepEqual(order, [...turn, ...turn, "crash-states"]);
});

test("a failed batch adds only to batches and failures", () => {
  const [batch] = batchesOf(["kill-rounds"]);
  assert.ok(batch);
  const tally: Tally = new Map();
  count(tally, batch, "passed");
  count(tally, batch, "failed");
  assert.deepEqual(tally.get("kill-rounds"), { counted: 15, batches: 2, failures: 1 });
  assert.deepEqual(parseTally(printTally(tally)), tally);
  assert.equal(
    describeTally(new Map(), tally),
    [
      "| suite | unit | this run | all runs | goal | failures |",
      "|---|---|---|---|---|---|",
      "| kill-rounds | kill -9 rounds of the real program | 0 | 15 | 2,000 | **1** |",
    ].join("\n"),
  );
});

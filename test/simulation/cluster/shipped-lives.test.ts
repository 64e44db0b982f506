/**
 * The journal, recovery and snapshots of the store on a disk whose log is in
 * PostgreSQL: lives of two nodes that take one shard from each other.
 *
 * To repeat:  LARDER_SHIPPED_SEED=… npm run t -- test/simulation/cluster/shipped-lives.test.ts
 * A failure names the seed of its run; with that seed the run comes first.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { throwViolation } from "../seeds.ts";
import { storeSubject } from "../store/store-subject.ts";
import { bodySubject } from "./body-subject.ts";
import { describeShipped, runLinearLives, runShippedLives } from "./shipped-runs.ts";

const seed = seedFrom("LARDER_SHIPPED_SEED");

test("every owner of a shard finds what all earlier ones acknowledged", async (context) => {
  const summary = await runShippedLives({ subject: storeSubject, seed, allowance: allowanceOf("shipped-lives") });
  context.diagnostic(describeShipped(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_SHIPPED_SEED=${failed} npm run t -- test/simulation/cluster/shipped-lives.test.ts`,
  );
  const { violation: _, ...counts } = summary;
  for (const [name, count] of Object.entries(counts))
    if (!["follows", "warmTakeovers", "objects", "removedObjects", "objectTroubles"].includes(name))
      assert.ok(count > 0, `no ${name}`);
});

test("every owner that has followed the shard finds what all earlier owners acknowledged", async (context) => {
  const allowance = allowanceOf("standby-lives");
  const summary = await runShippedLives({ subject: storeSubject, seed, allowance, hasStandbys: true });
  context.diagnostic(describeShipped(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_SHIPPED_SEED=${failed} npm run t -- test/simulation/cluster/shipped-lives.test.ts`,
  );
  assert.ok(summary.follows > 0 && summary.warmTakeovers > 0, "nodes follow the shard and take over");
});

test("every owner finds what was acknowledged when snapshots go to an object store that fails", async (context) => {
  const allowance = allowanceOf("object-lives");
  const summary = await runShippedLives({
    subject: storeSubject,
    seed,
    allowance,
    hasStandbys: true,
    hasObjects: true,
  });
  context.diagnostic(describeShipped(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_SHIPPED_SEED=${failed} npm run t -- test/simulation/cluster/shipped-lives.test.ts`,
  );
  assert.ok(summary.objects > 0, "snapshots are objects");
  if (summary.lives > 200) assert.ok(summary.removedObjects > 0, "replaced objects are removed");
});

test("every owner of a shard reads each live body, however the segments were trimmed", async (context) => {
  const summary = await runShippedLives({ subject: bodySubject, seed, allowance: allowanceOf("body-lives") });
  context.diagnostic(describeShipped(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_SHIPPED_SEED=${failed} npm run t -- test/simulation/cluster/shipped-lives.test.ts`,
  );
});

test("clients of a shard see one linearizable store across its owners", async (context) => {
  const summary = await runLinearLives({ seed, allowance: allowanceOf("linear-lives") });
  context.diagnostic(describeShipped(summary, seed));
  throwViolation(
    summary.violation,
    (failed) => `LARDER_SHIPPED_SEED=${failed} npm run t -- test/simulation/cluster/shipped-lives.test.ts`,
  );
  // How many lives there are is a question of time in the small size.
  assert.ok(summary.operations > summary.lives, `${summary.operations} operations in ${summary.lives} lives`);
});

// A failover lost the snapshot between its repetition and that of the first row after it.
test("the run of seed 792549502, which once failed, passes", async () => {
  const { violation } = await runShippedLives({ subject: storeSubject, seed: 792_549_502, allowance: { count: 1 } });
  throwViolation(violation, (failed) => `seed ${failed}`);
});

test("the same seed runs the same lives", async () => {
  const options = { subject: storeSubject, seed: 7, allowance: { count: 1 } };
  assert.deepEqual(await runShippedLives(options), await runShippedLives(options));
});

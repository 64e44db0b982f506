/** The wait of a change for the nodes of a cluster, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChangeReach } from "../../../edge/admin/routes.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { whenReached } from "./reach.ts";

/** Advances the time in steps of 50 ms until the wait has ended. */
async function waited(
  lacking: (nowMs: number) => Promise<readonly string[]>,
): Promise<readonly [reach: ChangeReach, tookMs: number]> {
  const clock = new VirtualClock();
  const startMs = clock.monotonicMs();
  const asked: number[] = [];
  let reach: ChangeReach | undefined;
  const end = whenReached(5, {
    clock,
    lacking(version) {
      asked.push(version);
      return lacking(clock.monotonicMs() - startMs);
    },
  }).then((value) => {
    reach = value;
  });
  for (let steps = 0; reach === undefined && steps < 1_000; steps += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (reach === undefined) clock.advance(50);
  }
  await end;
  assert.ok(asked.every((version) => version === 5));
  return [reach ?? {}, clock.monotonicMs() - startMs];
}

test("a change is answered at once when all nodes have it", async () => {
  assert.deepEqual(await waited(async () => []), [{ reachedAllNodes: true }, 0]);
});

test("a change waits until the last node has reported it", async () => {
  assert.deepEqual(await waited(async (nowMs) => (nowMs < 1_200 ? ["b"] : [])), [{ reachedAllNodes: true }, 1_200]);
});

test("a change that a node does not report is answered after ten seconds with its name", async () => {
  assert.deepEqual(await waited(async (nowMs) => (nowMs < 3_000 ? ["b", "c"] : ["c"])), [
    { reachedAllNodes: false, missingNodes: ["c"] },
    10_000,
  ]);
});

test("a change is answered after ten seconds when PostgreSQL does not say who has it", async () => {
  const unanswered = Promise.withResolvers<readonly string[]>().promise;
  assert.deepEqual(await waited(() => unanswered), [{ reachedAllNodes: false }, 10_000]);
  const failing = async (nowMs: number): Promise<readonly string[]> => {
    if (nowMs > 1_000) throw new Error("lost");
    return ["b"];
  };
  assert.deepEqual(await waited(failing), [{ reachedAllNodes: false, missingNodes: ["b"] }, 10_000]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { RETENTION_MS, StandbyRetention } from "./standby-retention.ts";

/** `answer` is the first segment that the standby lacks; undefined: no standby. */
function retention(answer: () => number | undefined) {
  const clock = new VirtualClock();
  let asked = 0;
  const kept = new StandbyRetention({
    clock,
    ask: async () => {
      asked += 1;
      return answer();
    },
    onFault: (fault) => assert.fail(String(fault)),
  });
  return { clock, kept, asked: () => asked };
}

test("a segment stays until PostgreSQL has said that the standby has it", async () => {
  let history: number | undefined = 0;
  const { clock, kept } = retention(() => history);
  assert.equal(kept.mayRemove(7), false);
  await Promise.resolve();
  clock.advance(10_000);
  assert.equal(kept.mayRemove(7), false);
  history = 8;
  await Promise.resolve();
  clock.advance(10_000);
  assert.equal(kept.mayRemove(7), false);
  await Promise.resolve();
  assert.deepEqual([kept.mayRemove(7), kept.mayRemove(8)], [true, false]);
});

test("without a standby a segment leaves after one question", async () => {
  const { kept, asked } = retention(() => undefined);
  assert.equal(kept.mayRemove(7), false);
  await Promise.resolve();
  assert.deepEqual([kept.mayRemove(7), kept.mayRemove(8), asked()], [true, true, 1]);
});

test("an answer is believed for half a minute", async () => {
  const { clock, kept } = retention(() => undefined);
  kept.mayRemove(7);
  await Promise.resolve();
  clock.advance(30_001);
  assert.equal(kept.mayRemove(7), false);
});

test("after an hour a segment leaves, whatever the standby has", async () => {
  const { clock, kept } = retention(() => 0);
  assert.equal(kept.mayRemove(7), false);
  clock.advance(RETENTION_MS - 1);
  assert.equal(kept.mayRemove(7), false);
  clock.advance(1);
  assert.equal(kept.mayRemove(7), true);
});

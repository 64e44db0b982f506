import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { type Log, silentLog } from "../../kernel/log.ts";
import { CopyThread } from "./copy-thread.ts";
import type { CopyPlan } from "./copy-worker.ts";
import { newSyncedMemory } from "./synced-place.ts";

const plan: CopyPlan = {
  ...{ address: "s3://bucket/prefix?region=eu-central-1", directory: "/nowhere", version: "1.2.3" },
  ...{ keepMs: 60_000, partMs: 1_000, key: undefined, log: { level: "error", format: "json" } },
  synced: new Map([["store", newSyncedMemory()]]),
};

test("a thread that ends is started again, each time later, and the server goes on", async () => {
  const waits: unknown[] = [];
  let ended = Promise.withResolvers<void>();
  const log: Log = {
    ...silentLog,
    warn: (_event, fields) => {
      waits.push(fields?.["waitMs"]);
      ended.resolve();
    },
  };
  const clock = new VirtualClock(0);
  const workerFile = new URL("data:text/javascript,process.exit(3)");
  const thread = new CopyThread({ plan, log, clock, workerFile, onProblem: () => {} });
  thread.start();
  await ended.promise;
  assert.deepEqual(thread.figures, {
    ...{ address: "s3://bucket/prefix", phase: "starting", storeFault: null, tokens: "no file", areas: [] },
    reason: "its thread ended, and another one is started",
  });
  ended = Promise.withResolvers<void>();
  clock.advance(1_000);
  await ended.promise;
  await thread.close(1_000);
  assert.deepEqual(waits, [1_000, 2_000]);
});

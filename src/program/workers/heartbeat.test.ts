import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { DEAD_CPU_MS, DEAD_CPU_MS_IN_CLUSTER, Heartbeat } from "./heartbeat.ts";

interface Watched {
  readonly clock: VirtualClock;
  readonly heartbeat: Heartbeat;
  readonly seen: string[];
  /** The state of the thread. */
  readonly thread: { progress: number; cpuMs: number | "no answer" | "fails"; isWatched: boolean };
  /** Advances by seconds, in each of which the thread uses this much processor time. */
  pass(seconds: number, cpuMsPerSecond?: number): Promise<void>;
}

function watch(deadCpuMs = DEAD_CPU_MS): Watched {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const thread: Watched["thread"] = { progress: 0, cpuMs: 5_000, isWatched: true };
  const heartbeat = new Heartbeat({
    clock,
    deadCpuMs,
    progress: () => thread.progress,
    cpuMs: async () => {
      if (thread.cpuMs === "no answer") return new Promise(() => {});
      if (thread.cpuMs === "fails") throw new Error("the thread has ended");
      return thread.cpuMs;
    },
    isWatched: () => thread.isWatched,
    onSilent: (isSilent) => seen.push(isSilent ? "silent" : "heard"),
    onDead: () => seen.push("dead"),
  });
  return {
    clock,
    heartbeat,
    seen,
    thread,
    async pass(seconds, cpuMsPerSecond = 1_000) {
      for (let second = 0; second < seconds; second += 1) {
        if (typeof thread.cpuMs === "number") thread.cpuMs += cpuMsPerSecond;
        await clock.advanceAsync(1_000);
      }
    },
  };
}

test("ends a thread of a cluster after 10 s of processor time without progress", async () => {
  const { seen, pass } = watch(DEAD_CPU_MS_IN_CLUSTER);
  await pass(5);
  assert.deepEqual(seen, ["silent"]);
  await pass(5);
  assert.deepEqual(seen, ["silent"]);
  await pass(1);
  assert.deepEqual(seen, ["silent", "dead"]);
});

test("leaves a thread with heartbeats alone", async () => {
  const { heartbeat, seen, pass } = watch();
  for (let second = 0; second < 300; second += 1) {
    await pass(1);
    heartbeat.beat();
  }
  assert.deepEqual(seen, []);
});

test("S-11: reports a thread silent for 5 s, and ends it after 60 s of processor time without progress, once each", async () => {
  const { seen, pass } = watch();
  await pass(4);
  assert.deepEqual(seen, []);
  await pass(1);
  assert.deepEqual(seen, ["silent"]);
  // The first tick reads the initial processor time.
  await pass(55);
  assert.deepEqual(seen, ["silent"]);
  await pass(1);
  assert.deepEqual(seen, ["silent", "dead"]);
  await pass(100);
  assert.deepEqual(seen, ["silent", "dead"]);
});

test("S-11: does not end a silent thread that makes progress", async () => {
  const { thread, seen, pass } = watch();
  for (let second = 0; second < 300; second += 30) {
    await pass(30);
    thread.progress += 1;
  }
  assert.deepEqual(seen, ["silent"]);
});

test("does not end a thread within ten minutes if a busy machine does not let it run", async () => {
  const { seen, pass } = watch();
  await pass(599, 50);
  assert.deepEqual(seen, ["silent"]);
  await pass(1, 50);
  assert.deepEqual(seen, ["silent", "dead"]);
});

test("counts every second of a thread that cannot answer during an uninterruptible call", async () => {
  const { thread, seen, pass } = watch();
  thread.cpuMs = "no answer";
  await pass(60);
  assert.deepEqual(seen, ["silent"]);
  await pass(1);
  assert.deepEqual(seen, ["silent", "dead"]);
});

test("counts every second if the processor time is unknown", async () => {
  const { thread, seen, pass } = watch();
  thread.cpuMs = "fails";
  await pass(61);
  assert.deepEqual(seen, ["silent", "dead"]);
});

test("does not limit the time of a recovery, and watches the thread after it", async () => {
  const { thread, seen, pass } = watch();
  thread.isWatched = false;
  await pass(300);
  assert.deepEqual(seen, ["silent"]);
  thread.isWatched = true;
  await pass(60);
  assert.deepEqual(seen, ["silent"]);
  await pass(1);
  assert.deepEqual(seen, ["silent", "dead"]);
});

test("a thread that sends heartbeats again is no longer silent", async () => {
  const { heartbeat, seen, pass } = watch();
  await pass(30);
  heartbeat.beat();
  await pass(59);
  assert.deepEqual(seen, ["silent", "heard", "silent"]);
});

test("after a stop nothing is reported", async () => {
  const { heartbeat, seen, pass } = watch();
  heartbeat.stop();
  await pass(600);
  assert.deepEqual(seen, []);
});

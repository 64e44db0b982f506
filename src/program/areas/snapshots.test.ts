/** The process that writes a snapshot. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { constants, getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { Snapshots } from "./snapshots.ts";

/** The ids of the running processes that this one started for snapshots. */
function snapshotProcesses(): readonly number[] {
  return readdirSync("/proc/self/task")
    .flatMap((thread) => readFileSync(`/proc/self/task/${thread}/children`, "latin1").split(" "))
    .map(Number)
    .filter((pid) => pid > 0 && readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("internal-snapshot"));
}

test("a snapshot process has less than normal priority from its start", {
  skip: process.platform !== "linux" && "needs /proc",
}, async (context) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "larder-snapshots-"));
  context.after(() => rmSync(dataDirectory, { recursive: true }));
  const snapshots = new Snapshots({ log: silentLog, clock: systemClock, heapBytesOf: () => 2 ** 26 });
  const ready = { prepareSnapshot: async () => {}, finishSnapshot: async () => false };
  snapshots.request({ area: "store", snapshots: ready, dataDirectory });
  let processes = snapshotProcesses();
  while (processes.length === 0) {
    await nextTurn();
    processes = snapshotProcesses();
  }
  assert.deepEqual(
    processes.map((pid) => getPriority(pid)),
    [constants.priority.PRIORITY_BELOW_NORMAL],
  );
  await snapshots.stop();
});

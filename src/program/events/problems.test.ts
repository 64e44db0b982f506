import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { silentLog } from "../../kernel/log.ts";
import { PROBLEMS_MAX, Problems, recordedLog } from "./problems.ts";

test("warnings and errors are kept with the fields of their lines, the newest first, and repeats are counted", () => {
  const clock = new VirtualClock(0);
  const problems = new Problems();
  const log = recordedLog(silentLog, { level: "info", clock, note: (problem) => problems.note(problem) });
  const store = log.with({ area: "store" });
  log.info("serving");
  store.warn("writes are refused", { reason: "disk full", freeBytes: 1 });
  clock.advance(1_000);
  log.error("request failed", { fault: "x".repeat(600), stack: "at secret", code: undefined });
  clock.advance(1_000);
  store.warn("writes are refused", { reason: "disk full", freeBytes: 2 });
  store.warn("writes are refused", { reason: "read-only file system" });
  assert.deepEqual(problems.list(), [
    {
      ...{ time: "1970-01-01T00:00:02.000Z", level: "warn", area: "store", message: "writes are refused" },
      ...{ fields: { reason: "read-only file system" }, count: 1, firstTime: "1970-01-01T00:00:02.000Z" },
    },
    {
      ...{ time: "1970-01-01T00:00:02.000Z", level: "warn", area: "store", message: "writes are refused" },
      ...{ fields: { reason: "disk full", freeBytes: 2 }, count: 2, firstTime: "1970-01-01T00:00:00.000Z" },
    },
    {
      ...{ time: "1970-01-01T00:00:01.000Z", level: "error", area: "server", message: "request failed" },
      ...{ fields: { fault: "x".repeat(500) }, count: 1, firstTime: "1970-01-01T00:00:01.000Z" },
    },
  ]);
});

test("the oldest problem goes when there are too many, and warnings that the log drops are not kept", () => {
  const problems = new Problems();
  const clock = new VirtualClock(0);
  const log = recordedLog(silentLog, { level: "error", clock, note: (problem) => problems.note(problem) });
  log.warn("dropped");
  for (let index = 0; index <= PROBLEMS_MAX; index += 1) log.error(`problem ${index}`);
  const messages = problems.list().map(({ message }) => message);
  assert.equal(messages.length, 100);
  assert.deepEqual([messages[0], messages.at(-1)], ["problem 100", "problem 1"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { measureStore } from "./store.ts";

test("counts commands that do not exist as unknown, over HTTP and RESP, and never by the received name", () => {
  const { store, database, run } = startSession();
  run("NOSUCH a");
  run("OBJECT NOSUCH");
  run("EVAL \"return redis.pcall('NOSUCH')\" 0");
  // It exists only over RESP.
  run("BLPOP k 0");
  // RESP sessions run their commands here.
  database.command({ ...testCaller, transport: "tcp" }, ["OTHER"]);
  run("PING");

  const metrics = new Metrics();
  measureStore(metrics, store);
  const commands = metrics.snapshot().find(({ name }) => name === "larder_store_commands_total");
  const counted = Object.fromEntries(
    (commands?.series ?? []).map(({ labelValues, values }) => [labelValues.join(" "), values[0]]),
  );
  assert.deepEqual(counted, {
    "blpop rejected": 1,
    // As in Redis, because its result is an error.
    "eval failed": 1,
    "ping ok": 1,
    "unknown rejected": 4,
  });
});

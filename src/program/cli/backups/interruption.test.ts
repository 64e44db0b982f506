import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanedUp } from "./interruption.ts";

test("a signal during work cleans up, also for the work around it, and then ends the process", async (context) => {
  const kill = context.mock.method(process, "kill", () => true);
  const before = process.listenerCount("SIGINT");
  const others = process.listeners("SIGINT");
  process.removeAllListeners("SIGINT");
  context.after(() => {
    for (const other of others) process.on("SIGINT", other);
  });
  const cleaned: string[] = [];
  const clean = (name: string) => (): void => void cleaned.push(name);

  await cleanedUp(clean("outer"), () =>
    cleanedUp(clean("inner"), async () => {
      process.emit("SIGINT", "SIGINT");
    }),
  );

  assert.deepEqual(cleaned, ["outer", "inner"]);
  assert.deepEqual(
    kill.mock.calls.map((call) => call.arguments),
    [[process.pid, "SIGINT"]],
  );
  assert.equal(process.listenerCount("SIGINT"), 0);
  assert.equal(await cleanedUp(clean("none"), async () => before), before);
  assert.deepEqual(cleaned, ["outer", "inner"]);
});

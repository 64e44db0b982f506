/** Waiting for a server that starts. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { readSettings } from "../settings/read-settings.ts";
import { awaitServing } from "./running-server.ts";

const reading = readSettings({
  arguments: ["env", "--dev", "--log-level", "error"],
  environment: {},
  readFile: () => "",
});
assert.ok(reading.kind === "run");
const { run } = reading;

function emptyDirectory(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "larder-starting-"));
  context.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

test("a command waits for a larder that has the directory and starts", async (context) => {
  const directory = emptyDirectory(context);
  const clock = new VirtualClock();
  const serving = awaitServing(run, directory, clock);
  await clock.advanceAsync(29_000);
  const addresses = { store: "http://a:1", vector: "http://a:2", messaging: "http://a:3", admin: "http://a:4" };
  writeFileSync(join(directory, "addresses.json"), `${JSON.stringify({ ...addresses, command: "serve", pid: 7 })}\n`);
  await clock.advanceAsync(1_000);
  assert.deepEqual(await serving, { addresses, command: "serve", pid: 7 });
});

test("but not for longer than half a minute", async (context) => {
  const directory = emptyDirectory(context);
  const clock = new VirtualClock();
  const refused = assert.rejects(awaitServing(run, directory, clock), {
    name: "StartRefusal",
    message: `A larder uses ${directory}, but does not serve yet: try again later`,
  });
  await clock.advanceAsync(30_000);
  await refused;
});

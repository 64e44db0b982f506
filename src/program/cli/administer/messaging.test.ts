/** The commands on dead letters, schedules and workflow runs, of a server in this process. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { runCommand } from "../../../../test/harness/command-runner.ts";
import { type Larder, start } from "../../../mod.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-messaging-"));
const dataDir = join(folder, "data");
let larder: Larder;

before(async () => {
  larder = await start({ dataDir });
});
after(async () => {
  await larder.stop();
  rmSync(folder, { recursive: true });
});

const run = (words: string, directory = dataDir) => runCommand(words, directory);

async function request(path: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const authorization = `Bearer ${larder.messaging.token}`;
  const answer = await fetch(`${larder.messaging.url}${path}`, {
    method: "POST",
    headers: { authorization, ...headers },
  });
  assert.ok(answer.ok, await answer.text());
}

test("lists, pauses, resumes, runs and deletes a schedule", async () => {
  await request("/v2/schedules/http://127.0.0.1:9/job", {
    "Upstash-Cron": "0 5 1 1 *",
    "Upstash-Schedule-Id": "nightly",
  });
  const [code, output] = await run("schedules list");
  assert.equal(code, 0);
  assert.match(
    output,
    /^schedule id +cron +paused +next +destination\nnightly +0 5 1 1 \* +false +\d{4}-01-01T05:00:00\.000Z +http:\/\/127\.0\.0\.1:9\/job$/,
  );
  assert.deepEqual(await run("schedules pause nightly"), [0, "paused: nightly"]);
  assert.equal(JSON.parse((await run("schedules list --json"))[1])[0].isPaused, true);
  assert.deepEqual(await run("schedules resume nightly"), [0, "resumed: nightly"]);
  assert.deepEqual(await run("schedules run nightly"), [0, "published: nightly"]);
  assert.deepEqual(await run("schedules delete nightly"), [0, "deleted: nightly"]);
  assert.deepEqual(await run("schedules list"), [0, "schedule id  cron  paused  next  destination"]);
});

test("lists, retries and deletes dead letters", async () => {
  // Nothing listens there, and without retries a failed attempt is a dead letter.
  for (const each of ["a", "b"]) await request(`/v2/publish/http://127.0.0.1:9/${each}`, { "Upstash-Retries": "0" });
  await larder.clock.advance(1_000);
  const letters = JSON.parse((await run("dlq list --json"))[1]);
  assert.deepEqual(letters.map(({ url }: { url: string }) => url).sort(), [
    "http://127.0.0.1:9/a",
    "http://127.0.0.1:9/b",
  ]);
  const [first, second] = letters.map(({ dlqId }: { dlqId: string }) => dlqId);
  assert.deepEqual(await run(`dlq delete ${first}`), [0, `deleted: ${first}`]);
  assert.deepEqual(await run(`dlq retry ${second}`), [0, `published again: ${second}`]);
  await larder.clock.advance(1_000);
  const [, table] = await run("dlq list --count 5");
  assert.match(table, /^dlq id +created +status +destination\n\S+ +\S+Z +\d+ +http:\/\/127\.0\.0\.1:9\/[ab]$/);
});

test("lists the log of messages, latest first", async () => {
  await request("/v2/publish/http://127.0.0.1:9/logged", { "Upstash-Retries": "0" });
  await larder.clock.advance(1_000);
  const [code, table] = await run("logs --count 4");
  assert.equal(code, 0);
  const [heading = "", ...rows] = table.split("\n");
  assert.match(heading, /^time +message id +state +status +url +error$/);
  assert.deepEqual(
    rows.map((row) => /^\d{4}\S+Z +msg_\S+ +(\S+) /.exec(row)?.[1]),
    ["FAILED", "ERROR", "ACTIVE", "CREATED"],
  );
  const [latest] = JSON.parse((await run("logs --json --count 1"))[1]);
  assert.deepEqual([latest.state, latest.url], ["FAILED", "http://127.0.0.1:9/logged"]);
});

test("prints the errors of the API, and refuses an invalid count", async () => {
  assert.deepEqual(await run("runs list"), [0, "run id  state  created  url"]);
  assert.match((await run("runs cancel wfr_none"))[1], /wfr_none/);
  assert.match((await run("schedules pause none"))[1], /none/);
  assert.deepEqual(await run("dlq list --count 0"), [2, '--count: "0" is not a whole number from 1 to 100000']);
  const unused = join(folder, "unused");
  assert.deepEqual(await run("dlq list", unused), [
    1,
    `No larder is running on ${unused}: start it, or inspect the directory with larder check`,
  ]);
  assert.deepEqual(await run("dlq list --user other"), [2, 'There is no messaging user "other": there is main']);
});

/** `larder follow` and `larder promote` from outside. */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { runHere } from "../../harness/command-runner.ts";
import { anyPorts, oneThread, spawnProgram } from "../program-process.ts";
import { KEY, placesOf, send, startCopied, tokensOf, untilComplete } from "./copied-program.ts";

const timeout = 60_000;
const OTHER_KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - 5 * index)).toString("base64");
const env = { LARDER_REPLICATE_KEY: KEY };

test("a follower waits for a copy, continues after a stop, and serves with the tokens of its server when it is told", {
  timeout,
}, async (context) => {
  const { data, restored, copy, address } = placesOf(context);
  const words = ["follow", address, restored, "--interval", "1s", "--log-format", "json", ...oneThread];
  const startFollower = (ports = {}) => spawnProgram(words, { env: { ...anyPorts, ...ports, ...env } });
  const caughtUp = /"event":"the directory has caught up with the copy","generation":1/;
  await using first = startFollower();
  await first.untilPrinted(/"event":"the copy has nothing yet: the directory waits/);
  const early = await runHere(["promote", restored, "--now"]);
  assert.equal(early.code, 1);
  assert.match(early.log, /has nothing to promote: nothing was fetched from the copy yet/);

  await using server = await startCopied(data, address, { args: oneThread, env });
  const tokens = tokensOf(server);
  await send(server, tokens, { area: "store", path: "/set/value/1" });
  await untilComplete(server);
  await first.untilPrinted(caughtUp);
  const [, adminUrl = ""] = await first.untilPrinted(/on the admin port","url":"([^"]+)"/);
  await assertWatched(adminUrl);
  const status = await runHere(["status", "--data-dir", restored, "--json"]);
  assert.equal(status.code, 0, status.output);
  assert.match(
    status.output,
    /"state": "following"[\s\S]*"phase": "following"[\s\S]*"area": "store",\s+"completeTo": "20/,
  );
  assert.deepEqual(await first.stop(), { code: 0, signal: null });
  const stopped = await runHere(["status", "--data-dir", restored]);
  assert.equal(stopped.code, 1);
  assert.match(stopped.output, /^state +not running, no larder follow runs on the directory$/m);
  const refused = await runHere(["check", "--data-dir", restored]);
  assert.match(refused.output, /^problem: .*follows the copy file:.* and is no data directory yet: larder promote /m);

  const backup = await runHere(["backup", `${restored}.tar`, "--data-dir", restored]);
  assert.match(backup.log, /follows the copy file:/);
  cpSync(restored, `${restored}-here`, { recursive: true });
  const adminPort = new URL(adminUrl).port;
  await using second = startFollower({ LARDER_ADMIN_PORT: adminPort });
  await second.untilPrinted(caughtUp);
  await send(server, tokens, { area: "store", path: "/set/value/2" });
  await untilComplete(server);
  await server.kill();
  const otherKey = await runHere(["follow", address, `${restored}-other`], { LARDER_REPLICATE_KEY: OTHER_KEY });
  assert.equal(otherKey.code, 1);
  assert.match(otherKey.log, /its tokens were sealed with another key: set the same LARDER_REPLICATE_KEY/);
  await promoteHere(`${restored}-here`, { copy, data });
  const portTaken = await runHere(["follow", address, `${restored}-other`, "--admin-port", adminPort], env);
  assert.equal(portTaken.code, 1);
  assert.match(portTaken.log, /Port \d+ on 127.0.0.1 is in use: .* choose another with --admin-port/);

  const { code, output, log } = await runHere(["promote", restored]);
  assert.equal(code, 0, log);
  assert.match(output, /^promoted .*, which followed generation 1 of file:.*\nstore: \d+ frames .*; complete to 20/);
  assert.match(output, /^state +ready$/m);
  const promoted = await second.untilRunning();
  assert.equal(promoted.adminUrl, adminUrl);
  assert.deepEqual(await send(promoted, tokens, { area: "store", path: "/get/value" }), { result: "2" });
  assert.equal(existsSync(join(restored, "follow.json")), false);
  const again = await runHere(["promote", restored]);
  assert.match(again.log, /is a data directory already: start larder serve/);
  assert.deepEqual(await second.stop(), { code: 0, signal: null });
});

async function assertWatched(adminUrl: string): Promise<void> {
  const ready = await fetch(`${adminUrl}/health/ready`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /"status":"not ready","areas":\{"store":"following"/);
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
  assert.match(metrics, /^larder_follower_phase\{phase="following"\} 1$/m);
  assert.match(metrics, /^larder_replication_requests_total\{kind="list"\} [1-9]/m);
  assert.match(metrics, /^larder_disk_free_bytes\{area="main"\} [1-9]/m);
}

/** Without a process that follows, and while the store is away. */
async function promoteHere(directory: string, { copy, data }: { copy: string; data: string }): Promise<void> {
  renameSync(copy, `${copy}-away`);
  const refused = await runHere(["promote", directory, "--within", "1s"], env);
  assert.equal(refused.code, 1);
  assert.match(refused.log, /copy/);
  const { code, output, log } = await runHere(["promote", directory, "--now"]);
  assert.equal(code, 0, log);
  assert.match(output, /^start it with: larder serve --data-dir /m);
  const verified = await runHere(["verify", directory]);
  assert.equal(verified.code, 0, verified.log);
  assert.equal(readFileSync(join(directory, "tokens.json"), "utf8"), readFileSync(join(data, "tokens.json"), "utf8"));
  renameSync(`${copy}-away`, copy);
}

test("follow refuses a directory with other files, a data directory, and a wrong address", async (context) => {
  const { data, restored, address } = placesOf(context);
  mkdirSync(data);
  writeFileSync(join(data, "notes.txt"), "");
  const foreign = await runHere(["follow", address, data]);
  assert.deepEqual(
    [foreign.code, foreign.log.includes("is not empty (notes.txt): follow the copy into a new")],
    [1, true],
  );
  writeFileSync(join(data, "format"), "larder data directory, format 1\n");
  const used = await runHere(["follow", address, data]);
  assert.deepEqual([used.code, used.log.includes("is a data directory, which cannot follow")], [1, true]);
  const wrong = await runHere(["follow", "ftp://host/copy", restored]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.log, /The address must begin with s3:\/\/ or file/);
  const none = await runHere(["promote", restored]);
  assert.match(none.log, /does not follow a copy: larder follow makes and updates such a directory/);
});

for (const [words, problem] of [
  [["follow", "file:///copy", "/x", "--interval", "1ms"], /^larder: --interval: "1ms" is not a time from 1s to 1h/],
  [["promote", "/x", "--within", "soon"], /^larder: --within: "soon" is not a time/],
  [["promote", "/x", "--now", "--within", "5s"], /--now does not read the store, so --within has no effect/],
] as const)
  test(`${words.join(" ")} is refused`, async () => {
    const { code, log } = await runHere(words);
    assert.equal(code, 2);
    assert.match(log, problem);
  });

/** `larder token reset` with the real program: with a server, without one, and its errors. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Redis } from "ioredis";
import { type CommandEnd, runHere } from "../harness/command-runner.ts";
import { openStream } from "../harness/event-reader.ts";
import { oneThread, type ProgramEnd, spawnProgram, startProgram } from "./program-process.ts";

const timeout = 60_000;

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

interface Reset {
  readonly end: ProgramEnd;
  readonly log: string;
  readonly token: string;
  readonly readOnlyToken: string;
}

/** Runs `larder token reset` with these arguments. */
async function reset(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Reset> {
  const program = spawnProgram(["token", "reset", ...words], { env });
  const end = await program.ended;
  const printed =
    /^# new tokens of the database (\S+); the old tokens are no longer valid\nUPSTASH_REDIS_REST_TOKEN="(\w{43})"\nKV_REST_API_TOKEN="\2"\nKV_REST_API_READ_ONLY_TOKEN="(\w{43})"\n$/.exec(
      program.output,
    );
  if (end.code === 0) assert.ok(printed !== null, program.output);
  else assert.equal(program.output, "");
  return { end, log: program.log, token: printed?.[2] ?? "", readOnlyToken: printed?.[3] ?? "" };
}

/** Runs it in this process, where it is refused. */
async function refusal(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandEnd> {
  const end = await runHere(["token", "reset", ...words], env);
  assert.equal(end.output, "");
  return end;
}

const done: ProgramEnd = { code: 0, signal: null };

async function status(url: string, token: string): Promise<number> {
  return (await fetch(`${url}/get/k`, { headers: { authorization: `Bearer ${token}` } })).status;
}

test("a running server refuses old tokens at once and ends their streams; the new tokens outlive a kill", {
  timeout,
}, async (context) => {
  const directory = temporaryDirectory(context);
  const args = ["--data-dir", directory];
  await using first = await startProgram("serve", { args });
  const { storeUrl, storeToken, storeReadOnlyToken } = first;
  const stream = await openStream(`${storeUrl}/subscribe/c`, { token: storeToken });
  assert.equal(await stream.next(), "subscribe,c,1");

  const fresh = await reset(["main", ...args]);

  assert.deepEqual(fresh.end, done);
  assert.equal(await stream.next(), undefined);
  assert.deepEqual([await status(storeUrl, storeToken), await status(storeUrl, storeReadOnlyToken)], [401, 401]);
  assert.deepEqual([await status(storeUrl, fresh.token), await status(storeUrl, fresh.readOnlyToken)], [200, 200]);
  await first.kill();

  await using second = await startProgram("serve", { args: [...args, ...oneThread] });
  assert.deepEqual([second.storeToken, second.storeReadOnlyToken], [fresh.token, fresh.readOnlyToken]);
  assert.deepEqual([await status(second.storeUrl, storeToken), await status(second.storeUrl, fresh.token)], [401, 200]);
});

test("RESP connections that logged in with the old tokens end, and connections of ACL users stay", {
  timeout,
}, async (context) => {
  const args = ["--data-dir", temporaryDirectory(context)];
  await using program = await startProgram("serve", { args: [...args, "--resp-port", "0", ...oneThread] });
  const { hostname, port } = new URL(program.environment["REDIS_URL"] ?? "");
  const connect = (username: string, password: string): Redis => {
    const client = new Redis({
      host: hostname,
      port: Number(port),
      username,
      password,
      retryStrategy: () => null,
      enableReadyCheck: false,
    });
    // The test expects the server to end connections.
    client.on("error", () => {});
    context.after(() => client.disconnect());
    return client;
  };
  const owner = connect("default", program.storeToken);
  const reader = connect("default_ro", program.storeReadOnlyToken);
  assert.equal(await owner.acl("SETUSER", "ann", "on", ">secret", "+@all", "~*"), "OK");
  assert.equal(await reader.get("k"), null);
  const ann = connect("ann", "secret");
  assert.equal(await ann.acl("WHOAMI"), "ann");
  const ends = Promise.all([once(owner, "end"), once(reader, "end")]);

  const fresh = await reset(["main", ...args]);

  assert.deepEqual(fresh.end, done);
  await ends;
  assert.equal(await ann.set("k", "v"), "OK");
  assert.equal(await connect("default_ro", fresh.readOnlyToken).get("k"), "v");
  await assert.rejects(connect("default", program.storeToken).get("k"));
});

test("without a server, reset replaces the file of tokens, and the next start uses it", {
  timeout,
}, async (context) => {
  const directory = temporaryDirectory(context);
  const args = ["--data-dir", directory];
  await using first = await startProgram("serve", { args: [...args, ...oneThread] });
  await first.kill();
  const path = join(directory, "tokens.json");
  const before = JSON.parse(readFileSync(path, "utf8"));

  const fresh = await reset(["main", ...args]);

  assert.deepEqual(fresh.end, done);
  const after = JSON.parse(readFileSync(path, "utf8"));
  assert.deepEqual(after, {
    ...before,
    databases: [{ name: "main", madeBy: "start", token: fresh.token, readOnlyToken: fresh.readOnlyToken }],
  });
  assert.equal(statSync(path).mode & 0o777, 0o600);

  await using second = await startProgram("serve", { args: [...args, ...oneThread] });
  assert.deepEqual(
    [
      await status(second.storeUrl, first.storeToken),
      await status(second.storeUrl, first.storeReadOnlyToken),
      await status(second.storeUrl, fresh.token),
      await status(second.storeUrl, fresh.readOnlyToken),
    ],
    [401, 401, 200, 200],
  );
});

test("reports errors with one message, with and without a server", { timeout }, async (context) => {
  const directory = temporaryDirectory(context);
  const args = ["--data-dir", directory];
  const none = join(directory, "none");
  const noDirectory = await refusal(["main", "--data-dir", none]);
  assert.equal(noDirectory.code, 1);
  assert.equal(
    noDirectory.log,
    `larder: No larder has used the data directory ${none} yet: name the right directory with --data-dir\n`,
  );

  await using running = await startProgram("serve", {
    args: [...args, ...oneThread],
    env: { LARDER_ADMIN_TOKEN: "the-admin" },
  });
  const wrong = await refusal(["main", ...args], { LARDER_ADMIN_TOKEN: "another" });
  const noToken = await refusal(["main", ...args]);
  const missing = await refusal(["nope", ...args], { LARDER_ADMIN_TOKEN: "the-admin" });
  assert.deepEqual([wrong.code, noToken.code, missing.code], [1, 1, 1]);
  assert.equal(
    wrong.log,
    `larder: The larder at ${running.adminUrl} has another admin token: set LARDER_ADMIN_TOKEN to the admin token that it was started with\n`,
  );
  assert.match(noToken.log, /^larder: .*tokens\.json has no admin token: set LARDER_ADMIN_TOKEN to the admin token /);
  assert.equal(missing.log, "larder: There is no database nope\n");
  assert.equal(await status(running.storeUrl, running.storeToken), 200);
  await running.stop();

  const missingOnDisk = await refusal(["nope", ...args]);
  assert.deepEqual([missingOnDisk.code, missingOnDisk.log], [1, "larder: There is no database nope\n"]);
  const fromEnvironment = await refusal(["main", ...args], { LARDER_STORE_TOKEN: "given" });
  assert.equal(
    fromEnvironment.log,
    "larder: The database main is set by LARDER_STORE_TOKEN: change it there and start again\n",
  );
  const noName = await refusal([]);
  assert.deepEqual([noName.code, noName.log], [2, "larder: <database> is missing: larder token reset <database>\n"]);
});

test("does not reset tokens that the environment sets and that are not in the file", {
  timeout,
}, async (context) => {
  const args = ["--data-dir", temporaryDirectory(context)];
  const env = { LARDER_STORE_TOKEN: "given", LARDER_STORE_READ_ONLY_TOKEN: "given-read-only" };
  await (await startProgram("serve", { args: [...args, ...oneThread], env })).stop();

  const { end, log } = await reset(["main", ...args]);

  assert.equal(end.code, 1);
  assert.match(log, /tokens\.json has no token of the database main: the environment or the configuration sets it/);
});

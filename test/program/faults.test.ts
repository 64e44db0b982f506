/** How the program handles its own faults, without printing its secrets. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { oneThread, type RunningProgram, startProgram } from "./program-process.ts";

const plantedFaults = fileURLToPath(new URL("planted-faults.cjs", import.meta.url));
/** Longer than the longest start (START_MS_MAX), whose own error says more. */
const timeout = 120_000;

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function planted(args: readonly string[]): Parameters<typeof startProgram>[1] {
  return { args, env: { NODE_OPTIONS: `--require=${plantedFaults}` } };
}

/** The fault also breaks the connection. */
async function plant(url: string): Promise<void> {
  await fetch(url).catch(() => undefined);
}

async function command(program: RunningProgram, words: readonly string[]): Promise<unknown> {
  const headers = { authorization: `Bearer ${program.storeToken}` };
  return (await fetch(program.storeUrl, { method: "POST", headers, body: JSON.stringify(words) })).json();
}

test("a crash of a thread ends the process after the other threads close, and keeps acknowledged writes", {
  timeout,
}, async (context) => {
  const directory = temporaryDirectory(context);
  await using program = await startProgram("serve", planted(["--data-dir", directory]));
  assert.deepEqual(await command(program, ["SET", "key", "value"]), { result: "OK" });

  await plant(`${program.environment["UPSTASH_VECTOR_REST_URL"]}/planted-crash`);

  assert.deepEqual(await program.ended, { code: 1, signal: null });
  assert.match(
    program.log,
    /"event":"the thread crashed","area":"vector","fault":"planted crash","stack":"Error: planted/,
  );
  assert.match(program.log, /"event":"an area crashed; the server ends","area":"vector"/);

  await using next = await startProgram("serve", { args: ["--data-dir", directory, ...oneThread] });
  assert.deepEqual(await command(next, ["GET", "key"]), { result: "value" });
});

const faults: readonly (readonly [fault: string, args: readonly string[], url: (program: RunningProgram) => string])[] =
  [
    ["a fault in the thread of the store", ["--threads", "per-area"], ({ storeUrl }) => `${storeUrl}/planted-crash`],
    [
      "an unhandled rejection in a thread",
      ["--threads", "per-area"],
      ({ storeUrl }) => `${storeUrl}/planted-rejection`,
    ],
    ["a fault in the main thread", ["--threads", "per-area"], ({ adminUrl }) => `${adminUrl}/planted-crash`],
    ["a fault with one thread", ["--threads", "one"], ({ storeUrl }) => `${storeUrl}/planted-crash`],
    ["an unhandled rejection with one thread", ["--threads", "one"], ({ storeUrl }) => `${storeUrl}/planted-rejection`],
  ];

for (const [fault, args, url] of faults) {
  test(`S-13: ${fault} is logged and ends the process with 1`, { timeout }, async () => {
    await using program = await startProgram("dev", planted(args));
    await plant(url(program));
    assert.deepEqual(await program.ended, { code: 1, signal: null });
    assert.match(program.log, /"level":"error".*"fault":"planted (crash|rejection)"/);
  });
}

test("A-11: no thread has Object.prototype.__proto__", { timeout }, async () => {
  await using program = await startProgram("dev", planted(["--threads", "per-area"]));
  for (const url of [program.storeUrl, program.adminUrl]) await plant(`${url}/planted-look`);
  await program.untilPrinted(/has __proto__[\s\S]*has __proto__.*\n/);
  assert.deepEqual(program.log.match(/^has __proto__: .*$/gm), ["has __proto__: false", "has __proto__: false"]);
});

test("a full heap ends the process with 1 and logs the remedy", { timeout }, async () => {
  const args = ["--threads", "per-area", "--heap-limit", "64mb", "--max-request-size", "64mb"];
  await using program = await startProgram("dev", { args });
  const headers = { authorization: "Bearer dev" };
  // Limits on data apply earlier, but one request can still fill a heap as small as this one. Each command of one word
  // takes 200 bytes while it is read. The count of words stays below WORDS_MAX: a larger request is refused with 400
  // after a million words, which may or may not have filled the heap by then.
  const body = `[${'["PING"],'.repeat(1_000_000)}["PING"]]`;
  const answer = await fetch(`${program.storeUrl}/pipeline`, { method: "POST", headers, body }).then(
    async (reply) => `${reply.status} ${(await reply.text()).slice(0, 200)}`,
    () => "no answer",
  );

  // If the heap did not fill, this assertion fails, instead of a timeout of the test.
  assert.equal(answer, "no answer");
  assert.deepEqual(await program.ended, { code: 1, signal: null });
  assert.match(
    program.log,
    /"reason":"the heap of the store area is full at its limit of 64mb: raise --store-memory or --heap-limit, or store less data"/,
  );
});

test("S-09: tokens appear in no output, log line, metric or health text", { timeout }, async (context) => {
  const directory = temporaryDirectory(context);
  const canaries = {
    LARDER_STORE_TOKEN: `canary${randomUUID()}`,
    LARDER_STORE_READ_ONLY_TOKEN: `canary${randomUUID()}`,
    LARDER_VECTOR_TOKEN: `canary${randomUUID()}`,
    LARDER_CURRENT_SIGNING_KEY: `sig_canary${randomUUID()}`,
    LARDER_ADMIN_TOKEN: `canary${randomUUID()}`,
  };
  const unknown = `canary${randomUUID()}`;
  await using program = await startProgram("serve", {
    args: ["--data-dir", directory, "--log-level", "debug"],
    env: { ...canaries, NODE_OPTIONS: `--require=${plantedFaults}` },
  });
  const seen: string[] = [];
  const get = async (url: string, token?: string, method = "GET", body?: string): Promise<void> => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const reply = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
    seen.push(`${reply.status} ${JSON.stringify([...reply.headers])} ${await reply.text()}`);
  };
  const { storeUrl, adminUrl } = program;
  const {
    LARDER_STORE_TOKEN: token,
    LARDER_STORE_READ_ONLY_TOKEN: readOnlyToken,
    LARDER_ADMIN_TOKEN: adminToken,
  } = canaries;
  await get(`${storeUrl}/set/a/b?_token=${token}`);
  await get(`${storeUrl}/set/a?_token=${token}&%`);
  await get(`${storeUrl}/set/a/b?_token=${unknown}`);
  await get(`${storeUrl}/incr/a`, readOnlyToken);
  await get(`${storeUrl}/nothing/a`, token);
  await get(`${storeUrl}/multi-exec?_token=${token}`, undefined, "POST", '[["SET","a"]]');
  await get(`${storeUrl}/pipeline`, token, "POST", '[["SET","a","b"],["LPUSH"]]');
  await get(`${adminUrl}/v1/databases/main`, adminToken, "DELETE");
  await get(`${adminUrl}/v1/databases/main/reset-password`, adminToken, "POST");
  await get(`${adminUrl}/v1/databases`, adminToken);
  await get(`${adminUrl}/v1/databases`, unknown);
  for (const path of ["/health/live", "/health/ready", "/version", "/metrics"]) await get(`${adminUrl}${path}`);
  await plant(`${storeUrl}/planted-crash`);
  assert.equal((await program.ended).code, 1);
  const again = await startProgram("serve", {
    args: ["--data-dir", directory, "--store-port", "x"],
    env: canaries,
  }).catch((fault: Error) => fault.message);

  const everything = [
    program.output,
    program.log,
    String(again),
    ...seen,
    readFileSync(join(directory, "tokens.json"), "utf8"),
    readFileSync(join(directory, "audit.log"), "utf8"),
  ];
  assert.equal(seen.length, 15);
  for (const secret of [...Object.values(canaries), unknown]) {
    for (const text of everything) assert.ok(!text.includes(secret), text);
  }
});

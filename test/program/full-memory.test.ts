/** A tenant that fills the memory of the store, from outside: others continue, and a restart serves all data. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type RunningProgram, startProgram } from "./program-process.ts";

const timeout = 60_000;
const VALUE = "x".repeat(500);
/** The values that fill the memory: large, so that few commands do. */
const LARGE_VALUE = "x".repeat(5_000);
const KEYS_PER_PIPELINE = 200;
const GREEDY = "token-of-greedy";
const GOOD = "token-of-good";

async function post(program: RunningProgram, token: string, path: string, body: unknown): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}` };
  const reply = await fetch(program.storeUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
  return reply.json();
}

/** Sends requests until one is refused: a garbage collection may still free memory. */
async function untilRefused(program: RunningProgram, path: string, request: (round: number) => unknown): Promise<void> {
  for (let round = 0; round < 1_000; round += 1) {
    const answer = JSON.stringify(await post(program, GREEDY, path, request(round)));
    if (answer.includes("OOM command not allowed when the memory of the store is nearly used up")) return;
  }
  assert.fail("64 MB hold less");
}

function fill(program: RunningProgram): Promise<void> {
  return untilRefused(program, "/pipeline", (round) =>
    Array.from({ length: KEYS_PER_PIPELINE }, (_, i) => ["SET", `key:${round}:${i}`, LARGE_VALUE]),
  );
}

function start(context: TestContext): () => Promise<RunningProgram> {
  const directory = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const config = join(directory, "larder.json");
  const databases = [
    { name: "greedy", token: GREEDY },
    { name: "good", token: GOOD },
  ];
  writeFileSync(config, JSON.stringify({ storeMemory: "64mb", store: { databases } }));
  return () => startProgram("serve", { args: ["--config", config, "--data-dir", join(directory, "data")] });
}

test("A-16: stops a tenant that fills the store; others continue, and a restart serves all data", {
  timeout,
}, async (context) => {
  const open = start(context);
  await using first = await open();
  await post(first, GOOD, "", ["SET", "before", "kept"]);
  await fill(first);
  await untilRefused(first, "", (round) => ["SET", `set:${round}`, VALUE.repeat(100)]);
  const script = "return redis.call('SET', KEYS[1], string.rep('x', 50000))";
  await untilRefused(first, "", (round) => ["EVAL", script, 1, `eval:${round}`]);
  await untilRefused(first, "/multi-exec", (round) => [["SET", `multi:${round}`, VALUE.repeat(100)]]);
  assert.deepEqual(await post(first, GREEDY, "", ["GET", "key:0:0"]), { result: LARGE_VALUE });
  const some = Array.from({ length: 500 }, (_, i) => ["SET", `good:${i}`, VALUE]);
  for (const answer of (await post(first, GOOD, "/pipeline", some)) as unknown[])
    assert.deepEqual(answer, { result: "OK" });
  assert.deepEqual(await post(first, GOOD, "", ["GET", "before"]), { result: "kept" });
  const metrics = await (await fetch(`${first.adminUrl}/metrics`)).text();
  assert.match(metrics, /^larder_memory_refusing\{area="store"\} [01]$/m);
  assert.match(metrics, /^larder_tenant_memory_bytes\{area="store",tenant="greedy"\} \d{8}$/m);
  assert.match(metrics, /^larder_memory_limit_bytes\{area="store"\} 67108864$/m);
  const keys = await post(first, GREEDY, "", ["DBSIZE"]);
  assert.deepEqual(await first.kill(), { code: null, signal: "SIGKILL" });

  await using second = await open();
  assert.deepEqual(await post(second, GREEDY, "", ["DBSIZE"]), keys);
  assert.deepEqual(await post(second, GREEDY, "", ["GET", "key:0:0"]), { result: LARGE_VALUE });
  assert.deepEqual(await post(second, GOOD, "", ["SET", "after", "x"]), { result: "OK" });
  await fill(second);
  assert.deepEqual(await post(second, GREEDY, "", ["FLUSHDB"]), { result: "OK" });
  assert.deepEqual(await post(second, GREEDY, "", ["SET", "more", "x"]), { result: "OK" });
});

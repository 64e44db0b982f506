/** The memory limit from outside: refused writes and evictions over HTTP, and the state after a restart. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { oneThread, type RunningProgram, startProgram } from "./program-process.ts";

const timeout = 30_000;
const VALUE = "x".repeat(1_000);
const KEYS_PER_PIPELINE = 500;

async function post(
  program: RunningProgram,
  path: string,
  body: unknown,
  token = program.storeToken,
): Promise<{ status: number; body: unknown }> {
  const reply = await fetch(program.storeUrl + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  return { status: reply.status, body: await reply.json() };
}

/** Sets `count` keys in one pipeline and returns the answers. */
async function fill(program: RunningProgram, from: number, count = KEYS_PER_PIPELINE): Promise<readonly unknown[]> {
  const commands = Array.from({ length: count }, (_, i) => ["SET", `key:${from + i}`, VALUE]);
  return (await post(program, "/pipeline", commands)).body as readonly unknown[];
}

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const refusal = { error: "OOM command not allowed when used memory > 'maxmemory'." };

test("A-16: a database at its limit refuses writes and answers all other requests", { timeout }, async () => {
  await using program = await startProgram("dev", { args: ["--maxmemory", "1mb"] });
  let answers: readonly unknown[] = [];
  let from = 0;
  for (; !answers.some((answer) => JSON.stringify(answer) === JSON.stringify(refusal)); from += KEYS_PER_PIPELINE) {
    assert.ok(from < 3_000, "1 MB holds fewer keys");
    answers = await fill(program, from);
  }
  assert.deepEqual(await post(program, "", ["SET", "k", "v"]), { status: 400, body: refusal });
  assert.deepEqual(await post(program, "/multi-exec", [["SET", "k", "v"]]), { status: 400, body: refusal });
  assert.deepEqual(await post(program, "", ["GET", "key:0"]), { status: 200, body: { result: VALUE } });
  assert.deepEqual(await post(program, "", ["PING"]), { status: 200, body: { result: "PONG" } });
  assert.deepEqual(await post(program, "", ["DEL", "key:0", "key:1", "key:2"]), { status: 200, body: { result: 3 } });
  assert.deepEqual(await post(program, "", ["SET", "k", "v"]), { status: 200, body: { result: "OK" } });
  assert.equal((await fetch(`${program.adminUrl}/health/ready`)).status, 200);
  const metrics = await (await fetch(`${program.adminUrl}/metrics`)).text();
  assert.match(metrics, /larder_store_memory_bytes\{[^}]*database="main"\} 10\d{5}\n/);
});

test("allows a limit larger than the heap and logs it at the start", { timeout }, async () => {
  await using program = await startProgram("dev", { args: ["--maxmemory", "1000gb"] });
  await program.untilPrinted(/the databases may use more memory than the JavaScript heap has/);
  assert.deepEqual(await post(program, "", ["SET", "k", "v"]), { status: 200, body: { result: "OK" } });
});

test("a database in the configuration file has its own limit", { timeout }, async (context) => {
  const path = join(temporaryDirectory(context), "larder.json");
  const small = { name: "small", token: "token-of-small", maxmemory: "20kb", maxmemoryPolicy: "allkeys-random" };
  writeFileSync(path, JSON.stringify({ threads: "per-area", store: { databases: [{ name: "main" }, small] } }));
  await using program = await startProgram("dev", { args: ["--config", path] });
  const commands = Array.from({ length: 50 }, (_, i) => ["SET", `key:${i}`, VALUE]);
  for (const [token, isLimited] of [
    [small.token, true],
    [program.storeToken, false],
  ] as const) {
    await post(program, "/pipeline", commands, token);
    const { body } = await post(program, "", ["DBSIZE"], token);
    assert.equal((body as { result: number }).result < 25, isLimited, token);
  }
});

test("evicted keys do not come back after a restart, and the limit still applies", { timeout }, async (context) => {
  const args = ["--data-dir", join(temporaryDirectory(context), "data"), "--maxmemory", "1mb", ...oneThread];
  const start = (): Promise<RunningProgram> =>
    startProgram("serve", { args: [...args, "--maxmemory-policy", "allkeys-lru"] });
  await using first = await start();
  for (let from = 0; from < 4 * KEYS_PER_PIPELINE; from += KEYS_PER_PIPELINE) {
    for (const answer of await fill(first, from)) assert.deepEqual(answer, { result: "OK" });
  }
  const { body: keys } = await post(first, "", ["DBSIZE"]);
  assert.ok((keys as { result: number }).result < 1_000);
  assert.deepEqual(await first.stop(), { code: 0, signal: null });

  await using second = await start();
  assert.deepEqual((await post(second, "", ["DBSIZE"])).body, keys);
  for (const answer of await fill(second, 10_000)) assert.deepEqual(answer, { result: "OK" });
  assert.ok(((await post(second, "", ["DBSIZE"])).body as { result: number }).result < 1_000);
});

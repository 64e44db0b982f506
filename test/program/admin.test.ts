/** The admin port of the real program: health, metrics, databases and indexes at run time, reset, and snapshots. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runHere } from "../harness/command-runner.ts";
import { oneThread, type RunningProgram, startProgram } from "./program-process.ts";

const fastClock = fileURLToPath(new URL("fast-clock.cjs", import.meta.url));
const timeout = 60_000;

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function adminTokenOf(program: RunningProgram): string {
  return /^# admin: \S+ token (\S+)$/m.exec(program.output)?.[1] ?? "";
}

interface Answer {
  status: number;
  json: { [key: string]: unknown };
}

async function admin(program: RunningProgram, line: string, body?: unknown): Promise<Answer> {
  const [method = "", path = ""] = line.split(" ");
  const reply = await fetch(`${program.adminUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${adminTokenOf(program)}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: reply.status, json: (await reply.json()) as Answer["json"] };
}

async function command(program: RunningProgram, token: unknown, words: readonly unknown[]): Promise<unknown> {
  const headers = { authorization: `Bearer ${String(token)}` };
  return (await fetch(program.storeUrl, { method: "POST", headers, body: JSON.stringify(words) })).json();
}

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

const refused = { error: "WRONGPASS invalid or missing auth token" };

test("creates, resets and removes databases at run time, persists the changes and audits them", {
  timeout,
}, async (context) => {
  const directory = temporaryDirectory(context);
  const args = ["--data-dir", directory];
  await using first = await startProgram("serve", { args });

  const created = await admin(first, "POST /v1/databases", { name: "second" });
  assert.equal(created.status, 201);
  const { token, readOnlyToken } = created.json;
  assert.deepEqual(await command(first, token, ["SET", "a", "1"]), { result: "OK" });
  assert.deepEqual(await command(first, readOnlyToken, ["GET", "a"]), { result: "1" });
  assert.deepEqual(await command(first, first.storeToken, ["GET", "a"]), { result: null });

  const reset = await admin(first, "POST /v1/databases/second/reset-password");
  assert.equal(reset.status, 200);
  assert.deepEqual(await command(first, token, ["GET", "a"]), refused);
  assert.deepEqual(await command(first, readOnlyToken, ["GET", "a"]), refused);
  assert.deepEqual(await command(first, reset.json["token"], ["GET", "a"]), { result: "1" });

  assert.equal((await admin(first, "POST /v1/databases", { name: "third" })).status, 201);
  assert.equal((await admin(first, "DELETE /v1/databases/third")).status, 200);
  assert.equal((await first.stop()).code, 0);

  await using second = await startProgram("serve", { args: [...args, ...oneThread] });
  assert.deepEqual(await command(second, reset.json["token"], ["GET", "a"]), { result: "1" });
  assert.deepEqual(await command(second, token, ["GET", "a"]), refused);
  const databases = await fetch(`${second.adminUrl}/v1/databases`, {
    headers: { authorization: `Bearer ${adminTokenOf(first)}` },
  });
  const { databases: listed } = (await databases.json()) as { databases: readonly { memoryBytes: number }[] };
  assert.ok((listed[1]?.memoryBytes ?? 0) > 0);
  assert.deepEqual(
    listed.map(({ memoryBytes: _, ...facts }) => facts),
    [
      { name: "main", source: "data directory" },
      { name: "second", source: "data directory" },
    ],
  );

  const path = join(directory, "audit.log");
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const { time } of entries) assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  const local = { caller: "127.0.0.1", outcome: "done" };
  const server = { caller: "server", outcome: "done" };
  assert.deepEqual(
    entries.map(({ time: _time, ...entry }) => entry),
    [
      { action: "start", ...server, subject: version },
      { action: "databases.create", ...local, subject: "second" },
      { action: "databases.reset-password", ...local, subject: "second" },
      { action: "databases.create", ...local, subject: "third" },
      { action: "databases.delete", ...local, subject: "third" },
      { action: "stop", ...server },
      { action: "start", ...server, subject: version },
    ],
  );
  assert.equal(statSync(path).mode & 0o777, 0o600);
  for (const secret of [token, readOnlyToken, reset.json["token"], adminTokenOf(first)]) {
    assert.ok(lines.every((line) => !line.includes(String(secret))));
  }
});

test("lists, creates and removes indexes at run time and persists the changes", { timeout }, async (context) => {
  const args = ["--data-dir", temporaryDirectory(context), ...oneThread];
  await using first = await startProgram("serve", { args });

  const docs = { type: "HYBRID", dimension: 384, similarity: "DOT_PRODUCT" };
  const created = await admin(first, "POST /v1/indexes", { name: "docs", ...docs });
  assert.equal(created.status, 201);
  assert.deepEqual(Object.keys(created.json), ["name", "token", "readOnlyToken"]);
  assert.equal((await admin(first, "POST /v1/indexes/docs/reset-password")).status, 200);
  assert.equal((await admin(first, "POST /v1/indexes", { name: "gone" })).status, 201);
  assert.equal((await admin(first, "DELETE /v1/indexes/gone")).status, 200);
  assert.deepEqual(await admin(first, "POST /v1/indexes", { name: "wrong", type: "SPARSE", dimension: 3 }), {
    status: 400,
    json: { error: "Invalid index: dimension is for dense vectors: leave it out of a SPARSE index" },
  });
  assert.equal((await first.stop()).code, 0);

  await using second = await startProgram("serve", { args });
  const headers = { authorization: `Bearer ${adminTokenOf(first)}` };
  const indexes = await fetch(`${second.adminUrl}/v1/indexes`, { headers });
  const { indexes: listed } = (await indexes.json()) as { indexes: readonly { memoryBytes: number }[] };
  for (const { memoryBytes } of listed) assert.ok(memoryBytes > 0);
  assert.deepEqual(
    listed.map(({ memoryBytes: _, ...facts }) => facts),
    [
      { name: "main", source: "data directory", type: "DENSE", dimension: "auto", similarity: "COSINE" },
      { name: "docs", source: "data directory", ...docs },
    ],
  );
});

test("dev: reset empties every area and requires the admin token", { timeout }, async () => {
  await using program = await startProgram("dev", { args: ["--threads", "per-area"] });
  await command(program, "dev", ["SET", "a", "1"]);

  assert.equal((await fetch(`${program.adminUrl}/reset`, { method: "POST" })).status, 401);
  assert.deepEqual(await command(program, "dev", ["GET", "a"]), { result: "1" });

  assert.deepEqual(await admin(program, "POST /reset"), { status: 200, json: { status: "reset" } });
  assert.deepEqual(await command(program, "dev", ["GET", "a"]), { result: null });
});

test("S-11, S-14: health, version and metrics need no token; metrics cover every thread as Prometheus text", {
  timeout,
}, async (context) => {
  await using program = await startProgram("serve", { args: ["--data-dir", temporaryDirectory(context)] });
  await command(program, program.storeToken, ["SET", "a", "1"]);
  await command(program, program.storeToken, ["INCRBY", "a", "x"]);
  const get = async (path: string): Promise<string> => (await fetch(`${program.adminUrl}${path}`)).text();

  assert.equal(await get("/health/live"), '{"status":"live"}');
  assert.equal(
    await get("/health/ready"),
    '{"status":"ready","areas":{"store":"serving","messaging":"serving","vector":"serving"},"reasons":[]}',
  );
  assert.match(await get("/version"), /^\{"version":"[\d.]+","node":"[\d.]+","formats":\{"data":\d+,"tokens":\d+\}\}$/);

  const metrics = await get("/metrics");
  const line =
    /^(# (HELP|TYPE) [a-z\d_]+ .+|[a-z\d_]+(\{([a-z]+="[^"\n]*",?)+\})? [-+]?(\d+(\.\d+)?(e[-+]?\d+)?|Inf))$/;
  for (const each of metrics.trimEnd().split("\n")) assert.match(each, line);
  for (const wanted of [
    'larder_http_requests_total{area="store",route="A2 /",status="200"} 1',
    'larder_http_requests_total{area="store",route="A2 /",status="400"} 1',
    'larder_http_request_duration_seconds_count{area="store",route="A2 /"} 2',
    'larder_store_commands_total{area="store",command="set",outcome="ok"} 1',
    'larder_store_commands_total{area="store",command="incrby",outcome="failed"} 1',
    'larder_store_keys{area="store",database="main"} 1',
  ]) {
    assert.ok(metrics.includes(`${wanted}\n`), wanted);
  }
  for (const wanted of [
    /^larder_journal_fsync_seconds_count\{area="store"\} \d+$/m,
    /^larder_journal_unsynced_bytes\{area="store"\} \d+$/m,
    /^larder_replay_seconds\{area="store"\} [\d.]+$/m,
    /^larder_directory_bytes\{area="(store|messaging|vector)"\} [1-9]\d+$/m,
    /^larder_disk_free_bytes\{area="main"\} \d+$/m,
    /^larder_event_loop_delay_p99_seconds\{area="(main|store|vector|messaging)"\} [\d.e-]+$/m,
    /^larder_gc_pause_seconds_count\{area="\w+",kind="minor"\} \d+$/m,
    /^larder_heap_used_bytes\{area="vector"\} \d+$/m,
    /^process_resident_memory_bytes\{area="main"\} \d+$/m,
  ]) {
    assert.match(metrics, wanted);
  }
});

test("enough writes start a snapshot in its own process; the next start recovers from it and logs its progress", {
  timeout,
}, async (context) => {
  const directory = temporaryDirectory(context);
  const args = ["--data-dir", directory, ...oneThread];
  await using first = await startProgram("serve", { args });
  // Bytes of short elements count towards a snapshot as they are, those of long values less.
  const element = "v".repeat(254);
  for (let round = 0; round < 8; round += 1) {
    const elements = Array.from({ length: 4_000 }, () => `${round}${element}`);
    const commands = Array.from({ length: 9 }, (_, index) => [
      ["DEL", `key-${index}`],
      ["RPUSH", `key-${index}`, ...elements],
    ]).flat();
    const headers = { authorization: `Bearer ${first.storeToken}` };
    const body = JSON.stringify(commands);
    const reply = await fetch(`${first.storeUrl}/pipeline`, { method: "POST", headers, body });
    assert.equal(reply.status, 200, await reply.text());
  }

  await first.untilPrinted(/"event":"snapshot started","area":"store"}/);
  await first.untilPrinted(/"event":"snapshot written","area":"store","bytes":9\d{6},"seconds":[\d.]+}/);
  await command(first, first.storeToken, ["SET", "after", "1"]);
  assert.equal((await first.stop()).code, 0);
  const names = readdirSync(join(directory, "store")).sort();
  assert.deepEqual(names.filter((name) => !name.endsWith(".journal") && name !== "reserve").length, 1, names.join(" "));

  const check = await runHere(["check", "--data-dir", directory]);
  assert.equal(check.code, 0);
  assert.match(
    check.output,
    /^configuration: ok\nstore: \d+ frames in \d+ bytes to replay, snapshot \d+, \d+ segments, /,
  );

  await using second = await startProgram("serve", { args, env: { NODE_OPTIONS: `--require=${fastClock}` } });
  assert.match(
    second.log,
    /"event":"recovering","area":"store","step":"snapshot","percent":\d+,"doneBytes":\d{6,},"totalBytes":\d{7,},"bytesPerSecond":\d+}$/m,
  );
  assert.deepEqual(await command(second, second.storeToken, ["DBSIZE"]), { result: 10 });
  assert.deepEqual(await command(second, second.storeToken, ["LINDEX", "key-8", "-1"]), { result: `7${element}` });
  assert.deepEqual(await command(second, second.storeToken, ["GET", "after"]), { result: "1" });
});

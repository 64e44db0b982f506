/** `larder backup`, `verify` and `restore` from outside: under load, without a server, and their errors. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runHere } from "../harness/command-runner.ts";
import { oneThread, type RunningProgram, spawnProgram, startProgram } from "./program-process.ts";

const timeout = 60_000;

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-test-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

interface Run {
  readonly code: number | null;
  readonly output: string;
  readonly log: string;
}

async function larder(...words: readonly string[]): Promise<Run> {
  const program = spawnProgram(words);
  const { code } = await program.ended;
  return { code, output: program.output, log: program.log };
}

/** A client for the areas of a server, with the tokens that the first start of its directory printed. */
function clientOf(program: RunningProgram, environment: Readonly<Record<string, string>>) {
  const send = async (area: string, path: string, body?: unknown, headers = {}): Promise<unknown> => {
    const base = program.environment[area === "QSTASH" ? "QSTASH_URL" : `UPSTASH_${area}_REST_URL`];
    const token = environment[area === "QSTASH" ? "QSTASH_TOKEN" : `UPSTASH_${area}_REST_TOKEN`];
    const reply = await fetch(`${base}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const json: unknown = await reply.json();
    assert.ok(reply.ok, JSON.stringify(json));
    return json;
  };
  return {
    store: (path: string, body?: unknown) => send("REDIS", path, body),
    vector: (path: string, body?: unknown) => send("VECTOR", path, body),
    messaging: (path: string, body?: unknown, headers = {}) => send("QSTASH", path, body, headers),
  };
}

/** Calls `write` with 1, 2, 3, … until `stop`. */
class Writer {
  acknowledged = 0;
  readonly #write: (number: number) => Promise<unknown>;
  #isStopped = false;
  #running: Promise<void> | undefined;
  #wanted: { count: number; reached: () => void } | undefined;

  constructor(write: (number: number) => Promise<unknown>) {
    this.#write = write;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Resolves when `count` writes are acknowledged; rejects with the error of a failed write. */
  until(count: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#wanted = { count, reached: resolve };
    });
    return Promise.race([reached, this.#running ?? Promise.resolve()]);
  }

  stop(): Promise<void> | undefined {
    this.#isStopped = true;
    return this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#write(this.acknowledged + 1);
      this.acknowledged += 1;
      if (this.acknowledged === this.#wanted?.count) this.#wanted.reached();
    }
  }
}

/** Checks that `larder stats` counts all writes. */
async function checkStats(directory: string, writers: Readonly<Record<"store" | "vector" | "messaging", Writer>>) {
  const { code, output, log } = await larder("stats", "--json", "--data-dir", directory);
  assert.equal(code, 0, log);
  const { areas, server } = JSON.parse(output) as {
    areas: Record<string, { state: string; tenants: number; figures: Record<string, number> }>;
    server: Record<string, number>;
  };
  const figure = (area: string, name: string): number | undefined => areas[area]?.figures[name];
  assert.deepEqual(
    ["store", "messaging", "vector"].map((area) => [areas[area]?.state, areas[area]?.tenants]),
    [
      ["serving", 1],
      ["serving", 1],
      ["serving", 1],
    ],
  );
  assert.deepEqual(
    [figure("store", "keys"), figure("vector", "vectors"), figure("messaging", "accepted")],
    [3, writers.vector.acknowledged, writers.messaging.acknowledged],
  );
  for (const area of Object.keys(areas)) {
    assert.ok((figure(area, "directoryBytes") ?? 0) > 0);
    assert.ok((figure(area, "journalPosition") ?? 0) > 100);
  }
  assert.deepEqual(Object.keys(server), ["uptimeSeconds", "memoryBytes", "diskFreeBytes"]);
  assert.match(
    (await runHere(["stats", "--data-dir", directory])).output,
    /^larder [\d.]+\n {2}up for {14}[\d.]+ s\n {2}memory {14}[\d.]+ mb\n[\s\S]*\nstore \(serving\)\n {2}databases {11}1\n[\s\S]* {2}commands {12}\d+ {2}\d+\/s\n/,
  );
}

async function destination(context: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.end("ok");
  });
  context.after(() => server.close());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", () => resolve()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("a backup under load has all earlier acknowledged writes, whole transactions, and starts elsewhere", {
  timeout,
}, async (context) => {
  const root = temporaryDirectory(context);
  const [source, target, file] = [join(root, "source"), join(root, "target"), join(root, "larder.backup")];
  const args = ["--destinations", "any", "--snapshots", "off"];
  await using first = await startProgram("serve", { args: [...args, "--data-dir", source] });
  const { environment } = first;
  const client = clientOf(first, environment);
  const url = await destination(context);
  const ids: string[] = [];
  const writers = {
    store: new Writer((i) =>
      client.store("/multi-exec", [
        ["SET", "left", String(i)],
        ["RPUSH", "list", String(i)],
        ["SET", "right", String(i)],
      ]),
    ),
    vector: new Writer((i) => client.vector("/upsert", { id: `v${i}`, vector: [i, 1, 0], metadata: { i } })),
    messaging: new Writer(async (i) => {
      const headers = i % 2 === 0 ? {} : { "upstash-delay": "1h" };
      const { messageId } = (await client.messaging(`/v2/publish/${url}`, { i }, headers)) as { messageId: string };
      ids.push(messageId);
    }),
  };
  for (const writer of Object.values(writers)) writer.start();
  await Promise.all(Object.values(writers).map((writer) => writer.until(100)));
  const before = {
    store: writers.store.acknowledged,
    vector: writers.vector.acknowledged,
    ids: [...ids],
  };

  const backup = await larder("backup", file, "--data-dir", source);

  assert.equal(backup.code, 0, backup.log);
  assert.match(
    backup.output,
    /^backup .*larder\.backup: \d+ bytes; store to position \d+, messaging to position \d+, vector to position \d+\nit contains tokens and keys: keep it as private as the data directory\n$/,
  );
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.ok(writers.store.acknowledged > before.store, "writers continued");
  await Promise.all(Object.values(writers).map((writer) => writer.stop()));
  await checkStats(source, writers);
  assert.deepEqual(
    readdirSync(source).filter((name) => name.startsWith("backup-")),
    [],
  );
  // The backup does not need the source directory.
  await first.kill();
  rmSync(source, { recursive: true });

  const verified = await larder("verify", file);
  assert.equal(verified.code, 0, verified.log);
  assert.match(verified.output, /^backup .*: ok; \d+ files, made by larder [\d.]+ at \S+Z\nstore: \d+ frames in /);
  const restored = await larder("restore", file, "--data-dir", target);
  assert.equal(restored.code, 0, restored.log);
  assert.deepEqual(readdirSync(target).sort(), [
    "audit.log",
    "format",
    "lock.sqlite",
    "messaging",
    "store",
    "tokens.json",
    "vector",
  ]);

  await using second = await startProgram("serve", { args: [...args, "--data-dir", target, ...oneThread] });
  assert.doesNotMatch(second.log, /rebuilding the history|cut off the incomplete end/);
  const again = clientOf(second, environment);
  const store = (await again.store("/pipeline", [
    ["GET", "left"],
    ["GET", "right"],
    ["LRANGE", "list", 0, -1],
  ])) as {
    result: unknown;
  }[];
  const [left, right, list] = store.map(({ result }) => result);
  assert.equal(left, right);
  assert.ok(Number(left) >= before.store, `${left} of ${before.store}`);
  assert.deepEqual(
    list,
    Array.from({ length: Number(left) }, (_, index) => String(index + 1)),
  );
  const wanted = Array.from({ length: before.vector }, (_, index) => `v${index + 1}`);
  const vectors = (await again.vector("/fetch", { ids: wanted })) as { result: ({ id: string } | null)[] };
  assert.deepEqual(
    vectors.result.map((record) => record?.id),
    wanted,
  );
  const logged = new Set<string>();
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const query: string = cursor === "" ? "" : `?cursor=${cursor}`;
    const page = (await again.messaging(`/v2/logs${query}`)) as { logs: { messageId: string }[]; cursor?: string };
    for (const { messageId } of page.logs) logged.add(messageId);
    cursor = page.cursor;
  }
  assert.deepEqual(
    before.ids.filter((id) => !logged.has(id)),
    [],
  );
});

test("without a server, backup reads the directory, also after a kill, and the directory remains usable", {
  timeout,
}, async (context) => {
  const root = temporaryDirectory(context);
  const [source, target, file] = [join(root, "source"), join(root, "target"), join(root, "larder.backup")];
  await using first = await startProgram("serve", { args: ["--data-dir", source, ...oneThread] });
  await clientOf(first, first.environment).store("/set/a/1");
  await first.kill();
  // The remains of a backup that was killed.
  mkdirSync(join(source, "backup-0123456789abcdef"));
  writeFileSync(join(root, "larder-backup-x.partial"), "half");

  assert.equal((await runHere(["backup", file, "--data-dir", source])).code, 0);

  assert.deepEqual(
    [...readdirSync(root), ...readdirSync(source)].filter((name) => /^backup-|partial$/.test(name)),
    [],
  );
  const idle = await larder("stats", "--data-dir", source);
  assert.deepEqual(
    [idle.code, idle.log],
    [1, `larder: No larder is running on ${source}: start it, or inspect the directory with larder check\n`],
  );
  mkdirSync(target);
  assert.equal((await runHere(["restore", file, "--data-dir", target])).code, 0);
  const whole = await runHere(["verify", target]);
  assert.equal(whole.code, 0, whole.log);
  assert.match(whole.output, /^data directory .*target: ok\nstore: \d+ frames/);
  for (const directory of [source, target]) {
    await using program = await startProgram("serve", { args: ["--data-dir", directory, ...oneThread] });
    assert.deepEqual(await clientOf(program, first.environment).store("/get/a"), { result: "1" });
  }
});

test("backup, verify and restore report errors with the remedy", {
  timeout,
}, async (context) => {
  const root = temporaryDirectory(context);
  const [source, file] = [join(root, "source"), join(root, "larder.backup")];
  await using program = await startProgram("serve", { args: ["--data-dir", source, ...oneThread] });
  assert.equal((await runHere(["backup", file, "--data-dir", source])).code, 0);
  const damaged = join(root, "damaged");
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(520) ^ 1, 520);
  writeFileSync(damaged, bytes);
  const newer = join(root, "newer");
  mkdirSync(join(newer, "restoring-0123456789abcdef"), { recursive: true });
  const refusals: readonly (readonly [words: readonly string[], sentence: string | RegExp])[] = [
    [["backup", root, "--data-dir", source], `${root} is a directory: name the file that the backup is written to`],
    [
      ["backup", join(root, "none", "file"), "--data-dir", source],
      `Directory ${join(root, "none")} does not exist: create it, or write the backup elsewhere`,
    ],
    [
      ["backup", join(source, "file"), "--data-dir", source],
      `${join(source, "file")} is inside the data directory: write the backup elsewhere, preferably to another disk`,
    ],
    [
      ["verify", source],
      `A larder uses ${source}, so its files are changing: make a backup with larder backup, and verify the backup`,
    ],
    [
      ["stats", "--data-dir", join(root, "none")],
      `No larder has used the data directory ${join(root, "none")} yet: name the right directory with --data-dir`,
    ],
    [["verify", join(root, "none")], `${join(root, "none")} does not exist: name a backup or a data directory`],
    [["verify", "/dev/zero"], "/dev/zero is a device, not a file: name a backup"],
    [["restore", root, "--data-dir", join(root, "new")], `${root} is a directory, not a file: name a backup`],
    [["verify", damaged], /^The backup .*damaged is damaged at byte \d+: .*\. Use another backup$/],
    [["restore", damaged, "--data-dir", join(root, "new")], /^The backup .*damaged is damaged at byte \d+: /],
    [
      ["restore", file, "--data-dir", source],
      /^.*source is not empty \(.+\): restore the backup into a new directory, named with --data-dir$/,
    ],
    [
      ["serve", "--data-dir", newer],
      `A restore or an export into ${newer} did not finish: run it again, or empty the directory to start over`,
    ],
  ];
  for (const [words, sentence] of refusals) {
    // Only serve may go on. The test above shows a refusal of the program itself.
    const { code, output, log } = words[0] === "serve" ? await larder(...words) : await runHere(words);
    assert.deepEqual([code, output], [1, ""], words.join(" "));
    if (typeof sentence === "string") assert.equal(log, `larder: ${sentence}\n`);
    else assert.match(log.replace(/^larder: /, "").trimEnd(), sentence);
  }
  assert.deepEqual(
    readdirSync(join(root, "new")).filter((name) => name !== "lock.sqlite"),
    [],
  );
  assert.equal((await runHere(["restore", file, "--data-dir", newer])).code, 0);
  await using dev = await startProgram("dev");
  const answer = await fetch(`${dev.adminUrl}/v1/backup`, { method: "POST", headers: { authorization: "Bearer dev" } });
  assert.deepEqual(
    [answer.status, await answer.json()],
    [409, { error: "This server has no data directory to back up: start it with --data-dir" }],
  );
  assert.equal((await fetch(`${program.adminUrl}/v1/backup`, { method: "POST" })).status, 401);
});

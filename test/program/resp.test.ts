/** The RESP port of the real program with common clients: redis-cli, ioredis and redis. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { hostileCertificate, hostileKey } from "../harness/hostile-certificate.ts";
import { RawPeer } from "../harness/raw-peer.ts";
import { missingProgram } from "../harness/required-programs.ts";
import { type RunningProgram, spawnProgram, startProgram } from "./program-process.ts";

/** No test here takes longer. */
const timeout = 30_000;

const cliMissing = missingProgram("redis-cli");

const anyRespPort = ["--resp-port", "0"];

function respPortOf(program: RunningProgram): number {
  return Number(new URL(program.environment["REDIS_URL"] ?? "").port);
}

/** The output of redis-cli for these arguments and this input. */
async function redisCli(args: readonly string[], input: string | Buffer = ""): Promise<string> {
  const child = spawn("redis-cli", [...args], { stdio: ["pipe", "pipe", "ignore"] });
  // It may exit before it has read all input.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.latin1Slice();
  });
  await once(child, "close");
  return output;
}

function temporaryDirectory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "larder-resp-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** For the tests that neither stop it nor change its settings. */
let program: RunningProgram;

before(
  async () => {
    program = await startProgram("dev", { args: anyRespPort });
  },
  { timeout },
);

after(() => program.stop());

test("Redis clients accept the address that dev prints, in one thread", { timeout }, async () => {
  const url = program.environment["REDIS_URL"] ?? "";
  assert.match(url, /^redis:\/\/default:dev@127\.0\.0\.1:\d+$/);
  assert.match(program.output, /running at .*, redis:\/\/127\.0\.0\.1:\d+ \(store over RESP\)/);

  const client = new Redis(url);
  assert.equal(await client.set("k", "v"), "OK");
  assert.equal(await client.get("k"), "v");
  client.disconnect();

  const reply = await fetch(`${program.storeUrl}/get/k`, { headers: { authorization: "Bearer dev" } });
  assert.deepEqual(await reply.json(), { result: "v" });
});

test("ioredis uses values, pipelines, transactions, channels and SAVE", {
  timeout,
}, async (context) => {
  const directory = join(temporaryDirectory(context), "data");
  await using program = await startProgram("serve", { args: ["--data-dir", directory, ...anyRespPort] });
  const client = new Redis(program.environment["REDIS_URL"] ?? "");
  const other = client.duplicate();
  try {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i & 255));
    await client.set("bytes", bytes);
    assert.deepEqual(await client.getBuffer("bytes"), bytes);
    await client.hset("h", { a: "1", ä: "ö" });
    assert.deepEqual(await client.hgetall("h"), { a: "1", ä: "ö" });

    const pipeline = client.pipeline();
    for (let i = 0; i < 10_000; i += 1) pipeline.incr("count");
    const results = (await pipeline.exec()) ?? [];
    assert.deepEqual(
      results.map(([, count]) => count),
      Array.from({ length: 10_000 }, (_, i) => i + 1),
    );

    assert.deepEqual(await client.multi().set("a", "1").incr("a").exec(), [
      [null, "OK"],
      [null, 2],
    ]);
    await client.watch("a");
    await other.set("a", "changed");
    assert.equal(await client.multi().set("a", "lost").exec(), null);

    const heard = once(other, "message");
    await other.subscribe("channel");
    assert.equal(await client.publish("channel", "hello"), 1);
    assert.deepEqual(await heard, ["channel", "hello"]);
    await other.unsubscribe("channel");

    const popped = other.blpop("list", 10);
    // The order of the two connections is open: the other client may wait before the list exists or find it.
    await client.rpush("list", "element");
    assert.deepEqual(await popped, ["list", "element"]);
    await assert.rejects(client.lpush("a", "x"), /^ReplyError: WRONGTYPE /);

    const startedAt = await client.lastsave();
    assert.match(await client.info("persistence"), /^rdb_changes_since_last_save:1\d{4}\r$/m);
    assert.equal(await client.save(), "OK");
    assert.deepEqual(readdirSync(join(directory, "store")).filter((name) => name.endsWith(".snapshot")).length, 1);
    assert.match(await client.info("persistence"), /^rdb_changes_since_last_save:0\r\n.*^rdb_saves:1\r$/ms);
    assert.ok((await client.lastsave()) >= startedAt);
  } finally {
    client.disconnect();
    other.disconnect();
  }
});

test("the admin port lists the clients of the port, and ends the connection of one", { timeout }, async () => {
  using peer = await RawPeer.open(respPortOf(program));
  const greeting = "+OK\r\n+OK\r\n";
  assert.equal(await peer.ask("AUTH dev\r\nCLIENT SETNAME listed\r\n", greeting.length), greeting);
  const admin = async (method: string, target: string): Promise<readonly [number, unknown]> => {
    const headers = { authorization: "Bearer dev" };
    const answer = await fetch(`${program.adminUrl}/v1/clients${target}`, { method, headers });
    return [answer.status, await answer.json()];
  };
  const [status, listed] = await admin("GET", "?database=main&name=listed");
  const [client] = (listed as { clients: readonly Record<string, unknown>[] }).clients;
  assert.equal(status, 200);
  assert.equal(client?.["address"], `127.0.0.1:${peer.socket.localPort}`);
  assert.deepEqual([client?.["lastCommand"], client?.["commands"]], ["client|setname", 2]);
  assert.deepEqual(await admin("GET", "?database=none"), [404, { error: "There is no database none" }]);
  assert.deepEqual(await admin("DELETE", `/${client?.["id"]}`), [200, { id: client?.["id"] }]);
  assert.equal(await peer.hearAll(), "");
  assert.deepEqual(await admin("DELETE", `/${client?.["id"]}`), [
    404,
    { error: `There is no client ${client?.["id"]}` },
  ]);
});

test("redis uses the types and pushes of RESP3", { timeout }, async () => {
  const client = createClient({ url: program.environment["REDIS_URL"] ?? "", RESP: 3 });
  await client.connect();
  try {
    await client.hSet("h", { a: "1", b: "2" });
    assert.deepEqual({ ...(await client.hGetAll("h")) }, { a: "1", b: "2" });
    await client.zAdd("z", { score: 1.5, value: "m" });
    assert.equal(await client.zScore("z", "m"), 1.5);
    const scored = await client.zRangeWithScores("z", 0, -1);
    assert.deepEqual(
      scored.map(({ value, score }) => [value, score]),
      [["m", 1.5]],
    );
    assert.equal(await client.get("none"), null);
    const heard: string[] = [];
    const second = Promise.withResolvers<void>();
    const listener = await client.duplicate().connect();
    await listener.pSubscribe("c*", (message, channel) => {
      heard.push(`${channel}: ${message}`);
      if (heard.length === 2) second.resolve();
    });
    await client.publish("c1", "one");
    await client.publish("c2", "two");
    await second.promise;
    assert.deepEqual(heard, ["c1: one", "c2: two"]);
    listener.destroy();
  } finally {
    client.destroy();
  }
});

test("redis-cli logs in, is refused and pipes commands", { timeout, skip: cliMissing }, async () => {
  const port = String(respPortOf(program));
  assert.equal(await redisCli(["-p", port, "ping"]), "PONG\n");
  assert.match(await redisCli(["-p", port, "get", "k"]), /^NOAUTH Authentication required/);
  assert.match(await redisCli(["-p", port, "auth", "wrong"]), /^WRONGPASS /);
  const reader = ["-p", port, "--user", "default_ro", "--pass", "dev-readonly", "--no-auth-warning"];
  assert.match(await redisCli([...reader, "set", "k", "v"]), /^NOPERM /);
  const owner = ["-p", port, "--pass", "dev", "--no-auth-warning"];
  const lines = Array.from({ length: 5_000 }, (_, i) => `*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n${1_000 + i}\r\n`);
  assert.match(await redisCli([...owner, "--pipe"], lines.join("")), /errors: 0, replies: 5000/);
  assert.equal(await redisCli([...owner, "get", "k"]), "5999\n");
  assert.match(await redisCli([...owner, "-3", "hello"]), /proto 3/);
});

test("with --redis-compat and one database, clients need no login", { timeout }, async () => {
  await using program = await startProgram("dev", { args: [...anyRespPort, "--redis-compat", "on"] });
  using peer = await RawPeer.open(respPortOf(program));
  assert.equal(await peer.ask("SET k v\r\n", 5), "+OK\r\n");
});

test("serves TLS with the certificate of a file and refuses plain text", { timeout }, async (context) => {
  const directory = temporaryDirectory(context);
  const certificate = join(directory, "certificate.pem");
  const key = join(directory, "key.pem");
  writeFileSync(certificate, hostileCertificate);
  writeFileSync(key, hostileKey);
  const args = [...anyRespPort, "--resp-tls-cert", certificate, "--resp-tls-key", key];
  await using program = await startProgram("dev", { args });
  const url = program.environment["REDIS_URL"] ?? "";
  assert.match(url, /^rediss:\/\/default:dev@127\.0\.0\.1:\d+$/);

  const client = new Redis(url, { tls: { ca: hostileCertificate, servername: "hostile.test" } });
  const value = "v".repeat(1_000_000);
  assert.equal(await client.set("k", value), "OK");
  assert.equal(await client.get("k"), value);
  client.disconnect();

  using peer = await RawPeer.open(respPortOf(program));
  peer.say("PING\r\n");
  assert.ok(!(await peer.hearAll()).includes("PONG"));
});

test("refuses an invalid or missing key file with one message", { timeout }, async (context) => {
  const directory = temporaryDirectory(context);
  const certificate = join(directory, "certificate.pem");
  writeFileSync(certificate, hostileCertificate);
  const missing = join(directory, "none.pem");
  const rows: readonly (readonly [key: string, refusal: RegExp])[] = [
    [missing, /--resp-tls-key: there is no file .*none\.pem/],
    [certificate, /--resp-tls-cert and --resp-tls-key: .* are not a PEM certificate and its key \(/],
  ];
  for (const [key, refusal] of rows) {
    const args = ["dev", ...anyRespPort, "--store-port", "0", "--vector-port", "0", "--messaging-port", "0"];
    const program = spawnProgram([...args, "--admin-port", "0", "--resp-tls-cert", certificate, "--resp-tls-key", key]);
    assert.deepEqual(await program.ended, { code: 1, signal: null });
    assert.match(program.log, refusal);
  }
});

test("a clean stop ends idle and blocked connections", { timeout }, async () => {
  await using program = await startProgram("dev", { args: anyRespPort });
  using idle = await RawPeer.open(respPortOf(program));
  using waiting = await RawPeer.open(respPortOf(program));
  assert.equal(await waiting.ask("AUTH dev\r\n", 5), "+OK\r\n");
  waiting.say("BLPOP none 0\r\n");
  const ends = [idle.hearAll(), waiting.hearAll()];
  assert.deepEqual(await program.stop(), { code: 0, signal: null });
  assert.deepEqual(await Promise.all(ends), ["", ""]);
});

test("a token reset ends the connections that logged in with the token", { timeout }, async () => {
  await using program = await startProgram("dev", { args: anyRespPort });
  using peer = await RawPeer.open(respPortOf(program));
  assert.equal(await peer.ask("AUTH dev\r\n", 5), "+OK\r\n");
  const reply = await fetch(`${program.adminUrl}/v1/databases/main/reset-password`, {
    method: "POST",
    headers: { authorization: "Bearer dev" },
  });
  assert.equal(reply.status, 200, await reply.text());
  assert.equal(await peer.hearAll(), "");
});

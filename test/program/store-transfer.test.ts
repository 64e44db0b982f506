/**
 * Moving a store in and out, beside a real redis-server: its file, its port, the
 * HTTP interface of another store, and the file that we write, which a second
 * redis-server loads. One larder with several databases runs for all of it, but
 * for the commands that start one of their own.
 */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Larder, StartRefusal, start } from "../../src/mod.ts";
import { readSettings } from "../../src/program/settings/read-settings.ts";
import { AreaClient } from "../../src/transfer/area-client.ts";
import type { RespReply } from "../../src/transfer/redis/replies.ts";
import { StoreCalls } from "../../src/transfer/store/calls.ts";
import { type RedisProcess, redisMissing, startRedis } from "../differential/redis-process.ts";
import { CuttingProxy } from "../harness/cutting-proxy.ts";
import { spawnProgram } from "./program-process.ts";

const timeout = 60_000;
const skip = redisMissing;

const names = ["live", "hosted", "types", "again", "narrow", "small", "killed", "taken"] as const;
type Name = (typeof names)[number];

let folder: string;
let larder: Larder;
let redis: RedisProcess;
/** What redis-server saved. */
let rdbPath: string;
const clients: AreaClient[] = [];

const library = "#!lua name=lib\nredis.register_function('f', function() return 'v' end)";
const FAR_MS = 4_102_444_800_000;
/** Beside those of `keys`. */
const POPULATED_COUNT = 1_500;

/** Every type in every form that redis-server 7.0 has for it. */
const fill: readonly (readonly string[])[] = [
  ["SET", "string", "value"],
  ["SET", "integer", "12345"],
  ["SET", "long", "abc".repeat(1_000)],
  ["SET", "binary", "\x00\xff\r\n\x80"],
  ["SET", "\xff\x00 key", "binary key"],
  ["SET", "k\xc3\xa9", "v\xc3\xa9"],
  ["SET", "empty", ""],
  ["SET", "expiring", "v", "PXAT", `${FAR_MS + 1}`],
  ["SETRANGE", "sparse", "5000", "end"],
  ["PFADD", "sketch", ...numbers(300)],
  ["RPUSH", "list", "a", "1", "-70000", "", "\xff"],
  ["RPUSH", "long list", ...numbers(3_000)],
  ["RPUSH", "plain nodes", "x".repeat(200), "y", "z".repeat(300)],
  ["SADD", "intset", "-3", "1", "70000", "5000000000"],
  ["SADD", "set", "a", "1", "\xff"],
  ["SADD", "long set", ...numbers(700).map((text) => `m${text}`)],
  ["ZADD", "sorted", "-inf", "d", "1.5", "a", "+inf", "c", "0.5", "b"],
  ["ZADD", "long sorted", ...numbers(300).flatMap((text) => [`${Number(text) / 8}`, `m${text}`])],
  ["HSET", "hash", "f", "v", "n", "300", "\xff", "\x00"],
  ["HSET", "long hash", "f", "v".repeat(100), ...numbers(300).flatMap((text) => [`f${text}`, text])],
  ["PEXPIREAT", "hash", `${FAR_MS}`],
  ...numbers(250).map((text) => ["XADD", "stream", `1-${text}`, "f", text, ...(text === "7" ? ["g", "x"] : [])]),
  ["XDEL", "stream", "1-250", "1-3"],
  ["XGROUP", "CREATE", "stream", "readers", "0"],
  ["XREADGROUP", "GROUP", "readers", "alice", "COUNT", "5", "STREAMS", "stream", ">"],
  ["XREADGROUP", "GROUP", "readers", "bob", "COUNT", "2", "STREAMS", "stream", ">"],
  ["XACK", "stream", "readers", "1-1"],
  ["XGROUP", "CREATE", "stream", "idle", "$"],
  ["XGROUP", "CREATE", "only a group", "g", "0", "MKSTREAM"],
  ["FUNCTION", "LOAD", library],
  ["DEBUG", "POPULATE", `${POPULATED_COUNT}`, "populated", "40"],
];

function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${index + 1}`);
}

before(async () => {
  if (skip !== false) return;
  folder = mkdtempSync(join(tmpdir(), "larder-test-"));
  redis = await startRedis(["--enable-debug-command", "yes", "--dir", folder]);
  await redis.call(["DEBUG", "QUICKLIST-PACKED-THRESHOLD", "150b"]);
  for (const reply of await redis.pipeline(fill))
    assert.ok(!(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "error"));
  await redis.call(["SAVE"]);
  rdbPath = join(folder, "source.rdb");
  copyFileSync(join(folder, "dump.rdb"), rdbPath);
  const configuration = { store: { databases: names.map((name) => ({ name, token: `token-of-${name}` })) } };
  writeFileSync(join(folder, "larder.json"), JSON.stringify(configuration));
  larder = await start({ command: "serve", dataDir: join(folder, "data"), ...configuration });
});

after(async () => {
  if (skip !== false) return;
  // The child first: it must go even when the larder never came up.
  await redis.stop();
  await Promise.all(clients.map((client) => client.close()));
  await larder.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface End {
  readonly code: number | undefined;
  readonly lines: readonly string[];
}

/** Runs a command of the program on the larder that runs. */
async function larderCommand(words: readonly string[], token?: string): Promise<End> {
  const reading = readSettings({
    arguments: [...words, "--data-dir", join(folder, "data"), "--config", join(folder, "larder.json")].concat(
      "--log-level",
      "error",
    ),
    environment: token === undefined ? {} : { LARDER_SOURCE_TOKEN: token },
    readFile: (path) => readFileSync(path, "utf8"),
  });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  const lines: string[] = [];
  const { command, ...call } = reading;
  const code = await command.run({
    ...call,
    commands: [command],
    version: "0.0.0",
    print: (line) => void lines.push(line),
  });
  return { code, lines };
}

type Send = (commands: readonly (readonly string[])[]) => Promise<readonly unknown[]>;

function ours(name: Name): Send {
  const client = new AreaClient({ base: larder.store.url, token: `token-of-${name}`, clock: systemClock });
  clients.push(client);
  const calls = new StoreCalls(client);
  return (commands) => calls.pipeline(commands) as Promise<readonly RespReply[]>;
}

const theirs: Send = (commands) => redis.pipeline(commands);

/** How each type is read whole; `sorts`: its elements have no order, and come in runs of so many. */
const wholeReads: ReadonlyMap<string, readonly { readonly words: readonly string[]; readonly sorts?: number }[]> =
  new Map([
    ["string", [{ words: ["GET", "key"] }]],
    ["list", [{ words: ["LRANGE", "key", "0", "-1"] }]],
    ["set", [{ words: ["SMEMBERS", "key"], sorts: 1 }]],
    ["zset", [{ words: ["ZRANGE", "key", "0", "-1", "WITHSCORES"] }]],
    ["hash", [{ words: ["HGETALL", "key"], sorts: 2 }]],
    [
      "stream",
      [
        { words: ["XRANGE", "key", "-", "+"] },
        { words: ["XINFO", "GROUPS", "key"] },
        { words: ["XPENDING", "key", "readers"] },
      ],
    ],
  ]);

/** Everything that a store holds, by commands: for each key its type, its expiry and its content. */
async function contentOf(send: Send): Promise<ReadonlyMap<string, unknown>> {
  const [keys] = (await send([["KEYS", "*"]])) as [string[]];
  const chosen = keys.filter((key) => !key.startsWith("populated:") || key.endsWith("0")).sort();
  const types = await send(chosen.map((key) => ["TYPE", key]));
  const content = new Map<string, unknown>([["count", keys.length]]);
  for (const [index, key] of chosen.entries()) {
    const type = types[index];
    const name = typeof type === "string" ? type : (type as { text: string }).text;
    const reads = wholeReads.get(name) ?? [];
    const commands = reads.map(({ words }) => words.map((word) => (word === "key" ? key : word)));
    const [expiry, ...replies] = await send([["PEXPIRETIME", key], ...commands]);
    const sorted = replies.map((reply, at) => inOrder(reply, reads[at]?.sorts));
    content.set(key, [name, expiry, ...sorted]);
  }
  return content;
}

function inOrder(reply: unknown, runLength: number | undefined): unknown {
  if (runLength === undefined) return plain(reply);
  const items = reply as readonly string[];
  const runs = Array.from({ length: items.length / runLength }, (_, at) =>
    items.slice(at * runLength, (at + 1) * runLength),
  );
  return runs.map((run) => JSON.stringify(run)).sort();
}

/** Simple strings as strings; errors are alike. */
function plain(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(plain);
  if (typeof reply !== "object" || reply === null) return reply;
  return "kind" in reply && reply.kind === "simple" && "text" in reply ? reply.text : "error";
}

const KEY_COUNT = 22 + POPULATED_COUNT;
/** Of a source that is cut off after a page of SCAN. */
const MORE_COUNT = 3_000;

test("imports and exports a file of redis-server, and another redis-server loads the same data", {
  timeout,
  skip,
}, async (context) => {
  const words = ["--data-dir", join(folder, "own"), "--log-level", "error"];
  const imported = spawnProgram(["import", rdbPath, ...words]);
  assert.deepEqual(await imported.ended, { code: 0, signal: null }, imported.log);
  assert.equal(
    imported.output,
    `${join(folder, "own")} is a new data directory; its tokens are in tokens.json there\n` +
      `${KEY_COUNT} keys read; the database main has ${KEY_COUNT} keys now\n` +
      `${KEY_COUNT} keys stored, and compared with what was read: type, content and expiry agree\n` +
      "libraries of functions: 1 stored, 0 already existed, 0 refused\n",
  );

  const exported = spawnProgram(["export", "store", join(folder, "out.rdb"), ...words]);
  assert.deepEqual(await exported.ended, { code: 0, signal: null }, exported.log);
  assert.equal(existsSync(join(folder, "out.rdb.documents.ndjson")), false);

  const second = await loadedInto(context, join(folder, "out.rdb"));
  assert.deepEqual(await second.call(["DEBUG", "DIGEST"]), await redis.call(["DEBUG", "DIGEST"]));
  assert.deepEqual(await second.call(["FUNCTION", "DUMP"]), await redis.call(["FUNCTION", "DUMP"]));
  assert.deepEqual(await contentOf((commands) => second.pipeline(commands)), await contentOf(theirs));
  // The digest does not look at groups: who has what since when.
  const groups = async (server: RedisProcess): Promise<unknown> => {
    const about = (await server.call(["XINFO", "STREAM", "stream", "FULL", "COUNT", "0"])) as readonly unknown[];
    return about.filter((_, at) => !String(about[at - (at % 2)]).startsWith("radix-tree"));
  };
  assert.deepEqual(await groups(second), await groups(redis));
});

async function loadedInto(context: TestContext, path: string): Promise<RedisProcess> {
  const own = mkdtempSync(join(folder, "second-"));
  copyFileSync(path, join(own, "dump.rdb"));
  const server = await startRedis(["--enable-debug-command", "yes", "--dir", own]);
  context.after(() => server.stop());
  return server;
}

test("copies a running redis-server, and again", { timeout, skip }, async () => {
  await redis.call(["ACL", "SETUSER", "importer", "on", ">p@ss", "~*", "+@all"]);
  const words = ["import", `redis://importer:p%40ss@127.0.0.1:${redis.port}/0`, "--database", "live"];

  const first = await larderCommand(words);
  assert.deepEqual(first, {
    code: 0,
    lines: [
      `${KEY_COUNT} keys read; the database live has ${KEY_COUNT} keys now`,
      `${KEY_COUNT} keys stored, and compared with what was read: type, content and expiry agree`,
      "libraries of functions: 1 stored, 0 already existed, 0 refused",
    ],
  });
  assert.deepEqual(await contentOf(ours("live")), await contentOf(theirs));

  const live = ours("live");
  await live([
    ["SET", "string", "changed"],
    ["DEL", "list"],
  ]);
  const second = await larderCommand(words);
  assert.deepEqual(second, {
    code: 0,
    lines: [
      `${KEY_COUNT} keys read; the database live has ${KEY_COUNT} keys now`,
      "1 keys stored, and compared with what was read: type, content and expiry agree",
      `${KEY_COUNT - 2} keys already existed with the same content and expiry`,
      "1 keys already existed with another content or expiry and were left unchanged (--replace overwrites them)",
      "libraries of functions: 0 stored, 1 already existed, 0 refused",
    ],
  });
  assert.deepEqual(await live([["GET", "string"]]), ["changed"]);

  assert.equal((await larderCommand([...words, "--replace"])).code, 0);
  assert.deepEqual(await live([["GET", "string"]]), ["value"]);
});

/** The one document of this index is the JSON document of the tests. */
const createIndex: readonly string[] =
  "SEARCH.CREATE index ON JSON PREFIX 2 docu \xff LANGUAGE german SCHEMA a F64 FAST b KEYWORD FROM x.y".split(" ");

test("copies a hosted store by DUMP, or by the commands of its types without DUMP", {
  timeout,
  skip,
}, async () => {
  const hosted = ours("hosted");
  assert.equal((await larderCommand(["import", rdbPath, "--database", "hosted"])).code, 0);
  await hosted([
    ["JSON.SET", "document", "$", '{"a":[1,2.5,"\xc3\xbc"],"b":null}'],
    ["PEXPIREAT", "document", `${FAR_MS}`],
    ["HSET", "expiring fields", "f", "v", "g", "w"],
    ["HPEXPIREAT", "expiring fields", `${FAR_MS}`, "FIELDS", "1", "g"],
    [...createIndex],
    ["SEARCH.ALIASADD", "texts", "index"],
    ["ACL", "SETUSER", "reader", "on", ">password-of-the-reader", "~*", "+@all", "-dump"],
  ]);
  const [token] = await hosted([["ACL", "RESTTOKEN", "reader", "password-of-the-reader"]]);

  const byDumps = await larderCommand(["import", larder.store.url, "--database", "again"], "token-of-hosted");
  const byTypes = await larderCommand(["import", larder.store.url, "--database", "types"], String(token));

  const count = KEY_COUNT + 3;
  assert.deepEqual(byDumps.lines.slice(0, 2), [
    `${count} keys read; the database again has ${count} keys now`,
    `${count} keys stored, and compared with what was read: type, content and expiry agree`,
  ]);
  assert.deepEqual(byTypes.lines.slice(0, 3), [
    `${larder.store.url}: it has no DUMP: values are read with the commands of their types`,
    `${count} keys read; the database types has ${count} keys now`,
    `${count} keys stored, and compared with what was read: type, content and expiry agree`,
  ]);
  const expected = await contentOf(hosted);
  for (const name of ["again", "types"] as const) {
    assert.deepEqual(await contentOf(ours(name)), expected, name);
    const special = await ours(name)([
      ["JSON.GET", "document"],
      ["PEXPIRETIME", "document"],
      ["HPEXPIRETIME", "expiring fields", "FIELDS", "2", "f", "g"],
      ["FCALL", "f", "0"],
      ["SEARCH.COUNT", "texts", "{}"],
    ]);
    assert.deepEqual(special, ['{"a":[1,2.5,"\xc3\xbc"],"b":null}', FAR_MS, [-1, FAR_MS], "v", 1]);
  }
});

test("writes values that a plain redis-server cannot hold to a second file, and imports both", {
  timeout,
  skip,
}, async () => {
  const path = join(folder, "both.rdb");
  const taken = ours("taken");
  await taken([
    ["SET", "k", "v"],
    ["JSON.SET", "\xff", "$", '"text"'],
    ["HSET", "h", "f", "v"],
    ["HPEXPIREAT", "h", `${FAR_MS}`, "FIELDS", "1", "f"],
    ["PEXPIREAT", "h", `${FAR_MS}`],
    [...createIndex],
    ["SEARCH.ALIASADD", "texts", "index"],
  ]);

  const exported = await larderCommand(["export", "store", path, "--database", "taken"]);
  assert.deepEqual(exported.lines, [
    `1 keys written to ${path}, which redis-server 7.0 and later load`,
    `3 keys written to ${path}.documents.ndjson: JSON documents, hashes whose fields expire and search indexes, which a plain redis-server 7.0 cannot hold; larder import ${path} reads both files`,
  ]);
  const lines = readFileSync(`${path}.documents.ndjson`, "utf8").trim().split("\n").sort();
  assert.equal(lines[0]?.startsWith(`{"key":"h","expiresAtMs":${FAR_MS},"dumpBase64":"GA`), true);
  assert.equal(lines[1]?.startsWith('{"key":"index","searchBase64":"T04ASlNPTgBQUkVGSVg'), true);
  assert.equal(lines[2], '{"keyBase64":"/w==","json":"\\"text\\""}');

  await taken([["FLUSHALL"]]);
  const imported = await larderCommand(["import", path, "--database", "taken"]);
  assert.deepEqual(imported.lines, [
    `${path}: 3 more keys come from ${path}.documents.ndjson`,
    "4 keys read; the database taken has 4 keys now",
    "4 keys stored, and compared with what was read: type, content and expiry agree",
  ]);
  assert.deepEqual(
    await taken([
      ["GET", "k"],
      ["JSON.GET", "\xff"],
      ["HPEXPIRETIME", "h", "FIELDS", "1", "f"],
      ["PEXPIRETIME", "h"],
      ["SEARCH.LISTALIASES"],
    ]),
    ["v", '"text"', [FAR_MS], FAR_MS, [["texts", "index"]]],
  );

  await assert.rejects(larderCommand(["export", "store", path, "--database", "taken"]), {
    message: `${path} already exists: name another file, or replace it with --replace`,
  });
});

test("imports files of redis-server 8.0.6 and valkey-server 9.1.2", { timeout, skip }, async () => {
  const taken = ours("taken");
  for (const name of ["redis-8.0.6", "valkey-9.1.2"]) {
    await taken([["FLUSHALL"], ["FUNCTION", "FLUSH"]]);
    const path = join("test/fixtures/rdb", `${name}.rdb`);

    assert.deepEqual(await larderCommand(["import", path, "--database", "taken"]), {
      code: 0,
      lines: [
        "8 keys read; the database taken has 8 keys now",
        "8 keys stored, and compared with what was read: type, content and expiry agree",
        "libraries of functions: 1 stored, 0 already existed, 0 refused",
      ],
    });
    const replies = await taken([
      ["GET", "str"],
      ["PEXPIRETIME", "str"],
      ["LRANGE", "list", "0", "-1"],
      ["SMISMEMBER", "set", "a", "5"],
      ["ZRANGE", "sorted", "0", "-1", "WITHSCORES"],
      ["HGET", "plain", "f"],
      ["HMGET", "packed", "a", "b", "c"],
      ["HPEXPIRETIME", "packed", "FIELDS", "3", "a", "b", "c"],
      ["HMGET", "table", "a", "b"],
      ["HPEXPIRETIME", "table", "FIELDS", "2", "a", "b"],
      ["XRANGE", "stream", "-", "+"],
      ["XPENDING", "stream", "g"],
      ["FCALL", "f", "0"],
    ]);
    assert.deepEqual(
      replies,
      [
        "x",
        FAR_MS,
        ["a", "1"],
        [1, 1],
        ["a", "1.5", "b", "2"],
        "v",
        ["1", "2", "3"],
        [-1, FAR_MS, FAR_MS + 5_000],
        ["1", "y".repeat(65)],
        [-1, FAR_MS],
        [
          ["1-1", ["a", "1"]],
          ["1-5", ["a", "2"]],
        ],
        [1, "1-1", "1-1", [["alice", "1"]]],
        "v",
      ],
      name,
    );
  }
});

test("an import that fails in its first batch says to run it again, because there is no progress to resume", {
  timeout,
  skip,
}, async () => {
  const narrow = ours("narrow");
  await narrow([["CONFIG", "SET", "maxmemory", "40kb"]]);

  await assert.rejects(larderCommand(["import", rdbPath, "--database", "narrow"]), {
    message: /OOM command not allowed.*\nThe stored keys stay; run the same command again$/,
  });
  const [stored] = (await narrow([["DBSIZE"]])) as [number];
  assert.ok(stored > 0, `${stored}`);
  await narrow([["CONFIG", "SET", "maxmemory", "0"]]);

  const { code, lines } = await larderCommand(["import", rdbPath, "--database", "narrow"]);

  assert.equal(code, 0);
  assert.equal(lines[0], `${KEY_COUNT} keys read; the database narrow has ${KEY_COUNT} keys now`);
});

test("continues an interrupted import", { timeout, skip }, async () => {
  const small = ours("small");
  const words = ["import", rdbPath, "--database", "small"];
  // More than the first 500 keys take, whichever they are, and less than all.
  await small([["CONFIG", "SET", "maxmemory", "250kb"]]);

  await assert.rejects(larderCommand(words), (fault) => {
    assert.ok(fault instanceof StartRefusal);
    assert.match(
      fault.message,
      /OOM command not allowed.*\nThe stored keys stay; run the same command with --resume to continue$/,
    );
    return true;
  });
  const [stored] = (await small([["DBSIZE"]])) as [number];
  assert.ok(stored > 0 && stored < KEY_COUNT, `${stored}`);
  await assert.rejects(larderCommand(["import", rdbPath, "--database", "types", "--resume"]), {
    message: /^The interrupted import had another source or another database/,
  });
  await small([["CONFIG", "SET", "maxmemory", "0"]]);

  const { code, lines } = await larderCommand([...words, "--resume"]);

  assert.equal(code, 0);
  assert.equal(lines[0], `${KEY_COUNT} keys read; the database small has ${KEY_COUNT} keys now`);
  assert.deepEqual(await contentOf(small), await contentOf(theirs));
  await assert.rejects(larderCommand([...words, "--resume"]), {
    message: "There is no interrupted import to resume: run the command without --resume",
  });
});

test("continues where a live source was cut off, and reads one that was killed and started again from the beginning", {
  timeout,
  skip,
}, async (context) => {
  const own = mkdtempSync(join(folder, "killed-"));
  copyFileSync(rdbPath, join(own, "dump.rdb"));
  const source = await startRedis(["--dir", own, "--enable-debug-command", "yes"]);
  context.after(() => source.stop());
  const count = KEY_COUNT + MORE_COUNT;
  await source.call(["DEBUG", "POPULATE", `${POPULATED_COUNT + MORE_COUNT}`, "populated", "40"]);
  await source.call(["SAVE"]);
  const proxy = await CuttingProxy.start(source.port);
  context.after(() => proxy.close());
  const words = ["import", `redis://127.0.0.1:${proxy.port}`, "--database", "killed"];
  const killed = ours("killed");
  const cutAfter = async (bytes: number, more: readonly string[] = []): Promise<number> => {
    proxy.cutAfter("to the client", bytes);
    await assert.rejects(larderCommand([...words, ...more]), {
      message: `redis://127.0.0.1:${proxy.port}/0: it has closed the connection\nThe stored keys stay; run the same command with --resume to continue`,
    });
    const [stored] = (await killed([["DBSIZE"]])) as [number];
    assert.ok(stored < count, `${stored}`);
    return stored;
  };
  // The first 1,000 keys, whichever they are, and the names of the next ones are at most 130,000 of 400,000 bytes.
  const first = await cutAfter(150_000);
  const second = await cutAfter(20_000, ["--resume"]);
  assert.ok(first >= 1_000 && second >= first, `${first} ${second}`);

  await source.stop();
  const again = await startRedis(["--dir", own], source.port);
  context.after(() => again.stop());
  const { code, lines } = await larderCommand([...words, "--resume"]);

  assert.equal(code, 0);
  assert.deepEqual(lines.slice(0, 2), [
    `redis://127.0.0.1:${proxy.port}/0: it has started again since the interruption, so all keys are read again`,
    `${count} keys read; the database killed has ${count} keys now`,
  ]);
  assert.equal(lines[3], `${second} keys already existed with the same content and expiry`);
  assert.deepEqual(await contentOf(killed), await contentOf((commands) => again.pipeline(commands)));
});

test("refuses an unreadable source with the reason, and changes nothing", { timeout, skip }, async () => {
  const damaged = join(folder, "damaged.rdb");
  const bytes = readFileSync(rdbPath);
  bytes[500] = (bytes[500] ?? 0) ^ 1;
  writeFileSync(damaged, bytes);
  await redis.call(["ACL", "SETUSER", "nobody", "on", ">p", "~*", "-@all"]);
  const several = join(folder, "several.rdb");
  await redis.pipeline([["SELECT", "3"], ["SET", "k", "v"], ["SELECT", "0"], ["SAVE"]]);
  copyFileSync(join(folder, "dump.rdb"), several);
  const taken = ours("taken");
  await taken([["FLUSHALL"]]);
  const rows: readonly (readonly [words: readonly string[], token: string | undefined, text: RegExp])[] = [
    [["nowhere.rdb"], undefined, /^nowhere\.rdb: the file does not exist$/],
    [[folder], undefined, /: it is not a regular file, but must be read twice$/],
    [[damaged], undefined, /damaged\.rdb: it is damaged at byte \d+: /],
    [[join(folder, "larder.json")], undefined, /it is damaged at byte 0: it is not a Redis file \(RDB\)$/],
    [
      [several],
      undefined,
      /it has several databases, 0 \(1522 keys\), 3 \(1 keys\): choose one with --source-database$/,
    ],
    [[several, "--source-database", "x"], undefined, /^--source-database: "x" is not a database number$/],
    [["redis://127.0.0.1:1"], undefined, /^redis:\/\/127\.0\.0\.1:1\/0: no program listens there$/],
    [[`redis://:secret@127.0.0.1:${redis.port}`], undefined, /^redis:\/\/127\.0\.0\.1:\d+\/0: ERR AUTH/],
    [[`redis://importer:wrong@127.0.0.1:${redis.port}`], undefined, /^redis:\/\/127\.0\.0\.1:\d+\/0: WRONGPASS /],
    [[`redis://nobody:p@127.0.0.1:${redis.port}`], undefined, /^redis:\/\/127\.0\.0\.1:\d+\/0: NOPERM .*'scan'/],
    [
      ["redis://host/a/b"],
      undefined,
      /^The address of a Redis server must be redis:\/\/user:password@host:port\/database/,
    ],
    [[larder.store.url], undefined, /^The token of the source is missing: set LARDER_SOURCE_TOKEN to it$/],
    [[larder.store.url], "wrong", /: it answers 401: WRONGPASS invalid or missing auth token$/],
  ];
  for (const [words, token, text] of rows) {
    await assert.rejects(larderCommand(["import", ...words, "--database", "taken"], token), (fault) => {
      assert.ok(fault instanceof StartRefusal, `${words}: ${String(fault)}`);
      assert.match(fault.message, text);
      return true;
    });
  }
  assert.deepEqual(await taken([["DBSIZE"]]), [0]);

  const { lines } = await larderCommand(["import", several, "--source-database", "3", "--database", "taken"]);
  assert.deepEqual(lines.slice(0, 2), [
    `${several}: 1522 keys of its database 0 are not imported`,
    "1 keys read; the database taken has 1 keys now",
  ]);
});

/**
 * The table of command families (A.families):
 * each command of a supported family works in every
 * form of a request, and each exception is refused with its name.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../src/store/commands/table.ts";
import { startServer, type TestServer } from "../harness/server.ts";
import { otherFamilies } from "./store-family-others.ts";
import { type FamilyRow, valueFamilies } from "./store-family-values.ts";

const families: Readonly<Record<string, readonly FamilyRow[]>> = { ...valueFamilies, ...otherFamilies };

/** The words of a row; in a string, blanks separate them. */
function wordsOf([command]: FamilyRow): readonly string[] {
  return typeof command === "string" ? command.split(" ") : command;
}

/** Runs the words of a family's program in one form of a request and returns the text of each element. */
type Form = (server: TestServer, program: readonly (readonly string[])[]) => Promise<string[]>;

const forms: Readonly<Record<string, Form>> = {
  "A1 path": async (server, program) => {
    const texts: string[] = [];
    for (const words of program)
      texts.push((await server.get(`/${words.map((word) => encodeURIComponent(word)).join("/")}`)).text);
    return texts;
  },
  "A1 body": async (server, program) => {
    const texts: string[] = [];
    for (const words of program) {
      const [path, body] = words.length === 1 ? [words, undefined] : [words.slice(0, -1), words.at(-1)];
      texts.push((await server.post(`/${path.map((word) => encodeURIComponent(word)).join("/")}`, body)).text);
    }
    return texts;
  },
  "A2 body": async (server, program) => {
    const texts: string[] = [];
    for (const words of program) texts.push((await server.post("/", words)).text);
    return texts;
  },
  "A3 pipeline": async (server, program) => elements((await server.post("/pipeline", program)).json),
  "A4 transaction": async (server, program) => elements((await server.post("/multi-exec", program)).json),
};

function elements(json: unknown): string[] {
  assert.ok(Array.isArray(json));
  return json.map((element) => JSON.stringify(element));
}

for (const [family, rows] of Object.entries(families))
  for (const [form, run] of Object.entries(forms))
    test(`A.families: ${form}: every command of ${family} works`, async () => {
      await using server = await startServer();

      const texts = await run(server, rows.map(wordsOf));

      assert.deepEqual(
        texts.map((text, index) => [rows[index]?.[0], text]),
        rows.map(([command, result]) => [command, `{"result":${result}}`]),
      );
    });

/** Covered by their own tests, since their words or answers are not text. */
const SHOWN_BELOW: readonly string[] = ["DUMP", "RESTORE", "LOLWUT"];
const SUBCOMMANDS_SHOWN_BELOW: readonly string[] = [
  ...["function|dump", "function|kill", "function|restore", "script|kill", "object|freq", "command|count"],
  ...["config|rewrite", "latency|graph", "memory|stats"],
  // Their answers are random: `store-users.test.ts`.
  ...["acl|genpass", "acl|gentoken", "acl|resttoken"],
];

test("A.families: LOLWUT, MEMORY STATS, and CONFIG REWRITE and LATENCY GRAPH", async () => {
  await using server = await startServer();
  const resultOf = async (path: string): Promise<unknown> =>
    ((await server.get(path)).json as { result: unknown }).result;
  assert.match(String(await resultOf("/lolwut/3/1")), /^[\u2571\u2572]{3}\n\nlarder .*, Redis ver\. 7\.0\.15\n$/);
  assert.deepEqual(((await resultOf("/memory/stats")) as unknown[])[0], "total.allocated");
  for (const [path, error] of [
    ["/config/rewrite", "ERR The server is running without a config file"],
    ["/latency/graph/command", "ERR No samples available for event 'command'"],
  ] as const)
    assert.deepEqual((await server.get(path)).json, { error });
});

test("A.families: DUMP and RESTORE carry any value in a request's body", async () => {
  await using server = await startServer();
  await server.post("/", ["RPUSH", "list", "a", "é", "12"]);
  const { json } = await server.get("/dump/list", { headers: { "service-encoding": "base64" } });
  const dumped = Buffer.from((json as { result: string }).result, "base64");

  assert.deepEqual((await server.post("/restore/copy/0", dumped)).json, { result: "OK" });
  assert.deepEqual((await server.post("/restore/copy/0?REPLACE", dumped)).json, { result: "OK" });
  assert.deepEqual((await server.get("/lrange/copy/0/-1")).json, { result: ["a", "é", "12"] });
  assert.deepEqual((await server.post("/restore/copy/0", dumped)).json, {
    error: "BUSYKEY Target key name already exists.",
  });
  assert.deepEqual((await server.post("/restore/bad/0", "damaged")).json, {
    error: "ERR DUMP payload version or checksum are wrong",
  });
});

/** The commands of Redis 7.0 in the groups of its reference that the table calls supported. */
const redisCommands: Readonly<Record<string, string>> = {
  String:
    "APPEND DECR DECRBY GET GETDEL GETEX GETRANGE GETSET INCR INCRBY INCRBYFLOAT LCS MGET MSET MSETNX PSETEX SET SETEX " +
    "SETNX SETRANGE STRLEN SUBSTR",
  Bitmap: "BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS GETBIT SETBIT",
  Hash: "HDEL HEXISTS HGET HGETALL HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HRANDFIELD HSCAN HSET HSETNX HSTRLEN HVALS",
  List:
    "BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH LINDEX LINSERT LLEN LMOVE LMPOP LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM " +
    "RPOP RPOPLPUSH RPUSH RPUSHX",
  Set:
    "SADD SCARD SDIFF SDIFFSTORE SINTER SINTERCARD SINTERSTORE SISMEMBER SMEMBERS SMISMEMBER SMOVE SPOP SRANDMEMBER SREM " +
    "SSCAN SUNION SUNIONSTORE",
  SortedSet:
    "BZMPOP BZPOPMAX BZPOPMIN ZADD ZCARD ZCOUNT ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD ZINTERSTORE ZLEXCOUNT ZMPOP " +
    "ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX " +
    "ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION ZUNIONSTORE",
  Geo: "GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH GEOSEARCHSTORE",
  HyperLogLog: "PFADD PFCOUNT PFDEBUG PFMERGE PFSELFTEST",
  Scripting: "EVAL EVALSHA EVALSHA_RO EVAL_RO FCALL FCALL_RO FUNCTION SCRIPT",
  Generic:
    "COPY DEL DUMP EXISTS EXPIRE EXPIREAT EXPIRETIME KEYS MIGRATE MOVE OBJECT PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PTTL " +
    "RANDOMKEY RENAME RENAMENX RESTORE SCAN SORT SORT_RO TOUCH TTL TYPE UNLINK WAIT",
  Streams: "XACK XADD XAUTOCLAIM XCLAIM XDEL XGROUP XINFO XLEN XPENDING XRANGE XREAD XREADGROUP XREVRANGE XSETID XTRIM",
  "Pub/Sub": "PSUBSCRIBE PUBLISH PUBSUB PUNSUBSCRIBE SPUBLISH SSUBSCRIBE SUBSCRIBE SUNSUBSCRIBE UNSUBSCRIBE",
  Connection: "AUTH CLIENT ECHO HELLO PING QUIT RESET SELECT",
  Transactions: "DISCARD EXEC MULTI UNWATCH WATCH",
  Cluster: "ASKING CLUSTER READONLY READWRITE",
};

/** The refused commands, by reason. The table itself names the first three, and those it calls unsupported. */
const refused: Readonly<Record<string, readonly string[]>> = {
  "they block": ["BLMOVE", "BLMPOP", "BLPOP", "BRPOP", "BRPOPLPUSH", "BZMPOP", "BZPOPMAX", "BZPOPMIN"],
  "a transaction is one request": ["DISCARD", "EXEC", "MULTI", "UNWATCH", "WATCH"],
  "no cluster exists": ["ASKING", "CLUSTER", "READONLY", "READWRITE"],
  "HTTP has no connection": ["AUTH", "CLIENT", "HELLO", "QUIT", "RESET", "SELECT"],
  "a subscription is an event stream": ["PSUBSCRIBE", "PUNSUBSCRIBE", "SUBSCRIBE", "UNSUBSCRIBE", "MONITOR"],
  "channels have no shards": ["SPUBLISH", "SSUBSCRIBE", "SUNSUBSCRIBE"],
  "only one database exists": ["MOVE", "SWAPDB"],
  "only one node exists": ["FAILOVER", "MIGRATE", "PSYNC", "REPLCONF", "REPLICAOF", "ROLE", "SLAVEOF", "SYNC"],
  "the user does not manage the server": ["BGREWRITEAOF", "BGSAVE", "DEBUG", "LASTSAVE", "MODULE", "SAVE", "SHUTDOWN"],
  "they test Redis itself": ["PFDEBUG", "PFSELFTEST"],
};

const refusedNames: readonly string[] = Object.values(refused).flat();

test("A.families: every command of Redis 7.0 in a family is tested here, or refused for a reason", () => {
  for (const [family, names] of Object.entries(redisCommands)) {
    const shown = new Set((families[family] ?? []).map((row) => wordsOf(row)[0]));
    assert.deepEqual(
      names
        .split(" ")
        .filter((name) => !shown.has(name) && !refusedNames.includes(name) && !SHOWN_BELOW.includes(name)),
      [],
      family,
    );
  }
});

/** The family of a row of the store, and its name in the table. */
const tableNames: Readonly<Record<string, string>> = {
  string: "String",
  bitmap: "Bitmap",
  hash: "Hash",
  list: "List",
  set: "Set",
  "sorted-set": "SortedSet",
  stream: "Streams",
  geo: "Geo",
  hyperloglog: "HyperLogLog",
  json: "JSON",
  generic: "Generic",
  scripting: "Scripting",
  pubsub: "Pub/Sub",
  server: "Server",
  connection: "Connection",
};

test("A.families: FUNCTION DUMP and RESTORE carry libraries, and FUNCTION KILL finds no running script", async () => {
  await using server = await startServer();
  const library = "#!lua name=lib\nredis.register_function('f', function() return 7 end)";
  await server.post("/", ["FUNCTION", "LOAD", library]);
  const { json } = await server.get("/function/dump", { headers: { "service-encoding": "base64" } });
  await server.get("/function/flush");

  const dumped = Buffer.from((json as { result: string }).result, "base64");
  assert.deepEqual((await server.post("/function/restore", dumped)).json, { result: "OK" });
  assert.deepEqual((await server.get("/fcall/f/0")).json, { result: 7 });
  for (const path of ["/script/kill", "/function/kill"])
    assert.deepEqual((await server.get(path)).json, { error: "NOTBUSY No scripts in execution right now." });
});

test("A.families: COMMAND counts what it lists, and OBJECT FREQ works under an LFU policy", async () => {
  await using server = await startServer();
  const listed = (await server.get("/command/list")).json as { result: string[] };
  assert.deepEqual((await server.get("/command/count")).json, {
    result: listed.result.filter((name) => !name.includes("|")).length,
  });
  await server.get("/config/set/maxmemory-policy/allkeys-lfu");
  await server.get("/set/k/v");
  assert.deepEqual((await server.get("/object/freq/k")).json, { result: 5 });
});

test("A.families: every subcommand of the store but HELP is tested here, and HELP answers lines", async () => {
  await using server = await startServer();
  for (const { name, family, subcommandByName, isAvailableOverHttp } of commands)
    for (const { name: subName, fullName } of (isAvailableOverHttp && subcommandByName?.values()) || []) {
      const rows = families[tableNames[family] ?? ""];
      if (rows === undefined) continue;
      if (subName === "HELP") {
        const { json } = await server.get(`/${name}/${subName}`);
        assert.equal((json as { result: string[] }).result[0]?.startsWith(`${name} <subcommand>`), true, fullName);
      } else if (!SUBCOMMANDS_SHOWN_BELOW.includes(fullName))
        assert.ok(
          rows.some((row) => wordsOf(row)[0] === name && wordsOf(row)[1]?.toUpperCase() === subName),
          fullName,
        );
    }
});

test("A.families: every row of the store in these families is tested here or refused over HTTP", () => {
  for (const command of commands) {
    const rows = families[tableNames[command.family] ?? ""];
    if (rows === undefined || SHOWN_BELOW.includes(command.name)) continue;
    const isShown = rows.some((row) => wordsOf(row)[0] === command.name);
    assert.equal(isShown, command.isAvailableOverHttp, command.name);
  }
});

for (const [reason, names] of Object.entries(refused))
  test(`A.families, A.unavailable: ${names.join(", ")}: refused in every form, for ${reason}`, async () => {
    await using server = await startServer();
    await server.get("/set/k/v");
    for (const name of names) {
      const error = `ERR Command is not available: '${name}'. See docs/reference/commands.md of larder for its commands`;
      for (const [method, path, body] of [
        ["GET", `/${name.toLowerCase()}/k/1`, undefined],
        ["POST", `/${name}/k`, "1"],
        ["POST", "/", [name, "k", "1"]],
        ["POST", "/", [name.toLowerCase()]],
        [
          "POST",
          "/multi-exec",
          [
            ["DEL", "k"],
            [name, "k", "1"],
          ],
        ],
      ] as const) {
        if (name === "MONITOR" || name.endsWith("SUBSCRIBE")) if (path !== "/" && path !== "/multi-exec") continue;
        const reply = await server.send(path, { method, body });
        assert.deepEqual([reply.status, reply.json], [400, { error }], `${method} ${path} ${name}`);
      }
      const batch = await server.post("/pipeline", [["EXISTS", "k"], [name, "k", "1"], ["PING"]]);
      assert.deepEqual(batch.json, [{ result: 1 }, { error }, { result: "PONG" }], name);
    }
  });

test("A.families: streams are read without waiting; a blocking read is refused with its name", async () => {
  await using server = await startServer();
  await server.post("/", ["XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"]);
  for (const [name, words] of [
    ["XREAD", ["XREAD", "BLOCK", "10", "STREAMS", "s", "0"]],
    ["XREAD", ["xread", "COUNT", "1", "block", "0", "STREAMS", "s", "$"]],
    ["XREADGROUP", ["XREADGROUP", "GROUP", "g", "c", "BLOCK", "10", "STREAMS", "s", ">"]],
    ["XREADGROUP", ["xreadgroup", "GROUP", "g", "c", "COUNT", "1", "block", "0", "NOACK", "STREAMS", "s", ">"]],
  ] as const) {
    const error = `ERR Command is not available: '${name} BLOCK'. See docs/reference/commands.md of larder for its commands`;
    assert.deepEqual((await server.post("/", words)).json, { error }, words.join(" "));
    assert.deepEqual((await server.post("/pipeline", [words, ["PING"]])).json, [{ error }, { result: "PONG" }]);
  }
});

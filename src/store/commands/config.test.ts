/** CONFIG returns facts, and sets the memory limits of a database. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { error, nil, ok, startSession } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import type { ProcessFigures } from "../command-host.ts";
import { type Reply, simple } from "../reply/reply.ts";
import { Store, type StoreOptions } from "../store.ts";
import { RedisCompat } from "./redis-compat.ts";

function pairs(...list: readonly (readonly [string, string])[]): Reply {
  return { kind: "map", pairs: list };
}

test("CONFIG GET returns the parameters that match, under old names too", () => {
  startSession({ journal: new RecordingJournal() }).expect([
    ["CONFIG GET maxmemory", pairs(["maxmemory", "0"])],
    ["CONFIG GET MaxMemory", pairs(["MaxMemory", "0"])],
    [
      "CONFIG GET MAXMEM*",
      pairs(
        ["maxmemory", "0"],
        ["maxmemory-clients", "0"],
        ["maxmemory-policy", "noeviction"],
        ["maxmemory-samples", "5"],
      ),
    ],
    ["CONFIG GET save", pairs(["save", ""])],
    ["CONFIG GET timeout cluster-enabled hz", pairs(["cluster-enabled", "no"], ["hz", "10"], ["timeout", "0"])],
    ["CONFIG GET slaveof", pairs(["slaveof", ""])],
    ["CONFIG GET stream-*", pairs(["stream-node-max-bytes", "4096"], ["stream-node-max-entries", "100"])],
    ["CONFIG GET activedefrag io-threads", pairs(["activedefrag", "no"], ["io-threads", "1"])],
    ["CONFIG GET acllog-max-len unixsocket", pairs(["acllog-max-len", "128"], ["unixsocket", ""])],
    ["CONFIG GET requirepass dir bind logfile", pairs()],
    ["CONFIG GET lfu*", pairs(["lfu-decay-time", "1"], ["lfu-log-factor", "10"])],
    ["CONFIG GET appendonly databases", pairs(["appendonly", "yes"], ["databases", "1"])],
    ["CONFIG GET hash-max-*-entries", pairs(["hash-max-listpack-entries", "512"], ["hash-max-ziplist-entries", "512"])],
    ["CONFIG GET proto-max-bulk-len maxmemory proto*", pairs(["maxmemory", "0"], ["proto-max-bulk-len", "536870912"])],
    ["CONFIG GET hll-sparse-max-bytes", pairs(["hll-sparse-max-bytes", "3000"])],
    ["CONFIG GET zset-max-zip*", pairs(["zset-max-ziplist-entries", "128"], ["zset-max-ziplist-value", "64"])],
    [
      "CONFIG GET list*",
      pairs(["list-compress-depth", "0"], ["list-max-listpack-size", "128"], ["list-max-ziplist-size", "128"]),
    ],
    ["CONFIG GET notify-keyspace-events", pairs(["notify-keyspace-events", ""])],
    [
      "CONFIG GET latency*",
      pairs(
        ["latency-monitor-threshold", "0"],
        ["latency-tracking", "yes"],
        ["latency-tracking-info-percentiles", "50 99 99.9"],
      ),
    ],
    ["CONFIG GET slowlog-*", pairs(["slowlog-log-slower-than", "10000"], ["slowlog-max-len", "128"])],
    ["CONFIG GET unheard-of", pairs()],
    ["CONFIG GET", error("ERR wrong number of arguments for 'config|get' command")],
  ]);
});

test("CONFIG GET returns the settings of the program and of its RESP port, and no others without them", () => {
  const process: ProcessFigures = {
    processId: 1,
    operatingSystem: "",
    readMemory: () => assert.fail("CONFIG does not read the memory"),
    readCpu: () => assert.fail("CONFIG does not read the processor time"),
    readResp: () => ({
      port: 6_380,
      isEncrypted: true,
      connectionsMax: 5_000,
      keepAliveMs: 300_000,
      output: { listeningBytesMax: 33_554_432, slowBytesMax: 8_388_608, slowMs: 60_000 },
      rejectedCount: 0,
    }),
  };
  const words =
    "CONFIG GET appendfsync client-output-buffer-limit client-query-buffer-limit maxclients port tcp-keepalive tls-port";
  const get = (options: Partial<StoreOptions>): Reply | Promise<Reply> =>
    new Store({
      journal: new RecordingJournal(),
      clock: new VirtualClock(),
      random: seededRandom(1),
      hashSeed: new Uint8Array(8),
      ...options,
    })
      .database("main")
      .command({ user: defaultUser, transport: "http", address: "" }, words.split(" "));
  assert.deepEqual(
    get({ settings: { fsync: "everysec", requestBytesMax: 10_485_760 }, process }),
    pairs(
      ["appendfsync", "everysec"],
      ["client-output-buffer-limit", "normal 0 0 0 slave 0 0 0 pubsub 33554432 8388608 60"],
      ["client-query-buffer-limit", "10485760"],
      ["maxclients", "5000"],
      ["port", "0"],
      ["tcp-keepalive", "300"],
      ["tls-port", "6380"],
    ),
  );
  assert.deepEqual(get({}), pairs());
});

function refused(name: string, reason: string): Reply {
  return error(`ERR CONFIG SET failed (possibly related to argument '${name}') - ${reason}`);
}

test("CONFIG SET sets the memory limits of a database, spelled as in redis.conf", () => {
  startSession().expect([
    ["CONFIG SET maxmemory 100mb", ok],
    ["CONFIG GET maxmemory", pairs(["maxmemory", "104857600"])],
    ["CONFIG SET MaxMemory 2G", ok],
    ["CONFIG GET maxmemory", pairs(["maxmemory", "2000000000"])],
    ["CONFIG SET maxmemory ''", ok],
    ["CONFIG GET maxmemory", pairs(["maxmemory", "0"])],
    ["CONFIG SET maxmemory-policy ALLKEYS-LFU maxmemory-samples 10 lfu-log-factor 0 lfu-decay-time 0", ok],
    [
      "CONFIG GET maxmemory-* lfu-*",
      pairs(
        ["lfu-decay-time", "0"],
        ["lfu-log-factor", "0"],
        ["maxmemory-clients", "0"],
        ["maxmemory-policy", "allkeys-lfu"],
        ["maxmemory-samples", "10"],
      ),
    ],
  ]);
});

test("CONFIG SET sets all parameters or none", () => {
  startSession().expect([
    ["CONFIG SET maxmemory 1tb", refused("maxmemory", "argument must be a memory value")],
    ["CONFIG SET maxmemory -1", refused("maxmemory", "argument must be a memory value")],
    [
      "CONFIG SET maxmemory 1gb maxmemory-policy lru",
      refused(
        "maxmemory-policy",
        "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction",
      ),
    ],
    ["CONFIG SET maxmemory 1 MAXMEMORY 2", refused("MAXMEMORY", "duplicate parameter")],
    [
      "CONFIG SET maxmemory-samples 0",
      refused("maxmemory-samples", "argument must be between 1 and 2147483647 inclusive"),
    ],
    ["CONFIG SET maxmemory-samples x", refused("maxmemory-samples", "argument couldn't be parsed into an integer")],
    ["CONFIG SET lfu-decay-time -1", refused("lfu-decay-time", "argument must be between 0 and 2147483647 inclusive")],
    [
      "CONFIG SET maxmemory 1 unheard-of 2",
      error("ERR Unknown option or number of arguments for CONFIG SET - 'unheard-of'"),
    ],
    ["CONFIG SET maxmemory 1 databases 3", refused("databases", "can't set immutable config")],
    ["CONFIG GET maxmemory", pairs(["maxmemory", "0"])],
  ]);
});

test("CONFIG SET names the parameter that it refuses", () => {
  startSession().expect([
    [
      "CONFIG SET appendonly yes",
      error("ERR CONFIG SET failed (possibly related to argument 'appendonly') - can't set immutable config"),
    ],
    ["CONFIG SET unheard-of 1", error("ERR Unknown option or number of arguments for CONFIG SET - 'unheard-of'")],
    ["CONFIG SET maxmemory 1 databases", error("ERR syntax error")],
    ["CONFIG SET maxmemory", error("ERR wrong number of arguments for 'config|set' command")],
    ["CONFIG REWRITE", error("ERR The server is running without a config file")],
    ["CONFIG REWRITE x", error("ERR wrong number of arguments for 'config|rewrite' command")],
  ]);
});

/** A store of a shard, rebuilt from the frames of a journal or of a snapshot. */
function shardStore(options: Partial<StoreOptions> = {}, frames: Iterable<Uint8Array> = []): Store {
  const store = new Store({
    journal: new RecordingJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    keepsSettings: true,
    ...options,
  });
  store.beginRecovery();
  for (const frame of frames) store.replay(Buffer.from(frame), { segment: 1, offset: 0 });
  store.endRecovery();
  return store;
}

const overHttp = { user: defaultUser, transport: "http", address: "" } as const;

function runLine(store: Store, line: string): Reply | Promise<Reply> {
  return store.database("main").command(overHttp, line.split(" "));
}

const CHOSEN = "CONFIG GET notify-keyspace-events maxmemory* slowlog-max-len tracking-table-max-keys";
const chosenValues = pairs(
  ["maxmemory", "1048576"],
  ["maxmemory-clients", "0"],
  ["maxmemory-policy", "allkeys-lru"],
  ["maxmemory-samples", "5"],
  ["notify-keyspace-events", "AKE"],
  ["slowlog-max-len", "7"],
  ["tracking-table-max-keys", "1000"],
);

test("what CONFIG SET chooses on a shard is there after a replay, from its journal and from a snapshot", () => {
  const journal = new RecordingJournal();
  const store = shardStore({ journal });
  const shard = (frames: Iterable<Uint8Array>): Store => shardStore({}, frames);
  for (const line of [
    "CONFIG SET notify-keyspace-events KEA maxmemory 1mb maxmemory-policy allkeys-lru",
    "CONFIG SET slowlog-max-len 9",
    "CONFIG SET slowlog-max-len 7 tracking-table-max-keys 1000",
  ])
    assert.deepEqual(runLine(store, line), ok);
  assert.deepEqual(runLine(store, CHOSEN), chosenValues);
  const snapshot = Array.from(store.dump(), (frame) => Buffer.from(frame));
  assert.deepEqual(runLine(shard(journal.frames), CHOSEN), chosenValues);
  assert.deepEqual(runLine(shard(snapshot), CHOSEN), chosenValues);
  // And once more, although nothing was set there.
  const again = Array.from(shard(snapshot).dump(), (frame) => Buffer.from(frame));
  assert.deepEqual(runLine(shard(again), CHOSEN), chosenValues);
});

test("a single server stores nothing of CONFIG SET, and does not apply what an exported shard has chosen", () => {
  const journal = new RecordingJournal();
  const single = shardStore({ journal, keepsSettings: false });
  single.database("main");
  const count = journal.frames.length;
  assert.deepEqual(runLine(single, "CONFIG SET slowlog-max-len 7"), ok);
  assert.equal(journal.frames.length, count);

  const shard = shardStore({ journal: new RecordingJournal() });
  runLine(shard, "CONFIG SET slowlog-max-len 7");
  const exported = shardStore(
    { keepsSettings: false },
    Array.from(shard.dump(), (frame) => Buffer.from(frame)),
  );
  assert.deepEqual(runLine(exported, "CONFIG GET slowlog-max-len"), pairs(["slowlog-max-len", "128"]));
});

test("a limit of the operator that was lowered since wins over what CONFIG SET has chosen", () => {
  const store = shardStore();
  runLine(store, "CONFIG SET maxmemory 2mb maxmemory-samples 9");
  const frames = Array.from(store.dump(), (frame) => Buffer.from(frame));
  const lowered = shardStore({ memory: { bytesMax: 1_048_576 } }, frames);
  assert.deepEqual(
    runLine(lowered, "CONFIG GET maxmemory maxmemory-samples"),
    pairs(["maxmemory", "1048576"], ["maxmemory-samples", "9"]),
  );
});

test("CONFIG SET on a shard whose journal refuses changes nothing", () => {
  const journal = new RecordingJournal();
  const store = shardStore({ journal });
  store.database("main");
  journal.refusal = "PostgreSQL does not answer";
  assert.deepEqual(
    runLine(store, "CONFIG SET slowlog-max-len 7"),
    error("MISCONF Errors writing to the AOF file: PostgreSQL does not answer"),
  );
  assert.deepEqual(runLine(store, "CONFIG GET slowlog-max-len"), pairs(["slowlog-max-len", "128"]));
});

test("CONFIG SET accepts any name when the tests of Redis run, and changes nothing", () => {
  const session = startSession({ compat: new RedisCompat(() => {}) });
  session.expect([
    ["CONFIG SET List-Max-Listpack-Size -5 Lazyfree-Lazy-Expire yes maxmemory-samples 7", ok],
    ["CONFIG GET list-max-l*", pairs(["list-max-listpack-size", "-5"])],
    ["CONFIG GET lazyfree*", pairs(["lazyfree-lazy-expire", "yes"])],
    ["CONFIG GET maxmemory-samples", pairs(["maxmemory-samples", "7"])],
    ["CONFIG GET databases", pairs(["databases", "1"])],
    ["CONFIG SET what", error("ERR wrong number of arguments for 'config|set' command")],
  ]);
  assert.deepEqual(
    session.database.command(overHttp, ["CONFIG", "SET", "what", "1"]),
    error("ERR Unknown option or number of arguments for CONFIG SET - 'what'"),
  );
});

test("CONFIG HELP and MEMORY HELP list their subcommands", () => {
  const session = startSession();
  for (const line of ["CONFIG HELP", "MEMORY HELP"]) {
    const reply = session.run(line);
    assert.ok(Array.isArray(reply));
    assert.deepEqual(reply.at(-2), simple("HELP"));
  }
});

test("CONFIG RESETSTAT resets the counters of INFO", () => {
  const session = startSession();
  session.expect([
    ["GET missing", nil],
    ["CONFIG RESETSTAT", ok],
    [
      "INFO commandstats",
      {
        kind: "verbatim",
        text: "# Commandstats\r\ncmdstat_info:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0\r\n",
      },
    ],
  ]);
});

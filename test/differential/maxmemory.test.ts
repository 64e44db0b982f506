/**
 * maxmemory compared with a real redis-server: the same texts in the same states, and
 * the same hit rate on the same trace.
 *
 * Run longer: LARDER_TEST_SIZE=proof npm run t -- test/differential/maxmemory.test.ts
 * Run again:  LARDER_DIFFERENTIAL_SEED=… before the same command
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { seededRandom } from "../../src/kernel/random.ts";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { joinLine, splitLine, startSession } from "../harness/store-harness.ts";
import { isError, isSame, showReply } from "./compare.ts";
import { Engine } from "./engine.ts";
import { families } from "./families.ts";
import { runOnEngine, runOnRedis, type TraceOptions } from "./hit-rate.ts";
import { drawProgram, type Family } from "./programs.ts";
import { type RedisProcess, redisMissing, startRedis } from "./redis-process.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");
const limit = allowanceOf("hit-rate");
/** The maximum difference of hit rates. */
const RATE_DIFFERENCE_MAX = 0.03;
const REDIS_CLOCK_MS = 1_000;
const OUR_CLOCK_MS = 1;

/** A limit of 1 byte leaves no room in either. */
const lines: readonly string[] = [
  "SET k v",
  "RPUSH l a b",
  "OBJECT FREQ k",
  "OBJECT FREQ none",
  "CONFIG SET maxmemory 100mb",
  "CONFIG GET maxmemory",
  "CONFIG SET maxmemory 1k",
  "CONFIG GET maxmemory",
  "CONFIG SET maxmemory ''",
  "CONFIG GET maxmemory",
  "CONFIG SET maxmemory kb",
  "CONFIG GET maxmemory",
  "CONFIG SET maxmemory 1.5gb",
  "CONFIG SET maxmemory '5 mb'",
  "CONFIG SET maxmemory 1tb",
  "CONFIG SET maxmemory -1",
  "CONFIG SET maxmemory 1gb maxmemory-policy lru",
  "CONFIG GET maxmemory",
  "CONFIG SET maxmemory 1 MAXMEMORY 2",
  "CONFIG SET databases 1 unheard-of 2",
  "CONFIG SET unheard-of 2 databases 1",
  "CONFIG SET maxmemory 1 databases",
  "CONFIG SET maxmemory-samples 0",
  "CONFIG SET maxmemory-samples 2147483648",
  "CONFIG SET maxmemory-samples 9223372036854775808",
  "CONFIG SET maxmemory-samples 1x",
  "CONFIG SET lfu-log-factor -1",
  "CONFIG SET lfu-decay-time ''",
  "CONFIG SET maxmemory-policy ALLKEYS-LFU",
  "CONFIG GET maxmemory-policy",
  "OBJECT IDLETIME k",
  "OBJECT IDLETIME none",
  "CONFIG SET lfu-log-factor 0",
  "CONFIG GET lfu-*-factor",
  "SET often v",
  "OBJECT FREQ often",
  "SET often w",
  "OBJECT FREQ often",
  "APPEND often x",
  "GET often",
  "OBJECT FREQ often",
  "SET often 1 GET",
  "OBJECT FREQ often",
  "INCR often",
  "OBJECT FREQ often",
  "GETSET often 1",
  "OBJECT FREQ often",
  "EXISTS often",
  "TTL often",
  "TYPE often",
  "OBJECT FREQ often",
  "TOUCH often",
  "OBJECT FREQ often",
  "MSET often 2",
  "OBJECT FREQ often",
  "RENAME often renamed",
  "COPY renamed copy",
  "OBJECT FREQ copy",
  "LPUSH l c",
  "LRANGE l 0 -1",
  "HSET h f v",
  "HGET h f",
  "OBJECT FREQ h",
  "CONFIG SET maxmemory-policy noeviction maxmemory 1",
  "GET k",
  "SET k w",
  "SET k",
  "APPEND k w",
  "LPUSH l d",
  "LPOP l",
  "RENAME k other",
  "COPY other k",
  "EXPIRE other 100",
  "DEL other",
  "PING",
  "FLUSHALL",
  "SET k v",
  "CONFIG SET maxmemory-policy volatile-lru",
  "SET k v",
  "CONFIG SET maxmemory 0 lfu-log-factor 10",
  "SET k v",
];

suite("maxmemory compared with redis-server", { skip: redisMissing }, () => {
  let redis: RedisProcess | undefined;

  before(async () => {
    redis = await startRedis();
  });

  after(async () => {
    await redis?.stop();
  });

  test("settings, refusals and counts of use are answered as Redis answers them", async () => {
    assert.ok(redis !== undefined);
    const engine = new Engine(Date.UTC(2026, 0, 1));
    for (const line of lines) {
      const ours = engine.run(splitLine(line));
      const theirs = await redis.call(splitLine(line));
      assert.ok(isSame(ours, theirs), `${line}\n  ours:  ${showReply(ours)}\n  redis: ${showReply(theirs)}`);
    }
  });

  test("a transaction is refused when any command is queued", async () => {
    assert.ok(redis !== undefined);
    const engine = new Engine(Date.UTC(2026, 0, 1));
    for (const line of ["FLUSHALL", "SET k v", "CONFIG SET maxmemory 1 maxmemory-policy noeviction"]) {
      engine.run(splitLine(line));
      await redis.call(splitLine(line));
    }
    for (const line of ["GET k", "DEL k", "SET k w", "GET"]) {
      const outcome = engine.transaction([splitLine(line)]);
      const [, queued = null] = await redis.pipeline([["MULTI"], splitLine(line), ["DISCARD"]]);
      const ours = "refusal" in outcome ? `(error) ${outcome.refusal}` : "queued";
      assert.equal(ours, showReply(queued), line);
    }
    await redis.call(["CONFIG", "SET", "maxmemory", "0"]);
  });

  test("random programs leave the same use counters as in Redis", async (context) => {
    assert.ok(redis !== undefined);
    let compared = 0;
    // How often SORT looks up the keys of a pattern depends on the server.
    for (const [index, family] of families
      .filter(({ name }) => !name.startsWith("sort ") && name !== "sort")
      .entries()) {
      for (let at = 0; at < USE_PROGRAMS; at += 1)
        compared += await compareUses(redis, family, seed + index + at * 100);
    }
    context.diagnostic(`SEED=${seed}: ${compared} counts`);
  });

  const trace = { seed, keyCount: 20_000, heldCount: 4_000, limit } as const;

  test("LRU: the hit rate equals that of Redis, and is higher with our finer clock", async (context) => {
    assert.ok(redis !== undefined);
    const options: TraceOptions = { ...trace, policy: "allkeys-lru" };
    const run = await runOnRedis(redis, options);
    const alike = runOnEngine(run, { ...options, clockUnitMs: REDIS_CLOCK_MS });
    const ours = runOnEngine(run, { ...options, clockUnitMs: OUR_CLOCK_MS });
    const text = `SEED=${seed}: ${run.readCount} reads, ${run.heldCount} keys held: Redis ${run.hitRate}, ours ${ours}, ${alike} with the clock of Redis`;
    context.diagnostic(text);
    assert.ok(Math.abs(alike - run.hitRate) <= RATE_DIFFERENCE_MAX, text);
    assert.ok(ours >= run.hitRate - RATE_DIFFERENCE_MAX, text);
  });

  test("LFU: the hit rate equals that of Redis", async (context) => {
    assert.ok(redis !== undefined);
    const options: TraceOptions = { ...trace, policy: "allkeys-lfu" };
    const run = await runOnRedis(redis, options);
    const ours = runOnEngine(run, { ...options, clockUnitMs: OUR_CLOCK_MS });
    const text = `SEED=${seed}: ${run.readCount} reads, ${run.heldCount} keys held: Redis ${run.hitRate}, ours ${ours}`;
    context.diagnostic(text);
    assert.ok(Math.abs(ours - run.hitRate) <= RATE_DIFFERENCE_MAX, text);
  });

  test("LRU: on a trace slow enough for Redis' clock of seconds, the hit rate equals that of Redis", {
    skip: "count" in limit ? false : "it takes 40 s: in the proof alone",
  }, async (context) => {
    assert.ok(redis !== undefined);
    const options: TraceOptions = {
      policy: "allkeys-lru",
      seed,
      keyCount: 5_000,
      heldCount: 1_000,
      limit: { count: 40_000 },
      stepMs: 50,
    };
    const run = await runOnRedis(redis, options);
    const ours = runOnEngine(run, { ...options, clockUnitMs: OUR_CLOCK_MS });
    const text = `SEED=${seed}: ${run.readCount} reads, ${run.heldCount} keys held: Redis ${run.hitRate}, ours ${ours}`;
    context.diagnostic(text);
    assert.ok(Math.abs(ours - run.hitRate) <= RATE_DIFFERENCE_MAX, text);
  });

  test("TTL: at least as many of the remaining keys as in Redis are those that expire last", async (context) => {
    assert.ok(redis !== undefined);
    const theirs = await lateShareOfRedis(redis);
    const ours = lateShareOfEngine();
    const text = `SEED=${seed}: of the keys held, those of the later half: Redis ${theirs}, ours ${ours}`;
    context.diagnostic(text);
    assert.ok(ours >= theirs - RATE_DIFFERENCE_MAX, text);
  });
});

/** Programs for each family. */
const USE_PROGRAMS = 2;
/** Redis 7.0 reads their key before it checks their arguments. A refused one is a use there, and not in Redis 7.2 or here. */
const REFUSED_EARLIER: ReadonlySet<string> = new Set(["BITCOUNT", "BITPOS"]);
/** Redis looks up a sorted set twice if a blocking command takes from it at once, and a list, as we do, once. */
const LOOKED_UP_TWICE = /call\('bz/;
/** Each use counts, without decay; with a limit Redis shares neither small integers between keys nor their counters. */
const COUNT_EACH_USE =
  "CONFIG SET maxmemory 1gb maxmemory-policy allkeys-lfu lfu-log-factor 0 lfu-decay-time 0 maxmemory-samples 5";
/** The maximum of counters. */
const COUNTER_MAX = 255;

/** Runs one program on both, and compares the counts of all keys after each command. Returns how many. */
async function compareUses(redis: RedisProcess, family: Family, programSeed: number): Promise<number> {
  const [, , time] = await redis.pipeline([["FLUSHALL"], splitLine(COUNT_EACH_USE), ["TIME"]]);
  const engine = new Engine(Number((time as readonly string[])[0]) * 1_000);
  engine.run(splitLine(COUNT_EACH_USE));
  let compared = 0;
  for (const command of drawProgram(family, { seed: programSeed, extensions: false }).steps.flat()) {
    const reply = engine.run(command);
    const looks = (engine.run(["KEYS", "*"]) as readonly string[]).map((key) => ["OBJECT", "FREQ", key]);
    const [theirReply = null, ...theirs] = await redis.pipeline([command, ...looks]);
    // A command that only one of the two accepts, or that one refuses at another point, is a use on one side only.
    const isRefused = isError(reply) || isError(theirReply);
    if (isRefused && !isSame(reply, theirReply)) break;
    if (isRefused && REFUSED_EARLIER.has(command[0]?.toUpperCase() ?? "")) break;
    if (command.some((word) => LOOKED_UP_TWICE.test(word))) break;
    for (const [index, look] of looks.entries()) {
      const count = theirs[index];
      // A key may expire there during the test.
      if (typeof count !== "number" || count === COUNTER_MAX) continue;
      compared += 1;
      const ours = engine.run(look);
      assert.equal(
        ours,
        count,
        `SEED=${programSeed} ${family.name}: ${joinLine(look)} after ${joinLine(command).slice(0, 200)}`,
      );
    }
  }
  return compared;
}

const EXPIRING_COUNT = 4_000;
const CONNECTION_COMMANDS = 50;

/** SETs of different keys that expire at different times, in random order; half of them fit the limit. */
function expiringKeys(): readonly (readonly string[])[] {
  const random = seededRandom(seed);
  const order = Array.from({ length: EXPIRING_COUNT }, (_, i) => i);
  for (let i = order.length - 1; i > 0; i -= 1) {
    const other = random.below(i + 1);
    [order[i], order[other]] = [order[other] as number, order[i] as number];
  }
  return order.map((i) => ["SET", `key:${String(i).padStart(6, "0")}`, "v".repeat(200), "EX", `${100_000 + 100 * i}`]);
}

/** The share of existing keys that expire in the later half. */
function lateShare(keys: readonly string[]): number {
  return keys.filter((key) => Number(key.slice(4)) >= EXPIRING_COUNT / 2).length / keys.length;
}

async function lateShareOfRedis(redis: RedisProcess): Promise<number> {
  const commands = expiringKeys();
  const send = async (from: number, to: number): Promise<void> => {
    for (let i = from; i < to; i += CONNECTION_COMMANDS)
      await redis.pipeline(commands.slice(i, i + CONNECTION_COMMANDS));
  };
  await redis.pipeline([["FLUSHALL"], ["CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "volatile-ttl"]]);
  await send(0, EXPIRING_COUNT / 2);
  const [, used = ""] = /used_memory:(\d+)/.exec(String(await redis.call(["INFO", "memory"]))) ?? [];
  await redis.call(["CONFIG", "SET", "maxmemory", used]);
  await send(EXPIRING_COUNT / 2, EXPIRING_COUNT);
  await redis.call(["CONFIG", "SET", "maxmemory", "0"]);
  return lateShare((await redis.call(["KEYS", "*"])) as readonly string[]);
}

function lateShareOfEngine(): number {
  const session = startSession();
  const commands = expiringKeys();
  for (const words of commands.slice(0, EXPIRING_COUNT / 2)) session.call(...words);
  session.run(`CONFIG SET maxmemory-policy volatile-ttl maxmemory ${session.database.keyspace.usedBytes}`);
  for (const words of commands.slice(EXPIRING_COUNT / 2)) session.call(...words);
  return lateShare([...session.database.keyspace.entries.keys()]);
}

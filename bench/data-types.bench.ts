/**
 * Question: what does the engine take for commands on large values, and what
 * does an element of each type weigh, beside redis-server?
 *
 * Method: in process, without HTTP and with a journal that keeps nothing. Each
 * row fills a value with N elements and then runs one command many times. Ours
 * is the time from the door to the reply, which finds and checks the command
 * too; redis-server's is its own count of time inside the command
 * (`INFO commandstats`, usec), without its network. Both get the same words.
 * Bytes per element: ours from the heap and buffers after a collection,
 * redis-server's from MEMORY USAGE of the whole value.
 *
 * Read: `rate` is redis-server's time divided by ours; 0.5 or more is the goal.
 * `weight` is our bytes divided by redis-server's; 3 or less is the goal. Below
 * 15 % a difference is noise.
 *
 * Run: npm run bench -- data-types [N] [row]     (1,000,000 elements by default)
 */
import { performance } from "node:perf_hooks";
import { systemClock } from "../src/kernel/clock.ts";
import { seededRandom, systemRandom } from "../src/kernel/random.ts";
import { NullJournal } from "../src/store/journal.ts";
import { type Caller, type Database, Store } from "../src/store/mod.ts";
import { type RedisProcess, redisMissing, startRedis } from "../test/differential/redis-process.ts";
import { figure, table } from "./harness/table.ts";

type Words = readonly string[];

interface Row {
  readonly name: string;
  /** Elements of the value, as a share of N. */
  readonly share?: number;
  /** One command that adds element `i` of `count`. */
  readonly fill: (i: number, count: number) => Words;
  /** The key whose weight is told; absent: it is told by another row. */
  readonly weighs?: string;
  /** The command that is timed, and how often; absent: filling is. */
  readonly command?: (i: number, count: number) => Words;
  readonly times?: number;
}

const random = seededRandom(1);
const pad = (i: number): string => String(i).padStart(9, "0");
const score = (i: number): string => String((i * 2_654_435_761) % 4_294_967_296);
const any = (count: number): number => random.below(count);
const longitude = (i: number): string => (((i * 7_919) % 360_000) / 1_000 - 180).toFixed(4);
const latitude = (i: number): string => (((i * 104_729) % 170_000) / 1_000 - 85).toFixed(4);

const zadd = (i: number): Words => ["ZADD", "zset", score(i), `member:${pad(i)}`];
const rpush = (i: number): Words => ["RPUSH", "list", `element:${pad(i)}`];
const sadd = (i: number): Words => ["SADD", "set", `member:${pad(i)}`];
const hset = (i: number): Words => ["HSET", "hash", `field:${pad(i)}`, `value:${i % 1_000}`];
const geoadd = (i: number): Words => ["GEOADD", "geo", longitude(i), latitude(i), `place:${pad(i)}`];

const rows: readonly Row[] = [
  { name: "ZADD, new members", fill: zadd, weighs: "zset" },
  { name: "ZRANK", fill: zadd, command: (_, n) => ["ZRANK", "zset", `member:${pad(any(n))}`], times: 200_000 },
  { name: "ZRANGE of 100", fill: zadd, command: (_, n) => rangeOf("ZRANGE", "zset", any(n - 100)), times: 20_000 },
  {
    name: "ZINCRBY",
    fill: zadd,
    command: (i, n) => ["ZINCRBY", "zset", score(i), `member:${pad(any(n))}`],
    times: 200_000,
  },
  { name: "ZPOPMIN", fill: zadd, command: () => ["ZPOPMIN", "zset"], times: 200_000 },
  { name: "RPUSH", fill: rpush, weighs: "list" },
  { name: "LPOP", fill: rpush, command: () => ["LPOP", "list"], times: 200_000 },
  { name: "LRANGE of 100, middle", fill: rpush, command: (_, n) => rangeOf("LRANGE", "list", n >> 1), times: 5_000 },
  { name: "LINDEX, anywhere", fill: rpush, command: (_, n) => ["LINDEX", "list", `${any(n)}`], times: 5_000 },
  { name: "SADD, new members", fill: sadd, weighs: "set" },
  { name: "SISMEMBER", fill: sadd, command: (_, n) => ["SISMEMBER", "set", `member:${pad(any(n))}`], times: 200_000 },
  {
    name: "SINTER, 1,000 with N",
    fill: (i, n) => (i < n - 1_000 ? sadd(i) : ["SADD", "few", `member:${pad(any(n))}`]),
    command: () => ["SINTERCARD", "2", "few", "set"],
    times: 1_000,
  },
  { name: "HSET, new fields", fill: hset, weighs: "hash" },
  { name: "HGET", fill: hset, command: (_, n) => ["HGET", "hash", `field:${pad(any(n))}`], times: 200_000 },
  { name: "SET, new keys", fill: (i) => ["SET", `key:${pad(i)}`, `value:${i % 1_000}`] },
  {
    name: "SCAN, COUNT 1000",
    fill: (i) => ["SET", `key:${pad(i)}`, "value"],
    command: (i) => ["SCAN", `${i * 4_096}`, "COUNT", "1000"],
    times: 500,
  },
  { name: "GEOADD", share: 0.1, fill: geoadd, weighs: "geo" },
  {
    name: "GEOSEARCH, 500 km",
    share: 0.1,
    fill: geoadd,
    command: (i) => ["GEOSEARCH", "geo", "FROMLONLAT", longitude(i), latitude(i * 13), "BYRADIUS", "500", "km", "ASC"],
    times: 1_000,
  },
];

function rangeOf(name: string, key: string, start: number): Words {
  return [name, key, `${start}`, `${start + 99}`];
}

interface Result {
  readonly microseconds: number;
  readonly bytesPerElement: number | undefined;
}

const caller: Caller = { access: "standard", transport: "http", address: "127.0.0.1:1" };
const [countText = "1000000", only = ""] = process.argv.slice(2);
const elementCount = Number(countText);
/** Commands are made in groups before the clock starts, so that making them is not measured. */
const GROUP = 10_000;

const lines: string[][] = [];
for (const row of rows.filter(({ name }) => name.includes(only))) {
  const count = Math.round(elementCount * (row.share ?? 1));
  const ours = measureOurs(row, count);
  if (ours === undefined) continue;
  const theirs = redisMissing === false ? await measureRedis(row, count) : undefined;
  lines.push([
    row.name,
    ours.microseconds.toFixed(2),
    theirs?.microseconds.toFixed(2) ?? "",
    theirs === undefined ? "" : (theirs.microseconds / ours.microseconds).toFixed(2),
    ours.bytesPerElement === undefined ? "" : figure(ours.bytesPerElement),
    theirs?.bytesPerElement === undefined ? "" : figure(theirs.bytesPerElement),
    ours.bytesPerElement === undefined || theirs?.bytesPerElement === undefined
      ? ""
      : (ours.bytesPerElement / theirs.bytesPerElement).toFixed(2),
  ]);
}
console.log(table(["command", "ours, µs", "Redis, µs", "rate", "ours, bytes", "Redis, bytes", "weight"], lines));

/** Undefined when this version has no such command. */
function measureOurs(row: Row, count: number): Result | undefined {
  const store = new Store({
    journal: new NullJournal(),
    clock: systemClock,
    random: systemRandom,
    hashSeed: Uint8Array.of(3, 1, 4, 1, 5, 9, 2, 6),
  });
  const database = store.database("main");
  const first = database.command(caller, row.fill(0, count));
  if (typeof first === "object" && first !== null && "kind" in first && first.kind === "error") return undefined;
  database.command(caller, ["FLUSHALL"]);
  const beforeBytes = memory();
  const fillMs = run(database, count, (i) => row.fill(i, count));
  const bytesPerElement = row.weighs === undefined ? undefined : (memory() - beforeBytes) / count;
  const { command, times = 0 } = row;
  if (command === undefined) return { microseconds: (fillMs / count) * 1_000, bytesPerElement };
  const tookMs = run(database, times, (i) => command(i, count));
  return { microseconds: (tookMs / times) * 1_000, bytesPerElement };
}

function run(database: Database, times: number, command: (i: number) => Words): number {
  let tookMs = 0;
  for (let start = 0; start < times; start += GROUP) {
    const group = Array.from({ length: Math.min(GROUP, times - start) }, (_, i) => fresh(command(start + i)));
    const startMs = performance.now();
    for (const words of group) database.command(caller, words);
    tookMs += performance.now() - startMs;
  }
  return tookMs;
}

/** Words as the edge makes them: whole strings of their own. */
function fresh(words: Words): Words {
  return words.map((word) => Buffer.from(word, "latin1").latin1Slice());
}

async function measureRedis(row: Row, count: number): Promise<Result> {
  const redis = await startRedis();
  try {
    const fill = await statistics(redis, count, (i) => row.fill(i, count));
    const weight =
      row.weighs === undefined ? undefined : await redis.call(["MEMORY", "USAGE", row.weighs, "SAMPLES", "0"]);
    const bytesPerElement = typeof weight === "number" ? weight / count : undefined;
    const { command, times = 0 } = row;
    const microseconds = command === undefined ? fill : await statistics(redis, times, (i) => command(i, count));
    return { microseconds, bytesPerElement };
  } finally {
    await redis.stop();
  }
}

/** What the commands took inside redis-server, in µs each. */
async function statistics(redis: RedisProcess, times: number, command: (i: number) => Words): Promise<number> {
  await redis.call(["CONFIG", "RESETSTAT"]);
  const name = (command(0)[0] ?? "").toLowerCase();
  for (let start = 0; start < times; start += GROUP) {
    await redis.pipeline(Array.from({ length: Math.min(GROUP, times - start) }, (_, i) => command(start + i)));
  }
  const info = String(await redis.call(["INFO", "commandstats"]));
  const [, calls = "1", usec = "0"] = new RegExp(`cmdstat_${name}:calls=(\\d+),usec=(\\d+)`).exec(info) ?? [];
  return Number(usec) / Number(calls);
}

function memory(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

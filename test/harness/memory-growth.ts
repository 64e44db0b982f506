/**
 * A program for `memory-accuracy.test.ts`, run with `settledFlags`: fills a store
 * with one kind of content after the other and prints, as one line of JSON for
 * each, the growth of the process and the memory that the store reports. The
 * seed draws the order of the kinds. A proof measures all of them, other sizes
 * as many as their time allows.
 *
 * Run: node --expose-gc --single-threaded test/harness/memory-growth.ts <seed>
 */
import type { Bytes } from "../../src/kernel/bytes.ts";
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { type Random, seededRandom } from "../../src/kernel/random.ts";
import { type Database, Store } from "../../src/store/mod.ts";
import { allowanceOf, spending } from "../budget.ts";
import { settledBytes } from "./settled-memory.ts";
import { testCaller } from "./store-harness.ts";

/** The memory of one kind of content. */
export interface Growth {
  readonly content: string;
  /** Of the JavaScript heap and the buffers outside of it, after a collection. */
  readonly processBytes: number;
  /** `used_memory` of the database. */
  readonly storeBytes: number;
}

interface Content {
  readonly name: string;
  readonly count: number;
  readonly command: (i: number) => readonly Bytes[];
}

const pad = (i: number): Bytes => String(i).padStart(8, "0");
/** Values of 20 to 60 bytes. */
const text = (i: number): Bytes => `value:${pad(i)}${"x".repeat(6 + (i % 40))}`;

const contents: readonly Content[] = [
  { name: "small strings", count: 30_000, command: (i) => ["SET", `key:${pad(i)}`, text(i)] },
  {
    name: "strings that expire",
    count: 30_000,
    command: (i) => ["SET", `key:${pad(i)}`, text(i), "EX", `${1_000 + i}`],
  },
  { name: "strings of 1 KB", count: 5_000, command: (i) => ["SET", `key:${pad(i)}`, pad(i).repeat(128)] },
  { name: "strings of 8 KB", count: 1_500, command: (i) => ["SET", `key:${pad(i)}`, pad(i).repeat(1_024)] },
  {
    name: "strings that were appended to",
    count: 20_000,
    command: (i) => ["APPEND", `key:${pad(i % 10_000)}`, text(i)],
  },
  {
    name: "hashes of 5 fields",
    count: 25_000,
    command: (i) => ["HSET", `hash:${pad(i % 5_000)}`, `field:${i}`, text(i)],
  },
  {
    name: "hashes of 60 fields",
    count: 30_000,
    command: (i) => ["HSET", `hash:${pad(i % 500)}`, `field:${i}`, text(i)],
  },
  { name: "a hash of 30,000 fields", count: 30_000, command: (i) => ["HSET", "hash", `field:${i}`, text(i)] },
  {
    name: "hashes with fields that expire",
    count: 10_000,
    command: (i) => ["HSETEX", `hash:${pad(i % 500)}`, "EX", `${1_000 + i}`, "FIELDS", "1", `field:${i}`, text(i)],
  },
  { name: "lists of 5 elements", count: 25_000, command: (i) => ["RPUSH", `list:${pad(i % 5_000)}`, text(i)] },
  { name: "a list of 50,000 elements", count: 50_000, command: (i) => ["RPUSH", "list", text(i)] },
  { name: "a list of 5,000 long elements", count: 5_000, command: (i) => ["RPUSH", "list", pad(i).repeat(64)] },
  { name: "sets of 5 members", count: 25_000, command: (i) => ["SADD", `set:${pad(i % 5_000)}`, `member:${pad(i)}`] },
  { name: "sets of 5 integers", count: 25_000, command: (i) => ["SADD", `set:${pad(i % 5_000)}`, `${i}`] },
  { name: "a set of 30,000 members", count: 30_000, command: (i) => ["SADD", "set", `member:${pad(i)}`] },
  {
    name: "sorted sets of 5",
    count: 25_000,
    command: (i) => ["ZADD", `zset:${pad(i % 5_000)}`, `${i * 1.5}`, pad(i)],
  },
  {
    name: "sorted sets of 60",
    count: 30_000,
    command: (i) => ["ZADD", `zset:${pad(i % 500)}`, `${i * 1.5}`, pad(i)],
  },
  {
    name: "a sorted set of 30,000",
    count: 30_000,
    command: (i) => ["ZADD", "zset", `${(i * 7_919) % 30_000}.5`, `member:${pad(i)}`],
  },
  {
    name: "streams of 5 entries",
    count: 25_000,
    command: (i) => ["XADD", `stream:${pad(i % 5_000)}`, "*", "name", text(i), "other", pad(i)],
  },
  {
    name: "a stream of 60,000 entries",
    count: 60_000,
    command: (i) => ["XADD", "stream", "*", "name", text(i), "other", pad(i)],
  },
  {
    name: "a stream whose 20,000 entries are pending",
    count: 40_000,
    command: (i) => {
      if (i === 0) return ["XGROUP", "CREATE", "stream", "group", "0", "MKSTREAM"];
      if (i % 2 === 1) return ["XADD", "stream", "*", "name", text(i)];
      return ["XREADGROUP", "GROUP", "group", `consumer:${i % 5}`, "STREAMS", "stream", ">"];
    },
  },
  {
    name: "small JSON documents",
    count: 10_000,
    command: (i) => [
      "JSON.SET",
      `json:${pad(i)}`,
      "$",
      `{"id":${i},"name":"${text(i)}","price":${i}.25,"tags":["a","${pad(i)}"],"on":true,"whole":${i}.0}`,
    ],
  },
  {
    name: "members added to JSON documents",
    count: 20_000,
    command: (i) =>
      i < 1_000
        ? ["JSON.SET", `json:${pad(i)}`, "$", "{}"]
        : ["JSON.SET", `json:${pad(i % 1_000)}`, `$.member${i}`, `"${text(i)}"`],
  },
  {
    name: "a JSON document of 30,000 elements",
    count: 30_000,
    command: (i) =>
      i === 0 ? ["JSON.SET", "json", "$", "[]"] : ["JSON.ARRAPPEND", "json", "$", `{"n":${i},"v":"${text(i)}"}`],
  },
  { name: "HyperLogLogs", count: 60_000, command: (i) => ["PFADD", `sketch:${pad(i % 3_000)}`, pad(i)] },
];

/** The stores of the measurements that are over. */
const dropped: WeakRef<Database>[] = [];
const kinds = drawnOrder(seededRandom(Number(process.argv[2])));
// The first measurement includes one-time allocations, so it does not count.
for (const content of contents.slice(0, 1)) await measure(content);
const isSpent = spending(allowanceOf("memory-figures"));
for (const [count, content] of kinds.entries()) {
  if (isSpent(count)) break;
  console.log(JSON.stringify(await measure(content)));
}

/** All kinds of content, in an order that `random` draws. */
function drawnOrder(random: Random): readonly Content[] {
  return contents
    .map((content) => ({ content, place: random.below(2 ** 32) }))
    .sort((a, b) => a.place - b.place)
    .map(({ content }) => content);
}

async function measure(content: Content): Promise<Growth> {
  const database = newDatabase();
  const earlier = dropped.splice(0);
  // This excludes compiled code and caches.
  for (let i = 0; i < 1_000; i += 1) run(database, content.command(i));
  database.command(testCaller, ["FLUSHALL"]);
  const emptyBytes = database.keyspace.usedBytes;
  const before = await settledBytes(processBytes, earlier);
  for (let i = 0; i < content.count; i += 1) run(database, content.command(i));
  const after = await settledBytes(processBytes);
  dropped.push(new WeakRef(database));
  return {
    content: content.name,
    processBytes: after - before,
    storeBytes: database.keyspace.usedBytes - emptyBytes,
  };
}

function newDatabase(): Database {
  const store = new Store({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    hashSeed: Uint8Array.of(3, 1, 4, 1, 5, 9, 2, 6),
  });
  return store.database("main");
}

/** Words as the edge makes them: separate flat strings. */
function run(database: Database, words: readonly Bytes[]): void {
  const reply = database.command(
    testCaller,
    words.map((word) => Buffer.from(word, "latin1").latin1Slice()),
  );
  if (typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "error")
    throw new Error(`${words.join(" ")}: ${reply.error.text}`);
}

function processBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

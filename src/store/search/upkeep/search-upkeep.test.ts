/** How indexes follow the keys: scans, restarts, expiry, eviction, and the bounds of what may wait. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertIndexesAgree } from "../../../../test/harness/index-agreement.ts";
import { RecordingJournal, replayed, restored } from "../../../../test/harness/recording-journal.ts";
import {
  error,
  nilArray,
  plainReply,
  type Session,
  splitLine,
  startSession,
  testCaller,
} from "../../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { seededRandom } from "../../../kernel/random.ts";
import type { Database } from "../../database.ts";
import { CommandError } from "../../errors.ts";
import { openSnapshotCheck, SNAPSHOT_CHECK_SEED_BYTES } from "../../mutations/snapshot-check.ts";
import type { Reply } from "../../reply/reply.ts";
import type { Store } from "../../store.ts";
import { atOnce } from "../slices.ts";
import { PrefixTable } from "./prefix-table.ts";
import { SortedKeys } from "./sorted-keys.ts";

/** More documents than one slice reads. */
const MANY = 2_000;

function fill({ call }: Pick<Session, "call">, count = MANY): void {
  for (let i = 0; i < count; i += 1) call("HSET", `d:${i}`, "word", `w${i % 7}`, "n", `${i}`);
}

const CREATE = "SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA word KEYWORD n U64 FAST";

function keysOf(reply: Reply): readonly unknown[] {
  return (reply as Reply[][]).map(([key]) => key);
}

function run(database: Database, line: string): Reply | Promise<Reply> {
  const reply = database.command(testCaller, splitLine(line));
  return reply instanceof Promise ? reply.then(plainReply) : plainReply(reply);
}

test("the scan of SEARCH.CREATE shows through until it ends, and SEARCH.WAITINDEXING waits for it", async () => {
  const session = startSession();
  const { database } = session;
  fill(session);
  session.run(CREATE);
  const some = session.run("SEARCH.COUNT i {}") as number;
  assert.ok(some > 0 && some < MANY, `${some}`);
  const pending = (session.run("SEARCH.DESCRIBE i") as unknown as { pairs: [string, Reply][] }).pairs[5];
  assert.equal(pending?.[0], "pendingUpdates");
  assert.ok((pending?.[1] as number) > 0);
  // What is written during the scan is searched at once, and what is removed is not.
  session.run("HSET d:new word new");
  session.run("DEL d:1999");
  assert.equal(session.run('SEARCH.COUNT i \'{"word":"new"}\''), 1);
  const waiting = run(database, "SEARCH.WAITINDEXING i");
  assert.ok(waiting instanceof Promise);
  assert.equal(await waiting, 1);
  assert.equal(session.run("SEARCH.COUNT i {}"), MANY);
  assertIndexesAgree(database, "after the scan");
  // A document that was written meanwhile has its number from then; the others are in the order of their keys.
  const all = keysOf(session.run("SEARCH.QUERY i {} NOCONTENT LIMIT 1000 OFFSET 900")).filter((key) => key !== "d:new");
  assert.deepEqual(all, [...all].sort());
});

test("a pipeline and a session wait for a scan, too", async () => {
  const session = startSession();
  fill(session);
  const replies = await session.database.pipeline(testCaller, [
    splitLine(CREATE),
    ["SEARCH.WAITINDEXING", "i"],
    ["SEARCH.COUNT", "i", "{}"],
  ]);
  assert.deepEqual(replies, [1, 1, MANY]);
});

test("SKIPINITIALSCAN indexes what is written from then on", () => {
  const session = startSession();
  fill(session, 3);
  session.run(CREATE.replace("ON HASH", "SKIPINITIALSCAN ON HASH"));
  session.expect([
    ["SEARCH.COUNT i {}", 0],
    ["HSET d:1 n 5", 0],
    ["SEARCH.COUNT i {}", 1],
    ["SEARCH.REINDEX i", 1],
    ["SEARCH.COUNT i {}", 3],
  ]);
});

test("a scan whose last key fills a slice is over with it", () => {
  const session = startSession();
  const { database } = session;
  fill(session, 3);
  session.run(CREATE);
  const live = database.search.find("i")?.live;
  assert.ok(live !== undefined);
  for (const size of [1, 100, 200]) {
    live.startScan({ shows: false });
    // A slice of one step ends after each key.
    for (let slice = 0; live.hasBacklog; slice += 1) {
      assert.ok(slice < 1_000);
      live.runSlice(size);
    }
    assert.equal(live.isRebuilding, false, `slices of ${size} steps`);
  }
});

test("an index that is dropped during its scan ends the waiting", async () => {
  const session = startSession();
  fill(session);
  session.run(CREATE);
  const waiting = run(session.database, "SEARCH.WAITINDEXING i");
  session.run("DEL i");
  assert.equal(await waiting, 0);
});

/** A store with an index whose order is not that of the keys, and its journal. */
function ordered(): { session: Session; journal: RecordingJournal } {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.run("SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA word KEYWORD");
  for (const key of ["d:5", "d:1", "d:9", "d:3"]) session.run(`HSET ${key} word w`);
  session.run("SEARCH.ALIASADD alias i");
  session.run("SEARCH.COUNT i {}");
  return { session, journal };
}

const QUERY = "SEARCH.QUERY alias {} NOCONTENT";

async function keysAfter(store: Store): Promise<readonly unknown[]> {
  return keysOf(await run(store.database("main"), QUERY));
}

test("after a start the index is built again before the first search, from keys in the order of their bytes", async () => {
  const { session, journal } = ordered();
  assert.deepEqual(keysOf(session.run(QUERY)), ["d:5", "d:1", "d:9", "d:3"]);
  assert.deepEqual(await keysAfter(replayed(journal.frames)), ["d:1", "d:3", "d:5", "d:9"]);
});

test("the order of documents is in a snapshot, and in the journal that a snapshot is made of", async () => {
  const { session, journal } = ordered();
  const inOrder = ["d:5", "d:1", "d:9", "d:3"];
  assert.deepEqual(await keysAfter(restored(session.store.dump())), inOrder);
  await session.store.snapshotBegan();
  const count = journal.frames.length;
  // The process that writes a snapshot has no index, only what it has replayed.
  const writer = replayed(journal.frames);
  assert.deepEqual(await keysAfter(restored(writer.dump())), inOrder);
  await session.store.snapshotBegan();
  assert.equal(journal.frames.length, count, "an order that is recorded already is not recorded again");
  session.run("HSET d:2 word w");
  session.run("HSET d:5 word changed");
  session.run("SEARCH.COUNT i {}");
  await session.store.snapshotBegan();
  assert.deepEqual(await keysAfter(restored(replayed(journal.frames).dump())), ["d:1", "d:9", "d:3", "d:2", "d:5"]);
});

test("a snapshot records the order in slices of 4,096 documents, and has that of its beginning", async () => {
  const changes: Readonly<Record<string, (session: Session) => void>> = {
    "documents that move": ({ run }) => {
      run("HSET d:0 word moved");
      run("DEL d:1");
      run("HSET d:new word new");
    },
    "a compaction": ({ call, database }) => {
      for (let i = 0; i < 2_000; i += 1) call("DEL", `d:${2 * i}`);
      while (database.search.hasBacklog) database.search.runSlice();
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    const journal = new RecordingJournal();
    const session = startSession({ journal });
    session.run(CREATE);
    fill(session, 5_000);
    session.run("SEARCH.COUNT i {}");
    const { live } = session.database.search.find("i") ?? assert.fail();
    const before = journal.frames.length;
    const began = session.store.snapshotBegan();
    assert.equal(journal.frames.length, before + 1, "the first slice");
    change(session);
    session.run("SEARCH.COUNT i {}");
    await began;
    for (const frame of journal.frames.slice(before))
      assert.ok(frame.length < 33_000, `${what}: ${frame.length} bytes`);
    const again = replayed(journal.frames).database("main");
    again.search.current;
    while (again.search.hasBacklog) again.search.runSlice();
    assert.deepEqual([...(again.search.find("i")?.live.keys() ?? [])], [...live.keys()], what);
    assert.equal(live.hasNewOrder, false);
  }
});

test("a snapshot that waits for the next slice of an order ends when the area closes", async () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.run(CREATE);
  fill(session, 5_000);
  session.run("SEARCH.COUNT i {}");
  const began = session.store.snapshotBegan();
  session.store.recordSearchOrders();
  const count = journal.frames.length;
  await began;
  assert.equal(journal.frames.length, count);
});

test("the order of many documents is in several records, and the check of a snapshot takes them", async () => {
  const session = startSession();
  session.run(CREATE);
  const count = 4_500;
  // In another order than that of their bytes.
  for (let i = 0; i < count; i += 1) session.call("HSET", `d:${(i * 7) % count}`, "word", "w");
  session.run("SEARCH.COUNT i {}");
  const order = [...(session.database.search.find("i")?.live.keys() ?? [])];
  const frames = Array.from(session.store.dump(), (frame) => Buffer.from(frame));
  const check = openSnapshotCheck({
    clock: session.clock,
    random: seededRandom(1),
    seed: new Uint8Array(SNAPSHOT_CHECK_SEED_BYTES),
  });
  for (const frame of frames) check(frame);
  const database = restored(frames).database("main");
  assert.equal(await run(database, "SEARCH.COUNT i {}"), count);
  assert.deepEqual([...(database.search.find("i")?.live.keys() ?? [])], order);
});

test("searches wait while an index is rebuilt after a start, and writes do not", async () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.run(CREATE);
  fill(session);
  const database = replayed(journal.frames).database("main");
  const refused = error(
    "ERR Index i is being rebuilt after a start. Outside of transactions and scripts, commands wait for it",
  );
  assert.deepEqual(await database.transaction(testCaller, [["SEARCH.COUNT", "i", "{}"]]), [refused]);
  const counted = run(database, "SEARCH.COUNT i {}");
  assert.ok(counted instanceof Promise);
  assert.equal(run(database, "HSET d:new word new"), 1);
  assert.equal(run(database, "DEL d:0"), 1);
  assert.equal(await counted, MANY);
  assert.equal(run(database, 'SEARCH.COUNT i \'{"word":"new"}\''), 1);
  assertIndexesAgree(database, "after the rebuild");
});

test("DEBUG RELOAD keeps indexes, aliases and the order of documents", async () => {
  const { session } = ordered();
  session.database.reload();
  assert.deepEqual(keysOf(await run(session.database, QUERY)), ["d:5", "d:1", "d:9", "d:3"]);
  assert.equal(session.run("HSET d:7 word w"), 1);
  assert.equal(session.run("SEARCH.COUNT alias {}"), 5);
});

test("expired keys and fields leave the index at their moment, swept or not", () => {
  const session = startSession();
  const { clock } = session;
  session.run("SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA a KEYWORD b KEYWORD");
  session.expect([
    ["HSET d:1 a x b y", 2],
    ["HSET d:2 a x b y", 2],
    ["PEXPIRE d:1 100", 1],
    ["HPEXPIRE d:2 200 FIELDS 1 a", [1]],
    ["SEARCH.COUNT i {}", 2],
  ]);
  clock.advance(101);
  session.expect([["SEARCH.QUERY i {} NOCONTENT", [["d:2", "1"]]]]);
  clock.advance(100);
  session.expect([
    ['SEARCH.COUNT i \'{"a":"x"}\'', 0],
    ['SEARCH.COUNT i \'{"b":"y"}\'', 1],
    ["HPEXPIRE d:2 100 FIELDS 1 b", [1]],
  ]);
  clock.advance(101);
  session.expect([["SEARCH.COUNT i {}", 0]]);
});

test("a later expiry counts, and where nothing may be written expired documents are not found", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.run("SEARCH.CREATE i ON STRING PREFIX 1 d: SCHEMA a KEYWORD");
  session.run("SET d:1 {} PX 100");
  session.run("SET d:2 {} PX 100");
  session.run("SEARCH.COUNT i {}");
  session.run("PEXPIRE d:1 500");
  session.clock.advance(200);
  journal.refusal = "the disk is full";
  session.expect([["SEARCH.QUERY i {} NOCONTENT", [["d:1", "1"]]]]);
  journal.refusal = undefined;
  session.clock.advance(400);
  session.expect([["SEARCH.COUNT i {}", 0]]);
});

test("evicted documents are not found, and no index is evicted", () => {
  for (const policy of ["allkeys-random", "allkeys-lru", "allkeys-lfu"]) {
    const session = startSession();
    session.run("SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA word KEYWORD");
    fill(session, 200);
    session.run(`CONFIG SET maxmemory-policy ${policy}`);
    session.run(`CONFIG SET maxmemory ${Math.round(session.database.keyspace.usedBytes * 0.8)}`);
    session.run("PING");
    assert.ok(session.database.keyspace.evictedCount > 0, policy);
    assertIndexesAgree(session.database, policy);
    session.run("CONFIG SET maxmemory 1");
    session.run("PING");
    assert.deepEqual(session.run("KEYS *"), ["i"], policy);
    assert.equal(session.run("SEARCH.COUNT i {}"), 0, policy);
  }
});

test("evicting documents frees their share of the index, so that few more are evicted than must be", () => {
  const session = startSession();
  const { keyspace } = session.database;
  session.run("SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA t TEXT");
  for (let i = 0; i < 400; i += 1) session.call("HSET", `d:${i}`, "t", `${"some words of a text ".repeat(20)} ${i}`);
  session.run("SEARCH.COUNT i {}");
  session.run("CONFIG SET maxmemory-policy allkeys-random");
  session.run(`CONFIG SET maxmemory ${Math.round(keyspace.usedBytes * 0.9)}`);
  session.run("PING");
  assert.ok(keyspace.evictedCount >= 30 && keyspace.evictedCount <= 50, `${keyspace.evictedCount}`);
  assertIndexesAgree(session.database, "after the eviction");
});

test("the memory of an index belongs to its key", () => {
  const session = startSession();
  session.run(CREATE);
  const before = session.database.keyspace.usedBytes;
  const own = session.run("MEMORY USAGE i") as number;
  fill(session, 200);
  const withKeys = session.database.keyspace.usedBytes;
  session.run("SEARCH.COUNT i {}");
  const grown = (session.run("MEMORY USAGE i") as number) - own;
  assert.ok(grown > 200 * 20, `${grown}`);
  assert.equal(session.database.keyspace.usedBytes - withKeys, grown);
  for (let i = 0; i < 200; i += 1) session.run(`DEL d:${i}`);
  session.run("DEL i");
  assert.ok(session.database.keyspace.usedBytes < before);
});

/** Counts the work that a search would find, and does it. In steps of 100 ns. */
function pendingWork({ database }: Session): number {
  let steps = 0;
  const { live } = database.search.find("i") ?? assert.fail();
  const spend = (count: number): boolean => {
    steps += count / 10;
    return false;
  };
  atOnce(live.prepare(spend));
  return steps;
}

test("after each command at most 10 ms of indexing wait for a search, whatever the command has changed", async () => {
  const session = startSession();
  const { database } = session;
  session.run("SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA word KEYWORD t TEXT");
  const { live } = database.search.find("i") ?? assert.fail();
  const long = "some words of a text ".repeat(500);
  const inTransaction = (count: number, command: (i: number) => string[]): unknown =>
    database.transaction(
      testCaller,
      Array.from({ length: count }, (_, i) => command(i)),
    );
  session.call("HSET", "d:first", "t", long);
  const rows: readonly (readonly [string, () => unknown])[] = [
    ["short documents", () => fill(session, 3_000)],
    ["long documents", () => inTransaction(30, (i) => ["HSET", `d:l${i}`, "t", long])],
    ["small changes of long documents", () => inTransaction(30, (i) => ["HSET", `d:l${i}`, "word", "w"])],
    ["one script", () => session.run(`EVAL "for i = 1, 1500 do redis.call('HSET', 'd:y' .. i, 'word', 'w') end" 0`)],
    ["long documents that become short", () => inTransaction(30, (i) => ["HSET", `d:l${i}`, "t", "a"])],
    ["copies", () => inTransaction(30, (i) => ["COPY", "d:first", `d:c${i}`])],
    [
      "one removal of many",
      () => session.call("DEL", ...Array.from({ length: 60 }, (_, i) => `d:${"lc"[i % 2]}${i >> 1}`)),
    ],
  ];
  for (const [what, change] of rows) {
    await change();
    assert.ok(live.dirty.steps > 0 && live.dirty.steps <= 100_000, `${what}: ${live.dirty.steps}`);
    assert.ok(live.dirty.size <= 1_000, `${what}: ${live.dirty.size} keys`);
    // An estimate: removing the documents as they were may be added.
    const work = pendingWork(session);
    assert.ok(work <= 125_000, `${what}: ${work}`);
  }
  assert.equal(session.run("SEARCH.COUNT i {}"), 4_501);
});

test("one MSET indexes itself what may not wait, and a unit that is undone leaves no more", async () => {
  const session = startSession();
  const { database } = session;
  session.run("SEARCH.CREATE i ON STRING PREFIX 1 d: SCHEMA t TEXT");
  const { live } = database.search.find("i") ?? assert.fail();
  const words = Array.from({ length: 100 }, (_, i) => [`d:${i}`, `{"t":"${"a word ".repeat(1_000)}"}`]).flat();
  session.call("MSET", ...words);
  assert.equal(live.index.documentCount + live.dirty.size, 100);
  assert.ok(live.dirty.steps <= 100_000, `${live.dirty.steps}`);
  session.run("SEARCH.COUNT i {}");
  const fill = ["MSET", ...words.map((word) => word.replaceAll("a", "b"))];
  const refuse = (): never => {
    throw new CommandError("ERR the reply is too long");
  };
  await assert.rejects(async () => database.printTransaction(testCaller, [fill], refuse));
  assert.ok(live.dirty.size > 0 && live.dirty.steps <= 100_000, `${live.dirty.steps}`);
  assert.equal(session.run('SEARCH.COUNT i \'{"t":"a"}\''), 100);
});

test("idle turns index what waits, and build what a start left", async () => {
  const clock = new VirtualClock();
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.run(CREATE);
  fill(session);
  const store = replayed(journal.frames, clock);
  const stop = store.startExpiryCycle();
  clock.advance(100);
  const { search } = store.database("main");
  while (search.hasBacklog) await new Promise((resolve) => setImmediate(resolve));
  stop();
  assert.equal(search.find("i")?.live.index.documentCount, MANY);
  assert.equal(run(store.database("main"), "SEARCH.COUNT i {}"), MANY);
});

test("a write that leaves every field as it was keeps the place of a document", () => {
  const session = startSession();
  session.run("SEARCH.CREATE i ON JSON PREFIX 1 d: SCHEMA a KEYWORD");
  for (const key of ["d:1", "d:2"]) session.call("JSON.SET", key, "$", '{"a":"x","other":1}');
  session.run("SEARCH.COUNT i {}");
  session.call("JSON.SET", "d:1", "$.other", "2");
  assert.deepEqual(keysOf(session.run("SEARCH.QUERY i {} NOCONTENT")), ["d:1", "d:2"]);
  session.call("JSON.SET", "d:1", "$.a", '"y"');
  assert.deepEqual(keysOf(session.run("SEARCH.QUERY i {} NOCONTENT")), ["d:2", "d:1"]);
});

test("a database without an index observes no change", () => {
  const session = startSession();
  const { keyspace } = session.database;
  assert.equal(keyspace.onChange, undefined);
  session.run(CREATE);
  assert.notEqual(keyspace.onChange, undefined);
  session.run("FLUSHALL");
  assert.equal(keyspace.onChange, undefined);
  assert.deepEqual(session.run("SEARCH.QUERY i {}"), nilArray);
});

test("a key belongs to the indexes of all its prefixes", () => {
  const table = new PrefixTable([
    ["", "all"],
    ["a", "a"],
    ["ab", "ab"],
    ["abc", "abc"],
    ["ab", "ab again"],
    ["b", "b"],
    ["ac", "ac"],
  ]);
  const ownersOf = (key: string): string => {
    const owners: string[] = [];
    table.visit(key, (owner) => owners.push(owner));
    return owners.sort().join(" ");
  };
  const rows = [
    ["", "all"],
    ["a", "a all"],
    ["ab", "a ab ab again all"],
    ["abcd", "a ab ab again abc all"],
    ["abd", "a ab ab again all"],
    ["ac", "a ac all"],
    ["ad", "a all"],
    ["b", "all b"],
    ["\xff", "all"],
  ] as const;
  for (const [key, owners] of rows) assert.equal(ownersOf(key), owners, key);
});

test("many keys are taken in the order of ranks, then of bytes", () => {
  const ranks = new Map([
    ["k7", 0],
    ["k3", 1],
  ]);
  const keys = new SortedKeys((key) => ranks.get(key));
  const count = 7_001;
  for (let i = 0; i < count; i += 1) keys.add(`k${(i * 4_999) % count}`);
  assert.equal(keys.count, count);
  const taken: string[] = [];
  for (let key = keys.take(); key !== undefined; key = keys.take()) taken.push(key);
  assert.equal(keys.count, 0);
  assert.deepEqual(taken.slice(0, 4), ["k7", "k3", "k0", "k1"]);
  assert.deepEqual(taken.slice(2), taken.slice(2).toSorted());
  assert.equal(taken.length, count);
});

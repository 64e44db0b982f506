/**
 * The work of commands must not grow with the size of a database. It is counted, not timed: entries that tables examine
 * and move, per command, with a thousand elements and with many times as many.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Session, startSession } from "../../test/harness/store-harness.ts";
import { findCommand } from "./commands/table.ts";
import { evictionPolicies } from "./memory/memory-settings.ts";
import { HashValue } from "./values/hash.ts";
import { ListValue } from "./values/list.ts";
import { SetValue } from "./values/set.ts";
import { SortedSetValue } from "./values/sorted-set.ts";
import { StreamValue } from "./values/stream.ts";

const FEW = 1_000;
const MANY = 8_000;
/** Entries examined and moved by one command on a table of any size, on average. */
const WORK_PER_COMMAND_MAX = 12;
/** The allowed factor for many times as many elements: the fill of a table differs a little with its size. */
const GROWTH_MAX = 1.6;

function tableWork(session: Session): number {
  const { entries, expiries, fieldExpiryKeys } = session.database.keyspace;
  let work = 0;
  for (const table of [entries, expiries, fieldExpiryKeys]) work += table.visits + table.moves;
  return work;
}

function hashWork(session: Session): number {
  const hash = session.database.keyspace.entries.get("h");
  return hash instanceof HashValue ? hash.work : 0;
}

function setWork(session: Session): number {
  let work = 0;
  for (const key of ["set", "small"]) {
    const set = session.database.keyspace.entries.get(key);
    if (set instanceof SetValue) work += set.work;
  }
  return work;
}

interface Measured {
  readonly what: string;
  /** Fills a store with `count` elements. */
  readonly fill: (session: Session, count: number) => void;
  /** Runs commands on it and returns how many elements they used. */
  readonly run: (session: Session, count: number) => number;
}

const SAMPLES = 500;

/** Runs `line` for a sample of all elements. */
function sample(count: number, run: (i: number) => void): number {
  for (let i = 0; i < SAMPLES; i += 1) run(Math.floor((i * count) / SAMPLES));
  return SAMPLES;
}

/** Elements of one command that fills a store. */
const FILL_BATCH = 500;

/** Adds the elements 0 to `count` by commands that begin with `head`; `element` returns the arguments of one. */
function fill(
  session: Session,
  count: number,
  head: readonly string[],
  element: (i: number) => readonly string[],
): void {
  for (let start = 0; start < count; start += FILL_BATCH) {
    const length = Math.min(FILL_BATCH, count - start);
    session.call(...head, ...Array.from({ length }, (_, i) => element(start + i)).flat());
  }
}

function fillKeys(session: Session, count: number): void {
  fill(session, count, ["MSET"], (i) => [`key:${i}`, "v"]);
}

function fillHash(session: Session, count: number): void {
  fill(session, count, ["HSET", "h"], (i) => [`field:${i}`, "v"]);
}

function fillSet(session: Session, count: number): void {
  fill(session, count, ["SADD", "set"], (i) => [`member:${i}`]);
  session.call("SADD", "small", "nobody", ...Array.from({ length: 9 }, (_, i) => `member:${i}`));
}

const measured: readonly Measured[] = [
  { what: "GET", fill: fillKeys, run: (session, count) => sample(count, (i) => session.call("GET", `key:${i}`)) },
  {
    what: "GET of nothing",
    fill: fillKeys,
    run: (session, count) => sample(count, (i) => session.call("GET", `no:${i}`)),
  },
  {
    what: "SET in place",
    fill: fillKeys,
    run: (session, count) => sample(count, (i) => session.call("SET", `key:${i}`, "w")),
  },
  {
    what: "SET of a new key",
    fill: fillKeys,
    run: (session, count) => sample(count, (i) => session.call("SET", `new:${i}`, "w")),
  },
  { what: "DEL", fill: fillKeys, run: (session, count) => sample(count, (i) => session.call("DEL", `key:${i}`)) },
  {
    what: "RENAME",
    fill: fillKeys,
    run: (session, count) => sample(count, (i) => session.call("RENAME", `key:${i}`, `to:${i}`)),
  },
  {
    what: "EXPIRE",
    fill: fillKeys,
    run: (session, count) => sample(count, (i) => session.call("EXPIRE", `key:${i}`, "100")),
  },
  { what: "RANDOMKEY", fill: fillKeys, run: (session, count) => sample(count, () => session.call("RANDOMKEY")) },
  {
    what: "HGET",
    fill: fillHash,
    run: (session, count) => sample(count, (i) => session.call("HGET", "h", `field:${i}`)),
  },
  {
    what: "HSET in place",
    fill: fillHash,
    run: (session, count) => sample(count, (i) => session.call("HSET", "h", `field:${i}`, "w")),
  },
  {
    what: "HSET of a new field",
    fill: fillHash,
    run: (session, count) => sample(count, (i) => session.call("HSET", "h", `new:${i}`, "w")),
  },
  {
    what: "HDEL",
    fill: fillHash,
    run: (session, count) => sample(count, (i) => session.call("HDEL", "h", `field:${i}`)),
  },
  {
    what: "HRANDFIELD",
    fill: fillHash,
    run: (session, count) => sample(count, () => session.call("HRANDFIELD", "h", "1")),
  },
  {
    what: "HEXPIRE",
    fill: fillHash,
    run: (session, count) => sample(count, (i) => session.call("HEXPIRE", "h", "100", "FIELDS", "1", `field:${i}`)),
  },
  {
    what: "SISMEMBER",
    fill: fillSet,
    run: (session, count) => sample(count, (i) => session.call("SISMEMBER", "set", `member:${i}`)),
  },
  {
    what: "SADD of a new member",
    fill: fillSet,
    run: (session, count) => sample(count, (i) => session.call("SADD", "set", `new:${i}`)),
  },
  {
    what: "SREM",
    fill: fillSet,
    run: (session, count) => sample(count, (i) => session.call("SREM", "set", `member:${i}`)),
  },
  {
    what: "SRANDMEMBER",
    fill: fillSet,
    run: (session, count) => sample(count, () => session.call("SRANDMEMBER", "set")),
  },
  { what: "SPOP", fill: fillSet, run: (session, count) => sample(count, () => session.call("SPOP", "set")) },
  {
    what: "SPOP with a count, per member",
    fill: fillSet,
    run: (session) => {
      for (let i = 0; i < 10; i += 1) session.call("SPOP", "set", "50");
      return 500;
    },
  },
  {
    what: "SINTER with a small set, per member of that",
    fill: fillSet,
    run: (session) => {
      for (let i = 0; i < 50; i += 1) session.call("SINTER", "set", "small", "set");
      return 500;
    },
  },
  {
    what: "SINTERCARD with a limit",
    fill: fillSet,
    run: (session, count) => sample(count, () => session.call("SINTERCARD", "2", "set", "set", "LIMIT", "5")) * 5,
  },
  {
    what: "the growth of a set, per member",
    fill: () => {},
    run: (session, count) => {
      for (let i = 0; i < count; i += 1) session.call("SADD", "set", `member:${i}`);
      return count;
    },
  },
  {
    what: "the growth of a keyspace, per key",
    fill: () => {},
    run: (session, count) => {
      for (let i = 0; i < count; i += 1) session.call("SET", `key:${i}`, "v");
      return count;
    },
  },
  {
    what: "the growth of a hash, per field",
    fill: () => {},
    run: (session, count) => {
      for (let i = 0; i < count; i += 1) session.call("HSET", "h", `field:${i}`, "v");
      return count;
    },
  },
  {
    what: "the shrinking of a keyspace, per key",
    fill: fillKeys,
    run: (session, count) => {
      for (let i = 0; i < count; i += 1) session.call("DEL", `key:${i}`);
      return count;
    },
  },
  {
    what: "a whole SCAN, per key",
    fill: fillKeys,
    run: (session, count) => {
      let cursor = "0";
      let found = 0;
      do {
        const [next, keys] = session.call("SCAN", cursor, "COUNT", "100") as [string, string[]];
        cursor = next;
        found += keys.length;
      } while (cursor !== "0");
      assert.equal(found, count);
      return count;
    },
  },
  {
    what: "active expiry, per key",
    fill: (session, count) => {
      for (let i = 0; i < count; i += 1) session.call("SET", `key:${i}`, "v", "PX", "5");
      session.clock.advance(6);
    },
    run: (session, count) => {
      while (session.database.keyspace.size > 0) session.database.sweepExpired();
      return count;
    },
  },
  {
    what: "expiry on access, per key",
    fill: (session, count) => {
      for (let i = 0; i < count; i += 1) session.call("SET", `key:${i}`, "v", "PX", "5");
      session.clock.advance(6);
    },
    run: (session, count) => sample(count, (i) => session.call("GET", `key:${i}`)),
  },
];

for (const { what, fill, run } of measured) {
  test(`the work of ${what} does not grow with the number of elements`, () => {
    const [few = 0, many = 0] = [FEW, MANY].map((count) => {
      const session = startSession();
      fill(session, count);
      const before = tableWork(session) + hashWork(session) + setWork(session);
      const elements = run(session, count);
      return (tableWork(session) + hashWork(session) + setWork(session) - before) / elements;
    });
    assert.ok(many <= WORK_PER_COMMAND_MAX, `${many} entries per element with ${MANY} of them`);
    assert.ok(many <= few * GROWTH_MAX + 0.5, `${few} entries per element with ${FEW} of them, ${many} with ${MANY}`);
  });
}

/** Five sampled keys, each found in the other table, one removed from both, and the SET itself. */
const EVICTION_WORK_MAX = 40;

test("the work of a SET that evicts a key does not grow with the number of keys", () => {
  for (const { name: policy, candidates } of evictionPolicies) {
    if (candidates === "none") continue;
    const [few = 0, many = 0] = [FEW, MANY].map((count) => {
      const session = startSession();
      for (let i = 0; i < count; i += 1) session.call("SET", `key:${i}`, "v", "EX", `${10_000 + i}`);
      const { database } = session;
      database.setMemory({ ...database.keyspace.memory, policy, bytesMax: database.keyspace.usedBytes });
      const before = tableWork(session);
      const elements = sample(count, (i) => session.call("SET", `new:${i}`, "v", "EX", "10000"));
      assert.ok(database.keyspace.evictedCount > SAMPLES * 0.9, policy);
      return (tableWork(session) - before) / elements;
    });
    assert.ok(many <= EVICTION_WORK_MAX, `${policy}: ${many} with ${MANY} keys`);
    assert.ok(many <= few * GROWTH_MAX, `${policy}: ${few} with ${FEW} keys, ${many} with ${MANY}`);
  }
});

test("no single command moves many entries while a keyspace or a hash grows and shrinks", () => {
  for (const [put, drop] of [
    [(i: number) => ["SET", `key:${i}`, "v"], (i: number) => ["DEL", `key:${i}`]],
    [(i: number) => ["HSET", "h", `field:${i}`, "v"], (i: number) => ["HDEL", "h", `field:${i}`]],
  ] as const) {
    const session = startSession();
    let worst = 0;
    const watch = (words: readonly string[]): void => {
      const before = tableWork(session) + hashWork(session);
      session.call(...words);
      worst = Math.max(worst, tableWork(session) + hashWork(session) - before);
    };
    for (let i = 0; i < 20_000; i += 1) watch(put(i));
    for (let i = 0; i < 20_000; i += 1) watch(drop(i));
    // A flat hash of 128 fields that becomes a table is the largest single step.
    assert.ok(worst <= 600, `${worst} entries in one command`);
  }
});

test("A-06: the work of one database does not depend on another", () => {
  const session = startSession();
  const other = session.store.database("other");
  fillKeys(session, 10_000);

  assert.equal(other.keyspace.size, 0);
  assert.equal(other.keyspace.entries.visits + other.keyspace.entries.moves, 0);
});

/** Stores that only reading commands use, by fill function and number of elements. */
const readStores = new Map<(session: Session, count: number) => void, Map<number, Session>>();

/** A store filled by `fill` with `count` elements, for the command `words`; its own store if the command writes. */
function sessionFor(words: readonly string[], fill: (session: Session, count: number) => void, count: number): Session {
  const isReadOnly = findCommand(words[0] ?? "")?.flags.includes("readonly") ?? false;
  const stores = readStores.get(fill) ?? new Map<number, Session>();
  const found = isReadOnly ? stores.get(count) : undefined;
  if (found !== undefined) return found;
  const session = startSession();
  fill(session, count);
  if (isReadOnly) readStores.set(fill, stores.set(count, session));
  return session;
}

/** Nodes of the tree grow with the logarithm; within a node some slots are moved. */
const SORTED_WORK_MAX = 150;
const SORTED_GROWTH_MAX = 40;

function sortedSetWork(session: Session): number {
  const sortedSet = session.database.keyspace.entries.get("z");
  return sortedSet instanceof SortedSetValue ? sortedSet.work : 0;
}

const sortedSetCalls: readonly ((i: number) => readonly string[])[] = [
  (i) => ["ZADD", "z", `${i}.5`, `new:${i}`],
  (i) => ["ZADD", "z", `${i}.5`, `member:${i}`],
  (i) => ["ZINCRBY", "z", "10", `member:${i}`],
  (i) => ["ZREM", "z", `member:${i}`],
  (i) => ["ZRANK", "z", `member:${i}`],
  (i) => ["ZSCORE", "z", `member:${i}`],
  (i) => ["ZCOUNT", "z", `${i}`, "+inf"],
  (i) => ["ZRANGE", "z", `${i}`, `${i + 9}`],
  (i) => ["ZRANGE", "z", `${i}`, "+inf", "BYSCORE", "LIMIT", "0", "10"],
  (i) => ["ZREVRANGE", "z", `${i}`, `${i + 9}`],
  (i) => ["ZREMRANGEBYSCORE", "z", `${i}`, `${i}`],
  () => ["ZPOPMIN", "z"],
  () => ["ZPOPMAX", "z"],
  () => ["ZRANDMEMBER", "z", "3"],
];

function fillSortedSet(session: Session, count: number): void {
  fill(session, count, ["ZADD", "z"], (i) => [`${(i * 7919) % count}`, `member:${i}`]);
}

for (const words of sortedSetCalls) {
  test(`the work of ${words(0).join(" ")} grows with the logarithm of the number of members at most`, () => {
    const [few = 0, many = 0] = [FEW, MANY].map((count) => {
      const session = sessionFor(words(0), fillSortedSet, count);
      const before = sortedSetWork(session);
      const elements = sample(count, (i) => session.call(...words(i)));
      return (sortedSetWork(session) - before) / elements;
    });
    assert.ok(many <= SORTED_WORK_MAX, `${many} with ${MANY} members`);
    assert.ok(many <= few + SORTED_GROWTH_MAX, `${few} with ${FEW} members, ${many} with ${MANY}`);
  });
}

/** Nodes on the way down, and one or two blocks that are unpacked for a change and packed again. */
const LIST_WORK_MAX = 3 * 128;
const LIST_GROWTH_MAX = 40;
/** More than one block, and enough for all pops. */
const LIST_FEW = 4_000;
const LIST_MANY = 32_000;

function listWork(session: Session): number {
  let work = 0;
  for (const key of ["list", "other"]) {
    const list = session.database.keyspace.entries.get(key);
    if (list instanceof ListValue) work += list.work;
  }
  return work;
}

const listCalls: readonly ((i: number) => readonly string[])[] = [
  (i) => ["RPUSH", "list", `new:${i}`],
  (i) => ["LPUSH", "list", `new:${i}`, `next:${i}`],
  () => ["LPOP", "list"],
  () => ["RPOP", "list", "2"],
  () => ["LMOVE", "list", "list", "RIGHT", "LEFT"],
  () => ["RPOPLPUSH", "list", "other"],
  () => ["LMPOP", "1", "list", "LEFT", "COUNT", "2"],
  (i) => ["LINDEX", "list", `${i}`],
  (i) => ["LINDEX", "list", `-${i}`],
  (i) => ["LRANGE", "list", `${i}`, `${i + 9}`],
  (i) => ["LSET", "list", `${(i * 7_919) % LIST_FEW}`, "other"],
  () => ["LTRIM", "list", "1", "-2"],
  () => ["LPOS", "list", "element:3"],
  () => ["LPOS", "list", "nowhere", "RANK", "-1", "MAXLEN", "100"],
  (i) => ["LINSERT", "list", "BEFORE", "element:9", `new:${i}`],
];

function fillList(session: Session, count: number): void {
  fill(session, count, ["RPUSH", "list"], (i) => [`element:${i}`]);
}

for (const words of listCalls) {
  test(`the work of ${words(0).join(" ")} does not grow with the length of a list`, () => {
    const [few = 0, many = 0] = [LIST_FEW, LIST_MANY].map((count) => {
      const session = sessionFor(words(0), fillList, count);
      const before = listWork(session);
      const elements = sample(count, (i) => session.call(...words(i)));
      return (listWork(session) - before) / elements;
    });
    assert.ok(many <= LIST_WORK_MAX, `${many} with ${LIST_MANY} elements`);
    assert.ok(many <= few + LIST_GROWTH_MAX, `${few} with ${LIST_FEW} elements, ${many} with ${LIST_MANY}`);
  });
}

const placeOf = (i: number): readonly string[] => [
  (((i * 7_919) % 360_000) / 1_000 - 180).toFixed(4),
  (((i * 104_729) % 170_000) / 1_000 - 85).toFixed(4),
];

/** Searches of an area with about the same number of places, whatever the total. */
const geoCalls: readonly ((i: number, count: number) => readonly string[])[] = [
  (i) => ["GEOADD", "z", ...placeOf(i + 17), `new:${i}`],
  (i) => ["GEOADD", "z", ...placeOf(i + 17), `member:${i}`],
  (i) => ["GEOPOS", "z", `member:${i}`],
  (i) => ["GEODIST", "z", `member:${i}`, "member:5"],
  (i) => ["GEOHASH", "z", `member:${i}`],
  (i, count) => [
    ...["GEOSEARCH", "z", "FROMLONLAT", ...placeOf(i)],
    ...["BYRADIUS", `${Math.round(10_000 / Math.sqrt(count))}`, "km", "ASC"],
  ],
  (i, count) => [
    ...["GEOSEARCH", "z", "FROMMEMBER", `member:${i}`],
    ...["BYBOX", `${Math.round(10_000 / Math.sqrt(count))}`, `${Math.round(10_000 / Math.sqrt(count))}`, "km"],
  ],
];

/** Up to nine cells are searched, each found by its two bounds. */
const GEO_WORK_MAX = 400;

function fillPlaces(session: Session, count: number): void {
  fill(session, count, ["GEOADD", "z"], (i) => [...placeOf(i), `member:${i}`]);
}

for (const words of geoCalls) {
  test(`the work of ${words(0, FEW).join(" ")} grows with the logarithm of the number of places at most`, () => {
    const [few = 0, many = 0] = [FEW, MANY].map((count) => {
      const session = sessionFor(words(0, count), fillPlaces, count);
      const before = sortedSetWork(session);
      const elements = sample(count, (i) => session.call(...words(i, count)));
      return (sortedSetWork(session) - before) / elements;
    });
    assert.ok(many <= GEO_WORK_MAX, `${many} with ${MANY} places`);
    assert.ok(many <= few * 1.5 + SORTED_GROWTH_MAX, `${few} with ${FEW} places, ${many} with ${MANY}`);
  });
}

/** Steps of a binary search for an entry, a chunk of a hundred, and the items of a leaf that are moved. */
const STREAM_WORK_MAX = 600;
const STREAM_GROWTH_MAX = 60;
/** More than one leaf of chunks. */
const STREAM_FEW = 15_000;
const STREAM_MANY = 60_000;

function streamWork(session: Session): number {
  const stream = session.database.keyspace.entries.get("stream");
  return stream instanceof StreamValue ? stream.work : 0;
}

const streamCalls: readonly ((i: number) => readonly string[])[] = [
  () => ["XADD", "stream", "*", "name", "value"],
  () => ["XADD", "stream", "MAXLEN", "500", "*", "name", "value"],
  (i) => ["XRANGE", "stream", `${i + 1}`, "+", "COUNT", "3"],
  (i) => ["XREVRANGE", "stream", `${i + 1}`, "-", "COUNT", "3"],
  (i) => ["XDEL", "stream", `${i + 1}-0`],
  (i) => ["XDELEX", "stream", "DELREF", "IDS", "1", `${i + 1}-0`],
  (i) => ["XTRIM", "stream", "MINID", `${Math.min(i, 400)}`],
  (i) => ["XREAD", "COUNT", "2", "STREAMS", "stream", `${i + 1}`],
  (i) => ["XACK", "stream", "group", `${i + 1}-0`],
  (i) => ["XCLAIM", "stream", "group", "other", "0", `${i + 1}-0`],
  (i) => ["XPENDING", "stream", "group", `${i + 1}`, "+", "3"],
  (i) => ["XAUTOCLAIM", "stream", "group", "other", "0", `${i + 1}`, "COUNT", "2"],
  () => ["XREADGROUP", "GROUP", "late", "other", "COUNT", "2", "STREAMS", "stream", ">"],
  (i) => ["XREADGROUP", "GROUP", "group", "one", "COUNT", "2", "STREAMS", "stream", `${i}`],
  () => ["XINFO", "STREAM", "stream"],
  () => ["XINFO", "GROUPS", "stream"],
];

/** Stores with a filled stream, by its number of entries. */
const streamStores = new Map<number, Session>();

/** A store whose key `stream` has `count` entries, all of them pending in `group`. It is a copy of one filled stream. */
function streamSession(count: number): Session {
  const session = streamStores.get(count) ?? startSession();
  if (!streamStores.has(count)) {
    for (let i = 0; i < count; i += 1) session.call("XADD", "filled", `${i + 1}-0`, "name", `value:${i}`);
    session.call("XGROUP", "CREATE", "filled", "group", "0");
    session.call("XGROUP", "CREATE", "filled", "late", "0");
    session.call("XREADGROUP", "GROUP", "group", "one", "STREAMS", "filled", ">");
    streamStores.set(count, session);
  }
  assert.equal(session.call("COPY", "filled", "stream", "REPLACE"), 1);
  return session;
}

for (const words of streamCalls) {
  test(`the work of ${words(0).join(" ")} does not grow with the length of a stream`, () => {
    const [few = 0, many = 0] = [STREAM_FEW, STREAM_MANY].map((count) => {
      const session = streamSession(count);
      if (words(0).includes("MAXLEN")) session.call("XTRIM", "stream", "MAXLEN", "500");
      const before = streamWork(session);
      const elements = sample(count, (i) => session.call(...words(i)));
      return (streamWork(session) - before) / elements;
    });
    assert.ok(many <= STREAM_WORK_MAX, `${many} with ${STREAM_MANY} entries`);
    assert.ok(many <= few + STREAM_GROWTH_MAX, `${few} with ${STREAM_FEW} entries, ${many} with ${STREAM_MANY}`);
  });
}

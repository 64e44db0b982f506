/** maxmemory: which commands are refused, which keys are evicted, in which order, and what is journaled. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { families } from "../../../test/differential/families.ts";
import { drawProgram } from "../../../test/differential/programs.ts";
import { runSteps } from "../../../test/differential/run.ts";
import { memoryFault } from "../../../test/harness/memory-recount.ts";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { error, nil, ok, type Session, startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { seededRandom } from "../../kernel/random.ts";
import { TransactionDiscarded } from "../errors.ts";
import { Store } from "../store.ts";
import { type EvictionPolicyName, evictionPolicies } from "./memory-settings.ts";

const outOfMemory = error("OOM command not allowed when used memory > 'maxmemory'.");
const KEY_COUNT = 1_000;

/** Values of 100 bytes at key:0 … , some milliseconds apart. */
function fill(session: Session, count = KEY_COUNT, ...options: string[]): void {
  for (let i = 0; i < count; i += 1) {
    session.call("SET", `key:${i}`, "x".repeat(100), ...options);
    session.clock.advance(20);
  }
}

function limitTo(session: Session, share: number, policy: EvictionPolicyName): void {
  const bytes = Math.floor(session.database.keyspace.usedBytes * share);
  assert.deepEqual(session.run(`CONFIG SET maxmemory-policy ${policy} maxmemory ${bytes}`), ok);
}

function isThere(session: Session, i: number): boolean {
  return session.database.keyspace.entries.has(`key:${i}`);
}

test("A-16: with nothing to evict, commands that may grow are refused and all others run", () => {
  const session = startSession();
  session.run("SET k v");
  session.run("RPUSH l a b");
  session.run("CONFIG SET maxmemory 1");
  session.expect([
    ["SET k w", outOfMemory],
    ["APPEND k w", outOfMemory],
    ["RPUSH l c", outOfMemory],
    ["COPY k k2", outOfMemory],
    ["GET k", "v"],
    ["PING", { kind: "simple", text: "PONG" }],
    ["LPOP l", "a"],
    ["EXPIRE k 100", 1],
    ["RENAME k other", ok],
    ["SET", error("ERR wrong number of arguments for 'set' command")],
    ["DEL other", 1],
    ["DBSIZE", 1],
    ["CONFIG SET maxmemory 0", ok],
    ["SET k w", ok],
  ]);
});

test("while memory is short a whole transaction is refused, also one of reads, as Redis refuses to queue them", () => {
  const session = startSession();
  session.run("SET k v");
  session.run("CONFIG SET maxmemory 1");
  for (const commands of [[["SET", "k", "w"]], [["GET", "k"]], [["DEL", "k"]]]) {
    assert.throws(
      () => session.database.transaction(testCaller, commands),
      (fault) =>
        fault instanceof TransactionDiscarded &&
        fault.error.text === "OOM command not allowed when used memory > 'maxmemory'.",
    );
  }
  assert.deepEqual(session.database.transaction(testCaller, []), []);
  assert.equal(session.run("GET k"), "v");
});

test("a pipeline is refused command by command", () => {
  const session = startSession();
  session.run("SET k v");
  session.run("CONFIG SET maxmemory 1");
  const replies = session.database.pipeline(testCaller, [
    ["SET", "k", "w"],
    ["GET", "k"],
  ]);
  assert.deepEqual(replies, [outOfMemory, "v"]);
  const info = session.run("INFO commandstats");
  assert.match(JSON.stringify(info), /cmdstat_set:calls=1[^\\]*rejected_calls=1/);
});

test("every policy keeps to the limit while keys are added, and counts evictions", () => {
  for (const { name, candidates } of evictionPolicies) {
    if (candidates === "none") continue;
    const session = startSession();
    fill(session, KEY_COUNT, "EX", "1000");
    limitTo(session, 0.5, name);
    const { keyspace } = session.database;
    for (let i = 0; i < KEY_COUNT; i += 1) {
      session.call("SET", `more:${i}`, "y".repeat(100), "EX", "1000");
      assert.ok(keyspace.usedBytes <= keyspace.memory.bytesMax + 300, name);
    }
    assert.equal(keyspace.evictedCount, 2 * KEY_COUNT - keyspace.size, name);
    assert.equal(memoryFault(keyspace), undefined, name);
    assert.match(JSON.stringify(session.run("INFO stats")), new RegExp(`evicted_keys:${keyspace.evictedCount}\\\\r`));
  }
});

test("volatile policies keep keys without expiry, and refuse writes when there are no others", () => {
  for (const { name, candidates } of evictionPolicies) {
    if (candidates !== "expiring") continue;
    const session = startSession();
    session.call("SET", "constant", "x".repeat(5_000));
    fill(session, 100, "EX", "1000");
    session.run(`CONFIG SET maxmemory-policy ${name} maxmemory 3000`);
    session.expect([
      ["SET k v", outOfMemory],
      ["KEYS *", ["constant"]],
      ["STRLEN 'constant'", 5_000],
      ["DEL 'constant'", 1],
      ["SET k v", ok],
    ]);
  }
});

/** Of the keys that should be evicted first, the share that is gone when half of all keys are. */
function shareGone(
  policy: EvictionPolicyName,
  prepare: (session: Session) => void,
  first: (i: number) => boolean,
): number {
  const session = startSession();
  session.run(`CONFIG SET maxmemory-policy ${policy}`);
  fill(session, KEY_COUNT, "EX", "100000");
  prepare(session);
  limitTo(session, 0.5, policy);
  let gone = 0;
  let all = 0;
  for (let i = 0; i < KEY_COUNT; i += 1) {
    if (!first(i)) continue;
    all += 1;
    if (!isThere(session, i)) gone += 1;
  }
  return gone / all;
}

test("LRU keeps recently used keys", () => {
  for (const policy of ["allkeys-lru", "volatile-lru"] as const) {
    const readEvenKeys = (session: Session): void => {
      for (let i = 0; i < KEY_COUNT; i += 2) session.call("GET", `key:${i}`);
    };
    assert.ok(shareGone(policy, readEvenKeys, (i) => i % 2 === 1) > 0.9, policy);
    assert.ok(
      shareGone(
        policy,
        () => {},
        (i) => i < KEY_COUNT / 2,
      ) > 0.85,
      policy,
    );
  }
});

test("LFU keeps frequently used keys", () => {
  for (const policy of ["allkeys-lfu", "volatile-lfu"] as const) {
    const readEvenKeysFirst = (session: Session): void => {
      for (let round = 0; round < 20; round += 1)
        for (let i = 0; i < KEY_COUNT; i += 2) session.call("GET", `key:${i}`);
      for (let i = 1; i < KEY_COUNT; i += 2) session.call("GET", `key:${i}`);
    };
    assert.ok(shareGone(policy, readEvenKeysFirst, (i) => i % 2 === 1) > 0.9, policy);
  }
});

test("TTL evicts the keys that expire soonest", () => {
  const letEvenKeysLive = (session: Session): void => {
    for (let i = 0; i < KEY_COUNT; i += 2) session.call("EXPIRE", `key:${i}`, "500000");
  };
  assert.ok(shareGone("volatile-ttl", letEvenKeysLive, (i) => i % 2 === 1) > 0.9);
});

test("random policies evict from all parts of the keyspace", () => {
  for (const policy of ["allkeys-random", "volatile-random"] as const) {
    const share = shareGone(
      policy,
      () => {},
      (i) => i < KEY_COUNT / 2,
    );
    assert.ok(share > 0.4 && share < 0.6, `${policy}: ${share}`);
  }
});

test("a key that is used after it entered the pool stays", () => {
  const session = startSession();
  session.run("CONFIG SET maxmemory-policy allkeys-lru maxmemory-samples 16");
  fill(session, 100);
  // Fills the pool with the least recently used keys.
  limitTo(session, 0.9, "allkeys-lru");
  for (let i = 0; i < 30; i += 1) session.call("GET", `key:${i}`);
  const present = Array.from({ length: 30 }, (_, i) => i).filter((i) => isThere(session, i));
  session.clock.advance(1_000);
  for (let i = 0; i < 20; i += 1) session.call("SET", `more:${i}`, "x".repeat(100));
  const lost = present.filter((i) => !isThere(session, i));
  assert.ok(lost.length <= 1, `${lost}`);
});

test("LRU: sampling has nearly the hit rate of an exact list of all keys in order of use", () => {
  const HELD_COUNT = 500;
  const session = startSession();
  fill(session, HELD_COUNT);
  limitTo(session, 1, "allkeys-lru");
  const inOrder = new Map<string, true>();
  for (let i = 0; i < HELD_COUNT; i += 1) inOrder.set(`key:${i}`, true);
  const random = seededRandom(1);
  let hits = 0;
  let hitsInOrder = 0;
  const READ_COUNT = 20_000;
  for (let read = 0; read < READ_COUNT; read += 1) {
    session.clock.advance(20);
    // Few keys are used often, as by Zipf's law.
    const key = `key:${Math.floor(5_000 ** random.unit())}`;
    if (session.call("GET", key) === nil) session.call("SET", key, "x".repeat(100));
    else hits += 1;
    if (inOrder.delete(key)) hitsInOrder += 1;
    inOrder.set(key, true);
    for (const oldest of inOrder.keys()) {
      if (inOrder.size <= HELD_COUNT) break;
      inOrder.delete(oldest);
    }
  }
  assert.ok(hits / READ_COUNT > hitsInOrder / READ_COUNT - 0.03, `${hits} and ${hitsInOrder} of ${READ_COUNT}`);
});

test("CONFIG SET of a lower limit evicts at once", () => {
  const session = startSession();
  fill(session);
  limitTo(session, 0.25, "allkeys-random");
  const { keyspace } = session.database;
  assert.ok(keyspace.usedBytes <= keyspace.memory.bytesMax);
  assert.ok(keyspace.evictedCount > 600);
});

test("evictions come before their cause in the journal, and replay without a limit rebuilds the same state", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  fill(session, 100, "EX", "100000");
  limitTo(session, 0.5, "volatile-lru");
  const before = journal.frames.length;
  session.call("SET", "k", "x".repeat(2_000));
  assert.deepEqual(session.run("GET k"), "x".repeat(2_000));
  // The SET fitted, and the GET evicted for it: a frame of removals alone.
  assert.equal(journal.frames.length, before + 2);
  const EVICT_KEY = 8;
  assert.equal(journal.frames.at(-1)?.[1], EVICT_KEY);
  const replica = startSession();
  for (const frame of journal.frames) replica.store.replay(Buffer.from(frame));
  const copy = replica.store.databases.at(-1);
  assert.ok(copy !== undefined);
  assert.equal(copy.keyspace.size, session.database.keyspace.size);
  assert.equal(copy.keyspace.evictedCount, 0);
  assert.equal(memoryFault(copy.keyspace), undefined);
});

test("random programs under a small limit are rebuilt to the byte from the journal and from a snapshot", async () => {
  let seed = 0;
  for (const { name: policy } of evictionPolicies) {
    for (const family of families) {
      seed += 1;
      const { steps } = drawProgram(family, { seed, extensions: true });
      const limit = ["CONFIG", "SET", "maxmemory-policy", policy, "maxmemory", "4000"];
      const failure = await runSteps({ steps: [[limit], ...steps], stateEvery: 20 });
      assert.equal(failure, undefined, `seed ${seed} of ${family.name} under ${policy}: ${failure?.text}`);
    }
  }
});

test("keys that a refused transaction evicted stay evicted, and that is journaled", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  fill(session, 20, "EX", "100000");
  session.call("SET", "constant", "x".repeat(5_000));
  session.run("CONFIG SET maxmemory-policy volatile-lru");
  const keyspace = session.database.keyspace;
  session.database.setMemory({ ...keyspace.memory, bytesMax: keyspace.usedBytes });
  session.call("SET", "constant", "x".repeat(20_000));
  const before = journal.frames.length;
  assert.throws(() => session.database.transaction(testCaller, [["GET", "k"]]), TransactionDiscarded);
  assert.equal(journal.frames.length, before + 1);
  assert.deepEqual(session.run("KEYS *"), ["constant"]);
});

test("on a full disk nothing is evicted, and reads run", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  fill(session, 20);
  limitTo(session, 1, "allkeys-lru");
  assert.deepEqual(session.call("SET", "more", "x".repeat(3_000)), ok);
  journal.refusal = "No space left on device";
  const frames = journal.frames.length;
  session.expect([
    ["STRLEN more", 3_000],
    ["SET k v", error("MISCONF Errors writing to the AOF file: No space left on device")],
  ]);
  assert.deepEqual(session.database.transaction(testCaller, [["STRLEN", "more"]]), [3_000]);
  assert.equal(journal.frames.length, frames);
  assert.deepEqual(session.run("DBSIZE"), 21);
  journal.refusal = undefined;
  assert.deepEqual(session.run("SET k v"), ok);
  assert.ok(session.database.keyspace.evictedCount > 10);
});

test("a limit set at the start applies to each database separately", () => {
  const store = new Store({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    memory: { bytesMax: 20_000, policy: "allkeys-lru" },
  });
  const [one, other] = [store.database("one"), store.database("other")];
  for (let i = 0; i < 500; i += 1) one.command(testCaller, ["SET", `key:${i}`, "x".repeat(100)]);
  other.command(testCaller, ["SET", "k", "v"]);
  assert.ok(one.keyspace.usedBytes <= 20_300);
  assert.ok(one.keyspace.size > 80);
  assert.equal(other.command(testCaller, ["GET", "k"]), "v");
  assert.equal(other.keyspace.evictedCount, 0);
});

test("A-16: a token may lower and raise the limit, but never above the operator's", () => {
  const store = new Store({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    memory: { bytesMax: 20_000 },
    memoryOf: (name) => (name === "large" ? { bytesMax: 40_000 } : undefined),
  });
  const asked: readonly (readonly [database: string, maxmemory: string, isTaken: boolean])[] = [
    ["one", "10000", true],
    ["one", "20000", true],
    ["one", "20001", false],
    ["one", "1gb", false],
    // Both are no limit.
    ["one", "0", false],
    ["one", "", false],
    ["large", "40000", true],
    ["large", "40001", false],
  ];
  for (const [name, maxmemory, isTaken] of asked) {
    const cap = name === "large" ? 40_000 : 20_000;
    const refusal = `ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be from 1 to ${cap}, the maxmemory that the operator set`;
    assert.deepEqual(
      store.database(name).command(testCaller, ["CONFIG", "SET", "maxmemory", maxmemory]),
      isTaken ? ok : error(refusal),
      `${name} ${maxmemory}`,
    );
  }
  assert.equal(store.database("one").keyspace.memory.bytesMax, 20_000);
  assert.equal(store.database("large").keyspace.memory.bytesMax, 40_000);
});

/** A clock on which each reading takes as long as a slice. */
class SlowClock extends VirtualClock {
  #ms = 0;

  override monotonicMs(): number {
    this.#ms += 5;
    return this.#ms;
  }
}

test("a large excess is evicted in slices, in commands and in the cycle, while writes continue", () => {
  const session = startSession({ clock: new SlowClock() });
  fill(session);
  limitTo(session, 0.25, "allkeys-random");
  const { database } = session;
  assert.equal(database.isEvicting, true);
  assert.equal(database.keyspace.evictedCount, 16);
  assert.deepEqual(session.run("SET k v"), ok);
  assert.equal(database.keyspace.evictedCount, 32);
  let sweeps = 0;
  for (; database.isEvicting; sweeps += 1) database.sweepExpired();
  assert.equal(sweeps < 60, true);
  assert.ok(database.keyspace.usedBytes <= database.keyspace.memory.bytesMax);
});

test("a command that adds much during an excess waits until as much is evicted", () => {
  const session = startSession({ clock: new SlowClock() });
  fill(session);
  limitTo(session, 0.9, "allkeys-random");
  const { keyspace } = session.database;
  for (let i = 0; i < 30; i += 1) {
    session.call("SET", `large:${i}`, "x".repeat(4_000));
    assert.ok(keyspace.usedBytes <= keyspace.memory.bytesMax * (1 + 1 / 8) + 8_000);
  }
});

test("OBJECT FREQ and IDLETIME reply if the policy tracks them, and RESTORE sets them", () => {
  const session = startSession();
  session.run("SET k v");
  const payload = session.run("DUMP k");
  assert.ok(typeof payload === "string");
  const notCounted = error(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
  );
  const notTimed = error(
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
  );
  session.clock.advance(3_000);
  session.expect([
    ["OBJECT IDLETIME k", 3],
    ["OBJECT FREQ k", notCounted],
    ["OBJECT FREQ none", nil],
  ]);
  session.call("RESTORE", "old", "0", payload, "IDLETIME", "1000");
  session.call("RESTORE", "often", "0", payload, "FREQ", "100");
  session.expect([
    ["OBJECT IDLETIME old", 1_000],
    ["OBJECT IDLETIME often", 0],
    ["CONFIG SET maxmemory-policy volatile-lfu", ok],
    ["OBJECT IDLETIME k", notTimed],
    ["OBJECT IDLETIME none", nil],
    ["OBJECT FREQ k", 5],
  ]);
  session.call("RESTORE", "old", "0", payload, "IDLETIME", "1000", "REPLACE");
  session.call("RESTORE", "often", "0", payload, "FREQ", "100", "REPLACE");
  session.expect([
    ["OBJECT FREQ old", 5],
    ["OBJECT FREQ often", 100],
    ["RENAME often renamed", ok],
    ["OBJECT FREQ renamed", 100],
    ["COPY renamed copy", 1],
    ["OBJECT FREQ copy", 5],
    ["CONFIG SET lfu-log-factor 0", ok],
    ["SET k w", ok],
    ["OBJECT FREQ k", 6],
    ["APPEND k x", 2],
    ["GET k", "wx"],
    ["OBJECT FREQ k", 8],
  ]);
  session.clock.advance(180_000);
  session.expect([
    ["OBJECT FREQ k", 5],
    ["CONFIG SET lfu-decay-time 0", ok],
    ["OBJECT FREQ k", 8],
    ["CONFIG SET maxmemory-policy allkeys-lru", ok],
    ["OBJECT IDLETIME k", 180],
  ]);
});

/** The active expiry cycle: unused expired keys are removed, their memory is freed, and no sweep takes long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { startSession, testCaller } from "../../../test/harness/store-harness.ts";
import type { Clock } from "../../kernel/clock.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { seededRandom } from "../../kernel/random.ts";
import { Turns } from "../../kernel/turns.ts";
import { VirtualLoop } from "../../kernel/turns.virtual.ts";
import { Store } from "../store.ts";
import { HashValue } from "../values/hash.ts";
import { SWEEP_EVERY_MS } from "./expiry-sweep.ts";

test("expired keys that are never read are removed, and counters and memory go down", () => {
  const session = startSession();
  const { keyspace } = session.database;
  const emptyBytes = keyspace.entries.memoryBytes + keyspace.expiries.memoryBytes;
  for (let i = 0; i < 5_000; i += 1) session.call("SET", `key:${i}`, "v", "PX", "50");
  const stop = session.store.startExpiryCycle();

  session.clock.advance(SWEEP_EVERY_MS);

  assert.equal(keyspace.size, 0);
  assert.equal(keyspace.expiries.size, 0);
  assert.equal(keyspace.expiredCount, 5_000);
  assert.ok(keyspace.entries.memoryBytes + keyspace.expiries.memoryBytes <= emptyBytes + 200);
  stop();
});

test("sweeps do not make a heavy command count as light", () => {
  const session = startSession();
  const { turn } = session.database;
  turn.begin("slow", "SLOW");
  turn.charge(1_000);
  const stop = session.store.startExpiryCycle();

  session.clock.advance(20 * SWEEP_EVERY_MS);

  assert.equal(turn.isHeavy("slow"), true);
  stop();
});

test("expired fields that are never read are removed, and the keys with their last ones", () => {
  const session = startSession();
  const { keyspace } = session.database;
  for (let i = 0; i < 100; i += 1) {
    for (let j = 0; j < 200; j += 1) session.call("HSET", `hash:${i}`, `f${j}`, "v");
    const doomed = i % 2 === 0 ? 200 : 150;
    session.call(
      "HPEXPIRE",
      `hash:${i}`,
      "50",
      "FIELDS",
      `${doomed}`,
      ...Array.from({ length: doomed }, (_, j) => `f${j}`),
    );
  }
  const stop = session.store.startExpiryCycle();

  session.clock.advance(2 * SWEEP_EVERY_MS);

  assert.equal(keyspace.size, 50);
  assert.equal(keyspace.fieldExpiryKeys.size, 0);
  assert.equal(keyspace.expiredFieldCount, 50 * 200 + 50 * 150);
  session.expect([
    ["HLEN hash:1", 50],
    ["EXISTS hash:0", 0],
  ]);
  const hash = keyspace.entries.get("hash:1");
  assert.ok(hash instanceof HashValue && !hash.hasExpiries);
  stop();
});

test("the cycle ends when it is stopped", () => {
  const session = startSession();
  session.run("SET k v PX 50");
  session.store.startExpiryCycle()();

  session.clock.advance(10 * SWEEP_EVERY_MS);

  assert.equal(session.database.keyspace.size, 1);
});

/** A clock on which every reading of the monotonic time takes a millisecond. */
class SlowClock extends VirtualClock {
  #elapsedMs = 0;

  override monotonicMs(): number {
    this.#elapsedMs += 1;
    return this.#elapsedMs;
  }
}

test("a sweep stops when its time is over, and the next ones continue there", () => {
  const clock = new SlowClock();
  const session = startSession({ clock });
  for (let i = 0; i < 10_000; i += 1) session.call("SET", `key:${i}`, "v", "PX", "50");
  clock.advance(51);

  const first = session.database.sweepExpired();

  assert.ok(first >= 400 && first <= 2_400, `${first} keys in the first sweep`);
  assert.equal(session.database.activity.cutSweepCount, 1);
  assert.equal(session.database.activity.stalePercent, 5);
  let sweeps = 1;
  for (; session.database.keyspace.size > 0; sweeps += 1) session.database.sweepExpired();
  assert.equal(sweeps, Math.ceil(10_000 / first));
});

test("a sweep of many large hashes stops in time, and the next ones continue there", () => {
  const clock = new SlowClock();
  const session = startSession({ clock });
  const fields = Array.from({ length: 3_000 }, (_, i) => `f${i}`);
  for (let i = 0; i < 10; i += 1) {
    session.call("HSETEX", `hash:${i}`, "PX", "50", "FIELDS", "3000", ...fields.flatMap((field) => [field, "v"]));
  }
  clock.advance(51);

  const first = session.database.sweepExpired();

  assert.ok(first >= 1_000 && first <= 6_000, `${first} fields in the first sweep`);
  let sweeps = 1;
  for (; session.database.keyspace.size > 0; sweeps += 1) session.database.sweepExpired();
  assert.equal(sweeps, Math.ceil(30_000 / first));
});

test("a sweep does not visit keys without expiry, however many there are", () => {
  const session = startSession();
  const { keyspace } = session.database;
  for (let i = 0; i < 20_000; i += 1) session.call("SET", `key:${i}`, "v");
  session.run("SET k v PX 50");
  session.clock.advance(51);
  const before = keyspace.entries.visits + keyspace.expiries.visits;

  assert.equal(session.database.sweepExpired(), 1);

  assert.ok(keyspace.entries.visits + keyspace.expiries.visits - before < 40);
});

test("expired keys are removed within one walk, whatever is added and removed between sweeps", () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = seededRandom(seed);
    const session = startSession();
    for (let i = 0; i < 3_000; i += 1) session.call("SET", `key:${i}`, "v", "PX", i % 50 === 0 ? "50" : "1000000");
    session.clock.advance(51);

    for (let sweeps = 0; sweeps < 12; sweeps += 1) {
      session.database.sweepExpired();
      for (let i = 0; i < 20; i += 1) {
        session.call("SET", `new:${seed}:${sweeps}:${i}`, "v", "PX", "1000000");
        session.call("DEL", `key:${random.below(3_000)}`);
      }
    }

    const { expiries, nowMs } = session.database.keyspace;
    const late = [...expiries.entries()].filter(([, atMs]) => atMs < nowMs);
    assert.deepEqual(late, [], `seed ${seed}`);
  }
});

test("a sweep is one frame, and its replay removes the same keys", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  for (let i = 0; i < 50; i += 1) session.call("SET", `key:${i}`, "v", "PX", i % 2 === 0 ? "50" : "1000000");
  session.run("HSET h f v g w");
  session.run("HPEXPIRE h 50 FIELDS 1 f");
  session.clock.advance(51);
  const before = journal.frames.length;

  assert.equal(session.database.sweepExpired(), 26);

  assert.equal(journal.frames.length, before + 1);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
  assert.equal(session.database.sweepExpired(), 0);
  assert.equal(journal.frames.length, before + 1);
});

test("a cycle over many databases yields to requests", async () => {
  const clock = new VirtualClock();
  // Each reading takes a millisecond, so a sweep takes several.
  let looks = 0;
  const slow: Clock = {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => {
      looks += 1;
      return looks;
    },
    threadCpuMs: () => looks,
    at: (atMs, task) => clock.at(atMs, task),
    after: (delayMs, task) => clock.after(delayMs, task),
    housekeep: (delayMs, task) => clock.housekeep(delayMs, task),
    get real() {
      return slow;
    },
  };
  const loop = new VirtualLoop();
  const turns = new Turns({ clock, loop });
  const journal = new NullJournal();
  const store = new Store({ journal, clock: slow, random: seededRandom(1), hashSeed: new Uint8Array(8), turns });
  for (let name = 0; name < 20; name += 1)
    store.database(`d${name}`).execute(testCaller, ["SET", "k", "v", "PX", "50"]);
  const sweptCount = (): number => store.databases.filter(({ keyspace }) => keyspace.expiredCount === 1).length;
  const stop = store.startExpiryCycle();
  clock.advance(SWEEP_EVERY_MS);
  assert.equal(sweptCount(), 1);
  while (!loop.isIdle) await loop.turn();
  assert.equal(sweptCount(), 20);
  stop();
});

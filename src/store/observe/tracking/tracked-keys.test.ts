/** The bounds, the memory and the work of the table of tracked keys. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isPushed, type Speaker, startSessions } from "../../../../test/harness/session-harness.ts";
import { error, ok } from "../../../../test/harness/store-harness.ts";
import { MemoryGuard } from "../../../kernel/memory-guard.ts";
import { seededRandom } from "../../../kernel/random.ts";
import type { Database } from "../../database.ts";
import { TrackedKeys } from "./tracked-keys.ts";
import { Tracker } from "./tracker.ts";

interface Scene {
  readonly database: Database;
  connect3(line?: string): Speaker;
}

function start(guard?: MemoryGuard): Scene {
  const { connect, store } = startSessions(guard === undefined ? {} : { guard });
  return {
    database: store.database("main"),
    connect3: (line = "CLIENT TRACKING ON") => {
      const speaker = connect();
      speaker.run("HELLO 3");
      speaker.run(line);
      speaker.listen();
      return speaker;
    },
  };
}

/** A client without a connection, which is asked for nothing. */
function newTracker(): Tracker {
  const options = { isBroadcast: false, isOptIn: false, isOptOut: false, isNoLoop: false, redirectTo: 0 };
  const client = {
    id: 1,
    respVersion: 3,
    isSubscribed: false,
    mayKnow: () => true,
    get invalidated(): never {
      throw new Error("the table pushes nothing");
    },
  } as const;
  return new Tracker(client, options);
}

function readAll(speaker: Speaker, keyCount: number): void {
  for (let i = 0; i < keyCount; i += 1) speaker.say("GET", `key:${i}`);
}

test("INFO counts clients that track, keys, pairs of key and client, prefixes and memory", () => {
  const { connect3, database } = start();
  const one = connect3();
  const two = connect3();
  const three = connect3("CLIENT TRACKING ON BCAST PREFIX a PREFIX b");
  one.run("MGET a b");
  two.run("GET a");
  assert.match(JSON.stringify(three.run("INFO clients")), /tracking_clients:3\\r\\n/);
  const stats = JSON.stringify(three.run("INFO stats"));
  assert.match(stats, /tracking_total_keys:2\\r\\ntracking_total_items:3\\r\\ntracking_total_prefixes:2\\r\\n/);
  assert.match(stats, /tracking_total_bytes:[1-9]\d+\\r\\n/);
  three.run("CLIENT TRACKING OFF");
  assert.equal(database.tracking.prefixCount, 0);
});

test("above tracking-table-max-keys a random key is given up, as if it had changed", () => {
  const { connect3, database } = start();
  const one = connect3();
  one.expect([["CONFIG SET tracking-table-max-keys 2", ok]]);
  one.run("MGET a b");
  one.listen();
  const pushes = one.run("MGET c d e").filter(isPushed);
  assert.equal(pushes.length, 3);
  assert.equal(database.tracking.keyCount, 2);
  const given = pushes.map((push) => (push.kind === "invalidate" ? push.keys?.join() : "other"));
  const left = ["a", "b", "c", "d", "e"].filter((key) => !given.includes(key));
  assert.equal(left.length, 2);
  const two = connect3("PING");
  two.run("MSET a 1 b 1 c 1 d 1 e 1");
  assert.deepEqual(
    one.listen(),
    left.map((key) => ({ kind: "invalidate", keys: [key] })),
  );
});

test("tracking-table-max-keys is 1,000,000 until it is set, and cannot be without a limit", () => {
  const one = start().connect3();
  one.run("HELLO 2");
  one.listen();
  assert.match(JSON.stringify(one.run("CONFIG GET tracking-table-max-keys")), /"1000000"/);
  one.expect([
    [
      "CONFIG SET tracking-table-max-keys 0",
      error(
        "ERR CONFIG SET failed (possibly related to argument 'tracking-table-max-keys') - argument must be between 1 and 10000000 inclusive",
      ),
    ],
    ["CONFIG SET tracking-table-max-keys 10000000", ok],
  ]);
  assert.match(JSON.stringify(one.run("CONFIG GET tracking-table-max-keys")), /"10000000"/);
});

test("a lower limit gives up the keys in parts", () => {
  const { connect3, database } = start();
  const one = connect3();
  readAll(one, 250);
  one.run("CONFIG SET tracking-table-max-keys 10");
  assert.equal(database.tracking.keyCount, 150);
  one.run("PING");
  one.run("PING");
  assert.equal(database.tracking.keyCount, 10);
});

test("while the database may take no memory, a key is given up when it is read", () => {
  const guard = new MemoryGuard({ bytesMax: 1_000, readBytes: () => 2_000 });
  const { connect3, database } = start(guard);
  const one = connect3();
  one.run("GET before");
  one.listen();
  database.memory.set(2_000);
  guard.look();
  assert.equal(database.memory.mayGrow, false);
  assert.deepEqual(one.run("GET k").filter(isPushed), [{ kind: "invalidate", keys: ["k"] }]);
  assert.equal(database.tracking.keyCount, 1);
});

test("the memory of the table is counted for the database, and freed with its last client", () => {
  const { connect3, database } = start();
  database.countMemory();
  const before = database.memory.bytes;
  const one = connect3();
  readAll(one, 2_000);
  assert.ok(database.memory.bytes - before > 2_000 * 30, `${database.memory.bytes}`);
  one.session.close();
  assert.equal(database.tracking.keyCount, 0);
  assert.equal(database.memory.bytes, before);
  assert.equal(database.keyspace.onChange, undefined);
});

test("the entries of a client that has gone are removed in steps, and the others stay", () => {
  const { connect3, database } = start();
  const one = connect3();
  const two = connect3();
  readAll(one, 12_000);
  readAll(two, 500);
  one.run("CLIENT TRACKING OFF");
  assert.deepEqual([database.tracking.keyCount, database.tracking.itemCount], [12_000, 12_500]);
  database.sweepExpired();
  assert.ok(database.tracking.keyCount < 3_000);
  database.sweepExpired();
  assert.deepEqual([database.tracking.keyCount, database.tracking.itemCount], [500, 500]);
});

test("clients that go during a sweep are swept too, beside changes of the table", () => {
  const keys = new TrackedKeys(new Uint8Array(8));
  const random = seededRandom(7);
  const gone = [newTracker(), newTracker(), newTracker()];
  const staying = newTracker();
  for (const [index, tracker] of [...gone, staying].entries())
    for (let i = index * 100; i < index * 100 + 300; i += 1) keys.add(`key:${i}`, tracker);
  assert.equal(keys.itemCount, 1_200);
  for (const tracker of gone) {
    tracker.isOpen = false;
    keys.leave();
    keys.sweep(50);
    keys.take(`key:${300 + random.below(100)}`);
    keys.add(`new:${random.below(100)}`, staying);
  }
  while (keys.sweep(50));
  let kept = 0;
  for (let i = 0; i < 600; i += 1) kept += keys.take(`key:${i}`)?.filter((tracker) => tracker === staying).length ?? 0;
  assert.ok(kept >= 297 && kept <= 300);
  assert.equal(keys.itemCount, keys.count);
});

test("a key with many clients gives them in the order of their reads, and loses those that go", () => {
  const keys = new TrackedKeys(new Uint8Array(8));
  const trackers = Array.from({ length: 20 }, newTracker);
  for (const tracker of [...trackers, ...trackers]) {
    keys.add("all", tracker);
    if (trackers.indexOf(tracker) < 8) keys.add("some", tracker);
  }
  assert.equal(keys.itemCount, 28);
  for (const tracker of trackers.slice(3)) tracker.isOpen = false;
  const before = keys.bytes;
  keys.leave();
  assert.equal(keys.sweep(1_000), false);
  assert.equal(keys.itemCount, 6);
  assert.ok(keys.bytes < before - 17 * 8);
  assert.deepEqual(keys.take("all"), trackers.slice(0, 3));
  assert.deepEqual(keys.take("some"), trackers.slice(0, 3));
  assert.deepEqual([keys.itemCount, keys.count, keys.bytes], [0, 0, 0]);
});

test("a read and a change examine as few entries in a large table as in a small one", () => {
  const workOf = (keyCount: number): number => {
    const { connect3, database } = start();
    const one = connect3();
    const two = connect3("PING");
    readAll(one, keyCount);
    const before = database.tracking.work;
    for (let i = 0; i < 500; i += 1) {
      const key = `key:${Math.floor((i * keyCount) / 500)}`;
      two.say("SET", key, "1");
      one.say("GET", key);
    }
    return (database.tracking.work - before) / 500;
  };
  const few = workOf(1_000);
  const many = workOf(32_000);
  assert.ok(few < 12 && many < 12, `${few} and ${many} entries for a change and a read`);
});

test("a change examines the lengths of prefixes, not all prefixes", () => {
  const { connect3, database } = start();
  for (let client = 0; client < 5; client += 1)
    connect3(
      `CLIENT TRACKING ON BCAST ${Array.from({ length: 900 }, (_, i) => `PREFIX ${client}:${1_000 + i}:`).join(" ")}`,
    );
  assert.equal(database.tracking.prefixCount, 4_500);
  assert.equal(database.tracking.prefixLengthCount, 1);
});

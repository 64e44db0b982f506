import assert from "node:assert/strict";
import { test } from "node:test";
import { AssertionFailure } from "../../kernel/assert.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import type { Caller } from "../session/caller.ts";
import { Store } from "../store.ts";
import { openSnapshotCheck, SNAPSHOT_CHECK_SEED_BYTES } from "./snapshot-check.ts";

const caller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };
const clock = new VirtualClock();
const random = seededRandom(1);
const seed = Buffer.from(Array.from({ length: SNAPSHOT_CHECK_SEED_BYTES }, () => random.below(256)));

function check(frames: readonly Buffer[]): void {
  const take = openSnapshotCheck({ clock, random, seed });
  for (const frame of frames) take(frame);
}

/** The frames of a snapshot after these commands. */
function framesAfter(commands: readonly (readonly [database: string, ...words: string[]])[]): Buffer[] {
  const store = new Store({ clock, random, hashSeed: new Uint8Array(8) });
  for (const [name, ...words] of commands) void store.database(name).command(caller, words);
  return Array.from(store.dump(), (frame) => Buffer.from(frame));
}

const everyType: readonly (readonly [string, ...string[]])[] = [
  ["a", "SET", "string", "v"],
  ["a", "SET", "expiring", "v", "EX", "100"],
  ["a", "HSET", "hash", ...Array.from({ length: 9_000 }, (_, i) => [`f${i}`, "v".repeat(50)]).flat()],
  ["a", "HEXPIRE", "hash", "100", "FIELDS", "1", "f1"],
  ["a", "RPUSH", "list", ...Array.from({ length: 9_000 }, (_, i) => `${i}`.repeat(20))],
  ["a", "SADD", "set", ...Array.from({ length: 9_000 }, (_, i) => `${i}`.repeat(20))],
  ["a", "ZADD", "sorted", ...Array.from({ length: 9_000 }, (_, i) => [`${i}`, `${i}`.repeat(20)]).flat()],
  ["a", "XADD", "stream", "1-1", "f", "v".repeat(300_000)],
  ["a", "XGROUP", "CREATE", "stream", "group", "0"],
  ["a", "JSON.SET", "document", "$", `{"a":"${"v".repeat(300_000)}"}`],
  ["a", "SET", "long", "v".repeat(600_000)],
  ["b", "SET", "string", "the key of another database"],
];

test("accepts values of every type, also in several frames, and the same key in two databases", () => {
  const frames = framesAfter(everyType);
  assert.ok(frames.length > 8, `${frames.length} frames`);
  check(frames);
});

test("accepts many keys", () => {
  check(framesAfter(Array.from({ length: 20_000 }, (_, i) => ["a", "SET", `key${i}`, "v".repeat(40)] as const)));
});

test("refuses the first frame that has a key of an earlier one, or a string twice", () => {
  const frames = framesAfter(
    Array.from({ length: 20_000 }, (_, i) => ["a", "SET", `key${i}`, "v".repeat(40)] as const),
  );
  assert.ok(frames.length > 3);
  for (const repeated of frames.slice(1)) {
    assert.doesNotThrow(() => check(frames));
    assert.throws(() => check([...frames, repeated]), AssertionFailure);
  }
  const [created, ...hashes] = framesAfter([
    ["a", "HSET", "first", "f", "v".repeat(300_000)],
    ["a", "HSET", "second", "f", "v".repeat(300_000)],
    ["a", "HSET", "third", "f", "v".repeat(300_000)],
  ]);
  assert.throws(() => check([created as Buffer, ...hashes, hashes[0] as Buffer]), AssertionFailure);
});

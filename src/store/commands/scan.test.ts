/** SCAN: its options, and its guarantee while keys are added and removed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, ok, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import type { Reply } from "../reply/reply.ts";
import { globWork } from "../structures/glob.ts";

const syntax = error("ERR syntax error");
const invalidCursor = error("ERR invalid cursor");

/** Runs a scan to its end and returns all elements, with repetitions. `between` runs between its calls. */
function scanAll(session: Session, words: readonly string[], between?: () => void): string[] {
  const [name = "", ...rest] = words;
  const isKeyScan = name === "SCAN";
  const found: string[] = [];
  let cursor = "0";
  do {
    const line = isKeyScan ? [name, cursor, ...rest] : [name, rest[0] ?? "", cursor, ...rest.slice(1)];
    const [next, elements] = session.call(...line) as [string, string[]];
    assert.match(next, /^\d+$/);
    found.push(...elements);
    cursor = next;
    between?.();
  } while (cursor !== "0");
  return found;
}

function fill(session: Session, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    session.call("SET", `key:${i}`, "v");
    return `key:${i}`;
  });
}

test("SCAN accepts MATCH, COUNT, TYPE and WITHTYPE in any order and case", () => {
  const session = startSession();
  session.run("SET s text");
  session.run("HSET h f v");
  session.expect([
    ["SCAN 0 COUNT 100 MATCH s", ["0", ["s"]]],
    ["SCAN 0 count 100 type HASH", ["0", ["h"]]],
    ["SCAN 0 COUNT 100 TYPE hash WITHTYPE", ["0", ["h", "hash"]]],
    ["SCAN 0 withtype COUNT 100 MATCH [s]", ["0", ["s", "string"]]],
    ["SCAN 0 COUNT 100 TYPE nonsense", ["0", []]],
    ["SCAN 0 COUNT 0", syntax],
    ["SCAN 0 COUNT -5", syntax],
    ["SCAN 0 COUNT x", error("ERR value is not an integer or out of range")],
    ["SCAN 0 COUNT", syntax],
    ["SCAN 0 MATCH", syntax],
    ["SCAN 0 TYPE", syntax],
    ["SCAN 0 NOVALUES", syntax],
    ["SCAN 0 nonsense", syntax],
    ["SCAN x", invalidCursor],
    ["SCAN 0x10", invalidCursor],
    ['SCAN " 0"', invalidCursor],
    ["SCAN -", invalidCursor],
    ['SCAN "0\\x00x" COUNT 100 MATCH none', ["0", []]],
    ["SCAN 18446744073709551616", invalidCursor],
    ["SCAN", error("ERR wrong number of arguments for 'scan' command")],
  ]);
  assert.equal((session.run("SCAN 18446744073709551615") as Reply[]).length, 2);
  assert.equal((session.run("SCAN -1") as Reply[]).length, 2);
});

test("SCAN finds every key exactly once while nothing changes, for any COUNT", () => {
  const session = startSession();
  const keys = fill(session, 1_000).sort();
  for (const count of ["1", "7", "100", "999999999999"])
    assert.deepEqual(scanAll(session, ["SCAN", "COUNT", count]).sort(), keys);
});

test("SCAN with MATCH or TYPE visits a keyspace of 1,000 keys in one call, and larger ones in parts", () => {
  const session = startSession();
  const keys = fill(session, 999);
  session.run("HSET h f v");
  session.expect([
    ["SCAN 0 MATCH h", ["0", ["h"]]],
    ["SCAN 0 MATCH nothing COUNT 1", ["0", []]],
    ["SCAN 0 TYPE hash WITHTYPE", ["0", ["h", "hash"]]],
  ]);
  const [cursor, found] = session.run("SCAN 0 MATCH key:*") as [string, string[]];
  assert.deepEqual([cursor, found.sort()], ["0", keys.sort()]);
  assert.equal((session.run("SCAN 0") as [string, string[]])[1].length < 100, true, "without them COUNT decides");

  session.run("SET one-more v");
  const [next, part] = session.run("SCAN 0 MATCH key:*") as [string, string[]];
  assert.notEqual(next, "0");
  assert.equal(part.length < 100, true, `${part.length} keys`);
  assert.deepEqual(scanAll(session, ["SCAN", "TYPE", "hash"]), ["h"]);
});

test("one SCAN does a bounded amount of work, however large the COUNT", () => {
  const session = startSession();
  fill(session, 30_000);

  const [cursor, elements] = session.run("SCAN 0 COUNT 9223372036854775807") as [string, string[]];

  assert.notEqual(cursor, "0");
  assert.ok(elements.length >= 10_000 && elements.length < 10_100, `${elements.length} elements`);
});

test("SCAN omits and removes expired keys", () => {
  const session = startSession();
  fill(session, 50);
  for (let i = 0; i < 25; i += 1) session.call("PEXPIRE", `key:${i}`, "5");
  session.run("HSET h f v");
  session.run("HPEXPIRE h 5 FIELDS 1 f");
  session.clock.advance(6);

  assert.equal(scanAll(session, ["SCAN"]).length, 25);
  session.expect([["DBSIZE", 25]]);
});

test("A-07: a glob of stars costs SCAN at most pattern times subject", () => {
  const session = startSession();
  session.call("SET", "a".repeat(100), "v");
  const before = globWork.steps;

  session.expect([[`SCAN 0 COUNT 100 MATCH ${"a*".repeat(30)}b`, ["0", []]]]);
  session.expect([[`KEYS ${"a*".repeat(30)}b`, []]]);
  session.expect([["FLUSHALL", ok]]);

  assert.ok(globWork.steps - before <= 2 * 61 * 100, `${globWork.steps - before} steps`);
});

/** Scans during writes: elements that are present from beginning to end must be found. */
function checkGuarantee(
  seed: number,
  target: { scan: string[]; put: (i: number) => void; drop: (i: number) => void },
  session: Session,
): void {
  const random: Random = seededRandom(seed);
  const kept = new Set<string>();
  let present = 400;
  for (let i = 0; i < present; i += 1) target.put(i);
  for (let i = 0; i < 400; i += 5) kept.add(`key:${i}`);
  const growing = random.below(2) === 0;

  const found = new Set(
    scanAll(session, target.scan, () => {
      for (let changes = random.below(60); changes > 0; changes -= 1) {
        if (growing ? random.below(4) > 0 : random.below(8) === 0) {
          if (present > 6_000) continue;
          target.put(present);
          present += 1;
        } else {
          const i = random.below(present);
          if (!kept.has(`key:${i}`)) target.drop(i);
        }
      }
    }),
  );

  for (const key of kept) assert.ok(found.has(key), `seed ${seed}: ${key} was present all the time and was not found`);
}

test("SCAN finds the keys that stay while others are added and removed and the table grows and shrinks", () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const session = startSession();
    checkGuarantee(
      seed,
      {
        scan: ["SCAN", "COUNT", String(1 + (seed % 7))],
        put: (i) => session.call("SET", `key:${i}`, "v"),
        drop: (i) => session.call("DEL", `key:${i}`),
      },
      session,
    );
  }
});

test("SSCAN finds the members that stay while others are added and removed", () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const session = startSession();
    checkGuarantee(
      seed,
      {
        scan: ["SSCAN", "k", "COUNT", String(1 + (seed % 7))],
        put: (i) => session.call("SADD", "k", `key:${i}`),
        drop: (i) => session.call("SREM", "k", `key:${i}`),
      },
      session,
    );
  }
});

test("HSCAN finds the fields that stay while others are added and removed", () => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const session = startSession();
    checkGuarantee(
      seed,
      {
        scan: ["HSCAN", "h", "COUNT", String(1 + (seed % 7)), "NOVALUES"],
        put: (i) => session.call("HSET", "h", `key:${i}`, "v"),
        drop: (i) => session.call("HDEL", "h", `key:${i}`),
      },
      session,
    );
  }
});

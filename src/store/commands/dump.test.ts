/** DUMP and RESTORE, beyond the comparison with a real server: expiries, fields that expire, and journaled records. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { dumpOf } from "../../../test/harness/rdb-layout.ts";
import { contentOf, RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import { error, nil, ok, startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";
import { dumpChecksumWrong } from "../errors.ts";

const SEVEN = '"\\x00\\xc0\\x07\\n\\x00t\\xcdH\\xa2\\x83\\xab\\xce\\x92"';

test("DUMP returns the bytes of Redis, RESTORE accepts them", () => {
  startSession().expect([
    ["DUMP k", nil],
    ["SET k 7", ok],
    ["DUMP k", "\x00\xc0\x07\n\x00t\xcdH\xa2\x83\xab\xce\x92"],
    [`RESTORE k 0 ${SEVEN}`, error("BUSYKEY Target key name already exists.")],
    [`RESTORE copy 0 ${SEVEN}`, ok],
    ["GET copy", "7"],
    ["RESTORE other 0 damaged-beyond-repair", error("ERR DUMP payload version or checksum are wrong")],
    ["RESTORE copy -1 x REPLACE", error("ERR Invalid TTL value, must be >= 0")],
    ["RESTORE copy 0 x REPLACE IDLETIME -1", error("ERR Invalid IDLETIME value, must be >= 0")],
    ["RESTORE copy 0 x REPLACE FREQ 256", error("ERR Invalid FREQ value, must be >= 0 and <= 255")],
    ["RESTORE copy 0 x IDLETIME 1 FREQ 1", error("ERR syntax error")],
    ["RESTORE copy 0 x REPLACE LATER", error("ERR syntax error")],
  ]);
});

test("DUMP writes a number the same after a change in place", () => {
  startSession().expect([
    ["SETRANGE k 0 7", 1],
    ["DUMP k", "\x00\xc0\x07\n\x00t\xcdH\xa2\x83\xab\xce\x92"],
    ["SETBIT bits 2 1", 0],
    ["SETBIT bits 3 1", 0],
    ["SETBIT bits 5 1", 0],
    ["SETBIT bits 6 1", 0],
    ["SETBIT bits 7 1", 0],
    ["DUMP bits", "\x00\xc0\x07\n\x00t\xcdH\xa2\x83\xab\xce\x92"],
  ]);
});

test("RESTORE accepts a relative and an absolute time, and one in the past", () => {
  const session = startSession({ clock: new VirtualClock(1_000_000) });
  session.expect([
    [`RESTORE span 500 ${SEVEN}`, ok],
    ["PEXPIRETIME span", 1_000_500],
    [`RESTORE moment 1000700 ${SEVEN} ABSTTL`, ok],
    ["PTTL moment", 700],
    [`RESTORE far 9223372036854775807 ${SEVEN} ABSTTL`, ok],
    ["PEXPIRETIME far", 281474976710655],
    [`RESTORE span 999999 ${SEVEN} ABSTTL REPLACE`, ok],
    ["EXISTS span", 0],
    [`RESTORE idle 0 ${SEVEN} IDLETIME 100`, ok],
    ["OBJECT IDLETIME idle", 100],
  ]);
});

test("DUMP and RESTORE preserve the expiry times of hash fields", () => {
  const session = startSession({ clock: new VirtualClock(1_000_000) });
  session.expect([
    ["HSET h a 1 b 2 c 3", 3],
    ["HPEXPIRE h 500 FIELDS 1 b", [1]],
    ["HPEXPIRE h 900 FIELDS 1 c", [1]],
  ]);
  const dump = session.call("DUMP", "h");
  assert.ok(typeof dump === "string");
  assert.deepEqual(session.call("RESTORE", "copy", "0", dump), ok);
  session.expect([
    [
      "HGETALL copy",
      {
        kind: "map",
        pairs: [
          ["a", "1"],
          ["b", "2"],
          ["c", "3"],
        ],
      },
    ],
    ["HPEXPIRETIME copy FIELDS 3 a b c", [-1, 1_000_500, 1_000_900]],
  ]);
  session.clock.advance(600);
  session.expect([["HKEYS copy", ["a", "c"]]]);
});

/** Literal bytes as a word of a line of the tests. */
function quoted(hex: string): string {
  return `"${hex.replaceAll(/../g, "\\x$&")}"`;
}

/** Replies of redis-server 8.0.6 and valkey-server 9.1.2 to DUMP: a 1; b 2 at FAR_MS; c 3 at FAR_MS + 5,000. */
const REDIS_8_HASH = quoted(
  "1900d8c32cbb0300002c2c00000009008162020201f400d8c32cbb030000098163020301f488ebc32cbb0300000981610201010001ff0c0007e21ea1af16075d",
);
const VALKEY_9_HASH = quoted(
  "16030161c001ffffffffffffffff0162c00200d8c32cbb0300000163c00388ebc32cbb03000050003a33419a5e9487f9",
);

test("RESTORE accepts hashes of Redis 8 and Valkey 9 whose fields expire, and DUMP keeps its own version", () => {
  const session = startSession({ clock: new VirtualClock(1_000_000) });
  session.expect([
    [`RESTORE redis 0 ${REDIS_8_HASH}`, ok],
    [`RESTORE valkey 0 ${VALKEY_9_HASH}`, ok],
    ["HMGET redis a b c", ["1", "2", "3"]],
    ["HMGET valkey a b c", ["1", "2", "3"]],
    ["HPEXPIRETIME redis FIELDS 3 a b c", [-1, 4_102_444_800_000, 4_102_444_805_000]],
    ["HPEXPIRETIME valkey FIELDS 3 a b c", [-1, 4_102_444_800_000, 4_102_444_805_000]],
    ["HSET small f v", 1],
    ["HSET timed f v", 1],
    ["HPEXPIREAT timed 1002000 FIELDS 1 f", [1]],
  ]);
  // Version 10, and version 12 where the older one has no form.
  const rows = [
    ["small", "040101660176" + "0a00"],
    ["timed", "18104a0f000000000001" + "0101660176" + "0c00"],
  ] as const;
  for (const [key, hex] of rows) {
    const dump = session.call("DUMP", key);
    assert.ok(typeof dump === "string");
    assert.equal(Buffer.from(dump, "latin1").toString("hex", 0, dump.length - 8), hex);
  }
});

test("RESTORE hides fields that have expired, and refuses unsupported dumps by name", () => {
  const session = startSession({ clock: new VirtualClock(4_102_444_800_001) });
  // A vector set of redis-server 8.0.6.
  const vectors =
    "0781bde72da2bb1eb4000202020102500102000502656c05027f000206020102800100000002000220020002813f8000003f800000000c00140cec769d3f6b3b";
  session.expect([
    [`RESTORE h 0 ${VALKEY_9_HASH}`, ok],
    ["HMGET h a b c", ["1", nil, "3"]],
    ["SET k v", ok],
    [
      `RESTORE k 0 ${quoted(vectors)} REPLACE`,
      error("ERR Bad data format: it is a value of the module vectorset, which larder does not have"),
    ],
    [
      `RESTORE k 0 ${quoted(dumpOf(14, [["type 0: w", "00 0177"]]).toString("hex"))} REPLACE`,
      error(
        "ERR DUMP payload version or checksum are wrong: version 14 of the format is unknown, larder reads 1 to 13 (Redis up to 8.6) and 80 (Valkey 9.0 and 9.1)",
      ),
    ],
    ["GET k", "v"],
  ]);
});

test("RESTORE journals the value that it stores", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.expect([
    ["HSET h a 1 b 2", 2],
    ["HPEXPIRE h 500 FIELDS 1 b", [1]],
    ["SET copy old", ok],
  ]);
  const dump = session.call("DUMP", "h");
  assert.ok(typeof dump === "string");
  assert.deepEqual(session.call("RESTORE", "copy", "5000", dump, "REPLACE"), ok);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
  assert.deepEqual(contentOf(restored(session.store.dump())), contentOf(session.store));
});

test("a refused RESTORE changes nothing", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.expect([["SET k v EX 100", ok]]);
  const before = journal.end;
  assert.deepEqual(session.call("RESTORE", "k", "0", "x".repeat(20), "REPLACE"), error(dumpChecksumWrong.text));
  assert.equal(journal.end, before);
});

test("A-03: a read-only token cannot run DUMP", () => {
  const session = startSession();
  assert.deepEqual(
    session.database.command({ ...testCaller, user: readOnlyUser }, ["DUMP", "k"]),
    error("NOPERM this user has no permissions to run the 'dump' command or its subcommand"),
  );
});

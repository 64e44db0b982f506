/** DUMP and RESTORE, beyond the comparison with a real server: expiries, fields that expire, and journaled records. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
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
  assert.deepEqual(contentOf(replayed(session.store.dump())), contentOf(session.store));
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

/** SET's options and its variants: input and literal reply. The clock starts at 2026-01-01. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, nil, ok, startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { set, simple } from "../reply/reply.ts";

const syntax = error("ERR syntax error");
const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const NOW_MS = 1_767_225_600_000;

function invalidExpire(name: string) {
  return error(`ERR invalid expire time in '${name}' command`);
}

function sessionWithHash() {
  const session = startSession();
  session.run("HSET hash field value");
  return session;
}

test("SET replaces a value of any type and removes the expiry", () => {
  sessionWithHash().expect([
    ["SET k v EX 10", ok],
    ["PEXPIRETIME k", NOW_MS + 10_000],
    ["SET k w", ok],
    ["PEXPIRETIME k", -1],
    ["SET hash w", ok],
    ["GET hash", "w"],
    ["SET k", error("ERR wrong number of arguments for 'set' command")],
  ]);
});

test("MSETEX gives all keys the same expiry", () => {
  sessionWithHash().expect([
    ["MSETEX 2 ex:1 val1 ex:2 val2 EX 5", 1],
    ["MGET ex:1 ex:2", ["val1", "val2"]],
    ["PEXPIRETIME ex:1", NOW_MS + 5_000],
    ["PEXPIRETIME ex:2", NOW_MS + 5_000],
    ["MSETEX 2 px:1 val1 px:2 val2 px 5000", 1],
    ["PEXPIRETIME px:2", NOW_MS + 5_000],
    ["MSETEX 1 exat v EXAT 2000000000", 1],
    ["PEXPIRETIME exat", 2_000_000_000_000],
    ["MSETEX 1 pxat v PXAT 2000000000001", 1],
    ["PEXPIRETIME pxat", 2_000_000_000_001],
    // Without an expiry it removes that of each key, as MSET does.
    ["MSETEX 2 ex:1 a hash b", 1],
    ["MGET ex:1 hash", ["a", "b"]],
    ["PEXPIRETIME ex:1", -1],
    ["MSETEX 2 ex:2 c new d KEEPTTL", 1],
    ["MGET ex:2 new", ["c", "d"]],
    ["PEXPIRETIME ex:2", NOW_MS + 5_000],
    ["PEXPIRETIME new", -1],
    ["MSETEX 2 twice a twice b EX 10", 1],
    ["GET twice", "b"],
    ["MSETEX 1 past v EXAT 1", 1],
    ["EXISTS past", 0],
  ]);
});

test("MSETEX writes all keys or none: NX and XX are about all of them", () => {
  sessionWithHash().expect([
    ["SET xx:existing oldval", ok],
    ["MSETEX 2 nx:new val1 nx:new2 val2 NX EX 10", 1],
    ["MSETEX 1 xx:existing newval nx ex 10", 0],
    ["MSETEX 1 xx:nonexist newval xx ex 10", 0],
    ["MSETEX 1 xx:existing newval EX 10 XX", 1],
    ["MGET nx:new xx:existing xx:nonexist", ["val1", "newval", nil]],
    ["MSETEX 2 free a hash b NX", 0],
    ["MSETEX 2 hash a free b XX", 0],
    ["EXISTS free", 0],
    ["HGET hash field", "value"],
    // Names of options may be keys and values.
    ["MSETEX 2 NX EX KEEPTTL XX PX 1000 NX", 1],
    ["MGET NX KEEPTTL", ["EX", "XX"]],
  ]);
});

test("MSETEX refuses bad counts and options, and changes nothing", () => {
  const pairs = error("ERR wrong number of key-value pairs");
  const count = error("ERR invalid numkeys value");
  startSession().expect([
    ["MSETEX 1 k", error("ERR wrong number of arguments for 'msetex' command")],
    ["MSETEX key1 val1 ex 10", count],
    ["MSETEX 0 k v", count],
    ["MSETEX -1 k v", count],
    ["MSETEX 2147483648 k v EX 10", count],
    ["MSETEX 9223372036854775808 k v EX 10", count],
    ["MSETEX 2147483647 k v EX 10", pairs],
    ["MSETEX 2 k v k2", pairs],
    ["MSETEX 1 k v invalid", syntax],
    ["MSETEX 1 k v k2 v2", syntax],
    ["MSETEX 1 k v NX XX", syntax],
    ["MSETEX 1 k v EX", syntax],
    ["MSETEX 1 k v EX 10 PX 5000", syntax],
    ["MSETEX 1 k v EXAT 1735689600 PXAT 1735689600000", syntax],
    ["MSETEX 1 k v KEEPTTL EX 10", syntax],
    ["MSETEX 1 k v GET", syntax],
    ["MSETEX 1 k v EX 0", invalidExpire("msetex")],
    ["MSETEX 1 k v EX x", notInteger],
    ["DBSIZE", 0],
  ]);
});

test("SET NX and XX check whether the key exists", () => {
  sessionWithHash().expect([
    ["SET k v XX", nil],
    ["GET k", nil],
    ["SET k v NX", ok],
    ["SET k w nx", nil],
    ["SET k w xX", ok],
    ["SET k x XX XX", ok],
    ["SET hash w NX", nil],
    ["SET k w NX XX", syntax],
    ["SET k w XX NX", syntax],
    ["GET k", "x"],
  ]);
});

test("SET GET returns the old string, whether or not it writes", () => {
  sessionWithHash().expect([
    ["SET k v GET", nil],
    ["SET k w GET", "v"],
    ["SET k x NX GET", "w"],
    ["GET k", "w"],
    ["SET none v XX GET", nil],
    ["EXISTS none", 0],
    ["SET none v GET NX", nil],
    ["GET none", "v"],
    ["SET hash v GET", wrongType],
    ["SET hash v NX GET", wrongType],
    ["HGET hash field", "value"],
  ]);
});

test("SET accepts a time in four forms", () => {
  startSession().expect([
    ["SET k v EX 10", ok],
    ["PEXPIRETIME k", NOW_MS + 10_000],
    ["SET k v PX 10", ok],
    ["PEXPIRETIME k", NOW_MS + 10],
    ["SET k v EXAT 2000000000", ok],
    ["PEXPIRETIME k", 2_000_000_000_000],
    ["SET k v pxat 2000000000001", ok],
    ["PEXPIRETIME k", 2_000_000_000_001],
    ["SET k v EX 5 EX 20", ok],
    ["PEXPIRETIME k", NOW_MS + 20_000],
    ["SET k w KEEPTTL", ok],
    ["SET k w keepTtl", ok],
    ["PEXPIRETIME k", NOW_MS + 20_000],
    ["SET none w KEEPTTL", ok],
    ["PEXPIRETIME none", -1],
  ]);
});

test("SET refuses times that conflict, are not positive or overflow, and then changes nothing", () => {
  startSession().expect([
    ["SET k v", ok],
    ["SET k w EX 10 PX 10", syntax],
    ["SET k w EX 10 KEEPTTL", syntax],
    ["SET k w KEEPTTL EX 10", syntax],
    ["SET k w EX", syntax],
    ["SET k w PERSIST", syntax],
    ["SET k w what", syntax],
    ["SET k w EX NX", notInteger],
    ["SET k w EX 1.5", notInteger],
    ["SET k w EX 9223372036854775808", notInteger],
    ["SET k w EX 0", invalidExpire("set")],
    ["SET k w PX -1", invalidExpire("set")],
    ["SET k w EX 9223372036854775807", invalidExpire("set")],
    ["SET k w EXAT 9223372036854776", invalidExpire("set")],
    ["SET k w PX 9223372036854775807", invalidExpire("set")],
    ["SET k w GET EX 0", invalidExpire("set")],
    ["GET k", "v"],
    ["PEXPIRETIME k", -1],
  ]);
});

test("an expiry beyond TIME_MS_MAX, in the year 10889, is stored as TIME_MS_MAX", () => {
  startSession().expect([
    ["SET k v EXAT 9223372036854775", ok],
    ["PEXPIRETIME k", 281_474_976_710_655],
    ["SET k v PXAT 9223372036854775807", ok],
    ["PEXPIRETIME k", 281_474_976_710_655],
    ["SET k v EX 281474976710", ok],
    ["PEXPIRETIME k", 281_474_976_710_655],
  ]);
});

test("SET with a time in the past leaves no key", () => {
  startSession().expect([
    ["SET k v PXAT 1", ok],
    ["GET k", nil],
    ["SET k v PXAT 1", ok],
    ["SET k v XX", nil],
    ["SET k v PXAT 1", ok],
    ["SET k v KEEPTTL", ok],
    ["PEXPIRETIME k", -1],
  ]);
});

test("a key exists through the millisecond of its expiry", () => {
  const session = startSession();
  session.run("SET k v PX 100");
  session.clock.advance(100);
  assert.equal(session.run("GET k"), "v");
  session.clock.advance(1);
  assert.equal(session.run("GET k"), null);
});

test("SET IFEQ and IFNE compare the value, IFDEQ and IFDNE its digest", () => {
  sessionWithHash().expect([
    ["SET k hello", ok],
    ["DIGEST k", "9555e8555c62dcfd"],
    ["SET k x IFEQ other", nil],
    ["SET k x IFNE hello", nil],
    ["SET k x IFDEQ 0000000000000000", nil],
    ["SET k x IFDNE 9555E8555C62DCFD", nil],
    ["GET k", "hello"],
    ["SET k hello ifeq hello", ok],
    ["SET k hello IFNE other", ok],
    ["SET k hello IFDEQ 9555E8555c62dcfd", ok],
    ["SET k hello IFDNE zzzzzzzzzzzzzzzz", ok],
    ["SET k x IFEQ hello GET", "hello"],
    ["SET k y GET IFEQ hello", "x"],
    ["SET k z EX 10 IFEQ x", ok],
    ["PEXPIRETIME k", NOW_MS + 10_000],
    ["SET k w IFEQ z KEEPTTL", ok],
    ["PEXPIRETIME k", NOW_MS + 10_000],
    ["GET k", "w"],
  ]);
});

test("SET with a condition on a missing key writes only for the negative ones", () => {
  startSession().expect([
    ["SET a v IFEQ v", nil],
    ["SET b v IFDEQ 9555e8555c62dcfd", nil],
    ["SET c v IFNE v", ok],
    ["SET d v IFDNE 9555e8555c62dcfd", ok],
    ["SET e v IFNE v GET", nil],
    ["SET f v IFDEQ short", nil],
    ["MGET a b c d e f", [nil, nil, "v", "v", "v", nil]],
  ]);
});

test("SET refuses two conditions, a condition on another type and a digest of the wrong length", () => {
  sessionWithHash().expect([
    ["SET k v", ok],
    ["SET k w NX IFEQ v", syntax],
    ["SET k w IFEQ v XX", syntax],
    ["SET k w IFEQ v IFEQ v", syntax],
    ["SET k w IFEQ", syntax],
    ["SET k w IFDEQ 123", error("ERR must be exactly 16 hexadecimal characters")],
    ["SET hash w IFEQ v", wrongType],
    ["SET hash w IFDNE 0000000000000000", wrongType],
    ["GET k", "v"],
    ["HGET hash field", "value"],
  ]);
});

test("SETEX and PSETEX accept the time before the value", () => {
  sessionWithHash().expect([
    ["SETEX k 10 v", ok],
    ["PEXPIRETIME k", NOW_MS + 10_000],
    ["PSETEX hash 10 v", ok],
    ["PEXPIRETIME hash", NOW_MS + 10],
    ["SETEX k 0 w", invalidExpire("setex")],
    ["PSETEX k -5 w", invalidExpire("psetex")],
    ["PSETEX k 9223372036854775807 w", invalidExpire("psetex")],
    ["SETEX k a w", notInteger],
    ["GET k", "v"],
    ["SETEX k 10", error("ERR wrong number of arguments for 'setex' command")],
  ]);
});

test("SETNX stores only if the key does not exist", () => {
  sessionWithHash().expect([
    ["SETNX k v", 1],
    ["SETNX k w", 0],
    ["SETNX hash w", 0],
    ["GET k", "v"],
    ["SET k v PXAT 1", ok],
    ["SETNX k w", 1],
    ["PEXPIRETIME k", -1],
  ]);
});

test("GETEX sets or removes the expiry of the key that it reads", () => {
  sessionWithHash().expect([
    ["GETEX none EX 10", nil],
    ["SET k v", ok],
    ["GETEX k", "v"],
    ["PEXPIRETIME k", -1],
    ["GETEX k EX 10", "v"],
    ["PEXPIRETIME k", NOW_MS + 10_000],
    ["GETEX k pxat 2000000000000", "v"],
    ["PEXPIRETIME k", 2_000_000_000_000],
    ["GETEX k", "v"],
    ["PEXPIRETIME k", 2_000_000_000_000],
    ["GETEX k PERSIST PERSIST", "v"],
    ["PEXPIRETIME k", -1],
    ["GETEX k EXAT 1", "v"],
    ["EXISTS k", 0],
    ["GETEX hash EX 10", wrongType],
  ]);
});

test("GETEX checks its options first, its time only if the string exists", () => {
  sessionWithHash().expect([
    ["SET k v", ok],
    ["GETEX k EX 10 PERSIST", syntax],
    ["GETEX k PERSIST EX 10", syntax],
    ["GETEX k EX 10 PX 10", syntax],
    ["GETEX k KEEPTTL", syntax],
    ["GETEX k EX", syntax],
    ["GETEX none EX", syntax],
    ["GETEX none EX 0", nil],
    ["GETEX none EX a", nil],
    ["GETEX hash EX a", wrongType],
    ["GETEX k EX 0", invalidExpire("getex")],
    ["GETEX k EX a", notInteger],
    ["GETEX k PX 9223372036854775807", invalidExpire("getex")],
    ["PEXPIRETIME k", -1],
  ]);
});

test("DELIFEQ removes a key if its string is the given one", () => {
  sessionWithHash().expect([
    ["SET mykey abc123", ok],
    ["DELIFEQ mykey abc123", 1],
    ["DELIFEQ mykey abc123", 0],
    ["SET mykey xyz789", ok],
    ["DELIFEQ mykey abc123", 0],
    ["GET mykey", "xyz789"],
    ["SET number 42", ok],
    ["DELIFEQ number 42.0", 0],
    ["DELIFEQ number 42", 1],
    ["DELIFEQ hash value", wrongType],
    ["DELIFEQ mykey", error("ERR wrong number of arguments for 'delifeq' command")],
    ["COMMAND GETKEYSANDFLAGS delifeq k v", [["k", set([simple("RW"), simple("access"), simple("delete")])]]],
  ]);
});

test("DELEX removes a key, or a string that meets a condition", () => {
  sessionWithHash().expect([
    ["DELEX none", 0],
    ["DELEX none IFEQ v", 0],
    ["DELEX none IFNE v", 0],
    ["DELEX none what v", 0],
    ["SET k hello", ok],
    ["DELEX k IFEQ other", 0],
    ["DELEX k IFNE hello", 0],
    ["DELEX k IFDEQ 0000000000000000", 0],
    ["DELEX k IFDNE 9555e8555c62dcfd", 0],
    ["DELEX k ifdeq 9555E8555C62DCFD", 1],
    ["EXISTS k", 0],
    ["SET k hello", ok],
    ["DELEX k IFEQ hello", 1],
    ["SET k hello", ok],
    ["DELEX k IFNE other", 1],
    ["SET k hello", ok],
    ["DELEX k IFDNE zzzzzzzzzzzzzzzz", 1],
    ["DELEX hash IFEQ v", error("ERR Key should be of string type if conditions are specified")],
    ["DELEX hash", 1],
  ]);
});

test("DELEX refuses other options, an incomplete condition and a digest of the wrong length", () => {
  startSession().expect([
    ["SET k v", ok],
    ["DELEX k what v", error("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")],
    ["DELEX k IFDEQ 123", error("ERR must be exactly 16 hexadecimal characters")],
    ["DELEX k IFEQ", error("ERR wrong number of arguments for 'delex' command")],
    ["DELEX k IFEQ v x", error("ERR wrong number of arguments for 'delex' command")],
    ["GET k", "v"],
  ]);
});

test("DIGEST is XXH3 in 16 hex digits", () => {
  const session = sessionWithHash();
  session.expect([
    ["DIGEST none", nil],
    ['SET k ""', ok],
    ["DIGEST k", "2d06800538d394c2"],
    ["SET k 123", ok],
    ["DIGEST k", "404a763b3f4c8c9a"],
    ["SET k v8", ok],
    ["DIGEST k", "0cc76dbb41381419"],
    ["DIGEST hash", wrongType],
    ["DIGEST", error("ERR wrong number of arguments for 'digest' command")],
  ]);
  session.call("SET", "long", "x".repeat(10_000));
  assert.equal(session.run("DIGEST long"), session.run("DIGEST long"));
  session.call("APPEND", "short", "v8");
  assert.equal(session.run("DIGEST short"), "0cc76dbb41381419");
});

test("a replay of long strings that replace each other has their contents, expiries and memory", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  const v = "v".repeat(5_000);
  const w = "w".repeat(5_000);
  for (const [key, ...commands] of [
    ["same", ["SET", v], ["SET", w]],
    ["expiring", ["SET", v, "EX", "100"], ["SET", w]],
    ["kept", ["SET", v, "EX", "100"], ["SET", w, "KEEPTTL"], ["SET", v, "KEEPTTL"]],
    ["read", ["SET", v], ["GET"], ["SET", w]],
    ["longer", ["SET", v], ["SET", `${w}w`]],
    ["grown", ["SET", v], ["APPEND", w], ["SET", v + w], ["SET", "x".repeat(20_000)], ["SET", "y".repeat(20_000)]],
    ["copied", ["SET", v], ["COPY", "copy"], ["SET", w]],
    ["short", ["SET", "v"], ["SET", v], ["SET", "w"]],
    ["hash", ["HSET", "f", v], ["SET", v], ["SET", w]],
  ] as [string, ...string[][]][])
    for (const [name = "", ...rest] of commands) session.call(name, key, ...rest);

  const again = replayed(journal.frames, session.clock);

  assert.deepEqual(contentOf(again), contentOf(session.store));
  assert.equal(again.database("main").keyspace.usedBytes, session.database.keyspace.usedBytes);
  assert.deepEqual(again.database("main").execute(testCaller, ["GET", "copy"]), Buffer.from(v));
  assert.deepEqual(again.database("main").execute(testCaller, ["TTL", "expiring"]), -1);
  assert.deepEqual(again.database("main").execute(testCaller, ["TTL", "kept"]), 100);
});

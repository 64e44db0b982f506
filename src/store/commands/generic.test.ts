/** The commands on keys: input and literal reply. Redis 7.0.15 gives the same replies, except where noted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { error, nil, ok, startSession } from "../../../test/harness/store-harness.ts";
import { map, type Reply, simple } from "../reply/reply.ts";

const notInteger = error("ERR value is not an integer or out of range");
const syntax = error("ERR syntax error");
const noSuchKey = error("ERR no such key");

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

/** A string at `s`, a hash at `h`. */
function sessionWithKeys() {
  const session = startSession();
  session.run("SET s text");
  session.run("HSET h f v");
  return session;
}

test("COPY copies value and expiry, and replaces only with REPLACE", () => {
  sessionWithKeys().expect([
    ["COPY s t", 1],
    ["GET t", "text"],
    ["COPY s h", 0],
    ["TYPE h", simple("hash")],
    ["PEXPIREAT s 2000000000000", 1],
    ["COPY s h replace", 1],
    ["GET h", "text"],
    ["PEXPIRETIME h", 2_000_000_000_000],
    ["PEXPIRETIME t", -1],
    ["COPY t h DB 0 REPLACE", 1],
    ["PEXPIRETIME h", -1],
    ["COPY none t", 0],
    ["COPY none s REPLACE", 0],
    ["GET s", "text"],
    ["COPY s t DB 1", error("ERR DB index is out of range")],
    ["COPY s t DB x", notInteger],
    ["COPY s t DB", syntax],
    ["COPY s t nonsense", syntax],
    ["COPY s", arity("copy")],
  ]);
});

test("COPY onto the same key copies nothing, whereas Redis returns an error", () => {
  sessionWithKeys().expect([
    ["COPY s s", 0],
    ["COPY s s REPLACE", 0],
    ["GET s", "text"],
  ]);
});

test("a copy shares nothing with its original", () => {
  const session = sessionWithKeys();
  session.call("SET", "long", "x".repeat(10_000));
  session.expect([
    ["COPY h g", 1],
    ["HSET g f changed", 0],
    ["HGETALL h", map([["f", "v"]])],
    ["COPY long also", 1],
    ["SETRANGE also 0 changed", 10_000],
    ["GETRANGE long 0 6", "xxxxxxx"],
  ]);
});

test("DEL and UNLINK remove keys and count them; UNLINK works without keys", () => {
  sessionWithKeys().expect([
    ["DEL s s none", 1],
    ["EXISTS s h", 1],
    ["UNLINK h none", 1],
    ["DBSIZE", 0],
    ["UNLINK", 0],
    ["DEL", arity("del")],
  ]);
});

test("EXISTS and TOUCH count each key as often as it is named", () => {
  sessionWithKeys().expect([
    ["EXISTS s s h none", 3],
    ["TOUCH s s h none", 3],
    ["EXISTS none", 0],
    ["TOUCH none", 0],
    ["EXISTS", arity("exists")],
    ["TOUCH", arity("touch")],
  ]);
});

test("KEYS returns the keys that match", () => {
  sessionWithKeys().expect([
    ["KEYS *", ["s", "h"]],
    ["KEYS [g-i]", ["h"]],
    ["KEYS none", []],
    ['SET "" empty', ok],
    ["KEYS *", ["s", "h", ""]],
    ["KEYS **", ["s", "h"]],
    ["KEYS", arity("keys")],
    ["KEYS a b", arity("keys")],
  ]);
});

test("KEYS omits and removes expired keys", () => {
  const session = sessionWithKeys();
  session.run("PEXPIRE s 5");
  session.run("HPEXPIRE h 5 FIELDS 1 f");
  session.run("SET t 1");
  session.clock.advance(6);

  session.expect([
    ["DBSIZE", 3],
    ["KEYS *", ["t"]],
    ["DBSIZE", 1],
  ]);
});

test("A-15: KEYS refuses to build a reply beyond its budget", () => {
  const session = startSession();
  const long = "k".repeat(1024 * 1024);
  for (let i = 0; i < 130; i += 1) session.call("SET", long + i, "");

  session.expect([
    ["KEYS *", error("ERR reply exceeds the maximum allowed size")],
    ["KEYS none*", []],
  ]);
});

test("RANDOMKEY returns an existing key, and eventually every key", () => {
  const session = startSession();
  assert.equal(session.run("RANDOMKEY"), null);
  for (let i = 0; i < 8; i += 1) session.call("SET", `k${i}`, "v");

  const seen = new Set<Reply>();
  for (let i = 0; i < 200; i += 1) seen.add(session.run("RANDOMKEY"));

  assert.deepEqual([...seen].sort(), ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"]);
  session.expect([["RANDOMKEY x", arity("randomkey")]]);
});

test("RANDOMKEY finds the one live key among many expired ones", () => {
  const session = startSession();
  for (let i = 0; i < 3_000; i += 1) session.call("SET", `k${i}`, "v", "PX", "5");
  session.run("SET alive v");
  session.clock.advance(6);

  assert.equal(session.run("RANDOMKEY"), "alive");
});

test("RANDOMKEY ends if all keys are expired and none may be removed", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  for (let i = 0; i < 3_000; i += 1) session.call("SET", `k${i}`, "v", "PX", "5");
  session.clock.advance(6);
  journal.refusal = "No space left on device";

  assert.equal(session.run("RANDOMKEY"), null);
  assert.equal(session.run("DBSIZE"), 3_000);
  journal.refusal = undefined;
  session.run("SET alive v");
  journal.refusal = "No space left on device";
  assert.equal(session.run("RANDOMKEY"), "alive");
});

test("RENAME moves value and expiry and replaces the target", () => {
  sessionWithKeys().expect([
    ["PEXPIREAT s 2000000000000", 1],
    ["RENAME s h", ok],
    ["EXISTS s", 0],
    ["GET h", "text"],
    ["PEXPIRETIME h", 2_000_000_000_000],
    ["RENAME h h", ok],
    ["GET h", "text"],
    ["SET plain v", ok],
    ["RENAME plain h", ok],
    ["PEXPIRETIME h", -1],
    ["RENAME none h", noSuchKey],
    ["RENAME none none", noSuchKey],
    ["RENAME h", arity("rename")],
  ]);
});

test("RENAMENX refuses an existing target", () => {
  sessionWithKeys().expect([
    ["RENAMENX s h", 0],
    ["RENAMENX s s", 0],
    ["RENAMENX s t", 1],
    ["GET t", "text"],
    ["RENAMENX none t", noSuchKey],
    ["RENAMENX none none", noSuchKey],
    ["RENAMENX s", arity("renamenx")],
  ]);
});

test("RENAMENX accepts a target that is expired", () => {
  const session = sessionWithKeys();
  session.run("PEXPIRE h 5");
  session.clock.advance(6);

  session.expect([
    ["RENAMENX s h", 1],
    ["GET h", "text"],
    ["TTL h", -1],
  ]);
});

test("TYPE returns the type", () => {
  sessionWithKeys().expect([
    ["TYPE s", simple("string")],
    ["TYPE h", simple("hash")],
    ["TYPE none", simple("none")],
    ["TYPE", arity("type")],
  ]);
});

test("WAIT returns 0 replicas at once", () => {
  startSession().expect([
    ["WAIT 0 0", 0],
    ["WAIT 5 1000", 0],
    ["WAIT x 0", notInteger],
    ["WAIT 0 x", error("ERR timeout is not an integer or out of range")],
    ["WAIT 0 -1", error("ERR timeout is negative")],
    ["WAIT 0", arity("wait")],
  ]);
});

test("WAITAOF reports whether all writes are on disk", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.run("SET k v");
  session.expect([
    ["WAITAOF 1 0 0", [1, 0]],
    ["WAITAOF 0 5 100", [1, 0]],
    ["WAITAOF 2 0 0", error("ERR value is out of range, value must between 0 and 1")],
    ["WAITAOF 1 -1 0", error("ERR value is out of range, must be positive")],
    ["WAITAOF 1 0 x", error("ERR timeout is not an integer or out of range")],
    ["WAITAOF 1 0", arity("waitaof")],
  ]);
  journal.unsyncedCount = 1;
  session.expect([["WAITAOF 1 0 0", [0, 0]]]);

  startSession().expect([
    ["WAITAOF 0 0 0", [0, 0]],
    ["WAITAOF 1 0 0", error("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.")],
  ]);
});

test("OBJECT describes how a value is stored, and does not count as a use", () => {
  const session = sessionWithKeys();
  session.run("SET number 12345");
  session.call("SET", "long", "x".repeat(45));
  session.expect([
    ["OBJECT ENCODING s", "embstr"],
    ["OBJECT ENCODING number", "int"],
    ["OBJECT ENCODING long", "raw"],
    ["OBJECT ENCODING h", "listpack"],
    ["object encoding none", nil],
    ["OBJECT REFCOUNT h", 1],
    ["OBJECT REFCOUNT none", nil],
    [
      "OBJECT FREQ h",
      error(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.",
      ),
    ],
    ["OBJECT FREQ none", nil],
    ["OBJECT IDLETIME none", nil],
    ["OBJECT nonsense h", error("ERR unknown subcommand 'nonsense'. Try OBJECT HELP.")],
    ["OBJECT", arity("object")],
    ["OBJECT ENCODING", arity("object|encoding")],
    ["OBJECT FREQ", arity("object|freq")],
    ["OBJECT IDLETIME", arity("object|idletime")],
    ["OBJECT REFCOUNT", arity("object|refcount")],
    ["OBJECT HELP h", arity("object|help")],
  ]);
  assert.deepEqual(
    (session.run("OBJECT HELP") as Reply[])[0],
    simple("OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"),
  );
});

test("OBJECT IDLETIME counts seconds since a key was written, read or touched; OBJECT does not count", () => {
  const session = sessionWithKeys();
  session.expect([["OBJECT IDLETIME s", 0]]);
  session.clock.advance(5_000);
  session.expect([
    ["TTL s", -1],
    ["TYPE s", simple("string")],
    ["EXISTS s", 1],
    ["OBJECT ENCODING s", "embstr"],
    ["OBJECT IDLETIME s", 5],
    ["TOUCH s", 1],
    ["OBJECT IDLETIME s", 0],
    ["OBJECT IDLETIME h", 5],
    ["HSET h f w", 0],
    ["OBJECT IDLETIME h", 0],
  ]);
  session.clock.advance(3_000);
  session.expect([
    ["GET s", "text"],
    ["OBJECT IDLETIME s", 0],
    ["RENAME h g", ok],
    ["SET s new", ok],
    ["OBJECT IDLETIME s", 0],
  ]);
});

/** The string commands: input and literal reply. Redis 7.0.15 gives the same replies. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { error, nil, ok, startSession } from "../../../test/harness/store-harness.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import { map } from "../reply/reply.ts";
import { LargeString } from "../structures/large-string.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const tooLong = error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

function arity(name: string) {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

/** A hash at the key `hash`, for commands that require a string. */
function sessionWithHash() {
  const session = startSession();
  session.run("HSET hash field value");
  return session;
}

test("GET returns the string, nil for a missing key, an error for another type", () => {
  sessionWithHash().expect([
    ["GET k", nil],
    ["SET k v", ok],
    ["get k", "v"],
    ['SET k ""', ok],
    ["GET k", ""],
    ['SET k "\\x00\\xff\\r\\n"', ok],
    ["GET k", "\x00\xff\r\n"],
    ["GET hash", wrongType],
    ["GET", arity("get")],
    ["GET a b", arity("get")],
  ]);
});

test("names that are properties of every object are ordinary keys", () => {
  const session = startSession();
  for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", ""]) {
    assert.equal(session.call("GET", name), null);
    assert.equal(session.call("SETNX", name, name), 1);
    assert.equal(session.call("GET", name), name);
  }
});

test("APPEND creates a string or extends one, and preserves its expiry", () => {
  sessionWithHash().expect([
    ["APPEND k abc", 3],
    ["APPEND k def", 6],
    ['APPEND k ""', 6],
    ["GET k", "abcdef"],
    ['APPEND none ""', 0],
    ["GET none", ""],
    ["SET t v PXAT 2000000000000", ok],
    ["APPEND t w", 2],
    ["PEXPIRETIME t", 2_000_000_000_000],
    ["APPEND hash v", wrongType],
    ["APPEND k", arity("append")],
  ]);
});

test("STRLEN returns the number of bytes", () => {
  sessionWithHash().expect([
    ["STRLEN k", 0],
    ['SET k "\\xc3\\xa9"', ok],
    ["STRLEN k", 2],
    ["STRLEN hash", wrongType],
    ["STRLEN", arity("strlen")],
  ]);
});

test("GETRANGE and SUBSTR return the bytes between two offsets, both included", () => {
  sessionWithHash().expect([
    ["SET k Hello", ok],
    ["GETRANGE k 0 -1", "Hello"],
    ["GETRANGE k 1 3", "ell"],
    ["SUBSTR k -3 -1", "llo"],
    ["GETRANGE k 3 1", ""],
    ["GETRANGE k 4 99", "o"],
    ["GETRANGE k 5 99", ""],
    ["GETRANGE k -99 0", "H"],
    ["GETRANGE k 0 -99", "H"],
    ["GETRANGE k -99 -99", "H"],
    ["GETRANGE k -1 -2", ""],
    ["GETRANGE k -9223372036854775807 -9223372036854775808", ""],
    ["GETRANGE k -9223372036854775808 9223372036854775807", "Hello"],
    ['SET empty ""', ok],
    ["GETRANGE empty 0 -1", ""],
    ["GETRANGE none 0 -1", ""],
    ["GETRANGE k a 1", notInteger],
    ["GETRANGE k 1 9223372036854775808", notInteger],
    ["GETRANGE hash x 1", notInteger],
    ["GETRANGE hash 0 1", wrongType],
    ["GETRANGE k 1", arity("getrange")],
    ["SUBSTR k 1", arity("substr")],
  ]);
});

test("SETRANGE overwrites from an offset on and fills a gap with zeros", () => {
  sessionWithHash().expect([
    ['SETRANGE none 0 ""', 0],
    ['SETRANGE none 5 ""', 0],
    ["EXISTS none", 0],
    ["SET k HelloWorld", ok],
    ["SETRANGE k 5 -redis-", 12],
    ["GET k", "Hello-redis-"],
    ["SETRANGE k 0 J", 12],
    ['SETRANGE k 99 ""', 12],
    ["GET k", "Jello-redis-"],
    ["SETRANGE gap 2 ab", 4],
    ["GET gap", "\x00\x00ab"],
    ["SET t v PXAT 2000000000000", ok],
    ["SETRANGE t 0 w", 1],
    ["PEXPIRETIME t", 2_000_000_000_000],
    ["SETRANGE k -1 a", error("ERR offset is out of range")],
    ["SETRANGE hash -1 a", error("ERR offset is out of range")],
    ["SETRANGE k a a", notInteger],
    ["SETRANGE hash 0 a", wrongType],
    ['SETRANGE hash 0 ""', wrongType],
    ["SETRANGE k 0", arity("setrange")],
  ]);
});

test("a string has at most 512 MB", () => {
  const session = startSession();
  session.expect([
    ["SETRANGE k 536870912 a", tooLong],
    ["SETRANGE k 536870911 ab", tooLong],
    ["SETRANGE k 9223372036854775807 a", tooLong],
    ["EXISTS k", 0],
    ["APPEND k a", 1],
    ["APPEND k a", 2],
  ]);
  // As if it already had that many bytes.
  Object.defineProperty(session.database.keyspace.peek("k"), "length", { value: 536_870_912 });
  session.expect([
    ["APPEND k a", tooLong],
    ["SETRANGE k 536870911 ab", tooLong],
  ]);
});

test("GETDEL and GETSET return the old string", () => {
  sessionWithHash().expect([
    ["GETDEL k", nil],
    ["GETSET k 1", nil],
    ["GETSET k 2", "1"],
    ["GETDEL k", "2"],
    ["EXISTS k", 0],
    ["SET t v PXAT 2000000000000", ok],
    ["GETSET t w", "v"],
    ["PEXPIRETIME t", -1],
    ["GETSET hash v", wrongType],
    ["GETDEL hash", wrongType],
    ["HGET hash field", "value"],
    ["GETDEL", arity("getdel")],
    ["GETSET k", arity("getset")],
  ]);
});

test("MGET returns nil for missing keys and other types", () => {
  sessionWithHash().expect([
    ["MSET a 1 b 2", ok],
    ["MGET a none hash b a", ["1", nil, nil, "2", "1"]],
    ["MGET", arity("mget")],
  ]);
});

test("MSET and MSETNX store several strings; for a repeated key the last one counts", () => {
  sessionWithHash().expect([
    ["MSET a 1 b 2 a 3 hash 4", ok],
    ["MGET a b hash", ["3", "2", "4"]],
    ["MSETNX c 1 b 5", 0],
    ["MGET c b", [nil, "2"]],
    ["MSETNX c 1 c 2 d 3", 1],
    ["MGET c d", ["2", "3"]],
    ["SET t v PXAT 2000000000000", ok],
    ["MSET t w", ok],
    ["PEXPIRETIME t", -1],
    ["MSET a", arity("mset")],
    ["MSET a 1 b", arity("mset")],
    ["MSETNX a 1 b", arity("msetnx")],
  ]);
});

test("the reply for a long string is a copy that later changes do not affect", () => {
  const session = startSession();
  const long = "x".repeat(10_000);
  session.call("SET", "k", long);
  const before = session.database.command({ user: defaultUser, transport: "http", address: "" }, ["GET", "k"]);
  session.run("SETRANGE k 0 y");
  assert.ok(Buffer.isBuffer(before));
  assert.equal(before.latin1Slice(), long);
  assert.equal(session.run("GETRANGE k 0 1"), "yx");
  assert.equal(session.call("GETRANGE", "k", "0", "8000"), `y${"x".repeat(8_000)}`);
});

test("no command sees an expired string", () => {
  const session = startSession();
  const lines = ["GET k", "STRLEN k", "GETRANGE k 0 -1", "GETDEL k", "GETEX k", "MGET k", "APPEND k b", "INCR k"];
  const replies = lines.map((line) => {
    session.run("SET k 5 PX 100");
    session.clock.advance(101);
    return session.run(line);
  });
  assert.deepEqual(replies, [nil, 0, "", nil, nil, [nil], 1, 1]);
});

test("LCS returns the longest common subsequence, its length, or its positions", () => {
  sessionWithHash().expect([
    ["MSET a ohmytext b mynewtext", ok],
    ["LCS a b", "mytext"],
    ["LCS a b LEN", 6],
    [
      "LCS a b IDX",
      map([
        [
          "matches",
          [
            [
              [4, 7],
              [5, 8],
            ],
            [
              [2, 3],
              [0, 1],
            ],
          ],
        ],
        ["len", 6],
      ]),
    ],
    [
      "LCS a b idx MinMatchLen 4 WithMatchLen",
      map([
        ["matches", [[[4, 7], [5, 8], 4]]],
        ["len", 6],
      ]),
    ],
    [
      "LCS a b MINMATCHLEN -9223372036854775808 IDX MINMATCHLEN 5",
      map([
        ["matches", []],
        ["len", 6],
      ]),
    ],
    ["LCS a none", ""],
    ["LCS none none LEN", 0],
    ["LCS a b WITHMATCHLEN", "mytext"],
    ["LCS a b LEN IDX", error("ERR If you want both the length and indexes, please just use IDX.")],
    ["LCS a b what", error("ERR syntax error")],
    ["LCS a b MINMATCHLEN", error("ERR syntax error")],
    ["LCS a b MINMATCHLEN x", notInteger],
    ["LCS a hash what", error("ERR The specified keys must contain string values")],
    ["LCS a", arity("lcs")],
  ]);
});

test("LCS refuses strings whose product of lengths is too large", () => {
  const session = startSession();
  session.call("SET", "a", "x".repeat(11_585));
  assert.deepEqual(
    session.run("LCS a a LEN"),
    error("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"),
  );
});

test("the work of APPEND, GETRANGE and SETRANGE grows with their arguments, not with the string", () => {
  const frameBytes: number[] = [];
  const journal = new NullJournal();
  const session = startSession({
    journal: Object.assign(journal, { append: (frame: Uint8Array) => frameBytes.push(frame.length) }),
  });
  for (const [count, copiesMax, patchFrameBytes] of [
    [1_000, 5, 10],
    [10_000, 9, 10],
    [100_000, 12, 11],
  ] as const) {
    session.run("DEL k");
    const capacities = new Set<number>();
    for (let i = 0; i < count; i += 1) {
      session.call("APPEND", "k", "x");
      const value = session.database.keyspace.peek("k");
      if (value instanceof LargeString) capacities.add(value.memoryBytes);
    }
    assert.equal(session.run("STRLEN k"), count);
    // Each larger buffer is a copy of the whole.
    assert.ok(capacities.size <= copiesMax, `${capacities.size} copies for ${count} appended bytes`);

    frameBytes.length = 0;
    session.call("SETRANGE", "k", `${count - 3}`, "abc");
    assert.deepEqual(frameBytes, [patchFrameBytes]);

    const whole = mock.method(LargeString.prototype, "toBytes");
    assert.equal(session.run("GETRANGE k -3 -1"), "abc");
    assert.equal(whole.mock.callCount(), 0);
    whole.mock.restore();
  }
});

test("A-15: refuses a value that no reply can contain before changing it", () => {
  const tooLarge = error("ERR reply exceeds the maximum allowed size");
  startSession().expect([
    ["SETRANGE k 268435456 x", 268_435_457],
    ["GET k", tooLarge],
    ["GETRANGE k 0 -1", tooLarge],
    ["SUBSTR k 0 -1", tooLarge],
    ["MGET k", tooLarge],
    ["GETDEL k", tooLarge],
    ["GETSET k v", tooLarge],
    ["SET k v GET", tooLarge],
    ["GETEX k PXAT 1", tooLarge],
    ["STRLEN k", 268_435_457],
    ["GETRANGE k -2 -1", "\x00x"],
    ["RPUSH l k", 1],
    ["SORT l BY nosort GET *", tooLarge],
    ["SORT l BY *", tooLarge],
    ["DEL k", 1],
  ]);
});

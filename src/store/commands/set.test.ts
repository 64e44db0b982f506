/** The set commands: input and literal reply. Redis 7.0.15 gives the same replies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, nil, ok, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { type Reply, set } from "../reply/reply.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const outOfRange = error("ERR value is out of range, must be positive");
const syntax = error("ERR syntax error");
const tooLarge = error("ERR reply exceeds the maximum allowed size");
const invalidCursor = error("ERR invalid cursor");

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

/** Members a, b, c at the key `k`, the numbers 1 to 4 at `n`, and a string at `s`. */
function sessionWithSets(options?: { journal: RecordingJournal }): Session {
  const session = startSession(options);
  session.run("SADD k a b c");
  session.run("SADD n 3 1 4 2");
  session.run("SET s text");
  return session;
}

test("SADD counts the new members, and creates the set", () => {
  sessionWithSets().expect([
    ["SADD k a d d", 1],
    ["SADD k a b", 0],
    ["SMEMBERS k", set(["a", "b", "c", "d"])],
    ["SADD fresh x", 1],
    ["TYPE fresh", { kind: "simple", text: "set" }],
    ['SADD fresh "" "\\x00\\xff"', 2],
    ["SCARD fresh", 3],
    ["SADD s x", wrongType],
    ["SADD k", arity("sadd")],
  ]);
});

test("SREM counts the removed members, and the key goes with its last member", () => {
  sessionWithSets().expect([
    ["SREM k a a none", 1],
    ["SREM n 03", 0],
    ["SREM n 3 x", 1],
    ["SMEMBERS n", set(["1", "2", "4"])],
    ["SREM k b c a", 2],
    ["EXISTS k", 0],
    ["SREM k a", 0],
    ["SREM s a", wrongType],
    ["SREM k", arity("srem")],
  ]);
});

test("SCARD, SISMEMBER and SMISMEMBER", () => {
  sessionWithSets().expect([
    ["SCARD k", 3],
    ["SCARD none", 0],
    ["SCARD s", wrongType],
    ["SCARD", arity("scard")],
    ["SISMEMBER k a", 1],
    ["SISMEMBER k z", 0],
    ["SISMEMBER n 4", 1],
    ["SISMEMBER n 4.0", 0],
    ["SISMEMBER none a", 0],
    ["SISMEMBER s a", wrongType],
    ["SISMEMBER k", arity("sismember")],
    ["SMISMEMBER k a z a", [1, 0, 1]],
    ["SMISMEMBER none a b", [0, 0]],
    ["SMISMEMBER s a", wrongType],
    ["SMISMEMBER k", arity("smismember")],
  ]);
});

test("SMEMBERS returns integers in order and other members in the order of insertion", () => {
  sessionWithSets().expect([
    ["SMEMBERS k", set(["a", "b", "c"])],
    ["SMEMBERS n", set(["1", "2", "3", "4"])],
    ["SMEMBERS none", set([])],
    ["SMEMBERS s", wrongType],
    ["SMEMBERS k k", arity("smembers")],
  ]);
});

test("SMOVE moves a member from one set to another", () => {
  sessionWithSets().expect([
    ["SMOVE k n a", 1],
    ["SISMEMBER k a", 0],
    ["SISMEMBER n a", 1],
    ["SMOVE k n z", 0],
    ["SMOVE k n b", 1],
    ["SMOVE k fresh c", 1],
    ["EXISTS k", 0],
    ["SMEMBERS fresh", set(["c"])],
    ["SMOVE fresh fresh c", 1],
    ["SMOVE fresh fresh z", 0],
    ["SMOVE none s a", 0],
    ["SMOVE s fresh a", wrongType],
    ["SMOVE fresh s z", wrongType],
    ["SMEMBERS fresh", set(["c"])],
    ["SMOVE k n", arity("smove")],
  ]);
});

test("SPOP removes the member that it returns, and the key goes with its last member", () => {
  const session = sessionWithSets();
  const left = new Set(["a", "b", "c"]);
  for (let i = 0; i < 3; i += 1) assert.ok(left.delete(session.run("SPOP k") as string));
  session.expect([
    ["EXISTS k", 0],
    ["SPOP k", nil],
    ["SPOP k 2", set([])],
    ["SPOP n 0", set([])],
    ["SCARD n", 4],
    ["SPOP n -1", outOfRange],
    ["SPOP n x", outOfRange],
    ["SPOP none -1", outOfRange],
    ["SPOP n 1 2", syntax],
    ["SPOP s", wrongType],
    ["SPOP s 1", wrongType],
    ["SPOP n 9223372036854775807", set(["1", "2", "3", "4"])],
    ["EXISTS n", 0],
    ["SPOP", arity("spop")],
  ]);
});

test("SPOP with a count removes distinct members, and the journal has the same ones", () => {
  for (const [size, count] of [
    [10, 3],
    [10, 9],
    [400, 399],
    [2_000, 5],
    [2_000, 1_990],
  ] as const) {
    for (const prefix of ["", "member:"]) {
      const journal = new RecordingJournal();
      const session = startSession({ journal });
      const all = new Set(Array.from({ length: size }, (_, i) => `${prefix}${i}`));
      session.call("SADD", "k", ...all);

      const popped = membersOf(session.call("SPOP", "k", `${count}`));
      const left = membersOf(session.run("SMEMBERS k"));

      assert.equal(popped.length, count);
      assert.equal(left.length, size - count);
      assert.deepEqual(new Set([...popped, ...left]), all);
      assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
    }
  }
});

test("SRANDMEMBER draws distinct members for a positive count, and repeated ones for a negative count", () => {
  const session = sessionWithSets();
  const members = new Set(["a", "b", "c"]);
  for (let round = 0; round < 50; round += 1) {
    assert.ok(members.has(session.run("SRANDMEMBER k") as string));
    const two = session.run("SRANDMEMBER k 2") as string[];
    assert.equal(new Set(two).size, 2);
    assert.ok(two.every((member) => members.has(member)));
    const seven = session.run("SRANDMEMBER k -7") as string[];
    assert.equal(seven.length, 7);
    assert.ok(seven.every((member) => members.has(member)));
  }
  session.expect([
    ["SRANDMEMBER k 3", ["a", "b", "c"]],
    ["SRANDMEMBER k 9223372036854775807", ["a", "b", "c"]],
    ["SRANDMEMBER k 0", []],
    ["SRANDMEMBER none", nil],
    ["SRANDMEMBER none 3", []],
    ["SRANDMEMBER none -3", []],
    ["SRANDMEMBER k x", notInteger],
    ["SRANDMEMBER k 1 2", syntax],
    ["SRANDMEMBER k x 2", syntax],
    ["SRANDMEMBER s", wrongType],
    ["SRANDMEMBER s 1", wrongType],
    [
      "SRANDMEMBER k -9223372036854775808",
      error("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"),
    ],
    ["SRANDMEMBER", arity("srandmember")],
    ["SCARD k", 3],
  ]);
});

test("SRANDMEMBER and SPOP draw each member about equally often", () => {
  const session = startSession();
  const names = Array.from({ length: 10 }, (_, i) => `member:${i}`);
  const counts = new Map<string, number>();
  const note = (drawn: readonly string[]): void => {
    for (const member of drawn) counts.set(member, (counts.get(member) ?? 0) + 1);
  };
  session.call("SADD", "k", ...names);
  for (let i = 0; i < 4_000; i += 1) note([session.run("SRANDMEMBER k") as string]);
  for (let i = 0; i < 1_000; i += 1) note(session.run("SRANDMEMBER k 4") as string[]);
  for (let i = 0; i < 1_000; i += 1) note(session.run("SRANDMEMBER k -4") as string[]);
  for (let i = 0; i < 1_000; i += 1) {
    const popped = membersOf(session.run("SPOP k 4"));
    note(popped);
    session.call("SADD", "k", ...popped);
  }

  // 1,600 each are expected, with a standard deviation below 40; the random source is seeded.
  for (const member of names) {
    const count = counts.get(member) ?? 0;
    assert.ok(count > 1_400 && count < 1_800, `${member}: ${count} of 16000`);
  }
});

test("SSCAN returns members, and MATCH filters", () => {
  sessionWithSets().expect([
    ["SSCAN k 0", ["0", ["a", "b", "c"]]],
    ["SSCAN n 0 MATCH [12]", ["0", ["1", "2"]]],
    ["SSCAN k 0 match * count 1", ["0", ["a", "b", "c"]]],
    ["SSCAN none 0", ["0", []]],
    ["SSCAN none 0 nonsense", ["0", []]],
    ["SSCAN none x", invalidCursor],
    ["SSCAN k 18446744073709551615", ["0", ["a", "b", "c"]]],
    ["SSCAN k 18446744073709551616", invalidCursor],
    ["SSCAN k 0 COUNT 0", syntax],
    ["SSCAN k 0 COUNT x", notInteger],
    ["SSCAN k 0 NOVALUES", syntax],
    ["SSCAN k 0 MATCH", syntax],
    ["SSCAN s 0", wrongType],
    ["SSCAN k", arity("sscan")],
  ]);
});

test("a set keeps its members in all its forms, and reports the encodings of Redis", () => {
  const session = startSession();
  for (let i = 0; i < 512; i += 1) session.call("SADD", "n", `${i}`);
  session.expect([
    ["OBJECT ENCODING n", "intset"],
    ["SADD n 512", 1],
    ["OBJECT ENCODING n", "hashtable"],
    ["SREM n 512", 1],
    ["OBJECT ENCODING n", "hashtable"],
    ["SCARD n", 512],
    ["SADD m 1 2", 2],
    ["OBJECT ENCODING m", "intset"],
    ["SADD m 02", 1],
    ["OBJECT ENCODING m", "hashtable"],
    ["COPY m copy", 1],
    ["SREM copy 02", 1],
    ["OBJECT ENCODING copy", "hashtable"],
    ["SMEMBERS copy", set(["1", "2"])],
  ]);
});

test("A-15: refuses replies that are too large, and removes nothing", () => {
  const session = startSession();
  for (let i = 0; i < 130; i += 1) session.call("SADD", "k", `${i}`.padStart(1024 * 1024, "x"));

  session.expect([
    ["SMEMBERS k", tooLarge],
    ["SUNION k none", tooLarge],
    ["SINTER k k", tooLarge],
    ["SDIFF k none", tooLarge],
    ["SPOP k 129", tooLarge],
    ["SPOP k 1000", tooLarge],
    ["SRANDMEMBER k 129", tooLarge],
    ["SRANDMEMBER k -129", tooLarge],
    ["SRANDMEMBER k -9223372036854775807", tooLarge],
    ["SSCAN k 0 COUNT 1000", tooLarge],
    ["SCARD k", 130],
    ["SUNIONSTORE other k", 130],
    ["SINTERCARD 2 k other", 130],
    ["DEL k", 1],
  ]);
});

test("an expired set is empty, and a stored set has no expiry", () => {
  const session = sessionWithSets();
  session.run("PEXPIRE k 10");
  session.run("PEXPIRE n 1000");
  session.clock.advance(11);
  session.expect([
    ["SINTERCARD 1 k", 0],
    ["SUNIONSTORE n n k", 4],
    ["TTL n", -1],
    ["SADD k fresh", 1],
    ["TTL k", -1],
    ["SMEMBERS k", set(["fresh"])],
    ["FLUSHALL", ok],
  ]);
});

function membersOf(reply: Reply): string[] {
  assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "set");
  return reply.members.map(String);
}

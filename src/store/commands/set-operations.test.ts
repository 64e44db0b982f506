/** Unions, intersections and differences: literal replies of Redis 7.0.15, random sets beside a plain version. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import { error, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { seededRandom } from "../../kernel/random.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import { type Reply, set } from "../reply/reply.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const syntax = error("ERR syntax error");
const noKeyCount = error("ERR numkeys should be greater than 0");
const negativeLimit = error("ERR LIMIT can't be negative");

function arity(name: string): Reply {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

/** a, b, c, d at `k`, c, d, e at `l`, c at `m`, and a string at `s`. */
function sessionWithSets(options?: { journal: RecordingJournal }): Session {
  const session = startSession(options);
  session.run("SADD k a b c d");
  session.run("SADD l c d e");
  session.run("SADD m c");
  session.run("SET s text");
  return session;
}

test("SUNION, SINTER and SDIFF", () => {
  sessionWithSets().expect([
    ["SUNION k l m", set(["a", "b", "c", "d", "e"])],
    ["SUNION k", set(["a", "b", "c", "d"])],
    ["SUNION none k none", set(["a", "b", "c", "d"])],
    ["SUNION none", set([])],
    ["SINTER k l", set(["c", "d"])],
    ["SINTER k l m", set(["c"])],
    ["SINTER k k", set(["a", "b", "c", "d"])],
    ["SINTER k none", set([])],
    ["SDIFF k l", set(["a", "b"])],
    ["SDIFF k none m", set(["a", "b", "d"])],
    ["SDIFF k l k", set([])],
    ["SDIFF none k", set([])],
    ["SDIFF k", set(["a", "b", "c", "d"])],
  ]);
});

test("SUNIONCARD and SDIFFCARD count members up to a limit", () => {
  const session = startSession();
  session.expect([
    ["SADD key1 a b c", 3],
    ["SADD key2 c d e", 3],
    ["SUNIONCARD 2 key1 key2", 5],
    ["SUNIONCARD 2 key1 key2 LIMIT 3", 3],
    ["SUNIONCARD 2 key1 key2 LIMIT 0", 5],
    ["SUNIONCARD 2 key1 key2 LIMIT 9", 5],
    ["SUNIONCARD 3 key1 key1 none APPROX", 3],
    ["SUNIONCARD 2 key1 key2 APPROX LIMIT 4", 4],
    ["SUNIONCARD 1 none", 0],
    ["SDIFFCARD 2 key1 key2", 2],
    ["SDIFFCARD 2 key1 key2 LIMIT 1", 1],
    ["SDIFFCARD 2 key1 key2 LIMIT 0", 2],
    ["SDIFFCARD 1 key1", 3],
    ["SDIFFCARD 3 key1 none key2", 2],
    ["SDIFFCARD 2 key1 key1", 0],
    ["SDIFFCARD 2 none key1", 0],
    ["SDIFFCARD 2 key1 key2 APPROX", syntax],
    ["SUNIONCARD 0 key1", noKeyCount],
    ["SUNIONCARD x key1", noKeyCount],
    ["SUNIONCARD 2 key1", error("ERR Number of keys can't be greater than number of args")],
    ["SUNIONCARD 1 key1 LIMIT", syntax],
    ["SUNIONCARD 1 key1 LIMIT -1", negativeLimit],
    ["SDIFFCARD 1 key1 LIMIT x", negativeLimit],
    ["SDIFFCARD 1", arity("sdiffcard")],
    ["SET s text", { kind: "simple", text: "OK" }],
    ["SUNIONCARD 2 none s", wrongType],
    ["SDIFFCARD 2 none s", wrongType],
    ["COMMAND GETKEYS SUNIONCARD 2 key1 key2 LIMIT 1", ["key1", "key2"]],
  ]);
  // Here it is cheaper to copy the first set than to look up its members in the others.
  for (let i = 0; i < 40; i += 1) session.run(`SADD small${i} a${i}`);
  session.run("SADD large a0 a1 b c d e f g h i");
  const others = Array.from({ length: 40 }, (_, i) => `small${i}`).join(" ");
  session.expect([
    [`SDIFFCARD 41 large ${others}`, 8],
    [`SDIFFCARD 41 large ${others} LIMIT 3`, 3],
  ]);
});

test("refuses a value of another type in any position, even after a missing key", () => {
  const session = sessionWithSets();
  for (const name of ["SUNION", "SINTER", "SDIFF"])
    session.expect([
      [`${name} k s`, wrongType],
      [`${name} s k`, wrongType],
      [`${name} none s`, wrongType],
      [`${name}STORE k none s`, wrongType],
      [`${name}`, arity(name.toLowerCase())],
      [`${name}STORE k`, arity(`${name.toLowerCase()}store`)],
    ]);
  session.expect([
    ["SINTERCARD 2 none s", wrongType],
    ["SCARD k", 4],
  ]);
});

test("the STORE forms replace the target, and remove it if the result is empty", () => {
  sessionWithSets().expect([
    ["SUNIONSTORE s k l", 5],
    ["SMEMBERS s", set(["a", "b", "c", "d", "e"])],
    ["SINTERSTORE k k l", 2],
    ["SMEMBERS k", set(["c", "d"])],
    ["SDIFFSTORE l l m", 2],
    ["SMEMBERS l", set(["d", "e"])],
    ["SINTERSTORE k none l", 0],
    ["EXISTS k", 0],
    ["SET t text", { kind: "simple", text: "OK" }],
    ["SDIFFSTORE t none", 0],
    ["EXISTS t", 0],
    ["SUNIONSTORE t none", 0],
    ["EXISTS t", 0],
  ]);
});

test("a stored result is a copy of its source", () => {
  sessionWithSets().expect([
    ["SUNIONSTORE t k", 4],
    ["SADD t z", 1],
    ["SISMEMBER k z", 0],
    ["SREM k a", 1],
    ["SISMEMBER t a", 1],
  ]);
});

test("a stored result has the encoding of Redis", () => {
  sessionWithSets().expect([
    ["SADD n 1 2 3", 3],
    ["SADD o 1 x", 2],
    ["SUNIONSTORE t n", 3],
    ["OBJECT ENCODING t", "intset"],
    ["SINTERSTORE t n o", 1],
    ["OBJECT ENCODING t", "intset"],
    ["SUNIONSTORE t n o", 4],
    ["OBJECT ENCODING t", "hashtable"],
    // Looked up one by one: only the remaining members are added.
    ["SDIFFSTORE t o k", 2],
    ["SADD x x", 1],
    ["SDIFFSTORE t o x", 1],
    ["OBJECT ENCODING t", "intset"],
    // Copied, then removed: it became a table while `x` was still in it.
    ["SADD many 1 2 3 4 5 6 7 8 x", 9],
    ["SDIFFSTORE t many x x x", 8],
    ["OBJECT ENCODING t", "hashtable"],
  ]);
});

test("SINTERCARD counts up to a limit", () => {
  sessionWithSets().expect([
    ["SINTERCARD 1 k", 4],
    ["SINTERCARD 2 k l", 2],
    ["SINTERCARD 2 k l LIMIT 1", 1],
    ["SINTERCARD 2 k l limit 0", 2],
    ["SINTERCARD 2 k l LIMIT 9223372036854775807", 2],
    ["SINTERCARD 2 k l LIMIT 1 LIMIT 0", 2],
    ["SINTERCARD 2 k none", 0],
    ["SINTERCARD 0 k", noKeyCount],
    ["SINTERCARD -1 k", noKeyCount],
    ["SINTERCARD x k", noKeyCount],
    ["SINTERCARD 2 k", error("ERR Number of keys can't be greater than number of args")],
    ["SINTERCARD 9223372036854775807 k", error("ERR Number of keys can't be greater than number of args")],
    ["SINTERCARD 1 k l", syntax],
    ["SINTERCARD 1 k LIMIT", syntax],
    ["SINTERCARD 1 k LIMIT -1", negativeLimit],
    ["SINTERCARD 1 k LIMIT x", negativeLimit],
    ["SINTERCARD 1 s LIMIT x", negativeLimit],
    ["SINTERCARD 1 s", wrongType],
    ["SINTERCARD 1", arity("sintercard")],
    ["COMMAND GETKEYS SINTERCARD 2 k l LIMIT 1", ["k", "l"]],
    ["COMMAND GETKEYS SINTERCARD 3 k l", error("ERR Invalid arguments specified for command")],
  ]);
});

test("random sets: every operation equals the plain implementation, and is journaled and stored", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = seededRandom(seed);
    const journal = new RecordingJournal();
    const session = startSession({ journal });
    const prefix = seed % 2 === 0 ? "" : "m";
    const sizes = Array.from({ length: 4 }, () => random.below(random.below(2) === 0 ? 20 : 800));
    const plain = sizes.map((size) => new Set(Array.from({ length: size }, () => `${prefix}${random.below(900)}`)));
    for (const [index, one] of plain.entries()) if (one.size > 0) session.call("SADD", `key${index}`, ...one);

    for (let round = 0; round < 10; round += 1) {
      const picked = Array.from({ length: 1 + random.below(4) }, () => random.below(plain.length));
      const sets = picked.map((index) => plain[index] as Set<string>);
      const [first = new Set<string>(), ...rest] = sets;
      const everywhere = [...new Set(sets.flatMap((one) => [...one]))];
      const expected: ReadonlyMap<string, readonly string[]> = new Map([
        ["SUNION", everywhere],
        ["SINTER", everywhere.filter((member) => sets.every((one) => one.has(member)))],
        ["SDIFF", [...first].filter((member) => !rest.some((one) => one.has(member)))],
      ]);
      const keys = picked.map((index) => `key${index}`);
      for (const [name, members] of expected) {
        const note = `seed ${seed}: ${name} ${keys.join(" ")}`;
        assert.deepEqual(sortedMembers(session.call(name, ...keys)), members.toSorted(), note);
        assert.equal(session.call(`${name}STORE`, "stored", ...keys), members.length, note);
        assert.deepEqual(sortedMembers(session.call("SMEMBERS", "stored")), members.toSorted(), note);
      }
      const limit = random.below(20);
      const common = expected.get("SINTER")?.length ?? 0;
      assert.equal(
        session.call("SINTERCARD", `${keys.length}`, ...keys, "LIMIT", `${limit}`),
        limit === 0 ? common : Math.min(limit, common),
      );
    }
    assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store), `journal, seed ${seed}`);
    assert.deepEqual(
      sortedMembers(
        restored(session.store.dump())
          .database("main")
          .command({ user: defaultUser, transport: "http", address: "" }, ["SMEMBERS", "stored"]) as Reply,
      ),
      sortedMembers(session.call("SMEMBERS", "stored")),
      `snapshot, seed ${seed}`,
    );
  }
});

test("a STORE form writes one record, which names the key once", () => {
  const journal = new RecordingJournal();
  const session = sessionWithSets({ journal });
  const before = journal.frames.length;

  session.expect([["SUNIONSTORE target k l", 5]]);

  assert.deepEqual(
    journal.frames.slice(before).map((frame) => frame.toString("latin1")),
    ["\x01\x52\x06target\x01\x01a\x01\x01b\x01\x01c\x01\x01d\x01\x01e\x00"],
  );
});

test("a command that changes nothing writes no record", () => {
  const journal = new RecordingJournal();
  const session = sessionWithSets({ journal });
  const before = journal.frames.length;

  session.expect([
    ["SADD k a b", 0],
    ["SREM k z", 0],
    ["SREM none z", 0],
    ["SMOVE k l z", 0],
    ["SMOVE k k a", 1],
    ["SPOP none", null],
    ["SPOP k 0", set([])],
    ["SDIFFSTORE none none2", 0],
  ]);

  assert.equal(journal.frames.length, before);
});

function sortedMembers(reply: Reply): string[] {
  assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "set");
  return reply.members.map(String).sort();
}

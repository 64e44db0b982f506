/** Blocking XREAD and XREADGROUP: which clients an entry serves, with what, and what unblocks them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nilArray, startSession } from "../../../test/harness/store-harness.ts";
import { connect, transact } from "../../../test/harness/waiting-callers.ts";
import { later, pairs, type Reply } from "../reply/reply.ts";

function found(key: string, ...ids: readonly string[]): Reply {
  return pairs([[key, ids.map((id) => [id, ["n", id]])]]);
}

const NO_GROUP = error("NOGROUP No such key 's' or consumer group 'g' in XREADGROUP with GROUP option");
const WRONG_TYPE = error("WRONGTYPE Operation against a key holding the wrong kind of value");

test("an entry serves all clients that wait for entries after an earlier one, from all their streams", () => {
  const session = startSession();
  const [last, both, ahead] = [connect(session), connect(session), connect(session)];
  session.run("XADD s 1-1 n 1-1");
  assert.equal(last.run("XREAD BLOCK 0 STREAMS s $"), later);
  assert.equal(both.run("XREAD BLOCK 0 STREAMS t s $ 1-1"), later);
  assert.equal(ahead.run("XREAD BLOCK 0 STREAMS s 5-0"), later);

  transact(session, ["XADD s 2-1 n 2-1", "XADD t 9-1 n 9-1"]);

  assert.deepEqual(last.received, [found("s", "2-1")]);
  assert.deepEqual(both.received, [
    pairs([
      ["t", [["9-1", ["n", "9-1"]]]],
      ["s", [["2-1", ["n", "2-1"]]]],
    ]),
  ]);
  assert.equal(ahead.isWaiting, true);
  session.run("XADD s 5-1 n 5-1");
  assert.deepEqual(ahead.received, [found("s", "5-1")]);
});

test("existing entries are returned at once, and a timeout returns a nil array", () => {
  const session = startSession();
  const caller = connect(session);
  session.run("XADD s 1-1 n 1-1");
  assert.deepEqual(caller.run("XREAD BLOCK 0 STREAMS s 0"), found("s", "1-1"));
  assert.equal(caller.run("XREAD BLOCK 50 STREAMS s $"), later);
  session.clock.advance(50);
  assert.deepEqual(caller.received, [nilArray]);
  assert.deepEqual(caller.run("XREAD BLOCK x STREAMS s $"), error("ERR timeout is not an integer or out of range"));
  assert.deepEqual(caller.run("XREAD BLOCK -1 STREAMS s $"), error("ERR timeout is negative"));
  assert.deepEqual(caller.run("XREAD BLOCK 9223372036854775807 STREAMS s $"), error("ERR timeout is out of range"));
  assert.deepEqual(transact(session, ["XREAD BLOCK 0 STREAMS s $"]), [nilArray]);
});

test("in a group, the first waiting client gets all new entries, and the next ones keep waiting", () => {
  const session = startSession();
  session.run("XGROUP CREATE s g $ MKSTREAM");
  const [first, second, other] = [connect(session), connect(session), connect(session)];
  first.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
  second.run("XREADGROUP GROUP g bob BLOCK 0 COUNT 1 STREAMS s >");
  other.run("XREAD BLOCK 0 STREAMS s $");

  transact(session, ["XADD s 1-1 n 1-1", "XADD s 2-1 n 2-1"]);

  assert.deepEqual(first.received, [found("s", "1-1", "2-1")]);
  assert.equal(second.isWaiting, true);
  assert.deepEqual(other.received, [found("s", "1-1", "2-1")]);
  transact(session, ["XADD s 3-1 n 3-1", "XADD s 4-1 n 4-1"]);
  assert.deepEqual(second.received, [found("s", "3-1")]);
  assert.deepEqual(session.run("XPENDING s g"), [
    3,
    "1-1",
    "3-1",
    [
      ["alice", "2"],
      ["bob", "1"],
    ],
  ]);
});

test("a consumer is created when it begins to wait, but with NOACK not at all", () => {
  const session = startSession();
  session.run("XGROUP CREATE s g $ MKSTREAM");
  const [first, second] = [connect(session), connect(session)];
  first.run("XREADGROUP GROUP g alice BLOCK 0 NOACK STREAMS s >");
  second.run("XREADGROUP GROUP g bob BLOCK 0 STREAMS s >");
  const names = (): unknown => {
    const consumers = session.run("XINFO CONSUMERS s g") as readonly {
      readonly pairs: readonly (readonly Reply[])[];
    }[];
    return consumers.map(({ pairs: facts }) => facts[0]);
  };
  assert.deepEqual(names(), [["name", "bob"]]);
  session.run("XADD s 1-1 n 1-1");
  assert.deepEqual(first.received, [found("s", "1-1")]);
  assert.equal(second.isWaiting, true);
  assert.deepEqual(names(), [["name", "bob"]]);
  assert.equal((session.run("XPENDING s g") as Reply[])[0], 0);
});

test("clients keep waiting when the entries are deleted again in the same transaction", () => {
  const session = startSession();
  session.run("XGROUP CREATE s g $ MKSTREAM");
  const [plain, grouped] = [connect(session), connect(session)];
  plain.run("XREAD BLOCK 0 STREAMS s $");
  grouped.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
  transact(session, ["XADD s 1-1 n 1-1", "XDEL s 1-1"]);
  assert.deepEqual([plain.isWaiting, grouped.isWaiting], [true, true]);
  session.run("XADD s 2-1 n 2-1");
  assert.deepEqual([plain.received, grouped.received], [[found("s", "2-1")], [found("s", "2-1")]]);
});

test("+ waits for the first entry of an empty stream, and takes the last one of its transaction", () => {
  const session = startSession();
  const [one, many] = [connect(session), connect(session)];
  assert.equal(one.run("XREAD BLOCK 0 STREAMS s +"), later);
  session.run("XADD s 1-1 n 1-1");
  assert.deepEqual(one.received, [found("s", "1-1")]);
  assert.deepEqual(one.run("XREAD BLOCK 0 STREAMS s +"), found("s", "1-1"));
  assert.equal(many.run("XREAD COUNT 9 BLOCK 0 STREAMS t +"), later);
  transact(session, ["XADD t 1-1 n 1-1", "XADD t 2-1 n 2-1"]);
  assert.deepEqual(many.received, [found("t", "2-1")]);
});

/** Commands that unblock the clients of a group, and the reply of those. */
const ends: readonly (readonly [lines: readonly string[], reply: Reply])[] = [
  [["DEL s"], NO_GROUP],
  [["FLUSHALL"], NO_GROUP],
  [["SET s v"], WRONG_TYPE],
  [["RENAME s other"], NO_GROUP],
  [["RENAME list s"], WRONG_TYPE],
  [["DEL s", "RPUSH s a"], WRONG_TYPE],
  [["XGROUP DESTROY s g"], NO_GROUP],
  [["DEL s", "XADD s 1-1 n 1-1"], NO_GROUP],
];

for (const [lines, reply] of ends) {
  test(`${lines.join("; ")} unblocks clients of a group with an error, but not those without a group`, () => {
    const session = startSession();
    session.run("RPUSH list a");
    session.run("XGROUP CREATE s g $ MKSTREAM");
    const [grouped, plain] = [connect(session), connect(session)];
    grouped.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
    plain.run("XREAD BLOCK 0 STREAMS s 7-7");
    transact(session, lines);
    assert.deepEqual(grouped.received, [reply]);
    assert.equal(plain.isWaiting, true);
  });
}

test("a stream that expires unblocks the clients of its groups", () => {
  const session = startSession();
  session.run("XGROUP CREATE s g $ MKSTREAM");
  session.run("PEXPIRE s 100");
  const grouped = connect(session);
  grouped.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
  session.clock.advance(101);
  session.database.sweepExpired();
  assert.deepEqual(grouped.received, [NO_GROUP]);
});

test("A.limits.pending: a read beyond the limit of pending entries is refused, for waiting clients too, and delivers nothing", () => {
  const session = startSession({ pendingEntriesMax: 3 });
  const caller = connect(session);
  session.run("XGROUP CREATE s g $ MKSTREAM");
  transact(session, ["XADD s 1-1 n 1-1", "XADD s 2-1 n 2-1"]);
  const refusal = (pendingCount: number, newCount: number): Reply =>
    error(
      `ERR XReadGroup is cancelled. Pending Entries List limit per consumer is about to be reached. Limit: 3, Current PEL size: ${pendingCount}, Requested Read: ${newCount}, Key: s, Group: g, Consumer: alice.`,
    );
  assert.deepEqual(caller.run("XREADGROUP GROUP g alice STREAMS s >"), found("s", "1-1", "2-1"));
  assert.equal(caller.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >"), later);
  transact(session, ["XADD s 3-1 n 3-1", "XADD s 4-1 n 4-1"]);
  assert.deepEqual(caller.received, [refusal(2, 2)]);
  assert.deepEqual(caller.run("XREADGROUP GROUP g alice COUNT 2 STREAMS s >"), refusal(2, 2));
  assert.deepEqual(caller.run("XREADGROUP GROUP g alice COUNT 1 STREAMS s >"), found("s", "3-1"));
  assert.deepEqual(caller.run("XREADGROUP GROUP g alice NOACK STREAMS s >"), found("s", "4-1"));
  assert.deepEqual(session.run("XPENDING s g"), [3, "1-1", "3-1", [["alice", "3"]]]);
});

test("a client that waits without a COUNT receives all entries", () => {
  const session = startSession();
  const caller = connect(session);
  caller.run("XREAD BLOCK 0 STREAMS s $");
  transact(
    session,
    Array.from({ length: 1_001 }, (_, index) => `XADD s ${index + 1}-1 n v`),
  );
  const [reply] = caller.received;
  assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "pairs");
  const [, entries] = reply.pairs[0] ?? [];
  assert.ok(Array.isArray(entries));
  assert.equal(entries.length, 1_001);
});

test("a client of several streams of a group gets the error of the first one that fails", () => {
  const session = startSession();
  for (const key of ["s", "t"]) session.run(`XGROUP CREATE ${key} g $ MKSTREAM`);
  const [grouped, plain] = [connect(session), connect(session)];
  grouped.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s t > >");
  plain.run("XREAD BLOCK 0 STREAMS s t $ $");
  transact(session, ["XADD t 1-1 n 1-1", "XGROUP DESTROY s g"]);
  assert.deepEqual(grouped.received, [NO_GROUP]);
  assert.deepEqual(plain.received, [found("t", "1-1")]);
  plain.run("XREAD BLOCK 0 STREAMS s t $ $");
  session.run("SET s v");
  assert.equal(plain.isWaiting, true);
  session.run("XADD t 2-1 n 2-1");
  assert.deepEqual(plain.received.slice(1), [WRONG_TYPE]);
});

test("a group that moves to another key by RENAME serves those who wait there", () => {
  const session = startSession();
  session.run("XGROUP CREATE s g $ MKSTREAM");
  const grouped = connect(session);
  grouped.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
  transact(session, ["XGROUP CREATE t g $ MKSTREAM", "XADD t 100-0 n 100-0", "RENAME t s"]);
  assert.deepEqual(grouped.received, [found("s", "100-0")]);
});

/** Blocking XREAD and XREADGROUP: which clients an entry serves, with what, and what unblocks them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nilArray, startSession } from "../../../test/harness/store-harness.ts";
import { connect, transact } from "../../../test/harness/waiting-callers.ts";
import { later, pairs, type Reply } from "../reply/reply.ts";

function found(key: string, ...ids: readonly string[]): Reply {
  return pairs([[key, ids.map((id) => [id, ["n", id]])]]);
}

const STREAM_GONE = error("UNBLOCKED the stream key no longer exists");
const GROUP_GONE = error("NOGROUP the consumer group this client was blocked on no longer exists");

test("an entry serves all clients that wait for entries after an earlier one, from that stream alone", () => {
  const session = startSession();
  const [last, both, ahead] = [connect(session), connect(session), connect(session)];
  session.run("XADD s 1-1 n 1-1");
  assert.equal(last.run("XREAD BLOCK 0 STREAMS s $"), later);
  assert.equal(both.run("XREAD BLOCK 0 STREAMS t s $ 1-1"), later);
  assert.equal(ahead.run("XREAD BLOCK 0 STREAMS s 5-0"), later);

  transact(session, ["XADD s 2-1 n 2-1", "XADD t 9-1 n 9-1"]);

  assert.deepEqual(last.received, [found("s", "2-1")]);
  assert.deepEqual(both.received, [found("s", "2-1")]);
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

test("a consumer is created when it is served, not when it begins to wait", () => {
  const session = startSession();
  session.run("XGROUP CREATE s g $ MKSTREAM");
  const caller = connect(session);
  caller.run("XREADGROUP GROUP g alice BLOCK 0 NOACK STREAMS s >");
  assert.deepEqual(session.run("XINFO CONSUMERS s g"), []);
  session.run("XADD s 1-1 n 1-1");
  assert.deepEqual(caller.received, [found("s", "1-1")]);
  assert.equal((session.run("XINFO CONSUMERS s g") as Reply[]).length, 1);
  assert.equal((session.run("XPENDING s g") as Reply[])[0], 0);
});

test("entries that were deleted again serve waiting clients with none, as in Redis", () => {
  const session = startSession();
  session.run("XGROUP CREATE s g $ MKSTREAM");
  const [plain, grouped] = [connect(session), connect(session)];
  plain.run("XREAD BLOCK 0 STREAMS s $");
  grouped.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
  transact(session, ["XADD s 1-1 n 1-1", "XDEL s 1-1"]);
  assert.deepEqual(plain.received, [pairs([["s", []]])]);
  assert.deepEqual(grouped.received, [pairs([["s", []]])]);
  assert.equal((session.run("XINFO CONSUMERS s g") as Reply[]).length, 1);
});

/** Commands that unblock the clients of a group, and the reply of those. */
const ends: readonly (readonly [lines: readonly string[], reply: Reply])[] = [
  [["DEL s"], STREAM_GONE],
  [["FLUSHALL"], STREAM_GONE],
  [["SET s v"], STREAM_GONE],
  [["RENAME s other"], STREAM_GONE],
  [["RENAME list s"], STREAM_GONE],
  [["DEL s", "RPUSH s a"], STREAM_GONE],
  [["XGROUP DESTROY s g"], GROUP_GONE],
  [["DEL s", "XADD s 1-1 n 1-1"], GROUP_GONE],
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
  assert.deepEqual(grouped.received, [STREAM_GONE]);
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

test("a client that waits without a COUNT receives at most a thousand entries", () => {
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
  assert.equal(entries.length, 1_000);
});

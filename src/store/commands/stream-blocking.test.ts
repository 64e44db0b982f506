/** XREAD and XREADGROUP that wait: whom an entry serves, with what, and what ends the waiting. */
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

test("An entry serves all who wait for what is behind an earlier one, from that stream alone", () => {
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

test("What is there already is answered at once, and the time that is over is a nil array", () => {
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

test("Of a group, who came first gets all that is new, and the next ones go on waiting", () => {
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

test("A consumer is made when it is served, not when it begins to wait", () => {
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

test("Entries that are gone again serve with none, as in Redis", () => {
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

/** What ends the waiting in a group, and with what. */
const ends: readonly (readonly [lines: readonly string[], told: Reply])[] = [
  [["DEL s"], STREAM_GONE],
  [["FLUSHALL"], STREAM_GONE],
  [["SET s v"], STREAM_GONE],
  [["RENAME s other"], STREAM_GONE],
  [["RENAME list s"], STREAM_GONE],
  [["DEL s", "RPUSH s a"], STREAM_GONE],
  [["XGROUP DESTROY s g"], GROUP_GONE],
  [["DEL s", "XADD s 1-1 n 1-1"], GROUP_GONE],
];

for (const [lines, told] of ends) {
  test(`Who waits in a group is told of ${lines.join("; ")}, and who reads without one waits on`, () => {
    const session = startSession();
    session.run("RPUSH list a");
    session.run("XGROUP CREATE s g $ MKSTREAM");
    const [grouped, plain] = [connect(session), connect(session)];
    grouped.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
    plain.run("XREAD BLOCK 0 STREAMS s 7-7");
    transact(session, lines);
    assert.deepEqual(grouped.received, [told]);
    assert.equal(plain.isWaiting, true);
  });
}

test("A stream that expires ends the waiting in its groups", () => {
  const session = startSession();
  session.run("XGROUP CREATE s g $ MKSTREAM");
  session.run("PEXPIRE s 100");
  const grouped = connect(session);
  grouped.run("XREADGROUP GROUP g alice BLOCK 0 STREAMS s >");
  session.clock.advance(101);
  session.database.sweepExpired();
  assert.deepEqual(grouped.received, [STREAM_GONE]);
});

test("A.limits.pending: a limit of pending entries refuses what would go beyond it, to who waits too, and delivers nothing", () => {
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

test("Who waits without a COUNT is given a thousand entries at most", () => {
  const session = startSession();
  const caller = connect(session);
  caller.run("XREAD BLOCK 0 STREAMS s $");
  transact(
    session,
    Array.from({ length: 1_001 }, (_, index) => `XADD s ${index + 1}-1 n v`),
  );
  const [told] = caller.received;
  assert.ok(typeof told === "object" && told !== null && "kind" in told && told.kind === "pairs");
  const [, entries] = told.pairs[0] ?? [];
  assert.ok(Array.isArray(entries));
  assert.equal(entries.length, 1_000);
});

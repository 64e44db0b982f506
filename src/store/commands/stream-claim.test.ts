/** XREADGROUP with CLAIM: the examples of Redis' tests, the order, and clients that wait until an entry is idle enough. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFault } from "../../../test/harness/memory-recount.ts";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, nil, nilArray, ok, type Row, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { connect } from "../../../test/harness/waiting-callers.ts";
import { later, pairs, type Reply } from "../reply/reply.ts";

/** An entry as CLAIM returns it: with its idle time and the number of deliveries before. */
function entry(n: number, idleMs: number, deliveryCount: number): Reply {
  return [`${n}-0`, ["f", `v${n}`], idleMs, deliveryCount];
}

function found(...entries: readonly Reply[]): Reply {
  return pairs([["mystream", entries]]);
}

/** Rows before and after a pause. */
interface Example {
  readonly entryCount: number;
  readonly before: readonly Row[];
  readonly after: readonly Row[];
}

const readAll = (count: number): Row => [
  "XREADGROUP GROUP group1 consumer1 STREAMS mystream >",
  found(...Array.from({ length: count }, (_, i) => [`${i + 1}-0`, ["f", `v${i + 1}`]])),
];

const examples: Record<string, Example> = {
  "CLAIM returns entries that others did not acknowledge, and assigns them": {
    entryCount: 2,
    before: [readAll(2)],
    after: [
      ["XREADGROUP GROUP group1 consumer2 CLAIM 50 STREAMS mystream >", found(entry(1, 100, 1), entry(2, 100, 1))],
      [
        "XPENDING mystream group1 - + 10",
        [
          ["1-0", "consumer2", 0, 2],
          ["2-0", "consumer2", 0, 2],
        ],
      ],
      ["XREADGROUP GROUP group1 consumer3 CLAIM 0 STREAMS mystream >", found(entry(1, 0, 2), entry(2, 0, 2))],
    ],
  },
  "CLAIM leaves entries that are not idle enough": {
    entryCount: 2,
    before: [readAll(2), ["XREADGROUP GROUP group1 consumer2 CLAIM 100 STREAMS mystream >", nilArray]],
    after: [
      ["XREADGROUP GROUP group1 consumer2 CLAIM 101 STREAMS mystream >", nilArray],
      ["XPENDING mystream group1", [2, "1-0", "2-0", [["consumer1", "2"]]]],
    ],
  },
  "CLAIM returns claimed entries before new ones, which have zeros, up to COUNT": {
    entryCount: 4,
    before: [
      [
        "XREADGROUP GROUP group1 consumer1 COUNT 2 STREAMS mystream >",
        found(["1-0", ["f", "v1"]], ["2-0", ["f", "v2"]]),
      ],
    ],
    after: [
      ["XREADGROUP GROUP group1 consumer2 COUNT 1 CLAIM 50 STREAMS mystream >", found(entry(1, 100, 1))],
      [
        "XREADGROUP GROUP group1 consumer2 COUNT 2 CLAIM 50 STREAMS mystream >",
        found(entry(2, 100, 1), entry(3, 0, 0)),
      ],
      ["XREADGROUP GROUP group1 consumer2 CLAIM 50 STREAMS mystream >", found(entry(4, 0, 0))],
      ["XPENDING mystream group1", [4, "1-0", "4-0", [["consumer2", "4"]]]],
    ],
  },
  "CLAIM without pending entries is a read of new ones": {
    entryCount: 2,
    before: [],
    after: [["XREADGROUP GROUP group1 consumer1 CLAIM 100 STREAMS mystream >", found(entry(1, 0, 0), entry(2, 0, 0))]],
  },
  "CLAIM returns the entry first that has been idle for longest": {
    entryCount: 3,
    before: [readAll(3), ["XCLAIM mystream group1 consumer1 0 2-0 IDLE 5000 JUSTID", ["2-0"]]],
    after: [
      ["XCLAIM mystream group1 consumer1 0 1-0 IDLE 60 JUSTID", ["1-0"]],
      [
        "XREADGROUP GROUP group1 consumer2 CLAIM 50 STREAMS mystream >",
        found(entry(2, 5_100, 1), entry(3, 100, 1), entry(1, 60, 1)),
      ],
    ],
  },
  "NOACK counts for new entries only": {
    entryCount: 3,
    before: [["XREADGROUP GROUP group1 consumer1 COUNT 1 STREAMS mystream >", found(["1-0", ["f", "v1"]])]],
    after: [
      [
        "XREADGROUP GROUP group1 consumer2 COUNT 2 NOACK CLAIM 50 STREAMS mystream >",
        found(entry(1, 100, 1), entry(2, 0, 0)),
      ],
      ["XPENDING mystream group1", [1, "1-0", "1-0", [["consumer2", "1"]]]],
      ["XREADGROUP GROUP group1 consumer3 NOACK CLAIM 50 STREAMS mystream >", found(entry(3, 0, 0))],
      ["XGROUP DELCONSUMER mystream group1 consumer3", 0],
      ["XGROUP CREATECONSUMER mystream group1 consumer3", 1],
    ],
  },
  "CLAIM is ignored with other ids than >": {
    entryCount: 1,
    before: [readAll(1)],
    after: [
      ["XREADGROUP GROUP group1 consumer2 CLAIM 0 STREAMS mystream 0", found()],
      ["XREADGROUP GROUP group1 consumer1 CLAIM 0 STREAMS mystream 0", found(["1-0", ["f", "v1"]])],
    ],
  },
  "CLAIM passes over deleted entries, and forgets acknowledged ones and those of removed consumers": {
    entryCount: 4,
    before: [
      readAll(4),
      ["XREADGROUP GROUP group1 consumer2 CLAIM 9999 STREAMS mystream >", nilArray],
      ["XCLAIM mystream group1 consumer3 0 4-0 JUSTID", ["4-0"]],
      ["XDEL mystream 1-0", 1],
      ["XACK mystream group1 2-0", 1],
      ["XGROUP DELCONSUMER mystream group1 consumer3", 1],
    ],
    after: [
      ["XREADGROUP GROUP group1 consumer2 COUNT 1 CLAIM 50 STREAMS mystream >", found(entry(3, 100, 1))],
      ["XREADGROUP GROUP group1 consumer2 CLAIM 50 STREAMS mystream >", nilArray],
      ["XPENDING mystream group1 - + 9 consumer1", [["1-0", "consumer1", 100, 1]]],
    ],
  },
  "refused forms of CLAIM": {
    entryCount: 1,
    before: [],
    after: [
      [
        "XREAD CLAIM 5 STREAMS mystream 0",
        error("ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead."),
      ],
      [
        "XREADGROUP GROUP group1 c CLAIM x STREAMS mystream >",
        error("ERR min-idle-time is not an integer or out of range"),
      ],
      ["XREADGROUP GROUP group1 c CLAIM -1 STREAMS mystream >", error("ERR min-idle-time must be a positive integer")],
      [
        "XREADGROUP GROUP group1 c STREAMS mystream CLAIM",
        error("ERR Invalid stream ID specified as stream command argument"),
      ],
      ["COMMAND GETKEYS XREADGROUP GROUP g c CLAIM 5 STREAMS mystream 0", ["mystream"]],
    ],
  },
};

function start(entryCount: number, options: Parameters<typeof startSession>[0] = {}): Session {
  const session = startSession(options);
  for (let n = 1; n <= entryCount; n += 1) session.run(`XADD mystream ${n}-0 f v${n}`);
  session.run("XGROUP CREATE mystream group1 0");
  return session;
}

for (const [name, { entryCount, before, after }] of Object.entries(examples)) {
  test(name, () => {
    const journal = new RecordingJournal();
    const session = start(entryCount, { journal });
    session.expect(before);
    session.clock.advance(100);
    session.expect(after);
    assert.equal(memoryFault(session.database.keyspace), undefined);
    for (const frames of [journal.frames, session.store.dump()])
      assert.deepEqual(contentOf(replayed(frames, session.clock)), contentOf(session.store));
  });
}

test("A.limits.pending: claimed entries of others count for the limit of a consumer", () => {
  const session = start(3, { pendingEntriesMax: 2 });
  session.expect([
    ["XREADGROUP GROUP group1 a COUNT 2 STREAMS mystream >", found(["1-0", ["f", "v1"]], ["2-0", ["f", "v2"]])],
    ["XREADGROUP GROUP group1 a COUNT 2 CLAIM 0 STREAMS mystream >", found(entry(1, 0, 1), entry(2, 0, 1))],
    [
      "XREADGROUP GROUP group1 b CLAIM 0 STREAMS mystream >",
      error(
        "ERR XReadGroup is cancelled. Pending Entries List limit per consumer is about to be reached. Limit: 2, Current PEL size: 0, Requested Read: 3, Key: mystream, Group: group1, Consumer: b.",
      ),
    ],
    ["XREADGROUP GROUP group1 b COUNT 2 CLAIM 0 STREAMS mystream >", found(entry(1, 0, 2), entry(2, 0, 2))],
  ]);
});

test("a waiting client gets an entry at the moment when it has been idle for long enough", () => {
  const journal = new RecordingJournal();
  const session = start(1, { journal });
  session.expect([readAll(1)]);
  session.clock.advance(200);
  const [first, second, plain] = [connect(session), connect(session), connect(session)];
  assert.equal(first.run("XREADGROUP GROUP group1 a BLOCK 0 CLAIM 1000 STREAMS mystream >"), later);
  assert.equal(second.run("XREADGROUP GROUP group1 b BLOCK 0 CLAIM 1000 STREAMS mystream >"), later);
  assert.equal(plain.run("XREADGROUP GROUP group1 c BLOCK 0 STREAMS mystream >"), later);
  session.clock.advance(799);
  assert.deepEqual([first.isWaiting, second.isWaiting], [true, true]);
  session.clock.advance(1);
  assert.deepEqual(first.received, [found(entry(1, 1_000, 1))]);
  assert.deepEqual([second.isWaiting, plain.isWaiting], [true, true]);
  session.clock.advance(1_000);
  assert.deepEqual(second.received, [found(entry(1, 1_000, 2))]);
  assert.equal(plain.isWaiting, true);
  session.expect([["XPENDING mystream group1", [1, "1-0", "1-0", [["b", "1"]]]]]);
  assert.deepEqual(contentOf(replayed(journal.frames, session.clock)), contentOf(session.store));
});

test("a waiting client also gets what is delivered to others while it waits, and new entries at once", () => {
  const session = start(0);
  const caller = connect(session);
  const read = "XREADGROUP GROUP group1 a BLOCK 0 CLAIM 1000 STREAMS mystream other > >";
  session.run("XGROUP CREATE mystream group1 0 MKSTREAM");
  session.run("XGROUP CREATE other group1 0 MKSTREAM");
  assert.equal(caller.run(read), later);
  session.clock.advance(600);
  session.run("XADD mystream 1-0 f v1");
  assert.deepEqual(caller.received, [found(entry(1, 0, 0))]);
  session.run("XACK mystream group1 1-0");

  session.run("XADD mystream 2-0 f v2");
  session.run("XREADGROUP GROUP group1 b STREAMS mystream >");
  assert.equal(caller.run(read), later);
  session.clock.advance(1_000);
  assert.deepEqual(caller.received.slice(1), [found(entry(2, 1_000, 1))]);
});

test("a client that waits with CLAIM stops at its timeout, and when the group is gone", () => {
  const session = start(1);
  session.expect([readAll(1)]);
  const [timed, grouped] = [connect(session), connect(session)];
  timed.run("XREADGROUP GROUP group1 a BLOCK 500 CLAIM 1000 STREAMS mystream >");
  grouped.run("XREADGROUP GROUP group1 a BLOCK 0 CLAIM 5000 STREAMS mystream >");
  session.clock.advance(500);
  assert.deepEqual(timed.received, [nilArray]);
  session.run("XGROUP DESTROY mystream group1");
  assert.deepEqual(grouped.received, [
    error("NOGROUP No such key 'mystream' or consumer group 'group1' in XREADGROUP with GROUP option"),
  ]);
  session.clock.advance(10_000);
  session.expect([
    ["XGROUP CREATE mystream group1 $", ok],
    ["XPENDING mystream group1", [0, nil, nil, nilArray]],
  ]);
});

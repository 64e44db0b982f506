/** The commands on consumer groups: input and literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, nil, nilArray, ok, type Row, startSession } from "../../../test/harness/store-harness.ts";
import { connect } from "../../../test/harness/waiting-callers.ts";
import { map, pairs, type Reply } from "../reply/reply.ts";

const NO_KEY = error(
  "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.",
);
const NO_GROUP = error("NOGROUP No such key 's' or consumer group 'x'");

function entry(id: string): Reply {
  return [id, ["n", id]];
}

const filled: readonly Row[] = [
  ...["1-1", "2-1", "3-1", "4-1"].map((id): Row => [`XADD s ${id} n ${id}`, id]),
  ["XGROUP CREATE s g 0", ok],
];

const tables: Record<string, readonly Row[]> = {
  "XGROUP creates, moves and removes groups and consumers": [
    ["XGROUP CREATE s g $", NO_KEY],
    ["XGROUP CREATE s g $ MKSTREAM", ok],
    ["XLEN s", 0],
    ["EXISTS s", 1],
    ["XGROUP CREATE s g $", error("BUSYGROUP Consumer Group name already exists")],
    ["XGROUP CREATE s h x", error("ERR Invalid stream ID specified as stream command argument")],
    ["XGROUP CREATE s h 0 ENTRIESREAD -2", error("ERR value for ENTRIESREAD must be positive or -1")],
    ["XGROUP CREATECONSUMER s g alice", 1],
    ["XGROUP CREATECONSUMER s g alice", 0],
    ["XGROUP CREATECONSUMER s x alice", error("NOGROUP No such consumer group 'x' for key name 's'")],
    ["XGROUP SETID s g 5-5", ok],
    ["XGROUP DELCONSUMER s g alice", 0],
    ["XGROUP DELCONSUMER s g nobody", 0],
    ["XGROUP DESTROY s g", 1],
    ["XGROUP DESTROY s g", 0],
    ["XGROUP DESTROY none g", NO_KEY],
    [
      "XGROUP CREATE s g 0 WHAT",
      error("ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP."),
    ],
  ],
  "XREADGROUP delivers new entries, and pending ones again": [
    ...filled,
    ["XREADGROUP GROUP g alice COUNT 2 STREAMS s >", pairs([["s", [entry("1-1"), entry("2-1")]]])],
    ["XREADGROUP GROUP g bob COUNT 1 STREAMS s >", pairs([["s", [entry("3-1")]]])],
    ["XREADGROUP GROUP g bob NOACK STREAMS s >", pairs([["s", [entry("4-1")]]])],
    ["XREADGROUP GROUP g bob STREAMS s >", nilArray],
    ["XREADGROUP GROUP g alice STREAMS s 1-1", pairs([["s", [entry("2-1")]]])],
    ["XDEL s 2-1", 1],
    ["XREADGROUP GROUP g alice STREAMS s 0", pairs([["s", [entry("1-1"), ["2-1", nilArray]]]])],
    ["XREADGROUP GROUP g carol STREAMS s 0", pairs([["s", []]])],
    [
      "XPENDING s g",
      [
        3,
        "1-1",
        "3-1",
        [
          ["alice", "2"],
          ["bob", "1"],
        ],
      ],
    ],
    [
      "XREADGROUP GROUP x bob STREAMS s >",
      error("NOGROUP No such key 's' or consumer group 'x' in XREADGROUP with GROUP option"),
    ],
    ["XREADGROUP NOACK COUNT 1 STREAMS s t > >", error("ERR Missing GROUP option for XREADGROUP")],
    ["XACK s g 1-1 1-1 9-9", 1],
    ["XACK s x 1-1", 0],
    ["XACK none g 1-1", 0],
    ["XACK s g x", error("ERR Invalid stream ID specified as stream command argument")],
    ["XGROUP DELCONSUMER s g alice", 1],
    ["XPENDING s g", [1, "3-1", "3-1", [["bob", "1"]]]],
  ],
  "XCLAIM assigns entries to another consumer": [
    ...filled,
    ["XREADGROUP GROUP g alice COUNT 2 STREAMS s >", pairs([["s", [entry("1-1"), entry("2-1")]]])],
    ["XCLAIM s g bob 0 1-1 9-9", [entry("1-1")]],
    ["XCLAIM s g bob 100 2-1", []],
    ["XCLAIM s g bob 0 2-1 3-1 JUSTID FORCE RETRYCOUNT 7", ["2-1", "3-1"]],
    [
      "XPENDING s g - + 10",
      [
        ["1-1", "bob", 0, 2],
        ["2-1", "bob", 0, 7],
        ["3-1", "bob", 0, 7],
      ],
    ],
    ["XDEL s 1-1", 1],
    ["XCLAIM s g alice 0 1-1", []],
    ["XPENDING s g", [2, "2-1", "3-1", [["bob", "2"]]]],
    ["XCLAIM s g alice x 1-1", error("ERR Invalid min-idle-time argument for XCLAIM")],
    ["XCLAIM s g alice 0 1-1 WHAT", error("ERR Unrecognized XCLAIM option 'WHAT'")],
    ["XCLAIM s g alice 0 1-1 TIME x", error("ERR Invalid TIME option argument for XCLAIM")],
    ["XCLAIM s x alice 0 1-1", NO_GROUP],
  ],
  "XAUTOCLAIM iterates over pending entries": [
    ...filled,
    ["XREADGROUP GROUP g alice STREAMS s >", pairs([["s", ["1-1", "2-1", "3-1", "4-1"].map(entry)]])],
    ["XDEL s 1-1", 1],
    ["XAUTOCLAIM s g bob 0 - COUNT 2", ["3-1", [entry("2-1")], ["1-1"]]],
    ["XAUTOCLAIM s g bob 0 3-1 COUNT 5 JUSTID", ["0-0", ["3-1", "4-1"], []]],
    ["XAUTOCLAIM s g bob 1000 -", ["0-0", [], []]],
    [
      "XPENDING s g - + 10 bob",
      [
        ["2-1", "bob", 0, 2],
        ["3-1", "bob", 0, 1],
        ["4-1", "bob", 0, 1],
      ],
    ],
    ["XAUTOCLAIM s g bob 0 - COUNT 0", error("ERR COUNT must be > 0")],
    ["XAUTOCLAIM s x bob 0 -", NO_GROUP],
  ],
  "XACKDEL acknowledges and removes, and respects other groups": [
    ...filled,
    ["XGROUP CREATE s h 0", ok],
    ["XREADGROUP GROUP g alice STREAMS s >", pairs([["s", ["1-1", "2-1", "3-1", "4-1"].map(entry)]])],
    ["XREADGROUP GROUP h bob COUNT 2 STREAMS s >", pairs([["s", ["1-1", "2-1"].map(entry)]])],
    ["XACKDEL s g ACKED IDS 3 1-1 3-1 9-9", [2, 2, -1]],
    ["XACKDEL s h ACKED IDS 1 1-1", [1]],
    ["XACKDEL s g KEEPREF IDS 1 2-1", [1]],
    ["XPENDING s h", [1, "2-1", "2-1", [["bob", "1"]]]],
    ["XACKDEL s g DELREF IDS 2 4-1 4-1", [1, -1]],
    ["XRANGE s - +", [entry("3-1")]],
    // 3-1 was acknowledged above.
    ["XACKDEL s g ACKED IDS 2 3-1 3-1", [2, 2]],
    ["XACKDEL s g IDS 2 3-1 3-1", [1, -1]],
    ["XLEN s", 0],
    ["XACKDEL s x IDS 1 3-1", [-1]],
    ["XACKDEL none g IDS 1 3-1", [-1]],
    ["XACKDEL s g IDS x 3-1", error("ERR Number of IDs must be a positive integer")],
  ],
};

/** The example of Redis' page of XACKDEL, and one for each policy. */
const ackdel: Record<string, readonly Row[]> = {
  "XACKDEL KEEPREF acknowledges in its group, removes the entries, and keeps the references of other groups": [
    ...filled,
    ["XGROUP CREATE s h 0", ok],
    ["XREADGROUP GROUP g alice COUNT 2 STREAMS s >", pairs([["s", [entry("1-1"), entry("2-1")]]])],
    ["XREADGROUP GROUP h bob COUNT 1 STREAMS s >", pairs([["s", [entry("1-1")]]])],
    ["XACKDEL s g KEEPREF IDS 2 1-1 2-1", [1, 1]],
    ["XPENDING s g", [0, nil, nil, nilArray]],
    ["XPENDING s h", [1, "1-1", "1-1", [["bob", "1"]]]],
    ["XRANGE s - +", [entry("3-1"), entry("4-1")]],
  ],
  "XACKDEL DELREF removes the references of all groups, also those to entries that were removed before": [
    ...filled,
    ["XGROUP CREATE s h 0", ok],
    ["XREADGROUP GROUP g alice COUNT 2 STREAMS s >", pairs([["s", [entry("1-1"), entry("2-1")]]])],
    ["XREADGROUP GROUP h bob COUNT 2 STREAMS s >", pairs([["s", [entry("1-1"), entry("2-1")]]])],
    ["XDEL s 1-1", 1],
    ["XACK s g 1-1", 1],
    ["XACKDEL s g DELREF IDS 2 1-1 2-1", [-1, 1]],
    ["XPENDING s h", [0, nil, nil, nilArray]],
  ],
  "XACKDEL removes an entry that its group acknowledged before, but none that it has yet to read": [
    ...filled,
    ["XREADGROUP GROUP g alice COUNT 2 STREAMS s >", pairs([["s", [entry("1-1"), entry("2-1")]]])],
    ["XACK s g 1-1 2-1", 2],
    ["XACKDEL s g IDS 3 1-1 2-1 3-1", [1, 1, -1]],
    ["XACKDEL s g DELREF IDS 1 4-1", [-1]],
    ["XRANGE s - +", [entry("3-1"), entry("4-1")]],
    ["XREADGROUP GROUP g alice NOACK COUNT 1 STREAMS s >", pairs([["s", [entry("3-1")]]])],
    ["XACKDEL s g ACKED IDS 2 3-1 4-1", [1, -1]],
    ["XRANGE s - +", [entry("4-1")]],
  ],
};

for (const [name, rows] of Object.entries({ ...tables, ...ackdel })) {
  test(name, () => {
    const journal = new RecordingJournal();
    const session = startSession({ journal });
    session.expect(rows);
    assert.deepEqual(contentOf(replayed(journal.frames, session.clock)), contentOf(session.store), "journal");
    assert.deepEqual(contentOf(replayed(session.store.dump(), session.clock)), contentOf(session.store), "snapshot");
  });
}

test("idle times advance, and claims and XPENDING IDLE select by them", () => {
  const session = startSession();
  session.expect([...filled, ["XREADGROUP GROUP g alice COUNT 1 STREAMS s >", pairs([["s", [entry("1-1")]]])]]);
  session.clock.advance(500);
  session.expect([
    ["XREADGROUP GROUP g bob COUNT 1 STREAMS s >", pairs([["s", [entry("2-1")]]])],
    ["XPENDING s g IDLE 500 - + 10", [["1-1", "alice", 500, 1]]],
    ["XPENDING s g IDLE 501 - + 10", []],
    ["XCLAIM s g bob 501 1-1", []],
    ["XCLAIM s g bob 500 1-1 IDLE 200", [entry("1-1")]],
    [
      "XPENDING s g - + 10",
      [
        ["1-1", "bob", 200, 2],
        ["2-1", "bob", 0, 1],
      ],
    ],
    [
      "XINFO CONSUMERS s g",
      [
        map([
          ["name", "alice"],
          ["pending", 0],
          ["idle", 500],
        ]),
        map([
          ["name", "bob"],
          ["pending", 2],
          ["idle", 0],
        ]),
      ],
    ],
  ]);
});

test("NOACK creates no consumer, and moves the group past the entries", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.expect([
    ...filled,
    ["XREADGROUP GROUP g alice COUNT 2 NOACK STREAMS s >", pairs([["s", [entry("1-1"), entry("2-1")]]])],
    ["XINFO CONSUMERS s g", []],
    ["XPENDING s g", [0, nil, nil, nilArray]],
    [
      "XINFO GROUPS s",
      [
        map([
          ["name", "g"],
          ["consumers", 0],
          ["pending", 0],
          ["last-delivered-id", "2-1"],
          ["entries-read", 2],
          ["lag", 2],
        ]),
      ],
    ],
    ["XREADGROUP GROUP g alice NOACK STREAMS s >", pairs([["s", [entry("3-1"), entry("4-1")]]])],
    ["XREADGROUP GROUP g alice NOACK STREAMS s >", nilArray],
    ["XGROUP DELCONSUMER s g alice", 0],
  ]);
  assert.deepEqual(contentOf(replayed(journal.frames, session.clock)), contentOf(session.store));
});

test("XINFO CONSUMERS of an unknown group is empty over HTTP, and an error over RESP", () => {
  const session = startSession();
  session.expect([...filled, ["XINFO CONSUMERS s x", []]]);
  const overResp = connect(session);
  assert.deepEqual(overResp.run("XINFO CONSUMERS s x"), error("NOGROUP No such consumer group 'x' for key name 's'"));
  assert.deepEqual(overResp.run("XINFO CONSUMERS none x"), error("ERR no such key"));
});

test("XINFO GROUPS reports the lag of a group, and nil if it is unknown", () => {
  const session = startSession();
  const groups = (read: Reply, lag: Reply, lastId: string): Row => [
    "XINFO GROUPS s",
    [
      map([
        ["name", "g"],
        ["consumers", 1],
        ["pending", 1],
        ["last-delivered-id", lastId],
        ["entries-read", read],
        ["lag", lag],
      ]),
    ],
  ];
  session.expect([
    ...filled,
    ["XREADGROUP GROUP g alice COUNT 1 STREAMS s >", pairs([["s", [entry("1-1")]]])],
    groups(1, 3, "1-1"),
    ["XDEL s 3-1", 1],
    groups(1, nil, "1-1"),
    ["XGROUP SETID s g 4-1", ok],
    groups(nil, 0, "4-1"),
  ]);
});

test("XGROUP HELP and XINFO HELP describe their subcommands", () => {
  const session = startSession();
  for (const [line, first] of [
    ["XGROUP HELP", "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"],
    ["XINFO HELP", "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"],
  ] as const)
    assert.deepEqual((session.run(line) as Reply[])[0], { kind: "simple", text: first });
});

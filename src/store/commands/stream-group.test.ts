/** The commands on consumer groups: input and literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import { error, nil, nilArray, ok, type Row, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { connect } from "../../../test/harness/waiting-callers.ts";
import { map, pairs, type Reply } from "../reply/reply.ts";

const NO_KEY = error(
  "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may want to use the MKSTREAM option to create an empty stream automatically.",
);
const NO_GROUP = error("NOGROUP No such key 's' or consumer group 'x'");

function entry(id: string): Reply {
  return [id, ["n", id]];
}

const filling = ["a", "b", "c", "d", "e"].map((value, i) => `XADD x ${i + 1}-0 data ${value}`).join("; ");

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
    assert.deepEqual(contentOf(restored(session.store.dump(), session.clock)), contentOf(session.store), "snapshot");
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
          ["inactive", 500],
        ]),
        map([
          ["name", "bob"],
          ["pending", 2],
          ["idle", 0],
          ["inactive", 0],
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

/** `entries-read` and `lag` of each group of the stream `x`. */
function progressOf(session: Session): unknown {
  const groups = session.run("XINFO GROUPS x") as readonly { readonly pairs: readonly (readonly [Reply, Reply])[] }[];
  return groups.map(({ pairs: facts }) => facts.slice(-2).map(([, value]) => value));
}

type Progress = readonly (readonly [entriesRead: number | null, lag: number | null])[];

/** The tests of Redis 8 about the lag: lines, and what the groups of `x` then report. */
const lags: Record<string, readonly (readonly [lines: string, groups: Progress])[]> = {
  "the lag of a group is known in streams without entries": [
    ["XGROUP CREATE x g1 0 MKSTREAM", [[null, 0]]],
    ["XADD x 1-0 data a; XDEL x 1-0", [[null, 0]]],
  ],
  "the lag of a group is the number of entries that it has yet to read": [
    [`${filling}; XGROUP CREATE x g1 0`, [[null, 5]]],
    ["XREADGROUP GROUP g1 c11 COUNT 1 STREAMS x >", [[1, 4]]],
    ["XREADGROUP GROUP g1 c12 COUNT 10 STREAMS x >", [[5, 0]]],
    ["XADD x 6-0 data f", [[5, 1]]],
  ],
  "the lag is unknown while a deleted entry may be ahead of the group": [
    [
      `${filling}; XDEL x 3-0; XGROUP CREATE x g1 0; XGROUP CREATE x g2 0`,
      [
        [null, null],
        [null, null],
      ],
    ],
    ...[1, 2, 3].map((): readonly [string, Progress] => [
      "XREADGROUP GROUP g1 c11 COUNT 1 STREAMS x >",
      [
        [null, null],
        [null, null],
      ],
    ]),
    [
      "XREADGROUP GROUP g1 c11 COUNT 1 STREAMS x >",
      [
        [5, 0],
        [null, null],
      ],
    ],
    [
      "XADD x 6-0 data f",
      [
        [5, 1],
        [null, null],
      ],
    ],
    [
      "XTRIM x MINID = 3-0",
      [
        [5, 1],
        [null, 3],
      ],
    ],
    [
      "XTRIM x MINID = 5-0",
      [
        [5, 1],
        [null, 2],
      ],
    ],
  ],
  "the lag is known again once the stream begins after the deleted entry": [
    ["XGROUP CREATE x g1 $ MKSTREAM; XADD x 1-0 data a; XREADGROUP GROUP g1 alice STREAMS x >", [[1, 0]]],
    ["XADD x 2-0 data c; XADD x 3-0 data d; XDEL x 2-0", [[1, null]]],
    ["XDEL x 1-0", [[1, 1]]],
    ["XREADGROUP GROUP g1 alice STREAMS x >", [[3, 0]]],
  ],
  "trimmed entries do not count for the lag": [
    [`XGROUP CREATE x mygroup $ MKSTREAM; ${filling}; XREADGROUP GROUP mygroup alice COUNT 1 STREAMS x >`, [[1, 4]]],
    ["XTRIM x MAXLEN 1", [[1, 1]]],
    ["XREADGROUP GROUP mygroup alice STREAMS x >", [[5, 0]]],
    ["XADD x 6-0 data f", [[5, 1]]],
    ["XTRIM x MAXLEN 0", [[5, 0]]],
  ],
  "ENTRIESREAD counts at most the entries that were added": [
    [`${filling}; XGROUP CREATE x g1 2-0 ENTRIESREAD 2`, [[2, 3]]],
    ["XGROUP SETID x g1 4-0 ENTRIESREAD 9", [[5, 0]]],
    ["XGROUP SETID x g1 5-0", [[null, 0]]],
  ],
};

for (const [name, steps] of Object.entries(lags)) {
  test(name, () => {
    const journal = new RecordingJournal();
    const session = startSession({ journal });
    for (const [lines, groups] of steps) {
      for (const line of lines.split("; ")) session.run(line);
      assert.deepEqual(progressOf(session), groups, lines);
    }
    assert.deepEqual(contentOf(replayed(journal.frames, session.clock)), contentOf(session.store), "journal");
  });
}

/** `idle` and `inactive` of each consumer of `s` and `g`. */
function timesOf(session: Session): unknown {
  const consumers = session.run("XINFO CONSUMERS s g") as readonly { readonly pairs: readonly (readonly Reply[])[] }[];
  return consumers.map(({ pairs: facts }) => [facts[0]?.[1], facts[2]?.[1], facts[3]?.[1]]);
}

test("idle counts from the last attempt to read or claim, inactive from the last one that got entries", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  const after = (ms: number, line: string, expected: unknown): void => {
    session.clock.advance(ms);
    session.run(line);
    assert.deepEqual(timesOf(session), expected, line);
  };
  session.run("XGROUP CREATE s g $ MKSTREAM");
  after(0, "XREADGROUP GROUP g alice STREAMS s >", [["alice", 0, -1]]);
  after(2_000, "XADD s 1-1 n v", [["alice", 2_000, -1]]);
  after(0, "XREADGROUP GROUP g alice STREAMS s >", [["alice", 0, 0]]);
  after(3_000, "XREADGROUP GROUP g alice STREAMS s >", [["alice", 0, 3_000]]);
  after(1_000, "XREADGROUP GROUP g alice STREAMS s 0", [["alice", 0, 4_000]]);
  after(1_000, "XREADGROUP GROUP g alice NOACK STREAMS s >", [["alice", 0, 5_000]]);
  after(1_000, "XCLAIM s g bob 60000 1-1", [
    ["alice", 1_000, 6_000],
    ["bob", 0, -1],
  ]);
  after(1_000, "XAUTOCLAIM s g bob 0 -", [
    ["alice", 2_000, 7_000],
    ["bob", 0, 0],
  ]);
  after(1_000, "XAUTOCLAIM s g carol 60000 -", [
    ["alice", 3_000, 8_000],
    ["bob", 1_000, 1_000],
    ["carol", 0, -1],
  ]);
  session.run("COPY s t");
  session.run("RENAME t s");
  after(0, "XLEN s", [
    ["alice", 3_000, 8_000],
    ["bob", 1_000, 1_000],
    ["carol", 0, -1],
  ]);
  for (const frames of [journal.frames, session.store.dump()])
    assert.deepEqual(contentOf(replayed(frames, session.clock)), contentOf(session.store));
});

test("XINFO STREAM FULL has the times of a consumer", () => {
  const session = startSession();
  const nowMs = session.clock.nowMs();
  session.expect([
    ["XADD s 1-1 n v", "1-1"],
    ["XGROUP CREATE s g 0", ok],
    ["XREADGROUP GROUP g alice STREAMS s >", pairs([["s", [["1-1", ["n", "v"]]]]])],
    ["XGROUP CREATECONSUMER s g bob", 1],
  ]);
  const { pairs: facts } = session.run("XINFO STREAM s FULL") as { readonly pairs: readonly (readonly Reply[])[] };
  assert.deepEqual(facts.at(-1), [
    "groups",
    [
      map([
        ["name", "g"],
        ["last-delivered-id", "1-1"],
        ["entries-read", 1],
        ["lag", 0],
        ["pel-count", 1],
        ["pending", [["1-1", "alice", nowMs, 1]]],
        [
          "consumers",
          [
            map([
              ["name", "alice"],
              ["seen-time", nowMs],
              ["active-time", nowMs],
              ["pel-count", 1],
              ["pending", [["1-1", nowMs, 1]]],
            ]),
            map([
              ["name", "bob"],
              ["seen-time", nowMs],
              ["active-time", -1],
              ["pel-count", 0],
              ["pending", []],
            ]),
          ],
        ],
      ]),
    ],
  ]);
});

/** The examples of Redis' tests about pending entries that were deleted or trimmed. */
const gone: readonly (readonly [name: string, rows: readonly Row[]])[] = [
  [
    "XCLAIM of deleted entries removes them from the pending ones",
    [
      ["XDEL x 2-0", 1],
      [
        "XCLAIM x grp Bob 0 1-0 2-0 3-0",
        [
          ["1-0", ["f", "v"]],
          ["3-0", ["f", "v"]],
        ],
      ],
      ["XPENDING x grp - + 10 Alice", []],
    ],
  ],
  [
    "XCLAIM of trimmed entries removes them from the pending ones",
    [
      ["XTRIM x MAXLEN 1", 2],
      ["XCLAIM x grp Bob 0 1-0 2-0 3-0", [["3-0", ["f", "v"]]]],
      ["XPENDING x grp - + 10 Alice", []],
    ],
  ],
  [
    "XAUTOCLAIM returns the ids of deleted entries",
    [
      ["XDEL x 2-0", 1],
      [
        "XAUTOCLAIM x grp Bob 0 0-0",
        [
          "0-0",
          [
            ["1-0", ["f", "v"]],
            ["3-0", ["f", "v"]],
          ],
          ["2-0"],
        ],
      ],
      ["XPENDING x grp - + 10 Alice", []],
    ],
  ],
  [
    "XAUTOCLAIM counts deleted entries",
    [
      ["XDEL x 1-0 2-0", 2],
      ["XAUTOCLAIM x grp Bob 0 0-0 COUNT 1", ["2-0", [], ["1-0"]]],
      ["XAUTOCLAIM x grp Bob 0 2-0 COUNT 1", ["3-0", [], ["2-0"]]],
      ["XAUTOCLAIM x grp Bob 0 3-0 COUNT 1", ["0-0", [["3-0", ["f", "v"]]], []]],
      ["XPENDING x grp - + 10 Alice", []],
      ["XAUTOCLAIM x grp Bob 0 3-0 COUNT 8070450532247928833", error("ERR COUNT must be > 0")],
    ],
  ],
];

for (const [name, rows] of gone) {
  test(name, () => {
    const ids = ["1-0", "2-0", "3-0"];
    startSession().expect([
      ...ids.map((id): Row => [`XADD x ${id} f v`, id]),
      ["XGROUP CREATE x grp 0", ok],
      ["XREADGROUP GROUP grp Alice STREAMS x >", pairs([["x", ids.map((id) => [id, ["f", "v"]])]])],
      ...rows,
    ]);
  });
}

test("XGROUP HELP and XINFO HELP describe their subcommands", () => {
  const session = startSession();
  for (const [line, first] of [
    ["XGROUP HELP", "XGROUP <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"],
    ["XINFO HELP", "XINFO <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"],
  ] as const)
    assert.deepEqual((session.run(line) as Reply[])[0], { kind: "simple", text: first });
});

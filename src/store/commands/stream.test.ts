/** The stream commands: input and literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, nil, nilArray, ok, type Row, startSession } from "../../../test/harness/store-harness.ts";
import { map, pairs } from "../reply/reply.ts";

const WRONG_TYPE = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const NOT_INTEGER = error("ERR value is not an integer or out of range");
const SYNTAX = error("ERR syntax error");
const BAD_ID = error("ERR Invalid stream ID specified as stream command argument");
const NOT_GREATER = error("ERR The ID specified in XADD is equal or smaller than the target stream top item");

const tables: Record<string, readonly Row[]> = {
  "XADD accepts increasing ids, complete or partial": [
    ["XADD s 1-1 a 1", "1-1"],
    ["XADD s 1-* a 2", "1-2"],
    ["XADD s 5 a 3 b 4", "5-0"],
    ["XADD s 5-* a 5", "5-1"],
    ["XADD s 5-1 a 6", NOT_GREATER],
    ["XADD s 4-* a 6", NOT_GREATER],
    ["XADD s 0-0 a 6", error("ERR The ID specified in XADD must be greater than 0-0")],
    ["XADD s x a 6", BAD_ID],
    ["XADD s - a 6", BAD_ID],
    ["XADD s 6-1 a", error("ERR wrong number of arguments for 'xadd' command")],
    ["XADD s 6-1 a 1 b", error("ERR wrong number of arguments for 'xadd' command")],
    ["XADD none NOMKSTREAM * a 1", nil],
    ["XADD s IDMPAUTO producer * a 1", error("ERR IDMP and IDMPAUTO of XADD are not available")],
    ["XADD s IDMP producer 1 7-1 a 1", error("ERR IDMP and IDMPAUTO of XADD are not available")],
    ["XADD none 0-* a 1", "0-1"],
    ["XLEN s", 4],
    ["XLEN missing", 0],
    ["TYPE s", { kind: "simple", text: "stream" }],
    ["OBJECT ENCODING s", "stream"],
    [
      "XRANGE s - +",
      [
        ["1-1", ["a", "1"]],
        ["1-2", ["a", "2"]],
        ["5-0", ["a", "3", "b", "4"]],
        ["5-1", ["a", "5"]],
      ],
    ],
    ["SET k v", ok],
    ["XADD k * a 1", WRONG_TYPE],
    ["XLEN k", WRONG_TYPE],
  ],
  "the greatest id ends a stream": [
    ["XADD s 18446744073709551615-18446744073709551614 a 1", "18446744073709551615-18446744073709551614"],
    ["XADD s * a 2", "18446744073709551615-18446744073709551615"],
    ["XADD s * a 3", error("ERR The stream has exhausted the last possible ID, unable to add more items")],
    ["XADD t 5-18446744073709551615 a 1", "5-18446744073709551615"],
    ["XADD t 5-* a 1", NOT_GREATER],
    ["XADD t 18446744073709551616-1 a 1", BAD_ID],
  ],
  "XADD and XTRIM trim to a length or from an id on": [
    ...Array.from({ length: 12 }, (_, i): Row => [`XADD s ${i + 1}-1 a ${i}`, `${i + 1}-1`]),
    ["XTRIM s MAXLEN 10", 2],
    ["XTRIM s MAXLEN = 10", 0],
    ["XTRIM s MINID 6", 3],
    ["XTRIM s MINID = 7", 1],
    ["XADD s MAXLEN 3 13-1 a x", "13-1"],
    ["XRANGE s - + COUNT 1", [["11-1", ["a", "10"]]]],
    ["XLEN s", 3],
    ["XTRIM s MAXLEN -1", error("ERR The MAXLEN argument must be >= 0.")],
    ["XTRIM s MAXLEN x", NOT_INTEGER],
    ["XTRIM s MINID x", BAD_ID],
    [
      "XTRIM s MAXLEN 5 MINID 5",
      error("ERR syntax error, MAXLEN and MINID options at the same time are not compatible"),
    ],
    ["XTRIM s MAXLEN 5 LIMIT 5", error("ERR syntax error, LIMIT cannot be used without the special ~ option")],
    ["XTRIM s LIMIT 5 5", SYNTAX],
    ["XTRIM s MAXLEN ~ 5 LIMIT -5", error("ERR The LIMIT argument must be >= 0.")],
    ["XADD s LIMIT 5 14-1 a b", error("ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")],
    ["XTRIM s MAXLEN 0", 3],
    ["EXISTS s", 1],
    ["XTRIM none MAXLEN 0", 0],
    ["XTRIM s MAXLEN 1 ACKED DELREF", SYNTAX],
    ["XADD s ACKED DELREF MAXLEN 1 14-1 a b", BAD_ID],
  ],
  "~ removes nothing while fewer than 100 entries are too many, and all of them, up to LIMIT, from 100 on": [
    ...Array.from({ length: 130 }, (_, i): Row => [`XADD s ${i + 1}-1 a ${i}`, `${i + 1}-1`]),
    ["XTRIM s MAXLEN ~ 31", 0],
    ["XTRIM s MINID ~ 100-1", 0],
    ["XADD s MAXLEN ~ 32 131-1 a x", "131-1"],
    ["XLEN s", 131],
    ["XTRIM s MAXLEN ~ 31 LIMIT 7", 7],
    ["XTRIM s MINID ~ 108 LIMIT 5", 5],
    ["XTRIM s MINID ~ 113-0 LIMIT 0", 100],
    ["XRANGE s - + COUNT 1", [["113-1", ["a", "112"]]]],
    ["XTRIM s MAXLEN ~ 0", 0],
    ["XLEN s", 19],
    ...Array.from({ length: 84 }, (_, i): Row => [`XADD s ${i + 132}-1 a ${i}`, `${i + 132}-1`]),
    ["XADD s MAXLEN ~ 4 300-1 a x", "300-1"],
    ["XLEN s", 4],
  ],
  "XRANGE and XREVRANGE accept open ends, excluded ends and a count": [
    ...["1-1", "1-2", "2-1", "3-1"].map((id): Row => [`XADD s ${id} n ${id}`, id]),
    [
      "XRANGE s 1 1",
      [
        ["1-1", ["n", "1-1"]],
        ["1-2", ["n", "1-2"]],
      ],
    ],
    ["XRANGE s (1-1 (2-1", [["1-2", ["n", "1-2"]]]],
    ["XREVRANGE s + - COUNT 1", [["3-1", ["n", "3-1"]]]],
    [
      "XREVRANGE s (3-1 1-2",
      [
        ["2-1", ["n", "2-1"]],
        ["1-2", ["n", "1-2"]],
      ],
    ],
    ["XRANGE s 3 2", []],
    ["XRANGE s - + COUNT 0", nilArray],
    ["XRANGE none - + COUNT 0", []],
    ["XRANGE s - + COUNT", SYNTAX],
    ["XRANGE s - + COUNT x", NOT_INTEGER],
    ["XRANGE s (+ +", BAD_ID],
    ["XRANGE s (18446744073709551615-18446744073709551615 +", error("ERR invalid start ID for the interval")],
    ["XRANGE s - (0-0", error("ERR invalid end ID for the interval")],
  ],
  "XDEL and XSETID": [
    ...["1-1", "2-1", "3-1"].map((id): Row => [`XADD s ${id} n ${id}`, id]),
    ["XDEL s 2-1 2-1 9-9", 1],
    ["XDEL s x", BAD_ID],
    ["XDEL none 1-1", 0],
    ["XSETID s 2-0", error("ERR The ID specified in XSETID is smaller than current max_deleted_entry_id")],
    ["XSETID s 2-1", error("ERR The ID specified in XSETID is smaller than the target stream top item")],
    [
      "XSETID s 9-0 ENTRIESADDED 1",
      error("ERR The entries_added specified in XSETID is smaller than the target stream length"),
    ],
    ["XSETID s 9-0 ENTRIESADDED -1", error("ERR entries_added must be positive")],
    [
      "XSETID s 9-0 MAXDELETEDID 9-1",
      error("ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"),
    ],
    ["XSETID s 9-0 ENTRIESADDED 7 MAXDELETEDID 8-1", ok],
    ["XSETID none 9-0", error("ERR no such key")],
    ["XADD s 9-* a b", "9-1"],
    ["XSETID s 9-2 WHAT 1", SYNTAX],
  ],
  "XREAD returns the entries after the ids, stream by stream": [
    ...["1-1", "2-1"].map((id): Row => [`XADD s ${id} n ${id}`, id]),
    ["XADD t 5-1 n m", "5-1"],
    [
      "XREAD COUNT 1 STREAMS s t none 0 0 0",
      pairs([
        ["s", [["1-1", ["n", "1-1"]]]],
        ["t", [["5-1", ["n", "m"]]]],
      ]),
    ],
    ["XREAD STREAMS s t 1-1 5-1", pairs([["s", [["2-1", ["n", "2-1"]]]]])],
    ["XREAD STREAMS s $", nilArray],
    ["XREAD STREAMS s 18446744073709551615-18446744073709551615", nilArray],
    [
      "XREAD STREAMS s t 0",
      error("ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified."),
    ],
    ["XREAD COUNT 1 s 0", SYNTAX],
    [
      "XREAD GROUP g c STREAMS s 0",
      error("ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead."),
    ],
    [
      "XREAD STREAMS s >",
      error("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."),
    ],
    ["SET k v", ok],
    ["XREAD STREAMS s k 0 0", WRONG_TYPE],
    ["COMMAND GETKEYS XREAD COUNT 1 STREAMS s t 0 0", ["s", "t"]],
    ["COMMAND GETKEYS XREADGROUP GROUP g c STREAMS s 0", ["s"]],
    ["COMMAND GETKEYS XREAD COUNT 1 s 0", error("ERR Invalid arguments specified for command")],
  ],
  "XREAD returns the last entry with +, whatever the count, also if later ones were deleted": [
    ["XADD lestream 1-0 k1 v1", "1-0"],
    ["XADD lestream 2-0 k2 v2", "2-0"],
    ["XADD lestream 3-0 k3 v3", "3-0"],
    ["XREAD STREAMS lestream +", pairs([["lestream", [["3-0", ["k3", "v3"]]]]])],
    ["XREAD COUNT 3 STREAMS lestream +", pairs([["lestream", [["3-0", ["k3", "v3"]]]]])],
    ["XDEL lestream 3-0", 1],
    ["XREAD STREAMS lestream none + +", pairs([["lestream", [["2-0", ["k2", "v2"]]]]])],
    ["XREAD STREAMS none +", nilArray],
    ["XTRIM lestream MAXLEN 0", 2],
    ["XREAD STREAMS lestream +", nilArray],
    ["XGROUP CREATE lestream g 0", ok],
    [
      "XREADGROUP GROUP g c STREAMS lestream +",
      error(
        "ERR The + ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The + ID would just return an empty result set.",
      ),
    ],
  ],
  "blocking reads are not available over HTTP": [
    [
      "XREAD BLOCK 0 STREAMS s $",
      error("ERR Command is not available: 'XREAD BLOCK'. See docs/reference/commands.md of larder for its commands"),
    ],
    ["XREAD BLOCK x STREAMS s $", error("ERR timeout is not an integer or out of range")],
    ["XREAD BLOCK -1 STREAMS s $", error("ERR timeout is negative")],
    ["XADD s 1-1 a b", "1-1"],
    ["XGROUP CREATE s g 0", ok],
    [
      "XREADGROUP GROUP g c BLOCK 10 STREAMS s >",
      error(
        "ERR Command is not available: 'XREADGROUP BLOCK'. See docs/reference/commands.md of larder for its commands",
      ),
    ],
  ],
  "KEEPREF, DELREF and ACKED of XADD, XTRIM and XDELEX": [
    ...["1-1", "2-1", "3-1", "4-1"].map((id): Row => [`XADD s ${id} n v`, id]),
    ["XGROUP CREATE s g 0", ok],
    ["XREADGROUP GROUP g c COUNT 3 STREAMS s >", pairs([["s", ["1-1", "2-1", "3-1"].map((id) => [id, ["n", "v"]])]])],
    ["XACK s g 1-1", 1],
    ["XTRIM s MAXLEN 2 ACKED", 1],
    ["XDELEX s ACKED IDS 3 1-1 2-1 4-1", [-1, 2, 2]],
    ["XDELEX s IDS 1 2-1", [1]],
    ["XPENDING s g", [2, "2-1", "3-1", [["c", "2"]]]],
    ["XDELEX s DELREF IDS 2 2-1 3-1", [-1, 1]],
    ["XPENDING s g", [0, nil, nil, nilArray]],
    ["XREADGROUP GROUP g c STREAMS s >", pairs([["s", [["4-1", ["n", "v"]]]]])],
    ["XADD s DELREF MAXLEN 1 5-1 n w", "5-1"],
    ["XPENDING s g", [0, nil, nil, nilArray]],
    ["XRANGE s - +", [["5-1", ["n", "w"]]]],
    ["XDELEX none IDS 2 1-1 1-2", [-1, -1]],
    ["XDELEX s IDS 0 1-1", error("ERR Number of IDs must be a positive integer")],
    ["XDELEX s IDS 2 1-1", error("ERR The `numids` parameter must match the number of arguments")],
    ["XDELEX s IDS 1 1-1 1-2", SYNTAX],
    ["XDELEX s KEEPREF DELREF IDS 1 1-1", SYNTAX],
    ["XDELEX s IDS 1 1-1 ACKED", [-1]],
    ["XDELEX s KEEPREF 1 1-1", SYNTAX],
  ],
};

for (const [name, rows] of Object.entries(tables)) {
  test(name, () => {
    const journal = new RecordingJournal();
    const session = startSession({ journal });
    session.expect(rows);
    assert.deepEqual(contentOf(replayed(journal.frames, session.clock)), contentOf(session.store));
  });
}

test("XSETID with the values that a stream has writes no record", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.expect([
    ["XADD s 1-1 a 1", "1-1"],
    ["XADD s 2-1 a 2", "2-1"],
    ["XDEL s 1-1", 1],
  ]);
  const before = journal.frames.length;

  session.expect([
    ["XSETID s 2-1", ok],
    ["XSETID s 2-1 ENTRIESADDED 2", ok],
    ["XSETID s 2-1 ENTRIESADDED 2 MAXDELETEDID 1-1", ok],
  ]);
  assert.equal(journal.frames.length, before);

  session.expect([["XSETID s 2-2", ok]]);
  assert.equal(journal.frames.length, before + 1);
});

test("XADD with * uses the current time, and never goes back", () => {
  const session = startSession();
  const nowMs = session.clock.nowMs();
  session.expect([
    ["XADD s * a 1", `${nowMs}-0`],
    ["XADD s * a 2", `${nowMs}-1`],
    [`XADD s ${nowMs + 5000}-7 a 3`, `${nowMs + 5000}-7`],
    ["XADD s * a 4", `${nowMs + 5000}-8`],
  ]);
  session.clock.advance(6000);
  session.expect([["XADD s * a 5", `${nowMs + 6000}-0`]]);
});

test("XINFO STREAM returns the properties of a stream", () => {
  const session = startSession();
  for (const id of ["1-1", "2-1", "3-1"]) session.call("XADD", "s", id, "n", id);
  session.call("XDEL", "s", "2-1");
  session.expect([
    [
      "XINFO STREAM s",
      map([
        ["length", 2],
        ["radix-tree-keys", 1],
        ["radix-tree-nodes", 2],
        ["last-generated-id", "3-1"],
        ["max-deleted-entry-id", "2-1"],
        ["entries-added", 3],
        ["recorded-first-entry-id", "1-1"],
        ["groups", 0],
        ["first-entry", ["1-1", ["n", "1-1"]]],
        ["last-entry", ["3-1", ["n", "3-1"]]],
      ]),
    ],
    ["XINFO STREAM none", error("ERR no such key")],
    [
      "XINFO STREAM s FULL COUNT",
      error("ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP."),
    ],
  ]);
});

/** The list commands: input and literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import { error, nil, nilArray, ok, type Row, startSession } from "../../../test/harness/store-harness.ts";

const WRONG_TYPE = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const NOT_INTEGER = error("ERR value is not an integer or out of range");
const SYNTAX = error("ERR syntax error");

const tables: Record<string, readonly Row[]> = {
  "pushes add one element after the other and return the new length": [
    ["RPUSH k a b c", 3],
    ["LPUSH k x y", 5],
    ["LRANGE k 0 -1", ["y", "x", "a", "b", "c"]],
    ["LLEN k", 5],
    ["LLEN none", 0],
    ["TYPE k", { kind: "simple", text: "list" }],
    ["OBJECT ENCODING k", "quicklist"],
    ["RPUSHX none a", 0],
    ["LPUSHX none a", 0],
    ["EXISTS none", 0],
    ["RPUSHX k z", 6],
    ["LPUSHX k 1 2", 8],
    ["SET s v", ok],
    ["LPUSH s v", WRONG_TYPE],
    ["RPUSHX s v", WRONG_TYPE],
    ["LPUSH k", error("ERR wrong number of arguments for 'lpush' command")],
  ],
  "pops remove from the ends, and the key goes with its last element": [
    ["RPUSH k a b c d e", 5],
    ["LPOP k", "a"],
    ["RPOP k", "e"],
    ["RPOP k 2", ["d", "c"]],
    ["LPOP k 0", []],
    ["LPOP k 10", ["b"]],
    ["EXISTS k", 0],
    ["LPOP k", nil],
    ["LPOP k 1", nilArray],
    ["LPOP k -1", error("ERR value is out of range, must be positive")],
    ["LPOP k x", error("ERR value is out of range, must be positive")],
    ["LPOP k 1 2", error("ERR wrong number of arguments for 'lpop' command")],
    ["SET s v", ok],
    ["RPOP s", WRONG_TYPE],
  ],
  "LMPOP pops from the first list that is not empty": [
    ["RPUSH b 1 2 3 4", 4],
    ["LMPOP 2 a b LEFT", ["b", ["1"]]],
    ["LMPOP 2 a b right COUNT 2", ["b", ["4", "3"]]],
    ["LMPOP 1 a LEFT", nilArray],
    ["LMPOP 0 a LEFT", error("ERR numkeys should be greater than 0")],
    ["LMPOP x a LEFT", error("ERR numkeys should be greater than 0")],
    ["LMPOP 5 a LEFT", SYNTAX],
    ["LMPOP 1 b LEFT COUNT 0", error("ERR count should be greater than 0")],
    ["LMPOP 1 b LEFT COUNT", SYNTAX],
    ["LMPOP 1 b LEFT COUNT 1 COUNT 1", SYNTAX],
    ["LMPOP 1 b MIDDLE", SYNTAX],
    ["COMMAND GETKEYS LMPOP 2 a b LEFT", ["a", "b"]],
  ],
  "LINDEX, LSET and LRANGE count from either end": [
    ["RPUSH k a b c", 3],
    ["LINDEX k 0", "a"],
    ["LINDEX k -1", "c"],
    ["LINDEX k 3", nil],
    ["LINDEX k -4", nil],
    ["LINDEX k x", NOT_INTEGER],
    ["LINDEX none x", nil],
    ["LSET k -2 B", ok],
    ["LSET k 3 x", error("ERR index out of range")],
    ["LSET k x x", NOT_INTEGER],
    ["LSET none x x", error("ERR no such key")],
    ["LRANGE k -2 -1", ["B", "c"]],
    ["LRANGE k -100 100", ["a", "B", "c"]],
    ["LRANGE k 2 1", []],
    ["LRANGE k 5 9", []],
    ["LRANGE none 0 x", NOT_INTEGER],
    ["LRANGE none 0 1", []],
  ],
  "LINSERT finds its pivot from the left": [
    ["RPUSH k a b a", 3],
    ["LINSERT k BEFORE a x", 4],
    ["LINSERT k after b y", 5],
    ["LRANGE k 0 -1", ["x", "a", "b", "y", "a"]],
    ["LINSERT k AFTER none z", -1],
    ["LINSERT none AFTER a z", 0],
    ["LINSERT none AT a z", SYNTAX],
  ],
  "LREM removes from the left, from the right, or all": [
    ["RPUSH k a b a c a a", 6],
    ["LREM k 1 a", 1],
    ["LREM k -2 a", 2],
    ["LRANGE k 0 -1", ["b", "a", "c"]],
    ["LREM k 0 none", 0],
    ["LREM k x a", NOT_INTEGER],
    ["LREM none 1 a", 0],
    ["RPUSH all v v v", 3],
    ["LREM all 0 v", 3],
    ["EXISTS all", 0],
  ],
  "LTRIM keeps a range": [
    ["RPUSH k a b c d e", 5],
    ["LTRIM k 1 -2", ok],
    ["LRANGE k 0 -1", ["b", "c", "d"]],
    ["LTRIM k 5 9", ok],
    ["EXISTS k", 0],
    ["LTRIM none 0 x", NOT_INTEGER],
    ["LTRIM none 0 1", ok],
  ],
  "LPOS applies RANK, COUNT and MAXLEN": [
    ["RPUSH k a b c 1 2 3 c c", 8],
    ["LPOS k c", 2],
    ["LPOS k c RANK 2", 6],
    ["LPOS k c RANK -1", 7],
    ["LPOS k c COUNT 2", [2, 6]],
    ["LPOS k c COUNT 0", [2, 6, 7]],
    ["LPOS k c RANK -1 COUNT 2", [7, 6]],
    ["LPOS k c COUNT 0 MAXLEN 7", [2, 6]],
    ["LPOS k c RANK -1 COUNT 0 MAXLEN 2", [7, 6]],
    ["LPOS k none", nil],
    ["LPOS k none COUNT 1", []],
    ["LPOS none a", nil],
    ["LPOS none a COUNT 0", []],
    [
      "LPOS k c RANK 0",
      error(
        "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
      ),
    ],
    [
      "LPOS k c RANK -9223372036854775808",
      error("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"),
    ],
    ["LPOS k c RANK -9223372036854775807", nil],
    ["LPOS k c COUNT -1", error("ERR COUNT can't be negative")],
    ["LPOS k c MAXLEN x", error("ERR MAXLEN can't be negative")],
    ["LPOS k c RANK", SYNTAX],
  ],
  "LMOVE and RPOPLPUSH move one element": [
    ["RPUSH a 1 2 3", 3],
    ["RPOPLPUSH a b", "3"],
    ["LMOVE a b LEFT RIGHT", "1"],
    ["LRANGE b 0 -1", ["3", "1"]],
    ["LMOVE b b left right", "3"],
    ["LRANGE b 0 -1", ["1", "3"]],
    ["LMOVE none b LEFT LEFT", nil],
    ["LMOVE none b UP LEFT", SYNTAX],
    ["SET s v", ok],
    ["LMOVE none s LEFT LEFT", nil],
    ["LMOVE a s LEFT LEFT", WRONG_TYPE],
    ["RPOPLPUSH s a", WRONG_TYPE],
    ["LMOVE a b LEFT LEFT", "2"],
    ["EXISTS a", 0],
    ["RPUSH one x", 1],
    ["EXPIRE one 100", 1],
    ["RPOPLPUSH one one", "x"],
    ["TTL one", 100],
  ],
};

for (const [fact, rows] of Object.entries(tables)) test(fact, () => startSession().expect(rows));

test("COPY, RENAME, DUMP and RESTORE work on lists", () => {
  const session = startSession();
  const elements = Array.from({ length: 1_000 }, (_, i) => `element ${i}`);
  session.call("RPUSH", "k", ...elements);
  const dump = session.call("DUMP", "k") as string;

  session.expect([
    ["COPY k copy", 1],
    ["RENAME k other", ok],
    ["LSET copy 500 changed", ok],
    ["LINDEX other 500", "element 500"],
    ["LINDEX copy 500", "changed"],
  ]);
  assert.deepEqual(session.call("RESTORE", "again", "0", dump), ok);
  assert.deepEqual(session.call("LRANGE", "again", "0", "-1"), elements);
});

test("a push and a move are one record each: journal and snapshot rebuild a long list", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  const before = journal.frames.length;
  session.call("RPUSH", "k", ...Array.from({ length: 5_000 }, (_, i) => `element ${i}`));
  assert.equal(journal.frames.length, before + 1);
  session.expect([
    ["LMOVE k other LEFT RIGHT", "element 0"],
    ["LTRIM k 10 -10", ok],
    ['LREM k -1 "element 2500"', 1],
    ['LINSERT k BEFORE "element 300" x', 4_980],
    ["LPOP k 3", ["element 11", "element 12", "element 13"]],
  ]);

  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
  assert.deepEqual(contentOf(restored(session.store.dump())), contentOf(session.store));
});

test("A-15: refuses a reply beyond its bound, and LPOP then removes nothing", () => {
  const session = startSession();
  const megabyte = "m".repeat(1024 * 1024);
  for (let i = 0; i < 130; i += 1) session.call("RPUSH", "k", megabyte);

  session.expect([
    ["LRANGE k 0 -1", error("ERR reply exceeds the maximum allowed size")],
    ["LPOP k 1000", error("ERR reply exceeds the maximum allowed size")],
    ["LMPOP 1 k LEFT COUNT 1000", error("ERR reply exceeds the maximum allowed size")],
    ["LLEN k", 130],
  ]);
});

test("the work of commands at the ends and of lookups does not grow with the length", () => {
  for (const length of [1_000, 100_000]) {
    const session = startSession();
    for (let i = 0; i < length; i += 1_000)
      session.call("RPUSH", "k", ...Array.from({ length: 1_000 }, (_, j) => `element ${i + j}`));
    const list = session.database.keyspace.readList("k");
    assert.ok(list !== undefined);
    for (const line of [
      "LPUSH k x",
      "RPUSH k x",
      "LPOP k",
      "RPOP k",
      "LMOVE k k LEFT RIGHT",
      "LINDEX k 500",
      "LLEN k",
    ]) {
      const before = list.work;
      for (let i = 0; i < 300; i += 1) session.run(line);
      const work: number = (list.work - before) / 300;
      assert.ok(work <= 10, `${line}: ${work} with ${length} elements`);
    }
    const before = list.work;
    session.call("LRANGE", "k", `${length / 2}`, `${length / 2 + 99}`);
    assert.ok(list.work - before <= 10);
  }
});

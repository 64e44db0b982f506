/** The commands of search indexes: input and literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  error,
  nil,
  nilArray,
  ok,
  type Session,
  startSession,
  testCaller,
} from "../../../test/harness/store-harness.ts";
import { map, type Reply, simple } from "../reply/reply.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const syntax = error("ERR syntax error");

function refused(reason: string): Reply {
  return error(`ERR syntax error: ${reason}`);
}

/** An index over hashes, with three documents. */
function withBooks(): Session {
  const session = startSession();
  session.expect([
    ["SEARCH.CREATE books ON HASH PREFIX 1 book: SCHEMA title TEXT year U64 FAST shelf KEYWORD", 1],
    ['HSET book:1 title "Running in the rain" year 1999 shelf a', 3],
    ['HSET book:2 title "The rain" year 2005 shelf b extra x', 4],
    ["HSET book:3 year 1970", 1],
    ["HSET other:1 title rain", 1],
  ]);
  return session;
}

test("SEARCH.CREATE takes its options in any order and any case", () => {
  const session = startSession();
  session.expect([
    ["SEARCH.CREATE a on json prefix 1 a: schema t text", 1],
    [
      "search.create b PREFIX 2 b: c: EXISTSOK LANGUAGE GERMAN SKIPINITIALSCAN ON hash SCHEMA t TEXT NOSTEM NOTOKENIZE",
      1,
    ],
    [
      "SEARCH.CREATE c SKIPINITIALSCAN EXISTSOK ON STRING PREFIX 1 c SCHEMA a.b U64 FAST FROM x.y on BOOL d DATE FAST",
      1,
    ],
    ["SEARCH.DESCRIBE none", nilArray],
    ["SEARCH.LISTINDEXES", [listed("a", "JSON"), listed("b", "HASH"), listed("c", "STRING")]],
    ["SEARCH.LISTINDEXES LIMIT 1 OFFSET 1", [listed("b", "HASH")]],
    ["SEARCH.LISTINDEXES MATCH [ac] LIMIT 0", [listed("a", "JSON"), listed("c", "STRING")]],
    ["SEARCH.LISTINDEXES MATCH", syntax],
    ["SEARCH.LISTINDEXES LIMIT -1", error("ERR value is out of range, must be positive")],
  ]);
});

function listed(name: string, type: string): Reply {
  return map([
    ["name", name],
    ["type", type],
  ]);
}

test("SEARCH.DESCRIBE shows the definition, the size of the index and its pending updates", () => {
  const session = startSession();
  session.run("SEARCH.CREATE c ON STRING PREFIX 2 c d SCHEMA a.b U64 FAST FROM x.y on BOOL t TEXT NOTOKENIZE NOSTEM");
  session.run("SEARCH.ALIASADD alias c");
  session.run("SET c:1 {}");
  const size = session.database.search.find("c")?.live.memoryBytes ?? 0;
  assert.ok(size > 1_000);
  const expected = map([
    ["name", "c"],
    ["type", "STRING"],
    ["prefixes", ["c", "d"]],
    ["language", "english"],
    ["indexSize", size],
    ["pendingUpdates", 1],
    [
      "schema",
      [
        ["a.b", "U64", "FAST", "FROM", "x.y"],
        ["on", "BOOL"],
        ["t", "TEXT", "NOSTEM", "NOTOKENIZE"],
      ],
    ],
  ]);
  session.expect([
    ["SEARCH.DESCRIBE c", expected],
    ["SEARCH.DESCRIBE alias", expected],
  ]);
});

test("SEARCH.CREATE refuses a definition that is wrong, and says what is wrong", () => {
  startSession().expect([
    ["SEARCH.CREATE i PREFIX 1 p SCHEMA t TEXT U64 FAST", refused("ON is missing")],
    ["SEARCH.CREATE i ON LIST PREFIX 1 p SCHEMA t TEXT", refused("ON must be followed by JSON, HASH or STRING")],
    ["SEARCH.CREATE i ON HASH SKIPINITIALSCAN SCHEMA t TEXT NOSTEM", refused("PREFIX is missing")],
    ["SEARCH.CREATE i ON HASH PREFIX 3 a b", refused("PREFIX has fewer prefixes than its number says")],
    ["SEARCH.CREATE i ON HASH PREFIX 1 a", refused("SCHEMA must have a field")],
    ["SEARCH.CREATE i", error("ERR wrong number of arguments for 'search.create' command")],
    ["SEARCH.CREATE i ON HASH PREFIX 9 a b SCHEMA t", refused("PREFIX has fewer prefixes than its number says")],
    ["SEARCH.CREATE i ON HASH PREFIX 2 a ab SCHEMA t TEXT", refused("a prefix is there twice, or begins another one")],
    ["SEARCH.CREATE i ON HASH PREFIX 2 a a SCHEMA t TEXT", refused("a prefix is there twice, or begins another one")],
    [
      "SEARCH.CREATE i ON HASH PREFIX 0 SCHEMA t TEXT x",
      refused("PREFIX must be followed by a number from 1 to 64, and as many prefixes"),
    ],
    [
      "SEARCH.CREATE i ON HASH PREFIX 0x1 a SCHEMA t TEXT",
      refused("PREFIX must be followed by a number from 1 to 64, and as many prefixes"),
    ],
    [
      "SEARCH.CREATE i ON HASH PREFIX 1 a STOPWORDS SCHEMA t TEXT",
      refused("the options are ON, PREFIX, LANGUAGE, SKIPINITIALSCAN and EXISTSOK, and then SCHEMA"),
    ],
    ["SEARCH.CREATE i ON HASH PREFIX 1 a EXISTSOK EXISTSOK SCHEMA", refused("SCHEMA must have a field")],
    [
      "SEARCH.CREATE i ON HASH PREFIX 1 a SCHEMA t TEXT FAST",
      refused("field 1 of the schema is of type TEXT, which has no option FAST"),
    ],
    [
      "SEARCH.CREATE i ON HASH PREFIX 1 a SCHEMA k KEYWORD NOSTEM",
      refused("field 1 of the schema is of type KEYWORD, which has no option NOSTEM"),
    ],
    [
      "SEARCH.CREATE i ON HASH PREFIX 1 a SCHEMA t TEXT u NUMBER",
      refused("field 2 of the schema needs one of the types TEXT, KEYWORD, U64, I64, F64, BOOL, DATE, FACET"),
    ],
    [
      "SEARCH.CREATE i ON HASH PREFIX 1 a SCHEMA t TEXT t U64",
      refused("field 2 of the schema has the name of an earlier one"),
    ],
    [
      "SEARCH.CREATE i ON HASH PREFIX 1 a SCHEMA t TEXT FROM",
      refused("field 1 of the schema needs one path after FROM"),
    ],
    ["SEARCH.LISTINDEXES", []],
  ]);
});

test("the name of an index belongs to one key", () => {
  startSession().expect([
    ["SEARCH.CREATE i ON HASH PREFIX 2 a b SCHEMA t TEXT u U64", 1],
    ["SEARCH.CREATE i ON HASH PREFIX 2 a b SCHEMA t TEXT u U64", error("ERR Index i already exists")],
    ["SEARCH.CREATE i EXISTSOK ON HASH PREFIX 2 b a LANGUAGE german SCHEMA u U64 t TEXT", 0],
    ["SEARCH.CREATE i EXISTSOK ON HASH PREFIX 2 a b SCHEMA t TEXT u U64 FAST", error("ERR Index i already exists")],
    ["SEARCH.CREATE i EXISTSOK ON JSON PREFIX 2 a b SCHEMA t TEXT u U64", error("ERR Index i already exists")],
    ["SET s text", ok],
    ["SEARCH.CREATE s EXISTSOK ON HASH PREFIX 1 a SCHEMA t TEXT", wrongType],
    ["SEARCH.ALIASADD s i", 1],
    ["SEARCH.DROP none", 0],
    ["SEARCH.DROP s", 0],
    ["SEARCH.DROP i", 1],
    ["TYPE i", simple("none")],
  ]);
});

test("an index is a key that data commands neither read nor change", () => {
  startSession().expect([
    ["SEARCH.CREATE i ON HASH PREFIX 1 a SCHEMA t TEXT", 1],
    ["HSET h f v", 1],
    ["TYPE i", simple("search")],
    ["OBJECT ENCODING i", "raw"],
    ["EXISTS i", 1],
    ["DBSIZE", 2],
    ["SCAN 0 TYPE search", ["0", ["i"]]],
    ["SCAN 0 MATCH i WITHTYPE", ["0", ["i", "search"]]],
    ["KEYS i", ["i"]],
    ["TTL i", -1],
    ["GET i", wrongType],
    ["SET i v", wrongType],
    ["SET i v NX", wrongType],
    ["MSET h 1 i 2", wrongType],
    ["HGET h f", "v"],
    ["RENAME i j", wrongType],
    ["RENAME h i", wrongType],
    ["COPY i j", wrongType],
    ["COPY h i REPLACE", wrongType],
    ["EXPIRE i 10", wrongType],
    ["SINTERSTORE i none", wrongType],
    ["DUMP i", error("ERR search indexes have no DUMP format, use SEARCH.DESCRIBE and SEARCH.CREATE")],
    [
      "EVAL \"return redis.pcall('SET', KEYS[1], 1).err\" 1 i",
      "WRONGTYPE Operation against a key holding the wrong kind of value",
    ],
    ["DEL i h", 2],
    ["SEARCH.COUNT i {}", -1],
  ]);
});

test("FLUSHALL removes indexes and aliases", () => {
  withBooks().expect([
    ["SEARCH.ALIASADD alias books", 1],
    ["FLUSHALL", ok],
    ["SEARCH.LISTALIASES", []],
    ["SEARCH.LISTINDEXES", []],
    ["HSET book:1 title rain", 1],
    ["SEARCH.QUERY books {}", nilArray],
  ]);
});

test("an alias names an index that may be missing, and the name of an index comes first", () => {
  withBooks().expect([
    ["SEARCH.ALIASADD b books", 1],
    ["SEARCH.ALIASADD b books", 2],
    ["SEARCH.ALIASADD later other", 1],
    ["SEARCH.ALIASADD chain b", 1],
    [
      "SEARCH.LISTALIASES",
      [
        ["b", "books"],
        ["chain", "b"],
        ["later", "other"],
      ],
    ],
    ["SEARCH.COUNT b {}", 3],
    ["SEARCH.WAITINDEXING b", 1],
    ["SEARCH.COUNT later {}", -1],
    ["SEARCH.QUERY later {}", nilArray],
    ["SEARCH.AGGREGATE later {} {}", nilArray],
    ["SEARCH.WAITINDEXING later", 0],
    ["SEARCH.REINDEX later", 0],
    ["SEARCH.COUNT chain {}", -1],
    ["SEARCH.CREATE other ON HASH PREFIX 1 other: SCHEMA title TEXT", 1],
    ["SEARCH.COUNT later {}", 1],
    ["SEARCH.ALIASADD other books", 1],
    ["SEARCH.COUNT other {}", 1],
    ["SEARCH.DROP b", 0],
    ["SEARCH.ALIASDEL b", 1],
    ["SEARCH.ALIASDEL b", 0],
    ["SEARCH.COUNT b {}", -1],
    ["SEARCH.DROP books", 1],
    ["SEARCH.COUNT other {}", 1],
  ]);
});

test("SEARCH.QUERY returns keys, scores and whole hashes", () => {
  withBooks().expect([
    [
      'SEARCH.QUERY books \'{"shelf":"b"}\'',
      [
        [
          "book:2",
          "1",
          [
            ["title", "The rain"],
            ["year", "2005"],
            ["shelf", "b"],
            ["extra", "x"],
          ],
        ],
      ],
    ],
    [
      "SEARCH.QUERY books {} NOCONTENT LIMIT 2",
      [
        ["book:1", "1"],
        ["book:2", "1"],
      ],
    ],
    ["SEARCH.QUERY books {} NOCONTENT OFFSET 2", [["book:3", "1"]]],
    [
      "SEARCH.QUERY books {} ORDERBY year ASC NOCONTENT",
      [
        ["book:3", "1970"],
        ["book:1", "1999"],
        ["book:2", "2005"],
      ],
    ],
    ["SEARCH.QUERY books {} SELECT 2 extra none ORDERBY year LIMIT 1", [["book:2", "2005", [["extra", "x"]]]]],
    [
      'SEARCH.QUERY books \'{"title":{"$eq":"run"}}\' HIGHLIGHT FIELDS 1 title SELECT 1 title NOCONTENT',
      error("ERR NOCONTENT cannot be used with SELECT or HIGHLIGHT"),
    ],
    ['SEARCH.QUERY books \'{"year":{"$lt":1900}}\'', []],
    ["SEARCH.QUERY none nonsense", nilArray],
    ["SEARCH.QUERY books", error("ERR wrong number of arguments for 'search.query' command")],
    ["SEARCH.COUNT books '{\"none\":1}'", error("ERR Unknown field: none")],
    ["SEARCH.COUNT books {} extra", error("ERR wrong number of arguments for 'search.count' command")],
  ]);
});

test("HIGHLIGHT marks words where they stand in the content", () => {
  const session = withBooks();
  const hits = session.call(
    ...[
      "SEARCH.QUERY",
      "books",
      '{"title":{"$eq":"run"}}',
      "HIGHLIGHT",
      "FIELDS",
      "1",
      "title",
      "SELECT",
      "1",
      "title",
    ],
  );
  assert.deepEqual((hits as Reply[][])[0]?.[2], [["title", "<em>Running</em> in the rain"]]);
  session.call(
    "SEARCH.CREATE",
    "docs",
    "ON",
    "JSON",
    "PREFIX",
    "1",
    "doc:",
    "SCHEMA",
    "words",
    "TEXT",
    "FROM",
    "in.words",
  );
  session.call("JSON.SET", "doc:1", "$", '{"in":{"words":["a rain","no",5],"n":1.0}}');
  const query = [
    "SEARCH.QUERY",
    "docs",
    '{"words":{"$eq":"rain"}}',
    "HIGHLIGHT",
    "FIELDS",
    "1",
    "words",
    "TAGS",
    "[",
    "]",
  ];
  assert.deepEqual((session.call(...query) as Reply[][])[0]?.[2], [
    ["$", '{"in":{"words":["a [rain]","no",5],"n":1.0}}'],
  ]);
  assert.deepEqual((session.call(...query, "SELECT", "3", "in.n", "in.words", "in.none") as Reply[][])[0]?.[2], [
    ["in.n", "1.0"],
    ["in.words", '["a [rain]","no",5]'],
  ]);
  assert.equal(session.call("JSON.GET", "doc:1"), '{"in":{"words":["a rain","no",5],"n":1.0}}');
});

test("a STRING document is shown byte for byte", () => {
  startSession().expect([
    ["SEARCH.CREATE s ON STRING PREFIX 1 s: SCHEMA n U64", 1],
    ["SET s:1 '{ \"n\" : 1 }'", ok],
    ["SET s:2 text", ok],
    ["SET s:3 [1]", ok],
    ["SEARCH.QUERY s {}", [["s:1", "1", [["$", '{ "n" : 1 }']]]]],
    ["SEARCH.QUERY s {} SELECT 1 n", [["s:1", "1", [["n", "1"]]]]],
  ]);
});

test("in transactions and scripts a query has no content, and nothing waits", async () => {
  const session = withBooks();
  const needsNoContent = error("ERR SEARCH.QUERY needs NOCONTENT in a transaction, a script or a function");
  const mayNotWait = error("ERR SEARCH.WAITINDEXING and SEARCH.REINDEX cannot be used in transactions and scripts");
  const replies = await session.database.transaction(testCaller, [
    ["HSET", "book:4", "title", "more rain"],
    ["SEARCH.COUNT", "books", '{"title":{"$eq":"rain"}}'],
    ["SEARCH.QUERY", "books", "{}", "LIMIT", "1"],
    ["SEARCH.QUERY", "books", "{}", "LIMIT", "1", "NOCONTENT"],
    ["SEARCH.WAITINDEXING", "books"],
    ["SEARCH.REINDEX", "books"],
  ]);
  assert.deepEqual(replies.slice(0, 3), [1, 3, needsNoContent]);
  assert.equal((replies[3] as Reply[]).length, 1);
  assert.deepEqual(replies.slice(4), [mayNotWait, mayNotWait]);
  const script = "return redis.pcall('SEARCH.QUERY', KEYS[1], '{}').err or 'none'";
  for (const command of ["EVAL", "EVAL_RO"])
    assert.match(String(session.call(command, script, "1", "books")), /needs NOCONTENT/);
  assert.equal(session.call("EVAL", "return redis.call('SEARCH.COUNT', KEYS[1], '{}')", "1", "books"), 4);
});

test("SEARCH.REINDEX reads the keys again, in the order of their bytes", () => {
  withBooks().expect([
    ["HSET book:1 year 2001", 0],
    [
      "SEARCH.QUERY books {} NOCONTENT",
      [
        ["book:2", "1"],
        ["book:3", "1"],
        ["book:1", "1"],
      ],
    ],
    ["SEARCH.REINDEX books", 1],
    ["SEARCH.WAITINDEXING books", 1],
    [
      "SEARCH.QUERY books {} NOCONTENT",
      [
        ["book:1", "1"],
        ["book:2", "1"],
        ["book:3", "1"],
      ],
    ],
  ]);
});

test("a database has at most 100 indexes, and 1,000 aliases", () => {
  const session = startSession();
  for (let i = 0; i < 100; i += 1) assert.equal(session.run(`SEARCH.CREATE i${i} ON HASH PREFIX 1 a SCHEMA t TEXT`), 1);
  session.expect([
    ["SEARCH.CREATE more ON HASH PREFIX 1 a SCHEMA t TEXT", error("ERR Exceeded max index count of 100")],
    ["SEARCH.CREATE i7 EXISTSOK ON HASH PREFIX 1 a SCHEMA t TEXT", 0],
    ["DEL i7", 1],
    ["SEARCH.CREATE more ON HASH PREFIX 1 a SCHEMA t TEXT", 1],
  ]);
  for (let i = 0; i < 1_000; i += 1) assert.equal(session.run(`SEARCH.ALIASADD a${i} i1`), 1);
  session.expect([
    ["SEARCH.ALIASADD more i1", error("ERR Exceeded max alias count of 1000")],
    ["SEARCH.ALIASADD a7 i2", 2],
    [`SEARCH.ALIASADD ${"n".repeat(513)} i1`, error("ERR the alias is longer than 512 bytes")],
    ["GET none", nil],
  ]);
});

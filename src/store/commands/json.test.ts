/** The JSON commands: input and literal reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import {
  error,
  nil,
  ok,
  type Row,
  type Session,
  splitLine,
  startSession,
  testCaller,
} from "../../../test/harness/store-harness.ts";
import { double, type Reply, simple } from "../reply/reply.ts";

const wrongType = error("WRONGTYPE Operation against a key holding the wrong kind of value");
const notInteger = error("ERR value is not an integer or out of range");
const syntax = error("ERR syntax error");
const noKey = error("ERR could not perform this operation on a key that doesn't exist");

function arity(name: string) {
  return error(`ERR wrong number of arguments for '${name}' command`);
}

function missing(path: string, what = "") {
  return error(`ERR Path '${path}' does not exist${what}`);
}

/** A document at the key `d` and a string at the key `s`. */
function sessionWith(document: string): Session {
  const session = startSession();
  assert.deepEqual(session.call("JSON.SET", "d", "$", document), ok);
  session.run("SET s text");
  return session;
}

/** Commands on a document, and the resulting document. */
function check(document: string, rows: readonly Row[], left?: string): void {
  const session = sessionWith(document);
  session.expect(rows);
  if (left !== undefined) assert.equal(session.call("JSON.GET", "d"), left);
}

test("JSON.SET stores documents, replaces values and adds members, one level at a time", () => {
  check(
    '{"a":{"b":1}}',
    [
      ["JSON.SET d $.a.b 2", ok],
      ["JSON.SET d .a.c '[1,2]'", ok],
      ["JSON.SET d a.d null", ok],
      ["JSON.SET d $.x.y 1", error("ERR Path '$.x.y' does not exist")],
      ["JSON.SET d x.y 1 NX", error("ERR Path 'x.y' does not exist")],
      ["JSON.SET d $.x.y 1 XX", nil],
      ["JSON.SET d $.a.b.z 1", error("ERR Path '$.a.b.z' does not exist")],
      ["JSON.SET d $.a.c[1] '\"two\"'", ok],
      ["JSON.SET d $.a.c[2] 3", error("ERR index out of bounds")],
      ["JSON.SET d $.a[0] 3", error("ERR path not an object")],
      ["JSON.SET d $..nowhere 1", error("ERR wrong static path")],
      ["JSON.SET d $.* 1 XX", ok],
      ['JSON.SET d $.a \'{"b":1,"c":{"b":2}}\'', ok],
      ["JSON.SET d $..b 5", ok],
      ['JSON.SET d "$[\\"e f\\"]" 6', ok],
      ["JSON.SET d $ {bad}", error("ERR Invalid JSON at character 2: expected a name in double quotes")],
      ["JSON.SET d $[ 1", error("ERR Invalid JSON path at character 3: expected a selector")],
      ["JSON.SET new $.a 1", error("ERR new objects must be created at the root")],
      ["JSON.SET new . 1", ok],
      ["JSON.GET new", "1"],
      ["COMMAND GETKEYS JSON.MGET a b $.x", ["a", "b"]],
      ["COMMAND GETKEYS JSON.MSET a $ 1 b $ 2", ["a", "b"]],
      ["JSON.SET s $ 1", wrongType],
      ["JSON.SET d $", arity("json.set")],
    ],
    '{"a":{"b":5,"c":{"b":5}},"e f":6}',
  );
});

test("JSON.SET with XX sets only existing values, with NX only missing ones", () => {
  check(
    '{"a":1}',
    [
      ["JSON.SET d $ 1 NX", nil],
      ["JSON.SET d $.a 2 NX", nil],
      ["JSON.SET d $.b 2 XX", nil],
      ["JSON.SET d $.b 2 nx", ok],
      ["JSON.SET d $.a 3 XX", ok],
      ["JSON.SET none $ 1 XX", nil],
      ["EXISTS none", 0],
      ["JSON.SET none $ 1 NX", ok],
      ["JSON.SET d $.a 3 YY", syntax],
      ["JSON.SET d $.a 3 XX XX", syntax],
    ],
    '{"a":3,"b":2}',
  );
});

test("a document keeps the expiry of its key, whatever part is set", () => {
  const session = sessionWith('{"a":1}');
  session.expect([
    ["EXPIRE d 100", 1],
    ["JSON.SET d $.a 2", ok],
    ["JSON.SET d $ '{}'", ok],
    ["JSON.MERGE d $ '{\"b\":1}'", ok],
    ["TTL d", 100],
  ]);
  session.clock.advance(100_001);
  session.expect([
    ["JSON.GET d", nil],
    ["JSON.TYPE d", nil],
  ]);
});

test("JSON.GET returns all matches of a path with $, and one value of a legacy path", () => {
  check('{"a":2,"b":3,"nested":{"a":4,"b":null},"t":"x\\"y"}', [
    ["JSON.GET d $..b", "[null,3]"],
    ["JSON.GET d $..a", "[4,2]"],
    ["JSON.GET d $.none", "[]"],
    ["JSON.GET d $", '[{"a":2,"b":3,"nested":{"a":4,"b":null},"t":"x\\"y"}]'],
    ["JSON.GET d", '{"a":2,"b":3,"nested":{"a":4,"b":null},"t":"x\\"y"}'],
    ["JSON.GET d .nested", '{"a":4,"b":null}'],
    ["JSON.GET d t", '"x\\"y"'],
    ["JSON.GET d ..a", "4"],
    ["JSON.GET d .none", missing(".none")],
    ["JSON.GET d $..a $..b", '{"$..a":[4,2],"$..b":[null,3]}'],
    ["JSON.GET d a $.b", '{"a":[2],"$.b":[3]}'],
    ["JSON.GET d a b a", '{"a":2,"b":3}'],
    ["JSON.GET d a none", missing("none")],
    ["JSON.GET d none $.a", '{"none":[],"$.a":[2]}'],
    ["JSON.GET d NOESCAPE .a", "2"],
    ["JSON.GET none $", nil],
    ["JSON.GET s", wrongType],
    ["JSON.GET d INDENT", syntax],
    ["JSON.GET", arity("json.get")],
  ]);
});

test("JSON.GET formats text as requested", () => {
  check('{"a":[1,{}],"b":{"c":null}}', [
    [
      'JSON.GET d INDENT "  " NEWLINE "\\n" SPACE " "',
      '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": {\n    "c": null\n  }\n}',
    ],
    ['JSON.GET d indent "\\t" newline "\\n" $.b', '[\n\t{\n\t\t"c":null\n\t}\n]'],
    ['JSON.GET d SPACE " " $.b.c .a', '{"$.b.c": [null],".a": [[1,{}]]}'],
  ]);
});

test("JSON.MGET returns a value for each key, and nil for a key that is not a document", () => {
  const session = sessionWith('{"a":1,"nested":{"a":3}}');
  session.expect([
    ['JSON.SET e $ \'{"a":4,"nested":{"a":6}}\'', ok],
    ["JSON.MGET d e $..a", ["[3,1]", "[6,4]"]],
    ["JSON.MGET d none s e .a", ["1", nil, nil, "4"]],
    ["JSON.MGET d e $.x", ["[]", "[]"]],
    ["JSON.MGET d e .x", [nil, nil]],
    ["JSON.MGET d", arity("json.mget")],
  ]);
});

test("JSON.MSET sets all or nothing, and later values see earlier ones", () => {
  const session = sessionWith('{"a":1}');
  session.expect([
    ["JSON.MSET d $.a 2 e $ '[1]' e $[0] 5", ok],
    ["JSON.MGET d e $", ['[{"a":2}]', "[[5]]"]],
    ["JSON.MSET d $.a 9 new $.x 1", error("ERR new objects must be created at the root")],
    ["JSON.MSET d $.a 9 d $.x.y 1", missing("$.x.y")],
    ["JSON.MSET d $.a 9 s $ 1", wrongType],
    ["JSON.MSET d $.a 9 e $ bad", error("ERR Invalid JSON at character 1: expected a value")],
    ["JSON.GET d", '{"a":2}'],
    ["EXISTS new", 0],
    ["JSON.MSET new $ '{}' new $.x '{}' new $.x.y 1 d $ '{\"b\":{}}' d $.b.c 1", ok],
    ["JSON.GET new", '{"x":{"y":1}}'],
    ["JSON.GET d", '{"b":{"c":1}}'],
    ["JSON.MSET d $", arity("json.mset")],
    ["JSON.MSET d $ 1 e", arity("json.mset")],
  ]);
});

test("JSON.MERGE follows RFC 7396", () => {
  // The examples of its appendix A: original, patch, result.
  const examples: readonly (readonly [original: string, patch: string, result: string])[] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', "{}"],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', "null", "null"],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
    ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ];
  for (const [original, patch, result] of examples) {
    const session = sessionWith(original);
    assert.deepEqual(session.call("JSON.MERGE", "d", "$", patch), ok, patch);
    assert.equal(session.call("JSON.GET", "d"), result, `${patch} into ${original}`);
  }
});

test("JSON.MERGE merges at paths, adds members, and creates documents", () => {
  check(
    '{"a":{"x":{"v":1}},"b":{"x":{"v":2}}}',
    [
      ["JSON.MERGE d $..x '{\"w\":3}'", ok],
      ['JSON.MERGE d $.c \'{"n":null,"m":1}\'', ok],
      ["JSON.MERGE d .a.x.v null", ok],
      ["JSON.MERGE d $.q.r 1", nil],
      ["JSON.MERGE d $..q 1", error("ERR wrong static path")],
      ["JSON.MERGE new $.a 1", error("ERR new objects must be created at the root")],
      ['JSON.MERGE new $ \'{"a":null,"b":1}\'', ok],
      ["JSON.GET new", '{"b":1}'],
      ["JSON.MERGE s $ 1", wrongType],
      ["JSON.MERGE d $", arity("json.merge")],
    ],
    '{"a":{"x":{"v":null,"w":3}},"b":{"x":{"v":2,"w":3}},"c":{"m":1}}',
  );
});

test("JSON.DEL and JSON.FORGET remove values and do not count values inside them; the key goes with the root", () => {
  check('{"a":1,"nested":{"a":2,"b":3}}', [["JSON.DEL d $..a", 2]], '{"nested":{"b":3}}');
  check('{"a":{"a":2,"b":3},"b":["a"]}', [["JSON.DEL d $..a", 1]], '{"b":["a"]}');
  check("[[1],[1,2,3]]", [["JSON.DEL d $..[0]", 2]], "[[2,3]]");
  check(
    '{"a":[[1],[1,2,3,[4,5,[{"a":6},7,8]]],[10,{"11":11}],["12","13"]],"b":[[1,2],{"a":[3,4,5]}]}',
    [["JSON.FORGET d $..[0]", 8]],
    '{"a":[[2,3,[5,[7,8]]],[{"11":11}],["13"]],"b":[{"a":[4,5]}]}',
  );
  check("[0,1,2,3,4,5]", [["JSON.DEL d $[4,0,-1,0]", 3]], "[1,2,3]");
  check("[0,1,2,3,4,5]", [["JSON.DEL d $[?@>1]", 4]], "[0,1]");
  check("[0,1,2]", [["JSON.DEL d [1]", 1]], "[0,2]");
  check('{"a":1}', [
    ["JSON.DEL d $.none", 0],
    ["JSON.DEL d .none", 0],
    ["JSON.DEL none $", 0],
    ["JSON.DEL s $", wrongType],
    ["JSON.FORGET d", 1],
    ["EXISTS d", 0],
    ["JSON.DEL", arity("json.del")],
    ["JSON.DEL d $ $", arity("json.del")],
  ]);
});

test("JSON.CLEAR empties containers and sets numbers to 0, and counts its changes", () => {
  check(
    '{"obj":{"a":1,"b":2},"arr":[1,2,3],"str":"foo","bool":true,"int":42,"float":3.14}',
    [
      ["JSON.CLEAR d $.*", 4],
      ["JSON.CLEAR d $.*", 0],
      ["JSON.CLEAR d $.none", 0],
      ["JSON.CLEAR d .none", 0],
      ["JSON.CLEAR none", noKey],
      ["JSON.CLEAR s", wrongType],
      ["JSON.CLEAR", arity("json.clear")],
      ["JSON.CLEAR d $ $", arity("json.clear")],
    ],
    '{"obj":{},"arr":[],"str":"foo","bool":true,"int":0,"float":0}',
  );
  check('{"a":{"b":{"c":1}},"d":0.0}', [["JSON.CLEAR d $..*", 3]], '{"a":{},"d":0.0}');
  check('{"a":1}', [["JSON.CLEAR d", 1]], "{}");
});

test("JSON.NUMINCRBY and JSON.NUMMULTBY return JSON text, with null for values that are not numbers", () => {
  check(
    '{"a":"b","b":[{"a":2},{"a":5.0},{"a":"c"}],"n":1}',
    [
      ["JSON.NUMINCRBY d $..a 2", "[4,7.0,null,null]"],
      ["JSON.NUMINCRBY d $.a 2", "[null]"],
      ["JSON.NUMINCRBY d $.none 2", "[]"],
      ["JSON.NUMINCRBY d $.b[1].a 2.5", "[9.5]"],
      ["JSON.NUMINCRBY d .n 1", "2"],
      ["JSON.NUMMULTBY d .n 2.5", "5.0"],
      ["JSON.NUMMULTBY d $.b[*].a 2", "[8,19.0,null]"],
      ["JSON.NUMINCRBY d .a 1", missing(".a", " or does not contains a number")],
      ["JSON.NUMINCRBY d .none 1", missing(".none", " or does not contains a number")],
      ["JSON.NUMINCRBY d .n '\"1\"'", error("ERR expected a JSON number")],
      ["JSON.NUMINCRBY d .n x", error("ERR Invalid JSON at character 1: expected a value")],
      ["JSON.NUMINCRBY none $ 1", noKey],
      ["JSON.NUMMULTBY s $ 1", wrongType],
      ["JSON.NUMMULTBY d $", arity("json.nummultby")],
      ["JSON.NUMINCRBY d $", arity("json.numincrby")],
    ],
    '{"a":"b","b":[{"a":8},{"a":19.0},{"a":"c"}],"n":5.0}',
  );
  check(
    "[9223372036854775807,1e308]",
    [
      ["JSON.NUMINCRBY d $[0] 1", "[9223372036854775808]"],
      ["JSON.NUMINCRBY d $[*] 1e308", error("ERR result is not a finite number")],
      ["JSON.NUMMULTBY d $[1] 10", error("ERR result is not a finite number")],
    ],
    "[9223372036854775808,1e+308]",
  );
});

test("JSON.TYPE, JSON.NUMINCRBY and JSON.NUMMULTBY are arrays in RESP3", () => {
  const { database, run } = sessionWith(
    '{"a1":{"b":{"c":1}},"a2":{"b":{"c":2.2}},"a3":{"b":{"c":"val"}},"a4":[1.2,2,3.32],"n":9223372036854775807}',
  );
  // The examples are those of the tests of Redis' module for its replies in RESP3, and of its guide.
  const rows: readonly (readonly [line: string, items: readonly Reply[]])[] = [
    ["JSON.NUMINCRBY d $.a1.b.c 1", [2]],
    ["JSON.NUMINCRBY d $..c 2", [4, double(4.2), null]],
    ["JSON.NUMMULTBY d $..c 2", [8, double(8.4), null]],
    ["JSON.NUMINCRBY d $.none 1", []],
    ["JSON.NUMINCRBY d .a1.b.c 2", [10]],
    ["JSON.NUMINCRBY d ..c 1", [11, double(9.4), null]],
    ["JSON.NUMINCRBY d .n 0", [9223372036854775807n]],
    ["JSON.NUMINCRBY d .n 1", [double(2 ** 63)]],
    ["JSON.TYPE d $.a1.b.c", [["integer"]]],
    ["JSON.TYPE d $..b", [["object", "object", "object"]]],
    ["JSON.TYPE d $", [["object"]]],
    ["JSON.TYPE d $.none", [[]]],
    ["JSON.TYPE d $.a4[*]", [["number", "integer", "number"]]],
    ["JSON.TYPE d .a4", ["array"]],
    ["JSON.TYPE d", ["object"]],
    ["JSON.TYPE d .none", [nil]],
    ["JSON.TYPE none $.a1.b.c", [nil]],
  ];
  for (const [line, items] of rows) {
    const reply = database.command(testCaller, splitLine(line));
    assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "array in resp3", line);
    assert.deepEqual(reply.items, items, line);
  }
  assert.deepEqual(run("EVAL \"redis.setresp(3); return redis.call('JSON.TYPE', KEYS[1], '$')[1][1]\" 1 d"), "object");
  assert.deepEqual(run("EVAL \"return redis.call('JSON.TYPE', KEYS[1], '$')[1]\" 1 d"), "object");
  assert.deepEqual(run("EVAL \"return redis.call('JSON.NUMINCRBY', KEYS[1], '.a4[1]', 1)\" 1 d"), "3");
});

test("JSON.STRAPPEND and JSON.STRLEN count bytes", () => {
  check('{"a":"foo","nested":{"a":"hello"},"n":{"a":31},"u":"\\u00e9"}', [
    ["JSON.STRAPPEND d $..a '\"baz\"'", [8, nil, 6]],
    ["JSON.STRLEN d $..a", [8, nil, 6]],
    ["JSON.STRAPPEND d .a '\"!\"'", 7],
    ["JSON.STRAPPEND d .*.a '\"?\"'", 9],
    ["JSON.STRLEN d .u", 2],
    ["JSON.STRLEN d .none", missing(".none")],
    ["JSON.STRLEN d .n", error("WRONGTYPE wrong type of path value - expected string but found object")],
    ["JSON.STRLEN d", error("WRONGTYPE wrong type of path value - expected string but found object")],
    ["JSON.STRLEN d $.none", []],
    ["JSON.STRLEN none", nil],
    ["JSON.STRLEN none $", noKey],
    ["JSON.STRLEN s", wrongType],
    ["JSON.STRAPPEND d .n '\"x\"'", missing(".n", " or not a string")],
    ["JSON.STRAPPEND d .a 1", error("ERR expected a JSON string")],
    ["JSON.STRAPPEND none $ '\"x\"'", noKey],
    ["JSON.STRAPPEND d", arity("json.strappend")],
    ["JSON.STRAPPEND d . . .", arity("json.strappend")],
    ["JSON.SET e $ '\"ab\"'", ok],
    ["JSON.STRAPPEND e '\"c\"'", 3],
    ["JSON.STRLEN e", 3],
  ]);
});

test("JSON.TOGGLE toggles booleans", () => {
  check(
    '{"a":["foo"],"b":{"a":false},"c":{"a":31},"e":{"a":true},"t":true}',
    [
      ["JSON.TOGGLE d $..a", [1, nil, 0, nil]],
      ["JSON.TOGGLE d .t", "false"],
      ["JSON.TOGGLE d .t", "true"],
      ["JSON.TOGGLE d .a", missing(".a", " or not a bool")],
      ["JSON.TOGGLE d .none", missing(".none", " or not a bool")],
      ["JSON.TOGGLE d $.none", []],
      ["JSON.TOGGLE none $", noKey],
      ["JSON.TOGGLE s $", wrongType],
      ["JSON.TOGGLE", arity("json.toggle")],
    ],
    '{"a":["foo"],"b":{"a":true},"c":{"a":31},"e":{"a":false},"t":true}',
  );
});

test("A.particulars.json-numbers: JSON.TYPE distinguishes integers from other numbers", () => {
  check('[null,false,42,1.2,1.0,"str",{},[]]', [
    ["JSON.TYPE d $[*]", ["null", "boolean", "integer", "number", "number", "string", "object", "array"]],
    ["JSON.TYPE d", "array"],
    ["JSON.TYPE d [2]", "integer"],
    ["JSON.TYPE d [9]", nil],
    ["JSON.TYPE d $[9]", []],
    ["JSON.TYPE none $", nil],
    ["JSON.TYPE s", wrongType],
    ["JSON.TYPE", arity("json.type")],
  ]);
});

test("JSON.OBJKEYS and JSON.OBJLEN", () => {
  check('{"a":[3],"nested":{"a":{"b":2,"c":1}},"__proto__":1}', [
    ["JSON.OBJKEYS d $..a", [["b", "c"], nil]],
    ["JSON.OBJLEN d $..a", [2, nil]],
    ["JSON.OBJKEYS d", ["a", "nested", "__proto__"]],
    ["JSON.OBJLEN d", 3],
    ["JSON.OBJKEYS d .none", nil],
    ["JSON.OBJLEN d .none", nil],
    ["JSON.OBJKEYS d $.none", []],
    ["JSON.OBJKEYS d .a", missing(".a", " or not an object")],
    ["JSON.OBJLEN d .a", error("WRONGTYPE wrong type of path value - expected object but found array")],
    ["JSON.OBJKEYS none", nil],
    ["JSON.OBJLEN none", nil],
    ["JSON.OBJKEYS none $", noKey],
    ["JSON.OBJLEN none $", missing("$")],
    ["JSON.OBJKEYS s", wrongType],
    ["JSON.OBJLEN s", wrongType],
    ["JSON.OBJKEYS", arity("json.objkeys")],
    ["JSON.OBJLEN", arity("json.objlen")],
  ]);
});

const orNoArray = " or not an array";

test("JSON.ARRAPPEND and JSON.ARRLEN", () => {
  check(
    '{"a":["foo"],"n":{"a":[1,2]},"x":{"a":31}}',
    [
      ["JSON.ARRAPPEND d $..a '\"bar\"' 5", [4, nil, 3]],
      ["JSON.ARRLEN d $..a", [4, nil, 3]],
      ["JSON.ARRAPPEND d .a '{\"b\":[]}'", 4],
      ["JSON.ARRAPPEND d ..a null", 5],
      ["JSON.ARRLEN d .a", 5],
      ["JSON.ARRLEN d .x.a", missing(".x.a", orNoArray)],
      ["JSON.ARRLEN d .none", missing(".none", orNoArray)],
      ["JSON.ARRLEN d $.none", []],
      ["JSON.ARRLEN none", nil],
      ["JSON.ARRLEN none $", noKey],
      ["JSON.ARRLEN s", wrongType],
      ["JSON.ARRLEN", arity("json.arrlen")],
      ["JSON.ARRAPPEND d .x.a 1", missing(".x.a", orNoArray)],
      ["JSON.ARRAPPEND none $ 1", noKey],
      ["JSON.ARRAPPEND s $ 1", wrongType],
      ["JSON.ARRAPPEND d $.a", arity("json.arrappend")],
    ],
    '{"a":["foo","bar",5,{"b":[]},null],"n":{"a":[1,2,"bar",5,null]},"x":{"a":31}}',
  );
});

test("JSON.ARRINSERT inserts before an existing index", () => {
  check(
    "[]",
    [
      ["JSON.ARRINSERT d . 0 1", 1],
      ["JSON.ARRINSERT d . -1 2", 2],
      ["JSON.ARRINSERT d . -2 3", 3],
      ["JSON.ARRINSERT d . 3 4", 4],
      ["JSON.ARRINSERT d $ 1 5 6", [6]],
      ["JSON.ARRINSERT d . 7 1", error("ERR index out of bounds")],
      ["JSON.ARRINSERT d . -7 1", error("ERR index out of bounds")],
      ["JSON.ARRINSERT d . x 1", notInteger],
      ["JSON.ARRINSERT d .none 0 1", missing(".none", orNoArray)],
      ["JSON.ARRINSERT none $ 0 1", noKey],
      ["JSON.ARRINSERT s $ 0 1", wrongType],
      ["JSON.ARRINSERT d $ 0", arity("json.arrinsert")],
    ],
    "[3,5,6,2,1,4]",
  );
  // One array that is too short refuses the whole command.
  check('{"a":[1,2],"b":[]}', [["JSON.ARRINSERT d $.* 1 9", error("ERR index out of bounds")]], '{"a":[1,2],"b":[]}');
});

test("JSON.ARRPOP removes an element, the nearest one for an index out of range", () => {
  check(
    "[1,2,3,4,5,6,7,8,9]",
    [
      ["JSON.ARRPOP d", "9"],
      ["JSON.ARRPOP d .", "8"],
      ["JSON.ARRPOP d . -2", "6"],
      ["JSON.ARRPOP d $ 0", ["1"]],
      ["JSON.ARRPOP d . 99", "7"],
      ["JSON.ARRPOP d . -99", "2"],
      ["JSON.ARRPOP d . x", notInteger],
      ["JSON.ARRPOP d . 0 0", arity("json.arrpop")],
      ["JSON.ARRPOP d .none", missing(".none", orNoArray)],
      ["JSON.ARRPOP none", noKey],
      ["JSON.ARRPOP s", wrongType],
      ["JSON.ARRPOP", arity("json.arrpop")],
    ],
    "[3,4,5]",
  );
  check(
    '{"a":["foo"],"n":{"a":["x",null,{"y":1.0}]},"z":{"a":31},"e":[]}',
    [
      ["JSON.ARRPOP d $..a", ['{"y":1.0}', nil, '"foo"']],
      ["JSON.ARRPOP d .e", nil],
      ["JSON.ARRPOP d $.e", [nil]],
      ["JSON.ARRPOP d $.n.a", ["null"]],
    ],
    '{"a":[],"n":{"a":["x"]},"z":{"a":31},"e":[]}',
  );
});

test("JSON.ARRTRIM trims to a range, both ends included", () => {
  const rows: readonly (readonly [range: string, left: string])[] = [
    ["1 -2", "[1,2,3,2,1]"],
    ["0 99", "[0,1,2,3,2,1,0]"],
    ["99 2", "[]"],
    ["-1 0", "[]"],
    ["-4 1", "[]"],
    ["-99 1", "[0,1]"],
    ["2 2", "[2]"],
    ["0 -99", "[]"],
  ];
  for (const [range, left] of rows)
    check("[0,1,2,3,2,1,0]", [[`JSON.ARRTRIM d . ${range}`, JSON.parse(left).length]], left);
  check(
    '{"a":["foo"],"n":{"a":[1,2,3]},"x":{"a":31}}',
    [
      ["JSON.ARRTRIM d $..a 1 -1", [2, nil, 0]],
      ["JSON.ARRTRIM d .x 0 1", missing(".x", orNoArray)],
      ["JSON.ARRTRIM d . x 1", notInteger],
      ["JSON.ARRTRIM none . 0 1", noKey],
      ["JSON.ARRTRIM s . 0 1", wrongType],
      ["JSON.ARRTRIM d . 0", arity("json.arrtrim")],
    ],
    '{"a":[],"n":{"a":[2,3]},"x":{"a":31}}',
  );
});

test("JSON.ARRINDEX finds the first equal element of a range, and 1 differs from 1.0", () => {
  const document = '{"arr":[0,1,3.0,3,2,1,0,{"v":4},{"v":9},[3,4],["a","b"],null],"n":5}';
  const rows: readonly (readonly [question: string, index: number])[] = [
    ["0", 0],
    ["3", 3],
    ["3.0", 2],
    ["9", -1],
    ["0 1", 6],
    ["0 -6", 6],
    ["0 6 7", 6],
    ["0 1 6", -1],
    ["0 1 -5", 6],
    ["1 2 0", 5],
    ["null 99", 11],
    ["'{\"v\":9}'", 8],
    ["[3,4]", 9],
    ['\'["b","a"]\'', -1],
    ["null", 11],
    ["1 3 2", -1],
    ["0 0 -99", -1],
  ];
  check(
    document,
    rows.map(([question, index]): Row => [`JSON.ARRINDEX d .arr ${question}`, index]),
  );
  check(document, [
    ["JSON.ARRINDEX d $.* 3", [3, nil]],
    ["JSON.ARRINDEX d $.none 3", []],
    ["JSON.ARRINDEX d .n 3", error("WRONGTYPE wrong type of path value - expected array but found integer")],
    ["JSON.ARRINDEX d .none 3", missing(".none")],
    ["JSON.ARRINDEX none . 3", missing(".")],
    ["JSON.ARRINDEX d .arr 3 x", notInteger],
    ["JSON.ARRINDEX s . 3", wrongType],
    ["JSON.ARRINDEX d .", arity("json.arrindex")],
    ["JSON.ARRINDEX d . 1 2 3 4", arity("json.arrindex")],
  ]);
  check("[]", [["JSON.ARRINDEX d . 1", -1]]);
});

test("JSON.RESP returns documents as replies", () => {
  check('{"a":[1,2.5,null,true,"x",9007199254740993],"b":{"c":{}}}', [
    [
      "JSON.RESP d",
      ["{", ...["a", ["[", 1, double(2.5), nil, simple("true"), "x", 9007199254740993n]], ...["b", ["{", "c", ["{"]]]],
    ],
    ["JSON.RESP d $.b", [["{", "c", ["{"]]]],
    ["JSON.RESP d .a[4]", "x"],
    ["JSON.RESP d $.none", []],
    ["JSON.RESP d .none", missing(".none")],
    ["JSON.RESP none $", nil],
    ["JSON.RESP s", wrongType],
    ["JSON.RESP", arity("json.resp")],
  ]);
});

test("JSON.DEBUG MEMORY returns the size of values, and HELP lists subcommands", () => {
  check('{"a":[1,2,3],"b":"0123456789","c":true}', [
    ["JSON.DEBUG MEMORY d .c", 0],
    ["JSON.DEBUG MEMORY d $.*", [72, 32, 0]],
    ["JSON.DEBUG MEMORY d .none", missing(".none")],
    ["JSON.DEBUG MEMORY none", 0],
    ["JSON.DEBUG MEMORY none $", []],
    ["JSON.DEBUG MEMORY s", wrongType],
    ["JSON.DEBUG MEMORY", arity("json.debug|memory")],
  ]);
  const help = startSession().run("JSON.DEBUG HELP");
  assert.ok(Array.isArray(help) && help.length === 5);
});

test("commands for all types work on documents", () => {
  const session = sessionWith('{"a":[1,2]}');
  session.expect([
    ["TYPE d", simple("ReJSON-RL")],
    ["OBJECT ENCODING d", "raw"],
    ["COPY d e", 1],
    ["JSON.ARRAPPEND e .a 3", 3],
    ["JSON.GET d", '{"a":[1,2]}'],
    ["RENAME e f", ok],
    ["JSON.GET f", '{"a":[1,2,3]}'],
    ["SCAN 0 TYPE rejson-rl COUNT 100", ["0", ["f", "d"]]],
    ["MEMORY USAGE d", 280],
    ["GET d", wrongType],
    ["HGET d a", wrongType],
    ["DUMP d", error("ERR JSON documents have no DUMP format, use JSON.GET and JSON.SET")],
    ["SET d x", ok],
    ["JSON.GET d", wrongType],
    ["DEL f", 1],
  ]);
});

test("the journal records the change of one location, however long the document is", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  session.call("JSON.SET", "d", "$", `[${Array.from({ length: 10_000 }, (_, i) => `{"n":${i}}`).join()}]`);
  for (const line of [
    "JSON.SET d $[5000].n 1",
    "JSON.SET d $[5000].added '\"x\"'",
    "JSON.NUMINCRBY d $[-1].n 1",
    "JSON.ARRINSERT d $ 17 null",
    "JSON.ARRPOP d $ 99",
    "JSON.ARRTRIM d $ 1 -2",
    "JSON.MERGE d $[3] '{\"n\":null}'",
    "JSON.STRAPPEND d $[*].added '\"y\"'",
    "JSON.DEL d $[20:30]",
    "JSON.CLEAR d $[0]",
  ]) {
    const frameCount = journal.frames.length;
    session.run(line);
    const bytes = journal.frames.slice(frameCount).reduce((sum, { length }) => sum + length, 0);
    assert.ok(bytes > 0 && bytes < 60, `${line}: ${bytes} bytes`);
  }
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(session.store));
  const rebuilt = restored(session.store.dump()).database("main");
  assert.deepEqual(rebuilt.command(testCaller, ["JSON.GET", "d"]), session.run("JSON.GET d"));
});

test("A-08: limits what one command may do to documents", () => {
  const session = sessionWith(`[${Array.from({ length: 2_000 }, () => "[]").join()}]`);
  const long = `"${"x".repeat(100_000)}"`;
  const tooMuch = error("ERR command would add too much to the JSON document");
  for (const words of [
    ["JSON.SET", "d", "$[*]", long],
    ["JSON.MERGE", "d", "$[*]", long],
    ["JSON.ARRAPPEND", "d", "$[*]", long],
    ["JSON.ARRINSERT", "d", "$[*]", "0", long],
    ["JSON.STRAPPEND", "d", "$[*]", long],
  ])
    assert.deepEqual(session.call(...words), tooMuch, words.join(" ").slice(0, 30));
  assert.deepEqual(session.call("JSON.ARRLEN", "d", "$[0]"), [0]);

  // Each of many changes is recorded with its key and the names on its path.
  const key = "k".repeat(30_000);
  const elements = Array.from({ length: 3_000 }, () => "true").join();
  for (const [name, where] of [
    [key, `[${elements}]`],
    ["long", `{"${key}":[${elements}]}`],
  ] as const) {
    session.call("JSON.SET", name, "$", where);
    for (const words of [["JSON.TOGGLE"], ["JSON.DEL"], ["JSON.CLEAR"]])
      assert.deepEqual(session.call(...words, name, "$..*"), tooMuch, words.join());
    assert.deepEqual(session.call("JSON.SET", name, "$..*", "1"), tooMuch);
  }
  assert.deepEqual(
    session.call("JSON.GET", "d", "$[?$[?$[?@==1]]]"),
    error("ERR JSON path takes too many steps on this document"),
  );
});

test("A-14: no command nests a document deeper than 128 levels", () => {
  const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const path = (depth: number) => `$${".a".repeat(depth)}`;
  const tooDeep = error("ERR JSON would be nested deeper than 128 levels");
  const session = sessionWith(deep(100));
  assert.deepEqual(session.call("JSON.SET", "d", path(100), deep(29)), tooDeep);
  assert.deepEqual(session.call("JSON.MERGE", "d", path(99), deep(30)), tooDeep);
  assert.deepEqual(session.call("JSON.SET", "d", path(100), deep(28)), ok);
  assert.deepEqual(session.call("JSON.SET", "d", path(128), "[]"), tooDeep);
  assert.deepEqual(session.call("JSON.SET", "d", path(127), "[]"), ok);
  assert.deepEqual(session.call("JSON.ARRAPPEND", "d", path(127), "{}"), tooDeep);
  assert.deepEqual(session.call("JSON.ARRAPPEND", "d", path(127), "1"), [1]);
  assert.deepEqual(session.call("JSON.GET", "d", `$..a[0]`), "[1]");
});

/** Paths on documents: their matches, their order, and their locations. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesFromText } from "../../kernel/bytes.ts";
import { CommandError, pathMatchesTooMany, pathStepsTooMany } from "../errors.ts";
import { parseJson } from "./parse.ts";
import { parsePath } from "./path-parser.ts";
import { textOfNode } from "./print.ts";
import { StepBudget } from "./step-budget.ts";
import { locationOf, matchesOf } from "./walk.ts";

function find(document: string, path: string, budget = new StepBudget()) {
  return matchesOf(parseJson(bytesFromText(document)).node, parsePath(bytesFromText(path)).segments, budget);
}

function textsOf(document: string, path: string): string {
  return `[${find(document, path)
    .map(({ node }) => textOfNode(node))
    .join()}]`;
}

type Row = readonly [document: string, path: string, found: string];

function check(rows: readonly Row[]): void {
  for (const [document, path, found] of rows)
    assert.equal(textsOf(document, path), bytesFromText(found), `${path} in ${document}`);
}

const store = `{"store":{"book":[
  {"category":"reference","author":"Nigel Rees","title":"Sayings of the Century","price":8.95},
  {"category":"fiction","author":"Evelyn Waugh","title":"Sword of Honour","price":12.99},
  {"category":"fiction","author":"Herman Melville","title":"Moby Dick","isbn":"0-553-21311-3","price":8.99},
  {"category":"fiction","author":"J. R. R. Tolkien","title":"The Lord of the Rings","isbn":"0-395-19395-8","price":22.99}],
  "bicycle":{"color":"red","price":399}}}`;

test("names, indexes, wildcards and unions", () => {
  check([
    ['{"a":{"b":1}}', "$", '[{"a":{"b":1}}]'],
    ['{"a":{"b":1}}', "$.a.b", "[1]"],
    ['{"a":{"b":1}}', "$['a'][\"b\"]", "[1]"],
    ['{"a":{"b":1}}', "$ .a ['b']", "[1]"],
    ['{"a":{"b":1}}', "$.a.c", "[]"],
    ['{"a b":1,"":2,"☺":3}', "$['a b','',\"☺\"]", "[1,2,3]"],
    ['{"☺":3}', "$.☺", "[3]"],
    ['{"☺":3,"😀":4}', "$['\\u263a','\\uD83D\\uDE00']", "[3,4]"],
    ['{"\'":1,"\\"":2,"\\\\":3}', "$['\\'','\"','\\\\']", "[1,2,3]"],
    ['{"a-b":1,"1":2,"$x":3}', "$.a-b", "[1]"],
    ['{"a-b":1,"1":2,"$x":3}', "$.1", "[2]"],
    ['{"a-b":1,"1":2,"$x":3}', "$.$x", "[3]"],
    ["[10,20,30]", "$[0]", "[10]"],
    ["[10,20,30]", "$[-1]", "[30]"],
    ["[10,20,30]", "$[3]", "[]"],
    ["[10,20,30]", "$[-4]", "[]"],
    ["[10,20,30]", "$.[1]", "[20]"],
    ['{"0":1}', "$[0]", "[]"],
    ['["x"]', "$['0']", "[]"],
    ['{"a":1,"b":[2]}', "$.*", "[1,[2]]"],
    ['{"a":1,"b":[2]}', "$[*][*]", "[2]"],
    ["[0,1,2,3,4,5,6,7,8,9]", "$[1,5:7]", "[1,5,6]"],
    ["[0,1,2]", "$[*,0]", "[0,1,2,0]"],
    ['{"a":1}', "$['a','a']", "[1,1]"],
    ['{"__proto__":{"constructor":1}}', "$.__proto__.constructor", "[1]"],
    ["{}", "$.__proto__", "[]"],
    ["[]", "$.length", "[]"],
  ]);
});

test("slices, as RFC 9535 computes their bounds", () => {
  const letters = '["a","b","c","d","e","f","g"]';
  check([
    [letters, "$[1:3]", '["b","c"]'],
    [letters, "$[5:]", '["f","g"]'],
    [letters, "$[1:5:2]", '["b","d"]'],
    [letters, "$[5:1:-2]", '["f","d"]'],
    [letters, "$[::-1]", '["g","f","e","d","c","b","a"]'],
    [letters, "$[:]", letters],
    [letters, "$[-2:]", '["f","g"]'],
    [letters, "$[:-5]", '["a","b"]'],
    [letters, "$[::0]", "[]"],
    [letters, "$[ 1 : 2 : 1 ]", '["b"]'],
    [letters, "$[10:2]", "[]"],
    [letters, "$[-100:100:3]", '["a","d","g"]'],
    ['{"a":1}', "$[0:1]", "[]"],
  ]);
});

test("recursive descent returns matches below a node before matches in it", () => {
  const nested = '{"a":2,"b":3,"nested":{"a":4,"b":null}}';
  check([
    [nested, "$..b", "[null,3]"],
    [nested, "$..a", "[4,2]"],
    [nested, "$..['a','b']", "[4,null,2,3]"],
    [nested, "$..*", '[4,null,2,3,{"a":4,"b":null}]'],
    ['{"o":[0,1,[2,3]]}', "$..[1]", "[3,1]"],
    ["[[1],[2]]", "$..[*]", "[1,2,[1],[2]]"],
    ["1", "$..*", "[]"],
    [store, "$..author", '["Nigel Rees","Evelyn Waugh","Herman Melville","J. R. R. Tolkien"]'],
    [store, "$.store..price", "[8.95,12.99,8.99,22.99,399]"],
    [store, "$..book[2].title", '["Moby Dick"]'],
    [store, "$..book[-1].title", '["The Lord of the Rings"]'],
    [store, "$..book[:2].price", "[8.95,12.99]"],
  ]);
});

test("filters compare as in RFC 9535", () => {
  const mixed = '[{"b":"j"},{"b":"k"},{"b":{}},{"b":"kilo"}]';
  check([
    [store, "$..book[?@.isbn].title", '["Moby Dick","The Lord of the Rings"]'],
    [store, "$..book[?(@.price < 10)].title", '["Sayings of the Century","Moby Dick"]'],
    [store, "$..book[?@.price<10&&@.category=='fiction'].title", '["Moby Dick"]'],
    [store, "$..book[?@.price>$.store.book[0].price][?@==22.99]", "[22.99]"],
    [mixed, "$[?@.b == 'kilo']", '[{"b":"kilo"}]'],
    [mixed, "$[?(@.b == 'kilo')]", '[{"b":"kilo"}]'],
    [mixed, '$[?@.b == "k"]', '[{"b":"k"}]'],
    [mixed, "$[?@.b > 'j']", '[{"b":"k"},{"b":"kilo"}]'],
    [mixed, "$[?!(@.b=='j')].b", '["k",{},"kilo"]'],
    [mixed, "$[?!@.c]", mixed],
    ["[3,5,1,2,4,6]", "$[?@>3.5]", "[5,4,6]"],
    ["[3,5,1,2,4,6]", "$[?@<2 || @==4 && @>3]", "[1,4]"],
    ['[1,1.0,true,"1",null]', "$[?@==1]", "[1,1.0]"],
    ["[1,null,false,0]", "$[?@==null]", "[null]"],
    ['[{"a":1},{}]', "$[?@.a==@.b]", "[{}]"],
    ['[{"a":1},{}]', "$[?@.x==@.y]", '[{"a":1},{}]'],
    ['[{"a":1},{}]', "$[?@.a!=1]", "[{}]"],
    ['[{"a":1},{}]', "$[?@.a==null]", "[]"],
    ['[{"a":1},{}]', "$[?@.a<=@.b]", "[{}]"],
    ["[true,false]", "$[?@<=true]", "[true]"],
    ["[true,false]", "$[?@<true]", "[]"],
    ["[9007199254740993,9007199254740992]", "$[?@==9007199254740993]", "[9007199254740993]"],
    ['["é","z","\\ud83d\\ude00","\\uffee"]', "$[?@>'z']", '["é","😀","\uffee"]'],
    ['["\\ud83d\\ude00","\\uffee"]', "$[?@>'\\uffee']", '["😀"]'],
    ['[[1,{"a":2,"b":3}],[1]]', "$[?@==$[0]]", '[[1,{"a":2,"b":3}]]'],
    ['{"x":{"v":{"a":1,"b":2}},"y":{"v":{"b":2.0,"a":1}}}', "$[?@.v==$.x.v].v.a", "[1,1]"],
    ['{"a":{"x":{"i":10}},"b":{"x":{"i":20,"j":5}}}', "$..x[?(@>10)]", "[20]"],
    ["[[1,2],[3],[]]", "$[?@[?@>1]]", "[[1,2],[3]]"],
    ['{"k":"b","o":{"b":1,"c":2}}', "$.o[?@==1]", "[1]"],
  ]);
});

test("functions of filters", () => {
  check([
    ['["ab","€","",[1,2],{"a":1},5]', "$[?length(@)==2]", '["ab",[1,2]]'],
    ['["ab","€","",[1,2],{"a":1},5]', "$[?length(@)<=1]", '["€","",{"a":1}]'],
    ["[[1,2,3],[4]]", "$[?count(@.*)>1]", "[[1,2,3]]"],
    ['[{"a":1},{"a":2,"b":{"a":3}}]', "$[?value(@..a)==1]", '[{"a":1}]'],
    ['["abc","axc","ab","xab"]', "$[?match(@, 'a.c')]", '["abc","axc"]'],
    ['["abc","axc","ab","xab"]', "$[?search(@, 'ab')]", '["abc","ab","xab"]'],
    ['["abc","axc","ab","xab"]', "$[?!match(@, 'a.*')]", '["xab"]'],
    ['["foo","Foobar",5,null]', '$[?@ =~ "(?i)^foo"]', '["foo","Foobar"]'],
    ['[{"a":"x1","p":"\\\\d"},{"a":"xy","p":"\\\\d"},{"a":"x","p":"("}]', "$[?@.a =~ @.p].a", '["x1"]'],
    ["[1,2]", "$[?match(@, 'a')]", "[]"],
  ]);
});

test("paths of the old syntax select the same nodes", () => {
  const document = '{"a":{"b":[1,2]},"c d":3,"$e":4}';
  check([
    [document, ".", `[${document}]`],
    [document, "a.b", "[[1,2]]"],
    [document, ".a.b[1]", "[2]"],
    [document, '.["c d"]', "[3]"],
    [document, '["c d"]', "[3]"],
    [document, "..b", "[[1,2]]"],
    [document, "*", '[{"b":[1,2]},3,4]'],
    ["[1,2]", "[-1]", "[2]"],
  ]);
  assert.equal(parsePath("$").isLegacy, false);
  assert.equal(parsePath(".").isLegacy, true);
});

test("rejects invalid paths, with the position", () => {
  const refused: readonly (readonly [path: string, failure: string])[] = [
    ["", "ERR Invalid JSON path at character 1: empty"],
    [" ", "ERR Invalid JSON path at character 1: expected a name"],
    ["$.\xff", "ERR Couldn't parse as UTF-8 string"],
    ["$a", "ERR Invalid JSON path at character 2: unexpected character"],
    ["$.", "ERR Invalid JSON path at character 3: expected a name"],
    ["$..", "ERR Invalid JSON path at character 4: expected a name"],
    ["$ ", "ERR Invalid JSON path at character 2: unexpected character"],
    ["$. a", "ERR Invalid JSON path at character 3: expected a name"],
    ["$[]", "ERR Invalid JSON path at character 3: expected a selector"],
    [
      "$[01]",
      "ERR Invalid JSON path at character 3: expected an integer without leading zeros, from -(2^53 - 1) to 2^53 - 1",
    ],
    ["$[1", 'ERR Invalid JSON path at character 4: expected "," or "]"'],
    ["$[1 2]", 'ERR Invalid JSON path at character 5: expected "," or "]"'],
    ["$['a]", "ERR Invalid JSON path at character 6: open string"],
    ["$['\\x']", "ERR Invalid JSON path at character 6: unknown escape"],
    ["$['\\ud800']", "ERR Invalid JSON path at character 10: unpaired surrogate"],
    ["$[?]", "ERR Invalid JSON path at character 4: expected a path, a literal or a function"],
    ["$[?1]", "ERR Invalid JSON path at character 5: expected a comparison"],
    ["$[?@.*==1]", "ERR Invalid JSON path at character 9: only a path to one node can be compared"],
    ["$[?@.a==]", "ERR Invalid JSON path at character 9: expected a path, a literal or a function"],
    ["$[?(@.a]", 'ERR Invalid JSON path at character 8: expected ")"'],
    ["$[?match(@,'a')==true]", "ERR Invalid JSON path at character 18: match() and search() cannot be compared"],
    ["$[?length(@)]", "ERR Invalid JSON path at character 13: expected a comparison"],
    ["$[?nope(@)==1]", "ERR Invalid JSON path at character 11: no function nope() with 1 arguments"],
    ["$[?count(1)==1]", "ERR Invalid JSON path at character 12: count() takes a path"],
    ["$[?@=~'(']", "ERR Invalid JSON path at character 10: in the pattern before it: unclosed ("],
    ["$[?@=~1]", "ERR Invalid JSON path at character 8: a pattern is a string"],
  ];
  for (const [path, failure] of refused) {
    assert.throws(
      () => parsePath(path),
      (error) => {
        assert.ok(error instanceof CommandError, path);
        assert.equal(error.text, failure, path);
        return true;
      },
    );
  }
});

test("A-08: accepts a path of maximum length and depth, and no more", () => {
  for (const path of [
    `$${".a".repeat(40_000)}`,
    `$[?${"(".repeat(100)}@${")".repeat(100)}]`,
    `$[?${"@[?".repeat(80)}@`,
  ])
    assert.throws(() => parsePath(path), CommandError);
  assert.equal(textsOf("[[1]]", `$[?${"(".repeat(60)}@[0]==1${")".repeat(60)}]`), "[[1]]");
});

test("A-08: the cost of a path is bounded", () => {
  const wide = `[${Array.from({ length: 2_000 }, () => "[1,2,3,4]").join()}]`;
  const deep = `${"[".repeat(100)}${"]".repeat(100)}`;
  const costly: readonly (readonly [document: string, path: string])[] = [
    [wide, "$[?$..[?$..[?@==9]]]"],
    [wide, "$[?$[?@==$[0]&&@==$[9]]&&@==1]"],
    [wide, `$[${Array.from({ length: 600 }, () => "*").join()}]`],
    [deep, "$..*..*..*..*..*"],
  ];
  for (const [document, path] of costly) {
    assert.throws(
      () => find(document, path),
      (error) => error === pathStepsTooMany || error === pathMatchesTooMany,
      path,
    );
  }
  const budget = new StepBudget();
  find(wide, "$[5][2]", budget);
  assert.ok(budget.used < 5, `${budget.used} steps`);
});

test("A-08: nested filters with recursive descent do not overflow the stack", () => {
  const deep = `${'{"a":'.repeat(127)}[1]${"}".repeat(127)}`;
  const path = `$..[?${"$..[?".repeat(60)}@${"]".repeat(61)}`;
  assert.throws(
    () => find(deep, path),
    (error) => error === pathStepsTooMany,
  );
});

test("a match knows its location", () => {
  const locations = (document: string, path: string) => find(document, path).map(locationOf);
  assert.deepEqual(locations('{"a":[{"b":1},{"b":2}]}', "$..b"), [
    ["a", 0, "b"],
    ["a", 1, "b"],
  ]);
  assert.deepEqual(locations('{"a":[1,2,3]}', "$.a[-1]"), [["a", 2]]);
  assert.deepEqual(locations("[1]", "$"), [[]]);
});

/** Documents that change in place: their memory against a full count, and missing places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonNode, nodeBytesOf } from "../json/node.ts";
import { parseJson } from "../json/parse.ts";
import { textOfNode } from "../json/print.ts";
import { JsonValue } from "./json.ts";

function node(text: string): JsonNode {
  return parseJson(text).node;
}

test("every change updates the memory count", () => {
  const document = new JsonValue(node('{"a":[1,2.5,"three",{"x":1.0}],"b":{"c":null}}'));
  const fixedBytes = document.memoryBytes - nodeBytesOf(document.root);
  const steps: readonly (readonly [what: () => unknown, left: string])[] = [
    [
      () => document.set(["b", "c"], node('"a longer text than before"')),
      '{"a":[1,2.5,"three",{"x":1.0}],"b":{"c":"a longer text than before"}}',
    ],
    [
      () => document.set(["b", "d"], node("[[],{}]")),
      '{"a":[1,2.5,"three",{"x":1.0}],"b":{"c":"a longer text than before","d":[[],{}]}}',
    ],
    [() => document.removeMembers(["b"], ["c", "none"]), '{"a":[1,2.5,"three",{"x":1.0}],"b":{"d":[[],{}]}}'],
    [
      () => document.insert(["a"], 1, [node("7"), node('{"y":8}')]),
      '{"a":[1,7,{"y":8},2.5,"three",{"x":1.0}],"b":{"d":[[],{}]}}',
    ],
    [() => document.removeElements(["a"], [0, 2, 4]), '{"a":[7,2.5,{"x":1.0}],"b":{"d":[[],{}]}}'],
    [() => document.removeElements(["a"], [1]), '{"a":[7,{"x":1.0}],"b":{"d":[[],{}]}}'],
    [
      () => document.merge(["a", 1], node('{"x":{"z":[1]},"w":2,"none":null}')),
      '{"a":[7,{"x":{"z":[1]},"w":2}],"b":{"d":[[],{}]}}',
    ],
    [
      () => document.merge([], node('{"b":{"d":null,"e":"f"},"a":null,"g":[0,1,2,3]}')),
      '{"b":{"e":"f"},"g":[0,1,2,3]}',
    ],
    [() => document.trim(["g"], { from: 1, to: 3 }), '{"b":{"e":"f"},"g":[1,2]}'],
    [
      () => document.appendText(["b", "e"], " and more than thirteen"),
      '{"b":{"e":"f and more than thirteen"},"g":[1,2]}',
    ],
    [() => document.set([], node("[]")), "[]"],
  ];
  for (const [change, left] of steps) {
    assert.ok(change() !== false, left);
    assert.equal(textOfNode(document.root), left);
    assert.equal(document.memoryBytes, fixedBytes + nodeBytesOf(document.root), left);
  }
});

test("a change at a missing place, or of another kind, does nothing", () => {
  const text = '{"a":[1],"b":"x"}';
  const document = new JsonValue(node(text));
  assert.equal(document.set(["a", 1], 5), false);
  assert.equal(document.set(["a", "name"], 5), false);
  assert.equal(document.set(["none", "below"], 5), false);
  assert.equal(document.set([0], 5), false);
  assert.equal(document.insert(["b"], 0, [1]), undefined);
  assert.equal(document.removeElements(["b"], [0]), false);
  assert.equal(document.removeMembers(["a"], ["x"]), false);
  assert.equal(document.trim(["none"], { from: 0, to: 0 }), false);
  assert.equal(document.appendText(["a"], "x"), undefined);
  assert.equal(document.merge(["none", "below"], node("{}")), false);
  assert.equal(textOfNode(document.root), text);
});

test("an object of many members keeps their order, also after changes", () => {
  const names = Array.from({ length: 100 }, (_, i) => `name ${i}`);
  const document = new JsonValue(node("{}"));
  for (const [index, name] of names.entries()) document.set([name], index);
  document.removeMembers([], ["name 3", "name 50"]);
  document.set(["name 3"], "back");
  document.set(["name 4"], "same place");
  const expected = [...names.filter((name) => name !== "name 3" && name !== "name 50"), "name 3"];
  assert.deepEqual(Object.keys(JSON.parse(textOfNode(document.root))), expected);
});

test("a copy shares nothing that changes", () => {
  const document = new JsonValue(node('{"a":[{"b":[1]}]}'));
  const copy = document.copy();
  copy.insert(["a", 0, "b"], 1, [2]);
  copy.set(["a", 0, "c"], true);
  assert.equal(textOfNode(document.root), '{"a":[{"b":[1]}]}');
  assert.equal(textOfNode(copy.root), '{"a":[{"b":[1,2],"c":true}]}');
});

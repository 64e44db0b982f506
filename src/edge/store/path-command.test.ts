import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestFailure } from "../errors.ts";
import { appendQueryWords, findTokenParameter, pathWords, splitTarget } from "./path-command.ts";

function words(target: string): string[] {
  const split = splitTarget(target);
  const found = pathWords(split);
  appendQueryWords(found, split);
  return found;
}

const rows: [string, string[]][] = [
  ["/", []],
  ["/?x=1", ["x", "1"]],
  ["/get/k", ["get", "k"]],
  ["/GET/k/", ["GET", "k"]],
  ["/get//", ["get", ""]],
  ["//", [""]],
  ["//k", ["", "k"]],
  ["/set/k//EX/1", ["set", "k", "", "EX", "1"]],
  ["/set/a%2Fb/c", ["set", "a/b", "c"]],
  ["/set/k/%00%FF", ["set", "k", "\x00\xff"]],
  ["/echo/%2F/", ["echo", "/"]],
  ["/set/k/v?EX=100", ["set", "k", "v", "EX", "100"]],
  ["/set/k/v/?EX=100", ["set", "k", "v", "EX", "100"]],
  ["/set/k?NX", ["set", "k", "NX"]],
  ["/set/a?test&EX=10", ["set", "a", "test", "EX", "10"]],
  ["/x?b=2&a=1&b=3", ["x", "b", "2", "a", "1", "b", "3"]],
  ["/x?a=1=2", ["x", "a", "1=2"]],
  ["/x?a=", ["x", "a", ""]],
  ["/x?=a", ["x", "", "a"]],
  ["/x?", ["x"]],
  ["/x?&&a&", ["x", "a"]],
  ["/x?a/b=c/d", ["x", "a/b", "c/d"]],
  ["/x?a?b", ["x", "a?b"]],
  ["/x?_token=t&EX=1", ["x", "EX", "1"]],
  ["/x?EX=1&_token=t", ["x", "EX", "1"]],
  ["/x?_token&A&_token=2", ["x", "A"]],
  ["/x?%5Ftoken=t", ["x"]],
  ["/x?a%3Db=%26", ["x", "a=b", "&"]],
  ["/x?a+b=c%2Bd", ["x", "a b", "c+d"]],
  ["/__proto__/constructor", ["__proto__", "constructor"]],
];

for (const [target, expected] of rows) {
  test(`A1: ${target} is ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(words(target), expected);
  });
}

test("A-18: refuses malformed percent-encoding in path and query", () => {
  for (const target of ["/get/%", "/get/%zz", "/get/%4", "/get/k?%", "/get/k?a=%f"])
    assert.throws(() => words(target), RequestFailure, target);
});

test("A-02: finds the token at any position, decoded", () => {
  const tokens: [string, string | undefined][] = [
    ["/get/k", undefined],
    ["/get/k?a=b", undefined],
    ["/get/k?_token=t", "t"],
    ["/get/k?a=b&_token=t&c", "t"],
    ["/get/k?_token=a%20b", "a b"],
    ["/get/k?_token", undefined],
    ["/get/k?a=%zz&_token=t", "t"],
    ["/get/k?%zz=a&_token=%zz", undefined],
    ["/_token=t", undefined],
  ];
  for (const [target, token] of tokens) assert.equal(findTokenParameter(splitTarget(target)), token, target);
});

test("a long argument is a copy, not a slice of the target", () => {
  const value = "v".repeat(1_000);
  assert.deepEqual(words(`/set/k/${value}?${value}`), ["set", "k", value, value]);
});

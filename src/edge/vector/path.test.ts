/** Index, command and namespace of a path. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestFailure } from "../errors.ts";
import { readNamespace, splitVectorPath } from "./path.ts";

const commands = ["query", "info", "delete-namespace"];

function split(path: string): readonly [index: string | undefined, command: string, rest: string] | undefined {
  const found = splitVectorPath(path, (segment) => commands.includes(segment));
  return found && [found.indexName, found.command, found.rest];
}

test("a path is a command and a rest, optionally after the name of an index", () => {
  const rows: [string, ReturnType<typeof split>][] = [
    ["/query", [undefined, "query", ""]],
    ["/query/", [undefined, "query", ""]],
    ["/query/a", [undefined, "query", "a"]],
    ["/query/a/b/", [undefined, "query", "a/b/"]],
    ["/query//a", [undefined, "query", "/a"]],
    ["/docs/query", ["docs", "query", ""]],
    ["/docs/query/", ["docs", "query", ""]],
    ["/docs/query/a/b", ["docs", "query", "a/b"]],
    ["/docs/delete-namespace/query", ["docs", "delete-namespace", "query"]],
    ["/", undefined],
    ["//query", undefined],
    ["/docs", undefined],
    ["/docs/", undefined],
    ["/docs/docs/query", undefined],
    ["/Query", undefined],
    ["/queryx", undefined],
    ["/__proto__", undefined],
  ];
  for (const [path, expected] of rows) assert.deepEqual(split(path), expected, path);
});

test("the name of an index that is also a command is read as the command", () => {
  assert.deepEqual(split("/query/info"), [undefined, "query", "info"]);
  assert.deepEqual(split("/info/query/a"), [undefined, "info", "query/a"]);
});

// B.namespace
test("B-03: a namespace is any text", () => {
  const rows: [string, string][] = [
    ["", ""],
    ["plain", "plain"],
    ["a/b", "a/b"],
    ["a%2Fb", "a/b"],
    ["a%20b+c", "a b+c"],
    ["a%2520b", "a%20b"],
    ["%00", "\0"],
    ["..", ".."],
    ["__proto__", "__proto__"],
    ["%C3%A9", "é"],
    ["e%CC%81", "e\u0301"],
    ["%F0%9F%98%80", "😀"],
    // Bytes without percent-encoding.
    ["\xc3\xa9", "é"],
  ];
  for (const [rest, expected] of rows) assert.equal(readNamespace(rest, 256), expected, rest);
});

test("B.namespace, B.errors.400: refuses a namespace that is not percent-encoded UTF-8", () => {
  for (const rest of ["%", "a%", "%2", "%zz", "%2g", "a%%20", "%FF", "%C3", "%ED%A0%80", "\xff"]) {
    assert.throws(
      () => readNamespace(rest, 256),
      new RequestFailure("bad request", "Invalid namespace in the path: it must be percent-encoded UTF-8"),
      rest,
    );
  }
});

test("limits a namespace by its bytes in UTF-8", () => {
  assert.equal(readNamespace("%C3%A9%C3%A9", 4), "éé");
  assert.equal(readNamespace("abcd", 4), "abcd");
  for (const rest of ["abcde", "%C3%A9%C3%A9a"]) {
    assert.throws(
      () => readNamespace(rest, 4),
      new RequestFailure("unprocessable", "Invalid namespace in the path: it has 5 bytes. Limit: 4 bytes"),
      rest,
    );
  }
});

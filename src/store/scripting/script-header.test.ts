import assert from "node:assert/strict";
import { test } from "node:test";
import { CommandError } from "../errors.ts";
import { ScriptCache } from "./script-cache.ts";
import { parseLibraryHeader, parseScriptHeader } from "./script-header.ts";

/** The text of the error that `work` throws. */
function refusalOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof CommandError) return error.text;
    throw error;
  }
  return "accepted";
}

test("a script without a shebang is unchanged", () => {
  assert.deepEqual(parseScriptHeader("return 1"), { isPresent: false, flags: [], source: "return 1" });
});

test("flags of a shebang are read, and its line stays blank", () => {
  assert.deepEqual(parseScriptHeader("#!lua flags=no-writes,allow-key-locking\nreturn 1"), {
    isPresent: true,
    flags: ["no-writes", "allow-key-locking"],
    source: "\nreturn 1",
  });
  assert.deepEqual(parseScriptHeader("#!lua flags=\nx").flags, []);
});

test("rejects a wrong shebang with Redis' texts", () => {
  const table: readonly [string, string][] = [
    ["#!lua", "ERR Invalid script shebang"],
    ["#!python\nreturn 1", "ERR Unexpected engine in script shebang: #!python"],
    ["#! lua\nreturn 1", "ERR Unexpected engine in script shebang: #!"],
    ["#!lua foo=1\nreturn 1", "ERR Unknown lua shebang option: foo=1"],
    ["#!lua name=a\nreturn 1", "ERR Unknown lua shebang option: name=a"],
    ["#!lua flags=xx\nreturn 1", "ERR Unexpected flag in script shebang: xx"],
    ["#!lua flags=no-writes,\nreturn 1", "ERR Unexpected flag in script shebang: "],
  ];
  for (const [script, text] of table)
    assert.equal(
      refusalOf(() => parseScriptHeader(script)),
      text,
      script,
    );
});

test("rejects a wrong first line of a library with Redis' texts", () => {
  const badName =
    "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long";
  const table: readonly [string, string][] = [
    ["x", "ERR Missing library metadata"],
    ["#!lua name=a", "ERR Invalid library metadata"],
    ["#!lua\nx", "ERR Library name was not given"],
    ["#!lua name=a-b\nx", badName],
    ["#!lua name=\nx", badName],
    ["#!lua name=a name=b\nx", "ERR Invalid metadata value, name argument was given multiple times"],
    ["#!lua nme=a\nx", "ERR Invalid metadata value given: nme=a"],
    ["#!js name=a\nx", "ERR Engine 'js' not found"],
  ];
  for (const [code, text] of table)
    assert.equal(
      refusalOf(() => parseLibraryHeader(code)),
      text,
      code,
    );
  assert.deepEqual(parseLibraryHeader("#!LUA name=a_1\nreturn 1"), { name: "a_1", source: "\nreturn 1" });
});

test("a script is found by its digest in any case", () => {
  const cache = new ScriptCache();
  const { digest } = cache.add("return 1");
  assert.equal(digest, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
  assert.equal(cache.find("E0E1F9FABFC9D4800C877A703B823AC0578FF8DB")?.source, "return 1");
  assert.equal(cache.find("wrong-sha1"), undefined);
  assert.equal(cache.has(digest), true);
  cache.flush();
  assert.equal(cache.has(digest), false);
  assert.equal(cache.bytes, 0);
});

test("scripts above the limit are removed, the least recently used first", () => {
  const cache = new ScriptCache(700);
  const [first, second] = [cache.add("return 1"), cache.add("return 2"), cache.add("return 3")];
  cache.find(first.digest);
  cache.add("return 4");
  assert.equal(cache.count, 3);
  assert.equal(cache.has(first.digest), true);
  assert.equal(cache.has(second.digest), false);
});

test("a script is checked once, also if its text comes again, until it is removed", () => {
  const cache = new ScriptCache(700);
  const checked: string[] = [];
  const add = (text: string) => cache.add(text, ({ source }) => checked.push(source));
  for (const text of ["return 1", "return 2", "return 3", "return 1", "return 4", "return 1", "return 2"]) add(text);
  assert.deepEqual(checked, ["return 1", "return 2", "return 3", "return 4", "return 2"]);
  assert.equal(cache.find(add("return 1").digest), add("return 1"));
  cache.flush();
  assert.equal(cache.find(add("return 1").digest), add("return 1"));
  assert.deepEqual(checked.slice(5), ["return 1"]);
});

test("a long script is found by its text as a short one is", () => {
  const cache = new ScriptCache();
  const text = `return 1 ${"-".repeat(20_000)}`;
  assert.equal(cache.add(text), cache.add(`${text}`));
  assert.equal(cache.count, 1);
});

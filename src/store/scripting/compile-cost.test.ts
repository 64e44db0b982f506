import assert from "node:assert/strict";
import { test } from "node:test";
import { COUNTED_BYTES_MIN, compileFault } from "./compile-cost.ts";
import { LuaConstants } from "./lua/constants.ts";

/** `unit` repeated to a source of 1 MiB, between `head` and `tail`. */
function filled(head: string, unit: string | ((index: number) => string), tail = ""): string {
  const parts = [head];
  let length = head.length + tail.length;
  for (let index = 0; ; index += 1) {
    const part = typeof unit === "string" ? unit : unit(index);
    length += part.length;
    if (length > 1_048_576) return `${parts.join("")}${tail}`;
    parts.push(part);
  }
}

/** That many distinct names of two or more characters. */
function names(count: number): string {
  return Array.from({ length: count }, (_, index) => `_${index.toString(36)}`).join(",");
}

/** Strings of 40 bytes that differ only in bytes that Lua's hash ignores. */
function alike(index: number): string {
  const characters = new Array<string>(40).fill("a");
  for (let rest = index, place = 38; rest > 0; rest = Math.floor(rest / 26), place -= 2)
    characters[place] = String.fromCharCode(0x61 + (rest % 26));
  return `"${characters.join("")}",`;
}

/** Nested `if`s, each in the first branch of another: the jumps to the end of each join those of the next. */
function branches(depth: number): string {
  let source = "a=1";
  for (let level = 0; level < depth; level += 1) source = `if a then ${source}${" elseif a then".repeat(900)} end`;
  return source;
}

const nested = `local function f() local ${names(198)} `.repeat(150);
const jumps = (line: number): string =>
  `line ${line}: too many 'and', 'or', 'elseif' or 'break' in one expression, 'if' or loop`;

const refused: readonly [name: string, source: string, fault: string][] = [
  ["one chain of and", filled("local a local x=a", " and a"), jumps(1)],
  ["one chain of or, one per line", filled("local a local x=a", "\nor a"), jumps(20_001)],
  ["chains in nested brackets", filled("local a local x=", "((a and a) or a) and ", "a"), jumps(1)],
  ["an if of many branches", filled("local a if a then", " elseif a then", " end"), jumps(1)],
  ["a loop of many breaks", filled("local a while a do", " if a then break end", " end"), jumps(1)],
  ["nested ifs, each at the end of a branch", `local a ${branches(74)}`, jumps(1)],
  [
    "unknown names in nested functions",
    filled(nested, "Q=Q ", "end ".repeat(150)),
    "line 1: too many names with too many locals in scope",
  ],
  ["strings of one hash", filled("return {", alike, "}"), "too many constants with the same hash"],
];

for (const [name, source, fault] of refused)
  test(`A-10: rejects as too slow to compile: ${name}`, () => {
    assert.equal(compileFault(source), fault);
  });

const fine: readonly [name: string, source: string][] = [
  ["a megabyte of assignments", filled("", (index) => `g${index}={a=${index},"x${index}",f(g)} `)],
  ["a megabyte of different strings", filled("return {", (index) => `"${index.toString(36)}",`, "}")],
  ["a megabyte of numbers in a row", filled("return {", (index) => `${index},`, "}")],
  ["a megabyte of conditions", filled("", "if a and b or c and not d then return e or f end ")],
  [
    "a megabyte of functions with locals",
    filled(`local ${names(190)} `, `function f(${names(20)}) local a,b,c=d if a then return b or c end end `),
  ],
  ["a megabyte of a comment of operators", filled("--[[", " and or elseif", "]]")],
  ["a megabyte of a string of operators", filled("return [[", " and or elseif", "]]")],
  ["an expression of 15,000 operators", `return a${" and a or a".repeat(7_500)}`],
  [
    "an if of 2,000 branches with ten operators each",
    `if a then ${"elseif a and b or c and d or e and f or g and h or i and j or k then b() ".repeat(2_000)} end`,
  ],
  ["a loop of 2,000 breaks", `while a do ${"if a then break end ".repeat(2_000)} end`],
  ["a source that is not Lua", filled("end end ) ] } until ", "end ) else break elseif ")],
];

for (const [name, source] of fine)
  test(`compiles: ${name}`, () => {
    assert.ok(source.length >= COUNTED_BYTES_MIN);
    assert.equal(compileFault(source), undefined);
  });

test("hashes are those of Lua 5.1", () => {
  // Computed by hand from lstring.c and ltable.c: all constants of a row are in one chain of the smallest table.
  const together = (strings: readonly string[], numbers: readonly string[]): number => {
    const constants = new LuaConstants();
    for (const text of strings) constants.addString(text);
    for (const text of numbers) constants.addNumber(text);
    return constants.steps();
  };
  // "a" is 128; 1 is 0x3ff00000, which is 64 modulo 1,023 and the word of 2 is 2^20 more, which is 1,024.
  assert.equal(together(["a"], []), 0.53125);
  assert.equal(together(["a"], ["1"]), 1.03125);
  assert.equal(together([], ["1", "1.0", "0x1"]), 0.5);
  assert.equal(together([], ["0x1p4", "0x1p5"]), 2);
  assert.equal(together([alike(0), alike(1)], []), 7.375);
});

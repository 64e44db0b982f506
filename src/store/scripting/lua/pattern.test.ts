import assert from "node:assert/strict";
import { test } from "node:test";
import { luaOptions } from "../../../../test/harness/lua.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { seededRandom } from "../../../kernel/random.ts";
import { LuaHost } from "./host.ts";
import { compileLua, GLOBALS, LuaInstance } from "./instance.ts";
import { stringFunctions } from "./string-functions.ts";

const module = compileLua(luaOptions.code);

/** A state with Lua's own string library as `string` and our functions as `ours`. */
function open() {
  const instance = new LuaInstance({ module, memoryBytesMax: 64 * 1_024 * 1_024 });
  const { api } = instance;
  const host = new LuaHost(instance, new VirtualClock());
  const state = instance.newState(16 * 1_024 * 1_024);
  assert.ok(state !== undefined);
  const { lua } = state;
  for (const library of [api.luaopen_base, api.luaopen_string, api.luaopen_table]) {
    api.lua_pushcclosure(lua, instance.addFunction(library), 0);
    api.lua_call(lua, 0, 0);
  }
  const ours = stringFunctions(host);
  api.lua_createtable(lua, 0, 8);
  for (const name of ["find", "match", "gsub", "rep"] as const) {
    const run = ours[name];
    assert.ok(run !== undefined);
    api.lua_pushcclosure(lua, instance.addFunction(run), 0);
    instance.setField(lua, -2, name);
  }
  instance.setField(lua, GLOBALS, "ours");
  const run = (source: string): string => {
    const status = instance.load(lua, source, "@user_script") || api.lua_pcall(lua, 0, 1, 0);
    const text = instance.bytesAt(lua, -1);
    api.lua_settop(lua, 0);
    return status === 0 ? text : `failed: ${text}`;
  };
  return { run };
}

/** A Lua literal of these bytes. */
function literal(bytes: string): string {
  return `"${Array.from(bytes, (character) => `\\${`${character.charCodeAt(0)}`.padStart(3, "0")}`).join("")}"`;
}

const shared = `
local function show(...)
  local out = {}
  for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
  return table.concat(out, "|")
end
local function try(f, ...) return show(pcall(f, ...)) end
`;

test("patterns match as Lua's own matcher does, on random patterns and subjects", () => {
  const seed = Number(process.env["SEED"] ?? 20_261_121);
  const random = seededRandom(seed);
  const pieces = [
    "a",
    "b",
    ".",
    "%a",
    "%d",
    "%s",
    "%w",
    "%W",
    "[ab]",
    "[^a]",
    "[a-c%d]",
    "()",
    "(a)",
    "(.-)",
    "(%a*)",
    "%1",
  ];
  const rarePieces = [
    "%",
    "[",
    "]",
    "(",
    ")",
    "%b()",
    "%f[%a]",
    "[]]",
    "[^]]",
    "$",
    "^",
    "%z",
    "\0",
    "-",
    "[%a-z]",
    "[a-]",
    "%2",
  ];
  const suffixes = ["", "", "", "*", "+", "-", "?"];
  const subjects = "aaabbb01 ()xy\0\xff";
  const pick = (list: readonly string[]): string => list[random.below(list.length)] ?? "";
  const { run } = open();
  for (let round = 0; round < 4_000; round += 1) {
    let pattern = random.below(5) === 0 ? "^" : "";
    for (let count = random.below(5); count >= 0; count -= 1)
      pattern += (random.below(6) === 0 ? pick(rarePieces) : pick(pieces)) + pick(suffixes);
    if (random.below(5) === 0) pattern += "$";
    let subject = "";
    for (let count = random.below(14); count > 0; count -= 1) subject += subjects[random.below(subjects.length)];
    const [p, s] = [literal(pattern), literal(subject)];
    const start = random.below(20) - 8;
    const template = literal(pick(["x", "<%0>", "%1%1", "%%", "%2"]));
    const outcome = run(`${shared}
local p, s = ${p}, ${s}
for _, call in ipairs({
  function(l) return try(l.find, s, p, ${start}) end,
  function(l) return try(l.match, s, p, ${start}) end,
  function(l) return try(l.gsub, s, p, ${template}) end,
  function(l) return try(l.gsub, s, p, function(...) return (show(...)) end, 3) end,
}) do
  local theirs, mine = call(string), call(ours)
  if theirs ~= mine then return "Lua: " .. theirs .. " ours: " .. mine end
end
return "same"`);
    assert.equal(outcome, "same", `pattern ${p}, subject ${s}, start ${start}; replay with SEED=${seed}`);
  }
});

test("patterns that need exponential or quadratic time end with an error", () => {
  const { run } = open();
  const table: readonly string[] = [
    "ours.find(ours.rep('a', 30), ours.rep('a?', 30) .. ours.rep('a', 30))",
    "ours.find(ours.rep('a', 40), ours.rep('a*', 20) .. 'b')",
    "ours.find(ours.rep('a', 40), ours.rep('(.-)', 15) .. 'b')",
    "ours.match(ours.rep('a', 200000), '.-b')",
    "ours.gsub(ours.rep('a', 200000), 'a*b', '')",
    "ours.find(ours.rep('a', 20000), '[' .. ours.rep('x', 20000) .. ']')",
    "ours.find(ours.rep('(', 20000), '%b()')",
  ];
  for (const call of table)
    assert.equal(run(`return ${call}`), "failed: user_script:1: pattern takes too many steps", call);
  assert.equal(
    run("return ours.find(ours.rep('a', 300), ours.rep('a?', 300))"),
    "failed: user_script:1: pattern too complex",
  );
});

test("rep returns the same as Lua's and refuses too large results", () => {
  const { run } = open();
  assert.equal(run("return ours.rep('ab', 3)"), "ababab");
  assert.equal(run("return ours.rep('ab', -1) .. ours.rep('', 1e9)"), "");
  assert.equal(run("return tostring(ours.rep('abc', 70000) == string.rep('abc', 70000))"), "true");
  assert.equal(run("return ours.rep('x', 1e9)"), "failed: user_script:1: resulting string too large");
});

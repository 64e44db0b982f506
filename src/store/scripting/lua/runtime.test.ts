import assert from "node:assert/strict";
import { test } from "node:test";
import { luaOptions } from "../../../../test/harness/lua.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { seededRandom } from "../../../kernel/random.ts";
import { CommandError } from "../../errors.ts";
import { errorReply, ok, type Reply } from "../../reply/reply.ts";
import { FunctionLibraries } from "../function-libraries.ts";
import type { ScriptHost } from "../redis-functions.ts";
import { compileLua } from "./instance.ts";
import { type LuaLimits, LuaRuntime } from "./runtime.ts";

const module = compileLua(luaOptions.code);

/** A clock of which each reading is a millisecond later: the time of a script is the number of readings. */
class TickingClock extends VirtualClock {
  #readings = 0;

  override monotonicMs(): number {
    this.#readings += 1;
    return this.#readings;
  }
}

/** GET and SET of strings, and Redis' refusals. */
function makeHost(): ScriptHost & { readonly calls: Bytes[][] } {
  const strings = new Map<Bytes, Bytes>();
  const calls: Bytes[][] = [];
  const answers: Readonly<Record<string, (words: Bytes[]) => Reply>> = {
    GET: ([, key = ""]) => strings.get(key) ?? null,
    SET: ([, key = "", value = ""]) => {
      strings.set(key, value);
      return ok;
    },
    ECHO: ([, text = ""]) => text,
    INCR: () => errorReply(new CommandError("WRONGTYPE Operation against a key holding the wrong kind of value")),
    MAP: () => ({
      kind: "map",
      pairs: [
        ["a", 1],
        ["b", { kind: "double", value: 1.5 }],
      ],
    }),
    MEMBERS: () => ({ kind: "set", members: ["m"] }),
    YES: () => ({ kind: "boolean", value: true }),
    NOARRAY: () => ({ kind: "nil array" }),
    BIG: () => 9_223_372_036_854_775_807n,
    LONG: () => Buffer.alloc(100_000, "x"),
  };
  return {
    calls,
    call: (words) => {
      calls.push(words);
      const answer = answers[(words[0] ?? "").toUpperCase()];
      return answer === undefined
        ? errorReply(new CommandError("ERR Unknown Redis command called from script"))
        : answer(words);
    },
  };
}

function open(limits: Partial<LuaLimits> = {}) {
  const runtime = new LuaRuntime({ module, clock: new TickingClock(), random: seededRandom(1), limits });
  let scriptCount = 0;
  const names = new Map<Bytes, string>();
  const host = makeHost();
  const run = (
    source: Bytes,
    given: { owner?: string; keys?: Bytes[]; args?: Bytes[]; host?: ScriptHost } = {},
  ): Reply => {
    let name = names.get(source);
    if (name === undefined) {
      scriptCount += 1;
      name = `sha${scriptCount}`;
      names.set(source, name);
    }
    return runtime.run({ owner: "0/default", name, source, keys: [], args: [], host, ...given });
  };
  /** The reply, and the text of an error without the name of the script. */
  const shown = (source: Bytes, given: Parameters<typeof run>[1] = {}): unknown => show(run(source, given));
  return { runtime, run, shown, host };
}

function show(reply: Reply): unknown {
  if (reply === null || typeof reply !== "object") return reply;
  if (reply instanceof Uint8Array) return "a buffer";
  if (!("kind" in reply)) return reply.map(show);
  if (reply.kind === "error") return `-${reply.error.text.replace(/ script: sha\d+/, " script: SHA")}`;
  if (reply.kind === "simple") return `+${reply.text}`;
  return reply;
}

const at = " script: SHA, on @user_script:1.";

test("the result of a script becomes a reply as in Redis", () => {
  const { shown } = open();
  const table: readonly [Bytes, unknown][] = [
    ["return 1", 1],
    ["return 3.99", 3],
    ["return -1.9", -1],
    ["return 0/0", -9_223_372_036_854_775_808n],
    ["return -1e300", -9_223_372_036_854_775_808n],
    ["return 2^53", 9_007_199_254_740_992n],
    ["return 'a\\0b\\255'", "a\0b\xff"],
    ["return true", 1],
    ["return false", null],
    ["return nil", null],
    ["return", null],
    ["return {1,2,nil,4}", [1, 2]],
    ["return {1,{2,{'x'}},false,true}", [1, [2, ["x"]], null, 1]],
    ["return {}", []],
    ["return {ok='fine\\n'}", "+fine "],
    ["return {ok='fi\\0ne'}", "+fi"],
    ["return {err='MY text\\r\\n'}", "-MY text"],
    ["return {1,{err='E x'}}", [1, "-E x"]],
    ["return {double=3.5}", { kind: "double", value: 3.5 }],
    ["return {map={a=1}}", { kind: "map", pairs: [["a", 1]] }],
    ["return {set={a=true}}", { kind: "set", members: ["a"] }],
    ["return {1,2,ok='fine'}", "+fine"],
    ["local t = {} for i = 1, 100 do t[i] = i end t.err = 'E x' return t", "-E x"],
    ["local t = {1,2} t.ok = 'x' t.ok = nil return t", [1, 2]],
    ["local t = {} t.n = 1 t[1] = 2 return {t,{3}}", [[2], [3]]],
    ["return {{ok='a'},{map={b=1}},{}}", ["+a", { kind: "map", pairs: [["b", 1]] }, []]],
    ["return {big_number='12345678901234567890'}", "12345678901234567890"],
    ["return {verbatim_string={format='txt',string='hi'}}", { kind: "verbatim", text: "hi" }],
    ["return function() end", null],
    ["return {function() end,2}", [null, 2]],
    ["redis.setresp(3) return true", { kind: "boolean", value: true }],
    ["return redis.error_reply('foo bar')", "-foo bar"],
    ["return redis.error_reply('-foo bar')", "-foo bar"],
    ["return redis.error_reply()", "-ERR wrong number or type of arguments"],
    ["return redis.status_reply('x')", "+x"],
  ];
  for (const [script, reply] of table) assert.deepEqual(shown(script), reply, script);
});

test("functions of Lua that have another form for more arguments fail as Lua's own in both forms", () => {
  const { shown } = open();
  const bad = (text: string): string => `-ERR user_script:1: bad argument ${text}${at}`;
  const table: readonly [Bytes, unknown][] = [
    ["return tonumber('12') + tonumber(1)", 13],
    ["return tonumber('zz')", null],
    ["return tonumber('ff', 16)", 255],
    ["return tonumber()", bad("#1 to 'tonumber' (value expected)")],
    ["return tonumber('1', 99)", bad("#2 to 'tonumber' (base out of range)")],
    ["return {unpack({1,2,3})}", [1, 2, 3]],
    ["return {unpack({1,2,3}, 2)}", [2, 3]],
    ["return unpack()", bad("#1 to 'unpack' (table expected, got no value)")],
    ["return unpack(1, 2)", bad("#1 to 'unpack' (table expected, got number)")],
    ["return table.concat({1,2,3})", "123"],
    ["return table.concat({1,2,3}, '-')", "1-2-3"],
    ["return table.concat({1,2,3}, '-', 2)", "2-3"],
    ["return table.concat({{}})", `-ERR user_script:1: invalid value (table) at index 1 in table for 'concat'${at}`],
    ["return {pcall(tonumber)}", [null, "bad argument #1 to '?' (value expected)"]],
  ];
  for (const [script, reply] of table) assert.deepEqual(shown(script), reply, script);
});

test("a command gets strings as they are and numbers with up to 17 digits", () => {
  const { run, host } = open();
  const long = "k".repeat(65);
  const keys = ["key:1", "k", long, "", "key:3"];
  const table: readonly [arguments: Bytes, words: readonly Bytes[]][] = [
    ["KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[1]", ["key:1", "k", long, "", "key:3", "key:1"]],
    ["'key:1', 'key:2', 'kEy:1', 'key:', 'key:12'", ["key:1", "key:2", "kEy:1", "key:", "key:12"]],
    ["'', 'a\\0b\\255', '\\0', ('v'):rep(5000)", ["", "a\0b\xff", "\0", "v".repeat(5_000)]],
    [
      "1, -1, -0, 1.5, 0.1, 2^31, 2^53",
      ["1", "-1", "-0", "1.5", "0.10000000000000001", "2147483648", "9007199254740992"],
    ],
    ["1e300, 1/0, -1/0", ["1.0000000000000001e+300", "inf", "-inf"]],
    ["unpack({'a', 2, 'b'})", ["a", "2", "b"]],
  ];
  for (const [list, words] of table) {
    const inCoroutine = `return coroutine.wrap(function(...) return redis.call('echo', ...) end)(${list})`;
    // Lua takes more memory, so that all of it is somewhere else.
    const afterGrowth = `local all = {} for i = 1, 20 do all[i] = ('x'):rep(2^20) .. i end return redis.call('echo', ${list})`;
    for (const script of [`return redis.call('echo', ${list})`, inCoroutine, afterGrowth]) {
      host.calls.length = 0;
      assert.equal(run(script, { keys }), words[0], script);
      assert.deepEqual(host.calls, [["echo", ...words]], script);
    }
  }
});

test("a command refuses arguments that are neither strings nor numbers", () => {
  const { shown, host } = open();
  const refusal = `-ERR Lua redis lib command arguments must be strings or integers${at}`;
  for (const argument of ["true", "false", "nil", "{}", "print", "coroutine.create(function() end)", "cjson.null"])
    assert.equal(shown(`local print = tonumber return redis.call('echo', 'a', ${argument})`), refusal, argument);
  assert.deepEqual(host.calls, []);
});

test("replies of commands become values of Lua, in RESP2 and RESP3", () => {
  const { shown } = open();
  const table: readonly [Bytes, unknown][] = [
    ["return redis.call('set','k','v').ok", "OK"],
    ["return redis.call('get','none') == false", 1],
    ["redis.setresp(3) return {redis.call('get','none') == nil}", [{ kind: "boolean", value: true }]],
    ["return redis.call('noarray') == false", 1],
    ["return redis.call('map')", ["a", 1, "b", "1.5"]],
    ["redis.setresp(3) return redis.call('map').map.b.double * 2", 3],
    ["return redis.call('members')", ["m"]],
    ["redis.setresp(3) return tostring(redis.call('members').set.m)", "true"],
    ["return redis.call('yes')", 1],
    ["redis.setresp(3) return tostring(redis.call('yes'))", "true"],
    ["return tostring(redis.call('big'))", "9.2233720368548e+18"],
    ["return #redis.call('long')", 100_000],
    ["return redis.call('echo', 'a\\0\\255')", "a\0\xff"],
    ["return redis.call('echo', 3.5) .. redis.call('echo', 1e20) .. redis.call('echo', -0)", "3.51e+20-0"],
    ["return redis.call('echo', 1/3)", "0.33333333333333331"],
    ["return redis.call('set','n',10) and redis.call('get','n') + 5", 15],
  ];
  for (const [script, reply] of table) assert.deepEqual(shown(script), reply, script);
});

test("errors have Redis' texts and positions", () => {
  const { shown } = open({ budgetMs: 1e9 });
  const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";
  const table: readonly [Bytes, unknown][] = [
    ["return redis.call('incr','k')", `-${wrongType}${at}`],
    ["return redis.pcall('incr','k')", `-${wrongType}`],
    ["return redis.pcall('incr','k').err", wrongType],
    ["return {pcall(redis.call,'incr','k')}", [null, wrongType]],
    ["\n\nredis.call('nope')", "-ERR Unknown Redis command called from script script: SHA, on @user_script:3."],
    ["return redis.call()", `-ERR Please specify at least one argument for this redis lib call${at}`],
    ["return redis.call({})", `-ERR Lua redis lib command arguments must be strings or integers${at}`],
    ["return redis.pcall('get', nil)", "-ERR Lua redis lib command arguments must be strings or integers"],
    ["error('x')", `-ERR user_script:1: x${at}`],
    ["error('a\\nb')", `-ERR user_script:1: a b${at}`],
    ["error('x', 0)", `-ERR x${at}`],
    ["error({err='MY x'})", `-MY x${at}`],
    ["error()", `-ERR nil${at}`],
    ["error({})", `-ERR unknown error${at}`],
    ["local a = nil; return a.b", `-ERR user_script:1: attempt to index local 'a' (a nil value)${at}`],
    ["syntax error", "-ERR Error compiling script (new function): user_script:1: '=' expected near 'error'"],
    ["x", "-ERR Error compiling script (new function): user_script:1: '=' expected near '<eof>'"],
    ["local function f() return f() + 1 end return f()", `-ERR user_script:1: stack overflow${at}`],
    ["return redis.sha1hex()", `-ERR wrong number of arguments${at}`],
    ["redis.setresp(4)", `-ERR RESP version must be 2 or 3.${at}`],
    ["redis.log(10,'x')", `-ERR Invalid debug level.${at}`],
    ["redis.set_repl(99)", `-ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.${at}`],
    ["return {coroutine.resume(coroutine.create(function() error('q') end))}", [null, "user_script:1: q"]],
  ];
  for (const [script, reply] of table) assert.deepEqual(shown(script), reply, script);
});

test("the rest of redis.* behaves as in Redis 7.0", () => {
  const { shown, run } = open();
  const heard: string[] = [];
  const host = { ...makeHost(), log: (level: number, text: string) => heard.push(`${level} ${text}`) };
  run("redis.log(redis.LOG_WARNING, 'a', 5)", { host });
  assert.deepEqual(heard, ["3 a 5"]);
  assert.equal(shown("return redis.sha1hex('')"), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  assert.equal(shown("return redis.replicate_commands()"), 1);
  assert.equal(shown("return redis.breakpoint()"), null);
  assert.equal(shown("return redis.REDIS_VERSION"), "7.0.15");
  assert.equal(shown("return redis.acl_check_cmd('get','x')"), 1);
});

test("globals cannot be changed or created, with Redis' texts", () => {
  const { shown } = open();
  const missing = (name: string) =>
    `-ERR user_script:1: Script attempted to access nonexistent global variable '${name}'${at}`;
  const readOnly = `-ERR user_script:1: Attempt to modify a readonly table${at}`;
  const readOnlyInC = `-ERR Attempt to modify a readonly table${at}`;
  const table: readonly [Bytes, unknown][] = [
    ["return x", missing("x")],
    ["return _G.foo", missing("foo")],
    ["return rawget(_G,'foo')", null],
    ["x = 1", readOnly],
    ["_G.x = 1", readOnly],
    ["KEYS = {}", readOnly],
    ["KEYS[1] = 'a' return KEYS", ["a"]],
    ["redis.call = 1", readOnly],
    ["string.upper = nil", readOnly],
    ["getmetatable('').__index = 1", readOnly],
    ["rawset(string,'a',1)", readOnlyInC],
    ["rawset(_G,'a',1)", readOnlyInC],
    ["setmetatable(_G,{})", readOnlyInC],
    ["setmetatable(redis,nil)", readOnlyInC],
    ["table.insert(string,1)", readOnlyInC],
    ["table.remove(redis)", readOnlyInC],
    ["table.sort(redis)", readOnlyInC],
    ["return getmetatable(redis) == nil", 1],
    ["return next(redis) ~= nil", 1],
    ["local n = 0 for name, value in pairs(redis) do n = n + 1 end return n > 10", 1],
    ["local f, s = pairs(redis) s.call = 1", readOnly],
    ["loadstring('x=1')()", '-ERR [string "x=1"]:1: Attempt to modify a readonly table script: SHA, on x=1:1.'],
    ["return rawget(redis,'call') == redis.call", 1],
    ["return server.call('echo','a')", "a"],
    ["server.call = 1", readOnly],
    ["return _G._G == _G", 1],
    ["return #KEYS + #ARGV", 0],
  ];
  for (const [script, reply] of table) assert.deepEqual(shown(script), reply, script);
});

test("scripts cannot reach the machine or leave the sandbox", () => {
  const { run, shown } = open();
  assert.deepEqual(
    run(`local names = {} for name in pairs(_G) do names[#names+1] = name end table.sort(names) return names`),
    [
      ...["ARGV", "KEYS", "_G", "_VERSION", "assert", "bit", "cjson", "cmsgpack", "collectgarbage", "coroutine"],
      ...["error", "gcinfo", "getmetatable", "ipairs", "load", "loadstring", "math", "next", "os", "pairs", "pcall"],
      ...[
        "rawequal",
        "rawget",
        "rawset",
        "redis",
        "select",
        "server",
        "setmetatable",
        "string",
        "struct",
        "table",
        "tonumber",
      ],
      ...["tostring", "type", "unpack", "xpcall"],
    ],
  );
  assert.deepEqual(run("local names = {} for name in pairs(os) do names[#names+1] = name end return names"), ["clock"]);
  assert.equal(shown("return rawget(string, 'dump')"), null);
  assert.deepEqual(shown("return {loadstring('\\27Lua')}"), []);
  assert.equal(
    shown("return (select(2, loadstring('\\27LuaQ')))"),
    "[string \"\x1bLuaQ\"]:1: unexpected symbol near 'char(27)'",
  );
  assert.equal(
    shown("local done return (select(2, load(function() if not done then done = true return '\\27L' end end)))"),
    "(load):1: unexpected symbol near 'char(27)'",
  );
  // Walks all values that a script can reach.
  assert.equal(
    shown(`local seen, kinds = {}, {}
local function walk(value)
  kinds[type(value)] = true
  if type(value) ~= "table" or seen[value] then return end
  seen[value] = true
  walk(getmetatable(value))
  for key, inner in pairs(value) do walk(key) walk(inner) end
end
walk(_G) walk(getmetatable(""))
local names = {}
for kind in pairs(kinds) do names[#names+1] = kind end
table.sort(names)
return table.concat(names, " ")`),
    "function nil number string table userdata",
  );
});

test("owners share nothing: neither the tables of libraries nor settings of cjson", () => {
  const { run, runtime } = open();
  run("cjson.encode_max_depth(1) return 1", { owner: "a" });
  assert.equal(run("return cjson.encode({{1}})", { owner: "a" }), "[[1]]");
  run("getmetatable('').extra = 1", { owner: "a" });
  assert.deepEqual(run("return {#ARGV, ARGV[1]}", { owner: "b", args: ["only b"] }), [1, "only b"]);
  assert.deepEqual(run("return #ARGV", { owner: "a" }), 0);
  assert.equal(runtime.stateCount, 2);
});

test("states and compiled scripts are bounded, and the least recently used is removed first", () => {
  const { run, runtime } = open({ statesMax: 3, functionsMax: 2 });
  for (let owner = 0; owner < 10; owner += 1) assert.equal(run(`return ${owner}`, { owner: `${owner}` }), owner);
  assert.equal(runtime.stateCount, 3);
  for (let round = 0; round < 3; round += 1)
    for (let value = 0; value < 5; value += 1) assert.equal(run(`return ${value}`), value);
  runtime.flush(() => true);
  assert.equal(runtime.stateCount, 0);
  assert.equal(run("return 7"), 7);
});

test("a script is stopped at its time limit at any point, and the next one runs", () => {
  const { shown } = open({ budgetMs: 50 });
  const stopped = "-ERR Script ran for more than 50 ms and was stopped";
  const endless: readonly Bytes[] = [
    "while true do end",
    "while true do pcall(error) end",
    "while true do pcall(function() while true do end end) end",
    "xpcall(function() while true do end end, function() while true do end end)",
    "return coroutine.wrap(function() while true do end end)()",
    "return ('x'):gsub('x', function() while true do end end)",
    "local t = {1,2,3} table.sort(t, function() while true do end end)",
    "local s = ('a'):rep(1e6) while true do s:find('b', 1, true) end",
    "local b = ('x'):rep(1e6) local t = {} for i = 1, 1e4 do t[i] = b end table.sort(t)",
    "local a = ('x'):rep(1e6) while true do local b = a:upper() end",
    "local a = ('x'):rep(1e6) while true do local b = a .. 'y' end",
    "local t = {} for i = 1, 28 do t = {t, t} end return t",
  ];
  for (const script of endless) {
    assert.equal(shown(script), stopped, script);
    assert.equal(shown("return 1"), 1);
  }
});

test("memory, nesting and sizes are bounded, and the next script runs", () => {
  const { shown } = open({ budgetMs: 1e9, stateBytesMax: 16 * 1_024 * 1_024 });
  const noMemory = "-ERR Script exceeds its memory limit script: SHA";
  const tooLarge = `-ERR user_script:1: resulting string too large${at}`;
  const table: readonly [Bytes, unknown][] = [
    ["local s = 'x' while true do s = s .. s end", noMemory],
    ["local t = {} for i = 1, 1e9 do t[i] = i end", noMemory],
    ["local t = {} for i = 1, 1e9 do t[i] = {} end", noMemory],
    ["return ('%s%s%s'):format(('x'):rep(6e6), ('y'):rep(6e6), ('z'):rep(6e6))", noMemory],
    ["return ('x'):rep(1e9)", tooLarge],
    ["return ('x'):rep(1e6):gsub('x', ('y'):rep(1000))", tooLarge],
    ["local s = ('x'):rep(1e6) local t = {} for i = 1, 40 do t[i] = s end return cjson.encode(t)", tooLarge],
    ["local s = ('x'):rep(1e6) local t = {} for i = 1, 40 do t[i] = s end return cmsgpack.pack(t)", tooLarge],
    [
      "local s = ('x'):rep(1e6) return struct.pack(('s'):rep(40), unpack((function() local t = {} for i = 1, 40 do t[i] = s end return t end)()))",
      tooLarge,
    ],
    ["table.insert({}, -1e9, 1)", `-ERR user_script:1: position is too far before the end${at}`],
    ["return unpack({}, 1, 1e9)", `-ERR user_script:1: too many results to unpack${at}`],
    ["local function f() return ('x'):gsub('x', f) end f()", `-ERR C stack overflow${at}`],
    [
      "return cjson.decode(('['):rep(1e5))",
      `-ERR user_script:1: Found too many nested data structures (1001) at character 1001${at}`,
    ],
    [
      "local t = {} t[1] = t return cjson.encode(t)",
      `-ERR user_script:1: Cannot serialise, excessive nesting (1001)${at}`,
    ],
  ];
  for (const [script, reply] of table) {
    assert.equal(shown(script), reply, script);
    assert.equal(shown("return 1"), 1);
  }
  assert.equal(shown("return 1", { args: ["x".repeat(20 * 1_024 * 1_024)] }), "-ERR Script exceeds its memory limit");
  assert.equal(shown("return 1"), 1);
});

test("a result is as deep as Lua's stack, and has an error in the place of what is deeper, as in Redis", () => {
  const { run } = open();
  // The number of arrays in each other, and the innermost value; from redis-server 7.0.15.
  const table: readonly [Bytes, number, unknown][] = [
    ["local t = {} for i = 1, 7994 do t = {t} end return t", 7_995, []],
    ["local t = {} for i = 1, 7995 do t = {t} end return t", 7_995, "-ERR reached lua stack limit"],
    ["local t = {} t[1] = t return t", 7_995, "-ERR reached lua stack limit"],
    ["local t = {} for i = 1, 9000 do t = {t, 'after'} end return t", 7_995, "-ERR reached lua stack limit"],
    ["local t = {err = 'x'} for i = 1, 300 do t = {t} end return t", 300, "-x"],
  ];
  for (const [script, depth, innermost] of table) {
    let reply = run(script);
    let levels = 0;
    while (Array.isArray(reply)) {
      levels += 1;
      if (reply.length === 0) break;
      reply = reply[0] as Reply;
    }
    assert.deepEqual([levels, show(reply)], [depth, innermost], script);
  }
});

test("a bug in the host reaches the caller of the script, and no script can catch it", () => {
  const { runtime, run } = open();
  const bug = new Error("a bug");
  const host: ScriptHost = {
    call: () => {
      throw bug;
    },
  };
  assert.throws(
    () => run("pcall(redis.call, 'get', 'x') return 1", { host }),
    (error) => error === bug,
  );
  assert.equal(runtime.stateCount, 0);
  assert.equal(run("return 1"), 1);
});

test("libraries are loaded, called and refused as in Redis 7.0", () => {
  const { runtime, host } = open();
  const libraries = new FunctionLibraries();
  const load = (code: Bytes, isReplacing = false): string => {
    try {
      const library = libraries.prepare(code, { runtime, owner: "o", isReplacing });
      libraries.put(library);
      return library.name;
    } catch (error) {
      if (error instanceof CommandError) return error.text;
      throw error;
    }
  };
  const call = (name: Bytes, keys: Bytes[] = [], args: Bytes[] = []): unknown => {
    const found = libraries.find(name);
    if (found === undefined) return "-ERR Function not found";
    return show(runtime.runFunction({ owner: "o", library: found.library, name, keys, args, host }));
  };
  const register = "ERR Error registering functions: ERR";
  const table: readonly [Bytes, string][] = [
    ["return 1", "ERR No functions registered"],
    ["syntax error", "ERR Error compiling function: user_function:2: '=' expected near 'error'"],
    ["x = 1", `${register} user_function:2: Attempt to modify a readonly table`],
    ["return y", `${register} user_function:2: Script attempted to access nonexistent global variable 'y'`],
    [
      "redis.call('get','x')",
      `${register} user_function:2: Script attempted to access nonexistent global variable 'call'`,
    ],
    [
      "redis.register_function('g-1', function() end)",
      `${register} Library names can only contain letters, numbers, or underscores(_) and must be at least one character long`,
    ],
    ["redis.register_function('g', 5)", `${register} second argument to redis.register_function must be a function`],
    [
      "redis.register_function('g')",
      `${register} calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).`,
    ],
    ["redis.register_function{function_name='g'}", `${register} redis.register_function must get a callback argument`],
    [
      "redis.register_function{function_name='g', callback=function() end, flags={'zz'}}",
      `${register} unknown flag given`,
    ],
    [
      "redis.register_function('g', function() end) redis.register_function('g', function() end)",
      `${register} Function already exists in the library`,
    ],
  ];
  for (const [body, text] of table) assert.equal(load(`#!lua name=bad\n${body}`), text, body);
  const code = `#!lua name=lib
redis.register_function('f1', function(keys, args) return {#keys, #args, keys[1], args[1]} end)
redis.register_function{function_name='f2', callback=function() return redis.call('nope') end, flags={'no-writes'}, description='d'}
redis.register_function('f3', function() return KEYS end)`;
  assert.equal(load(code), "lib");
  assert.equal(load(code), "ERR Library 'lib' already exists");
  assert.equal(load("#!lua name=b\nredis.register_function('f1', function() end)"), "ERR Function f1 already exists");
  assert.deepEqual(call("f1", ["k"], ["a", "b"]), [1, 2, "k", "a"]);
  assert.equal(call("f2"), "-ERR Unknown Redis command called from script script: f2, on @user_function:3.");
  assert.equal(
    call("f3"),
    "-ERR user_function:4: Script attempted to access nonexistent global variable 'KEYS' script: f3, on @user_function:4.",
  );
  assert.deepEqual(libraries.find("f2")?.found, { name: "f2", description: "d", flags: ["no-writes"] });
  runtime.flush(() => true);
  assert.deepEqual(call("f1"), [0, 0]);
  assert.equal(load("#!lua name=lib\nredis.register_function('f9', function() return 9 end)", true), "lib");
  assert.equal(call("f9"), 9);
  assert.equal(call("f1"), "-ERR Function not found");
  assert.deepEqual([libraries.libraryCount, libraries.functionCount], [1, 1]);
  libraries.delete("lib");
  assert.deepEqual([libraries.libraryCount, libraries.functionCount], [0, 0]);
});

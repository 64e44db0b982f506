/** Risks of scripts: state that they leave, resources, stopped scripts, and restarts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { luaOptions } from "../../../test/harness/lua.ts";
import { contentOf, RecordingJournal, replayed, restored } from "../../../test/harness/recording-journal.ts";
import { startServer } from "../../../test/harness/server.ts";
import { testCaller } from "../../../test/harness/store-harness.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import type { User } from "../acl/user.ts";
import type { Database } from "../database.ts";
import { findError, nil, type Reply } from "../reply/reply.ts";
import type { Caller } from "../session/caller.ts";
import { Store } from "../store.ts";
import type { LuaLimits } from "./lua/runtime.ts";

/**
 * A clock of which each reading is a millisecond later: the time of a script is the number of readings. The thread has
 * computed for `share` of it.
 */
class TickingClock extends VirtualClock {
  readonly #share: number;
  #readings = 0;

  constructor(share = 1) {
    super();
    this.#share = share;
  }

  override monotonicMs(): number {
    this.#readings += 1;
    return this.#readings;
  }

  override threadCpuMs(): number {
    return this.#readings * this.#share;
  }
}

function open(limits: Partial<LuaLimits> = {}, clock = new TickingClock()) {
  const journal = new RecordingJournal();
  const store = new Store({
    journal,
    clock,
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    lua: { ...luaOptions, limits },
  });
  const database = store.database("main");
  return { journal, store, database, run: (...words: Bytes[]) => run(database, words) };
}

function run(database: Database, words: readonly Bytes[], caller: Caller = testCaller): Reply {
  return database.execute(caller, words);
}

function errorOf(reply: Reply): Bytes {
  const text = findError(reply)?.text ?? `no error but ${JSON.stringify(reply)}`;
  return text.replace(/ script: \w+, on @user_\w+:\d+\.$/, "");
}

test("math.randomseed gives the random numbers of redis-server 7.0.15 until the end of the script", () => {
  const { run } = open();
  const draw = "return {math.random(10), math.random(10), math.random(1000), math.random(-3, 3)}";

  assert.deepEqual(run("EVAL", `math.randomseed(7) ${draw}`, "0"), [3, 7, 266, -3]);
  assert.notDeepEqual(run("EVAL", draw, "0"), [5, 3, 160, 2]);
  assert.deepEqual(run("EVAL", `math.randomseed(2^32 + 7.9) ${draw}`, "0"), [3, 7, 266, -3]);
  assert.deepEqual(run("EVAL", `math.randomseed(-1) ${draw}`, "0"), [4, 1, 358, -1]);
  assert.match(errorOf(run("EVAL", "math.randomseed()", "0")), /bad argument #1 to 'randomseed'/);
});

/** State of a library between two calls, which is all that a script can leave. */
const COUNTING = `#!lua name=counting
local count = 0
redis.register_function('next', function() count = count + 1 return count end)`;

test("A-06: state left by a function is visible to no other database and no other user", () => {
  const { store, database } = open();
  const other = store.database("other");
  const ann: User = { ...defaultUser, name: "ann" };
  const as = (user: User): Caller => ({ ...testCaller, user });
  for (const one of [database, other]) run(one, ["FUNCTION", "LOAD", COUNTING]);
  const next = (one: Database, user: User): Reply => run(one, ["FCALL", "next", "0"], as(user));

  assert.equal(next(database, defaultUser), 1);
  assert.equal(next(database, defaultUser), 2);
  assert.equal(next(other, defaultUser), 1);
  assert.equal(next(database, ann), 1);
  // A new user with the same name is another user.
  assert.equal(next(database, { ...ann }), 1);
  assert.equal(next(database, defaultUser), 3);
});

test("A-06: scripts and libraries of one database, even a dropped one, are unknown to others", () => {
  const { store, database } = open();
  run(database, ["FUNCTION", "LOAD", COUNTING]);
  run(database, ["EVAL", "return 1", "0"]);
  const other = store.database("other");
  assert.equal(errorOf(run(other, ["FCALL", "next", "0"])), "ERR Function not found");
  assert.equal(
    errorOf(run(other, ["EVALSHA", "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "0"])),
    "NOSCRIPT No matching script. Please use EVAL.",
  );
  store.dropDatabase("main");
  const again = store.database("main");
  assert.deepEqual(run(again, ["FUNCTION", "LIST"]), []);
});

test("A-09: scripts cannot leave the sandbox", () => {
  const { run } = open();
  const shut: readonly Bytes[] = [
    "return os.execute('id')",
    "return os.exit()",
    "return io.open('/etc/passwd')",
    "return require('os')",
    "return package.path",
    "return debug.getinfo(1)",
    "return dofile('/etc/passwd')",
    "return loadfile('/etc/passwd')",
    "return print",
    "return getfenv",
    "return newproxy(true)",
    "return process",
    "return globalThis",
    "x = 1",
    "_G.x = 1",
    "redis.x = 1",
    "redis.call = nil",
    "string.rep = nil",
    "math.random = nil",
    "setmetatable(_G, {})",
    "getmetatable('').__index = {}",
    "rawset(_G, 'x', 1)",
    "return loadstring(string.dump(function() end))()",
    "return loadstring('\\27Lua')()",
    "return string.dump(function() end)",
    "setmetatable(_G, nil)",
    "return coroutine.wrap(function() return os.execute('id') end)()",
  ];
  for (const script of shut) assert.match(errorOf(run("EVAL", script, "0")), /^ERR /, script);
  for (const name of ["constructor", "__proto__", "prototype", "toString", "hasOwnProperty"]) {
    assert.match(
      errorOf(run("EVAL", `return redis['${name}']`, "0")),
      /nonexistent global variable|^no error but null$/,
    );
    assert.equal(run("EVAL", `return redis.call('SET', '${name}', 'v') and redis.call('GET', '${name}')`, "0"), "v");
  }
  assert.equal(run("EVAL", "return 1", "0"), 1, "the next script runs");
});

const endless: readonly Bytes[] = [
  "while true do end",
  "local t = {} while true do t[1] = 1 end",
  "repeat until pcall(error)  == 3",
  "while true do pcall(function() while true do end end) end",
  "local function f() return f() end return f()",
  "for i = 1, 1e18 do redis.call('PING') end",
  "return string.find(string.rep('a', 100000), string.rep('a?', 1000) .. string.rep('a', 1000))",
  "return string.match(string.rep('a', 10000), '.-.-.-.-.-.-b')",
  "return string.gsub(string.rep('a', 50000), '(.-)(.-)(.-)b', 'x')",
  "while true do coroutine.wrap(function() while true do end end)() end",
];

test("A-10: an endless script is stopped, and the next one runs", () => {
  const { run } = open({ budgetMs: 20 });
  for (const script of endless) {
    const error = errorOf(run("EVAL", script, "0"));
    assert.match(
      error,
      /^ERR (Script ran for more than 20 ms and was stopped|user_script:1: pattern (takes too many steps|too complex))/,
      script,
    );
    assert.equal(run("EVAL", "return 1", "0"), 1, script);
  }
});

/** As many instructions as run between this many readings of the clock. */
function working(lookCount: number): string {
  return `for i = 1, ${lookCount * 100} do end`;
}

/** A comment that the compiler reads in this many pieces. */
function padding(pieceCount: number): string {
  return `--[[${"x".repeat(512 * pieceCount)}]]`;
}

test("A-10: a script is not stopped for time that other processes take", () => {
  const busy = open({ budgetMs: 20 }, new TickingClock(0.1));
  assert.equal(busy.run("EVAL", `${working(150)} return 1`, "0"), 1);
  assert.equal(errorOf(busy.run("EVAL", working(250), "0")), "ERR Script ran for more than 20 ms and was stopped");
  const alone = open({ budgetMs: 20 });
  assert.equal(errorOf(alone.run("EVAL", working(25), "0")), "ERR Script ran for more than 20 ms and was stopped");
});

test("A-10: a script is stopped after thirty times its CPU limit by the clock", () => {
  const { run } = open({ budgetMs: 20 }, new TickingClock(0.001));
  assert.equal(run("EVAL", `${working(500)} return 1`, "0"), 1);
  const stopped = "ERR Script ran for more than 600 ms by the clock and was stopped";
  assert.equal(errorOf(run("EVAL", "while true do end", "0")), stopped);
});

test("A-10: compile time counts: a source that takes too long is stopped, and the next script runs", () => {
  const { run } = open({ budgetMs: 20 });
  const stopped = "ERR Script took more than 20 ms to compile and was stopped";
  const source = `return 1 ${padding(25)}`;
  assert.equal(errorOf(run("EVAL", source, "0")), stopped);
  assert.equal(errorOf(run("SCRIPT", "LOAD", source)), stopped);
  assert.equal(errorOf(run("FUNCTION", "LOAD", `#!lua name=l\n${source}`)), stopped);
  const inside = "return loadstring(ARGV[1])()";
  assert.equal(errorOf(run("EVAL", inside, "0", source)), "ERR Script ran for more than 20 ms and was stopped");
  const pieces = "local left = {ARGV[1]} return load(function() return table.remove(left) end)()";
  assert.equal(errorOf(run("EVAL", pieces, "0", source)), "ERR Script ran for more than 20 ms and was stopped");
  assert.equal(run("EVAL", inside, "0", "return 1"), 1);
});

test("A-10: compiling and running a script share one time limit", () => {
  const { run } = open({ budgetMs: 20 });
  const source = `${working(11)} return 7 ${padding(11)}`;
  assert.equal(errorOf(run("EVAL", source, "0")), "ERR Script ran for more than 20 ms and was stopped");
  const other = open({ budgetMs: 20 });
  other.run("SCRIPT", "LOAD", source);
  assert.equal(other.run("EVAL", source, "0"), 7, "another command has compiled it");
  const library = `#!lua name=l\n redis.register_function('f', function() ${working(11)} return 7 end) ${padding(11)}`;
  run("FUNCTION", "LOAD", library);
  assert.equal(run("FCALL", "f", "0"), 7);
});

test("A-10: a source that compiles in more than linear time is refused by every command", () => {
  const { run } = open();
  const chain = `local a local x=a${" and a".repeat(170_000)}`;
  const fault = "line 1: too many 'and', 'or', 'elseif' or 'break' in one expression, 'if' or loop";
  const slow = (chunk: string): string => `${chunk}: too slow to compile: ${fault}`;
  const script = `ERR Error compiling script (new function): ${slow("user_script")}`;
  assert.equal(errorOf(run("EVAL", chain, "0")), script);
  assert.equal(errorOf(run("EVAL_RO", chain, "0")), script);
  assert.equal(errorOf(run("SCRIPT", "LOAD", chain)), script);
  const library = `ERR Error compiling function: ${slow("user_function").replace("line 1", "line 2")}`;
  assert.equal(errorOf(run("FUNCTION", "LOAD", `#!lua name=l\n${chain}`)), library);
  const inside = "local run, fault = loadstring(ARGV[1], '=text') return {tostring(run), fault}";
  assert.deepEqual(run("EVAL", inside, "0", chain), ["nil", slow("text")]);
  const pieces = "local left = {ARGV[1]} return select(2, load(function() return table.remove(left) end, '=text'))";
  assert.equal(run("EVAL", pieces, "0", chain), slow("text"));
  for (const [name, words] of [
    ["EVAL", ["EVAL", "\x1bLua", "0"]],
    ["SCRIPT LOAD", ["SCRIPT", "LOAD", "\x1bLuaQ"]],
  ] as const)
    assert.match(errorOf(run(...words)), /user_script:1: unexpected symbol near 'char\(27\)'$/, name);
});

test("A-10: the text of an error costs at most its length, whatever its content", () => {
  const { run } = open({ budgetMs: 100_000 });
  const breaks = "string.rep('\\n', 3000000) .. 'x'";
  for (const script of [
    `error(${breaks})`,
    `error({err = ${breaks}})`,
    `return {err = ${breaks}}`,
    `return {ok = ${breaks}}`,
  ])
    assert.ok(JSON.stringify(run("EVAL", script, "0")).includes("  x"), script);
  assert.equal(errorOf(run("EVAL", `return redis.error_reply('a' .. ${breaks} .. '\\n')`, "0")).length, 3_000_006);
});

test("A-10: escaping a long string as JSON counts as work", () => {
  const { run } = open({ budgetMs: 20 });
  const error = errorOf(run("EVAL", "return cjson.encode({string.rep('\\0', 4000000)})", "0"));
  assert.equal(error, "ERR Script ran for more than 20 ms and was stopped");
});

const greedy: readonly Bytes[] = [
  "local t = {} for i = 1, 1e8 do t[i] = i end",
  "return string.rep('x', 1e9)",
  "local s = 'x' while true do s = s .. s end",
  "local t = {} while true do t[#t + 1] = string.rep('x', 100000) end",
  "local t = {} for i = 1, 1e7 do t[i] = {} end return #t",
  "return cjson.encode({string.rep('x', 1e8)})",
  "local t = string.rep('x', 1000) for i = 1, 15 do t = {t, t} end return cmsgpack.pack(t)",
];

test("A-10: a script that exceeds its memory limit fails, and the next one runs", () => {
  const { run } = open({ budgetMs: 100_000, stateBytesMax: 4 * 1_024 * 1_024, instanceBytesMax: 16 * 1_024 * 1_024 });
  for (const script of greedy) {
    assert.match(errorOf(run("EVAL", script, "0")), /^ERR /, script);
    assert.equal(run("EVAL", "return 1", "0"), 1, script);
  }
});

// A.scripts
test("A-10: the writes of a stopped script are undone, are not journaled, and the error says so", () => {
  const { run, journal, store } = open({ budgetMs: 20 });
  run("SET", "before", "v");
  const frameCount = journal.frames.length;
  const reply = run("EVAL", "redis.call('SET', 'k', 'v') redis.call('DEL', 'before') while true do end", "0");
  assert.equal(errorOf(reply), "ERR Script ran for more than 20 ms and was stopped; its writes were undone");
  assert.deepEqual(run("MGET", "before", "k"), ["v", nil]);
  assert.equal(journal.frames.length, frameCount);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(store));
  const silent = run("EVAL", "redis.call('GET', 'k') while true do end", "0");
  assert.equal(errorOf(silent), "ERR Script ran for more than 20 ms and was stopped");
});

test("a start restores the libraries, from the journal and from a snapshot, without Lua", () => {
  const { run, journal, store } = open();
  run("FUNCTION", "LOAD", COUNTING);
  run("FUNCTION", "LOAD", COUNTING.replace("counting", "gone").replace("next", "last"));
  run("FUNCTION", "LOAD", "REPLACE", COUNTING.replace("'next', ", "'next', "));
  run(
    "FUNCTION",
    "LOAD",
    "#!lua name=facts\nredis.register_function{function_name='f', description='what', flags={'no-writes','allow-key-locking'}, callback=function() end}",
  );
  run("FUNCTION", "DELETE", "gone");
  run("FLUSHALL");
  const list = run("FUNCTION", "LIST", "WITHCODE");
  const rebuilt = [replayed(journal.frames), restored(Array.from(store.dump(), (frame) => Uint8Array.from(frame)))];
  for (const other of rebuilt) {
    assert.deepEqual(other.database("main").execute(testCaller, ["FUNCTION", "LIST", "WITHCODE"]), list);
    assert.deepEqual(contentOf(other), contentOf(store));
  }
  run("FUNCTION", "FLUSH");
  assert.deepEqual(replayed(journal.frames).database("main").execute(testCaller, ["FUNCTION", "LIST"]), []);
});

test("a snapshot has all libraries, even if they need several frames", () => {
  const { run, store } = open();
  for (let index = 0; index < 8; index += 1)
    run(
      "FUNCTION",
      "LOAD",
      `#!lua name=l${index}\nredis.register_function('f${index}', function() end)--${"x".repeat(100_000)}`,
    );
  const rebuilt = restored(Array.from(store.dump(), (frame) => Uint8Array.from(frame)));
  assert.equal(rebuilt.database("main").scripts.libraries.libraryCount, 8);
});

test("with a full disk, a script may read and its writes are refused", () => {
  const { run, journal } = open();
  run("SET", "k", "v");
  run("FUNCTION", "LOAD", COUNTING);
  journal.refusal = "No space left on device";
  const refused = "MISCONF Errors writing to the AOF file: No space left on device";
  assert.equal(errorOf(run("EVAL", "return redis.call('SET', 'k', 'w')", "0")), refused);
  assert.equal(run("EVAL", "return redis.call('GET', 'k')", "0"), "v");
  assert.equal(errorOf(run("EVAL", "#!lua\nreturn 1", "0")), refused);
  assert.equal(run("EVAL", "#!lua flags=no-writes\nreturn 1", "0"), 1);
  assert.equal(errorOf(run("FCALL", "next", "0")), refused);
  assert.equal(run("FCALL_RO", "next", "0"), 1);
  assert.equal(errorOf(run("FUNCTION", "FLUSH")), refused);
});

test("A4: a script in a transaction is one of its commands, and its error one of its replies", async () => {
  await using server = await startServer();

  const reply = await server.post("/multi-exec", [
    ["SET", "k", "1"],
    ["EVAL", "return redis.call('INCRBY', KEYS[1], ARGV[1])", "1", "k", "4"],
    ["EVAL", "return redis.call('LPUSH', KEYS[1], 'x')", "1", "k"],
    ["EVALSHA", "wrong-sha1", "0"],
    ["GET", "k"],
  ]);

  assert.equal(reply.status, 200);
  const [set, incremented, failed, missing, got] = reply.json as { result?: unknown; error?: string }[];
  assert.deepEqual([set, incremented, got], [{ result: "OK" }, { result: 5 }, { result: "5" }]);
  assert.match(failed?.error ?? "", /^WRONGTYPE Operation against a key holding the wrong kind of value script: /);
  assert.deepEqual(missing, { error: "NOSCRIPT No matching script. Please use EVAL." });
  const discarded = await server.post("/multi-exec", [
    ["SET", "k", "2"],
    ["EVAL", "return 1"],
  ]);
  assert.deepEqual(discarded.json, { error: "ERR wrong number of arguments for 'eval' command" });
  assert.deepEqual((await server.get("/get/k")).json, { result: "5" });
});

test("A5: MONITOR shows a script before its commands, which are from lua", () => {
  const { database, run } = open();
  const lines: Bytes[] = [];
  database.monitors.notify = ({ words, address }) => lines.push(`${address} ${words.join(" ")}`);
  Object.defineProperty(database.monitors, "isWatched", { get: () => true });

  run("EVAL", "redis.call('SET', 'k', 'v') return redis.pcall('INCR', 'k')", "0");

  assert.deepEqual(lines, [
    "127.0.0.1:1 EVAL redis.call('SET', 'k', 'v') return redis.pcall('INCR', 'k') 0",
    "lua SET k v",
    "lua INCR k",
  ]);
});

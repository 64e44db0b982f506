/** FUNCTION and FCALL: loading, deleting and moving libraries, and the rights of their functions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, ok, type Session, startSession } from "../../../test/harness/store-harness.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import type { Reply } from "../reply/reply.ts";

const COUNTER = `#!lua name=counter
redis.register_function('up', function(keys, args) return redis.call('INCRBY', keys[1], args[1]) end)
redis.register_function{
  function_name = 'look',
  description = 'reads',
  flags = {'no-writes'},
  callback = function(keys) return redis.call('GET', keys[1]) end,
}
redis.register_function('peek', function(keys) return redis.call('GET', keys[1]) end)
`;

/** A library with one function that returns `answer`. */
function library(name: Bytes, functionName: Bytes, answer: Bytes = functionName): Bytes {
  return `#!lua name=${name}\nredis.register_function('${functionName}', function() return '${answer}' end)`;
}

function load(session: Session, code: Bytes): Reply {
  return session.call("FUNCTION", "LOAD", code);
}

function map(...pairs: readonly (readonly [Reply, Reply])[]): Reply {
  return { kind: "map", pairs };
}

function set(...members: readonly Reply[]): Reply {
  return { kind: "set", members };
}

test("FUNCTION LOAD loads a library, and FCALL calls its functions", () => {
  const session = startSession();
  assert.equal(load(session, COUNTER), "counter");
  session.expect([
    ["FCALL up 1 n 5", 5],
    ["FCALL UP 1 n 1", 6],
    ["FCALL look 1 n", "6"],
    ["FCALL_RO look 1 n", "6"],
    ["FCALL none 0", error("ERR Function not found")],
    ["FCALL_RO none x", error("ERR Function not found")],
    ["FCALL up x n", error("ERR Bad number of keys provided")],
    ["FCALL up -1 n", error("ERR Number of keys can't be negative")],
    ["FCALL up 2 n", error("ERR Number of keys can't be greater than number of args")],
    ["FCALL up", error("ERR wrong number of arguments for 'fcall' command")],
    ["FCALL up 1 n x", error("ERR value is not an integer or out of range script: up, on @user_function:2.")],
  ]);
});

test("A.particulars.fcall-ro: FCALL_RO calls every function, and one that writes fails", () => {
  const session = startSession();
  load(session, COUNTER);
  session.expect([
    ["SET n 3", ok],
    ["FCALL_RO peek 1 n", "3"],
    [
      "FCALL_RO up 1 n 1",
      error("ERR Write commands are not allowed from read-only scripts. script: up, on @user_function:2."),
    ],
    ["GET n", "3"],
  ]);
});

test("refuses an invalid library with the texts of Redis", () => {
  const session = startSession();
  load(session, library("one", "f"));
  const table: readonly [readonly Bytes[], string][] = [
    [["x"], "ERR Missing library metadata"],
    [["REPLACE", "x"], "ERR Missing library metadata"],
    [["bad", "x"], "ERR Unknown option given: bad"],
    [[library("one", "g")], "ERR Library 'one' already exists"],
    [[library("two", "F")], "ERR Function F already exists"],
    [["REPLACE", library("two", "f")], "ERR Function f already exists"],
    [["#!lua name=three\nreturn 1"], "ERR No functions registered"],
    [["#!lua name=three\nreturn ("], "ERR Error compiling function: user_function:2: unexpected symbol near '<eof>'"],
    [["#!js name=three\nx"], "ERR Engine 'js' not found"],
    [[`#!lua name=three\n${"-".repeat(1_048_576)}`], "ERR Library is larger than 1 MiB"],
  ];
  for (const [words, text] of table) assert.deepEqual(session.call("FUNCTION", "LOAD", ...words), error(text), text);
  session.expect([
    ["FUNCTION LOAD", error("ERR wrong number of arguments for 'function|load' command")],
    ["FUNCTION what", error("ERR unknown subcommand 'what'. Try FUNCTION HELP.")],
    ["FCALL f 0", "f"],
  ]);
});

test("FUNCTION LOAD REPLACE replaces the library of the same name", () => {
  const session = startSession();
  load(session, library("one", "f", "old"));
  assert.equal(session.call("FUNCTION", "LOAD", "replace", library("one", "f", "new")), "one");
  assert.equal(session.run("FCALL f 0"), "new");
  session.call("FUNCTION", "LOAD", "REPLACE", library("one", "g"));
  session.expect([
    ["FCALL f 0", error("ERR Function not found")],
    ["FCALL g 0", "g"],
  ]);
});

test("FUNCTION LIST lists libraries, optionally by a pattern and with their code", () => {
  const session = startSession();
  assert.deepEqual(session.run("FUNCTION LIST"), []);
  load(session, COUNTER);
  load(session, library("other", "f"));
  const functions = (...names: readonly [Bytes, Reply, Reply][]): Reply =>
    names.map(([name, description, flags]) => map(["name", name], ["description", description], ["flags", flags]));
  const counter = functions(
    ["up", nil, set()],
    ["look", "reads", set({ kind: "simple", text: "no-writes" })],
    ["peek", nil, set()],
  );
  const counterFacts: [Reply, Reply][] = [
    ["library_name", "counter"],
    ["engine", "LUA"],
    ["functions", counter],
  ];
  const other = map(["library_name", "other"], ["engine", "LUA"], ["functions", functions(["f", nil, set()])]);
  session.expect([
    ["FUNCTION LIST", [map(...counterFacts), other]],
    ["FUNCTION LIST LIBRARYNAME OTH*", [other]],
    ["FUNCTION LIST libraryname none", []],
    ["FUNCTION LIST withcode LIBRARYNAME c?unter", [map(...counterFacts, ["library_code", COUNTER])]],
    ["FUNCTION LIST LIBRARYNAME", error("ERR library name argument was not given")],
    ["FUNCTION LIST what", error("ERR Unknown argument what")],
    ["FUNCTION LIST WITHCODE WITHCODE", error("ERR Unknown argument WITHCODE")],
  ]);
});

test("FUNCTION DELETE, FLUSH, STATS and KILL", () => {
  const session = startSession();
  load(session, COUNTER);
  load(session, library("other", "f"));
  const stats = (libraryCount: number, functionCount: number): Reply =>
    map(
      ["running_script", nil],
      ["engines", map(["LUA", map(["libraries_count", libraryCount], ["functions_count", functionCount])])],
    );
  session.expect([
    ["FUNCTION STATS", stats(2, 4)],
    ["FUNCTION DELETE COUNTER", error("ERR Library not found")],
    ["FUNCTION DELETE counter", ok],
    ["FCALL up 1 n 1", error("ERR Function not found")],
    ["FUNCTION STATS", stats(1, 1)],
    ["FUNCTION FLUSH what", error("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")],
    [
      "FUNCTION FLUSH sync async",
      error("ERR unknown subcommand or wrong number of arguments for 'FLUSH'. Try FUNCTION HELP."),
    ],
    ["FUNCTION FLUSH async", ok],
    ["FUNCTION FLUSH SYNC", ok],
    ["FUNCTION FLUSH", ok],
    ["FCALL f 0", error("ERR Function not found")],
    ["FUNCTION STATS", stats(0, 0)],
    ["FUNCTION KILL", error("NOTBUSY No scripts in execution right now.")],
  ]);
  assert.deepEqual((session.run("FUNCTION HELP") as readonly Reply[])[0], {
    kind: "simple",
    text: "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  });
});

test("libraries survive FLUSHALL, but not a reset of the store", () => {
  const session = startSession();
  load(session, library("one", "f"));
  session.expect([
    ["FLUSHALL", ok],
    ["FCALL f 0", "f"],
  ]);
  session.store.reset();
  assert.deepEqual(session.run("FUNCTION LIST"), []);
});

test("FUNCTION DUMP and RESTORE move libraries under each policy", () => {
  const from = startSession();
  load(from, library("one", "f", "restored"));
  load(from, library("two", "g"));
  const dump = from.run("FUNCTION DUMP") as Bytes;

  const to = startSession();
  assert.deepEqual(to.call("FUNCTION", "RESTORE", dump), ok);
  to.expect([
    ["FCALL f 0", "restored"],
    ["FCALL g 0", "g"],
  ]);
  assert.deepEqual(to.call("FUNCTION", "RESTORE", dump), error("ERR Library one already exists"));
  assert.deepEqual(to.call("FUNCTION", "RESTORE", dump, "append"), error("ERR Library one already exists"));

  const replaced = startSession();
  load(replaced, library("one", "f", "old"));
  load(replaced, library("three", "h"));
  assert.deepEqual(replaced.call("FUNCTION", "RESTORE", dump, "REPLACE"), ok);
  replaced.expect([
    ["FCALL f 0", "restored"],
    ["FCALL h 0", "h"],
  ]);

  const flushed = startSession();
  load(flushed, library("three", "f", "old"));
  assert.deepEqual(flushed.call("FUNCTION", "RESTORE", dump, "REPLACE"), error("ERR Function f already exists"));
  assert.equal(flushed.run("FCALL f 0"), "old");
  assert.deepEqual(flushed.call("FUNCTION", "RESTORE", dump, "flush"), ok);
  assert.equal(flushed.run("FCALL f 0"), "restored");
});

test("libraries may exchange functions in one FUNCTION RESTORE", () => {
  const from = startSession();
  load(from, library("one", "g"));
  load(from, library("two", "f"));
  const dump = from.run("FUNCTION DUMP") as Bytes;
  const to = startSession();
  load(to, library("one", "f", "old"));
  load(to, library("two", "g", "old"));
  assert.deepEqual(to.call("FUNCTION", "RESTORE", dump, "REPLACE"), ok);
  to.expect([
    ["FCALL f 0", "f"],
    ["FCALL g 0", "g"],
  ]);
});

test("FUNCTION RESTORE rejects an invalid dump", () => {
  const session = startSession();
  const dump = session.run("FUNCTION DUMP") as Bytes;
  assert.equal(dump.length, 10);
  session.run("SET k v");
  const value = session.run("DUMP k") as Bytes;
  const table: readonly [readonly Bytes[], Reply][] = [
    [[dump], ok],
    [[""], error("ERR DUMP payload version or checksum are wrong")],
    [["x".repeat(20)], error("ERR DUMP payload version or checksum are wrong")],
    [[value], error("ERR given type is not a function")],
    [[dump, "what"], error("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")],
    [
      [dump, "FLUSH", "x"],
      error("ERR unknown subcommand or wrong number of arguments for 'RESTORE'. Try FUNCTION HELP."),
    ],
  ];
  for (const [words, reply] of table) assert.deepEqual(session.call("FUNCTION", "RESTORE", ...words), reply);
});

test("a function may declare the same flags as a script", () => {
  const session = startSession();
  const flagged = (name: Bytes, flags: Bytes, body: Bytes): Bytes =>
    `redis.register_function{function_name='${name}', flags={${flags}}, callback=function(keys) ${body} end}`;
  load(
    session,
    `#!lua name=flagged
${flagged("locked", "'allow-key-locking'", "return redis.call('get', 'k')")}
${flagged("greedy", "'allow-oom'", "return redis.call('set', 'k', 'v')")}
${flagged("plain", "", "return 1")}
${flagged("reader", "'no-writes'", "return redis.call('set', 'k', 'v')")}`,
  );
  session.expect([
    ["FCALL locked 1 k", nil],
    [
      "FCALL locked 0",
      error(
        "ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set. Key was: k script: locked, on @user_function:2.",
      ),
    ],
    [
      "FCALL reader 0",
      error("ERR Write commands are not allowed from read-only scripts. script: reader, on @user_function:5."),
    ],
    ["SET other v", ok],
    ["CONFIG SET maxmemory 1", ok],
    ["FCALL plain 0", error("OOM command not allowed when used memory > 'maxmemory'.")],
    ["FCALL greedy 0", ok],
  ]);
});

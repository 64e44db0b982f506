/** EVAL, its variants and SCRIPT: their arguments, their errors, and what a script may do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { error, nil, ok, type Session, startSession, testCaller } from "../../../test/harness/store-harness.ts";
import { connect } from "../../../test/harness/waiting-callers.ts";
import type { Bytes } from "../../kernel/bytes.ts";
import { sha1 } from "../../kernel/checksum/sha1.ts";
import { readOnlyUser } from "../acl/built-in-users.ts";
import { findError, type Reply } from "../reply/reply.ts";

/** The error of a script, followed by the line that raised it. */
function scriptError(script: Bytes, text: string, line = 1): Reply {
  return error(`${text} script: ${sha1(script).toString("hex")}, on @user_script:${line}.`);
}

/** The reply of a script, for its keys and arguments. */
function evaluate(session: Session, script: Bytes, keys: readonly Bytes[] = [], args: readonly Bytes[] = []): Reply {
  return session.call("EVAL", script, `${keys.length}`, ...keys, ...args);
}

test("EVAL passes keys and arguments to the script, and returns its result", () => {
  startSession().expect([
    ["EVAL 'return {KEYS[1], KEYS[2], ARGV[1], ARGV[2]}' 2 a b c d", ["a", "b", "c", "d"]],
    ["EVAL 'return {#KEYS, #ARGV}' 0 a", [0, 1]],
    ["EVAL 'return 3.99' 0", 3],
    ["EVAL 'return false' 0", nil],
    ["EVAL \"return redis.status_reply('FINE')\" 0", { kind: "simple", text: "FINE" }],
    ["EVAL \"return redis.call('SET', KEYS[1], ARGV[1])\" 1 k v", ok],
    ["EVAL \"return redis.call('GET', KEYS[1])\" 1 k", "v"],
    ["EVAL \"return redis.call('GET', KEYS[1])\" 1 none", nil],
    ["EVAL \"return {redis.call('INCR', 'n'), redis.call('INCR', 'n')}\" 0", [1, 2]],
    ["EVAL \"return redis.call('set', 'k', '\\x00\\xff')\" 0", ok],
    ["GET k", "\x00\xff"],
    ["EVAL \"return redis.pcall('INCR', 'k')['err']\" 0", "ERR value is not an integer or out of range"],
  ]);
});

test("refuses invalid arguments of EVAL and EVALSHA as Redis does", () => {
  startSession().expect([
    ["EVAL 'return 1'", error("ERR wrong number of arguments for 'eval' command")],
    ["EVAL 'return 1' x", error("ERR value is not an integer or out of range")],
    ["EVAL 'return 1' 1.5", error("ERR value is not an integer or out of range")],
    ["EVAL 'return 1' -1", error("ERR Number of keys can't be negative")],
    ["EVAL 'return 1' 1", error("ERR Number of keys can't be greater than number of args")],
    ["EVAL 'return 1' 9223372036854775807", error("ERR Number of keys can't be greater than number of args")],
    ["EVALSHA wrong-sha1 0", error("NOSCRIPT No matching script. Please use EVAL.")],
    ["EVALSHA_RO wrong-sha1 0", error("NOSCRIPT No matching script. Please use EVAL.")],
    ["EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", error("NOSCRIPT No matching script. Please use EVAL.")],
    ["EVAL 'return 1' 0", 1],
    ["EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", 1],
    ["EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0", 1],
    ["EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db x", error("ERR value is not an integer or out of range")],
    ["EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", 1],
  ]);
});

test("a script that does not compile is refused and not cached", () => {
  const text = "ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'";
  startSession().expect([
    ["SCRIPT LOAD 'return ('", error(text)],
    ["EVAL 'return (' 0", error(text)],
    [`SCRIPT EXISTS ${sha1("return (").toString("hex")}`, [0]],
    ["EVAL '#!lua' 0", error("ERR Invalid script shebang")],
    ['EVAL "#!lua flags=what\\nreturn 1" 0', error("ERR Unexpected flag in script shebang: what")],
    ['EVAL "#!lua name=x\\nreturn 1" 0', error("ERR Unknown lua shebang option: name=x")],
  ]);
});

test("refuses a script of more than a mebibyte", () => {
  const session = startSession();
  const tooLarge = error("ERR Script is larger than 1 MiB");
  assert.equal(session.call("EVAL", `return 1--${"x".repeat(1_048_566)}`, "0"), 1);
  assert.deepEqual(session.call("EVAL", `return 1--${"x".repeat(1_048_567)}`, "0"), tooLarge);
  assert.deepEqual(session.call("SCRIPT", "LOAD", " ".repeat(1_048_577)), tooLarge);
});

test("SCRIPT caches, finds and removes scripts", () => {
  const digest = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
  const session = startSession();
  session.expect([
    ["SCRIPT LOAD 'return 1'", digest],
    [`SCRIPT EXISTS ${digest} ${digest.toUpperCase()} what`, [1, 1, 0]],
    [`EVALSHA ${digest} 0`, 1],
    [`SCRIPT SHOW ${digest.toUpperCase()}`, "return 1"],
    [`EVAL "#!lua flags=no-writes\nreturn 2" 0`, 2],
    [`SCRIPT SHOW ${sha1("#!lua flags=no-writes\nreturn 2").toString("hex")}`, "#!lua flags=no-writes\nreturn 2"],
    ["SCRIPT SHOW what", error("NOSCRIPT No matching script. Please use EVAL.")],
    ["SCRIPT SHOW", error("ERR wrong number of arguments for 'script|show' command")],
    ["SCRIPT FLUSH what", error("ERR SCRIPT FLUSH only support SYNC|ASYNC option")],
    ["SCRIPT FLUSH SYNC ASYNC", error("ERR SCRIPT FLUSH only support SYNC|ASYNC option")],
    ["SCRIPT FLUSH", ok],
    [`SCRIPT EXISTS ${digest}`, [0]],
    ["SCRIPT FLUSH async", ok],
    ["SCRIPT FLUSH SYNC", ok],
    ["SCRIPT KILL", error("NOTBUSY No scripts in execution right now.")],
    ["SCRIPT DEBUG NO", ok],
    ["SCRIPT DEBUG YES", error("ERR The script debugger is not available")],
    ["SCRIPT DEBUG SYNC", error("ERR The script debugger is not available")],
    ["SCRIPT DEBUG what", error("ERR Use SCRIPT DEBUG YES/SYNC/NO")],
    ["SCRIPT EXISTS", error("ERR wrong number of arguments for 'script|exists' command")],
    ["SCRIPT what", error("ERR unknown subcommand 'what'. Try SCRIPT HELP.")],
    ["SCRIPT", error("ERR wrong number of arguments for 'script' command")],
  ]);
  assert.deepEqual((session.run("SCRIPT HELP") as readonly Reply[])[0], {
    kind: "simple",
    text: "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
  });
});

test("refuses commands that a script may not call, with the texts of Redis", () => {
  const session = startSession();
  const table: readonly [Bytes, string][] = [
    ["return redis.call('nosuch')", "ERR Unknown Redis command called from script"],
    ["return redis.call('')", "ERR Unknown Redis command called from script"],
    ["return redis.call('object','nosuch','k')", "ERR Unknown Redis command called from script"],
    ["return redis.call('object')", "ERR Wrong number of args calling Redis command from script"],
    ["return redis.call('get')", "ERR Wrong number of args calling Redis command from script"],
    ["return redis.call('get', 'a', 'b')", "ERR Wrong number of args calling Redis command from script"],
    ["return redis.call('eval', 'return 1', '0')", "ERR This Redis command is not allowed from script"],
    ["return redis.call('fcall', 'f', '0')", "ERR This Redis command is not allowed from script"],
    ["return redis.call('script', 'flush')", "ERR This Redis command is not allowed from script"],
    ["return redis.call('function', 'flush')", "ERR This Redis command is not allowed from script"],
    ["return redis.call()", "ERR Please specify at least one argument for this redis lib call"],
    ["return redis.call({})", "ERR Lua redis lib command arguments must be strings or integers"],
  ];
  for (const [script, text] of table) assert.deepEqual(evaluate(session, script), scriptError(script, text), script);
});

test("refuses every write of a read-only script", () => {
  const session = startSession();
  session.run("SET k v");
  const refused = "ERR Write commands are not allowed from read-only scripts.";
  const evaluateReadOnly = (script: Bytes): Reply => session.call("EVAL_RO", script, "0");
  assert.equal(evaluateReadOnly("return redis.call('get', 'k')"), "v");
  for (const command of ["'set','k','w'", "'del','k'", "'publish','c','m'", "'pfcount','p'", "'getdel','k'"]) {
    const script = `return redis.call(${command})`;
    assert.deepEqual(evaluateReadOnly(script), scriptError(script, refused), script);
    const flagged = `#!lua flags=no-writes\n${script}`;
    assert.deepEqual(session.call("EVAL", flagged, "0"), scriptError(flagged, refused, 2), flagged);
  }
  const withWrites = error("ERR Can not execute a script with write flag using *_ro command.");
  assert.deepEqual(evaluateReadOnly("#!lua\nreturn 1"), withWrites);
  assert.equal(evaluateReadOnly("#!lua flags=no-writes\nreturn 1"), 1);
  assert.equal(session.run("GET k"), "v");
});

test("A.particulars.key-locking: with allow-key-locking a script may use only its declared keys", () => {
  const session = startSession();
  const start = "#!lua flags=allow-key-locking\n";
  const refusal = (key: Bytes): string =>
    `ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set. Key was: ${key}`;
  const good = `${start}redis.call('mset', KEYS[1], 'x', KEYS[2], 'y') return redis.call('mget', KEYS[2], KEYS[1])`;
  assert.deepEqual(evaluate(session, good, ["a", "b"]), ["y", "x"]);
  const table: readonly [Bytes, Bytes][] = [
    ["return redis.call('get', 'c')", "c"],
    ["return redis.call('mget', KEYS[1], 'c')", "c"],
    ["return redis.call('set', ARGV[1], 'v')", "z"],
    ["return redis.call('zunionstore', KEYS[1], '2', KEYS[2], 'd')", "d"],
    ["return redis.call('sort', KEYS[1], 'store', 'e')", "e"],
    ["return redis.call('xread', 'streams', KEYS[1], 'f', '0', '0')", "f"],
  ];
  for (const [body, key] of table) {
    const script = start + body;
    assert.deepEqual(evaluate(session, script, ["a", "b"], ["z"]), scriptError(script, refusal(key), 2), body);
  }
});

test("an error of a script contains the script and the line", () => {
  const session = startSession();
  const script = "local x = 1\nerror('broken')";
  assert.deepEqual(evaluate(session, script), scriptError(script, "ERR user_script:2: broken", 2));
  const raised = "return redis.error_reply('MY own')";
  assert.deepEqual(evaluate(session, raised), error("MY own"));
});

test("writes before the error of a script remain", () => {
  const session = startSession();
  const script = "redis.call('set', 'k', 'v') redis.call('incr', 'k')";
  assert.deepEqual(evaluate(session, script), scriptError(script, "ERR value is not an integer or out of range"));
  assert.equal(session.run("GET k"), "v");
});

test("the time does not advance in a script, and an expired key does not exist", () => {
  const session = startSession();
  session.expect([
    ["SET k v PX 10", ok],
    ["SET l v PX 10", ok],
  ]);
  session.clock.advance(20);
  assert.deepEqual(session.call("EVAL_RO", "return {redis.call('get', 'k'), redis.call('dbsize')}", "0"), [nil, 2]);
  assert.deepEqual(evaluate(session, "return {redis.call('get', 'k'), redis.call('dbsize')}"), [nil, 1]);
  const times = evaluate(session, "return {redis.call('time'), redis.call('time')}") as readonly Reply[];
  assert.deepEqual(times[0], times[1]);
});

/** Each on empty keys, and on keys that have something. */
const blockingInScripts: readonly (readonly [call: string, empty: Reply, filled: Reply])[] = [
  ["'blpop', 'none', 'l', 0", nil, ["l", "a"]],
  ["'brpop', 'none', 'l', 0", nil, ["l", "c"]],
  ["'blmove', 'l', 'l2', 'left', 'right', 0", nil, "a"],
  ["'brpoplpush', 'l', 'l2', 0", nil, "c"],
  ["'blmpop', 0, 1, 'l', 'left', 'count', 2", nil, ["l", ["a", "b"]]],
  ["'bzpopmin', 'z', 0", nil, ["z", "low", "1"]],
  ["'bzpopmax', 'z', 0", nil, ["z", "high", "2"]],
  ["'bzmpop', 0, 1, 'z', 'min'", nil, ["z", [["low", "1"]]]],
  ["'xread', 'block', 0, 'streams', 's', '0'", nil, [["s", [["1-1", ["n", "v"]]]]]],
  ["'xreadgroup', 'group', 'g', 'alice', 'block', 0, 'streams', 's', '>'", nil, [["s", [["1-1", ["n", "v"]]]]]],
];

for (const [call, empty, filled] of blockingInScripts) {
  test(`redis.call(${call}) answers at once in a script, over HTTP and over RESP`, () => {
    const session = startSession();
    const script = `EVAL "return redis.call(${call})" 0`;
    session.expect([
      ["XGROUP CREATE s g $ MKSTREAM", ok],
      [script, empty],
    ]);
    const overResp = connect(session);
    assert.deepEqual(overResp.run(script), empty);
    session.expect([
      ["RPUSH l a b c", 3],
      ["ZADD z 1 low 2 high", 2],
      ["XADD s 1-1 n v", "1-1"],
    ]);
    assert.deepEqual(overResp.run(script), filled);
  });
}

test("arguments of blocking commands are checked in scripts too", () => {
  const failing: readonly (readonly [call: string, text: string])[] = [
    ["'blpop', 'l', 'x'", "ERR timeout is not a float or out of range"],
    ["'blpop', 'l', -1", "ERR timeout is negative"],
    ["'xread', 'block', 'x', 'streams', 's', '0'", "ERR timeout is not an integer or out of range"],
  ];
  for (const [call, text] of failing) startSession().expect([[`EVAL "return redis.pcall(${call}).err" 0`, text]]);
});

test("scripts require their own rights", () => {
  startSession().expect([
    ["EVAL \"return redis.acl_check_cmd('set', 'k', 'v')\" 0", 1],
    [
      "EVAL \"return redis.acl_check_cmd('nosuch')\" 0",
      scriptError("return redis.acl_check_cmd('nosuch')", "ERR Invalid command passed to redis.acl_check_cmd()"),
    ],
  ]);
});

test("a read-only token cannot run scripts", () => {
  const { database } = startSession();
  const caller = { ...testCaller, user: readOnlyUser };
  for (const name of ["eval", "eval_ro", "evalsha", "evalsha_ro", "fcall", "fcall_ro"])
    assert.equal(
      findError(database.execute(caller, [name, "return 1", "0"]))?.text,
      `NOPERM this user has no permissions to run the '${name}' command or its subcommand`,
    );
  for (const [name, subcommand] of [
    ["SCRIPT", "LOAD"],
    ["FUNCTION", "LOAD"],
  ] as const)
    assert.equal(
      findError(database.execute(caller, [name, subcommand, "x"]))?.text,
      `NOPERM this user has no permissions to run the '${name.toLowerCase()}|load' command or its subcommand`,
    );
});

test("a script counts as one command, each of its commands as another; both may fail by one error", () => {
  const session = startSession();
  evaluate(session, "redis.call('set', 'k', 'v') redis.call('incr', 'k')");
  evaluate(session, "error('own')");
  const { database } = session;
  const countsOf = (name: Bytes) => {
    const command = database.findCommand(name);
    assert.ok(command !== undefined);
    return database.countsOf(command);
  };
  assert.equal(countsOf("SET").calls, 1);
  assert.equal(countsOf("INCR").failed, 1);
  assert.equal(countsOf("EVAL").calls, 2);
  assert.equal(countsOf("EVAL").failed, 2);
  assert.equal(database.errorCounts.total, 2);
});

test("without free memory a script cannot write unless it has allow-oom", () => {
  const session = startSession();
  session.expect([
    ["SET k v", ok],
    ["CONFIG SET maxmemory 1", ok],
  ]);
  const refused = "OOM command not allowed when used memory > 'maxmemory'.";
  const set = "return redis.call('set', 'k', 'w')";
  assert.deepEqual(evaluate(session, set), scriptError(set, refused));
  assert.equal(evaluate(session, "return redis.call('get', 'k')"), "v");
  assert.deepEqual(evaluate(session, "redis.call('del', 'k') return redis.call('set', 'k', 'w')"), ok);
  assert.deepEqual(evaluate(session, `#!lua\n${set}`), error(refused));
  assert.deepEqual(evaluate(session, "#!lua\nreturn 1"), error(refused));
  assert.equal(evaluate(session, "#!lua flags=no-writes\nreturn 1"), 1);
  assert.deepEqual(evaluate(session, `#!lua flags=allow-oom\n${set}`), ok);
});

test("scripts belong to one database, and a reset of the store removes them", () => {
  const session = startSession();
  const other = session.store.database("other");
  const script = "counts = nil return 1";
  session.run("SCRIPT LOAD 'return 2'");
  assert.equal(other.scripts.cache.count, 0);
  assert.deepEqual(
    evaluate(session, script),
    scriptError(script, "ERR user_script:1: Attempt to modify a readonly table"),
  );
  session.store.reset();
  assert.equal(session.database.scripts.cache.count, 0);
});

test("COMMAND GETKEYS finds the keys of scripts", () => {
  startSession().expect([
    ["COMMAND GETKEYS EVAL 'return 1' 2 a b c", ["a", "b"]],
    ["COMMAND GETKEYS FCALL f 1 a", ["a"]],
    ["COMMAND GETKEYS EVALSHA digest 0 a", []],
    ["COMMAND GETKEYS EVAL_RO 'return 1' 3 a", []],
  ]);
});

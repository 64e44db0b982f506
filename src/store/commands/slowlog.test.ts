/** SLOWLOG: slow commands, their entries, and what is omitted. DEBUG SLEEP takes the requested time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startSessions } from "../../../test/harness/session-harness.ts";
import { error, ok, splitLine, startSession } from "../../../test/harness/store-harness.ts";
import { connect } from "../../../test/harness/waiting-callers.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { Reply } from "../reply/reply.ts";
import { RedisCompat } from "./redis-compat.ts";

const START_MS = 1_700_000_000_000;

/** Commands over TCP; DEBUG SLEEP advances the clock. */
function startSlow() {
  const clock = new VirtualClock(START_MS);
  return startSession({ clock, compat: new RedisCompat((ms) => clock.advance(ms)) });
}

/** Times, words and clients of the entries, the newest first. */
function slowest(reply: Reply): Reply[] {
  return (reply as Reply[][]).map(([, , took, words]) => [took ?? null, (words as string[]).join(" ")]);
}

test("SLOWLOG lists commands that took 10 ms, the newest first, with id, time and client", () => {
  startSlow().expect([
    ["SET k v", ok],
    ["DEBUG SLEEP 0.009", ok],
    ["DEBUG SLEEP 0.01", ok],
    ["DEBUG SLEEP 2", ok],
    ["SLOWLOG LEN", 2],
    [
      "SLOWLOG GET",
      [
        [1, 1_700_000_000, 2_000_000, ["DEBUG", "SLEEP", "2"], "127.0.0.1:1", ""],
        [0, 1_700_000_000, 10_000, ["DEBUG", "SLEEP", "0.01"], "127.0.0.1:1", ""],
      ],
    ],
    ["SLOWLOG GET 1", [[1, 1_700_000_000, 2_000_000, ["DEBUG", "SLEEP", "2"], "127.0.0.1:1", ""]]],
    ["SLOWLOG GET 0", []],
    ["SLOWLOG RESET", ok],
    ["SLOWLOG LEN", 0],
    ["DEBUG SLEEP 1", ok],
    ["SLOWLOG GET -1", [[2, 1_700_000_002, 1_000_000, ["DEBUG", "SLEEP", "1"], "127.0.0.1:1", ""]]],
  ]);
});

test("SLOWLOG GET returns ten entries by default", () => {
  const session = startSlow();
  for (let i = 0; i < 12; i += 1) session.run("DEBUG SLEEP 0.1");
  assert.equal((session.run("SLOWLOG GET") as Reply[]).length, 10);
  assert.equal((session.run("SLOWLOG GET 11") as Reply[]).length, 11);
  assert.equal((session.run("SLOWLOG GET -1") as Reply[]).length, 12);
  session.expect([
    ["SLOWLOG GET -2", error("ERR count should be greater than or equal to -1")],
    ["SLOWLOG GET x", error("ERR count should be greater than or equal to -1")],
    ["SLOWLOG GET 1 2", error("ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.")],
    ["SLOWLOG HELP x", error("ERR wrong number of arguments for 'slowlog|help' command")],
    ["SLOWLOG", error("ERR wrong number of arguments for 'slowlog' command")],
    ["SLOWLOG what", error("ERR unknown subcommand 'what'. Try SLOWLOG HELP.")],
  ]);
});

test("CONFIG SET sets the threshold and the length of the log", () => {
  const session = startSlow();
  session.expect([
    ["CONFIG SET slowlog-log-slower-than -1", ok],
    ["DEBUG SLEEP 3", ok],
    ["SLOWLOG LEN", 0],
    ["CONFIG SET slowlog-log-slower-than 500000 slowlog-max-len 2", ok],
    ["DEBUG SLEEP 0.4", ok],
    ["DEBUG SLEEP 0.5", ok],
    ["DEBUG SLEEP 0.6", ok],
    ["DEBUG SLEEP 0.7", ok],
    ["CONFIG SET slowlog-max-len 1", ok],
    ["SLOWLOG LEN", 1],
    ["CONFIG SET slowlog-max-len 0", ok],
    ["SLOWLOG LEN", 0],
    [
      "CONFIG SET slowlog-max-len 10001",
      error(
        "ERR CONFIG SET failed (possibly related to argument 'slowlog-max-len') - argument must be between 0 and 10000 inclusive",
      ),
    ],
    [
      "CONFIG SET slowlog-log-slower-than -2",
      error(
        "ERR CONFIG SET failed (possibly related to argument 'slowlog-log-slower-than') - argument must be between -1 and 9007199254740991 inclusive",
      ),
    ],
  ]);
});

test("a threshold of 0 logs every command, quick ones too, but commands queued by MULTI only once", () => {
  const clock = new VirtualClock(START_MS);
  const { connect } = startSessions();
  const one = connect();
  one.run("CLIENT SETNAME me");
  for (const line of ["CONFIG SET slowlog-log-slower-than 0", "GET k", "MULTI", "GET a", "EXEC"]) one.run(line);
  assert.equal(clock.nowMs(), START_MS);
  const [entries] = one.run("SLOWLOG GET");
  assert.deepEqual(
    (entries as Reply[][]).map(([, , , words, address, name]) => [words, address, name]),
    [
      [["GET", "a"], "127.0.0.1:40001", "me"],
      [["MULTI"], "127.0.0.1:40001", "me"],
      [["GET", "k"], "127.0.0.1:40001", "me"],
      [["CONFIG", "SET", "slowlog-log-slower-than", "0"], "127.0.0.1:40001", "me"],
    ],
  );
});

test("commands called by a script are logged too, without a client", () => {
  const session = startSession();
  session.run("CONFIG SET slowlog-log-slower-than 0");
  session.run("EVAL \"return redis.call('get', KEYS[1])\" 1 k");
  const entries = session.run("SLOWLOG GET 2") as Reply[][];
  assert.deepEqual(
    entries.map(([, , , words, address]) => [words, address]),
    [
      [["EVAL", "return redis.call('get', KEYS[1])", "1", "k"], "127.0.0.1:1"],
      [["get", "k"], "?:0"],
    ],
  );
});

test("an entry contains at most 32 words, and 128 bytes of each", () => {
  const session = startSession();
  session.run("CONFIG SET slowlog-log-slower-than 0");
  session.call("RPUSH", "list", "x".repeat(128), "y".repeat(1_000), ...Array.from({ length: 40 }, (_, i) => `e${i}`));
  const [entry] = session.run("SLOWLOG GET 1") as Reply[][];
  const words = entry?.[3] as string[];
  assert.equal(words.length, 32);
  assert.deepEqual(words.slice(0, 5), [
    "RPUSH",
    "list",
    "x".repeat(128),
    `${"y".repeat(128)}... (872 more bytes)`,
    "e0",
  ]);
  assert.deepEqual(words.slice(-2), ["e26", "... (13 more arguments)"]);
});

test("A-06: the slow log contains no secrets: no password, no token and no rule with one", () => {
  const { connect } = startSessions();
  const one = connect();
  one.run("CONFIG SET slowlog-log-slower-than 0");
  for (const line of [
    "AUTH hush",
    "AUTH default hush",
    "AUTH default hush more",
    "HELLO 3 AUTH default hush SETNAME me",
    "ACL SETUSER ann on >hush +@all ~*",
    "ACL RESTTOKEN ann hush",
    "ACL GENTOKEN ann hush",
    "CONFIG SET requirepass hush",
    "CONFIG SET maxmemory 0 MasterAuth hush",
  ])
    one.run(line);
  const [entries] = one.run("SLOWLOG GET -1");
  assert.deepEqual(
    slowest(entries as Reply).map((entry) => (entry as Reply[])[1]),
    [
      "CONFIG SET maxmemory 0 MasterAuth (redacted)",
      "CONFIG SET requirepass (redacted)",
      "ACL GENTOKEN (redacted) (redacted)",
      "ACL RESTTOKEN (redacted) (redacted)",
      "ACL SETUSER (redacted) (redacted) (redacted) (redacted) (redacted)",
      "HELLO 3 AUTH (redacted) (redacted) SETNAME me",
      "AUTH (redacted) (redacted) (redacted)",
      "AUTH (redacted) (redacted)",
      "AUTH (redacted)",
      "CONFIG SET slowlog-log-slower-than 0",
    ],
  );
});

test("A-06: each database has a slow log of its own", () => {
  const { store, run } = startSlow();
  run("DEBUG SLEEP 0.1");
  const caller = { user: defaultUser, transport: "http", address: "127.0.0.1:2" } as const;
  assert.equal(store.database("other").execute(caller, splitLine("SLOWLOG LEN")), 0);
});

test("a slow command of a pipeline is logged, and quick ones beside it are not", async () => {
  const session = startSlow();
  const caller = { user: defaultUser, transport: "tcp", address: "127.0.0.1:3" } as const;
  // More than the runs that are always timed.
  for (let i = 0; i < 40; i += 1) session.run("DEBUG SLEEP 0");
  for (let i = 0; i < 40; i += 1) session.run("SET k v");
  const lines = ["SET k v", "GET k", "DEBUG SLEEP 0.02", "GET k", "KEYS *", "DEBUG SLEEP 0.03", "SET k w"];

  await session.database.pipeline(caller, lines.map(splitLine));

  assert.deepEqual(slowest(session.run("SLOWLOG GET")), [
    [30_000, "DEBUG SLEEP 0.03"],
    [20_000, "DEBUG SLEEP 0.02"],
  ]);
});

test("SLOWLOG has a blocked command with the time that it computed, after the command that served it", () => {
  const clock = new VirtualClock(START_MS);
  const session = startSession({ clock, compat: new RedisCompat(() => {}) });
  let readings = 0;
  const { monotonicMs } = clock;
  // Each reading is 6 ms after the one before.
  clock.monotonicMs = () => {
    readings += 6;
    return monotonicMs.call(clock) + readings;
  };
  const popping = connect(session);
  popping.run("BLPOP k 0");
  session.expect([["SLOWLOG GET", []]]);
  clock.advance(60_000);
  session.run("RPUSH k e");
  assert.deepEqual(popping.received, [["k", "e"]]);
  session.expect([["SLOWLOG GET", [[0, 1_700_000_060, 12_000, ["BLPOP", "k", "0"], "127.0.0.1:1", ""]]]]);

  assert.equal(session.database.countsOf(session.database.findCommand("BLPOP") as CommandFacts).usPerCall, 12_000);

  popping.run("BLPOP k 1");
  clock.advance(2_000);
  assert.equal(popping.received.length, 2);
  session.expect([["SLOWLOG LEN", 1]]);
});

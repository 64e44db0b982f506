/** MULTI, EXEC, DISCARD, WATCH and UNWATCH over TCP. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { settled, startSessions } from "../../../test/harness/session-harness.ts";
import { error, nil, nilArray, ok } from "../../../test/harness/store-harness.ts";
import { simple } from "../reply/reply.ts";

const queued = simple("QUEUED");
const execRefused = "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";
const aborted = error("EXECABORT Transaction discarded because of previous errors.");

test("commands between MULTI and EXEC run as one, in order", () => {
  const { connect } = startSessions();
  const other = connect();
  const one = connect();
  one.expect([
    ["EXEC", error("ERR EXEC without MULTI")],
    ["DISCARD", error("ERR DISCARD without MULTI")],
    ["MULTI", ok],
    ["EXEC", []],
    ["MULTI", ok],
    ["SET k v", queued],
    ["INCR k", queued],
    ["GET k", queued],
    ["PING", queued],
    ["ECHO hi", queued],
    ["SELECT 0", queued],
    ["CLIENT ID", queued],
    ["CLIENT SETNAME me", queued],
    ["UNWATCH", queued],
  ]);
  other.expect([["GET k", nil]]);
  const notInteger = error("ERR value is not an integer or out of range");
  one.expect([
    ["EXEC", [ok, notInteger, "v", simple("PONG"), "hi", ok, 2, ok, ok]],
    ["CLIENT GETNAME", "me"],
    ["EXEC", error("ERR EXEC without MULTI")],
    ["MULTI", ok],
    ["SET k w", queued],
    ["DISCARD", ok],
    ["GET k", "v"],
  ]);
});

test("a command that is refused when queued discards the transaction", () => {
  const { connect } = startSessions();
  const one = connect();
  for (const [line, text] of [
    ["GET", "ERR wrong number of arguments for 'get' command"],
    ["CLIENT what", "ERR unknown subcommand 'what'. Try CLIENT HELP."],
    ["WHAT", "ERR Command is not available: 'WHAT'. See docs/reference/commands.md of larder for its commands"],
  ] as const) {
    one.expect([
      ["MULTI", ok],
      ["SET k v", queued],
      [line, error(text)],
      ["SET l v", queued],
      ["EXEC", aborted],
      ["EXISTS k l", 0],
    ]);
  }
  one.expect([
    ["MULTI", ok],
    ["MULTI", error("ERR MULTI calls can not be nested")],
    ["WATCH k", error("ERR WATCH inside MULTI is not allowed")],
    ["EXEC x", error(execRefused)],
    ["DISCARD", error("ERR DISCARD without MULTI")],
    ["EXEC x", error(execRefused)],
    ["MULTI", ok],
    ["MULTI", error("ERR MULTI calls can not be nested")],
    ["SET k v", queued],
    ["EXEC", [ok]],
  ]);
});

test("EXEC is one frame of the journal", () => {
  const journal = new RecordingJournal();
  const { connect } = startSessions({ journal });
  const one = connect();
  const start = journal.frames.length;
  one.expect([
    ["MULTI", ok],
    ["SET a 1", queued],
    ["SET b 2", queued],
    ["RPUSH l x y", queued],
  ]);
  assert.equal(journal.frames.length, start);
  one.run("EXEC");
  assert.equal(journal.frames.length, start + 1);
});

test("EXEC returns nil after a change of a watched key", () => {
  const { clock, connect } = startSessions();
  const one = connect();
  const other = connect();
  const changes: readonly (readonly [before: readonly string[], change: string, isChanged: boolean])[] = [
    [[], "SET k v", true],
    [["SET k v"], "SET k v", true],
    [["SET k v"], "GET k", false],
    [["SET k v"], "DEL k", true],
    [[], "DEL k", false],
    [["SET k v"], "EXPIRE k 100", true],
    [["SET k v"], "PERSIST k", false],
    [["SET k v"], "FLUSHALL", true],
    [[], "FLUSHALL", false],
    [["SET k v"], "FLUSHDB", true],
    [["SADD k a"], "SADD k a", false],
    [["SADD k a"], "SADD k b", true],
    [["SET k v"], "RENAME k l", true],
    [["SET l v"], "RENAME l k", true],
    [["SET k v"], "SET other v", false],
    [["SET k 1"], "INCR k", true],
    [["HSET k f 1"], "HSET k f 2", true],
  ];
  for (const [before, change, isChanged] of changes) {
    one.run("FLUSHALL");
    for (const line of before) one.run(line);
    one.expect([["WATCH k", ok]]);
    other.run(change);
    one.expect([
      ["MULTI", ok],
      ["SET done 1", queued],
      ["EXEC", isChanged ? nilArray : [ok]],
    ]);
    assert.deepEqual(one.run("EXISTS done"), [isChanged ? 0 : 1], change);
    // It is no longer watched.
    other.run("SET k x");
    one.expect([
      ["MULTI", ok],
      ["EXEC", []],
    ]);
  }
  clock.advance(1);
});

test("changes by its own session count too, and UNWATCH, DISCARD and EXEC unwatch", () => {
  const { connect } = startSessions();
  const one = connect();
  one.expect([
    ["WATCH k k l", ok],
    ["SET k v", ok],
    ["MULTI", ok],
    ["EXEC", nilArray],
    ["WATCH k", ok],
    ["SET k v", ok],
    ["UNWATCH", ok],
    ["MULTI", ok],
    ["EXEC", []],
    ["WATCH k", ok],
    ["SET k v", ok],
    ["MULTI", ok],
    ["DISCARD", ok],
    ["MULTI", ok],
    ["EXEC", []],
    ["WATCH k", ok],
    ["MULTI", ok],
    ["SET k w", queued],
    ["GET k", queued],
    ["EXEC", [ok, "w"]],
    ["WATCH k", ok],
    ["SET k v", ok],
    ["WATCH l", ok],
    ["MULTI", ok],
    ["EXEC", nilArray],
  ]);
});

test("a watched key that expires has changed, one that had expired before has not", () => {
  const { clock, connect } = startSessions();
  const one = connect();
  one.run("SET k v PX 100");
  one.expect([["WATCH k", ok]]);
  clock.advance(101);
  one.expect([
    ["MULTI", ok],
    ["EXEC", nilArray],
  ]);
  one.run("SET k v PX 100");
  clock.advance(101);
  const other = connect();
  one.expect([["WATCH k", ok]]);
  other.expect([["GET k", nil]]);
  one.expect([
    ["MULTI", ok],
    ["EXEC", []],
  ]);
});

test("a watched key that expires has changed even if writes are refused", () => {
  const journal = new RecordingJournal();
  const { clock, connect } = startSessions({ journal });
  const one = connect();
  one.run("SET k v PX 100");
  one.expect([["WATCH k", ok]]);
  journal.refusal = "No space left on device";
  clock.advance(101);
  one.expect([
    ["MULTI", ok],
    ["GET k", queued],
    ["EXEC", nilArray],
  ]);
});

test("without free memory nothing is queued, and EXEC refuses commands that need more", () => {
  const { connect } = startSessions();
  const one = connect();
  const short = error("OOM command not allowed when used memory > 'maxmemory'.");
  one.expect([
    ["SET k v", ok],
    ["CONFIG SET maxmemory 1", ok],
    ["MULTI", ok],
    ["GET k", short],
    ["EXEC", aborted],
    ["CONFIG SET maxmemory 0", ok],
    ["MULTI", ok],
    ["SET k w", queued],
  ]);
  const other = connect();
  other.expect([["CONFIG SET maxmemory 1", ok]]);
  one.expect([
    [
      "EXEC",
      error("EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'."),
    ],
    ["EXEC", error("ERR EXEC without MULTI")],
  ]);
  other.expect([["CONFIG SET maxmemory 0", ok]]);
  one.expect([
    ["MULTI", ok],
    ["GET k", queued],
  ]);
  other.expect([["CONFIG SET maxmemory 1", ok]]);
  one.expect([["EXEC", ["v"]]]);
});

test("with a full disk writes are not queued, and EXEC refuses them", () => {
  const journal = new RecordingJournal();
  const { connect } = startSessions({ journal });
  const one = connect();
  one.expect([
    ["MULTI", ok],
    ["SET k v", queued],
  ]);
  journal.refusal = "No space left on device";
  one.expect([
    [
      "EXEC",
      error(
        "EXECABORT Transaction discarded because of: MISCONF Errors writing to the AOF file: No space left on device",
      ),
    ],
    ["MULTI", ok],
    ["GET k", queued],
    ["SET k v", error("MISCONF Errors writing to the AOF file: No space left on device")],
    ["EXEC", aborted],
  ]);
});

test("blocking commands reply at once within EXEC, and waiting clients are served after it", async () => {
  const { connect } = startSessions();
  const one = connect();
  const waiting = connect();
  waiting.expect([["BLPOP list 0"]]);
  assert.equal(waiting.session.isWaiting, true);
  one.expect([
    ["MULTI", ok],
    ["BLPOP none 0", queued],
    ["RPUSH list a b", queued],
    ["LLEN list", queued],
    ["EXEC", [nilArray, 2, 2]],
  ]);
  await settled();
  assert.deepEqual(waiting.listen(), [["list", "a"]]);
  assert.equal(waiting.resumeCount, 1);
  one.expect([["LRANGE list 0 -1", ["b"]]]);
});

test("SUBSCRIBE and PUBLISH within EXEC", () => {
  const { connect } = startSessions();
  const listener = connect();
  listener.run("SUBSCRIBE news");
  const one = connect();
  one.expect([
    ["MULTI", ok],
    ["PUBLISH news hi", queued],
    ["SUBSCRIBE other", queued],
    ["MONITOR", queued],
    [
      "EXEC",
      [
        1,
        { kind: "push", items: ["subscribe", "other", 1] },
        error("ERR MONITOR isn't allowed for DENY BLOCKING client"),
      ],
    ],
    ["PING", ["pong", ""]],
  ]);
  assert.deepEqual(listener.listen(), [{ kind: "message", channel: "news", payload: "hi" }]);
});

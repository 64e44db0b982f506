/** DEBUG is available only over TCP, in a store for the tests of Redis. Digests are those of redis-server. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFault } from "../../../test/harness/memory-recount.ts";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { error, ok, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { defaultUser, readOnlyUser } from "../acl/built-in-users.ts";
import { type Reply, simple } from "../reply/reply.ts";
import { RedisCompat } from "./redis-compat.ts";

function startCompatSession(): Session {
  const clock = new VirtualClock();
  return startSession({ clock, compat: new RedisCompat((ms) => clock.advance(ms)) });
}

/** Sets one key of each type, and one with an expiry. */
function fill(session: Session): void {
  for (const line of [
    "SET s hello",
    "RPUSH l a b 3",
    "SADD t x y",
    "SADD i 1 2",
    "ZADD z 1.1 a 2 b 1e17 c inf d",
    "HSET h f v g w",
    "SET e x EX 1000",
  ])
    session.run(line);
}

const NOT_AVAILABLE = error(
  "ERR Command is not available: 'DEBUG'. See docs/reference/commands.md of larder for its commands",
);

test("DEBUG is not available over HTTP, nor over TCP in an ordinary store, and COMMAND does not list it", () => {
  const ordinary = startSession();
  ordinary.expect([
    ["DEBUG DIGEST", NOT_AVAILABLE],
    ["COMMAND INFO debug", [null]],
  ]);
  assert.deepEqual(
    ordinary.database.command({ user: defaultUser, transport: "tcp", address: "" }, ["DEBUG", "DIGEST"]),
    NOT_AVAILABLE,
  );
  const { database } = startCompatSession();
  assert.deepEqual(
    database.command({ user: defaultUser, transport: "http", address: "" }, ["DEBUG", "DIGEST"]),
    NOT_AVAILABLE,
  );
  assert.deepEqual(
    database.command({ user: readOnlyUser, transport: "tcp", address: "" }, ["DEBUG", "DIGEST"]),
    error("NOPERM this user has no permissions to run the 'debug|digest' command or its subcommand"),
  );
});

test("DEBUG DIGEST and DIGEST-VALUE return the digests of redis-server", () => {
  const session = startCompatSession();
  session.expect([["DEBUG DIGEST", simple("0000000000000000000000000000000000000000")]]);
  session.run("SET s hello");
  session.expect([["DEBUG DIGEST", simple("a500c6b54937da22f2ac1167da1da852479c7339")]]);
  fill(session);
  session.expect([
    [
      "DEBUG DIGEST-VALUE s l t i z h e nope",
      [
        simple("36b23a1456b2dce2c3ed252c456761301dba8060"),
        simple("09eb1fc9381ee92790d59930ab462945f8cd948b"),
        simple("36846f8a92fb6b6b824c73bf468c5bbcf5075ede"),
        simple("5d9842e5bd79f833c83b3535ec4a6836aba6d1fd"),
        simple("1b0389862d154b7a6c1895bd29873e90c1fb0f6b"),
        simple("d127864ed50239662bf61bafc9bda63c17da5b37"),
        simple("0745672cb1bf060476eedeb8a28f5ffe1ff5a2be"),
        simple("0000000000000000000000000000000000000000"),
      ],
    ],
    ["DEBUG DIGEST", simple("c6fb15439fb9f85f98a2a0bbf6c97eb9b95fd489")],
  ]);
});

test("DEBUG RELOAD rebuilds the same state, and journals nothing", () => {
  const journal = new RecordingJournal();
  const clock = new VirtualClock();
  const session = startSession({ journal, clock, compat: new RedisCompat(() => {}) });
  fill(session);
  session.run("HPEXPIRE h 5000 FIELDS 1 f");
  const before = session.run("DEBUG DIGEST");
  const { end } = journal;

  session.expect([
    ["DEBUG RELOAD", ok],
    ["DEBUG DIGEST", before],
    ["DBSIZE", 7],
    ["TTL e", 1_000],
    ["HPTTL h FIELDS 2 f g", [5_000, -1]],
    ["DEBUG RELOAD NOSAVE", error("ERR DEBUG RELOAD takes no options")],
  ]);
  assert.equal(journal.end, end);
  assert.equal(memoryFault(session.database.keyspace), undefined);
});

test("DEBUG OBJECT returns encoding, length of the dump and idle time", () => {
  const session = startCompatSession();
  session.run("SET n 12");
  session.clock.advance(5_000);
  const reply = session.run("DEBUG OBJECT n");
  assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "simple");
  assert.match(reply.text, /^Value at:0x0 refcount:1 encoding:int serializedlength:2 lru:\d+ lru_seconds_idle:5$/);
  session.expect([["DEBUG OBJECT nope", error("ERR no such key")]]);
});

test("DEBUG SET-ACTIVE-EXPIRE 0 leaves expired keys until they are accessed", () => {
  const session = startCompatSession();
  session.run("SET a 1 PX 5");
  session.expect([["DEBUG SET-ACTIVE-EXPIRE 0", ok]]);
  session.clock.advance(6);

  assert.equal(session.database.sweepExpired(), 0);
  session.expect([
    ["DBSIZE", 1],
    ["DEBUG SET-ACTIVE-EXPIRE 1", ok],
  ]);
  assert.equal(session.database.sweepExpired(), 1);
});

test("DEBUG SLEEP pauses the store for at most three seconds", () => {
  const paused: number[] = [];
  const session = startSession({ compat: new RedisCompat((ms) => void paused.push(ms)) });
  session.expect([
    ["DEBUG SLEEP 0.25", ok],
    ["DEBUG SLEEP x", ok],
    ["DEBUG SLEEP 3.5", error("ERR DEBUG SLEEP takes at most 3 seconds, because it stops all clients")],
  ]);
  assert.deepEqual(paused, [250, 0]);
});

test("DEBUG POPULATE creates only missing keys", () => {
  const session = startCompatSession();
  session.run("SET p:1 mine");
  session.expect([
    ["DEBUG POPULATE 3 p 5", ok],
    ["MGET p:0 p:1 p:2", ["value", "mine", "value"]],
    ["DEBUG POPULATE 2", ok],
    ["MGET key:0 key:1", ["value:0", "value:1"]],
    ["DEBUG POPULATE 1 z 9", ok],
    ["GET z:0", "value:0\0\0"],
    ["DEBUG POPULATE -1", error("ERR value is out of range, must be positive")],
    ["DEBUG POPULATE 1000001", error("ERR DEBUG POPULATE makes at most 1000000 keys")],
  ]);
});

test("DEBUG ERROR, QUICKLIST-PACKED-THRESHOLD, HELP and others", () => {
  const session = startCompatSession();
  session.expect([
    ["DEBUG ERROR 'FOO bar'", error("FOO bar")],
    ["DEBUG QUICKLIST-PACKED-THRESHOLD 1b", ok],
    [
      "DEBUG QUICKLIST-PACKED-THRESHOLD 4gb",
      error("ERR argument must be a memory value bigger than 1 and smaller than 4gb"),
    ],
    ["DEBUG SEGFAULT", error("ERR unknown subcommand 'SEGFAULT'. Try DEBUG HELP.")],
  ]);
  assert.deepEqual((session.run("DEBUG HELP") as Reply[]).at(-2), simple("HELP"));
});

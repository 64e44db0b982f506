/** Events that the comparison with redis-server (test/differential) cannot show: time, memory, fields that expire. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { error, ok, type Session, startSession } from "../../../test/harness/store-harness.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import { printEventFlags, readEventFlags } from "./keyspace-events.ts";

/** Events published since the last call, as `channel payload`. */
function listen(session: Session): () => readonly string[] {
  let published: string[] = [];
  const { pubsub } = session.database;
  const subscriber = pubsub.open({
    receive: (push) => {
      if (push.kind === "pmessage") published.push(`${push.channel} ${push.payload}`);
    },
    drop: () => {},
  });
  pubsub.subscribePattern(subscriber, "*");
  return () => {
    const since = published;
    published = [];
    return since;
  };
}

/** A session with these event flags, and its published events. */
function start(flags: string): { session: Session; takeEvents: () => readonly string[] } {
  const session = startSession();
  const takeEvents = listen(session);
  session.expect([[`CONFIG SET notify-keyspace-events ${flags}`, ok]]);
  return { session, takeEvents };
}

test("flags are read in any order and printed in that of Redis", () => {
  const rows: [string, string | undefined][] = [
    ["", ""],
    ["EK", "KE"],
    ["KEA", "AKE"],
    ["AE", "AE"],
    ["xE", "xE"],
    ["Kdtexzhsl$g", "AK"],
    ["Kn", "nK"],
    ["AKn", "AK"],
    ["ltK", "ltK"],
    ["q", undefined],
    ["mKE", "KEm"],
    ["AmK", "AKm"],
  ];
  for (const [text, printed] of rows) {
    const flags = readEventFlags(text);
    assert.equal(flags === undefined ? undefined : printEventFlags(flags), printed, text);
  }
});

test("nothing is published until CONFIG SET enables it, and then by key, by event, or both", () => {
  const session = startSession();
  const takeEvents = listen(session);
  session.run("SET k v");
  assert.deepEqual(takeEvents(), []);
  session.expect([
    ["CONFIG SET notify-keyspace-events KA", ok],
    ["SET k v", ok],
  ]);
  assert.deepEqual(takeEvents(), ["__keyspace@0__:k set"]);
  session.expect([
    ["CONFIG SET notify-keyspace-events E$", ok],
    ["SET k v", ok],
    ["DEL k", 1],
  ]);
  assert.deepEqual(takeEvents(), ["__keyevent@0__:set k"]);
  session.expect([
    ['CONFIG SET notify-keyspace-events ""', ok],
    ["SET k v", ok],
  ]);
  assert.deepEqual(takeEvents(), []);
});

test("CONFIG SET refuses unknown flags and changes nothing", () => {
  const { session } = start("KA");
  session.expect([
    [
      "CONFIG SET maxmemory 1mb notify-keyspace-events Q",
      error(
        "ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
      ),
    ],
  ]);
  assert.equal(session.database.keyspace.memory.bytesMax, 0);
  assert.equal(printEventFlags(session.database.eventFlags), "AK");
});

test("an expired key publishes an event when it is found, when it is swept, and when it is replaced", () => {
  const { session, takeEvents } = start("Kxn$");
  session.run("PSETEX met 10 v");
  session.run("PSETEX swept 10 v");
  session.run("PSETEX replaced 10 v");
  takeEvents();
  session.clock.advance(11);
  session.run("GET met");
  assert.deepEqual(takeEvents(), ["__keyspace@0__:met expired"]);
  session.run("SET replaced v");
  assert.deepEqual(takeEvents(), [
    "__keyspace@0__:replaced expired",
    "__keyspace@0__:replaced new",
    "__keyspace@0__:replaced set",
  ]);
  session.database.sweepExpired();
  assert.deepEqual(takeEvents(), ["__keyspace@0__:swept expired"]);
});

test("expired fields publish an event, and the last one also the removal of the hash", () => {
  const { session, takeEvents } = start("KA");
  session.run("HSET h a 1 b 2");
  session.run("HPEXPIRE h 10 FIELDS 1 a");
  assert.deepEqual(takeEvents(), ["__keyspace@0__:h hset", "__keyspace@0__:h hexpire"]);
  session.clock.advance(11);
  session.run("HLEN h");
  assert.deepEqual(takeEvents(), ["__keyspace@0__:h hexpired"]);
  session.run("HPEXPIRE h 10 FIELDS 1 b");
  session.run("HPERSIST h FIELDS 2 b c");
  session.run("HGETEX h PX 10 FIELDS 1 b");
  takeEvents();
  session.clock.advance(11);
  session.run("EXISTS h");
  assert.deepEqual(takeEvents(), ["__keyspace@0__:h hexpired", "__keyspace@0__:h del"]);
});

test("commands on fields publish the events of Redis 7.4 and 8", () => {
  const rows: [string, readonly string[]][] = [
    ["HSETEX h EX 10 FIELDS 1 a 1", ["hset", "hexpire"]],
    ["HSETEX h FIELDS 1 a 1", ["hset"]],
    ["HSETEX h FXX FIELDS 1 z 1", []],
    ["HEXPIRE h 10 XX FIELDS 1 a", []],
    ["HGETEX h FIELDS 1 a", []],
    ["HGETEX h EX 10 FIELDS 1 a", ["hexpire"]],
    ["HGETEX h PERSIST FIELDS 1 a", ["hpersist"]],
    ["HPERSIST h FIELDS 1 a", []],
    ["HGETDEL h FIELDS 2 a b", ["hdel", "del"]],
    ["HGETDEL h FIELDS 1 a", []],
    ["HSET h a 1 b 2", ["hset"]],
    ["HEXPIREAT h 1 FIELDS 1 a", ["hdel"]],
    ["HEXPIRE h 0 FIELDS 1 b", ["hdel", "del"]],
  ];
  const { session, takeEvents } = start("KA");
  for (const [line, names] of rows) {
    session.run(line);
    assert.deepEqual(
      takeEvents(),
      names.map((name) => `__keyspace@0__:h ${name}`),
      line,
    );
  }
});

test("a read of a missing key publishes an event", () => {
  const rows: [string, readonly string[]][] = [
    ["GET a", ["a"]],
    ["MGET a b", ["a", "b"]],
    ["EXISTS a b", ["a", "b"]],
    ["TTL a", ["a"]],
    ["TYPE a", ["a"]],
    ["OBJECT ENCODING a", []],
    ["MEMORY USAGE a", []],
    ["SORT a BY w_*", ["a"]],
    ["COPY a b", ["a"]],
    ["SINTERSTORE c a b", ["a", "b"]],
    ["LPOP a", []],
    ["DEL a", []],
    ["INCR a", []],
    ["GETDEL a", []],
    ["GETDEL a", ["a"]],
    ["SCAN 0", []],
    ["KEYS *", []],
  ];
  const { session, takeEvents } = start("Km");
  for (const [line, keys] of rows) {
    session.run(line);
    assert.deepEqual(
      takeEvents(),
      keys.map((key) => `__keyspace@0__:${key} keymiss`),
      line,
    );
  }
});

test("an evicted key publishes an event", () => {
  const { session, takeEvents } = start("KEe");
  session.run("SET k v");
  session.run("CONFIG SET maxmemory 1 maxmemory-policy allkeys-random");
  assert.deepEqual(takeEvents(), ["__keyspace@0__:k evicted", "__keyevent@0__:evicted k"]);
});

test("a transaction publishes its events in order, after its end", () => {
  const session = startSession();
  const takeEvents = listen(session);
  session.run("CONFIG SET notify-keyspace-events EA");
  const caller = { user: defaultUser, transport: "http", address: "a:1" } as const;
  void session.database.transaction(caller, [
    ["RPUSH", "l", "a"],
    ["PUBLISH", "c", "m"],
    ["LPOP", "l"],
  ]);
  assert.deepEqual(takeEvents(), ["__keyevent@0__:rpush l", "c m", "__keyevent@0__:lpop l", "__keyevent@0__:del l"]);
});

test("A-06: events of one database are published in no other", () => {
  const { session, takeEvents } = start("KEA");
  const caller = { user: defaultUser, transport: "http", address: "a:1" } as const;
  void session.store.database("other").command(caller, ["SET", "k", "v"]);
  assert.deepEqual(takeEvents(), []);
});

test("replay publishes nothing, and flags are reset by a restart", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  listen(session);
  session.run("CONFIG SET notify-keyspace-events KEA");
  session.run("SET k v");
  assert.equal(replayed(journal.frames).database("main").eventFlags, "");
});

test("JSON commands publish the events of Redis' module, and del when the key is removed", () => {
  const { session, takeEvents } = start("KA");
  const rows: readonly (readonly [line: string, events: readonly string[]])[] = [
    ['JSON.SET k $ \'{"n":1,"s":"a","b":true,"l":[1,2,3]}\'', ["json.set"]],
    ["JSON.SET k $.n 2 NX", []],
    ["JSON.SET k $.n 2", ["json.set"]],
    ["JSON.NUMINCRBY k $.n 2", ["json.numincrby"]],
    ["JSON.NUMINCRBY k $.s 2", []],
    ["JSON.NUMMULTBY k $.n 2", ["json.nummultby"]],
    ["JSON.STRAPPEND k $.s '\"b\"'", ["json.strappend"]],
    ["JSON.STRAPPEND k $.n '\"b\"'", []],
    ["JSON.TOGGLE k $.b", ["json.toggle"]],
    ["JSON.TOGGLE k $.n", []],
    ["JSON.ARRAPPEND k $.l 4", ["json.arrappend"]],
    ["JSON.ARRAPPEND k $.none 4", []],
    ["JSON.ARRINSERT k $.l 0 0", ["json.arrinsert"]],
    ["JSON.ARRPOP k $.l", ["json.arrpop"]],
    ["JSON.ARRTRIM k $.l 0 1", ["json.arrtrim"]],
    ["JSON.MERGE k $ '{\"m\":{}}'", ["json.merge"]],
    ["JSON.MSET k $.m 1 k $.o 2", ["json.mset", "json.mset"]],
    ["JSON.CLEAR k $.l", ["json.clear"]],
    ["JSON.CLEAR k $.l", []],
    ["JSON.DEL k $.none", []],
    ["JSON.DEL k $.m", ["json.del"]],
    ["JSON.FORGET k $.o", ["json.del"]],
    ["JSON.GET k", []],
    ["JSON.DEL k", ["json.del", "del"]],
    ["JSON.DEL k", []],
  ];
  for (const [line, names] of rows) {
    const reply = session.run(line);
    assert.deepEqual(
      takeEvents(),
      names.map((name) => `__keyspace@0__:k ${name}`),
      `${line} ${JSON.stringify(reply)}`,
    );
  }
});

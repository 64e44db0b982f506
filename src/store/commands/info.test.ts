/** INFO: its sections and the lines that clients read. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { startSessions } from "../../../test/harness/session-harness.ts";
import { type Session, startSession } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import type { Reply } from "../reply/reply.ts";
import { Store } from "../store.ts";

const ALL = [
  "# Server",
  "# Clients",
  "# Memory",
  "# Persistence",
  "# Stats",
  "# Replication",
  "# Commandstats",
  "# Errorstats",
  "# Latencystats",
  "# Cluster",
  "# Keyspace",
];

function infoText(session: Pick<Session, "run">, line = "INFO"): string {
  const reply = session.run(line);
  assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "verbatim");
  return reply.text;
}

function headingsOf(text: string): string[] {
  return text.split("\r\n").filter((line) => line.startsWith("#"));
}

function lineOf(text: string, name: string): string | undefined {
  return text
    .split("\r\n")
    .find((line) => line.startsWith(`${name}:`))
    ?.slice(name.length + 1);
}

/** Runs a line on the database main of a store without a harness. */
function runOn(store: Store, line: string): Reply {
  const reply = store.database("main").command({ user: defaultUser, transport: "http", address: "" }, line.split(" "));
  assert.ok(!(reply instanceof Promise));
  return reply;
}

test("INFO without a section, or with one of three names, returns all sections", () => {
  const session = startSession();
  for (const line of ["INFO", "INFO default", "INFO all", "INFO everything", "INFO nonsense ALL"])
    assert.deepEqual(headingsOf(infoText(session, line)), ALL, line);
});

test("INFO returns the named sections, in its own order, and nothing for unknown ones", () => {
  const session = startSession();
  assert.deepEqual(headingsOf(infoText(session, "info keyspace SERVER")), ["# Server", "# Keyspace"]);
  assert.equal(infoText(session, "INFO nonsense"), "");
  assert.equal(
    infoText(session, "INFO replication"),
    "# Replication\r\nrole:master\r\nconnected_slaves:0\r\nmaster_failover_state:no-failover\r\n",
  );
});

test("INFO keyspace counts keys, keys that expire and hashes with fields that expire", () => {
  const session = startSession();
  assert.equal(infoText(session, "INFO keyspace"), "# Keyspace\r\n");
  session.run("SET a 1");
  session.run("SET b 1 EX 10");
  session.run("HSET h f v");
  session.run("HEXPIRE h 10 FIELDS 1 f");
  assert.equal(infoText(session, "INFO keyspace"), "# Keyspace\r\ndb0:keys=3,expires=1,avg_ttl=0,subexpiry=1\r\n");
});

test("INFO commandstats counts calls, refusals and failures by full name", () => {
  const session = startSession();
  session.run("SET a text");
  session.run("INCR a");
  session.run("GET");
  session.run("OBJECT ENCODING a");
  assert.equal(
    infoText(session, "INFO commandstats"),
    [
      "# Commandstats",
      "cmdstat_object|encoding:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0",
      "cmdstat_get:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0",
      "cmdstat_incr:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=1",
      "cmdstat_set:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0",
      "cmdstat_info:calls=1,usec=0,usec_per_call=0.00,rejected_calls=0,failed_calls=0",
      "",
    ].join("\r\n"),
  );
});

test("INFO commandstats and latencystats report the duration of runs", () => {
  let nowMs = 0;
  const clock = new VirtualClock();
  // Each reading of the clock is 4 µs later than the one before.
  clock.monotonicMs = () => {
    nowMs += 0.004;
    return nowMs;
  };
  const store = new Store({
    journal: new RecordingJournal(),
    clock,
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
  });
  const session = { run: (line: string) => runOn(store, line) };
  session.run("GET a");
  session.run("GET a");
  assert.equal(
    lineOf(infoText(session, "INFO commandstats"), "cmdstat_get"),
    "calls=2,usec=8,usec_per_call=4.00,rejected_calls=0,failed_calls=0",
  );
  assert.equal(
    lineOf(infoText(session, "INFO latencystats"), "latency_percentiles_usec_get"),
    "p50=4.000,p99=4.000,p99.9=4.000",
  );
});

test("INFO errorstats counts errors by their first word, including those of unknown commands", () => {
  const session = startSession();
  session.run("SET a text");
  session.run("INCR a");
  session.run("GET");
  session.run("HGET a f");
  session.run("NOPE");
  assert.equal(
    infoText(session, "INFO errorstats"),
    "# Errorstats\r\nerrorstat_ERR:count=3\r\nerrorstat_WRONGTYPE:count=1\r\n",
  );
  assert.equal(lineOf(infoText(session, "INFO stats"), "total_error_replies"), "4");
  session.run("CONFIG RESETSTAT");
  assert.equal(infoText(session, "INFO errorstats"), "# Errorstats\r\n");
});

test("INFO stats counts expired keys and fields", () => {
  const session = startSession();
  session.run("SET a 1 PX 5");
  session.run("HSET h f v g w");
  session.run("HPEXPIRE h 5 FIELDS 1 f");
  session.clock.advance(6);
  session.run("GET a");
  session.run("HLEN h");
  const text = infoText(session);
  assert.equal(lineOf(text, "expired_keys"), "1");
  assert.equal(lineOf(text, "expired_subkeys"), "1");
});

test("INFO server reports the version of Redis that clients look for, and the uptime", () => {
  const session = startSession();
  session.clock.advance(90_061_000);
  const text = infoText(session, "INFO server");
  assert.equal(lineOf(text, "redis_version"), "7.0.15");
  assert.equal(lineOf(text, "server_name"), "larder");
  assert.equal(lineOf(text, "uptime_in_seconds"), "90061");
  assert.equal(lineOf(text, "uptime_in_days"), "1");
});

test("INFO persistence reports whether the last write failed", () => {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  assert.equal(lineOf(infoText(session), "aof_enabled"), "1");
  assert.equal(lineOf(infoText(session), "aof_last_write_status"), "ok");
  journal.refusal = "No space left on device";
  assert.equal(lineOf(infoText(session), "aof_last_write_status"), "err");
  assert.equal(lineOf(infoText(startSession()), "aof_enabled"), "0");
});

test("INFO includes figures of the process if it has them, and omits them otherwise", () => {
  const store = new Store({
    journal: new RecordingJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    version: "1.2.3",
    readFigures: () => ({ usedBytes: 1_538_944, residentBytes: 512 }),
  });
  const text = infoText({ run: (line) => runOn(store, line) });
  assert.equal(lineOf(text, "larder_version"), "1.2.3");
  assert.equal(lineOf(text, "used_memory_thread"), "1538944");
  assert.equal(lineOf(text, "used_memory_thread_human"), "1.47M");
  assert.equal(lineOf(text, "used_memory_rss_human"), "512B");
  assert.equal(lineOf(infoText(startSession()), "used_memory_rss"), undefined);
});

test("INFO memory reports the used memory of the database, and its limit", () => {
  const session = startSession();
  const emptyBytes = Number(lineOf(infoText(session), "used_memory"));
  session.run("SET k v");
  const text = infoText(session, "INFO memory");
  assert.equal(lineOf(text, "used_memory_dataset"), "24");
  assert.equal(Number(lineOf(text, "used_memory")), emptyBytes + Number(session.run("MEMORY USAGE k")) - 4);
  assert.equal(
    Number(lineOf(text, "used_memory")),
    Number(lineOf(text, "used_memory_overhead")) + Number(lineOf(text, "used_memory_dataset")),
  );
  assert.equal(lineOf(text, "maxmemory"), "0");
  assert.equal(lineOf(text, "maxmemory_human"), "0B");
  assert.equal(lineOf(text, "maxmemory_policy"), "noeviction");
  session.run("CONFIG SET maxmemory 1536kb maxmemory-policy volatile-ttl");
  const changed = infoText(session, "INFO memory");
  assert.equal(lineOf(changed, "maxmemory"), "1572864");
  assert.equal(lineOf(changed, "maxmemory_human"), "1.50M");
  assert.equal(lineOf(changed, "maxmemory_policy"), "volatile-ttl");
});

test("INFO counts the sessions of its own database", () => {
  const { store, connect } = startSessions();
  connect({ database: store.database("other") }).run("SUBSCRIBE x");
  connect().run("SUBSCRIBE a b");
  connect().run("PSUBSCRIBE a*");
  connect().run("BLPOP list 0");
  const text = infoText({ run: (line) => runOn(store, line) });
  assert.equal(lineOf(text, "connected_clients"), "3");
  assert.equal(lineOf(text, "blocked_clients"), "1");
  assert.equal(lineOf(text, "pubsub_channels"), "2");
  assert.equal(lineOf(text, "pubsub_patterns"), "1");
  assert.equal(lineOf(text, "role"), "master");
});

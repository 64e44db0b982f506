/** SAVE and its like, with snapshots that the test writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RecordingJournal } from "../../../test/harness/recording-journal.ts";
import { settled, startSessions } from "../../../test/harness/session-harness.ts";
import { error } from "../../../test/harness/store-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { seededRandom } from "../../kernel/random.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import type { SnapshotFacts } from "../command-host.ts";
import { simple } from "../reply/reply.ts";
import { Store } from "../store.ts";

class TestSnapshots implements SnapshotFacts {
  mayRequest = true;
  lastSavedAtMs = 1_700_000_000_999;
  writtenCount = 0;
  lastTookMs: number | undefined;
  hasFailed = false;
  runningMs: number | undefined;
  readonly bytes = { snapshotBytes: 100, journalBytes: 20 };
  #answer = (_isWritten: boolean): void => {};

  request(): Promise<boolean> {
    assert.equal(this.runningMs, undefined);
    this.runningMs = 0;
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  end(isWritten: boolean): void {
    this.runningMs = undefined;
    this.#answer(isWritten);
  }
}

test("SAVE replies when the snapshot is on the disk, and blocks only its client", async () => {
  const snapshots = new TestSnapshots();
  const { connect } = startSessions({ snapshots });
  const one = connect();
  const other = connect();
  one.expect([["SAVE"]]);
  other.expect([
    ["PING", simple("PONG")],
    ["SAVE", error("ERR Background save already in progress")],
    ["BGSAVE", error("ERR Background save already in progress")],
    ["BGSAVE SCHEDULE", error("ERR Background save already in progress")],
    ["BGREWRITEAOF", error("ERR Background append only file rewriting already in progress")],
  ]);
  await settled();
  assert.deepEqual(one.listen(), []);
  snapshots.end(true);
  await settled();
  assert.deepEqual(one.listen(), [simple("OK")]);
  assert.equal(one.resumeCount, 1);
});

test("SAVE of a snapshot that fails is an error", async () => {
  const snapshots = new TestSnapshots();
  const one = startSessions({ snapshots }).connect();
  one.run("SAVE");
  snapshots.end(false);
  await settled();
  assert.deepEqual(one.listen(), [error("ERR the snapshot failed. The log of the server has the reason")]);
});

test("a client that CLIENT UNBLOCK has taken out of SAVE gets no second reply", async () => {
  const snapshots = new TestSnapshots();
  const { connect } = startSessions({ snapshots });
  const one = connect();
  one.run("SAVE");
  connect().expect([["CLIENT UNBLOCK 1", 1]]);
  await settled();
  assert.deepEqual(one.listen(), [error("ERR the client was unblocked. The snapshot continues")]);
  one.run("BLPOP k 0");
  snapshots.end(true);
  await settled();
  assert.deepEqual(one.listen(), []);
});

test("BGSAVE and BGREWRITEAOF reply at once", () => {
  for (const [line, text] of [
    ["BGSAVE", "Background saving started"],
    ["BGSAVE schedule", "Background saving started"],
    ["BGREWRITEAOF", "Background append only file rewriting started"],
  ] as const) {
    const snapshots = new TestSnapshots();
    const one = startSessions({ snapshots }).connect();
    one.expect([[line, simple(text)]]);
    assert.equal(snapshots.runningMs, 0);
  }
});

test("LASTSAVE returns seconds, and arguments are checked as in Redis", () => {
  startSessions({ snapshots: new TestSnapshots() })
    .connect()
    .expect([
      ["LASTSAVE", 1_700_000_000],
      ["LASTSAVE x", error("ERR wrong number of arguments for 'lastsave' command")],
      ["SAVE x", error("ERR wrong number of arguments for 'save' command")],
      ["BGSAVE x", error("ERR syntax error")],
      ["BGSAVE SCHEDULE x", error("ERR syntax error")],
      ["MULTI", simple("OK")],
      ["BGSAVE", simple("QUEUED")],
      ["SAVE", error("ERR Command not allowed inside a transaction")],
      ["EXEC", error("EXECABORT Transaction discarded because of previous errors.")],
    ]);
});

test("with snapshots off nobody can request one", () => {
  const snapshots = new TestSnapshots();
  snapshots.mayRequest = false;
  const off = error("ERR snapshots are off. Start larder with --snapshots on to make them");
  startSessions({ snapshots })
    .connect()
    .expect([
      ["SAVE", off],
      ["BGSAVE", off],
      ["BGREWRITEAOF", off],
      ["LASTSAVE", 1_700_000_000],
    ]);
  assert.equal(snapshots.runningMs, undefined);
});

test("a store that stores nothing refuses snapshots, and reports the time of its start", () => {
  const nothing = error("ERR nothing is stored on the disk. Start larder with --data-dir to make snapshots");
  const { connect, clock } = startSessions();
  const startedAt = Math.floor(clock.nowMs() / 1_000);
  clock.advance(60_000);
  connect().expect([
    ["SAVE", nothing],
    ["BGSAVE", nothing],
    ["BGREWRITEAOF", nothing],
    ["LASTSAVE", startedAt],
  ]);
});

function persistenceOf(store: Store): readonly string[] {
  const reply = store
    .database("main")
    .command({ user: defaultUser, transport: "http", address: "" }, ["INFO", "persistence"]);
  assert.ok(typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "verbatim");
  return reply.text.split("\r\n");
}

test("INFO persistence has the snapshots of the store, and the changes of the database", async () => {
  const snapshots = new TestSnapshots();
  const store = new Store({
    journal: new RecordingJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    hashSeed: new Uint8Array(8),
    snapshots,
  });
  const set = (database: string): void => {
    store.database(database).command({ user: defaultUser, transport: "http", address: "" }, ["SET", "k", "v"]);
  };
  const lines = (): readonly string[] => persistenceOf(store).filter((line) => /^(?:rdb|aof)_/.test(line));
  assert.deepEqual(lines(), [
    "rdb_changes_since_last_save:0",
    "rdb_bgsave_in_progress:0",
    "rdb_last_save_time:1700000000",
    "rdb_last_bgsave_status:ok",
    "rdb_last_bgsave_time_sec:-1",
    "rdb_current_bgsave_time_sec:-1",
    "rdb_saves:0",
    "rdb_last_cow_size:0",
    "aof_enabled:1",
    "aof_rewrite_in_progress:0",
    "aof_rewrite_scheduled:0",
    "aof_last_rewrite_time_sec:-1",
    "aof_current_rewrite_time_sec:-1",
    "aof_last_bgrewrite_status:ok",
    "aof_rewrites:0",
    "aof_last_write_status:ok",
    "aof_last_cow_size:0",
    "aof_current_size:120",
    "aof_base_size:100",
    "aof_pending_rewrite:0",
    "aof_buffer_length:0",
    "aof_pending_bio_fsync:0",
  ]);
  set("main");
  set("main");
  set("other");
  assert.ok(lines().includes("rdb_changes_since_last_save:2"));
  await store.snapshotBegan();
  set("main");
  Object.assign(snapshots, { runningMs: 1_500, lastTookMs: 2_999, hasFailed: true });
  store.snapshotEnded(false);
  const failed = lines();
  for (const line of [
    "rdb_changes_since_last_save:3",
    "rdb_bgsave_in_progress:1",
    "rdb_current_bgsave_time_sec:1",
    "rdb_last_bgsave_time_sec:2",
    "rdb_last_bgsave_status:err",
  ])
    assert.ok(failed.includes(line), line);
  await store.snapshotBegan();
  set("main");
  store.snapshotEnded(true);
  assert.ok(lines().includes("rdb_changes_since_last_save:1"));
});

/** Which units of work share a frame of the journal, and what is in the journal when somebody can see a unit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, RecordingJournal, replayed } from "../../../test/harness/recording-journal.ts";
import { startSessions } from "../../../test/harness/session-harness.ts";
import { error, ok, startSession, testCaller } from "../../../test/harness/store-harness.ts";
import type { CommandRequest } from "../command-facts.ts";
import { replyTooLarge } from "../errors.ts";
import { asTheyAre, type ReplyPrinter } from "../reply/printer.ts";
import { findError, type Reply } from "../reply/reply.ts";

function lines(...texts: readonly string[]): CommandRequest[] {
  return texts.map((text) => text.split(" "));
}

function open() {
  const journal = new RecordingJournal();
  const session = startSession({ journal });
  return { ...session, journal, frameCount: () => journal.frames.length };
}

/** A printer of at most `bytesMax` bytes. */
function printerOf(bytesMax: number, print: (reply: Reply) => void): ReplyPrinter<number> {
  const take = (reply: Reply): number => {
    print(reply);
    return 0;
  };
  return { ...asTheyAre, bytesMax, print: take, printDone: take };
}

test("the commands of a pipeline share a frame, and commands outside of it do not", () => {
  const { database, store, journal, frameCount, run } = open();
  const before = frameCount();

  const replies = database.pipeline(testCaller, lines("SET a 1", "INCR a", "GET a", "NONE", "RPUSH l x", "HSET h f v"));

  assert.equal(frameCount(), before + 1);
  assert.deepEqual(replies, [
    ok,
    2,
    "2",
    error("ERR Command is not available: 'NONE'. See docs/reference/commands.md of larder for its commands"),
    1,
    1,
  ]);
  run("SET b 1");
  run("SET b 2");
  assert.equal(frameCount(), before + 3);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(store));
});

test("a shared frame ends after 16 KB, and any number of the frames of a pipeline is a state between its commands", () => {
  const { database, journal, frameCount } = open();
  const before = frameCount();
  const value = "v".repeat(1_000);

  database.pipeline(
    testCaller,
    Array.from({ length: 40 }, (_, index) => ["SET", `key:${String(index).padStart(2, "0")}`, value]),
  );

  const sizes = Array.from({ length: frameCount() - before + 1 }, (_, count) =>
    replayed(journal.frames.slice(0, before + count))
      .database("main")
      .execute(testCaller, ["DBSIZE"]),
  );
  assert.deepEqual(sizes, [0, 17, 34, 40]);
});

test("a message of a pipeline leaves when the records of the commands before it are in the journal", () => {
  const journal = new RecordingJournal();
  const { store, connect } = startSessions({ journal });
  const listener = connect();
  listener.run("SUBSCRIBE news");
  const frameCounts: number[] = [];
  listener.push = () => frameCounts.push(journal.frames.length);
  const before = journal.frames.length;

  store
    .database("main")
    .pipeline(testCaller, lines("SET a 1", "PUBLISH news x", "SET b 1", "SET c 1", "PUBLISH news y"));

  assert.deepEqual(frameCounts, [before + 1, before + 2]);
  assert.equal(journal.frames.length, before + 2);
});

test("a command that is not quick finds the records of the commands before it in the journal", () => {
  const { database, frameCount } = open();
  const before = frameCount();

  const [, , info] = database.pipeline(testCaller, lines("SET a 1", "SET b 1", "INFO persistence")) as readonly Reply[];

  assert.equal(info !== undefined && /journal_frames:(\d+)/.exec(infoText(info))?.[1], `${before + 1}`);
});

function infoText(reply: Reply): string {
  return typeof reply === "object" && reply !== null && "kind" in reply && reply.kind === "verbatim" ? reply.text : "";
}

test("a command of a pipeline whose reply cannot be sent is undone alone", () => {
  const long = "x".repeat(100);
  for (const tooLong of ["GETDEL long", "LMOVE list other LEFT RIGHT"]) {
    const { database, store, journal, frameCount, run } = open();
    run(`SET long ${long}`);
    run(`RPUSH list ${long}`);
    const before = frameCount();
    const replies: Reply[] = [];
    const printer = printerOf(50, (reply) => {
      if (reply === long) throw replyTooLarge;
      replies.push(reply);
    });

    database.printPipeline(testCaller, lines("SET a 1", "SET b 2", tooLong, "SET c 3"), printer);

    assert.equal(replies.length, 4);
    assert.deepEqual(
      [run("MGET a b c long"), run("LRANGE list 0 -1"), run("EXISTS other")],
      [["1", "2", "3", long], [long], 0],
    );
    assert.ok(frameCount() > before);
    assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(store), tooLong);
  }
});

test("a script that is undone in a pipeline leaves the records of the other commands", () => {
  const journal = new RecordingJournal();
  const { store } = startSessions({ journal, hasScripts: true, undoBytesMax: 1 });
  const database = store.database("main");

  const [, undone] = database.pipeline(testCaller, [
    ["SET", "a", "1"],
    ["EVAL", "redis.call('SET', 'a', 'gone') redis.call('SET', 'b', 'gone')", "0"],
    ["SET", "c", "1"],
  ]) as readonly Reply[];

  assert.match(findError(undone as Reply)?.text ?? "", /its writes were undone$/);
  assert.deepEqual(database.command(testCaller, ["MGET", "a", "b", "c"]), ["1", null, "1"]);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(store));
});

test("after a bug while a read is printed, the commands before it are in the journal", () => {
  const { database, store, journal, frameCount, run } = open();
  const before = frameCount();
  const printer = printerOf(Number.POSITIVE_INFINITY, (reply) => {
    if (reply === "1") throw new TypeError("a bug");
  });

  assert.throws(() => database.printPipeline(testCaller, lines("SET a 1", "GET a", "SET b 1"), printer), /a bug/);

  assert.equal(frameCount(), before + 1);
  assert.deepEqual(run("MGET a b"), ["1", null]);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(store));
});

test("after a bug within a unit that has changed something, nothing more is written or answered", () => {
  const { database, frameCount, run } = open();
  const long = "x".repeat(100);
  run(`SET long ${long}`);
  const before = frameCount();
  const printer = printerOf(50, (reply) => {
    if (reply === long) throw new TypeError("a bug");
  });

  assert.throws(() => database.printPipeline(testCaller, lines("SET a 1", "GETDEL long"), printer), /a bug/);

  assert.throws(() => run("GET a"), /The store stopped/);
  assert.equal(frameCount(), before);
});

test("commands share the frames that a connection holds, and those of another database begin another", () => {
  const journal = new RecordingJournal();
  const { store, connectStranger } = startSessions({ journal });
  store.database("other");
  const client = connectStranger();
  client.run("AUTH main-token");
  const before = journal.frames.length;
  const { frames } = client.session;

  frames?.hold();
  for (const line of ["SET a 1", "SET b 1", "AUTH other-token", "SET c 1", "AUTH main-token", "SET d 1", "SET e 1"])
    client.run(line);
  assert.equal(journal.frames.length, before + 2);
  frames?.release();

  assert.equal(journal.frames.length, before + 3);
  client.run("SET f 1");
  assert.equal(journal.frames.length, before + 4);
  assert.deepEqual(contentOf(replayed(journal.frames)), contentOf(store));
});

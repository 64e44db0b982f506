import assert from "node:assert/strict";
import { test } from "node:test";
import { luaOptions } from "../../test/harness/lua.ts";
import { restored } from "../../test/harness/recording-journal.ts";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import { type FrameOwner, type Journal, NullJournal, OWNER_MOVES } from "../kernel/journal.ts";
import { seededRandom } from "../kernel/random.ts";
import { defaultUser, readOnlyUser } from "./acl/built-in-users.ts";
import type { Database } from "./database.ts";
import { CommandError, databaseIsMoving, TransactionDiscarded } from "./errors.ts";
import { asTheyAre } from "./reply/printer.ts";
import { errorReply, pong, type Reply } from "./reply/reply.ts";
import type { Caller } from "./session/caller.ts";
import { Store } from "./store.ts";

/** A journal whose frames become safe when the test releases them. */
class HeldJournal implements Journal {
  readonly appendedOffset = 0;
  readonly frames: Buffer[] = [];
  readonly bulkBytes: (number | undefined)[] = [];
  safe = 0;
  refusal: string | undefined;
  readonly #waiting: { position: number; wake: () => void }[] = [];

  get end(): number {
    return this.frames.length;
  }

  append(frame: Uint8Array, _owner?: FrameOwner, bulkBytes?: number): number {
    this.frames.push(Buffer.from(frame));
    this.bulkBytes.push(bulkBytes);
    return this.end;
  }

  whenSafe(position: number): Promise<void> {
    return new Promise((wake) => this.#waiting.push({ position, wake }));
  }

  makeSafe(position = this.end): void {
    this.safe = position;
    for (const { position: wanted, wake } of this.#waiting) if (wanted <= position) wake();
  }
}

/** A journal whose frames are safe at once. */
class FreeJournal extends HeldJournal {
  override append(frame: Uint8Array): number {
    this.safe = super.append(frame);
    return this.safe;
  }
}

/** A journal of a shard that is resumed as soon as somebody has asked whether it is suspended. */
class ResumingJournal extends FreeJournal {
  isSuspended = false;

  refusalOf(): string | undefined {
    const reason = this.isSuspended ? "PostgreSQL does not answer" : undefined;
    this.isSuspended = false;
    return reason;
  }
}

const standard: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };
const readOnly: Caller = { ...standard, user: readOnlyUser };

function open(journal = new HeldJournal(), options: { dailyRequestsMax?: number; keepsSettings?: boolean } = {}) {
  const clock = new VirtualClock();
  const store = new Store({ journal, clock, random: seededRandom(1), hashSeed: new Uint8Array(8), ...options });
  const database = store.database("main");
  journal.makeSafe();
  return { clock, store, database, journal };
}

function run(database: Database, text: string, caller = standard): Reply | Promise<Reply> {
  return database.command(caller, text.split(" "));
}

/** True if the promise has settled after all ready jobs have run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  promise.then(() => {
    settled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

test("the journal learns how many bytes of a frame a replay only copies", () => {
  const journal = new HeldJournal();
  const { database } = open(journal);

  run(database, `SET k ${"v".repeat(10_000)}`);
  run(database, `MSET a ${"v".repeat(256)} b ${"v".repeat(257)}`);
  run(database, "SET k v");

  assert.deepEqual(journal.bulkBytes.slice(-3), [9_744, 1, 0]);
});

test("a write waits until its frame is safe", async () => {
  const { database, journal } = open();

  const reply = run(database, "SET k v");

  assert.ok(reply instanceof Promise);
  assert.equal(await isSettled(reply), false);
  journal.makeSafe();
  assert.deepEqual(await reply, { kind: "simple", text: "OK" });
});

test("a read that saw an unsafe write waits with it; without unsafe writes a read leaves at once", async () => {
  const { database, journal } = open();
  const write = run(database, "SET k v");

  const read = run(database, "GET k");

  assert.ok(read instanceof Promise);
  assert.equal(await isSettled(read), false);
  journal.makeSafe();
  assert.equal(await read, "v");
  await write;
  assert.equal(run(database, "GET k"), "v");
});

test("A4: a transaction is one frame, and reads the clock once", async () => {
  const { database, journal } = open();
  const before = journal.frames.length;

  const replies = database.transaction(standard, [
    ["SET", "a", "1"],
    ["INCR", "a"],
    ["SET", "b", "x"],
    ["INCR", "b"],
  ]);

  assert.equal(journal.frames.length, before + 1);
  journal.makeSafe();
  const [first, second, third, fourth] = await replies;
  assert.deepEqual([first, second, third], [{ kind: "simple", text: "OK" }, 2, { kind: "simple", text: "OK" }]);
  assert.equal(
    typeof fourth === "object" && fourth !== null && "kind" in fourth && fourth.kind === "error" && fourth.error.text,
    "ERR value is not an integer or out of range",
  );
});

test("A4: a transaction with one refused command changes nothing", () => {
  const { database, journal } = open();
  const before = journal.frames.length;
  const refused: [string[], string][] = [
    [["GET"], "ERR wrong number of arguments for 'get' command"],
    [
      ["NOSUCH", "x"],
      "ERR Command is not available: 'NOSUCH'. See docs/reference/commands.md of larder for its commands",
    ],
  ];

  for (const [command, text] of refused) {
    assert.throws(
      () => database.transaction(standard, [["SET", "a", "1"], command]),
      (error) => error instanceof TransactionDiscarded && error.error.text === text,
    );
  }

  assert.equal(journal.frames.length, before);
  assert.equal(run(database, "GET a"), null);
});

// A.limits.transaction
test("A-15, A4: a transaction with too many commands is refused before anything runs", () => {
  const { database, journal } = open();
  const commands = Array.from({ length: 100_001 }, () => ["INCR", "k"]);
  assert.throws(() => database.transaction(standard, commands), {
    message: "ERR the transaction has more than 100000 commands: split it",
  });
  assert.equal(journal.frames.length, 1);
  assert.equal(run(database, "EXISTS k"), 0);
});

test("A-10: the scripts of a transaction together may run for three times the limit of one", () => {
  const clock = new VirtualClock();
  const slow = (): number => {
    clock.advance(999);
    return 0;
  };
  const random = { below: slow, unit: slow };
  const options = { journal: new NullJournal(), clock, random, hashSeed: new Uint8Array(8), lua: luaOptions };
  const database = new Store(options).database("main");
  const script = ["EVAL", "redis.call('SET', 'k', 'v') return redis.call('RANDOMKEY')", "0"];
  const within = database.transaction(standard, [script, script, script, script, ["PING"]]);
  assert.deepEqual(within, ["k", "k", "k", "k", pong]);
  run(database, "DEL k");
  assert.throws(() => database.transaction(standard, [script, script, script, script, script, ["PING"]]), {
    message:
      "ERR the scripts of the transaction have run for 3000 ms, which is the limit: split it; the transaction was undone",
  });
  assert.equal(run(database, "EXISTS k"), 0);
  assert.equal(database.command(standard, script), "k");
});

test("S-04: with a full disk writes are refused before they change anything, and reads continue", () => {
  const { database, journal } = open();
  journal.refusal = "No space left on device";

  const reply = run(database, "SET k v");

  assert.deepEqual(
    reply,
    errorReply(new CommandError("MISCONF Errors writing to the AOF file: No space left on device")),
  );
  assert.equal(run(database, "GET k"), null);
  assert.throws(() => database.transaction(standard, [["SET", "k", "v"]]), TransactionDiscarded);
});

test("a database that moves refuses writes as such, also of scripts and to its users and settings", () => {
  const { database, journal } = open(undefined, { keepsSettings: true });
  journal.refusal = OWNER_MOVES;
  const refused = errorReply(databaseIsMoving);
  for (const request of ["SET k v", "CONFIG SET slowlog-max-len 7", "ACL SETUSER someone on", "FLUSHALL"])
    assert.deepEqual(run(database, request), refused, request);
  assert.equal(run(database, "GET k"), null);
});

test("S-04: a unit of work asks once whether it may write: a shard that is resumed meanwhile refuses with the reason", () => {
  const journal = new ResumingJournal();
  const { database } = open(journal, { keepsSettings: true });
  const refused = errorReply(new CommandError("MISCONF Errors writing to the AOF file: PostgreSQL does not answer"));

  for (const request of ["SET k v", "CONFIG SET slowlog-max-len 7", "ACL SETUSER someone on"]) {
    journal.isSuspended = true;
    assert.deepEqual(run(database, request), refused, request);
  }
});

test("A-03: a read-only caller may read and ping, and is refused writes and powerful reads by name", () => {
  const { database } = open();
  const noPermission = (name: string) =>
    errorReply(new CommandError(`NOPERM this user has no permissions to run the '${name}' command or its subcommand`));

  assert.equal(run(database, "GET k", readOnly), null);
  assert.deepEqual(run(database, "PING", readOnly), { kind: "simple", text: "PONG" });
  assert.deepEqual(run(database, "set k v", readOnly), noPermission("set"));
  assert.deepEqual(run(database, "PUBLISH c m", readOnly), noPermission("publish"));
});

test("the daily limit counts commands, refuses with the service's text, and resets the next day", () => {
  const { database, clock } = open(new HeldJournal(), { dailyRequestsMax: 2 });
  run(database, "PING");
  run(database, "PING");

  assert.deepEqual(
    run(database, "PING"),
    errorReply(
      new CommandError(
        "ERR max daily request limit exceeded. Limit: 2, Usage: 3. The operator sets it with --daily-request-limit",
      ),
    ),
  );
  assert.throws(() => database.transaction(standard, [["PING"]]), TransactionDiscarded);

  clock.advance(86_400_000);
  assert.deepEqual(run(database, "PING"), { kind: "simple", text: "PONG" });
});

test("a long pipeline answers every command in order and yields to other commands", async () => {
  const { database, journal } = open();
  const requests = Array.from({ length: 2_500 }, (_, index) => ["APPEND", "k", String(index % 10)]);

  const replies = database.pipeline(standard, requests);
  const between = run(database, "STRLEN k");

  assert.ok(replies instanceof Promise);
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  journal.makeSafe();
  assert.equal(await between, 1_000);
  assert.deepEqual(
    await replies,
    requests.map((_, index) => index + 1),
  );
});

test("A-06: two databases share no key", () => {
  const { store, database, journal } = open();
  const other = store.database("other");
  run(database, "SET k main");
  run(other, "SET k other");
  journal.makeSafe();

  assert.equal(run(database, "GET k"), "main");
  assert.equal(run(other, "GET k"), "other");
  store.dropDatabase("other");
  journal.makeSafe();
  assert.equal(run(store.database("main"), "GET k"), "main");
});

test("the rest of a long pipeline is refused when its database is dropped, and leaves no frame", async () => {
  const { store, journal } = open();
  const doomed = store.database("doomed");
  const replies = doomed.pipeline(
    standard,
    Array.from({ length: 1_001 }, () => ["INCR", "k"]),
  );
  store.dropDatabase("doomed");
  const frameCount = journal.frames.length;

  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  journal.makeSafe();

  assert.equal(journal.frames.length, frameCount);
  assert.deepEqual((await replies).at(-1), errorReply(new CommandError("ERR the database was deleted")));
});

test("a snapshot that has a string twice is refused", () => {
  const { store, database } = open();
  for (let i = 0; i < 30; i += 1) run(database, `SET key${i} v`);
  const frames = Array.from(store.dump(), (frame) => Buffer.from(frame));
  const last = frames.at(-1);

  assert.equal(restored(frames).database("main").keyspace.size, 30);
  assert.throws(() => restored([...frames, ...(last === undefined ? [] : [last])]), /a key is appended once/);
});

test("a store rebuilt from its frames, or from its dump, equals the live one", () => {
  const { store, database, journal, clock } = open();
  const other = store.database("ünï");
  store.database("gone");
  store.dropDatabase("gone");
  run(database, "SET a 1");
  run(database, "SET b 2");
  run(database, `PEXPIREAT b ${clock.nowMs() + 5}`);
  run(other, `HSET h f ${"v".repeat(300)}`);
  const rebuild = (frames: Iterable<Uint8Array>): Store => {
    const fresh = new Store({
      journal: new HeldJournal(),
      clock: new VirtualClock(clock.nowMs()),
      random: seededRandom(2),
      hashSeed: new Uint8Array(8),
    });
    for (const frame of frames) fresh.replay(Buffer.from(frame));
    return fresh;
  };

  for (const rebuilt of [rebuild(journal.frames), rebuild(store.dump())]) {
    assert.deepEqual(rebuilt.databaseNames, ["main", "ünï"]);
    assert.equal(run(rebuilt.database("main"), "GET a"), "1");
    assert.equal(run(rebuilt.database("main"), "PTTL b"), 5);
    assert.equal(run(rebuilt.database("ünï"), "HGET h f"), "v".repeat(300));
    // The number of the dropped database is never reused.
    assert.equal(rebuilt.database("new").number, 4);
  }
});

/** Runs a command with a value beside its words. */
function runWithValue(database: Database, text: string, value: Buffer): Reply | Promise<Reply> {
  return database.printWithValue(standard, { words: text.split(" "), value }, asTheyAre);
}

test("a value beside the words of a command is stored and recorded like a word", () => {
  const content = `${"v".repeat(5_000)}\xff`;
  const rows: [string, string][] = [
    ["SET k ", `SET k ${content}`],
    ["SET k  EX 100 NX GET", `SET k ${content} EX 100 NX GET`],
    ["SET k  KEEPTTL", `SET k ${content} KEEPTTL`],
    ["SETNX k ", `SETNX k ${content}`],
    ["GETSET k ", `GETSET k ${content}`],
    ["SETEX k 10 ", `SETEX k 10 ${content}`],
    ["PSETEX k 10 ", `PSETEX k 10 ${content}`],
    ["SET k  XX", `SET k ${content} XX`],
    ["SETEX k 0 ", `SETEX k 0 ${content}`],
    ["SET k  NX XX", `SET k ${content} NX XX`],
  ];
  for (const [words, whole] of rows) {
    const beside = open(new FreeJournal());
    const inside = open(new FreeJournal());
    assert.deepEqual(runWithValue(beside.database, words, Buffer.from(content, "latin1")), run(inside.database, whole));
    for (const read of ["GET k", "PTTL k", "MEMORY USAGE k"])
      assert.deepEqual(run(beside.database, read), run(inside.database, read), `${words}: ${read}`);
    assert.deepEqual(beside.journal.frames, inside.journal.frames, words);
  }
});

test("a value beside the words that is a part of a larger memory is copied", () => {
  const { database } = open(new FreeJournal());
  const packet = Buffer.alloc(10_000, "a");
  for (const key of ["k", "k"]) runWithValue(database, `SET ${key} `, packet.subarray(100, 5_100));
  packet.fill("b");
  assert.deepEqual(run(database, "GET k"), Buffer.alloc(5_000, "a"));
});

test("a value of the same length is put into the memory of the old one, and a reply keeps the old one", () => {
  const { database } = open(new FreeJournal());
  run(database, `SET k ${"a".repeat(5_000)} EX 100`);
  const old = database.keyspace.entries.get("k");
  runWithValue(database, "SET k ", Buffer.alloc(5_000, "b"));
  assert.equal(database.keyspace.entries.get("k"), old);
  assert.equal(run(database, "PTTL k"), -1);
  const reply = run(database, "GET k");
  runWithValue(database, "SET k ", Buffer.alloc(5_000, "c"));
  assert.deepEqual(reply, Buffer.alloc(5_000, "b"));
  assert.deepEqual(run(database, "GET k"), Buffer.alloc(5_000, "c"));
  runWithValue(database, "SET k ", Buffer.alloc(6_000, "d"));
  assert.deepEqual(run(database, "GET k"), Buffer.alloc(6_000, "d"));
});

test("the slow log and monitors show a value beside the words, and the next command does not see it", () => {
  const { database } = open(new FreeJournal());
  const content = "v".repeat(5_000);
  const lines: string[] = [];
  const subscriber = database.pubsub.open({
    receive: (push) => lines.push(push.kind === "monitor" ? push.line : push.kind),
    drop: () => {},
  });
  database.monitors.add(subscriber);
  run(database, "CONFIG SET slowlog-log-slower-than 0");
  lines.length = 0;

  runWithValue(database, "SET k ", Buffer.from(content));
  run(database, "SET other short");

  assert.match(lines[0] ?? "", new RegExp(`"SET" "k" "${content}"$`));
  assert.match(JSON.stringify(run(database, "SLOWLOG GET 2")), /"SET","k","v{100,}/);
  assert.equal(run(database, "GET other"), "short");
});

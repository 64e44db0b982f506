/** Searches in slices of counted steps, beside other tenants and other requests of their database. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Speaker } from "../../../test/harness/session-harness.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { seededRandom } from "../../kernel/random.ts";
import { TURN_MS, Turns } from "../../kernel/turns.ts";
import { VirtualLoop } from "../../kernel/turns.virtual.ts";
import { defaultUser } from "../acl/built-in-users.ts";
import type { CommandRequest } from "../command-facts.ts";
import type { Database } from "../database.ts";
import { findError, type Reply } from "../reply/reply.ts";
import { Store } from "../store.ts";
import type { Caller } from "./caller.ts";

const DOCUMENTS = 600;
const SLICE_STEPS = 1_000;
const caller: Caller = { user: defaultUser, transport: "http", address: "127.0.0.1:1" };

const COUNT = ["SEARCH.COUNT", "i", '{"t":{"$regex":".*a.*"},"n":{"$gte":100}}'];
const QUERY = ["SEARCH.QUERY", "i", '{"t":{"$fuzzy":{"value":"word","distance":2}}}', "LIMIT", "3"];
const AGGREGATE = [
  "SEARCH.AGGREGATE",
  "i",
  "{}",
  '{"k":{"$terms":{"field":"k"},"$aggs":{"m":{"$avg":{"field":"n"}},"p":{"$percentiles":{"field":"n"}}}}}',
];
const searches: readonly CommandRequest[] = [COUNT, QUERY, AGGREGATE];

/** A thread with two databases, in which each slice after the first one of a command takes a millisecond. */
class Thread {
  readonly clock = new VirtualClock();
  readonly loop = new VirtualLoop();
  /** Slices so far, without the first ones. */
  sliceCount = 0;
  readonly store: Store;
  readonly heavy: Database;
  readonly light: Database;

  constructor(sliceSteps = SLICE_STEPS) {
    const observer = { unit() {}, command: (name: string) => this.#began(name) };
    this.store = new Store({
      journal: new NullJournal(),
      clock: this.clock,
      random: seededRandom(1),
      hashSeed: new Uint8Array(8),
      turns: new Turns({ clock: this.clock, loop: this.loop, observer }),
    });
    this.heavy = this.store.database("heavy");
    this.light = this.store.database("light");
    this.light.execute(caller, ["SET", "k", "v"]);
    this.heavy.execute(caller, "SEARCH.CREATE i ON HASH PREFIX 1 d: SCHEMA t TEXT n F64 FAST k KEYWORD".split(" "));
    for (let n = 0; n < DOCUMENTS; n += 1)
      this.heavy.execute(caller, ["HSET", `d:${n}`, "t", `word wor${n}a`, "n", `${n}`, "k", `k${n % 7}`]);
    this.heavy.sliced.limits = { stepsMax: 10_000_000, unitStepsMax: 2_000, sliceSteps };
  }

  #began(name: string): void {
    if (!name.startsWith("search.") || !this.heavy.sliced.isUnderWay) return;
    this.sliceCount += 1;
    this.clock.advance(1);
  }

  /** Turns of the event loop until nothing waits. */
  async idle(): Promise<void> {
    do await this.loop.turn();
    while (!this.loop.isIdle);
  }

  async reply(request: CommandRequest): Promise<Reply> {
    const reply = this.heavy.command(caller, request);
    await this.idle();
    return reply;
  }

  connect(): Speaker {
    const login = { logIn: () => undefined, anonymous: { database: this.heavy, user: defaultUser } };
    return new Speaker({ address: "127.0.0.1:2", login, store: this.store, clock: this.clock });
  }
}

test("searches in the shortest slices have the replies of searches in one piece", async () => {
  const [sliced, whole] = [new Thread(1), new Thread(Number.POSITIVE_INFINITY)];
  for (const request of searches) assert.deepEqual(await sliced.reply(request), await whole.reply(request));
  assert.equal(whole.sliceCount, 0);
  assert.ok(sliced.sliceCount > 500, `${sliced.sliceCount} slices`);
});

test("the buckets of a reply are made in slices, too", async () => {
  const aggregateOf = (size: number): CommandRequest => {
    const numbers = { $terms: { field: "n", size }, $aggs: { kinds: { $terms: { field: "k" } } } };
    return ["SEARCH.AGGREGATE", "i", "{}", JSON.stringify({ numbers })];
  };
  const counts: number[] = [];
  for (const size of [1, DOCUMENTS]) {
    const thread = new Thread();
    await thread.reply(aggregateOf(size));
    counts.push(thread.sliceCount);
  }
  const [one = 0, all = 0] = counts;
  // 600 buckets of 60 steps, with one bucket of 30 steps in each.
  assert.ok(all - one >= 50, `${one} slices for one bucket, ${all} for all`);
});

test("a request of another database waits for a bounded number of slices of a search", async () => {
  const thread = new Thread(5);
  const { heavy, light } = thread;
  for (const request of searches) {
    let isAnswered = false;
    const answer = Promise.resolve(heavy.command(caller, request)).then((reply) => {
      isAnswered = true;
      return reply;
    });
    let waitedMax = 0;
    let answeredCount = 0;
    while (!isAnswered) {
      const arrivedAt = thread.sliceCount;
      if (!light.turn.mayRun) {
        let isItsTurn = false;
        void light.turn.next().then(() => {
          isItsTurn = true;
        });
        while (!isItsTurn) await thread.loop.turn();
      }
      assert.equal(light.execute(caller, ["GET", "k"]), "v");
      answeredCount += 1;
      waitedMax = Math.max(waitedMax, thread.sliceCount - arrivedAt);
      await thread.loop.turn();
    }
    assert.ok(answeredCount >= 2 && waitedMax <= TURN_MS + 1, `${answeredCount} answers, ${waitedMax} slices`);
    await thread.idle();
    assert.equal(findError(await answer), undefined);
  }
});

test("requests of the database wait for its search and come in their order", async () => {
  const thread = new Thread();
  const { heavy } = thread;
  const order: string[] = [];
  const note = async (name: string, reply: Reply | readonly Reply[] | Promise<Reply | readonly Reply[]>) =>
    order.push(`${name} ${await reply}`);
  const answers = [
    note("count", heavy.command(caller, COUNT)),
    note("del", heavy.command(caller, ["DEL", "d:100"])),
    note("pipeline", heavy.pipeline(caller, [COUNT, ["DEL", "d:101"], COUNT, ["DBSIZE"]])),
    note("transaction", heavy.transaction(caller, [["DBSIZE"], ["DEL", "d:102"]])),
  ];
  assert.equal(heavy.sweepExpired(), 0);
  await thread.idle();
  await Promise.all(answers);
  // A pipeline is not atomic: the transaction comes between its commands.
  assert.deepEqual(order, ["count 500", "del 1", "transaction 600,1", "pipeline 499,1,497,598"]);
});

test("a session waits for its search, and gets its replies in order", async () => {
  const thread = new Thread();
  const one = thread.connect();
  const other = thread.connect();
  one.session.execute(COUNT.slice());
  assert.equal(one.session.isWaiting, true);
  assert.equal(other.session.mustWait(["FLUSHALL"]), true);
  await thread.idle();
  assert.deepEqual([one.session.isWaiting, one.listen(), one.resumeCount], [false, [500], 1]);
  for (const line of ["CLIENT REPLY SKIP", COUNT])
    one.session.execute([...(typeof line === "string" ? line.split(" ") : line)]);
  await thread.idle();
  assert.deepEqual(one.run("PING"), [{ kind: "simple", text: "PONG" }]);
});

test("a search ends when its client has left, and when its database is emptied or dropped", async () => {
  const thread = new Thread();
  const { heavy, store } = thread;
  const client = thread.connect();
  client.session.execute([...COUNT]);
  client.session.close();
  assert.equal(heavy.sliced.isUnderWay, false);
  await thread.idle();
  assert.equal(thread.sliceCount, 0);

  const leaver = { ...caller, hasLeft: false };
  const left = heavy.command(leaver, AGGREGATE);
  leaver.hasLeft = true;
  await thread.idle();
  assert.equal(findError(await left)?.text, "ERR the client has left");
  assert.equal(thread.sliceCount, 0);

  const emptied = heavy.command(caller, COUNT);
  store.reset();
  assert.equal(findError(await emptied)?.text, "ERR the database was emptied while the command ran");
  const dropped = new Thread();
  const reply = dropped.heavy.command(caller, COUNT);
  dropped.store.dropDatabase("heavy");
  await dropped.idle();
  assert.match(findError(await reply)?.text ?? "", /^ERR .*database/);
});

test("the searches of a transaction or a script run in one piece, and have few steps together", () => {
  const { heavy, sliceCount } = new Thread();
  const run = (...commands: CommandRequest[]) => heavy.transaction(caller, commands) as readonly Reply[];
  const small: CommandRequest = ["SEARCH.COUNT", "i", '{"n":{"$lt":100}}'];
  assert.deepEqual(run(small, small), [100, 100]);
  const text =
    "ERR the searches of a transaction or script take more than 2000 steps together: make them more specific, or send them outside of it";
  const replies = run(small, small, small, small, ["GET", "k"]);
  assert.deepEqual(
    replies.map((reply) => findError(reply)?.text ?? reply),
    [100, 100, 100, text, null],
  );
  assert.deepEqual(run(small), [100]);
  assert.equal(sliceCount, 0);
});

/** A user is frozen while its data moves to another shard: nothing of it is called or recorded, and nothing is lost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, type Call, MessagingHarness, request } from "../../../test/harness/messaging-harness.ts";
import { OWNER_MOVES } from "../../kernel/journal.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { moveBodies } from "../bodies/cleaning.ts";
import { defaultLimits } from "../limits.ts";
import { readPublishOptions } from "../options/headers.ts";
import { messageStateName } from "../state/states.ts";
import type { User } from "../state/user.ts";

const GRACE_MS = 5_000;
const HOUR_MS = 3_600_000;
const SEEDS = 20;
const STEPS = 150;

function userOf(harness: MessagingHarness, name = "main"): User {
  const user = harness.messaging.engine.state.findUser(name);
  assert.ok(user !== undefined);
  return user;
}

/** Freezes the user as its service does, and returns how to wait for it. */
function freeze(harness: MessagingHarness): Promise<number> {
  const user = userOf(harness);
  Object.assign(harness.journal, { refusalOf: (owner: unknown) => (owner === user ? OWNER_MOVES : undefined) });
  return harness.messaging.engine.freeze(user, GRACE_MS);
}

function thaw(harness: MessagingHarness): void {
  Object.assign(harness.journal, { refusalOf: undefined });
  harness.messaging.engine.thaw(userOf(harness));
}

function urlsOf(calls: readonly Call[]): readonly string[] {
  return calls.map(({ url }) => new URL(url).hostname);
}

async function publishInRun(harness: MessagingHarness, headers: string, body: string): Promise<void> {
  const own = headers.split("; ").flatMap((pair) => pair.split("="));
  const context = { limits: defaultLimits, nowMs: harness.clock.nowMs(), refusalOf: () => undefined };
  const options = readPublishOptions({ own, contentType: undefined, others: () => [] }, context);
  const published = { destination: "https://run.test/", body: Buffer.from(body), options, callerIp: "203.0.113.7" };
  await harness.user.publish([published]);
}

test("while a user is frozen nothing of it is called or recorded, and afterwards everything that was due happens once", async () => {
  const harness = await MessagingHarness.start({ deadLetterRetentionMs: HOUR_MS, runRetentionMs: HOUR_MS });
  await harness.messaging.createUser("other");
  const other = harness.messaging.user("other");
  harness.destination = ({ url }) =>
    url.includes("broken") ? answered(500) : answered(200, ["upstash-workflow-sdk-version", "1"]);
  // A dead letter, a run that waits, an ended run, a retry, a delay, a rate, and a schedule.
  await harness.publish("https://broken.test/", { retriesMax: 0 });
  await publishInRun(harness, "workflow-init=true; workflow-runid=wfr_1", "begin");
  await publishInRun(harness, "workflow-init=true; workflow-runid=wfr_2", "begin");
  await harness.settle();
  await harness.user.workflows.finish("wfr_2", Buffer.from("done"));
  await harness.user.workflows.wait({
    ...{ eventId: "paid", runId: "wfr_1", headers: [], contentType: undefined, refusalOf: () => undefined },
    body: Buffer.from(JSON.stringify({ url: "https://run.test/", step: { stepId: 1 }, timeout: "60s" })),
  });
  await harness.publish("https://broken.test/", { retriesMax: 1, retryDelay: "60000" });
  await harness.publish("https://delayed.test/", { delayMs: 60_000 });
  for (const _ of [1, 2])
    await harness.publish("https://rated.test/", { flowControl: { key: "k", rate: 1, periodMs: 60_000 } });
  await harness.user.putSchedule({
    ...{ id: "scd_1", cron: "* * * * *", destination: "https://schedule.test/", body: Buffer.from("tick") },
    ...{ options: { method: "POST", headers: [], retriesMax: 0 }, callerIp: "::1" },
  });
  await other?.publish([request("https://other.test/", { delayMs: 60_000 })]);
  await harness.settle();

  assert.equal(await freeze(harness), 0);
  const { calls, journal } = harness;
  const [callCount, frames] = [calls.length, journal.frames.length];
  await assert.rejects(harness.publish("https://a.test/"), {
    kind: "unavailable",
    text: `Requests cannot be accepted now: ${OWNER_MOVES}`,
  });
  const own = userOf(harness).number;
  await harness.advance(2 * HOUR_MS);
  const since = journal.frames.slice(frames);
  assert.deepEqual(
    since.filter((frame) => frame[0] === own),
    [],
  );
  assert.deepEqual(urlsOf(calls.slice(callCount)), ["other.test"]);
  assert.equal(
    harness.user.deadLetters({ attributes: new Map() }, { order: "earliest first", count: 9 }).deadLetters.length,
    1,
  );

  harness.destination = () => answered(200, ["upstash-workflow-sdk-version", "1"]);
  thaw(harness);
  await harness.settle();
  assert.deepEqual(urlsOf(calls.slice(callCount)).toSorted(), [
    ...["broken.test", "delayed.test", "other.test", "rated.test", "run.test", "schedule.test"],
  ]);
  const { state } = harness.messaging.engine;
  assert.deepEqual([state.messages.size, state.waitersByNumber.size], [0, 0]);
  // The next heartbeat removes what has expired.
  await harness.advance(HOUR_MS);
  assert.deepEqual([userOf(harness).deadLetters.size, userOf(harness).runs.size], [0, 1]);
});

test("calls under way may end: a success is recorded, a failure is not, and what lasts too long is given up", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  for (const name of ["quick", "refused", "slow"])
    await harness.publish(`https://${name}.test/`, { retriesMax: 0, flowControl: { key: name, parallelism: 1 } });
  await harness.settle();
  assert.deepEqual(
    urlsOf(harness.calls),
    ["quick", "refused", "slow"].map((name) => `${name}.test`),
  );
  const [quick, refused, slow] = harness.calls;
  let given: number | undefined;
  const frozen = freeze(harness).then((calls) => {
    given = calls;
  });
  quick?.answer(answered(200));
  // Perhaps because its own request to this server was refused.
  refused?.answer(answered(500));
  await harness.advance(GRACE_MS - 1);
  assert.equal(given, undefined, "the call that lasts is waited for");
  await harness.advance(1);
  await frozen;
  assert.equal(given, 2);
  const frames = harness.journal.frames.length;
  const states = Array.from(harness.messaging.engine.state.messages, ({ state, retried, envelope }) => [
    ...[new URL(envelope.fields.url).hostname, messageStateName(state), retried],
  ]);
  assert.deepEqual(states, [
    ["refused.test", "ACTIVE", 0],
    ["slow.test", "ACTIVE", 0],
  ]);

  thaw(harness);
  await harness.settle();
  assert.deepEqual(urlsOf(harness.calls.slice(3)), ["refused.test", "slow.test"]);
  assert.equal(harness.journal.frames.length, frames + 2, "two attempts start");
  // The first call of the slow message ends now, and its outcome is not that of the second one.
  slow?.answer(answered(500));
  await harness.settle();
  assert.equal(harness.messaging.engine.state.messages.size, 2);
  for (const call of harness.calls.slice(3)) call.answer(answered(200));
  await harness.settle();
  const { messages, users } = harness.messaging.engine.state;
  assert.equal(messages.size, 0);
  for (const user of users) assert.deepEqual([user.deadLetters.size, user.inFlight.size], [0, 0]);
});

test("a freeze ends with the last call, and can be undone before", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.publish("https://a.test/");
  await harness.settle();
  const frozen = freeze(harness);
  harness.calls[0]?.answer(answered(200));
  await harness.settle();
  assert.equal(await frozen, 0);
  thaw(harness);

  await harness.publish("https://b.test/");
  await harness.settle();
  const again = freeze(harness);
  thaw(harness);
  assert.equal(await again, 0);
  harness.calls[1]?.answer(answered(200));
  await harness.settle();
  assert.deepEqual([harness.calls.length, harness.messaging.engine.state.messages.size], [2, 0]);
});

test("a queue keeps its order over a freeze", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  for (const name of ["first", "second", "third"]) await harness.publish(`https://${name}.test/`, { queueName: "q" });
  await harness.settle();
  const frozen = freeze(harness);
  await harness.advance(GRACE_MS);
  assert.equal(await frozen, 1);
  harness.destination = () => answered(200);
  thaw(harness);
  await harness.settle();
  assert.deepEqual(
    urlsOf(harness.calls),
    ["first", "first", "second", "third"].map((name) => `${name}.test`),
  );
});

test("a start with a frozen user repeats its calls and ends its cancelled messages when it is thawed", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.publish("https://called.test/");
  const cancelled = await harness.publish("https://cancelled.test/", { queueName: "q" });
  await harness.publish("https://next.test/", { queueName: "q" });
  await harness.settle();
  await harness.user.cancel(cancelled);
  harness.stop();
  harness.replay();
  const { engine } = harness.messaging;
  assert.equal(await freeze(harness), 0);
  const frames = harness.journal.frames.length;
  engine.start();
  await harness.advance(HOUR_MS);
  assert.deepEqual([harness.calls.length, harness.journal.frames.length], [2, frames]);
  harness.destination = () => answered(200);
  thaw(harness);
  await harness.settle();
  assert.deepEqual(urlsOf(harness.calls.slice(2)).toSorted(), ["called.test", "next.test"]);
  assert.equal(engine.state.messages.size, 0);
});

test("large calls of a frozen user that wait for room are given up, and leave it to others", async () => {
  const harness = await MessagingHarness.start({ largeCallsBytesMax: 3_000_000 });
  const large = "x".repeat(2_000_000);
  harness.destination = () => "later";
  await harness.publish("https://first.test/", {}, large);
  await harness.publish("https://second.test/", {}, large);
  await harness.settle();
  assert.equal(harness.calls.length, 1);
  const frozen = freeze(harness);
  await harness.advance(GRACE_MS);
  assert.equal(await frozen, 2);
  harness.calls[0]?.answer(answered(200));
  await harness.settle();
  assert.equal(harness.calls.length, 1);
  harness.destination = () => answered(200);
  thaw(harness);
  await harness.settle();
  assert.deepEqual(urlsOf(harness.calls.slice(1)), ["first.test", "second.test"]);
});

test("no publisher waits for the messages of a frozen user, and its bodies stay where they are", async () => {
  const harness = await MessagingHarness.start();
  await harness.publish("https://a.test/", { delayMs: 1_000 });
  await freeze(harness);
  await harness.advance(HOUR_MS);
  const { engine } = harness.messaging;
  assert.equal(userOf(harness).ready.size, 1);
  assert.equal(engine.lagMs(), 0);
  for (const { body } of engine.state.messages) engine.state.bodies.place(body, 1, 0);
  assert.equal(await moveBodies(engine, [{ number: 1, bytes: 1_000 }]), 0);
  thaw(harness);
  await harness.settle();
  assert.deepEqual(urlsOf(harness.calls), ["a.test"]);
});

test("a user that is removed while it is frozen leaves nothing", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = () => "later";
  await harness.publish("https://a.test/");
  await harness.settle();
  const frozen = freeze(harness);
  await harness.messaging.dropUser("main");
  assert.equal(await frozen, 0);
  harness.calls[0]?.answer(answered(200));
  await harness.settle();
  const { state, scheduler } = harness.messaging.engine;
  assert.deepEqual([state.messages.size, scheduler.inFlightCount], [0, 0]);
});

/** A user that publishes to destinations of all kinds, and is frozen, thawed and restarted at random moments. */
class FrozenLife {
  readonly harness: MessagingHarness;
  readonly #random: Random;
  readonly #published = new Map<string, "plain" | "queue">();
  /** In the order of their first calls. */
  readonly #called = new Set<string>();
  readonly #taken = new Set<string>();
  #open: Call[] = [];
  /** Frames of the user when its freeze was complete; undefined: it is not. */
  #frozenFrames: number | undefined;
  #count = 0;

  constructor(harness: MessagingHarness, random: Random) {
    this.harness = harness;
    this.#random = random;
    harness.destination = (call) => {
      this.#called.add(call.body);
      const chance = this.#random.below(3);
      if (chance === 0) {
        this.#open.push(call);
        return "later";
      }
      return this.#answer(call, chance === 1);
    };
  }

  #answer({ body }: Call, isOk: boolean): ReturnType<typeof answered> {
    if (isOk) this.#taken.add(body);
    return answered(isOk ? 200 : 500);
  }

  get #user(): User {
    return userOf(this.harness);
  }

  get #ownFrames(): number {
    const { number } = this.#user;
    return this.harness.journal.frames.filter((frame) => frame[0] === number).length;
  }

  async step(): Promise<void> {
    const { harness } = this;
    const { isFrozen } = this.#user;
    const chance = this.#random.below(20);
    if (chance < 8 && !isFrozen) await this.#publish();
    else if (chance < 12) this.#answerOne(this.#random.below(2) === 0);
    else if (chance < 13 && !isFrozen) this.#freeze();
    else if (chance < 15 && isFrozen) this.#thaw();
    else if (chance === 15) this.#restart();
    else await harness.advance(this.#random.below(3) === 0 ? this.#random.below(30_000) : this.#random.below(100));
    await harness.settle();
    harness.messaging.engine.scheduler.assertConsistent();
    if (this.#frozenFrames !== undefined) assert.equal(this.#ownFrames, this.#frozenFrames, "nothing is recorded");
  }

  async #publish(): Promise<void> {
    this.#count += 1;
    const body = String(this.#count);
    const kinds = [
      {},
      { delayMs: this.#random.below(20_000) },
      { queueName: "q" },
      { flowControl: { key: "k", parallelism: 1 } },
      { flowControl: { key: "rate", rate: 1, periodMs: 5_000 } },
    ];
    const options = kinds[this.#random.below(kinds.length)] ?? {};
    await this.harness.publish("https://a.test/", { ...options, retriesMax: 2, retryDelay: "1000" }, body);
    this.#published.set(body, "queueName" in options ? "queue" : "plain");
  }

  #answerOne(isOk: boolean): void {
    const [call] = this.#open.splice(this.#random.below(Math.max(1, this.#open.length)), 1);
    call?.answer(this.#answer(call, isOk));
  }

  #freeze(): void {
    const user = this.#user;
    void freeze(this.harness).then(() => {
      if (user.isFrozen && user === this.#user) this.#frozenFrames = this.#ownFrames;
    });
  }

  #thaw(): void {
    this.#frozenFrames = undefined;
    thaw(this.harness);
  }

  /** A crash while it is frozen is a start with a frozen user. */
  #restart(): void {
    const { isFrozen } = this.#user;
    this.harness.stop();
    this.harness.replay();
    this.#open = [];
    this.#frozenFrames = undefined;
    if (isFrozen) this.#freeze();
    else Object.assign(this.harness.journal, { refusalOf: undefined });
    this.harness.messaging.engine.start();
  }

  /** Everything that was acknowledged was taken, or is a dead letter. */
  async end(): Promise<void> {
    if (this.#user.isFrozen) this.#thaw();
    this.harness.destination = (call) => {
      this.#called.add(call.body);
      return this.#answer(call, true);
    };
    while (this.#open.length > 0) this.#answerOne(true);
    await this.harness.advance(HOUR_MS);
    assert.equal(this.harness.messaging.engine.state.messages.size, 0);
    const dead = Array.from(this.#user.deadLetters.values(), ({ body }) => body.bytes?.toString() ?? "");
    const lost = [...this.#published.keys()].filter((body) => !this.#taken.has(body) && !dead.includes(body));
    assert.deepEqual(lost, [], "acknowledged messages that are lost");
    const inQueue = (bodies: Iterable<string>): readonly string[] =>
      [...bodies].filter((body) => this.#published.get(body) === "queue");
    assert.deepEqual(inQueue(this.#called), inQueue(this.#published.keys()), "the order of the queue");
  }
}

test("whenever a user is frozen, thawed or restarted, nothing is recorded meanwhile, and nothing is lost or out of order", async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    try {
      const life = new FrozenLife(await MessagingHarness.start(), seededRandom(seed));
      for (let step = 0; step < STEPS; step += 1) await life.step();
      await life.end();
    } catch (cause) {
      throw new Error(`Seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }
});

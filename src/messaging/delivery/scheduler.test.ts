/** Tests the scheduler alone: no engine, no journal, and the test sets the time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { NullJournal } from "../../kernel/journal.ts";
import { Body } from "../bodies/body.ts";
import { defaultLimits, type MessagingLimits } from "../limits.ts";
import type { EnvelopeFields } from "../options/envelope.ts";
import { Recorder } from "../records/recorder.ts";
import type { Message } from "../state/message.ts";
import { MessagingState } from "../state/messaging-state.ts";
import type { Moment } from "../state/moment.ts";
import type { User } from "../state/user.ts";
import { Scheduler } from "./scheduler.ts";

const START_MS = 1_000_000;

class SchedulerHarness {
  readonly state: MessagingState;
  readonly recorder: Recorder;
  readonly scheduler: Scheduler;
  readonly user: User;
  mayStart = true;
  /** Calls that have started, by the path of their URL. */
  readonly started: string[] = [];
  #sequence = 0;

  constructor(limits: Partial<MessagingLimits> = {}) {
    const all = { ...defaultLimits, ...limits };
    this.state = new MessagingState(all);
    this.recorder = new Recorder(this.state, new NullJournal());
    this.scheduler = new Scheduler({
      state: this.state,
      recorder: this.recorder,
      limits: all,
      mayStart: () => this.mayStart,
      start: (message) => this.started.push(new URL(message.envelope.fields.url).pathname.slice(1)),
    });
    this.user = this.addUser("main");
  }

  addUser(name: string): User {
    const number = this.state.userNumberMax + 1;
    return this.recorder.appendToArea("userCreated", { number, name, keys: { current: "a", next: "b" } });
  }

  /** Accepts a message to `/name`. It is not called before `arrived`. */
  accept(name: string, fields: Partial<EnvelopeFields> = {}, { user = this.user, delayMs = 0 } = {}): Message {
    this.#sequence += 1;
    const url = `https://a.test/${name}`;
    const envelope = this.state.envelopes.share({ url, method: "POST", headers: [], retriesMax: 3, ...fields });
    const facts = {
      ...{ sequence: this.#sequence, nonce: 0, createdAtMs: START_MS, notBeforeMs: START_MS + delayMs },
      slotOwner: 0,
    };
    const body = Body.of(Buffer.from(name), true);
    return this.recorder.append(user, "messageAccepted", { facts, envelope, deduplicationKey: "", body });
  }

  arrive(...messages: readonly Message[]): void {
    this.scheduler.arrived(
      messages.map((message) => ({ message, driftMs: 0 })),
      at(0),
    );
  }

  /** Ends the call of a message with a delivery. */
  end(message: Message, afterMs = 0): void {
    const now = at(afterMs);
    const queue = this.state.queueOf(message);
    this.recorder.append(message.user, "delivered", { sequence: message.sequence, atMs: now.wallMs, status: 200 });
    this.scheduler.release(message, now, 1);
    if (queue !== undefined) this.scheduler.advance(queue, now);
    this.scheduler.dispatch(now);
    this.scheduler.assertConsistent();
  }
}

/** The time this long after the start, by all clocks. */
function at(ms: number): Moment {
  return { wallMs: START_MS + ms, passedMs: START_MS + ms, realMs: ms };
}

test("a message is called when it has arrived, not when it is accepted", () => {
  const harness = new SchedulerHarness();
  const message = harness.accept("a");
  harness.scheduler.dispatch(at(0));
  assert.deepEqual(harness.started, []);
  harness.arrive(message);
  assert.deepEqual(harness.started, ["a"]);
  assert.equal(harness.scheduler.inFlightCount, 1);
});

test("while no call may start, messages wait, and start in their order afterwards", () => {
  const harness = new SchedulerHarness();
  harness.mayStart = false;
  harness.arrive(harness.accept("a"), harness.accept("b"));
  assert.deepEqual(
    [...harness.scheduler.waitingCounts].filter(([, count]) => count > 0),
    [["a free delivery slot", 2]],
  );
  harness.mayStart = true;
  harness.scheduler.dispatch(at(0));
  assert.deepEqual(harness.started, ["a", "b"]);
});

test("at most the parallelism of the server runs, and users take turns", () => {
  const harness = new SchedulerHarness({ parallelism: 2 });
  const other = harness.addUser("other");
  const first = harness.accept("a1");
  harness.arrive(first, harness.accept("a2"), harness.accept("a3"), harness.accept("b1", {}, { user: other }));
  assert.deepEqual(harness.started, ["a1", "b1"]);
  harness.end(first);
  assert.deepEqual(harness.started, ["a1", "b1", "a2"]);
  harness.end(harness.state.messageOf(4));
  assert.deepEqual(harness.started, ["a1", "b1", "a2", "a3"]);
});

test("a user at its parallelism waits while others are called", () => {
  const harness = new SchedulerHarness({ userParallelism: 1 });
  const other = harness.addUser("other");
  const first = harness.accept("a1");
  harness.arrive(first, harness.accept("a2"), harness.accept("b1", {}, { user: other }));
  assert.deepEqual(harness.started, ["a1", "b1"]);
  harness.end(first);
  assert.deepEqual(harness.started, ["a1", "b1", "a2"]);
});

test("a destination at its parallelism holds up its own messages only", () => {
  const harness = new SchedulerHarness({ originParallelism: 1 });
  const first = harness.accept("a1");
  const second = harness.accept("a2");
  harness.arrive(first, second, harness.accept("b1", { url: "https://b.test/b1" }));
  assert.deepEqual(harness.started, ["a1", "b1"]);
  assert.equal(second.list?.reason, "the destination's parallelism");
  harness.end(first);
  assert.deepEqual(harness.started, ["a1", "b1", "a2"]);
});

test("a delayed message is due when the delay has passed", () => {
  const harness = new SchedulerHarness();
  harness.arrive(harness.accept("later", {}, { delayMs: 500 }));
  assert.deepEqual([harness.scheduler.nextDueMs, harness.scheduler.timedCount], [START_MS + 500, 1]);
  harness.scheduler.tick(at(499));
  assert.deepEqual(harness.started, []);
  harness.scheduler.tick(at(500));
  assert.deepEqual([harness.started, harness.scheduler.nextDueMs], [["later"], undefined]);
});

test("a message for a time is due by the wall clock, however much time has passed", () => {
  const harness = new SchedulerHarness();
  harness.arrive(harness.accept("moment", { isForMoment: true }, { delayMs: 500 }));
  assert.deepEqual([harness.scheduler.nextDueMs, harness.scheduler.nextWallDueMs], [undefined, START_MS + 500]);
  harness.scheduler.tick({ ...at(0), passedMs: START_MS + 10_000 });
  assert.deepEqual(harness.started, []);
  harness.scheduler.tick({ ...at(0), wallMs: START_MS + 500 });
  assert.deepEqual(harness.started, ["moment"]);
});

test("messages of a queue start one after the other, in the order of their acceptance", () => {
  const harness = new SchedulerHarness();
  const messages = ["q1", "q2", "q3"].map((name) => harness.accept(name, { queueName: "q" }));
  const record = { name: "q", parallelism: 1, isPaused: false, createdAtMs: 0, updatedAtMs: 0 };
  harness.recorder.append(harness.user, "queuePut", { record });
  harness.arrive(...messages);
  assert.deepEqual(harness.started, ["q1"]);
  for (const message of messages) harness.end(message);
  assert.deepEqual(harness.started, ["q1", "q2", "q3"]);
});

test("a paused queue starts nothing until it is resumed", () => {
  const harness = new SchedulerHarness();
  const record = { name: "q", parallelism: 1, isPaused: true, createdAtMs: 0, updatedAtMs: 0 };
  const queue = harness.recorder.append(harness.user, "queuePut", { record });
  harness.arrive(harness.accept("q1", { queueName: "q" }));
  assert.deepEqual(harness.started, []);
  harness.recorder.append(harness.user, "queuePut", { record: { ...record, isPaused: false } });
  harness.scheduler.advance(queue, at(0));
  harness.scheduler.dispatch(at(0));
  assert.deepEqual(harness.started, ["q1"]);
});

test("a key with a rate starts as many calls as its window allows, and the rest in the next window", () => {
  const harness = new SchedulerHarness();
  const flowControl = { key: "k", rate: 2, periodMs: 1_000 };
  const names = ["k1", "k2", "k3", "k4", "k5"];
  harness.arrive(...names.map((name) => harness.accept(name, { flowControl })));
  assert.deepEqual([harness.started, harness.scheduler.nextDueMs], [["k1", "k2"], START_MS + 1_000]);
  harness.scheduler.tick(at(1_000));
  assert.deepEqual([harness.started, harness.scheduler.nextDueMs], [["k1", "k2", "k3", "k4"], START_MS + 2_000]);
  harness.scheduler.tick(at(2_000));
  assert.deepEqual(harness.started, names);
});

test("a key with a parallelism wakes the next message when a call ends", () => {
  const harness = new SchedulerHarness();
  const flowControl = { key: "k", parallelism: 1 };
  const first = harness.accept("k1", { flowControl });
  const second = harness.accept("k2", { flowControl });
  harness.arrive(first, second);
  assert.deepEqual([harness.started, second.list?.reason], [["k1"], "the flow-control key"]);
  harness.end(first);
  assert.deepEqual(harness.started, ["k1", "k2"]);
});

test("a message that leaves its list is not called, and the next one of its key is", () => {
  const harness = new SchedulerHarness({ parallelism: 1 });
  const busy = harness.accept("busy");
  const flowControl = { key: "k", parallelism: 1 };
  const first = harness.accept("k1", { flowControl });
  harness.arrive(busy, first, harness.accept("k2", { flowControl }));
  harness.recorder.append(harness.user, "cancelRequested", { sequence: first.sequence, atMs: START_MS });
  harness.scheduler.leave(first, at(0));
  harness.recorder.append(harness.user, "cancelled", { sequence: first.sequence, atMs: START_MS });
  harness.end(busy);
  assert.deepEqual(harness.started, ["busy", "k2"]);
});

test("the lag is how long a message has waited although a slot is free", () => {
  const harness = new SchedulerHarness();
  harness.mayStart = false;
  harness.arrive(harness.accept("a"));
  assert.deepEqual([harness.scheduler.lagMs(0), harness.scheduler.lagMs(80)], [0, 80]);
});

test("after a recovery messages that were called are called again, and cancelled ones end", () => {
  const harness = new SchedulerHarness();
  const called = harness.accept("called");
  const cancelled = harness.accept("cancelled");
  harness.recorder.append(harness.user, "attemptStarted", { sequence: 1, atMs: START_MS, passedMs: START_MS });
  harness.recorder.append(harness.user, "cancelRequested", { sequence: 2, atMs: START_MS });
  assert.equal(harness.scheduler.resume(at(0)), 1);
  assert.deepEqual([harness.started, called.retried], [["called"], 0]);
  assert.equal(harness.state.messages.get(cancelled.sequence), undefined);
});

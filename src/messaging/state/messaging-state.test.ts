/** The changes of the state, tested without an engine. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Body } from "../bodies/body.ts";
import { defaultLimits } from "../limits.ts";
import type { EnvelopeFields } from "../options/envelope.ts";
import type { Message } from "./message.ts";
import { MessagingState, queueTurn } from "./messaging-state.ts";
import { newQueue } from "./queue.ts";
import { runState } from "./run.ts";
import { messageState } from "./states.ts";
import type { User } from "./user.ts";

const DAY_MS = 86_400_000;
const NO_ANSWER = { status: 0, headers: [], error: "refused" };
const AT = { atMs: 10, passedMs: 10 };

function stateWithUser(): { state: MessagingState; user: User } {
  const state = new MessagingState(defaultLimits);
  return { state, user: state.createUser(1, "main", { current: "a", next: "b" }) };
}

interface Accepted {
  readonly sequence: number;
  readonly createdAtMs?: number;
  readonly slotOwner?: number;
  readonly deduplicationKey?: string;
}

function accept(
  state: MessagingState,
  user: User,
  { sequence, createdAtMs = 1, slotOwner = 0, deduplicationKey = "" }: Accepted,
  fields: Partial<EnvelopeFields> = {},
): Message {
  const all = { url: "https://a.test/", method: "POST", headers: [], retriesMax: 3, ...fields };
  const facts = { sequence, nonce: 5, createdAtMs, notBeforeMs: createdAtMs, slotOwner };
  const body = Body.of(Buffer.from("hello"), true);
  return state.addMessage(user, state.envelopes.share(all), body, facts, deduplicationKey);
}

test("a message exists until it is delivered, and its envelope while a message uses it", () => {
  const { state, user } = stateWithUser();
  const first = accept(state, user, { sequence: 1 });
  const second = accept(state, user, { sequence: 2 });
  assert.deepEqual([state.messages.size, state.envelopes.size, state.sequenceMax], [2, 1, 2]);
  state.startAttempt(first, AT);
  state.deliver(first);
  assert.deepEqual([state.messages.size, state.envelopes.size, first.body.isWanted], [1, 1, false]);
  state.requestCancel(second);
  state.cancel(second);
  assert.deepEqual([state.messages.size, state.envelopes.size, user.memory.bytes], [0, 0, 0]);
});

test("a retry counts the attempt and moves the due time", () => {
  const { state, user } = stateWithUser();
  const message = accept(state, user, { sequence: 1 });
  state.startAttempt(message, AT);
  state.retry(message, 500);
  assert.deepEqual([message.state, message.retried, message.dueMs], [messageState.retry, 1, 500]);
});

test("a dead letter takes over the body, and frees it when it is removed", () => {
  const { state, user } = stateWithUser();
  const message = accept(state, user, { sequence: 1 });
  state.startAttempt(message, AT);
  const { body, retried } = state.fail(message, { ms: 20, number: 0 }, NO_ANSWER, Body.of(Buffer.alloc(0), false));
  assert.deepEqual([state.messages.size, body === message.body, body.isWanted, retried], [0, true, true, 1]);
  assert.equal(user.deadLetters.get("20-0")?.sequence, 1);
  state.removeDeadLetter(user, "20-0");
  assert.deepEqual([user.deadLetters.size, body.isWanted, state.envelopes.size], [0, false, 0]);
});

test("a move that does not exist throws", () => {
  const { state, user } = stateWithUser();
  const message = accept(state, user, { sequence: 1 });
  assert.throws(() => state.deliver(message), /a message moves from CREATED to DELIVERED/);
  assert.throws(() => state.messageOf(2), /message 2 was created before its records/);
  assert.throws(() => state.userOf(2), /user 2 was created before its records/);
});

test("the first call of a message of a queue takes a slot, and its end frees it", () => {
  const { state, user } = stateWithUser();
  const queue = state.putQueue(user, newQueue("q", 1));
  const message = accept(state, user, { sequence: 1 }, { queueName: "q" });
  assert.deepEqual([queue.members.size, queue.slotOwners, state.turnOf(message)], [1, [], queueTurn.none]);
  state.startAttempt(message, AT);
  state.retry(message, 50);
  assert.deepEqual([queue.slotOwners, state.turnOf(message)], [[1], queueTurn.slot]);
  state.startAttempt(message, AT);
  state.deliver(message);
  assert.deepEqual([queue.members.size, queue.slotOwners], [0, []]);
});

test("a callback keeps the slot of the message that it reports", () => {
  const { state, user } = stateWithUser();
  const queue = state.putQueue(user, newQueue("q", 1));
  const message = accept(state, user, { sequence: 1 }, { queueName: "q" });
  state.startAttempt(message, AT);
  const callback = accept(state, user, { sequence: 2, slotOwner: 1 }, { holdsQueue: "q" });
  state.deliver(message);
  assert.deepEqual(queue.slotOwners, [1]);
  state.startAttempt(callback, AT);
  state.deliver(callback);
  assert.deepEqual(queue.slotOwners, []);
});

test("messages of a removed queue continue without it, and do not join a new queue of the same name", () => {
  const { state, user } = stateWithUser();
  state.putQueue(user, newQueue("q", 1));
  const message = accept(state, user, { sequence: 1 }, { queueName: "q" });
  state.removeQueue(user, "q");
  const again = state.putQueue(user, newQueue("q", 2));
  assert.deepEqual([state.queueOf(message), again.members.size], [undefined, 0]);
  assert.equal(state.turnOf(message), queueTurn.noQueue);
});

test("the first message with a flow-control key creates it, and later values replace earlier ones", () => {
  const { state, user } = stateWithUser();
  const message = accept(state, user, { sequence: 1 }, { flowControl: { key: "k", parallelism: 5 } });
  accept(state, user, { sequence: 2 }, { flowControl: { key: "k", rate: 3, periodMs: 2_000 } });
  const key = state.flowKeyOf(message);
  assert.deepEqual([key?.parallelism, key?.rate, key?.periodMs, key?.messageCount], [undefined, 3, 2_000, 2]);
  state.startAttempt(message, AT);
  assert.equal(key?.countAt(10), 1);
  state.deliver(message);
  assert.equal(key?.messageCount, 1);
});

test("a duplicate is found by its key within the window", () => {
  const { state, user } = stateWithUser();
  accept(state, user, { sequence: 1, createdAtMs: 1_000, deduplicationKey: "id" });
  assert.deepEqual(user.deduplication.find("id", 600_999), { sequence: 1, nonce: 5, atMs: 1_000 });
  assert.equal(user.deduplication.find("id", 601_000), undefined);
});

test("counts the messages of a day, but no message of an earlier day", () => {
  const { state, user } = stateWithUser();
  accept(state, user, { sequence: 1, createdAtMs: 5 * DAY_MS });
  accept(state, user, { sequence: 2, createdAtMs: 5 * DAY_MS + 1 });
  accept(state, user, { sequence: 3, createdAtMs: 4 * DAY_MS });
  assert.deepEqual([user.countedDay, user.dayCount], [5, 2]);
  accept(state, user, { sequence: 4, createdAtMs: 6 * DAY_MS });
  assert.deepEqual([user.countedDay, user.dayCount], [6, 1]);
});

test("a schedule stores the outcomes of the messages of its last firing", () => {
  const { state, user } = stateWithUser();
  const record = {
    ...{
      id: "scd_1",
      cron: "* * * * *",
      destination: "https://a.test/",
      callerIp: "",
      createdAtMs: 1,
      isPaused: false,
    },
    ...{ options: { method: "POST", headers: [], retriesMax: 3 }, lastFireMs: 0, nextFireMs: 60_000, error: "" },
    lastMessages: [
      { sequence: 1, nonce: 5 },
      { sequence: 2, nonce: 5 },
    ],
  };
  const schedule = state.putSchedule(user, record, Buffer.from("x"));
  const message = accept(state, user, { sequence: 2 }, { scheduleId: "scd_1" });
  state.startAttempt(message, AT);
  state.deliver(message);
  assert.deepEqual(schedule.record.lastMessages, [
    { sequence: 1, nonce: 5 },
    { sequence: 2, nonce: 5, outcome: "SUCCESS" },
  ]);
});

const record = { id: "wfr_1", url: "https://a.test/", createdAtMs: 1, callerIp: "", config: { headers: [] }, depth: 0 };
const step = { workflow: { runId: "wfr_1", callType: "step" } } as const;
const waiter = {
  ...{ number: 3, eventId: "e", runId: "wfr_1", createdAtMs: 1, deadlineMs: 2, timeout: "7d", url: "https://a.test/" },
  ...{ headers: [], timeoutUrl: "https://a.test/", timeoutHeaders: [], step: { stepId: 1 } },
};

test("a message of a run is an entry of the run, which remains after the message", () => {
  const { state, user } = stateWithUser();
  const run = state.createRun(user, record);
  const message = accept(state, user, { sequence: 1 }, step);
  accept(state, user, { sequence: 2 }, { workflow: { runId: "wfr_1", callType: "failureCall" } });
  assert.deepEqual([run.entries.length, run.messages.size], [1, 2]);
  state.startAttempt(message, AT);
  state.deliver(message);
  assert.deepEqual([run.entries[0]?.isDelivered, message.body.isWanted, run.messages.size], [true, true, 1]);
});

test("the end of a run removes its entries, waiters and saved events; a failed run keeps its entries", () => {
  for (const [ended, entryCount] of [
    [runState.success, 0],
    [runState.failed, 1],
  ] as const) {
    const { state, user } = stateWithUser();
    const run = state.createRun(user, record);
    accept(state, user, { sequence: 1 }, step);
    state.addWaiter(user, waiter);
    state.saveEvent(run, "other", Buffer.from("data"));
    state.endRun(run, { state: ended, atMs: 9, result: undefined });
    assert.deepEqual([run.entries.length, run.waiters.size, run.savedEvents.size], [entryCount, 0, 0]);
    assert.deepEqual([user.waiters.size, state.waitersByNumber.size, run.leftWaits.length], [0, 0, 1]);
    assert.deepEqual([...user.endedRuns], [run]);
    assert.throws(() => state.endRun(run, { state: ended, atMs: 9, result: undefined }), /a run ends once/);
  }
});

test("saved events are taken in the order in which they came", () => {
  const { state, user } = stateWithUser();
  const run = state.createRun(user, record);
  state.saveEvent(run, "e", Buffer.from("first"));
  state.saveEvent(run, "e", Buffer.from("second"));
  state.takeEvent(run, "e");
  assert.equal(run.savedEvents.get("e")?.join(), "second");
  state.takeEvent(run, "e");
  assert.equal(run.savedEvents.size, 0);
  assert.throws(() => state.takeEvent(run, "e"), /an event that is taken was saved/);
});

test("a dropped user leaves no state", () => {
  const { state, user } = stateWithUser();
  const other = state.createUser(2, "other", { current: "a", next: "b" });
  accept(state, other, { sequence: 1 });
  accept(state, user, { sequence: 2 }, { flowControl: { key: "k" } });
  state.createRun(user, record);
  state.addWaiter(user, waiter);
  accept(state, user, { sequence: 3 }, step);
  state.dropUser(user);
  assert.deepEqual([state.messages.size, state.flowKeysByNumber.size, state.waitersByNumber.size], [1, 0, 0]);
  assert.deepEqual([state.envelopes.size, state.findUser("main"), state.userNumberMax], [1, undefined, 2]);
  assert.equal(user.isDropped, true);
});

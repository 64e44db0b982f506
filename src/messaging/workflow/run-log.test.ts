/** The log of a run, derived from the log of its messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEntry } from "../api.ts";
import type { EnvelopeFields, WorkflowFields } from "../options/envelope.ts";
import { Run, type RunState, runState } from "../state/run.ts";
import { type MessageState, messageState } from "../state/states.ts";
import { User } from "../state/user.ts";
import { runLogOf } from "./run-log.ts";

const { created, active, retry, error, delivered, failed } = messageState;

function runOf(state: RunState = runState.started): Run {
  const user = new User("main", 1, { keys: { current: "a", next: "b" }, windowMs: 1 });
  const facts = {
    id: "wfr_1",
    url: "https://a.test",
    createdAtMs: 0,
    callerIp: "::1",
    config: { headers: [] },
    depth: 0,
  };
  const run = new Run(user, facts);
  run.state = state;
  return run;
}

interface Logged {
  readonly id: string;
  readonly body?: object | string;
  readonly workflow?: Partial<WorkflowFields>;
  readonly fields?: Partial<EnvelopeFields>;
  readonly notBeforeMs?: number;
  readonly states: readonly MessageState[];
}

/** Each state of a message is one entry; an error is an answer with status 500. */
function entriesOf(messages: readonly Logged[]): readonly LogEntry[] {
  return messages.flatMap(({ id, body = {}, workflow = {}, fields = {}, notBeforeMs = 0, states }) => {
    const part: WorkflowFields = { runId: "wfr_1", callType: "step", ...workflow };
    const envelope = { url: "https://a.test", method: "POST", headers: [], retriesMax: 3, ...fields, workflow: part };
    const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
    const message = { id, envelope, body: bytes, createdAtMs: 5, notBeforeMs };
    return states.map((state) => ({
      ...{ message, timeMs: 6, state },
      ...(state === error && { response: { status: 500, headers: [], error: "", body: Buffer.from("broken") } }),
      ...(state === retry && { nextDeliveryMs: 99 }),
    }));
  });
}

const start: Logged = { id: "msg_1", body: "input", workflow: { isInit: true }, states: [created, active, delivered] };

function logOf(messages: readonly Logged[], { run = runOf(), nowMs = 50 } = {}): ReturnType<typeof runLogOf> {
  return runLogOf(run, entriesOf(messages), { nowMs, phraseOf: () => "Internal Server Error", invoked: new Map() });
}

function shown(log: ReturnType<typeof runLogOf>): readonly unknown[] {
  return log.groups.map(({ type, steps }) => [type, ...steps.map(summary)]);
}

function summary(step: object): string {
  const { stepId, stepName, state, out } = step as Readonly<Record<string, unknown>>;
  return [stepId, stepName, state, out].filter((value) => value !== undefined).join(" ");
}

test("a run begins with its input, and steps follow one after the other", () => {
  const log = logOf([
    start,
    { id: "msg_2", body: { stepId: 1, stepName: "a", out: "one" }, states: [created, active, delivered] },
    { id: "msg_3", body: { stepId: 2, stepName: "b", out: 7 }, states: [created, active, delivered] },
  ]);
  assert.deepEqual(shown(log), [
    ["sequential", "init STEP_SUCCESS input"],
    ["sequential", "1 a STEP_SUCCESS one"],
    ["sequential", "2 b STEP_SUCCESS 7"],
  ]);
  assert.deepEqual([log.failure, log.failureErrors, log.failureDueMs], [undefined, [], undefined]);
});

test("a step has the types that clients decode: whole numbers, texts, and no field without a value", () => {
  const ended = [created, active, delivered];
  const shownOf = (body: object): object => {
    const [, group] = logOf([start, { id: "msg_2", body: { stepId: 1, ...body }, states: ended }]).groups;
    const common = ["callType", "messageId", "createdAt", "headers", "retries", "state", "stepId"];
    return Object.fromEntries(Object.entries(group?.steps[0] ?? {}).filter(([name]) => !common.includes(name)));
  };
  for (const [body, expected] of [
    [{ sleepFor: 60 }, { sleepFor: 60, concurrent: 1 }],
    [{ sleepFor: "1d2h" }, { sleepFor: 93_600, concurrent: 1 }],
    [
      { sleepFor: 0.5, concurrent: 2 },
      { sleepFor: 1, concurrent: 2 },
    ],
    [{ sleepFor: "long" }, { concurrent: 1 }],
    [{ sleepUntil: 1_767_225_600.25 }, { sleepUntil: 1_767_225_601, concurrent: 1 }],
    [{ sleepUntil: 1e300, sleepFor: null, targetStep: null, timeout: null }, { concurrent: 1 }],
    [
      { stepName: "a", stepType: 7, concurrent: "two", callUrl: {} },
      { stepName: "a", concurrent: 1 },
    ],
    [{ own: [1, null] }, { own: [1, null], concurrent: 1 }],
  ] as const)
    assert.deepEqual(shownOf(body), expected, JSON.stringify(body));
});

test("steps that were planned together are one group, with results as they come", () => {
  const plan = (targetStep: number, stepName: string): object => ({ stepId: 0, targetStep, stepName, concurrent: 2 });
  const log = logOf([
    start,
    { id: "msg_2", body: plan(1, "a"), states: [created, active, delivered] },
    { id: "msg_3", body: plan(2, "b"), states: [created, active, delivered] },
    {
      id: "msg_4",
      body: { stepId: 2, stepName: "b", out: "second", concurrent: 2 },
      states: [created, active, delivered],
    },
  ]);
  assert.deepEqual(shown(log), [
    ["sequential", "init STEP_SUCCESS input"],
    ["parallel", "1 a STEP_PROGRESS", "2 b STEP_SUCCESS second"],
  ]);
});

test("a delivery without a result is next, with its errors and the next attempt", () => {
  const log = logOf([{ ...start, states: [created, active, error, retry] }]);
  const [, next] = log.groups;
  assert.deepEqual(JSON.parse(JSON.stringify(next)), {
    type: "next",
    steps: [
      {
        messageId: "msg_1",
        state: "STEP_RETRY",
        retries: 3,
        errors: [{ error: "500 Internal Server Error", body: "broken", headers: {}, status: 500, time: 6 }],
        nextDeliveryTime: 99,
      },
    ],
  });
});

test("a step that succeeded later has the failed attempts of all deliveries that ran it", () => {
  const ended = [created, active, delivered];
  const endedLater = [created, active, error, retry, active, delivered];
  const plan = (targetStep: number): object => ({ stepId: 0, targetStep, stepName: `p${targetStep}`, concurrent: 2 });
  const ofCall: Partial<EnvelopeFields> = { headers: ["Upstash-Workflow-StepId", "4"] };
  const log = logOf([
    { ...start, states: endedLater },
    { id: "msg_2", body: { stepId: 1, stepName: "a" }, states: ended },
    { id: "msg_3", body: plan(2), states: endedLater },
    { id: "msg_4", body: plan(3), states: ended },
    { id: "msg_5", body: { stepId: 2, stepName: "p2" }, states: ended },
    { id: "msg_6", body: { stepId: 3, stepName: "p3" }, states: endedLater },
    { id: "msg_7", workflow: { callType: "toCallback" }, fields: ofCall, states: endedLater },
    { id: "msg_8", workflow: { callType: "fromCallback" }, fields: ofCall, states: ended },
    { id: "msg_9", body: { stepId: 4, stepName: "call" }, states: ended },
    { id: "msg_10", body: { stepId: 5, stepName: "last" }, states: [created, active, error, retry] },
  ]);
  const attempts = log.groups.map(({ type, steps }) => [
    type,
    ...steps.map((step) => `${summary(step)} ${"errors" in step ? (step.errors as readonly object[]).length : "-"}`),
  ]);
  assert.deepEqual(attempts, [
    ["sequential", "init STEP_SUCCESS input -"],
    ["sequential", "1 a STEP_SUCCESS 1"],
    ["parallel", "2 p2 STEP_SUCCESS 1", "3 p3 STEP_SUCCESS -"],
    ["sequential", "4 call STEP_SUCCESS 2"],
    ["sequential", "5 last STEP_SUCCESS -"],
    ["next", "STEP_RETRY 1"],
  ]);
});

test("an ended run has the failed attempts of the delivery after its last step, which only succeeded later", () => {
  const result = { id: "msg_2", body: { stepId: 1, stepName: "a" } };
  const messages = [start, { ...result, states: [created, active, error, retry, active, delivered] }];
  const log = logOf(messages, { run: runOf(runState.success) });
  assert.deepEqual(shown(log), [
    ["sequential", "init STEP_SUCCESS input"],
    ["sequential", "1 a STEP_SUCCESS"],
  ]);
  assert.deepEqual(
    log.lastErrors.map(({ error: text, time }) => [text, time]),
    [["500 Internal Server Error", 6]],
  );
  // While the run goes on, a step may still follow.
  assert.deepEqual(logOf(messages).lastErrors, []);
  const givenUp = [start, { ...result, states: [created, active, error, failed] }];
  assert.deepEqual(logOf(givenUp, { run: runOf(runState.failed) }).lastErrors, []);
});

test("a delivery under way is in progress, except in a run that has ended", () => {
  const messages = [{ ...start, states: [created, active] }];
  assert.deepEqual(shown(logOf(messages)), [
    ["sequential", "init STEP_SUCCESS input"],
    ["next", "STEP_PROGRESS"],
  ]);
  const ended = logOf(messages, { run: runOf(runState.canceled) });
  assert.deepEqual(shown(ended), [["sequential", "init STEP_SUCCESS input"]]);
});

test("a sleeping step is in progress until its time", () => {
  const sleep = { id: "msg_2", body: { stepId: 1, stepName: "nap" }, notBeforeMs: 100, states: [created] };
  assert.deepEqual(shown(logOf([start, sleep], { nowMs: 99 })), [
    ["sequential", "init STEP_SUCCESS input"],
    ["sequential", "1 nap STEP_PROGRESS"],
  ]);
  assert.deepEqual(shown(logOf([start, sleep], { nowMs: 100 }))[1], ["sequential", "1 nap STEP_SUCCESS"]);
});

test("a failed run has the last error, and the attempts of the call that reports it", () => {
  const log = logOf(
    [
      { ...start, states: [created, active, error, failed] },
      { id: "msg_2", workflow: { callType: "failureCall" }, states: [created, active, error, retry] },
    ],
    { run: runOf(runState.failed) },
  );
  assert.equal(log.failure?.status, 500);
  assert.deepEqual([log.failureErrors.length, log.failureDueMs], [1, 99]);
  assert.deepEqual(shown(log), [
    ["sequential", "init STEP_SUCCESS input"],
    ["next", "STEP_FAILED"],
  ]);
});

test("a second start replaces the first", () => {
  const log = logOf([start, { ...start, id: "msg_2", body: "second input" }]);
  assert.deepEqual(shown(log), [["sequential", "init STEP_SUCCESS second input"]]);
});

test("hidden bodies are hidden in steps", () => {
  const log = logOf([{ ...start, fields: { redact: { body: true } } }]);
  const [first] = log.groups[0]?.steps ?? [];
  assert.match(String((first as { out?: unknown }).out), /^REDACTED:/);
});

test("shows the wait of a run, and the waits that were open when it ended", () => {
  const run = runOf();
  const wait = { eventId: "e", createdAtMs: 7, deadlineMs: 77, timeout: "7d", step: { stepId: 1, stepName: "wait" } };
  run.leftWaits = [wait];
  assert.deepEqual(shown(logOf([start], { run })).at(1), ["sequential", "1 wait STEP_PROGRESS"]);
  run.state = runState.canceled;
  assert.partialDeepStrictEqual(logOf([start], { run }).groups[1]?.steps, [
    {
      stepId: 1,
      stepName: "wait",
      callType: "step",
      headers: {},
      retries: 3,
      state: "STEP_CANCELED",
      createdAt: 7,
      waitEventId: "e",
      waitTimeout: false,
      waitTimeoutDuration: "7d",
      waitTimeoutDeadline: 77,
    },
  ]);
});

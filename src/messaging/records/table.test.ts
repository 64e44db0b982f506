/** Every kind of record: its code, and that replay and history read the fields that were written. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import { historyEventsOf } from "../history.ts";
import { AREA } from "./area-records.ts";
import type { BodyRead, StoredBody } from "./fields.ts";
import {
  type AreaFields,
  type AreaKind,
  areaKindOf,
  areaRecords,
  type UserFields,
  type UserKind,
  userKindOf,
  userRecords,
} from "./table.ts";

const USER = 7;
const facts = { sequence: 300, nonce: 2 ** 52, createdAtMs: 1_000, notBeforeMs: 2_000, slotOwner: 5 };
const envelope = { text: '{"url":"https://a.test/ü","method":"POST","headers":[],"retriesMax":3}' };
const response = { status: 500, headers: ["A", "ü"], error: "" };
const move = { sequence: 300, atMs: 1_700_000_000_000 };
const stored: StoredBody = { segment: 3, offset: 4_096, length: 9, checksum: 77 };
const keys = { current: "sig_1", next: "sig_2" };
const queue = { name: "q", parallelism: 2, isPaused: false, createdAtMs: 1, updatedAtMs: 2 };
const flowKey = {
  ...{ key: "k", periodMs: 1_000, isPaused: true, isPinnedParallelism: false, isPinnedRate: false },
  ...{ windowStartMs: 5, windowCount: 2 },
};
const schedule = {
  ...{
    id: "scd_1",
    cron: "* * * * *",
    destination: "https://a.test",
    callerIp: "::1",
    createdAtMs: 1,
    isPaused: false,
  },
  ...{ options: { method: "POST", headers: [], retriesMax: 3 }, lastFireMs: 0, nextFireMs: 60_000, error: "" },
  lastMessages: [{ sequence: 1, nonce: 2 }],
};
const run = { id: "wfr_1", url: "https://a.test", createdAtMs: 1, callerIp: "::1", config: { headers: [] }, depth: 0 };
const runFacts = { state: 1, endedAtMs: 9, firstMessageId: "msg_1", savedEvents: [["e", ["aGk="]]] } as const;
const waiter = {
  ...{ number: 4, eventId: "e", runId: "wfr_1", createdAtMs: 1, deadlineMs: 2, timeout: "7d", url: "https://a.test" },
  ...{ headers: ["retries", "1"], timeoutUrl: "https://a.test", timeoutHeaders: [], step: { stepId: 1 } },
};
const failureFunction = { state: "CALLBACK_FAIL", messageId: "msg_1", url: "https://a.test", retriesMax: 3 } as const;

/** The fields that a reader finds for a body whose bytes begin at `offset`. */
function bodyAt(offset: number, text = "the body"): BodyRead {
  const bytes = Buffer.from(text);
  return { checksum: crc32(bytes), bytes, offset };
}

const areaExamples: { readonly [Kind in AreaKind]: readonly [code: number, fields: AreaFields<Kind>] } = {
  userCreated: [1, { number: 7, name: "jürgen", keys }],
  userDropped: [2, { number: 7 }],
  numbersGiven: [3, { userNumber: 7, sequence: 2 ** 40 }],
};

/** The type requires an example of each kind. */
const userExamples: { readonly [Kind in UserKind]: readonly [code: number, fields: UserFields<Kind>] } = {
  messageAccepted: [10, { facts, envelope, deduplicationKey: "id", body: bodyAt(106) }],
  messageStored: [11, { facts, state: 2, retried: 1, dueMs: 3_000, turn: 1, envelope, body: stored }],
  attemptStarted: [12, { ...move, passedMs: move.atMs }],
  delivered: [13, { ...move, status: 204 }],
  retryPlanned: [14, { ...move, dueMs: 1_700_000_012_000, response, responseBytes: Buffer.from("no") }],
  attemptAdvanced: [23, move],
  failed: [15, { ...move, id: { ms: move.atMs, number: 3 }, response, responseBody: bodyAt(37) }],
  cancelRequested: [16, move],
  cancelled: [17, move],
  deadLetterRemoved: [18, { id: { ms: 1, number: 2 } }],
  deadLetterStored: [
    19,
    { id: { ms: 1, number: 2 }, facts, retried: 4, envelope, body: stored, response, responseBody: bodyAt(131) },
  ],
  deduplicationStored: [20, { key: "id", sequence: 1, nonce: 2, atMs: 3 }],
  bodyMoved: [21, { owner: { kind: "entry", runId: "wfr_1", index: 200 }, body: bodyAt(17) }],
  countersStored: [22, { day: 20_000, dayCount: 5, lastId: { ms: 1, number: 2 } }],
  queuePut: [30, { record: queue }],
  queueRemoved: [31, { name: "q" }],
  schedulePut: [32, { record: schedule, body: Buffer.from("hello") }],
  scheduleRemoved: [33, { id: "scd_1" }],
  scheduleChanged: [34, { id: "scd_1", change: { isPaused: true } }],
  groupPut: [35, { group: { name: "g", endpoints: [{ url: "https://a.test" }], createdAtMs: 1, updatedAtMs: 2 } }],
  groupRemoved: [36, { name: "g" }],
  flowKeyPut: [37, { record: flowKey }],
  signingKeysPut: [38, { keys, given: keys }],
  flowKeyRemoved: [39, { key: "k" }],
  runCreated: [50, { record: run }],
  runRestarted: [51, { runId: "wfr_1", config: { headers: ["A", "b"] } }],
  runEnded: [52, { runId: "wfr_1", state: 1, atMs: 9, result: bodyAt(22) }],
  runForgotten: [53, { runId: "wfr_1" }],
  entryCopied: [54, { facts, envelope, body: bodyAt(104) }],
  failedInRun: [55, { ...move, dueMs: 0, response, responseBytes: Buffer.from("no") }],
  waiterAdded: [56, { record: waiter }],
  waiterRemoved: [57, { number: 4 }],
  eventSaved: [58, { runId: "wfr_1", eventId: "e", data: Buffer.from("hi") }],
  eventTaken: [59, { runId: "wfr_1", eventId: "e" }],
  failureFunctionPut: [60, { runId: "wfr_1", failureFunction: undefined }],
  runStored: [61, { record: run, facts: runFacts, result: undefined }],
  entryStored: [62, { runId: "wfr_1", facts, isDelivered: true, envelope, body: stored }],
  failureFunctionAnswered: [63, { runId: "wfr_1", failureFunction, answer: bodyAt(125) }],
  failureAnswerStored: [64, { runId: "wfr_1", answer: stored }],
};

for (const kind of Object.keys(areaExamples) as AreaKind[]) {
  test(`${kind} is read as it was written`, () => checkArea(kind));
}

for (const kind of Object.keys(userExamples) as UserKind[]) {
  test(`${kind} is read as it was written`, () => checkUser(kind));
}

function checkArea<Kind extends AreaKind>(kind: Kind): void {
  const [code, fields] = areaExamples[kind];
  const row = areaRecords[kind];
  const frame = new FrameWriter().record(AREA, row.code);
  row.write(frame, fields);
  const reader = new FrameReader(Buffer.from(frame.take()));
  assert.deepEqual([reader.number(), reader.code(), areaKindOf(code)], [AREA, code, kind]);
  assert.deepEqual(row.read(reader), fields);
  assert.equal(reader.isAtEnd, true);
}

function checkUser<Kind extends UserKind>(kind: Kind): void {
  const [code, fields] = userExamples[kind];
  const row = userRecords[kind];
  const frame = new FrameWriter().record(USER, row.code);
  row.write(frame, fields);
  const reader = new FrameReader(Buffer.from(frame.take()));
  assert.deepEqual([reader.number(), reader.code(), userKindOf(code)], [USER, code, kind]);
  assert.deepEqual(row.read(reader), fields);
  assert.equal(reader.isAtEnd, true);
}

test("the history reads the record after a record of any kind", () => {
  for (const kind of Object.keys(userExamples) as UserKind[]) {
    const { entries } = historyEventsOf(frameOf(kind));
    assert.deepEqual(entries.at(-1), { message: 301, timeMs: 5, state: 7, detail: undefined }, kind);
  }
});

/** A record of this kind, and a cancellation of message 301. */
function frameOf<Kind extends UserKind>(kind: Kind): Buffer {
  const frame = new FrameWriter();
  const row = userRecords[kind];
  row.write(frame.record(USER, row.code), userExamples[kind][1]);
  userRecords.cancelled.write(frame.record(USER, userRecords.cancelled.code), { sequence: 301, atMs: 5 });
  return Buffer.from(frame.take());
}

test("an unknown code fails an assertion", () => {
  const frame = Buffer.from(new FrameWriter().record(USER, 99).bytes("what is it").take());
  assert.throws(() => historyEventsOf(frame), /messaging record code 99 is known to this version/);
});

/** History states: created 0, active 1, retry 2, error 3, delivered 4, failed 5, cancel requested 6, cancelled 7. */
const events: readonly (readonly [kind: UserKind, states: readonly number[]])[] = [
  ["messageAccepted", [0]],
  ["attemptStarted", [1]],
  ["delivered", [4]],
  ["retryPlanned", [3, 2]],
  ["failed", [3, 5]],
  ["failedInRun", [3, 5]],
  ["cancelRequested", [6]],
  ["cancelled", [7]],
  ["entryCopied", [0, 4]],
  ["messageStored", []],
  ["queuePut", []],
  ["runEnded", []],
  ["bodyMoved", []],
];

for (const [kind, states] of events) {
  test(`the history events of ${kind}: ${states.join(" ") || "nothing"}`, () => {
    const { entries } = historyEventsOf(frameOf(kind));
    assert.deepEqual(
      entries.slice(0, -1).map(({ state }) => state),
      states,
    );
  });
}

const owners = [
  { kind: "message", sequence: 300 },
  { kind: "deadLetter", id: { ms: 1, number: 2 } },
  { kind: "response", id: { ms: 1, number: 2 } },
  { kind: "runResult", runId: "wfr_1", index: 0 },
  { kind: "failureAnswer", runId: "wfr_1", index: 0 },
] as const;

for (const owner of owners) {
  test(`a body that was moved names its owner: ${owner.kind}`, () => {
    const { write, read } = userRecords.bodyMoved;
    const frame = new FrameWriter();
    write(frame, { owner, body: bodyAt(0) });
    const found = read(new FrameReader(Buffer.from(frame.take())));
    assert.deepEqual([found.owner, found.body.bytes?.toString()], [owner, "the body"]);
  });
}

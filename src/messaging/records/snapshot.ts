/** Writes the frames of a snapshot, which `replay.ts` reads. For a body in the journal they have its location. */
import { FrameWriter } from "../../kernel/frame.ts";
import type { Body } from "../bodies/body.ts";
import type { Message, MessageFacts } from "../state/message.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { Run } from "../state/run.ts";
import type { User } from "../state/user.ts";
import { AREA } from "./area-records.ts";
import { EMPTY_BODY, type StoredBody, storedBody } from "./fields.ts";
import { type AreaFields, type AreaKind, areaRecords, type UserChange, type UserKind, userRecords } from "./table.ts";

/** A frame ends at the first record after this many bytes. */
const FRAME_BYTES = 256 * 1024;

type StoreBody = (body: Body) => StoredBody;

/** The frames of the users for which `isKept` returns true. A frame is valid until the next one is requested. */
export function snapshotFrames(
  state: MessagingState,
  isKept: (user: User) => boolean = () => true,
): Generator<Uint8Array> {
  return framesOf(state, isKept, storedBody);
}

/**
 * The same frames without the locations of bodies, for comparisons: of a body in the journal they have the length and the
 * checksum. They cannot be replayed.
 */
export function comparedFrames(state: MessagingState): Generator<Uint8Array> {
  return framesOf(
    state,
    () => true,
    (body) => {
      const stored = storedBody(body);
      return "segment" in stored ? { ...stored, segment: 1, offset: 0 } : stored;
    },
  );
}

function* framesOf(
  state: MessagingState,
  isKept: (user: User) => boolean,
  storeBody: StoreBody,
): Generator<Uint8Array> {
  const frame = new FrameWriter();
  const users = [...state.users].filter(isKept);
  for (const { number, name, givenKeys: keys } of users) {
    writeAreaRecord(frame, "userCreated", { number, name, keys });
  }
  writeAreaRecord(frame, "numbersGiven", { userNumber: state.userNumberMax, sequence: state.sequenceMax });
  yield frame.take();
  for (const user of users) {
    for (const change of changesOfUser(user, storeBody)) {
      writeUserRecord(frame, user.number, change);
      if (frame.byteCount >= FRAME_BYTES) yield frame.take();
    }
    // Frames belong to one user.
    if (!frame.isEmpty) yield frame.take();
  }
  let userNumber = AREA;
  for (const message of state.messages) {
    if (!isKept(message.user)) continue;
    const { number } = message.user;
    if (!frame.isEmpty && (number !== userNumber || frame.byteCount >= FRAME_BYTES)) yield frame.take();
    userNumber = number;
    writeUserRecord(frame, number, changeOfMessage(state, message, storeBody));
  }
  if (!frame.isEmpty) yield frame.take();
}

function writeAreaRecord<Kind extends AreaKind>(frame: FrameWriter, kind: Kind, fields: AreaFields<Kind>): void {
  const row = areaRecords[kind];
  row.write(frame.record(AREA, row.code), fields);
}

function writeUserRecord<Kind extends UserKind>(
  frame: FrameWriter,
  userNumber: number,
  { kind, fields }: UserChange<Kind>,
): void {
  const row = userRecords[kind];
  row.write(frame.record(userNumber, row.code), fields);
}

/** Without messages, which come later because they refer to queues and keys. */
function* changesOfUser(user: User, storeBody: StoreBody): Generator<UserChange> {
  const { signingKeys: keys, givenKeys: given } = user;
  yield { kind: "signingKeysPut", fields: { keys, given } };
  for (const { record } of user.queues.values()) yield { kind: "queuePut", fields: { record } };
  for (const group of user.groups.values()) yield { kind: "groupPut", fields: { group } };
  for (const { record } of user.flowKeys.values()) yield { kind: "flowKeyPut", fields: { record } };
  for (const { record, body } of user.schedules.values()) yield { kind: "schedulePut", fields: { record, body } };
  for (const run of user.runs.values()) yield* changesOfRun(run, storeBody);
  for (const [key, { sequence, nonce, atMs }] of user.deduplication.entries()) {
    yield { kind: "deduplicationStored", fields: { key, sequence, nonce, atMs } };
  }
  for (const deadLetter of user.deadLetters.values()) {
    const { id, retried, envelope, response } = deadLetter;
    // The body of a dead letter of a run is one of its entries.
    const run = envelope.fields.workflow && user.runs.get(envelope.fields.workflow.runId);
    const body = storeBody(run?.entryOf(deadLetter.sequence) === undefined ? deadLetter.body : EMPTY_BODY);
    const responseBody = storeBody(deadLetter.responseBody);
    const facts = factsOf(deadLetter, 0);
    yield { kind: "deadLetterStored", fields: { id, facts, retried, envelope, body, response, responseBody } };
  }
  const { countedDay: day, dayCount } = user;
  yield { kind: "countersStored", fields: { day, dayCount, lastId: user.deadLetters.lastId } };
}

function* changesOfRun(run: Run, storeBody: StoreBody): Generator<UserChange> {
  const { id: runId, record, facts, result, failureAnswer } = run;
  yield { kind: "runStored", fields: { record, facts, result: result && storeBody(result) } };
  if (failureAnswer !== undefined) {
    yield { kind: "failureAnswerStored", fields: { runId, answer: storeBody(failureAnswer) } };
  }
  for (const entry of run.entries) {
    const { isDelivered, envelope, body } = entry;
    const fields = { runId, facts: factsOf(entry, 0), isDelivered, envelope, body: storeBody(body) };
    yield { kind: "entryStored", fields };
  }
  for (const waiter of run.waiters) yield { kind: "waiterAdded", fields: { record: waiter } };
}

function changeOfMessage(state: MessagingState, message: Message, storeBody: StoreBody): UserChange<"messageStored"> {
  const { envelope, retried, dueMs } = message;
  // A callback of a deleted queue does not hold up a new queue of the same name.
  const isHolding = state.heldQueueOf(message)?.hasSlot(message.slotOwner) === true;
  return {
    kind: "messageStored",
    fields: {
      facts: factsOf(message, isHolding ? message.slotOwner : 0),
      state: message.state,
      retried,
      dueMs,
      turn: state.turnOf(message),
      envelope,
      body: storeBody(message.run?.entryOf(message.sequence) === undefined ? message.body : EMPTY_BODY),
    },
  };
}

function factsOf(facts: Omit<MessageFacts, "slotOwner">, slotOwner: number): MessageFacts {
  const { sequence, nonce, createdAtMs, notBeforeMs } = facts;
  return { sequence, nonce, createdAtMs, notBeforeMs, slotOwner };
}

/** The state of messaging as the frames of a snapshot, which `replay.ts` reads. Bodies are told by their places. */
import { FrameWriter } from "../../kernel/frame.ts";
import { Body } from "../bodies/body.ts";
import type { Message, MessageFacts } from "../state/message.ts";
import type { Realm } from "../state/messaging-state.ts";
import type { User } from "../state/user.ts";
import type { Run } from "../workflow/run.ts";
import {
  AREA,
  code,
  writeBody,
  writeJson,
  writeLetterId,
  writeMessageFacts,
  writeResponse,
  writeText,
} from "./records.ts";

/** Frames are ended at the first record behind so many bytes. */
const FRAME_BYTES = 256 * 1024;

/** A frame is valid until the next one is asked for. */
export function* dumpRealm(realm: Realm): Generator<Uint8Array> {
  const frame = new FrameWriter();
  for (const { number, name, givenKeys } of realm.users) {
    frame.record(AREA, code.userCreated).number(number);
    writeText(frame, name);
    writeJson(frame, givenKeys);
  }
  frame.record(AREA, code.numbersGiven).number(realm.userNumberMax).number(realm.sequenceMax);
  yield frame.take();
  for (const user of realm.users) {
    for (const _record of writeResources(frame, user)) if (frame.byteCount >= FRAME_BYTES) yield frame.take();
    // Frames belong to one user.
    if (!frame.isEmpty) yield frame.take();
  }
  let userNumber = AREA;
  for (const message of realm.messages) {
    const { user, envelope, body, state, retried, dueMs } = message;
    if (!frame.isEmpty && (user.number !== userNumber || frame.byteCount >= FRAME_BYTES)) yield frame.take();
    userNumber = user.number;
    // A callback of a queue that was deleted holds up nothing, least of all a new queue of that name.
    const isHolding = realm.heldQueueOf(message)?.hasSlot(message.slotOwner) === true;
    const facts = isHolding || message.slotOwner === 0 ? message : { ...factsOf(message), slotOwner: 0 };
    writeMessageFacts(frame.record(userNumber, code.messageKept), facts);
    frame.number(state).number(retried).time(dueMs).number(realm.turnOf(message));
    writeText(frame, envelope.text);
    writeKeptBody(frame, message.run?.entryOf(message.sequence) === undefined ? body : EMPTY_BODY);
  }
  if (!frame.isEmpty) yield frame.take();
}

/** For bodies that stand elsewhere in the snapshot. */
const EMPTY_BODY = Body.of(Buffer.alloc(0), false);

/** Yields behind each record. Messages come later: they name queues and keys. */
function* writeResources(frame: FrameWriter, user: User): Generator<void> {
  const { number, signingKeys: keys, givenKeys: given } = user;
  yield writeJson(frame.record(number, code.signingKeysPut), { keys, given });
  for (const { record } of user.queues.values()) yield writeJson(frame.record(number, code.queuePut), record);
  for (const group of user.groups.values()) yield writeJson(frame.record(number, code.groupPut), group);
  for (const { record } of user.flowKeys.values()) yield writeJson(frame.record(number, code.flowKeyPut), record);
  for (const { record, body } of user.schedules.values()) {
    writeJson(frame.record(number, code.schedulePut), record);
    frame.buffer(body);
    yield;
  }
  for (const run of user.runs.values()) yield* writeRun(frame, run);
  for (const [key, { sequence, nonce, atMs }] of user.deduplication.entries()) {
    writeText(frame.record(number, code.deduplicationKept), key);
    frame.number(sequence).number(nonce).time(atMs);
    yield;
  }
  for (const letter of user.deadLetters.values()) {
    writeLetterId(frame.record(number, code.deadLetterKept), letter.id);
    writeMessageFacts(frame, { ...letter, slotOwner: 0 });
    frame.number(letter.retried);
    writeText(frame, letter.envelope.text);
    // The body of a letter of a run is one of its entries.
    const run = letter.envelope.fields.workflow && user.runs.get(letter.envelope.fields.workflow.runId);
    writeKeptBody(frame, run?.entryOf(letter.sequence) === undefined ? letter.body : EMPTY_BODY);
    writeResponse(frame, letter.response);
    writeKeptBody(frame, letter.responseBody);
    yield;
  }
  frame.record(number, code.countersKept).number(user.countedDay).number(user.dayCount);
  yield writeLetterId(frame, user.deadLetters.lastId);
}

/** Yields behind each record. */
function* writeRun(frame: FrameWriter, run: Run): Generator<void> {
  const { number } = run.user;
  writeJson(frame.record(number, code.runKept), run.record);
  writeJson(frame, run.facts);
  frame.number(run.result === undefined ? 0 : 1);
  if (run.result !== undefined) writeKeptBody(frame, run.result);
  yield;
  if (run.failureAnswer !== undefined) {
    writeText(frame.record(number, code.failureAnswerKept), run.id);
    writeKeptBody(frame, run.failureAnswer);
    yield;
  }
  for (const entry of run.entries) {
    writeText(frame.record(number, code.entryKept), run.id);
    writeMessageFacts(frame, { ...entry, slotOwner: 0 });
    frame.number(entry.isDelivered ? 1 : 0);
    writeText(frame, entry.envelope.text);
    writeKeptBody(frame, entry.body);
    yield;
  }
  for (const waiter of run.waiters) {
    writeJson(frame.record(number, code.waiterAdded), waiter);
    yield;
  }
}

function writeKeptBody(frame: FrameWriter, kept: Body): void {
  // Nobody reads a body any more whose run has ended.
  const body = kept.isWanted ? kept : EMPTY_BODY;
  const { segment, offset, length, checksum, bytes } = body;
  if (segment > 0) {
    frame.number(segment).number(offset).number(length).number(checksum);
    return;
  }
  frame.number(0);
  writeBody(frame, body, bytes ?? Buffer.alloc(0));
}

function factsOf({ sequence, nonce, createdAtMs, notBeforeMs, slotOwner }: Message): MessageFacts {
  return { sequence, nonce, createdAtMs, notBeforeMs, slotOwner };
}

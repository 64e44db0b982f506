/** Applies frames of a journal or a snapshot to a realm: what `changes.ts` and `dump.ts` wrote. */
import { crc32 } from "node:zlib";
import { assert } from "../../kernel/assert.ts";
import { FrameReader } from "../../kernel/frame.ts";
import { Body } from "../bodies/body.ts";
import type { SigningKeys } from "../door.ts";
import { deadLetterIdText } from "../state/dead-letters.ts";
import type { FlowKeyRecord } from "../state/flow-key.ts";
import type { QueueTurn, Realm } from "../state/messaging-state.ts";
import type { QueueRecord } from "../state/queue.ts";
import type { ScheduleRecord } from "../state/schedule.ts";
import { type State, state } from "../state/states.ts";
import type { UrlGroup } from "../state/url-group.ts";
import type { User } from "../state/user.ts";
import type { FailureFunction, RunConfig, RunFacts, RunRecord, RunState } from "../workflow/run.ts";
import type { WaiterRecord } from "../workflow/waiter.ts";
import {
  AREA,
  type BodyRead,
  bodyOwner,
  code,
  readBody,
  readJson,
  readLetterId,
  readMessageFacts,
  readResponse,
  readText,
} from "./records.ts";

/** Where the payload of a frame lies; undefined for a frame of a snapshot. */
export interface Place {
  readonly segment: number;
  readonly offset: number;
}

interface Context {
  readonly realm: Realm;
  readonly user: User;
  readonly reader: FrameReader;
  readonly place: Place | undefined;
}

export function replayFrame(realm: Realm, frame: Buffer, place: Place | undefined): void {
  const reader = new FrameReader(frame);
  const number = reader.number();
  if (number === AREA) {
    while (!reader.isAtEnd) replayOfArea(realm, reader);
    return;
  }
  const context = { realm, user: realm.userOf(number), reader, place };
  while (!reader.isAtEnd) {
    const recordCode = reader.code();
    const row = rows.get(recordCode);
    assert(row !== undefined, `messaging record code ${recordCode} is known to this version`);
    row(context);
  }
}

function replayOfArea(realm: Realm, reader: FrameReader): void {
  const recordCode = reader.code();
  switch (recordCode) {
    case code.userCreated:
      realm.createUser(reader.number(), readText(reader), readJson<SigningKeys>(reader));
      return;
    case code.userDropped:
      realm.dropUser(realm.userOf(reader.number()));
      return;
    case code.numbersGiven:
      realm.raiseUserNumber(reader.number());
      realm.raiseSequence(reader.number());
      return;
    default:
      assert(false, `messaging record code ${recordCode} is known to this version`);
  }
}

const rows: ReadonlyMap<number, (context: Context) => void> = new Map([
  [code.messageAccepted, replayAccepted],
  [code.messageKept, replayKept],
  [
    code.attemptStarted,
    ({ realm, reader }) => {
      const message = realm.messageOf(reader.number());
      // A crash hid how the attempt before ended, and the start after it made this one in its place.
      if (message.state === state.active) message.reopen();
      const atMs = reader.time();
      realm.startAttempt(message, { wallMs: atMs, passedMs: atMs });
    },
  ],
  [
    code.delivered,
    ({ realm, reader }) => {
      const message = realm.messageOf(reader.number());
      reader.time();
      reader.number();
      realm.deliver(message);
    },
  ],
  [
    code.retryPlanned,
    ({ realm, reader }) => {
      const message = realm.messageOf(reader.number());
      reader.time();
      realm.retry(message, reader.time());
      readResponse(reader);
      reader.buffer();
    },
  ],
  [code.failed, replayFailed],
  [
    code.cancelRequested,
    ({ realm, reader }) => {
      const message = realm.messageOf(reader.number());
      reader.time();
      realm.requestCancel(message);
    },
  ],
  [
    code.cancelled,
    ({ realm, reader }) => {
      const message = realm.messageOf(reader.number());
      reader.time();
      realm.cancel(message);
    },
  ],
  [
    code.deadLetterRemoved,
    ({ realm, user, reader }) => realm.removeDeadLetter(user, deadLetterIdText(readLetterId(reader))),
  ],
  [code.deadLetterKept, replayLetterKept],
  [
    code.deduplicationKept,
    ({ user, reader }) =>
      user.deduplication.add(readText(reader), {
        sequence: reader.number(),
        nonce: reader.number(),
        atMs: reader.time(),
      }),
  ],
  [code.bodyMoved, replayMoved],
  [
    code.countersKept,
    ({ realm, user, reader }) => {
      realm.countDay(user, reader.number(), reader.number());
      user.deadLetters.restoreLastId(readLetterId(reader));
    },
  ],
  [code.queuePut, ({ realm, user, reader }) => realm.putQueue(user, readJson<QueueRecord>(reader))],
  [code.queueRemoved, ({ realm, user, reader }) => realm.removeQueue(user, readText(reader))],
  [
    code.schedulePut,
    ({ realm, user, reader }) =>
      realm.putSchedule(user, readJson<ScheduleRecord>(reader), Buffer.from(reader.buffer())),
  ],
  [code.scheduleRemoved, ({ realm, user, reader }) => realm.removeSchedule(user, readText(reader))],
  [
    code.scheduleChanged,
    ({ realm, user, reader }) =>
      realm.changeSchedule(user, readText(reader), readJson<Partial<ScheduleRecord>>(reader)),
  ],
  [code.groupPut, ({ realm, user, reader }) => realm.putGroup(user, readJson<UrlGroup>(reader))],
  [code.groupRemoved, ({ realm, user, reader }) => realm.removeGroup(user, readText(reader))],
  [code.flowKeyPut, ({ realm, user, reader }) => realm.putFlowKey(user, readJson<FlowKeyRecord>(reader))],
  [code.flowKeyRemoved, ({ realm, user, reader }) => realm.removeFlowKey(user, realm.flowKey(user, readText(reader)))],
  [
    code.signingKeysPut,
    ({ realm, user, reader }) => {
      const { keys, given } = readJson<{ keys: SigningKeys; given: SigningKeys }>(reader);
      realm.putSigningKeys(user, keys, given);
    },
  ],
  [code.runCreated, ({ realm, user, reader }) => realm.createRun(user, readJson<RunRecord>(reader))],
  [
    code.runRestarted,
    ({ realm, user, reader }) => {
      const { id, config } = readJson<{ id: string; config: RunConfig }>(reader);
      realm.restartRun(realm.runOf(user, id), config);
    },
  ],
  [code.runEnded, replayRunEnded],
  [code.runForgotten, ({ realm, user, reader }) => realm.forgetRun(realm.runOf(user, readText(reader)))],
  [code.entryCopied, replayEntryCopied],
  [
    code.failedInRun,
    ({ realm, reader }) => {
      const message = realm.messageOf(reader.number());
      reader.time();
      reader.time();
      readResponse(reader);
      reader.buffer();
      realm.failInRun(message);
    },
  ],
  [code.waiterAdded, ({ realm, user, reader }) => realm.addWaiter(user, readJson<WaiterRecord>(reader))],
  [code.waiterRemoved, ({ realm, user, reader }) => realm.removeWaiter(user, reader.number())],
  [
    code.eventSaved,
    ({ realm, user, reader }) => {
      const run = realm.runOf(user, readText(reader));
      realm.saveEvent(run, readText(reader), Buffer.from(reader.buffer()));
    },
  ],
  [
    code.eventTaken,
    ({ realm, user, reader }) => realm.takeEvent(realm.runOf(user, readText(reader)), readText(reader)),
  ],
  [
    code.failureFunctionPut,
    ({ realm, user, reader }) => {
      const { id, failureFunction } = readJson<{ id: string; failureFunction?: FailureFunction }>(reader);
      realm.putFailureFunction(realm.runOf(user, id), failureFunction);
    },
  ],
  [
    code.failureFunctionAnswered,
    (context) => {
      const { realm, user, reader } = context;
      const { id, failureFunction } = readJson<{ id: string; failureFunction: FailureFunction }>(reader);
      realm.putFailureFunction(realm.runOf(user, id), failureFunction, bodyOf(context, readBody(reader)));
    },
  ],
  [
    code.failureAnswerKept,
    (context) => {
      const run = context.realm.runOf(context.user, readText(context.reader));
      run.failureAnswer = keptBodyOf(context);
    },
  ],
  [code.runKept, replayRunKept],
  [code.entryKept, replayEntryKept],
] satisfies [number, (context: Context) => void][]);

function replayAccepted(context: Context): void {
  const { realm, user, reader } = context;
  const facts = readMessageFacts(reader);
  const envelope = realm.envelopes.shareText(readText(reader));
  const deduplicationKey = readText(reader);
  const body = bodyOf(context, readBody(reader));
  realm.addMessage(user, envelope, body, facts, deduplicationKey);
}

function replayKept(context: Context): void {
  const { realm, user, reader } = context;
  const facts = readMessageFacts(reader);
  const state = reader.number() as State;
  const retried = reader.number();
  const dueMs = reader.time();
  const turn = reader.number() as QueueTurn;
  const envelope = realm.envelopes.shareText(readText(reader));
  realm.restoreMessage(user, envelope, keptBodyOf(context), { ...facts, state, retried, dueMs, turn });
}

function replayFailed(context: Context): void {
  const { realm, reader } = context;
  const message = realm.messageOf(reader.number());
  reader.time();
  const id = readLetterId(reader);
  const response = readResponse(reader);
  realm.fail(message, id, response, bodyOf(context, readBody(reader)));
}

function replayLetterKept(context: Context): void {
  const { realm, user, reader } = context;
  const id = readLetterId(reader);
  const { slotOwner: _none, ...facts } = readMessageFacts(reader);
  const retried = reader.number();
  const envelope = realm.envelopes.shareText(readText(reader));
  const body = keptBodyOf(context);
  const response = readResponse(reader);
  realm.restoreDeadLetter(user, { id, ...facts, retried, envelope, body, response, responseBody: keptBodyOf(context) });
}

function replayRunEnded(context: Context): void {
  const { realm, user, reader } = context;
  const run = realm.runOf(user, readText(reader));
  const state = reader.number() as RunState;
  const atMs = reader.time();
  const hasResult = reader.number() === 1;
  realm.endRun(run, { state, atMs, result: hasResult ? bodyOf(context, readBody(reader)) : undefined });
}

function replayEntryCopied(context: Context): void {
  const { realm, user, reader } = context;
  const facts = readMessageFacts(reader);
  const envelope = realm.envelopes.shareText(readText(reader));
  readText(reader);
  realm.copyEntry(user, envelope, bodyOf(context, readBody(reader)), facts);
}

function replayRunKept(context: Context): void {
  const { realm, user, reader } = context;
  const record = readJson<RunRecord>(reader);
  const facts = readJson<RunFacts>(reader);
  realm.restoreRun(user, record, facts, reader.number() === 1 ? keptBodyOf(context) : undefined);
}

function replayEntryKept(context: Context): void {
  const { realm, user, reader } = context;
  const run = realm.runOf(user, readText(reader));
  const facts = readMessageFacts(reader);
  const isDelivered = reader.number() === 1;
  const envelope = realm.envelopes.shareText(readText(reader));
  realm.envelopes.charge(envelope, user.memory);
  run.addEntry(envelope, keptBodyOf(context), { ...facts, isDelivered });
}

function replayMoved({ realm, user, reader, place }: Context): void {
  const body = movedBody(realm, user, reader);
  const { offset } = readBody(reader);
  assert(place !== undefined, "bodies are moved in journals");
  realm.bodies.place(body, place.segment, place.offset + offset);
}

function movedBody(realm: Realm, user: User, reader: FrameReader): Body {
  const owner = reader.number();
  if (owner === bodyOwner.message) return realm.messageOf(reader.number()).body;
  if (owner === bodyOwner.deadLetter || owner === bodyOwner.response) {
    return letterBody(user, deadLetterIdText(readLetterId(reader)), owner);
  }
  const run = realm.runOf(user, readText(reader));
  const index = reader.number();
  const others = owner === bodyOwner.failureAnswer ? run.failureAnswer : run.result;
  const body = owner === bodyOwner.entry ? run.entries[index]?.body : others;
  assert(body !== undefined, "a body that is moved has its run");
  return body;
}

function letterBody(user: User, id: string, owner: number): Body {
  const letter = user.deadLetters.get(id);
  assert(letter !== undefined, "a body that is moved has its dead letter");
  return owner === bodyOwner.deadLetter ? letter.body : letter.responseBody;
}

/** A body of the journal stays there until it is asked for; one of a snapshot that lies nowhere else is taken along. */
function bodyOf(
  { realm, user, place }: Pick<Context, "realm" | "user" | "place">,
  { checksum, bytes, offset }: BodyRead,
): Body {
  const facts = { length: bytes.length, checksum };
  if (place === undefined || bytes.length === 0) {
    assert(crc32(bytes) === checksum, "a body in a frame is what was written");
    const kept = new Body(Buffer.from(bytes), facts, false);
    realm.bodies.keep(kept, user.memory);
    return kept;
  }
  const body = new Body(undefined, facts, false);
  realm.bodies.place(body, place.segment, place.offset + offset);
  return body;
}

/** A body as a snapshot has it: its place, or itself. */
function keptBodyOf({ realm, user, reader }: Context): Body {
  const segment = reader.number();
  if (segment === 0) return bodyOf({ realm, user, place: undefined }, readBody(reader));
  const offset = reader.number();
  const body = new Body(undefined, { length: reader.number(), checksum: reader.number() }, false);
  realm.bodies.place(body, segment, offset);
  return body;
}

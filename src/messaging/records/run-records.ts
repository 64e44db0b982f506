/**
 * Records of workflow runs. The entries of a run come with its messages: the
 * record of an accepted message also adds its entry.
 */
import type { MessageFacts } from "../state/message.ts";
import type {
  FailureFunction,
  Run,
  RunConfig,
  RunFacts,
  RunRecord,
  RunState,
  Waiter,
  WaiterRecord,
} from "../state/run.ts";
import { messageState } from "../state/states.ts";
import type { User } from "../state/user.ts";
import {
  type BodyField,
  type EnvelopeField,
  readBody,
  readEnvelope,
  readJson,
  readMessageFacts,
  readStoredBody,
  readText,
  type StoredBody,
  sharedEnvelope,
  writeBody,
  writeEnvelope,
  writeJson,
  writeMessageFacts,
  writeStoredBody,
  writeText,
} from "./fields.ts";
import { addAccepted } from "./message-records.ts";
import { NO_EVENT, type RecordRows } from "./row.ts";

interface OfRun {
  readonly runId: string;
}

export interface RunEndedFields extends OfRun {
  readonly state: RunState;
  readonly atMs: number;
  /** The return value of its function; undefined if it did not return. */
  readonly result: BodyField | undefined;
}

export interface EntryFields {
  readonly facts: MessageFacts;
  readonly envelope: EnvelopeField;
  readonly body: BodyField;
}

export interface StoredRunFields {
  readonly record: RunRecord;
  readonly facts: RunFacts;
  readonly result: StoredBody | undefined;
}

export interface StoredEntryFields extends OfRun {
  readonly facts: MessageFacts;
  readonly isDelivered: boolean;
  readonly envelope: EnvelopeField;
  readonly body: StoredBody;
}

export interface RunKinds {
  runCreated(fields: { readonly record: RunRecord }): Run;
  /** Another start replaces its entries and its config. */
  runRestarted(fields: OfRun & { readonly config: RunConfig }): void;
  runEnded(fields: RunEndedFields): void;
  runForgotten(fields: OfRun): void;
  /** An entry of another run that counts as delivered. */
  entryCopied(fields: EntryFields): void;
  waiterAdded(fields: { readonly record: WaiterRecord }): Waiter;
  waiterRemoved(fields: { readonly number: number }): void;
  eventSaved(fields: OfRun & { readonly eventId: string; readonly data: Buffer }): void;
  /** Removes the oldest saved event of this id. */
  eventTaken(fields: OfRun & { readonly eventId: string }): void;
  /** Undefined: the endpoint has no failure function. */
  failureFunctionPut(fields: OfRun & { readonly failureFunction: FailureFunction | undefined }): void;
  /** The same with a long answer to its call, which is stored as a body. */
  failureFunctionAnswered(
    fields: OfRun & { readonly failureFunction: FailureFunction; readonly answer: BodyField },
  ): void;
  /** Snapshots. */
  runStored(fields: StoredRunFields): void;
  /** Snapshots: of the run stored last. */
  entryStored(fields: StoredEntryFields): void;
  /** Snapshots: of the run stored last. */
  failureAnswerStored(fields: OfRun & { readonly answer: StoredBody }): void;
}

export const runRecords: RecordRows<User, RunKinds> = {
  runCreated: {
    code: 50,
    write: (frame, { record }) => writeJson(frame, record),
    read: (reader) => ({ record: readJson<RunRecord>(reader) }),
    apply: ({ state, user }, { record }) => state.createRun(user, record),
    event: NO_EVENT,
  },
  runRestarted: {
    code: 51,
    write: (frame, { runId: id, config }) => writeJson(frame, { id, config }),
    read(reader) {
      const { id: runId, config } = readJson<{ id: string; config: RunConfig }>(reader);
      return { runId, config };
    },
    apply: ({ state, user }, { runId, config }) => state.restartRun(state.runOf(user, runId), config),
    event: NO_EVENT,
  },
  runEnded: {
    code: 52,
    write(frame, { runId, state, atMs, result }) {
      writeText(frame, runId);
      frame.number(state).time(atMs);
      if (result === undefined) frame.number(0);
      else writeBody(frame.number(1), result);
    },
    read: (reader) => ({
      runId: readText(reader),
      state: reader.number() as RunState,
      atMs: reader.time(),
      result: reader.number() === 1 ? readBody(reader) : undefined,
    }),
    apply({ state: all, user, bodies }, { runId, state, atMs, result }) {
      const body = result && bodies.place(result, user.memory);
      all.endRun(all.runOf(user, runId), { state, atMs, result: body });
    },
    event: NO_EVENT,
  },
  runForgotten: {
    code: 53,
    write: (frame, { runId }) => writeText(frame, runId),
    read: (reader) => ({ runId: readText(reader) }),
    apply: ({ state, user }, { runId }) => state.forgetRun(state.runOf(user, runId)),
    event: NO_EVENT,
  },
  entryCopied: {
    code: 54,
    // Like the record of an accepted message, without a deduplication key.
    write(frame, { facts, envelope, body }) {
      writeMessageFacts(frame, facts);
      writeEnvelope(frame, envelope);
      writeText(frame, "");
      writeBody(frame, body);
    },
    read(reader) {
      const facts = readMessageFacts(reader);
      const envelope = readEnvelope(reader);
      readText(reader);
      return { facts, envelope, body: readBody(reader) };
    },
    apply({ state, user, bodies }, { facts, envelope, body }) {
      const shared = sharedEnvelope(state.envelopes, envelope);
      state.copyEntry(user, shared, bodies.place(body, user.memory), facts);
    },
    event(events, fields) {
      addAccepted(events, fields);
      const { sequence: message, createdAtMs: timeMs } = fields.facts;
      events.entries.push({ message, timeMs, state: messageState.delivered, detail: undefined });
    },
  },
  waiterAdded: {
    code: 56,
    write: (frame, { record }) => writeJson(frame, record),
    read: (reader) => ({ record: readJson<WaiterRecord>(reader) }),
    apply: ({ state, user }, { record }) => state.addWaiter(user, record),
    event: NO_EVENT,
  },
  waiterRemoved: {
    code: 57,
    write: (frame, { number }) => void frame.number(number),
    read: (reader) => ({ number: reader.number() }),
    apply: ({ state, user }, { number }) => state.removeWaiter(user, number),
    event: NO_EVENT,
  },
  eventSaved: {
    code: 58,
    write(frame, { runId, eventId, data }) {
      writeText(frame, runId);
      writeText(frame, eventId);
      frame.buffer(data);
    },
    read: (reader) => ({ runId: readText(reader), eventId: readText(reader), data: reader.buffer() }),
    apply: ({ state, user, isReplay }, { runId, eventId, data }) =>
      state.saveEvent(state.runOf(user, runId), eventId, isReplay ? Buffer.from(data) : data),
    event: NO_EVENT,
  },
  eventTaken: {
    code: 59,
    write(frame, { runId, eventId }) {
      writeText(frame, runId);
      writeText(frame, eventId);
    },
    read: (reader) => ({ runId: readText(reader), eventId: readText(reader) }),
    apply: ({ state, user }, { runId, eventId }) => state.takeEvent(state.runOf(user, runId), eventId),
    event: NO_EVENT,
  },
  failureFunctionPut: {
    code: 60,
    write: (frame, { runId: id, failureFunction }) => writeJson(frame, { id, failureFunction }),
    read(reader) {
      const { id: runId, failureFunction } = readJson<{ id: string; failureFunction?: FailureFunction }>(reader);
      return { runId, failureFunction };
    },
    apply: ({ state, user }, { runId, failureFunction }) =>
      state.putFailureFunction(state.runOf(user, runId), failureFunction),
    event: NO_EVENT,
  },
  failureFunctionAnswered: {
    code: 63,
    write(frame, { runId: id, failureFunction, answer }) {
      writeJson(frame, { id, failureFunction });
      writeBody(frame, answer);
    },
    read(reader) {
      const { id: runId, failureFunction } = readJson<{ id: string; failureFunction: FailureFunction }>(reader);
      return { runId, failureFunction, answer: readBody(reader) };
    },
    apply({ state, user, bodies }, { runId, failureFunction, answer }) {
      const body = bodies.place(answer, user.memory);
      state.putFailureFunction(state.runOf(user, runId), failureFunction, body);
    },
    event: NO_EVENT,
  },
  runStored: {
    code: 61,
    write(frame, { record, facts, result }) {
      writeJson(frame, record);
      writeJson(frame, facts);
      if (result === undefined) frame.number(0);
      else writeStoredBody(frame.number(1), result);
    },
    read: (reader) => ({
      record: readJson<RunRecord>(reader),
      facts: readJson<RunFacts>(reader),
      result: reader.number() === 1 ? readStoredBody(reader) : undefined,
    }),
    apply: ({ state, user, bodies }, { record, facts, result }) =>
      state.restoreRun(user, record, facts, result && bodies.restore(result, user.memory)),
    event: NO_EVENT,
  },
  entryStored: {
    code: 62,
    write(frame, { runId, facts, isDelivered, envelope, body }) {
      writeText(frame, runId);
      writeMessageFacts(frame, facts);
      frame.number(isDelivered ? 1 : 0);
      writeEnvelope(frame, envelope);
      writeStoredBody(frame, body);
    },
    read: (reader) => ({
      runId: readText(reader),
      facts: readMessageFacts(reader),
      isDelivered: reader.number() === 1,
      envelope: readEnvelope(reader),
      body: readStoredBody(reader),
    }),
    apply({ state, user, bodies }, { runId, facts, isDelivered, envelope, body }) {
      const shared = sharedEnvelope(state.envelopes, envelope);
      state.restoreEntry(state.runOf(user, runId), shared, bodies.restore(body, user.memory), {
        ...facts,
        isDelivered,
      });
    },
    event: NO_EVENT,
  },
  failureAnswerStored: {
    code: 64,
    write(frame, { runId, answer }) {
      writeText(frame, runId);
      writeStoredBody(frame, answer);
    },
    read: (reader) => ({ runId: readText(reader), answer: readStoredBody(reader) }),
    apply({ state, user, bodies }, { runId, answer }) {
      state.runOf(user, runId).failureAnswer = bodies.restore(answer, user.memory);
    },
    event: NO_EVENT,
  },
};

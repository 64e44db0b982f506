/** Records of dead letters. */
import { FrameWriter } from "../../kernel/frame.ts";
import { type DeadLetter, type DeadLetterId, deadLetterIdText, type ResponseFacts } from "../state/dead-letters.ts";
import type { MessageFacts } from "../state/message.ts";
import { messageState } from "../state/states.ts";
import type { User } from "../state/user.ts";
import {
  type BodyField,
  type EnvelopeField,
  readBody,
  readDeadLetterId,
  readEnvelope,
  readMessageFacts,
  readResponse,
  readStoredBody,
  type StoredBody,
  sharedEnvelope,
  writeBody,
  writeDeadLetterId,
  writeEnvelope,
  writeMessageFacts,
  writeResponse,
  writeStoredBody,
} from "./fields.ts";
import { type MessageMove, messageRecords, writeMove } from "./message-records.ts";
import { NO_EVENT, type RecordRows } from "./row.ts";

export interface FailedFields extends MessageMove {
  readonly id: DeadLetterId;
  readonly response: ResponseFacts;
  readonly responseBody: BodyField;
}

export interface StoredDeadLetterFields {
  readonly id: DeadLetterId;
  readonly facts: MessageFacts;
  readonly retried: number;
  readonly envelope: EnvelopeField;
  readonly body: StoredBody;
  readonly response: ResponseFacts;
  readonly responseBody: StoredBody;
}

export interface DeadLetterKinds {
  /** A message becomes a dead letter. */
  failed(fields: FailedFields): DeadLetter;
  deadLetterRemoved(fields: { readonly id: DeadLetterId }): void;
  /** Snapshots. */
  deadLetterStored(fields: StoredDeadLetterFields): void;
  /** Snapshots: count of messages of the day, the last id of a dead letter. */
  countersStored(fields: { readonly day: number; readonly dayCount: number; readonly lastId: DeadLetterId }): void;
}

export const deadLetterRecords: RecordRows<User, DeadLetterKinds> = {
  failed: {
    code: 15,
    write(frame, fields) {
      writeDeadLetterId(writeMove(frame, fields), fields.id);
      writeResponse(frame, fields.response);
      writeBody(frame, fields.responseBody);
    },
    read: (reader) => ({
      sequence: reader.number(),
      atMs: reader.time(),
      id: readDeadLetterId(reader),
      response: readResponse(reader),
      responseBody: readBody(reader),
    }),
    apply: ({ state, user, bodies }, { sequence, id, response, responseBody }) =>
      state.fail(state.messageOf(sequence), id, response, bodies.place(responseBody, user.memory)),
    event({ entries }, fields) {
      const { sequence: message, atMs: timeMs } = fields;
      entries.push({ message, timeMs, state: messageState.error, detail: failureDetail(fields) });
      entries.push({ message, timeMs, state: messageState.failed, detail: undefined });
    },
  },
  deadLetterRemoved: {
    code: 18,
    write: (frame, { id }) => writeDeadLetterId(frame, id),
    read: (reader) => ({ id: readDeadLetterId(reader) }),
    apply: ({ state, user }, { id }) => state.removeDeadLetter(user, deadLetterIdText(id)),
    event: NO_EVENT,
  },
  deadLetterStored: {
    code: 19,
    write(frame, fields) {
      writeDeadLetterId(frame, fields.id);
      writeMessageFacts(frame, fields.facts);
      frame.number(fields.retried);
      writeEnvelope(frame, fields.envelope);
      writeStoredBody(frame, fields.body);
      writeResponse(frame, fields.response);
      writeStoredBody(frame, fields.responseBody);
    },
    read: (reader) => ({
      id: readDeadLetterId(reader),
      facts: readMessageFacts(reader),
      retried: reader.number(),
      envelope: readEnvelope(reader),
      body: readStoredBody(reader),
      response: readResponse(reader),
      responseBody: readStoredBody(reader),
    }),
    apply({ state, user, bodies }, { id, facts, retried, envelope, body, response, responseBody }) {
      const { slotOwner: _none, ...message } = facts;
      state.restoreDeadLetter(user, {
        ...{ id, ...message, retried, response },
        envelope: sharedEnvelope(state.envelopes, envelope),
        body: bodies.restore(body, user.memory),
        responseBody: bodies.restore(responseBody, user.memory),
      });
    },
    event: NO_EVENT,
  },
  countersStored: {
    code: 22,
    write: (frame, { day, dayCount, lastId }) => writeDeadLetterId(frame.number(day).number(dayCount), lastId),
    read: (reader) => ({ day: reader.number(), dayCount: reader.number(), lastId: readDeadLetterId(reader) }),
    apply({ state, user }, { day, dayCount, lastId }) {
      state.countDay(user, day, dayCount);
      user.deadLetters.restoreLastId(lastId);
    },
    event: NO_EVENT,
  },
};

/** A failure in the form of a retry: the same fields, without a next time. */
function failureDetail({ responseBody, ...fields }: FailedFields): Uint8Array {
  const frame = new FrameWriter();
  messageRecords.retryPlanned.write(frame, { ...fields, dueMs: 0, responseBytes: responseBody.bytes ?? NO_BYTES });
  return Uint8Array.from(frame.take());
}

const NO_BYTES = Buffer.alloc(0);

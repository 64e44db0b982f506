/** Records of messages, from their acceptance to their end. */
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import { parseJsonText } from "../../kernel/json/parse.ts";
import { attributesOf } from "../matching.ts";
import type { EnvelopeFields } from "../options/envelope.ts";
import type { ResponseFacts } from "../state/dead-letters.ts";
import type { Message, MessageFacts } from "../state/message.ts";
import { messageId } from "../state/message-id.ts";
import type { QueueTurn } from "../state/messaging-state.ts";
import { type MessageState, messageState } from "../state/states.ts";
import type { User } from "../state/user.ts";
import {
  type BodyField,
  type EnvelopeField,
  readBody,
  readEnvelope,
  readMessageFacts,
  readResponse,
  readStoredBody,
  readText,
  type StoredBody,
  sharedEnvelope,
  writeBody,
  writeEnvelope,
  writeMessageFacts,
  writeResponse,
  writeStoredBody,
  writeText,
} from "./fields.ts";
import { type EventList, NO_EVENT, type RecordRows } from "./row.ts";

export interface NewMessageFields {
  readonly facts: MessageFacts;
  readonly envelope: EnvelopeField;
  /** Empty: no deduplication. */
  readonly deduplicationKey: string;
  readonly body: BodyField;
}

/** A message, and the time of its change. */
export interface MessageMove {
  readonly sequence: number;
  readonly atMs: number;
}

export interface AttemptFields extends MessageMove {
  /** The same time in passed time (moment.ts). It is not recorded. */
  readonly passedMs: number;
}

/** A failed attempt that was not the last one, or the last one of a message that leaves no dead letter. */
export interface FailedAttemptFields extends MessageMove {
  /** When the next attempt is due; 0: none follows. */
  readonly dueMs: number;
  readonly response: ResponseFacts;
  readonly responseBytes: Buffer;
}

export interface StoredMessageFields {
  readonly facts: MessageFacts;
  readonly state: MessageState;
  readonly retried: number;
  readonly dueMs: number;
  readonly turn: QueueTurn;
  readonly envelope: EnvelopeField;
  readonly body: StoredBody;
}

export interface MessageKinds {
  messageAccepted(fields: NewMessageFields): Message;
  /** Snapshots. */
  messageStored(fields: StoredMessageFields): void;
  attemptStarted(fields: AttemptFields): void;
  delivered(fields: MessageMove & { readonly status: number }): void;
  retryPlanned(fields: FailedAttemptFields): void;
  /** The next attempt of a waiting message is due at this time, which is earlier than planned. */
  attemptAdvanced(fields: MessageMove): void;
  cancelRequested(fields: MessageMove): void;
  cancelled(fields: MessageMove): void;
  /** A message fails without a dead letter: its run has the failure as a result, or continues. */
  failedInRun(fields: FailedAttemptFields): void;
  /** Snapshots. */
  deduplicationStored(fields: {
    readonly key: string;
    readonly sequence: number;
    readonly nonce: number;
    readonly atMs: number;
  }): void;
}

export const messageRecords: RecordRows<User, MessageKinds> = {
  messageAccepted: {
    code: 10,
    write(frame, { facts, envelope, deduplicationKey, body }) {
      writeMessageFacts(frame, facts);
      writeEnvelope(frame, envelope);
      writeText(frame, deduplicationKey);
      writeBody(frame, body);
    },
    read: (reader) => ({
      facts: readMessageFacts(reader),
      envelope: readEnvelope(reader),
      deduplicationKey: readText(reader),
      body: readBody(reader),
    }),
    apply({ state, user, bodies }, { facts, envelope, deduplicationKey, body }) {
      const shared = sharedEnvelope(state.envelopes, envelope);
      return state.addMessage(user, shared, bodies.place(body, user.memory), facts, deduplicationKey);
    },
    event: addAccepted,
  },
  messageStored: {
    code: 11,
    write(frame, fields) {
      writeMessageFacts(frame, fields.facts);
      frame.number(fields.state).number(fields.retried).time(fields.dueMs).number(fields.turn);
      writeEnvelope(frame, fields.envelope);
      writeStoredBody(frame, fields.body);
    },
    read: (reader) => ({
      facts: readMessageFacts(reader),
      state: reader.number() as MessageState,
      retried: reader.number(),
      dueMs: reader.time(),
      turn: reader.number() as QueueTurn,
      envelope: readEnvelope(reader),
      body: readStoredBody(reader),
    }),
    apply({ state, user, bodies }, fields) {
      const shared = sharedEnvelope(state.envelopes, fields.envelope);
      state.restoreMessage(user, shared, bodies.restore(fields.body, user.memory), fields);
    },
    event: NO_EVENT,
  },
  attemptStarted: {
    code: 12,
    write: writeMove,
    read(reader) {
      const sequence = reader.number();
      const atMs = reader.time();
      return { sequence, atMs, passedMs: atMs };
    },
    apply({ state, isReplay }, fields) {
      const message = state.messageOf(fields.sequence);
      // The result of the previous attempt was lost in a crash, and the next start repeated it.
      if (isReplay && message.state === messageState.active) message.reopen();
      state.startAttempt(message, fields);
    },
    event: (events, move) => addMove(events, move, messageState.active),
  },
  delivered: {
    code: 13,
    write: (frame, fields) => void writeMove(frame, fields).number(fields.status),
    read: (reader) => ({ sequence: reader.number(), atMs: reader.time(), status: reader.number() }),
    apply: ({ state }, { sequence }) => state.deliver(state.messageOf(sequence)),
    event: (events, move) => addMove(events, move, messageState.delivered),
  },
  retryPlanned: {
    code: 14,
    write: writeFailedAttempt,
    read: readFailedAttempt,
    apply: ({ state }, { sequence, dueMs }) => state.retry(state.messageOf(sequence), dueMs),
    event(events, { sequence: message, atMs: timeMs, dueMs }) {
      events.entries.push({ message, timeMs, state: messageState.error, detail: events.detail() });
      events.entries.push({ message, timeMs, state: messageState.retry, detail: Buffer.from(String(dueMs)) });
    },
  },
  attemptAdvanced: {
    code: 23,
    write: writeMove,
    read: readMove,
    apply({ state }, { sequence, atMs }) {
      state.messageOf(sequence).dueMs = atMs;
    },
    event: NO_EVENT,
  },
  cancelRequested: {
    code: 16,
    write: writeMove,
    read: readMove,
    apply: ({ state }, { sequence }) => state.requestCancel(state.messageOf(sequence)),
    event: (events, move) => addMove(events, move, messageState.cancelRequested),
  },
  cancelled: {
    code: 17,
    write: writeMove,
    read: readMove,
    apply: ({ state }, { sequence }) => state.cancel(state.messageOf(sequence)),
    event: (events, move) => addMove(events, move, messageState.cancelled),
  },
  failedInRun: {
    code: 55,
    write: writeFailedAttempt,
    read: readFailedAttempt,
    apply: ({ state }, { sequence }) => state.failInRun(state.messageOf(sequence)),
    event(events, { sequence: message, atMs: timeMs }) {
      events.entries.push({ message, timeMs, state: messageState.error, detail: events.detail() });
      events.entries.push({ message, timeMs, state: messageState.failed, detail: undefined });
    },
  },
  deduplicationStored: {
    code: 20,
    write(frame, { key, sequence, nonce, atMs }) {
      writeText(frame, key);
      frame.number(sequence).number(nonce).time(atMs);
    },
    read: (reader) => ({
      key: readText(reader),
      sequence: reader.number(),
      nonce: reader.number(),
      atMs: reader.time(),
    }),
    apply: ({ user }, { key, ...accepted }) => user.deduplication.add(key, accepted),
    event: NO_EVENT,
  },
};

/** The event of an accepted message or of a copied entry. */
export function addAccepted(
  events: EventList,
  { facts, envelope }: Pick<NewMessageFields, "facts" | "envelope">,
): void {
  const { sequence: message, nonce, createdAtMs: timeMs } = facts;
  const attributes = attributesOf(parseJsonText(envelope.text) as EnvelopeFields);
  const id = messageId(message, nonce);
  events.messages.push({ message, user: events.user, id, attributes, detail: events.detail() });
  events.entries.push({ message, timeMs, state: messageState.created, detail: undefined });
}

function addMove({ entries }: EventList, { sequence: message, atMs: timeMs }: MessageMove, to: MessageState): void {
  entries.push({ message, timeMs, state: to, detail: undefined });
}

export function writeMove(frame: FrameWriter, { sequence, atMs }: MessageMove): FrameWriter {
  return frame.number(sequence).time(atMs);
}

export function readMove(reader: FrameReader): MessageMove {
  return { sequence: reader.number(), atMs: reader.time() };
}

function writeFailedAttempt(frame: FrameWriter, fields: FailedAttemptFields): void {
  writeMove(frame, fields).time(fields.dueMs);
  writeResponse(frame, fields.response);
  frame.buffer(fields.responseBytes);
}

function readFailedAttempt(reader: FrameReader): FailedAttemptFields {
  return {
    sequence: reader.number(),
    atMs: reader.time(),
    dueMs: reader.time(),
    response: readResponse(reader),
    responseBytes: reader.buffer(),
  };
}

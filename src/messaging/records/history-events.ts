/**
 * What the log of messages is made of, taken from the frames of the journal.
 * The details are the records themselves, so nothing is encoded twice.
 */

import { textFromBytes } from "../../kernel/bytes.ts";
import { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { LogEntry, LoggedMessage } from "../door.ts";
import { attributesOf } from "../matching.ts";
import type { EnvelopeFields } from "../options/envelope.ts";
import { messageId } from "../state/message-id.ts";
import { type State, state } from "../state/states.ts";
import { AREA, bodyOwner, code, readBody, readLetterId, readMessageFacts, readResponse, readText } from "./records.ts";

/** A message that was accepted. */
export interface MessageEvent {
  /** Its sequence number. */
  readonly message: number;
  /** Number of the user. */
  readonly user: number;
  readonly id: string;
  readonly attributes: readonly (readonly [name: string, value: string])[];
  readonly detail: Uint8Array;
}

/** A state that a message came to. */
export interface StateEvent {
  readonly message: number;
  readonly timeMs: number;
  readonly state: State;
  readonly detail: Uint8Array | undefined;
}

export interface HistoryEvents {
  readonly messages: MessageEvent[];
  readonly entries: StateEvent[];
  readonly droppedUsers: number[];
}

/** Reads one frame of the journal. The frame is copied where it is kept. */
export function historyEventsOf(frame: Buffer): HistoryEvents {
  const events: HistoryEvents = { messages: [], entries: [], droppedUsers: [] };
  const reader = new FrameReader(frame);
  const user = reader.number();
  while (!reader.isAtEnd) readEvent({ frame, reader, user, events });
  return events;
}

interface Reading {
  readonly frame: Buffer;
  readonly reader: FrameReader;
  readonly user: number;
  readonly events: HistoryEvents;
}

function readEvent({ frame, reader, user, events }: Reading): void {
  const recordCode = reader.code();
  const { messages, entries, droppedUsers } = events;
  const start = reader.offset;
  const detail = (): Uint8Array => Uint8Array.prototype.slice.call(frame, start, reader.offset);
  if (user === AREA) {
    const number = reader.number();
    if (recordCode === code.userCreated) {
      readText(reader);
      readText(reader);
    } else if (recordCode === code.userDropped) droppedUsers.push(number);
    return;
  }
  switch (recordCode) {
    case code.messageAccepted:
    case code.entryCopied: {
      const { sequence, nonce, createdAtMs } = readMessageFacts(reader);
      const fields = fieldsOf(readText(reader));
      readText(reader);
      readBody(reader);
      const id = messageId(sequence, nonce);
      messages.push({ message: sequence, user, id, attributes: attributesOf(fields), detail: detail() });
      entries.push({ message: sequence, timeMs: createdAtMs, state: state.created, detail: undefined });
      if (recordCode === code.entryCopied) {
        entries.push({ message: sequence, timeMs: createdAtMs, state: state.delivered, detail: undefined });
      }
      return;
    }
    case code.attemptStarted:
      entries.push(moved(reader, state.active));
      return;
    case code.delivered:
      entries.push(moved(reader, state.delivered));
      reader.number();
      return;
    case code.retryPlanned: {
      const { message, timeMs } = moved(reader, state.error);
      const dueMs = reader.time();
      readResponse(reader);
      reader.buffer();
      entries.push({ message, timeMs, state: state.error, detail: detail() });
      entries.push({ message, timeMs, state: state.retry, detail: Buffer.from(String(dueMs)) });
      return;
    }
    case code.failed: {
      const { message, timeMs } = moved(reader, state.error);
      readLetterId(reader);
      readResponse(reader);
      readBody(reader);
      entries.push({ message, timeMs, state: state.error, detail: failureDetail(detail()) });
      entries.push({ message, timeMs, state: state.failed, detail: undefined });
      return;
    }
    case code.failedInRun: {
      const { message, timeMs } = moved(reader, state.error);
      reader.time();
      readResponse(reader);
      reader.buffer();
      entries.push({ message, timeMs, state: state.error, detail: detail() });
      entries.push({ message, timeMs, state: state.failed, detail: undefined });
      return;
    }
    case code.cancelRequested:
      entries.push(moved(reader, state.cancelRequested));
      return;
    case code.cancelled:
      entries.push(moved(reader, state.cancelled));
      return;
    default:
      skipRecord(recordCode, reader);
  }
}

function moved(reader: FrameReader, to: State): StateEvent {
  return { message: reader.number(), timeMs: reader.time(), state: to, detail: undefined };
}

/** Brings the record of a failure into the form of that of a retry: the same fields, and no next time. */
function failureDetail(record: Uint8Array): Uint8Array {
  const reader = new FrameReader(Buffer.from(record));
  const frame = new FrameWriter();
  frame.number(reader.number()).time(reader.time()).time(0);
  readLetterId(reader);
  frame.number(reader.number()).bytes(reader.bytes()).bytes(reader.bytes());
  frame.buffer(readBody(reader).bytes);
  return Uint8Array.from(frame.take());
}

/** Records that the log says nothing of. */
function skipRecord(recordCode: number, reader: FrameReader): void {
  switch (recordCode) {
    case code.deadLetterRemoved:
      readLetterId(reader);
      return;
    case code.bodyMoved: {
      // The message has a number, a dead letter an id, and a run an id and a place in it.
      const owner = reader.number();
      if (owner === bodyOwner.message) reader.number();
      else if (owner === bodyOwner.deadLetter || owner === bodyOwner.response) readLetterId(reader);
      else {
        reader.bytes();
        reader.number();
      }
      readBody(reader);
      return;
    }
    case code.runEnded:
      reader.bytes();
      reader.number();
      reader.time();
      if (reader.number() === 1) readBody(reader);
      return;
    case code.failureFunctionAnswered:
      reader.bytes();
      readBody(reader);
      return;
    case code.waiterRemoved:
      reader.number();
      return;
    case code.eventSaved:
      reader.bytes();
      reader.bytes();
      reader.buffer();
      return;
    case code.eventTaken:
      reader.bytes();
      reader.bytes();
      return;
    case code.schedulePut:
      reader.bytes();
      reader.buffer();
      return;
    case code.scheduleChanged:
      reader.bytes();
      reader.bytes();
      return;
    default:
      // One text: queues, groups, keys.
      reader.bytes();
  }
}

/** The message of a `MessageEvent`, from its detail. */
export function loggedMessage(detail: Uint8Array): LoggedMessage {
  const reader = new FrameReader(Buffer.from(detail));
  const { sequence, nonce, createdAtMs, notBeforeMs } = readMessageFacts(reader);
  const envelope = fieldsOf(readText(reader));
  reader.bytes();
  const { bytes } = readBody(reader);
  return { id: messageId(sequence, nonce), envelope, body: bytes, createdAtMs, notBeforeMs };
}

/** A log entry from its state and the details of a `StateEvent` and its message. */
export function logEntry(
  entry: { readonly timeMs: number; readonly state: number; readonly detail: Uint8Array | undefined },
  messageDetail: Uint8Array,
): LogEntry {
  const facts = { message: loggedMessage(messageDetail), timeMs: entry.timeMs, state: entry.state as State };
  if (entry.detail === undefined) return facts;
  if (entry.state === state.retry)
    return { ...facts, nextDeliveryMs: Number(textFromBytes(Buffer.from(entry.detail).latin1Slice())) };
  const reader = new FrameReader(Buffer.from(entry.detail));
  reader.number();
  reader.time();
  reader.time();
  return { ...facts, response: { ...readResponse(reader), body: reader.buffer() } };
}

function fieldsOf(text: string): EnvelopeFields {
  return JSON.parse(text) as EnvelopeFields;
}

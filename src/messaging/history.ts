/**
 * Reads the events of the log of messages from the frames of the journal. Their
 * details are the fields of the records themselves, so nothing is encoded twice.
 *
 * A second entry beside mod.ts, because the history's thread loads it without the
 * engine: it imports the records and little else.
 */
import { textFromBytes } from "../kernel/bytes.ts";
import { FrameReader } from "../kernel/frame.ts";
import { parseJsonText } from "../kernel/json/parse.ts";
import type { LogEntry, LoggedMessage } from "./api.ts";
import type { EnvelopeFields } from "./options/envelope.ts";
import { AREA } from "./records/area-records.ts";
import { messageRecords } from "./records/message-records.ts";
import { type EventList, type HistoryEvents, type MessageEvent, NO_EVENT, type StateEvent } from "./records/row.ts";
import { type AreaKind, areaKindOf, areaRecords, type UserKind, userKindOf, userRecords } from "./records/table.ts";
import { messageId } from "./state/message-id.ts";
import { type MessageState, messageState } from "./state/states.ts";

export { messageState };

/** Reads one frame of the journal. Details are copied from the frame. */
export function historyEventsOf(frame: Buffer): HistoryEvents {
  const events = new FrameEvents(frame);
  events.readAll();
  const { messages, entries, droppedUsers } = events;
  return { messages, entries, droppedUsers };
}

class FrameEvents implements EventList {
  readonly messages: MessageEvent[] = [];
  readonly entries: StateEvent[] = [];
  readonly droppedUsers: number[] = [];
  readonly user: number;
  readonly #frame: Buffer;
  readonly #reader: FrameReader;
  /** Where the fields of the current record start. */
  #start = 0;

  constructor(frame: Buffer) {
    this.#frame = frame;
    this.#reader = new FrameReader(frame);
    this.user = this.#reader.number();
  }

  readAll(): void {
    const reader = this.#reader;
    while (!reader.isAtEnd) {
      const code = reader.code();
      this.#start = reader.offset;
      if (this.user === AREA) this.#readAreaRecord(areaKindOf(code));
      else this.#readUserRecord(userKindOf(code));
    }
  }

  detail(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#frame, this.#start, this.#reader.offset);
  }

  #readAreaRecord<Kind extends AreaKind>(kind: Kind): void {
    const row = areaRecords[kind];
    const fields = row.read(this.#reader);
    if (row.event !== NO_EVENT) row.event(this, fields);
  }

  #readUserRecord<Kind extends UserKind>(kind: Kind): void {
    const row = userRecords[kind];
    const fields = row.read(this.#reader);
    if (row.event !== NO_EVENT) row.event(this, fields);
  }
}

/** The message of a `MessageEvent`, from its detail. */
export function loggedMessage(detail: Uint8Array): LoggedMessage {
  const { facts, envelope, body } = messageRecords.messageAccepted.read(new FrameReader(Buffer.from(detail)));
  const { sequence, nonce, createdAtMs, notBeforeMs } = facts;
  const fields = parseJsonText(envelope.text) as EnvelopeFields;
  return { id: messageId(sequence, nonce), envelope: fields, body: body.bytes ?? NO_BYTES, createdAtMs, notBeforeMs };
}

const NO_BYTES = Buffer.alloc(0);

/** A log entry from its state and the details of a `StateEvent` and its message. */
export function logEntry(
  entry: { readonly timeMs: number; readonly state: number; readonly detail: Uint8Array | undefined },
  messageDetail: Uint8Array,
): LogEntry {
  const facts = { message: loggedMessage(messageDetail), timeMs: entry.timeMs, state: entry.state as MessageState };
  if (entry.detail === undefined) return facts;
  if (entry.state === messageState.retry)
    return { ...facts, nextDeliveryMs: Number(textFromBytes(Buffer.from(entry.detail).latin1Slice())) };
  const { response, responseBytes } = messageRecords.retryPlanned.read(new FrameReader(Buffer.from(entry.detail)));
  return { ...facts, response: { ...response, body: responseBytes } };
}

/**
 * A kind of record is one row: its code, how its fields are written and read, how
 * it changes the state, and its events in the history. A row without one of these
 * does not compile, so a record that one part handles is handled by all parts.
 *
 *     request    Recorder     write, then apply
 *     start      replay.ts    read, then apply
 *     snapshot   snapshot.ts  write
 *     history    ../history.ts       read, then event
 *
 * Further properties, such as how a change is undone, or facts about the shards of
 * a server, belong here; a property that every row needs is required.
 */
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { MemoryAccount } from "../../kernel/memory-guard.ts";
import type { Body } from "../bodies/body.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { MessageState } from "../state/states.ts";
import type { BodyField, StoredBody } from "./fields.ts";

/** `Owner` is the user of the record, or undefined for records of the area itself. */
export interface RecordRow<Owner, Fields, Result> {
  /** In the journal. The meaning of a code never changes. */
  readonly code: number;
  /** Everything after the code. */
  write(frame: FrameWriter, fields: Fields): void;
  /** Reads the fields that `write` wrote. Buffers are views of the frame. */
  read(reader: FrameReader): Fields;
  apply(context: ApplyContext<Owner>, fields: Fields): Result;
  readonly event: EventOf<Fields> | typeof NO_EVENT;
}

/** The record has no event in the history. */
export const NO_EVENT = "no event";

/** Adds the events of a record to the history. */
export type EventOf<Fields> = (events: EventList, fields: Fields) => void;

/** The kinds of a subject: each with its fields and the result of applying it. */
type Kinds<Subject> = { readonly [Kind in keyof Subject]: (fields: never) => unknown };

export type FieldsOf<Signature> = Signature extends (fields: infer Fields) => unknown ? Fields : never;
export type ResultOf<Signature> = Signature extends (fields: never) => infer Result ? Result : never;

/** A row for each kind of a subject. */
export type RecordRows<Owner, Subject extends Kinds<Subject>> = {
  readonly [Kind in keyof Subject]: RecordRow<Owner, FieldsOf<Subject[Kind]>, ResultOf<Subject[Kind]>>;
};

export interface ApplyContext<Owner> {
  readonly state: MessagingState;
  readonly user: Owner;
  readonly bodies: BodyPlacer;
  /** True in a replay: the record was written before this start. */
  readonly isReplay: boolean;
}

/** Sets the locations of bodies, which follow from the location of their frame. */
export interface BodyPlacer {
  /** A body of the record. Its bytes count for the account while they are in memory. */
  place(field: BodyField, account: MemoryAccount): Body;
  /** A body that was written again. */
  move(body: Body, field: Pick<BodyField, "checksum" | "bytes">): void;
  /** A body of a snapshot. */
  restore(field: StoredBody, account: MemoryAccount): Body;
}

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

/** A new state of a message. */
export interface StateEvent {
  readonly message: number;
  readonly timeMs: number;
  readonly state: MessageState;
  readonly detail: Uint8Array | undefined;
}

export interface HistoryEvents {
  readonly messages: MessageEvent[];
  readonly entries: StateEvent[];
  readonly droppedUsers: number[];
}

/** Collects the events of a frame while its records are read. */
export interface EventList extends HistoryEvents {
  /** Number of the user. */
  readonly user: number;
  /** A copy of the encoded fields of the last record. */
  detail(): Uint8Array;
}

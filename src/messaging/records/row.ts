/**
 * What a kind of record is: one row with its code, how its fields are written
 * and read, how it changes the state, and what the history says of it. A row
 * without one of these does not compile, so no part can know a record that
 * another does not.
 *
 *     now        Recorder     write, then apply
 *     start      replay.ts    read, then apply
 *     snapshot   snapshot.ts  write
 *     history    history-events.ts   read, then event
 *
 * A row may get more: how its change is undone, or facts about the shards of a
 * server. Such a property belongs here, required if every row must answer it.
 */
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { MemoryAccount } from "../../kernel/memory-guard.ts";
import type { Body } from "../bodies/body.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { MessageState } from "../state/states.ts";
import type { BodyField, StoredBody } from "./fields.ts";

/** `Owner` is the user of the record, or undefined for records of the area itself. */
export interface RecordRow<Owner, Fields, Result> {
  /** In the journal. A code keeps its meaning permanently. */
  readonly code: number;
  /** Everything after the code. */
  write(frame: FrameWriter, fields: Fields): void;
  /** What `write` wrote. Buffers are views of the frame. */
  read(reader: FrameReader): Fields;
  apply(context: ApplyContext<Owner>, fields: Fields): Result;
  readonly event: EventOf<Fields> | typeof NO_EVENT;
}

/** The history says nothing of the record. */
export const NO_EVENT = "no event";

/** Adds what the history says of a record. */
export type EventOf<Fields> = (events: EventList, fields: Fields) => void;

/** The kinds of a subject: each with its fields, and with what applying it returns. */
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
  /** The record was written in an earlier life. */
  readonly isReplay: boolean;
}

/** Knows where the frame of the record lies, and so where its bodies do. */
export interface BodyPlacer {
  /** A body that came with the record. Its bytes count for the account while they are in memory. */
  place(field: BodyField, account: MemoryAccount): Body;
  /** A body that was written once more. */
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

/** A state that a message came to. */
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

/** What the history says of a frame, while its records are read. */
export interface EventList extends HistoryEvents {
  /** Number of the user. */
  readonly user: number;
  /** A copy of the fields of the record that was read last. */
  detail(): Uint8Array;
}

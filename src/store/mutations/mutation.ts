/** A kind of record, as a row of the table of records (`table.ts`): its code, its name, and how it is applied. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import type { Keyspace } from "../keyspace.ts";
import type { DatabaseState } from "./database-state.ts";

export interface Mutation {
  /** 1 … 255, unique. */
  readonly code: number;
  readonly name: string;
  /** True for a record of earlier builds, which this one reads and does not write. */
  readonly isFormer?: boolean;
  /** Reads one record and applies it as the writing function did. */
  readonly apply: (keyspace: Keyspace, record: FrameReader) => unknown;
}

/** A mutation of state of a database other than its keys: functions, users and chosen settings. */
export interface StateMutation {
  readonly code: number;
  readonly name: string;
  readonly apply: (state: DatabaseState, record: FrameReader) => unknown;
  /** Writes the records of this kind that rebuild the state, replacing it; absent: another kind does. */
  readonly describe?: (state: DatabaseState, record: (code: number) => FrameWriter) => void;
}

/** A value that is written as the records that rebuild it. */
export interface Description<V> {
  readonly key: Bytes;
  readonly value: V;
  /** Opens a record. A long value requests a new one every few KiB, so that frames stay small. */
  readonly record: (code: number) => FrameWriter;
}

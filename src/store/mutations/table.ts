/**
 * Every kind of record that a database's frames are made of, by its code.
 * A code is for ever: data directories hold it. A row that is no longer
 * written stays, so that old journals can be read.
 */
import { assert } from "../../kernel/assert.ts";
import type { FrameReader, FrameWriter } from "../../kernel/frame.ts";
import { userMutations } from "../acl/user-records.ts";
import type { Keyspace } from "../keyspace.ts";
import type { DatabaseState } from "./database-state.ts";
import { functionMutations } from "./functions.ts";
import { genericMutations } from "./generic.ts";
import { hashMutations } from "./hash.ts";
import { hyperLogLogMutations } from "./hyperloglog.ts";
import { jsonMutations } from "./json.ts";
import { listMutations } from "./list.ts";
import { setMutations } from "./set.ts";
import { sortedSetMutations } from "./sorted-set.ts";
import { streamMutations } from "./stream.ts";
import { streamGroupMutations } from "./stream-group.ts";
import { stringMutations } from "./string.ts";

export interface Mutation {
  /** 1 … 255, unique. */
  readonly code: number;
  readonly name: string;
  /** Applies one record as it was applied when it was written. */
  readonly replay: (keyspace: Keyspace, record: FrameReader) => unknown;
}

export const mutations: readonly Mutation[] = [
  ...genericMutations,
  ...stringMutations,
  ...hashMutations,
  ...listMutations,
  ...setMutations,
  ...sortedSetMutations,
  ...hyperLogLogMutations,
  ...jsonMutations,
  ...streamMutations,
  ...streamGroupMutations,
];

/** As a mutation, of what a database keeps beside its keys. */
export interface StateMutation {
  readonly code: number;
  readonly name: string;
  readonly replay: (state: DatabaseState, record: FrameReader) => unknown;
  /** Writes the records of this kind that rebuild the state; absent: another kind does. They replace what is there. */
  readonly describe?: (state: DatabaseState, record: (code: number) => FrameWriter) => void;
}

export const stateMutations: readonly StateMutation[] = [...functionMutations, ...userMutations];

type Replay = (state: DatabaseState, record: FrameReader) => unknown;

const rows: readonly { readonly code: number; readonly replay: Replay }[] = [
  ...mutations.map(({ code, replay }) => ({
    code,
    replay: ({ keyspace }: DatabaseState, record: FrameReader) => replay(keyspace, record),
  })),
  ...stateMutations,
];

const replayByCode: (Replay | undefined)[] = [];
for (const { code, replay } of rows) {
  assert(replayByCode[code] === undefined, `record code ${code} belongs to one mutation`);
  replayByCode[code] = replay;
}

/** Applies the records of a frame, from behind its database number to its end. */
export function replayRecords(state: DatabaseState, frame: FrameReader): void {
  while (!frame.isAtEnd) {
    const code = frame.code();
    const replay = replayByCode[code];
    assert(replay !== undefined, `record code ${code} is known to this version`);
    replay(state, frame);
  }
}

/**
 * Every kind of record that a database's frames are made of, by its code.
 * A code is for ever: data directories hold it. A row that is no longer
 * written stays, so that old journals can be read.
 */
import { assert } from "../kernel/assert.ts";
import type { FrameReader } from "../kernel/frame.ts";
import type { Keyspace } from "./keyspace.ts";
import { genericMutations } from "./mutations/generic.ts";
import { hashMutations } from "./mutations/hash.ts";
import { hyperLogLogMutations } from "./mutations/hyperloglog.ts";
import { jsonMutations } from "./mutations/json.ts";
import { listMutations } from "./mutations/list.ts";
import { setMutations } from "./mutations/set.ts";
import { sortedSetMutations } from "./mutations/sorted-set.ts";
import { streamMutations } from "./mutations/stream.ts";
import { streamGroupMutations } from "./mutations/stream-group.ts";
import { stringMutations } from "./mutations/string.ts";

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

const mutationByCode: (Mutation | undefined)[] = [];
for (const mutation of mutations) {
  assert(mutationByCode[mutation.code] === undefined, `record code ${mutation.code} belongs to one mutation`);
  mutationByCode[mutation.code] = mutation;
}

/** Applies the records of a frame, from behind its database number to its end. */
export function replayRecords(keyspace: Keyspace, frame: FrameReader): void {
  while (!frame.isAtEnd) {
    const code = frame.code();
    const mutation = mutationByCode[code];
    assert(mutation !== undefined, `record code ${code} is known to this version`);
    mutation.replay(keyspace, frame);
  }
}

/**
 * Every kind of record in the frames of a database, by its code. A code never
 * changes, because data directories contain it. A row that is no longer written
 * stays, so that old journals can be read.
 */
import { assert } from "../../kernel/assert.ts";
import type { FrameReader } from "../../kernel/frame.ts";
import { userMutations } from "../acl/user-records.ts";
import type { DatabaseState } from "./database-state.ts";
import { genericMutations } from "./generic.ts";
import { hashMutations } from "./hash.ts";
import { hyperLogLogMutations } from "./hyperloglog.ts";
import { jsonMutations } from "./json.ts";
import { listMutations } from "./list.ts";
import type { Mutation, StateMutation } from "./mutation.ts";
import { setMutations } from "./set.ts";
import { sortedSetMutations } from "./sorted-set.ts";
import { settingMutations } from "./state/chosen-settings.ts";
import { functionMutations } from "./state/functions.ts";
import { aliasMutations, searchMutations } from "./state/search-indexes.ts";
import { streamMutations } from "./stream.ts";
import { streamGroupMutations } from "./stream-group.ts";
import { stringMutations } from "./string.ts";

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
  ...searchMutations,
];

export const stateMutations: readonly StateMutation[] = [
  ...functionMutations,
  ...userMutations,
  ...settingMutations,
  ...aliasMutations,
];

const rows: readonly StateMutation[] = [
  ...mutations.map(({ code, name, apply }) => ({
    code,
    name,
    apply: ({ keyspace }: DatabaseState, record: FrameReader) => apply(keyspace, record),
  })),
  ...stateMutations,
];

const applyByCode: (StateMutation["apply"] | undefined)[] = [];
for (const { code, apply } of rows) {
  assert(applyByCode[code] === undefined, `record code ${code} belongs to one mutation`);
  applyByCode[code] = apply;
}

/** Applies the records of a frame, from the end of its database number to its own end. */
export function applyRecords(state: DatabaseState, frame: FrameReader): void {
  const { entries } = state.keyspace;
  entries.beginLoad();
  while (!frame.isAtEnd) {
    const code = frame.code();
    const apply = applyByCode[code];
    assert(apply !== undefined, `record code ${code} is known to this version`);
    apply(state, frame);
  }
  entries.endLoad();
}

/**
 * All records of messaging in the journal, by kind. To add one, add its signature
 * and its row to the file of its subject; no other code lists the kinds.
 */
import { assert } from "../../kernel/assert.ts";
import type { User } from "../state/user.ts";
import { type AreaKinds, areaRecords } from "./area-records.ts";
import { type BodyKinds, bodyRecords } from "./body-records.ts";
import { type DeadLetterKinds, deadLetterRecords } from "./dead-letter-records.ts";
import { type MessageKinds, messageRecords } from "./message-records.ts";
import { type ResourceKinds, resourceRecords } from "./resource-records.ts";
import type { FieldsOf, RecordRows, ResultOf } from "./row.ts";
import { type RunKinds, runRecords } from "./run-records.ts";

export interface UserKinds extends MessageKinds, DeadLetterKinds, BodyKinds, ResourceKinds, RunKinds {}

export type AreaKind = keyof AreaKinds;
export type UserKind = keyof UserKinds;

export type AreaFields<Kind extends AreaKind> = FieldsOf<AreaKinds[Kind]>;
export type UserFields<Kind extends UserKind> = FieldsOf<UserKinds[Kind]>;
export type AreaResult<Kind extends AreaKind> = ResultOf<AreaKinds[Kind]>;
export type UserResult<Kind extends UserKind> = ResultOf<UserKinds[Kind]>;

/** A change of one user: the kind and the fields of its record. */
export type UserChange<Kind extends UserKind = UserKind> = {
  [Each in Kind]: { readonly kind: Each; readonly fields: UserFields<Each> };
}[Kind];

export const userRecords: RecordRows<User, UserKinds> = {
  ...messageRecords,
  ...deadLetterRecords,
  ...bodyRecords,
  ...resourceRecords,
  ...runRecords,
};

export { areaRecords };

const areaKinds = kindsByCode<AreaKind>(areaRecords);
const userKinds = kindsByCode<UserKind>(userRecords);

/** The kind of a record of the area. Throws for a code that this version does not know. */
export function areaKindOf(code: number): AreaKind {
  return getKind(areaKinds, code);
}

/** The kind of a record of a user. Throws for a code that this version does not know. */
export function userKindOf(code: number): UserKind {
  return getKind(userKinds, code);
}

function kindsByCode<Kind extends string>(
  rows: Readonly<Record<Kind, { readonly code: number }>>,
): ReadonlyMap<number, Kind> {
  const kinds = new Map<number, Kind>();
  for (const kind of Object.keys(rows) as Kind[]) {
    const { code } = rows[kind];
    assert(!kinds.has(code), `record code ${code} has one meaning`);
    kinds.set(code, kind);
  }
  return kinds;
}

function getKind<Kind>(kinds: ReadonlyMap<number, Kind>, code: number): Kind {
  const kind = kinds.get(code);
  assert(kind !== undefined, `messaging record code ${code} is known to this version`);
  return kind;
}

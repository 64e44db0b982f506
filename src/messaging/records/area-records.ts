/** Records of the area itself: its users, and the last numbers in use. Their tenant number is 0. */
import type { SigningKeys, User } from "../state/user.ts";
import { readJson, readText, writeJson, writeText } from "./fields.ts";
import { NO_EVENT, type RecordRows } from "./row.ts";

/** In place of the number of a user. */
export const AREA = 0;

export interface AreaKinds {
  userCreated(fields: { readonly number: number; readonly name: string; readonly keys: SigningKeys }): User;
  /** Drops a user with all its state. */
  userDropped(fields: { readonly number: number }): void;
  /** Snapshots: the last numbers in use. */
  numbersGiven(fields: { readonly userNumber: number; readonly sequence: number }): void;
}

export const areaRecords: RecordRows<undefined, AreaKinds> = {
  userCreated: {
    code: 1,
    write(frame, { number, name, keys }) {
      frame.number(number);
      writeText(frame, name);
      writeJson(frame, keys);
    },
    read: (reader) => ({ number: reader.number(), name: readText(reader), keys: readJson<SigningKeys>(reader) }),
    apply: ({ state }, { number, name, keys }) => state.createUser(number, name, keys),
    event: NO_EVENT,
  },
  userDropped: {
    code: 2,
    write: (frame, { number }) => void frame.number(number),
    read: (reader) => ({ number: reader.number() }),
    apply: ({ state }, { number }) => state.dropUser(state.userOf(number)),
    event: ({ droppedUsers }, { number }) => void droppedUsers.push(number),
  },
  numbersGiven: {
    code: 3,
    write: (frame, { userNumber, sequence }) => void frame.number(userNumber).number(sequence),
    read: (reader) => ({ userNumber: reader.number(), sequence: reader.number() }),
    apply({ state }, { userNumber, sequence }) {
      state.raiseUserNumber(userNumber);
      state.raiseSequence(sequence);
    },
    event: NO_EVENT,
  },
};

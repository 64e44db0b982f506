/** The records of the users of a database. They contain no clear password and no token. */
import type { StateMutation } from "../mutations/mutation.ts";
import { DELETE_USER, SET_TOKEN_SECRET, SET_USER } from "./users.ts";

export const userMutations: readonly StateMutation[] = [
  {
    // name, count of rules, each rule, count of tokens, SHA-256 of each in hexadecimal digits
    code: SET_USER,
    name: "user",
    apply: ({ users }, record) => {
      const name = record.bytes();
      const rules = Array.from({ length: record.number() }, () => record.bytes());
      const tokenHashes = Array.from({ length: record.number() }, () => record.bytes());
      users.replayUser(name, { rules, tokenHashes });
    },
    describe: ({ users }, record) => users.describe(record),
  },
  {
    // name
    code: DELETE_USER,
    name: "user-deleted",
    apply: ({ users }, record) => users.replayDeletion(record.bytes()),
  },
  {
    // The 32 bytes from which the tokens of users are derived.
    code: SET_TOKEN_SECRET,
    name: "user-token-secret",
    apply: ({ users }, record) => users.replaySecret(record.buffer()),
  },
];

/** The state of a database that its records change. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Users } from "../acl/users.ts";
import type { Keyspace } from "../keyspace.ts";
import type { Scripts } from "../scripting/scripts.ts";

/** What CONFIG SET has chosen: the texts of parameters by their names of today. */
export type ChosenSettings = Map<Bytes, Bytes>;

export interface DatabaseState {
  readonly keyspace: Keyspace;
  readonly scripts: Scripts;
  readonly users: Users;
  readonly chosen: ChosenSettings;
}

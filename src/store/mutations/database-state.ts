/** The state of a database that its records change. */
import type { Users } from "../acl/users.ts";
import type { Keyspace } from "../keyspace.ts";
import type { Scripts } from "../scripting/scripts.ts";

export interface DatabaseState {
  readonly keyspace: Keyspace;
  readonly scripts: Scripts;
  readonly users: Users;
}

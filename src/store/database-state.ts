/** What the records of a database change: what is kept of it. */
import type { Keyspace } from "./keyspace.ts";

export interface DatabaseState {
  readonly keyspace: Keyspace;
}

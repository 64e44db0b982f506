/** Who asks the store for something: with whose rights, and over what. */
import type { User } from "../acl/user.ts";
import type { Session } from "./session.ts";
import type { ReplyTaker } from "./waiters.ts";

export interface Caller {
  readonly user: User;
  readonly transport: "http" | "tcp";
  /** `address:port` of the peer. */
  readonly address: string;
  /** True for a script, which runs commands with the rights of its caller. */
  readonly isScript?: boolean;
  /** Takes the reply of a command that has to wait. Absent: this caller cannot wait, and such a command answers at once. */
  readonly waiting?: ReplyTaker | undefined;
  /** Its session over one connection, which some commands change. */
  readonly session?: Session | undefined;
}

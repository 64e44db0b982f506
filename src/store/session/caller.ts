/** The caller of the store: its rights and its transport. */
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
  /** Takes the reply of a blocked command. Absent: this caller cannot block, and such a command replies at once. */
  readonly waiting?: ReplyTaker | undefined;
  /** True once the peer has disconnected: then nobody reads the reply. */
  readonly hasLeft?: boolean;
  /** The session of its connection, which some commands change. */
  readonly session?: Session | undefined;
}

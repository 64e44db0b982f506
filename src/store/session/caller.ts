/** Who asks the store for something: with whose rights, and over what. */
import type { User } from "../acl/user.ts";
import type { Reply } from "../reply.ts";
import type { Session } from "./session.ts";

export interface Caller {
  readonly user: User;
  readonly transport: "http" | "tcp";
  /** `address:port` of the peer. */
  readonly address: string;
  /** True for a script, which runs commands with the rights of its caller. */
  readonly isScript?: boolean;
  /** Takes the reply of a command that has to wait. Absent: this caller cannot wait, and such a command answers at once. */
  readonly waiting?: ReplyTaker | undefined;
  /** The conversation that it has over one connection, which some commands change. */
  readonly session?: Session | undefined;
}

export interface ReplyTaker {
  /**
   * The reply of the command that had to wait, within the unit of work that made it: it may leave when the journal is
   * safe up to the end of that unit. Must not call the engine.
   */
  take(reply: Reply): void;
}

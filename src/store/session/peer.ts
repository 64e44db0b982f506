/**
 * What a session needs from outside: its peer, and login. The listener of the
 * RESP port provides both (`edge/resp`).
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { User } from "../acl/user.ts";
import type { Push } from "../observe/pushes.ts";
import type { Reply } from "../reply/reply.ts";
import type { SessionHost } from "./host.ts";
import type { Session } from "./session.ts";

export interface SessionPeer {
  /** `address:port` of the peer, and of our end. */
  readonly address: string;
  readonly localAddress: string;
  /** Bytes that the peer has not read yet, and received bytes that are not a whole command yet. */
  readonly queuedBytes: number;
  readonly unreadBytes: number;
  /** All bytes of the connection so far. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Sends one reply, after all earlier ones, in the session's current version of RESP. */
  reply(reply: Reply): void;
  /** Sends a push in the same way. It is safe already. */
  push(push: Push): void;
  /** The blocked command got its reply through `reply`: the session takes commands again. */
  resume(): void;
  /** Stops taking commands. Replies that were passed to `reply` are still sent, or, with at once, dropped. */
  close(when: "when written" | "at once"): void;
}

/** Checks logins (A.tcp). One for each connection. */
export interface SessionLogin {
  /**
   * The login of these credentials. `user` is undefined for `AUTH <password>`. Undefined if they are wrong; ACL LOG
   * records that `session` sent them.
   */
  logIn(
    credentials: { readonly user: Bytes | undefined; readonly password: Bytes },
    session?: Session,
  ): LoggedIn | undefined;
  /** The login of a new connection if no password is needed, else undefined. */
  readonly anonymous: LoggedIn | undefined;
}

export interface LoggedIn {
  readonly database: SessionHost;
  readonly user: User;
}

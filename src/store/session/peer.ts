/**
 * What a session needs of the world around it: its far end, and who opens it.
 * The listener of the RESP port gives it both (`edge/resp`).
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { User } from "../acl/user.ts";
import type { Push } from "../observe/pushes.ts";
import type { Reply } from "../reply/reply.ts";
import type { SessionHost } from "./host.ts";
import type { Session } from "./session.ts";

export interface SessionPeer {
  /** `address:port` of the far end, and of our own. */
  readonly address: string;
  readonly localAddress: string;
  /** Bytes that the far end has not read yet, and those that have come and are no whole command yet. */
  readonly queuedBytes: number;
  readonly unreadBytes: number;
  /** One reply, behind everything before, in the version of RESP that the session has at this moment. */
  reply(reply: Reply): void;
  /** What the session listens to, likewise. It is safe already. */
  push(push: Push): void;
  /** The command that waited has got its reply, by `reply`: more commands may be given to the session. */
  resume(): void;
  /** No more commands are taken. What was given to `reply` is still sent, or, at once, is not. */
  close(when: "when written" | "at once"): void;
}

/** Who may come in (A.tcp). One for each connection. */
export interface SessionLogin {
  /**
   * Whom these credentials open. `user` is undefined for `AUTH <password>`. Undefined: they are wrong, and ACL LOG tells
   * that `asker` gave them.
   */
  logIn(
    credentials: { readonly user: Bytes | undefined; readonly password: Bytes },
    asker?: Session,
  ): LoggedIn | undefined;
  /** Whom a connection is that has not logged in, where that needs no password; elsewhere undefined. */
  readonly anonymous: LoggedIn | undefined;
}

export interface LoggedIn {
  readonly database: SessionHost;
  readonly user: User;
}

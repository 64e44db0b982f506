/**
 * A session as the admin port shows it: the facts of CLIENT LIST by name. It has
 * the name of the last command, and never its arguments, keys or channels.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { type ClientState, memoryBytesOf, secondsSince, statesOf } from "./client-line.ts";
import type { Session } from "./session.ts";

export interface ClientFacts {
  readonly id: number;
  /** `address:port` of the client, and of the port that it has connected to. */
  readonly address: string;
  readonly localAddress: string;
  readonly user: Bytes;
  /** What it has said of itself with CLIENT SETNAME and SETINFO: printable ASCII, or empty. */
  readonly name: string;
  readonly libraryName: string;
  readonly libraryVersion: string;
  readonly respVersion: 2 | 3;
  readonly ageSeconds: number;
  readonly idleSeconds: number;
  readonly states: readonly ClientState[];
  /** Such as `client|setname`; absent before the first command. */
  readonly lastCommand?: string;
  /** The commands so far, without those in scripts. */
  readonly commands: number;
  /** Channels and patterns. */
  readonly subscriptions: number;
  readonly queuedCommands: number;
  readonly watchedKeys: number;
  /** Incomplete requests, unread replies and queued commands. */
  readonly memoryBytes: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** The facts of a session that is logged in. */
export function clientFacts(session: Session, nowMs: number): ClientFacts {
  const { peer, listening, transaction, lastCommand } = session;
  return {
    id: session.id,
    address: peer.address,
    localAddress: peer.localAddress,
    user: session.user.name,
    name: session.name,
    libraryName: session.libraryName,
    libraryVersion: session.libraryVersion,
    respVersion: session.respVersion,
    ageSeconds: secondsSince(session.startedAtMs, nowMs),
    idleSeconds: secondsSince(session.lastUsedMs, nowMs),
    states: statesOf(session),
    ...(lastCommand !== undefined && { lastCommand: lastCommand.fullName }),
    commands: session.commandCount,
    subscriptions: listening.count,
    queuedCommands: transaction.isOpen ? transaction.queued.length : 0,
    watchedKeys: transaction.watchedCount,
    memoryBytes: memoryBytesOf(session),
    receivedBytes: peer.receivedBytes,
    sentBytes: peer.sentBytes,
  };
}

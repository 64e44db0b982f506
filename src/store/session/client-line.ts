/** A caller as CLIENT LIST, CLIENT INFO and ACL LOG print it, and as the admin port shows it. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import type { Caller } from "./caller.ts";
import type { ClientFacts } from "./client-facts.ts";
import type { Session } from "./session.ts";

/** The special states of a session: the letter of CLIENT LIST, and the word of the admin port. */
const states = [
  ["O", "monitor", ({ listening }) => listening.isMonitor],
  ["P", "subscribed", ({ listening }) => listening.count > 0],
  ["x", "transaction", ({ transaction }) => transaction.isOpen],
  ["b", "blocked", ({ isWaiting }) => isWaiting],
  ["t", "tracking", ({ tracker }) => tracker !== undefined],
  ["R", "tracking redirect broken", ({ tracker }) => tracker?.isBroken === true],
  ["B", "tracking broadcast", ({ tracker }) => tracker?.options.isBroadcast === true],
  ["d", "watched key changed", ({ transaction }) => transaction.hasChanged],
  ["c", "closing", ({ isEnding }) => isEnding],
  ["e", "no-evict", ({ isExemptFromEviction }) => isExemptFromEviction],
  ["T", "no-touch", ({ leavesKeysUntouched }) => leavesKeysUntouched],
] as const satisfies readonly (readonly [letter: string, word: string, holds: (session: Session) => boolean])[];

export const clientStates: readonly string[] = states.map(([, word]) => word);

type Field = readonly [name: string, value: string | number];

/**
 * The fields of Redis 7, in its order, and those of later ones. The system's number of a socket is not known here, and
 * the words of a command are dropped when it has run. Requests are in a buffer of exactly their size, and replies wait
 * in one queue, without a buffer of the connection.
 */
const noDescriptor: Field = ["fd", -1];
const noReplyBuffer: readonly Field[] = [
  ["rbs", 0],
  ["rbp", 0],
  ["obl", 0],
];

/** The letters of its states, or `N` for none. */
export function flagsOf(session: Session): string {
  return states.flatMap(([letter, , holds]) => (holds(session) ? [letter] : [])).join("") || "N";
}

/** The words of its states. */
function statesOf(session: Session): readonly string[] {
  return states.flatMap(([, word, holds]) => (holds(session) ? [word] : []));
}

export function clientLine(session: Session, nowMs: number): Bytes {
  const { peer, listening, transaction, lastCommand } = session;
  const { queuedBytes } = peer;
  return lineOf([
    ["id", session.id],
    ["addr", peer.address],
    ["laddr", peer.localAddress],
    noDescriptor,
    ["name", session.name],
    ["age", secondsSince(session.startedAtMs, nowMs)],
    ["idle", secondsSince(session.lastUsedMs, nowMs)],
    ["flags", flagsOf(session)],
    ["db", 0],
    ["sub", listening.channelCount],
    ["psub", listening.patternCount],
    ["ssub", listening.shardChannelCount],
    ["multi", transaction.isOpen ? transaction.queued.length : -1],
    ["watch", transaction.watchedCount],
    ["qbuf", peer.unreadBytes],
    ["qbuf-free", 0],
    ["argv-mem", 0],
    ["multi-mem", transaction.queuedBytes],
    ...noReplyBuffer,
    ["oll", queuedBytes > 0 ? 1 : 0],
    ["omem", queuedBytes],
    ["tot-mem", memoryBytesOf(session)],
    ["events", queuedBytes > 0 ? "rw" : "r"],
    ["cmd", lastCommand?.fullName ?? "NULL"],
    // As in Redis: before login the user is `default`.
    ["user", session.isAuthenticated ? session.user.name : "default"],
    ["redir", session.tracker?.options.redirectTo ?? -1],
    ["resp", session.respVersion],
    ["lib-name", session.libraryName],
    ["lib-ver", session.libraryVersion],
    ["io-thread", 0],
    ["tot-net-in", peer.receivedBytes],
    ["tot-net-out", peer.sentBytes],
    ["tot-cmds", session.commandCount],
    ["capa", session.followsRedirects ? "r" : ""],
  ]);
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

/** The line of an HTTP caller, whose session is one request: without the fields of a connection. */
export function requestLine({ address, user }: Caller, command: CommandFacts | undefined): Bytes {
  return lineOf([
    ["id", 0],
    ["addr", address],
    ["laddr", ""],
    noDescriptor,
    ["name", ""],
    ["age", 0],
    ["idle", 0],
    ["flags", "N"],
    ["db", 0],
    ["cmd", command?.fullName ?? "NULL"],
    ["user", user.name],
  ]);
}

/** Memory of a session: incomplete requests, unread replies, and its queue. */
export function memoryBytesOf({ peer, transaction }: Session): number {
  return peer.unreadBytes + peer.queuedBytes + transaction.queuedBytes;
}

function lineOf(fields: readonly Field[]): Bytes {
  return fields.map(([name, value]) => `${name}=${value}`).join(" ");
}

/** Whole seconds, none if the clock was set back. */
function secondsSince(startMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - startMs) / 1_000));
}

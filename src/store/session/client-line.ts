/** A session as CLIENT LIST and CLIENT INFO print it. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Session } from "./session.ts";

/** What a session is, as a letter, where that is more than ordinary. */
const letters: readonly (readonly [string, (session: Session) => boolean])[] = [
  ["O", ({ listening }) => listening.isMonitor],
  ["P", ({ listening }) => listening.count > 0],
  ["x", ({ transaction }) => transaction.isOpen],
  ["b", ({ isWaiting }) => isWaiting],
  ["d", ({ transaction }) => transaction.hasChanged],
  ["c", ({ isEnding }) => isEnding],
  ["e", ({ isExemptFromEviction }) => isExemptFromEviction],
  ["T", ({ leavesKeysUntouched }) => leavesKeysUntouched],
];

/** The fields of Redis, of which those that tell of its own buffers stand here only as far as there is such a thing. */
export function clientLine(session: Session, nowMs: number): Bytes {
  const { peer, listening, transaction, lastCommand } = session;
  const flags = letters.flatMap(([letter, holds]) => (holds(session) ? [letter] : [])).join("");
  const fields: readonly (readonly [string, string | number])[] = [
    ["id", session.id],
    ["addr", peer.address],
    ["laddr", peer.localAddress],
    ["name", session.name],
    ["age", secondsSince(session.startedAtMs, nowMs)],
    ["idle", secondsSince(session.lastUsedMs, nowMs)],
    ["flags", flags === "" ? "N" : flags],
    ["db", 0],
    ["sub", listening.channelCount],
    ["psub", listening.patternCount],
    ["ssub", 0],
    ["multi", transaction.isOpen ? transaction.queued.length : -1],
    ["watch", transaction.watchedCount],
    ["qbuf", peer.unreadBytes],
    ["multi-mem", transaction.queuedBytes],
    ["omem", peer.queuedBytes],
    ["tot-mem", peer.unreadBytes + peer.queuedBytes + transaction.queuedBytes],
    ["cmd", lastCommand?.fullName ?? "NULL"],
    ["user", session.user.name],
    ["redir", -1],
    ["resp", session.respVersion],
    ["lib-name", session.libraryName],
    ["lib-ver", session.libraryVersion],
  ];
  return fields.map(([name, value]) => `${name}=${value}`).join(" ");
}

function secondsSince(startMs: number, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - startMs) / 1_000));
}

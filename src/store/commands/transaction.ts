/** Transactions over TCP. Over HTTP there is `/multi-exec` instead. */
import type { Bytes } from "../../kernel/bytes.ts";
import { allKeys, family, noKeys, type Row } from "../command.ts";
import {
  discardWithoutMulti,
  execWithoutMulti,
  multiNested,
  refusalOfExec,
  StoppedUnit,
  transactionAborted,
  watchInMulti,
} from "../errors.ts";
import { nilArray, ok, type Reply } from "../reply/reply.ts";
import type { Session } from "../session/session.ts";
import { looked } from "./command-keys.ts";

const facts: Pick<Row, "flags" | "keys" | "run"> = {
  flags: ["noscript", "loading", "stale", "fast", "allow_busy", "public", "tcp-only"],
  keys: noKeys,
  run: () => ok,
};

export const transactionCommands = family("transaction", [
  {
    ...facts,
    name: "DISCARD",
    summary: "Discards the queued commands and the watched keys",
    arity: 1,
    flags: [...facts.flags, "unqueued"],
    runInSession: ({ transaction }) => {
      if (!transaction.isOpen) throw discardWithoutMulti;
      transaction.end();
      return ok;
    },
  },
  {
    ...facts,
    name: "EXEC",
    summary: "Runs the queued commands as one, unless a watched key has changed",
    arity: 1,
    flags: ["noscript", "loading", "stale", "skip_slowlog", "public", "tcp-only", "unqueued", "runs-queue"],
    runInSession: exec,
  },
  {
    ...facts,
    name: "MULTI",
    summary: "Queues the commands that follow",
    arity: 1,
    flags: [...facts.flags, "unqueued"],
    runInSession: (session) => {
      const { transaction } = session;
      if (transaction.isOpen) throw multiNested;
      transaction.isOpen = true;
      session.modeChanged();
      return ok;
    },
  },
  {
    ...facts,
    name: "UNWATCH",
    summary: "Unwatches all keys",
    arity: 1,
    runInSession: ({ transaction }) => {
      transaction.unwatch();
      return ok;
    },
  },
  {
    ...facts,
    name: "WATCH",
    summary: "Makes EXEC do nothing if one of these keys changes before it",
    arity: -2,
    keys: allKeys,
    keyUses: [looked],
    flags: [...facts.flags, "unqueued"],
    runInSession: ({ transaction, database }, words: readonly Bytes[]) => {
      if (transaction.isOpen) throw watchInMulti;
      transaction.watch(database, words.slice(1));
      return ok;
    },
  },
]);

function exec(session: Session): Reply {
  const { transaction, database } = session;
  if (!transaction.isOpen) throw execWithoutMulti;
  try {
    const refusal = database.refusalOfQueued(transaction.queued);
    if (refusal !== undefined) throw refusalOfExec(refusal);
    transaction.noteExpired();
    if (transaction.isRefused) throw transactionAborted;
    if (transaction.hasChanged) return nilArray;
    return session.executeQueued();
  } catch (error) {
    if (error instanceof StoppedUnit) throw refusalOfExec(error);
    throw error;
  } finally {
    transaction.end();
    session.modeChanged();
  }
}

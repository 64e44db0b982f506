/**
 * Several connections to a separate database, whose commands may wait:
 * for tests of blocking commands.
 *
 *     const session = startSession();
 *     const one = connect(session);
 *     assert.equal(one.run("BLPOP list 0"), later);
 *     session.run("RPUSH list x");
 *     assert.deepEqual(one.received, [["list", "x"]]);
 */
import assert from "node:assert/strict";
import type { Bytes } from "../../src/kernel/bytes.ts";
import { defaultUser } from "../../src/store/acl/built-in-users.ts";
import type { Database } from "../../src/store/database.ts";
import type { Reply } from "../../src/store/reply/reply.ts";
import type { Caller } from "../../src/store/session/caller.ts";
import { plainReply, type Session, splitLine } from "./store-harness.ts";

export interface WaitingCaller extends Caller {
  /** Runs a line, or words unchanged. `later` while it waits. */
  run(line: string | readonly Bytes[]): Reply;
  /** The replies to commands that had to wait. */
  readonly received: Reply[];
  readonly isWaiting: boolean;
}

/** One more connection; `heard` is called with each reply to a command that had to wait. */
export function connect(session: Pick<Session, "database">, heard: (reply: Reply) => void = () => {}): WaitingCaller {
  const { database } = session;
  const received: Reply[] = [];
  const waiting = {
    take(reply: Reply): void {
      received.push(plainReply(reply));
      heard(plainReply(reply));
    },
  };
  const caller: WaitingCaller = {
    user: defaultUser,
    transport: "tcp",
    address: "127.0.0.1:1",
    waiting,
    received,
    get isWaiting() {
      return database.waiters.isWaiting(waiting);
    },
    run: (line) => runAs(database, caller, wordsOf(line)),
  };
  return caller;
}

function wordsOf(line: string | readonly Bytes[]): readonly Bytes[] {
  return typeof line === "string" ? splitLine(line) : line;
}

function runAs(database: Database, caller: Caller, words: readonly Bytes[]): Reply {
  assert.ok(
    caller.waiting === undefined || !database.waiters.isWaiting(caller.waiting),
    "a waiting client sends nothing",
  );
  return plainReply(database.execute(caller, words));
}

/** Runs several commands as one unit of work, for a client that cannot wait. */
export function transact(
  session: Pick<Session, "database">,
  lines: readonly (string | readonly Bytes[])[],
): readonly Reply[] {
  const caller: Caller = { user: defaultUser, transport: "tcp", address: "127.0.0.1:2" };
  const replies = session.database.transaction(caller, lines.map(wordsOf));
  assert.ok(!(replies instanceof Promise), "a journal that is always durable answers at once");
  return replies.map(plainReply);
}

/** What a session needs of the database that it is logged in to, beside its commands. `database.ts` implements it. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { Tenant } from "../../kernel/turns.ts";
import type { CommandFacts, CommandRequest } from "../command-facts.ts";
import type { CommandHost } from "../command-host.ts";
import type { CommandError } from "../errors.ts";
import type { KeyObservers } from "../observe/key-observers.ts";
import type { Subscriber } from "../observe/pushes.ts";
import type { Reply } from "../reply/reply.ts";
import type { Caller } from "./caller.ts";
import type { RequestWaits } from "./request-waits.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { QueuedCommand } from "./transaction.ts";
import type { UnitFrames } from "./unit-frames.ts";

export interface SessionHost extends CommandHost {
  readonly sessions: Sessions;
  readonly observers: KeyObservers;
  /** The turns of the database in its thread. */
  readonly turn: Tenant;
  /** The frames of its units of work. */
  readonly frames: UnitFrames;
  /** Bytes of frames that the journal has not written yet. */
  journalBytes: number;
  /** When the last unit of work began, and when the clock was last read. */
  readonly beganAtMs: number;
  readonly lookedAtMs: number;
  /** Runs one command. The reply may leave when the current end of the journal is safe. */
  execute(caller: Caller, request: CommandRequest): Reply;
  /** As `execute`, right after another command: it may have the time of that one. */
  executeNext(caller: Caller, request: CommandRequest): Reply;
  /** Requests that must wait before they run. */
  readonly waits: RequestWaits;
  /** The command that a session may queue for a transaction, or why it may not. */
  admit(caller: Caller, request: CommandRequest): CommandFacts | CommandError;
  /** Why none of these commands may run now, as part of the running unit of work, which is that of EXEC. */
  refusalOfQueued(queued: readonly QueuedCommand[]): CommandError | undefined;
  /** Runs queued commands as part of the running unit of work, which is that of EXEC. */
  runAllQueued<Printed>(
    caller: Caller,
    queued: readonly QueuedCommand[],
    print: (replies: readonly Reply[]) => Printed,
  ): Printed;
  /** Removes all subscriptions of a subscriber. */
  closeSubscriber(subscriber: Subscriber): void;
}

/** What a session needs of the store before it is logged in to a database. */
export interface SessionStore {
  takeSessionId(): number;
  answerBeforeLogin(session: Session, words: readonly Bytes[]): Reply;
}

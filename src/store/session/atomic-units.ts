/**
 * Scripts and transactions are atomic: a limit that stops one undoes it. So are
 * commands whose reply may be too long to be sent, and all that write while the
 * disk is nearly full.
 *
 * (1) Undone are the changes of keys, libraries of functions and users, the
 *     records in the frame of the unit, and its pushes: messages and events leave
 *     only after the unit, so nobody has seen them.
 * (2) What is not stored is not undone: cached scripts, the state of sessions,
 *     counters of commands, when keys were last used, and settings of CONFIG SET
 *     unless they are stored too (`StoreFacts.keepsSettings`).
 * (3) Keys count as changed for WATCH, and waiting clients try them again: both
 *     are correct, if unnecessary, after a unit that changed nothing.
 * (4) A unit within a unit is part of it: a script that is stopped undoes its
 *     transaction.
 * (5) A unit is printed before it ends. If its reply cannot be sent, the caller
 *     would lose what the unit took, so it is undone.
 * (6) While the journal is tight, a unit ends only if the disk has room for its
 *     records; else it is undone.
 */
import type { FrameWriter } from "../../kernel/frame.ts";
import type { Journal } from "../../kernel/journal.ts";
import type { Users } from "../acl/users.ts";
import { CommandError, NoDiskSpace, StoppedUnit, stoppedAndUndone, undoTooLarge } from "../errors.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { inversesOfPut } from "../mutations/generic.ts";
import { UndoLog } from "../mutations/undo-log.ts";
import type { Pushes } from "../observe/pushes.ts";
import { type FitRequest, mayNotFit } from "../reply/fit.ts";
import type { ReplyPrinter } from "../reply/printer.ts";
import { errorReply, findError, type Reply } from "../reply/reply.ts";

/** The database, as far as its units need it. */
export interface UnitHost {
  readonly keyspace: Keyspace;
  readonly users: Users;
  readonly context: {
    readonly frame: FrameWriter;
    readonly journal: Pick<Journal, "isTight" | "lackFor">;
    /** The memory that undoing one unit may take. */
    readonly undoBytesMax: number;
    /** Reports a bug within a unit of work. */
    reportBug(error: unknown): void;
  };
  countMemory(): void;
}

export class AtomicUnits {
  readonly #host: UnitHost;
  readonly #pushes: Pushes;
  readonly #undo: KeyspaceUndo;
  #isAlone = false;

  constructor(host: UnitHost, pushes: Pushes) {
    const { keyspace } = host;
    this.#host = host;
    this.#pushes = pushes;
    this.#undo = new UndoLog(inversesOfPut(keyspace), () => keyspace.usedBytes);
  }

  /** True while a unit runs. */
  get isRunning(): boolean {
    return this.#host.keyspace.undo !== undefined;
  }

  /**
   * Runs commands as one unit, or as part of the running one.
   *
   * @throws {StoppedUnit} if a limit has stopped them; then they have changed nothing. `undone` ends its text if there
   *     was something to undo.
   */
  run<Result>(commands: () => Result, undone: string): Result {
    if (this.isRunning) return commands(); // keeps (4)
    const { keyspace, users, context } = this.#host;
    const { frame } = context;
    const { unitByteCount } = frame;
    const { madeCount } = this.#pushes;
    const { expiredCount, expiredFieldCount, evictedCount } = keyspace;
    const undo = this.#undo;
    undo.begin(context.undoBytesMax);
    keyspace.undo = undo;
    users.undo = undo;
    try {
      return commands();
    } catch (error) {
      if (!(error instanceof StoppedUnit)) throw error;
      const hasWritten = frame.unitByteCount > unitByteCount;
      undo.undo();
      frame.cutUnit(unitByteCount);
      this.#pushes.dropMessages(madeCount);
      // CONFIG RESETSTAT may have come in between.
      keyspace.expiredCount = Math.min(keyspace.expiredCount, expiredCount);
      keyspace.expiredFieldCount = Math.min(keyspace.expiredFieldCount, expiredFieldCount);
      keyspace.evictedCount = Math.min(keyspace.evictedCount, evictedCount);
      this.#host.countMemory();
      // A full disk has the same text whether a command was refused or undone.
      throw hasWritten && !(error instanceof NoDiskSpace) ? stoppedAndUndone(error, undone) : error;
    } finally {
      keyspace.undo = undefined;
      users.undo = undefined;
      undo.end();
    }
  }

  /** True while a unit runs that is one command. */
  get isAlone(): boolean {
    return this.#isAlone;
  }

  /**
   * Runs one command as a unit and prints its reply. If the reply cannot be sent, the command is undone, and the reply is
   * the error. `answerError` counts the error.
   */
  printAlone<Printed>(
    run: () => Reply,
    printer: ReplyPrinter<Printed>,
    answerError: (error: CommandError) => Reply,
  ): Printed {
    this.#isAlone = true;
    let isCounted = false;
    try {
      return this.run(() => {
        const reply = run();
        const error = findError(reply);
        isCounted = error !== undefined;
        if (error instanceof StoppedUnit) throw error;
        return this.print(() => printer.print(reply));
      }, "its writes were undone");
    } catch (error) {
      if (!(error instanceof StoppedUnit)) throw error;
      return printer.printDone(isCounted ? errorReply(error) : answerError(error));
    } finally {
      this.#isAlone = false;
    }
  }

  /** Prints the replies of the running unit, which ends. @throws {StoppedUnit} if they cannot be sent, or (6). */
  print<Printed>(print: () => Printed): Printed {
    this.#checkDisk();
    try {
      return print();
    } catch (error) {
      if (error instanceof CommandError) throw StoppedUnit.becauseOf(error);
      // The state has changed, and the journal does not know it.
      this.#host.context.reportBug(error);
      throw error;
    }
  }

  /** True while the records of a command may not fit the disk. */
  get isTight(): boolean {
    return this.#host.context.journal.isTight === true;
  }

  /** Whether the records of a command may not fit the disk, or its reply `bytesMax`: then it runs as a unit. */
  mayNotFit(request: FitRequest, bytesMax: number): boolean {
    return this.isTight || mayNotFit(this.#host.keyspace, request, bytesMax);
  }

  /** @throws {StoppedUnit} if the disk has no room for the records of the unit. keeps (6) */
  #checkDisk(): void {
    const { frame, journal } = this.#host.context;
    const lack = frame.unitByteCount === 0 ? undefined : journal.lackFor?.(frame.byteCount);
    if (lack !== undefined) throw new NoDiskSpace(lack);
  }

  /** Called after each command of a unit. @throws {StoppedUnit} if undoing the unit would take too much memory. */
  checkSize(): void {
    if (this.#undo.isFull) throw undoTooLarge(this.#host.context.undoBytesMax);
  }
}

/**
 * Scripts and transactions are atomic: a limit that stops one undoes it.
 *
 * (1) Undone are the changes of keys, libraries of functions and users, the
 *     records in the frame of the unit, and its pushes: messages and events leave
 *     only after the unit, so nobody has seen them.
 * (2) What is not stored is not undone: settings of CONFIG SET, cached scripts,
 *     the state of sessions, counters of commands, and when keys were last used.
 * (3) Keys count as changed for WATCH, and waiting clients try them again: both
 *     are correct, if unnecessary, after a unit that changed nothing.
 * (4) A unit within a unit is part of it: a script that is stopped undoes its
 *     transaction.
 */
import type { FrameWriter } from "../../kernel/frame.ts";
import type { Users } from "../acl/users.ts";
import { StoppedUnit, stoppedAndUndone, undoTooLarge } from "../errors.ts";
import type { Keyspace, KeyspaceUndo } from "../keyspace.ts";
import { inversesOfPut } from "../mutations/generic.ts";
import { UndoLog } from "../mutations/undo-log.ts";
import type { Pushes } from "../observe/pushes.ts";

/** The database, as far as its units need it. */
export interface UnitHost {
  readonly keyspace: Keyspace;
  readonly users: Users;
  readonly context: {
    readonly frame: FrameWriter;
    /** The memory that undoing one unit may take. */
    readonly undoBytesMax: number;
  };
  countMemory(): void;
}

export class AtomicUnits {
  readonly #host: UnitHost;
  readonly #pushes: Pushes;
  readonly #undo: KeyspaceUndo;

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
    const { byteCount } = frame;
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
      const hasWritten = frame.byteCount > byteCount;
      undo.undo();
      frame.cut(byteCount);
      this.#pushes.dropMessages(madeCount);
      // CONFIG RESETSTAT may have come in between.
      keyspace.expiredCount = Math.min(keyspace.expiredCount, expiredCount);
      keyspace.expiredFieldCount = Math.min(keyspace.expiredFieldCount, expiredFieldCount);
      keyspace.evictedCount = Math.min(keyspace.evictedCount, evictedCount);
      this.#host.countMemory();
      throw hasWritten ? stoppedAndUndone(error, undone) : error;
    } finally {
      keyspace.undo = undefined;
      users.undo = undefined;
      undo.end();
    }
  }

  /** Called after each command of a unit. @throws {StoppedUnit} if undoing the unit would take too much memory. */
  checkSize(): void {
    if (this.#undo.isFull) throw undoTooLarge(this.#host.context.undoBytesMax);
  }
}

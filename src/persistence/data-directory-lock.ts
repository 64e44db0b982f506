/**
 * One process to a data directory (S-08). The lock is an exclusive transaction
 * on a small SQLite file, held for life: the system releases it when the
 * process ends however it ends, and it works across containers of one host,
 * where a process id would mean somebody else. What holds where the file is
 * deleted is in program/directory-lock.ts.
 *
 * Start-up loads this file only when there is a directory to lock, so a start
 * without one does not pay for SQLite.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DirectoryInUse } from "./errors.ts";

export const LOCK_FILE = "lock.sqlite";
/** SQLite's result when another connection holds the lock. */
const SQLITE_BUSY = 5;

/**
 * Locks a directory that exists and returns what releases it. Throws `DirectoryInUse` if it is locked already, by this
 * or by another process.
 */
export function lockDataDirectory(directory: string): () => void {
  // No waiting: whoever holds it holds it for life.
  const database = new DatabaseSync(join(directory, LOCK_FILE), { timeout: 0 });
  try {
    // Nothing is ever written, and a journal on the disk would need space: a full disk must not keep us from starting.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (isBusy(error)) throw new DirectoryInUse(directory);
    throw error;
  }
  return () => database.close();
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}

/**
 * One process per data directory (S-08). The lock is an exclusive transaction
 * on a small SQLite file, held until the process ends: the system releases it
 * however the process ends, and it works across containers on one host, where a
 * process id could belong to another process. directory-lock.ts of the program
 * handles a deleted lock file.
 *
 * Start-up only loads this file when there is a directory to lock, so a start
 * without one does not load SQLite.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DirectoryInUse } from "./errors.ts";

export const LOCK_FILE = "lock.sqlite";
/** SQLite's result when another connection holds the lock. */
const SQLITE_BUSY = 5;

/**
 * Locks a directory that exists and returns the function that releases it. Throws `DirectoryInUse` if this or another
 * process has locked it already.
 */
export function lockDataDirectory(directory: string): () => void {
  // No waiting: the holder keeps the lock for life.
  const database = new DatabaseSync(join(directory, LOCK_FILE), { timeout: 0 });
  try {
    // Nothing is ever written. A journal on disk would need space, and a full disk must not prevent a start.
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

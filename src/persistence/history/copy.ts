/** A copy of a history that somebody may be writing: what is in it is of one moment. */
import { Database } from "./database.ts";

/**
 * Copies the history at `from` into the new file `to`, compacted. Takes as long as reading it, and lets its writer go on.
 * Throws SQLite's errors (`failureOf`).
 */
export function copyHistory(from: string, to: string): void {
  // Not for reading only: after a crash, opening it puts what is in its log into the file.
  const database = new Database(from, { readOnly: false });
  try {
    database.prepare("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
}

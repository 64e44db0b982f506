/** A consistent copy of a history, even while it is being written. */
import { Database } from "./database.ts";

/**
 * Copies the history at `from` into the new file `to`, compacted. Takes as long as reading it and blocks no writes.
 * Throws SQLite's errors (`failureOf`).
 */
export function copyHistory(from: string, to: string): void {
  // Not read-only: after a crash, opening it moves the contents of its WAL into the file.
  const database = new Database(from, { readOnly: false });
  try {
    database.prepare("VACUUM INTO ?").run(to);
  } finally {
    database.close();
  }
}

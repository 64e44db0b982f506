/** The history for a thread that answers listings: a separate read-only connection, while another thread writes. */
import { Database } from "./database.ts";
import { prepareForListing } from "./layout.ts";
import { HistoryListing } from "./listing.ts";
import type { HistoryPage, HistoryQuery } from "./query.ts";

export class HistoryReader {
  readonly #database: Database;
  readonly #listing: HistoryListing;

  /** `path` is a file that a `History` has open. Throws SQLite's errors. */
  static open(path: string): HistoryReader {
    return new HistoryReader(new Database(path, { readOnly: true }));
  }

  private constructor(database: Database) {
    this.#database = database;
    try {
      prepareForListing(database);
      this.#listing = new HistoryListing(database);
    } catch (fault) {
      database.close();
      throw fault;
    }
  }

  /** As `History.list`. */
  list(query: HistoryQuery): HistoryPage {
    return this.#listing.list(query);
  }

  close(): void {
    this.#database.close();
  }
}

/** What messaging needs of the history, in its own words. Start-up gives it one. */
import type { Filter, LogPage, Page } from "./door.ts";
import type { User } from "./state/user.ts";

export interface LogReader {
  /** Entries that the filter means; what happened before the call is among them. Throws for a malformed cursor. */
  list(user: User, filter: Filter, page: Page): Promise<LogPage>;
}

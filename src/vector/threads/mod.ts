/** The entry of the threads that search: walks and scans over shared memory, without an index. */
export { Mailbox } from "./mailbox.ts";
export { runSearches } from "./search-worker.ts";
export type { ToSearchThread } from "./task-runner.ts";

/** The end of a blocked command, for its counters and the slow log. */
import { findError, type Reply } from "../reply/reply.ts";
import type { BlockedRun, BlockedTime } from "../session/waiters.ts";
import type { CommandCounts, ErrorCounts } from "./command-counts.ts";
import type { SlowRuns } from "./slow-runs.ts";

interface Observed {
  countsOf(command: BlockedRun["command"]): CommandCounts;
  readonly errorCounts: ErrorCounts;
  readonly slowRuns: SlowRuns;
  readonly keyspace: { readonly nowMs: number };
}

/** Counts the time in which the command was served, and its failure. */
export function noteUnblocked(
  observed: Observed,
  ended: { readonly run: BlockedRun; readonly reply: Reply; readonly time: BlockedTime },
): void {
  const { command, caller, words } = ended.run;
  const counts = observed.countsOf(command);
  counts.extendTime(ended.time.servingMs);
  const error = findError(ended.reply);
  if (error !== undefined) {
    observed.errorCounts.add(error.text);
    counts.failed += 1;
  }
  const { slowRuns, keyspace } = observed;
  const tookMs = ended.time.untilBlockedMs + ended.time.servingMs;
  if (tookMs >= slowRuns.thresholdMs) slowRuns.note(command, { caller, words, atMs: keyspace.nowMs, tookMs });
}

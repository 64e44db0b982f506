/** The times of commands that have run, for their counters and the slow log. */
import type { Bytes } from "../../kernel/bytes.ts";
import type { CommandFacts } from "../command-facts.ts";
import { findError, type Reply } from "../reply/reply.ts";
import type { BlockedRun, BlockedTime } from "../session/waiters.ts";
import type { CommandCounts, ErrorCounts } from "./command-counts.ts";
import type { Runner, SlowRuns } from "./slow-runs.ts";

/** The database, as far as times of commands are noted there. */
export interface Observed {
  countsOf(command: BlockedRun["command"]): CommandCounts;
  readonly errorCounts: ErrorCounts;
  readonly slowRuns: SlowRuns;
  readonly keyspace: { readonly nowMs: number };
}

/** A command that has run, as part of the running unit of work. */
interface Run {
  readonly command: CommandFacts;
  readonly caller: Runner;
  readonly words: readonly Bytes[];
  readonly tookMs: number;
}

/** Adds a command that took at least the threshold to the slow log and to the events of LATENCY. */
export function noteSlow({ slowRuns, keyspace }: Pick<Observed, "slowRuns" | "keyspace">, run: Run): void {
  slowRuns.note(run.command, { ...run, atMs: keyspace.nowMs });
}

/** Counts the time in which a blocked command was served, and its failure. */
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
  const tookMs = ended.time.untilBlockedMs + ended.time.servingMs;
  if (tookMs >= observed.slowRuns.thresholdMs) noteSlow(observed, { command, caller, words, tookMs });
}

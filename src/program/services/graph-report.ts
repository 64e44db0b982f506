/**
 * The progress of graphs that are built after a start because their file is
 * missing, damaged or out of date. Queries are served meanwhile, so only the log
 * reports it, and only if it takes more than a second.
 *
 *     graphs are being built     once, with the amount of work
 *     building graphs            every five seconds
 *     graphs are built           once, with the seconds taken
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { LOG_PAUSE_MS } from "../cli/progress.ts";

/** The part of a namespace that the report reads. */
export interface GraphSubject {
  /** Records that are not in its graph yet. */
  readonly pendingCount: number;
  readonly graph: { readonly count: number } | undefined;
}

/** One timer for all namespaces, and none if nothing is pending. */
const LOOK_MS = 1_000;
/** The share of pending records that does not count as work: during writes there are always some. */
const PENDING_SHARE = 0.01;
/** Without progress for this long, building has stopped: it lacks memory, or its thread has ended. */
const STUCK_MS = 60_000;

interface Amounts {
  /** In the graphs. */
  readonly done: number;
  readonly pending: number;
}

/** Follows the graphs until they are built. The returned function ends that. */
export function reportGraphs(
  namespaces: Iterable<GraphSubject>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): () => void {
  const subjects = [...namespaces].filter(({ pendingCount }) => pendingCount > 0);
  if (subjects.length === 0) return () => {};
  const startMs = clock.monotonicMs();
  const first = amountsOf(subjects);
  let before = first;
  let reportedMs: number | undefined;
  let movedMs = startMs;
  let cancel = (): void => {};

  const report = (): void => {
    const nowMs = clock.monotonicMs();
    const now = amountsOf(subjects);
    if (now.done !== before.done) movedMs = nowMs;
    const records = now.done + now.pending;
    const seconds = Math.round(nowMs - startMs) / 1_000;
    const isLeft = now.pending > records * PENDING_SHARE || now.pending < before.pending;
    if (now.pending === 0 || !isLeft) {
      if (reportedMs !== undefined) log.info("graphs are built", { records: now.done, pending: now.pending, seconds });
      return;
    }
    if (nowMs - movedMs >= STUCK_MS) {
      log.warn("graph building has stopped; pending records are searched exactly", { ...now, seconds });
      return;
    }
    if (reportedMs === undefined) {
      log.info("graphs are being built", { namespaces: subjects.length, records, pending: now.pending });
      reportedMs = nowMs;
    } else if (nowMs - reportedMs >= LOG_PAUSE_MS) {
      const perSecond = Math.max(0, Math.round((now.done - first.done) / seconds));
      log.info("building graphs", { percent: Math.floor((100 * now.done) / records), ...now, perSecond });
      reportedMs = nowMs;
    }
    before = now;
    cancel = clock.after(LOOK_MS, report);
  };
  cancel = clock.after(LOOK_MS, report);
  return () => cancel();
}

function amountsOf(subjects: readonly GraphSubject[]): Amounts {
  let done = 0;
  let pending = 0;
  for (const { graph, pendingCount } of subjects) {
    done += graph?.count ?? 0;
    pending += pendingCount;
  }
  return { done, pending };
}

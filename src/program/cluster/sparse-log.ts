/**
 * A log that repeats itself seldom: while PostgreSQL does not answer, a node tries
 * each call several times a second, and each failure has the same text.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log, LogFields } from "../../kernel/log.ts";

const REPEAT_MS_MIN = 10_000;

/** `log` without the warnings that it had in the last seconds, with another fault or none. Each names how many are left out. */
export function sparseLog(log: Log, clock: Pick<Clock, "monotonicMs">): Log {
  const known = new Map<string, { atMs: number; left: number }>();
  return {
    ...log,
    warn(event: string, fields?: LogFields) {
      const nowMs = clock.monotonicMs();
      const before = known.get(event);
      if (before !== undefined && nowMs - before.atMs < REPEAT_MS_MIN) {
        before.left += 1;
        return;
      }
      known.set(event, { atMs: nowMs, left: 0 });
      log.warn(event, before === undefined || before.left === 0 ? fields : { ...fields, leftOut: before.left });
    },
    with: (fields) => sparseLog(log.with(fields), clock),
  };
}

/**
 * When the steps of a run began and ended. A step begins when the group before has ended. The log has one moment of it: that of
 * its result, and for a step without a result, or a sleep, that of its beginning.
 */

export interface LoggedStep {
  readonly state: string;
  /** Unix ms. */
  readonly createdAt?: number;
  /** Seconds, or a duration such as `1h30m`. */
  readonly sleepFor?: number | string;
  /** Unix seconds. */
  readonly sleepUntil?: number;
}

export interface LoggedGroup<Step> {
  /** `next`: the steps that are under way. */
  readonly type: "sequential" | "parallel" | "next";
  readonly steps: readonly Step[];
}

export interface TimedStep<Step> {
  readonly step: Step;
  readonly isParallel: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

/** `startMs`, `endMs`: of the run; a run that is under way ends now. */
export function timedSteps<Step extends LoggedStep>(
  groups: readonly LoggedGroup<Step>[],
  { startMs, endMs }: { startMs: number; endMs: number },
): readonly TimedStep<Step>[] {
  let groupStartMs = startMs;
  return groups.flatMap(({ type, steps }) => {
    const timed = steps.map((step): TimedStep<Step> => {
      const end = Math.min(endMs, momentOfEnd(step, type) ?? endMs);
      return {
        step,
        isParallel: type === "parallel" || steps.length > 1,
        startMs: groupStartMs,
        endMs: Math.max(groupStartMs, end),
      };
    });
    const ended = timed.filter(({ step }) => step.state === "STEP_SUCCESS");
    groupStartMs = Math.max(groupStartMs, ...ended.map((one) => one.endMs));
    return timed;
  });
}

/** Undefined: it has not ended, or it ended with the run. */
function momentOfEnd(step: LoggedStep, type: LoggedGroup<unknown>["type"]): number | undefined {
  const { state, createdAt, sleepFor, sleepUntil } = step;
  if (state !== "STEP_SUCCESS" || createdAt === undefined) return undefined;
  // The result of a sleep is stored when the sleep begins; that of a parallel one when it has ended.
  if (type === "parallel") return createdAt;
  return sleepUntil === undefined ? createdAt + durationMs(sleepFor ?? 0) : Math.max(createdAt, sleepUntil * 1_000);
}

const UNITS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

/** Of seconds, or of a text such as `1h30m`. */
export function durationMs(duration: number | string): number {
  if (typeof duration === "number") return duration * 1_000;
  let ms = 0;
  for (const [, count, unit = ""] of duration.matchAll(/(\d+(?:\.\d+)?)([dhms])/g))
    ms += Number(count) * (UNITS[unit] ?? 0);
  return ms;
}

/** The text side of the console's pages of messaging and workflows: the next times of a schedule, and when steps began and ended. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTimes } from "../../console/src/pages/messaging/next-times.ts";
import {
  durationMs,
  type LoggedGroup,
  type LoggedStep,
  timedSteps,
} from "../../console/src/pages/workflows/step-times.ts";

type Group = LoggedGroup<LoggedStep & { readonly stepName: string }>;

const done = { state: "STEP_SUCCESS" } as const;

function timesOf(groups: readonly Group[], endMs: number): readonly string[] {
  return timedSteps(groups, { startMs: 1_000, endMs }).map(
    ({ step, isParallel, startMs, endMs: end }) => `${isParallel ? "∥ " : ""}${step.stepName} ${startMs}-${end}`,
  );
}

const ended: readonly Group[] = [
  { type: "sequential", steps: [{ stepName: "init", ...done, createdAt: 1_000 }] },
  { type: "sequential", steps: [{ stepName: "read", ...done, createdAt: 1_500 }] },
  // Its result is stored when it begins.
  { type: "sequential", steps: [{ stepName: "sleep", ...done, createdAt: 1_600, sleepFor: "10s" }] },
  { type: "sequential", steps: [{ stepName: "until", ...done, createdAt: 11_700, sleepUntil: 20 }] },
  {
    type: "parallel",
    steps: [
      { stepName: "a", ...done, createdAt: 21_000 },
      { stepName: "b", ...done, createdAt: 26_000, sleepFor: 5 },
    ],
  },
  { type: "sequential", steps: [{ stepName: "last", ...done, createdAt: 27_000 }] },
];

test("a step of a run takes the time from the group before it to its own end, and a sleep that of its duration", () => {
  assert.deepEqual(timesOf(ended, 28_000), [
    "init 1000-1000",
    "read 1000-1500",
    "sleep 1500-11600",
    "until 11600-20000",
    "∥ a 20000-21000",
    "∥ b 20000-26000",
    "last 26000-27000",
  ]);
});

test("steps without a result last until now, or until the end of the run", () => {
  const groups: readonly Group[] = [
    { type: "sequential", steps: [{ stepName: "wait", state: "STEP_PROGRESS", createdAt: 1_100 }] },
    { type: "next", steps: [{ stepName: "retried", state: "STEP_RETRY" }] },
  ];
  assert.deepEqual(timesOf(groups, 9_000), ["wait 1000-9000", "retried 1000-9000"]);
  const sleeping: Group = {
    type: "sequential",
    steps: [{ stepName: "sleep", state: "STEP_CANCELED", createdAt: 1_100, sleepFor: 86_400 }],
  };
  assert.deepEqual(timesOf([sleeping], 4_000), ["sleep 1000-4000"]);
});

test("durations of sleeps are seconds or texts", () => {
  assert.deepEqual(
    [90, "90s", "1h30m", "1.5h", "2d", "soon"].map(durationMs),
    [90_000, 90_000, 5_400_000, 5_400_000, 172_800_000, 0],
  );
});

test("a schedule has its next five times, also where a clock is set back", () => {
  const texts = (cron: string, next: string): readonly string[] =>
    nextTimes(cron, Date.parse(next)).map((ms) => new Date(ms).toISOString().slice(0, 16));
  assert.deepEqual(texts("CRON_TZ=Europe/Paris 30 2 * * *", "2026-10-24T00:30:00Z"), [
    "2026-10-24T00:30",
    "2026-10-25T00:30",
    "2026-10-26T01:30",
    "2026-10-27T01:30",
    "2026-10-28T01:30",
  ]);
  assert.deepEqual(texts("@every 90m", "2026-01-01T00:00:00Z").slice(0, 2), ["2026-01-01T00:00", "2026-01-01T01:30"]);
  assert.deepEqual(texts("CRON_TZ=Mars/Base 0 0 * * *", "2026-01-01T00:00:00Z"), ["2026-01-01T00:00"]);
});

/** The metrics of messaging. */

import type { Metrics } from "../../kernel/metrics.ts";
import { type Engine, runState } from "../../messaging/mod.ts";

const runOutcomes = [
  ["success", runState.success],
  ["failed", runState.failed],
  ["cancelled", runState.canceled],
] as const;

export function measureMessaging(metrics: Metrics, engine: Engine): void {
  const { counts, runTotals, state, scheduler, backpressure } = engine;
  const total = (name: string, help: string, read: () => number): void => {
    metrics.reading(`larder_messaging_${name}_total`, help, read, "counter");
  };
  const now = (name: string, help: string, read: () => number): void => {
    metrics.reading(`larder_messaging_${name}`, help, read);
  };
  total("accepted", "Messages accepted", () => counts.accepted);
  total("deduplicated", "Messages that duplicated an earlier message", () => counts.deduplicated);
  total("attempts", "Calls of destinations started", () => counts.attempts);
  total("repeated_attempts", "Calls repeated because a crash hid their result", () => counts.repeated);
  total("delivered", "Messages delivered", () => counts.delivered);
  total("retried", "Failed attempts that are retried", () => counts.retried);
  total("failed", "Messages that became dead letters", () => counts.failed);
  total("cancelled", "Messages cancelled", () => counts.cancelled);
  now("unfinished_messages", "Messages that are neither delivered nor failed nor cancelled", () => state.messages.size);
  now("timed_messages", "Messages that wait for their delivery time", () => scheduler.timedCount);
  now("calls", "Calls of destinations in progress", () => scheduler.inFlightCount);
  now("dead_letters", "Dead letters", () => {
    let count = 0;
    for (const user of state.users) count += user.deadLetters.size;
    return count;
  });
  now(
    "damaged_bodies",
    "Bodies of messages, dead letters and runs known to be damaged on disk",
    () => state.bodies.damagedCount,
  );
  metrics.readings(
    {
      name: "larder_messaging_waiting_messages",
      help: "Messages that are due but wait, by the reason",
      kind: "gauge",
      labelNames: ["reason"],
    },
    () => [...scheduler.waitingCounts].map(([reason, count]) => ({ labelValues: [reason], values: [count] })),
  );
  total("workflow_runs_started", "Workflow runs started", () => runTotals.started);
  metrics.readings(
    {
      name: "larder_messaging_workflow_runs_ended_total",
      help: "Workflow runs ended, by result",
      kind: "counter",
      labelNames: ["outcome"],
    },
    () => runOutcomes.map(([outcome, state]) => ({ labelValues: [outcome], values: [runTotals.ended[state]] })),
  );
  total("workflow_steps_delivered", "Deliveries accepted by endpoints of workflow runs", () => {
    return runTotals.deliveredSteps;
  });
  now("workflow_runs", "Running workflow runs", () => {
    let count = 0;
    for (const user of state.users) count += user.runs.size - user.endedRuns.size;
    return count;
  });
  now("workflow_waits", "Waits of workflow runs for an event", () => state.waitersByNumber.size);
  now("waiting_publishers", "Publishers that wait because deliveries lag", () => backpressure.waitingCount);
  now("body_bytes", "Memory of bodies", () => state.bodies.memoryBytes);
  now("lag_seconds", "Waiting time of the oldest message that could be delivered", () => engine.lagMs() / 1_000);
}

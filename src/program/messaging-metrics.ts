/** The figures of messaging, as Prometheus families. */
import type { Metrics } from "../kernel/metrics.ts";
import type { Engine } from "../messaging/engine.ts";

export function measureMessaging(metrics: Metrics, engine: Engine): void {
  const { counts, realm, scheduler, brake } = engine;
  const total = (name: string, help: string, read: () => number): void => {
    metrics.reading(`larder_messaging_${name}_total`, help, read, "counter");
  };
  const now = (name: string, help: string, read: () => number): void => {
    metrics.reading(`larder_messaging_${name}`, help, read);
  };
  total("accepted", "Messages accepted", () => counts.accepted);
  total("deduplicated", "Messages that were the same as one before", () => counts.deduplicated);
  total("attempts", "Calls of destinations started", () => counts.attempts);
  total("repeated_attempts", "Calls made again because a crash hid how they ended", () => counts.repeated);
  total("delivered", "Messages delivered", () => counts.delivered);
  total("retried", "Attempts that failed and are made again", () => counts.retried);
  total("failed", "Messages that became dead letters", () => counts.failed);
  total("cancelled", "Messages cancelled", () => counts.cancelled);
  now("unfinished_messages", "Messages that are neither delivered nor failed nor cancelled", () => realm.messages.size);
  now("timed_messages", "Messages that wait for their time", () => scheduler.timedCount);
  now("calls", "Calls of destinations under way", () => scheduler.inFlightCount);
  now("dead_letters", "Dead letters", () => {
    let count = 0;
    for (const user of realm.users) count += user.deadLetters.size;
    return count;
  });
  metrics.readings(
    {
      name: "larder_messaging_waiting_messages",
      help: "Messages that are due and wait, by what they wait for",
      kind: "gauge",
      labelNames: ["reason"],
    },
    () => [...scheduler.waitingCounts].map(([reason, count]) => ({ labelValues: [reason], values: [count] })),
  );
  now("waiting_publishers", "Publishers that wait because calling lags behind", () => brake.waitingCount);
  now("body_bytes", "Memory of bodies", () => realm.bodies.memoryBytes);
  now("lag_seconds", "How long the oldest message that could be called has waited", () => engine.lagMs() / 1_000);
}

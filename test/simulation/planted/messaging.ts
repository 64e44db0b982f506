/**
 * Bugs that messaging could have, each planted between its parts: in the
 * journal that it sees, in how it reads bodies, or in a method of one engine.
 * The simulation must find every one of them, or it would miss it in the
 * program too.
 */
import { parseCron } from "../../../src/messaging/cron/cron.ts";
import type { Messaging } from "../../../src/messaging/messaging.ts";
import type { MessagingBug } from "../messaging/life.ts";

export interface PlantedBug {
  readonly name: string;
  readonly bug: MessagingBug;
}

export const plantedBugs: readonly PlantedBug[] = [
  { name: "a publish is acknowledged before its fsync", bug: { journal: { isHasty: true } } },
  { name: "duplicates are forgotten at a restart", bug: { beforeStart: forgetDuplicates } },
  { name: "a slot is released twice", bug: { beforeRecovery: releaseTwice } },
  { name: "a slot is never released", bug: { beforeRecovery: releaseNever } },
  { name: "a retry lets the next message of its queue overtake it", bug: { beforeRecovery: leaveQueueForRetry } },
  { name: "a schedule fires twice when the clock is set back", bug: { beforeRecovery: followClockBack } },
  { name: "a cancelled message stays in its list", bug: { beforeRecovery: stayInList } },
  { name: "a restart begins a new rate window", bug: { beforeStart: resetWindows } },
  { name: "a delivered message becomes a dead letter too", bug: { beforeRecovery: buryDelivered } },
  {
    name: "bodies are read from the wrong place",
    bug: {
      source: (source) => ({
        read: (segment, offset, length) => source.read(segment, Math.max(0, offset - 1), length),
      }),
    },
  },
  {
    name: "the history continues at the position recovered after a crash",
    bug: { historyPosition: (_told, recovered) => recovered },
  },
  { name: "a retry is due too early", bug: { beforeRecovery: retryEarly } },
  { name: "a clock set forward ends delays", bug: { beforeRecovery: passTimeByWall } },
  { name: "a key is woken only by calls, not by the end of its window", bug: { beforeRecovery: forgetWindows } },
];

function forgetDuplicates({ engine }: Messaging): void {
  for (const { deduplication } of engine.state.users) deduplication.forget(Number.MAX_SAFE_INTEGER);
}

/** Behaves like a counter that is decremented for one call too many. */
function releaseTwice({ engine }: Messaging): void {
  const { scheduler } = engine;
  const release = scheduler.release.bind(scheduler);
  scheduler.release = (message, nowMs, times) => {
    release(message, nowMs, times);
    const key = engine.state.flowKeyOf(message);
    for (const sequence of key?.inFlight ?? []) {
      key?.inFlight.delete(sequence);
      return;
    }
  };
}

function releaseNever({ engine }: Messaging): void {
  const { scheduler } = engine;
  const release = scheduler.release.bind(scheduler);
  scheduler.release = (message, nowMs, times) => {
    const key = engine.state.flowKeyOf(message);
    release(message, nowMs, times);
    if (message.retried > 0) key?.inFlight.add(message.sequence);
  };
}

function leaveQueueForRetry({ engine }: Messaging): void {
  const { state } = engine;
  const retry = state.retry.bind(state);
  state.retry = (message, dueMs) => {
    retry(message, dueMs);
    state.queueOf(message)?.releaseSlot(message.sequence, message.sequence);
  };
}

/** Recomputes the next moments from the current clock. */
function followClockBack({ engine }: Messaging): void {
  const { schedules, state, recorder } = engine;
  const tick = schedules.tick.bind(schedules);
  let lastMs = 0;
  schedules.tick = (nowMs) => {
    if (nowMs < lastMs) {
      for (const { user, schedule } of state.schedulesByNumber.values()) {
        const nextFireMs = parseCron(schedule.record.cron).nextAfterMs(nowMs) ?? 0;
        recorder.append(user, "scheduleChanged", { id: schedule.record.id, change: { nextFireMs } });
        schedules.watch(schedule);
      }
    }
    lastMs = nowMs;
    tick(nowMs);
  };
}

function stayInList({ engine }: Messaging): void {
  engine.scheduler.leave = () => {};
}

function resetWindows({ engine }: Messaging): void {
  for (const key of engine.state.flowKeysByNumber.values()) key.resetRate();
}

function buryDelivered({ engine }: Messaging): void {
  const { state } = engine;
  const deliver = state.deliver.bind(state);
  state.deliver = (message) => {
    const { user, envelope, body, sequence, nonce, createdAtMs, notBeforeMs, retried } = message;
    if (retried > 0) {
      const id = user.deadLetters.nextId(createdAtMs);
      const facts = { id, envelope, body, sequence, nonce, createdAtMs, notBeforeMs, retried };
      envelope.useCount += 1;
      user.deadLetters.add({ ...facts, response: { status: 200, headers: [], error: "" }, responseBody: body });
    }
    deliver(message);
  };
}

function passTimeByWall({ engine }: Messaging): void {
  const { scheduler } = engine;
  const tick = scheduler.tick.bind(scheduler);
  let lastWallMs = 0;
  // Time that the wall clock was set forward counts as elapsed time.
  scheduler.tick = (now) => {
    const aheadMs = lastWallMs === 0 ? 0 : Math.max(0, now.wallMs - lastWallMs);
    lastWallMs = now.wallMs;
    tick({ ...now, passedMs: now.passedMs + Math.min(aheadMs, 1_000) });
  };
}

function forgetWindows({ engine }: Messaging): void {
  const { state } = engine;
  const flowKey = state.flowKey.bind(state);
  state.flowKey = (user, name) => {
    const key = flowKey(user, name);
    key.nextWindowMs = () => undefined;
    return key;
  };
}

function retryEarly({ engine }: Messaging): void {
  const { state } = engine;
  const retry = state.retry.bind(state);
  state.retry = (message, dueMs) => retry(message, Math.max(0, dueMs - 1));
}

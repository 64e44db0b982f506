/**
 * The end of a run: no more faults, and within bounded virtual time only paused
 * messages and messages not yet due wait. Then nothing is paused and all is due,
 * and nothing waits at all.
 */
import type { Message } from "../../../src/messaging/state/message.ts";
import type { Life } from "./life.ts";
import { checkState } from "./state-rules.ts";
import { check } from "./violation.ts";

const HOUR_MS = 3_600_000;
/** While calls are under way, time passes in steps of a typical call. */
const CALL_MS = 100;
/** Each step lets a call through, or brings the next event in time. */
const ROUND_COUNT_MAX = 5_000;

export async function comeToRest(life: Life): Promise<void> {
  const { disk, destinations, messaging, model } = life;
  const { state } = messaging.engine;
  disk.freeBytes = Number.POSITIVE_INFINITY;
  destinations.isKind = true;
  // A refusal ends a second after space is free again.
  await life.until("the end of the refusal", () => life.refusal === undefined && life.isSynced);
  for (const user of state.users) if (model.freezes.isMoving(user.number)) life.thaw(user);
  checkSchedules(life);
  for (const { name } of state.users) {
    const api = messaging.user(name);
    for (const { id } of api?.schedules ?? []) await life.drive(api?.deleteSchedule(id) ?? Promise.resolve());
  }
  await untilAllWait(life, () => heldUp(life));
  for (const { name } of state.users) {
    const api = messaging.user(name);
    for (const queue of api?.queues ?? []) {
      await life.drive(api?.putQueue(queue.name, { isPaused: false }) ?? Promise.resolve());
    }
    for (const { key } of api?.flowKeys() ?? []) await life.drive(api?.pauseFlowKey(key, false) ?? Promise.resolve());
  }
  await untilAllWait(life, () => () => false);
  checkState(state, model.ledger);
  await life.checkBodies();
  model.history.follow(model.ledger.frames, life.area.journal.synced);
  model.history.checkComplete(model.ledger);
}

/** The next beat makes up for missed moments. */
function checkSchedules(life: Life): void {
  const { state } = life.messaging.engine;
  life.pass(life.model.swarm.heartbeatMs + 1);
  const nowMs = life.clock.nowMs();
  for (const { schedule } of state.schedulesByNumber.values()) {
    const { id, nextFireMs } = schedule.record;
    check(
      nextFireMs === 0 || nextFireMs > nowMs,
      () => `The schedule ${id} is ${nowMs - nextFireMs} ms late ${JSON.stringify(schedule.record)}`,
    );
  }
}

/** `mayWait` gives, for the state of now, the messages that may wait. */
async function untilAllWait(life: Life, mayWait: () => (message: Message) => boolean): Promise<void> {
  const waiting = (): Message[] => {
    const isAllowed = mayWait();
    return [...life.messaging.engine.state.messages].filter((message) => !isAllowed(message));
  };
  const { scheduler } = life.messaging.engine;
  for (let round = 0; round < ROUND_COUNT_MAX; round += 1) {
    await life.drain();
    if (waiting().length === 0) return;
    const { now } = life.messaging.engine;
    const nextMs = Math.min(
      (scheduler.nextDueMs ?? Number.POSITIVE_INFINITY) - now.passedMs,
      (scheduler.nextWallDueMs ?? Number.POSITIVE_INFINITY) - now.wallMs,
    );
    const isCalling = scheduler.inFlightCount > 0;
    if (!isCalling && nextMs === Number.POSITIVE_INFINITY) break;
    const beatMs = life.model.swarm.heartbeatMs;
    life.pass(isCalling ? CALL_MS : nextMs <= 0 ? beatMs : Math.min(nextMs, HOUR_MS));
  }
  const left = waiting();
  const why = (message: Message): string => {
    const api = life.messaging.user(message.user.name);
    const tracked = life.model.ledger.messages.get(message.sequence);
    const past = tracked === undefined ? "" : life.model.ledger.history(tracked);
    return `${message.sequence} (${past}): ${api?.waitsFor(message)}`;
  };
  check(left.length === 0, () => `Nothing blocks ${left.length} messages, but they wait; ${left.slice(0, 3).map(why)}`);
  check(scheduler.inFlightCount === 0, () => "Calls never end");
}

/**
 * Paused, not yet due, or in a queue after a message that is. The queues are found once for all messages: a queue of
 * thousands is compared thousands of times.
 */
function heldUp(life: Life): (message: Message) => boolean {
  const { state } = life.messaging.engine;
  const isStuck = (message: Message): boolean =>
    message.isTimed || state.queueOf(message)?.record.isPaused === true || state.flowKeyOf(message)?.isPaused === true;
  const stuckQueues = new Set<unknown>();
  for (const message of state.messages) {
    if (!isStuck(message)) continue;
    stuckQueues.add(state.queueOf(message)).add(state.heldQueueOf(message));
  }
  stuckQueues.delete(undefined);
  return (message) => isStuck(message) || stuckQueues.has(state.queueOf(message));
}

/**
 * Bugs that messaging could have, each planted between its parts: in the
 * journal that it sees, in how it reads bodies, or in a method of one engine.
 */
import { parseCron } from "../../../src/messaging/cron/cron.ts";
import type { Messaging } from "../../../src/messaging/messaging.ts";
import type { MessagingBug } from "../messaging/life.ts";
import { runSimulation } from "../messaging/simulation.ts";
import { hastyJournal } from "./crashes.ts";
import { type PlantedBugs, textOf } from "./planted-bugs.ts";

export const messagingBugs: PlantedBugs<MessagingBug> = {
  simulation: "messaging",
  run: async (seed, bug) => textOf((await runSimulation({ seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 400,
  control: { bug: {}, runs: 10 },
  bugs: [
    {
      name: "a publish is acknowledged before its fsync",
      breaks: "src/persistence/journal/journal.ts",
      bug: { journal: hastyJournal },
      seed: 2,
      found: /Position \d+ is recovered, but \d+ was promised/,
    },
    {
      name: "duplicates are forgotten at a restart",
      breaks: "src/messaging/state/deduplication.ts",
      bug: { beforeStart: forgetDuplicates },
      seed: 9,
      found: /\d+ messages are accepted, but \d+ are new/,
    },
    {
      name: "a slot is released twice",
      breaks: "src/messaging/delivery/scheduler.ts",
      bug: { beforeRecovery: releaseTwice },
      seed: 2,
      found: /Slots of the key/,
    },
    {
      name: "a slot is never released",
      breaks: "src/messaging/delivery/scheduler.ts",
      bug: { beforeRecovery: releaseNever },
      seed: 2,
      found: /Slots of the key/,
    },
    {
      name: "a retry lets the next message of its queue overtake it",
      breaks: "src/messaging/state/queue.ts",
      bug: { beforeRecovery: leaveQueueForRetry },
      seed: 4,
      found: /of the queue first starts, but \d+ are not done/,
    },
    {
      name: "a schedule fires twice when the clock is set back",
      breaks: "src/messaging/delivery/schedule-timer.ts",
      bug: { beforeRecovery: followClockBack },
      seed: 6,
      found: /The schedule \S+ fires again for/,
    },
    {
      name: "a cancelled message stays in its list",
      breaks: "src/messaging/state/message-list.ts",
      bug: { beforeRecovery: stayInList },
      seed: 2,
      found: /message \d+ was created before its records/,
    },
    {
      name: "a restart begins a new rate window",
      breaks: "src/messaging/state/flow-key.ts",
      bug: { beforeStart: resetWindows },
      seed: 9,
      found: /starts, but the window has had \d+ calls of \d+/,
    },
    {
      name: "a delivered message becomes a dead letter too",
      breaks: "src/messaging/delivery/outcome.ts",
      bug: { beforeRecovery: buryDelivered },
      seed: 1,
      found: /A dead letter of message \d+, which did not fail/,
    },
    {
      name: "bodies are read from the wrong place",
      breaks: "src/messaging/bodies/body.ts",
      bug: {
        source: (source) => ({
          read: (segment, offset, length) => source.read(segment, Math.max(0, offset - 1), length),
        }),
      },
      seed: 1,
      found: /ends an attempt without an answer/,
    },
    {
      name: "the history continues at the position recovered after a crash",
      breaks: "src/persistence/history/history.ts",
      bug: { historyPosition: (_told, recovered) => recovered },
      seed: 1,
      found: /The history has CREATED .* of message \d+, not CREATED/,
    },
    {
      name: "a retry is due too early",
      breaks: "src/messaging/delivery/outcome.ts",
      bug: { beforeRecovery: retryEarly },
      seed: 1,
      found: /is called \d+ ms before its time/,
    },
    {
      name: "a clock set forward ends delays",
      breaks: "src/messaging/delivery/scheduler.ts",
      bug: { beforeRecovery: passTimeByWall },
      seed: 1,
      found: /is called \d+ ms before its time/,
    },
    {
      name: "a key is woken only by calls, not by the end of its window",
      breaks: "src/messaging/state/flow-key.ts",
      bug: { beforeRecovery: forgetWindows },
      seed: 2,
      found: /has room, but \d+ messages wait for it/,
    },
    {
      name: "the outcome of a call that a move of its user has given up is recorded",
      breaks: "src/messaging/engine.ts",
      bug: { beforeRecovery: forgetGivenUp },
      seed: 25,
      found: /is of user \d+, which stands still|of a call that was given up changed|is called without an attempt/,
    },
  ],
};

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

/** Answers are taken for those of calls that are still under way. */
function forgetGivenUp({ engine }: Messaging): void {
  const freeze = engine.freeze.bind(engine);
  engine.freeze = async (user, graceMs) => {
    const { callEpoch } = user;
    const calls = await freeze(user, graceMs);
    user.callEpoch = callEpoch;
    return calls;
  };
}

function retryEarly({ engine }: Messaging): void {
  const { state } = engine;
  const retry = state.retry.bind(state);
  state.retry = (message, dueMs) => retry(message, Math.max(0, dueMs - 1));
}

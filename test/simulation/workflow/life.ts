/**
 * One life of workflows in virtual time: random runs on a model application,
 * faults of both sides, restarts from the journal and from a snapshot, crashes
 * that take back what was not on the disk. Then faults stop, and each run must
 * end.
 */
import { assert } from "../../../src/kernel/assert.ts";
import { seededRandom } from "../../../src/kernel/random.ts";
import { MessagingFailure } from "../../../src/messaging/failure.ts";
import type { Messaging } from "../../../src/messaging/messaging.ts";
import { runState } from "../../../src/messaging/state/run.ts";
import { messageState } from "../../../src/messaging/state/states.ts";
import { MessagingHarness } from "../../harness/messaging-harness.ts";
import { stateLines } from "../messaging/state-text.ts";
import { ModelApplication } from "./model-application.ts";
import { drawPrograms, EVENTS } from "./programs.ts";

export interface LifeSummary {
  readonly ended: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly restarts: number;
}

/** Planted before an engine serves. */
export type WorkflowBug = (messaging: Messaging, restarts: number) => void;

const PROGRAMS = 4;
const ACTIONS = 120;
/** Runs that invoke others, which sleep and invoke others, take more than an hour. */
const QUIET_STEPS = 4_000;
const QUIET_STEP_MS = 10_000;

export async function liveOnce(seed: number, bug: WorkflowBug = () => {}): Promise<LifeSummary> {
  const random = seededRandom(seed);
  const harness = await MessagingHarness.start();
  const programs = drawPrograms(random, PROGRAMS);
  const application = new ModelApplication({
    random,
    programs,
    api: () => harness.user,
    nowMs: () => harness.clock.nowMs(),
  });
  harness.destination = application.take;
  bug(harness.messaging, 0);
  application.faultPercent = random.below(2) === 0 ? 0 : 15;
  let reopened: ReadonlySet<number> = new Set();
  let restarts = 0;
  let runs = 0;
  const check = (): void => {
    if (application.violation !== undefined) throw application.violation;
    noteEnds(harness, application);
  };
  for (let action = 0; action < ACTIONS; action += 1) {
    const api = harness.user;
    switch (random.below(14)) {
      case 0:
      case 1:
        runs += 1;
        await application.trigger(random.below(PROGRAMS), `wfr_${runs}`);
        break;
      case 2:
        await api.workflows.notifyAll(EVENTS[random.below(EVENTS.length)] ?? "", Buffer.from("event"));
        break;
      case 3:
        await notifyOne(harness, application, { index: random.below(50), event: EVENTS[random.below(2)] ?? "" });
        break;
      case 4:
        if (random.below(3) === 0) await cancelOne(harness, application, random.below(50));
        break;
      case 5:
        if (random.below(2) === 0) {
          restarts += 1;
          reopened = restart(harness, random.below(2) === 0, reopened);
          bug(harness.messaging, restarts);
        }
        break;
      case 6:
        if (random.below(2) === 0) {
          restarts += 1;
          runs += 1;
          harness.journal.hold();
          // No client was told of it, and it may never have existed.
          void application.trigger(random.below(PROGRAMS), `wfr_${runs}`);
          await harness.advance(random.below(20_000));
          harness.stop();
          harness.journal.crash();
          reopened = startAgain(harness, () => {});
          bug(harness.messaging, restarts);
        }
        break;
      default:
        await harness.advance(random.below(3) === 0 ? 20_000 : random.below(1_000));
    }
    if (random.below(2) === 0) await harness.settle();
    check();
  }
  application.faultPercent = 0;
  for (let step = 0; step < QUIET_STEPS && startedCount(harness) > 0; step += 1) {
    await harness.advance(QUIET_STEP_MS);
    check();
  }
  await harness.advance(QUIET_STEP_MS * 10);
  check();
  return summaryOf(harness, application, restarts);
}

/**
 * Replays the journal, passes the lines of its state to `compare`, and starts the engine. Returns the sequences of the
 * calls that the start repeats.
 */
function startAgain(harness: MessagingHarness, compare: (after: readonly string[]) => void): ReadonlySet<number> {
  harness.replay();
  compare(stateLines(harness.messaging.engine.state, 0));
  const reopened = new Set<number>();
  for (const { sequence, state } of harness.messaging.engine.state.messages)
    if (state === messageState.active) reopened.add(sequence);
  harness.messaging.engine.start();
  return reopened;
}

/**
 * The line of a message that is active in the journal, as it is after a start that repeats its call: it may wait for
 * others of its destination. A start does not record this, since every start does the same. A message outside of
 * `reopened` is active because its start was recorded, and its line stays.
 */
function asReopened(line: string, reopened: ReadonlySet<number>): string {
  const [kind, sequence] = line.split(" ", 2);
  if (kind !== "message" || !reopened.has(Number(sequence))) return line;
  const active = `"state":${messageState.active},"retried":`;
  return line
    .replace(`${active}0`, `"state":${messageState.created},"retried":0`)
    .replace(active, `"state":${messageState.retry},"retried":`);
}

/**
 * Restarts from the journal or from a snapshot: both must rebuild the state before, except that calls in `reopened` may
 * wait. Returns the sequences of the calls that this start repeats.
 */
function restart(
  harness: MessagingHarness,
  isFromSnapshot: boolean,
  reopened: ReadonlySet<number>,
): ReadonlySet<number> {
  const { engine } = harness.messaging;
  const before = stateLines(engine.state, 0);
  if (isFromSnapshot) {
    const frames: Buffer[] = [];
    // A frame is valid until the next one is requested.
    for (const frame of harness.messaging.dump()) frames.push(Buffer.from(frame));
    harness.journal.replace(frames);
  }
  harness.stop();
  return startAgain(harness, (after) => {
    const isSame = (line: string, index: number): boolean =>
      line === after[index] || line === asReopened(after[index] ?? "", reopened);
    const wrong = before.findIndex((line, index) => !isSame(line, index));
    assert(wrong < 0 && before.length === after.length, `a restart must keep ${before[wrong]}, not ${after[wrong]}`);
  });
}

function startedCount(harness: MessagingHarness): number {
  return harness.user.workflows.list({ states: [runState.started] }, { count: 1 }).runs.length;
}

function noteEnds(harness: MessagingHarness, { runs }: ModelApplication): void {
  for (const known of runs.values()) {
    const run = harness.user.workflows.find(known.id);
    if (run !== undefined && !run.isStarted) known.isEnded = true;
    if (known.hasFinished && run !== undefined) {
      assert(run.state === runState.success, `the run ${known.id} was finished but is in state ${run.state}`);
    }
  }
}

async function notifyOne(
  harness: MessagingHarness,
  { runs }: ModelApplication,
  { index, event }: { index: number; event: string },
): Promise<void> {
  const id = [...runs.keys()][index];
  const isStarted = id !== undefined && harness.user.workflows.find(id)?.isStarted === true;
  try {
    await harness.user.workflows.notifyRun(id ?? "wfr_none", event, Buffer.from("event"));
    assert(isStarted, `an event for the ended run ${id} must be refused`);
  } catch (fault) {
    if (!(fault instanceof MessagingFailure) || isStarted) throw fault;
  }
}

async function cancelOne(harness: MessagingHarness, { runs }: ModelApplication, index: number): Promise<void> {
  const id = [...runs.keys()][index];
  const known = id === undefined ? undefined : runs.get(id);
  if (id === undefined || known === undefined) return;
  if (await harness.user.workflows.cancel(id)) known.isEnded = true;
}

function summaryOf(harness: MessagingHarness, { runs }: ModelApplication, restarts: number): LifeSummary {
  const counts = { ended: 0, succeeded: 0, failed: 0, cancelled: 0 };
  const { deadLetters } = harness.user.deadLetters(
    { attributes: new Map() },
    { order: "earliest first", count: 10_000 },
  );
  for (const { id, failureCalls } of runs.values()) {
    const run = harness.user.workflows.find(id);
    // A run invoked after its parent had ended was never started.
    if (run === undefined) continue;
    assert(run.state !== runState.started, `the run ${id} must end: ${JSON.stringify(run.facts)}`);
    counts.ended += 1;
    const own = deadLetters.filter(({ envelope }) => envelope.fields.workflow?.runId === id);
    const isFailed = run.state === runState.failed;
    assert(own.length === (isFailed ? 1 : 0), `the run ${id} has ${own.length} dead letters`);
    assert(isFailed ? failureCalls > 0 : failureCalls === 0, `the failure of ${id} was reported ${failureCalls} times`);
    assert(run.waiters.size === 0 && run.messages.size === 0, `nothing of the run ${id} may still wait`);
    if (run.state === runState.success) counts.succeeded += 1;
    else if (isFailed) counts.failed += 1;
    else counts.cancelled += 1;
  }
  return { ...counts, restarts };
}

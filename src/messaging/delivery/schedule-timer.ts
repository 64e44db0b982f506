/**
 * Fires schedules. A firing publishes in the same way as a request, in the frame
 * that moves the schedule to its next time, so it happens once (C.cron.missed,
 * C.schedules.pause; threats C-25, C-26).
 *
 * (1) Missed times (the program was down, the clock jumped) cause one firing at
 *     most.
 * (2) A paused schedule skips its times.
 * (3) The next time is stored: a clock that is set back fires nothing twice.
 * (4) A clock that was far ahead has stored next times that are far away, so the
 *     schedules do not fire when it is right again. So at the start, and when the
 *     clock is set back, a stored next time that is later than the next time after
 *     now is computed again, unless the latter has fired already.
 * (5) The schedules of a frozen user do not fire, and are not corrected. When it is
 *     thawed, times that have passed are missed times.
 */
import type { Log } from "../../kernel/log.ts";
import { parseCron } from "../cron/cron.ts";
import { MessagingFailure } from "../failure.ts";
import type { PublishOutcome } from "../options/publish-request.ts";
import { publish } from "../publish.ts";
import type { Recorder } from "../records/recorder.ts";
import { DueHeap } from "../state/due-heap.ts";
import { parseMessageId } from "../state/message-id.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { Schedule, ScheduleRecord } from "../state/schedule.ts";
import type { User } from "../state/user.ts";
import type { UnitOfWork } from "../unit-of-work.ts";
import type { MessagingWatcher } from "./watcher.ts";

/** How many messages of a firing are stored as its outcome. */
const LAST_MESSAGES_MAX = 100;

/** The shortest period of a schedule: a next time that is due within it is not checked. */
const PERIOD_MS_MIN = 60_000;

export interface ScheduleTimerOptions {
  readonly state: MessagingState;
  readonly recorder: Recorder;
  /** Makes a decision (`Engine.perform`). */
  readonly perform: (work: (unit: UnitOfWork) => void) => void;
  /** Throws a `MessagingFailure` if the user may not add data. */
  readonly assertMayGrow: (user: User) => void;
  /** No schedule fires. */
  readonly deliveriesDisabled: boolean;
  readonly log: Log;
  readonly watcher?: MessagingWatcher | undefined;
}

export class ScheduleTimer {
  readonly #options: ScheduleTimerOptions;
  /** Next times by number. */
  readonly #due = new DueHeap();

  constructor(options: ScheduleTimerOptions) {
    this.#options = options;
  }

  get nextDueMs(): number | undefined {
    return this.#due.peekDueMs();
  }

  /** After a recovery. */
  resume(nowMs: number): void {
    for (const { schedule } of this.#options.state.schedulesByNumber.values()) this.watch(schedule);
    this.correct(nowMs);
    this.tick(nowMs);
  }

  /** Call when the clock may have been wrong before: keeps (4). */
  correct(nowMs: number): void {
    if (this.#options.deliveriesDisabled) return;
    for (const { user, schedule } of this.#options.state.schedulesByNumber.values()) {
      if (user.isFrozen) continue; // keeps (5)
      const { id, nextFireMs: storedMs } = schedule.record;
      const nextFireMs = soonerMomentMs(schedule.record, nowMs);
      if (nextFireMs === undefined) continue;
      this.#options.log.warn("corrected the next time of a schedule, which was computed while the clock was ahead", {
        ...{ user: user.name, schedule: id, next: new Date(nextFireMs).toISOString() },
        ...(storedMs > 0 && { stored: new Date(storedMs).toISOString() }),
      });
      this.#options.recorder.append(user, "scheduleChanged", { id, change: { nextFireMs } });
      this.watch(schedule);
    }
  }

  /** Call when a schedule has a new next time. */
  watch({ record, number }: Schedule): void {
    if (record.nextFireMs > 0 && !this.#options.deliveriesDisabled) this.#due.push(record.nextFireMs, number);
  }

  /** The user is not frozen any more. Call `tick` afterwards. keeps (5) */
  thaw(user: User, nowMs: number): void {
    for (const schedule of user.schedules.values()) this.watch(schedule);
    this.correct(nowMs);
  }

  tick(nowMs: number): void {
    for (let dueMs = this.#due.peekDueMs(); dueMs !== undefined && dueMs <= nowMs; dueMs = this.#due.peekDueMs()) {
      const known = this.#options.state.schedulesByNumber.get(this.#due.pop());
      // It was removed, or its next time has changed.
      if (known === undefined || known.schedule.record.nextFireMs !== dueMs) continue;
      if (known.user.isFrozen) continue; // keeps (5)
      this.#fire(known.user, known.schedule, nowMs);
    }
  }

  #fire(user: User, schedule: Schedule, nowMs: number): void {
    const { id, cron, nextFireMs: lastFireMs, isPaused } = schedule.record;
    const nextFireMs = parseCron(cron).nextAfterMs(nowMs) ?? 0; // keeps (1)
    this.#options.perform((unit) => {
      const change = isPaused ? { nextFireMs } : { lastFireMs, nextFireMs, ...this.#publish(unit, user, schedule) }; // keeps (2)
      unit.apply(user, "scheduleChanged", { id, change });
      if (!isPaused) this.#reportFired(schedule);
    });
    this.watch(schedule);
  }

  /** Fires a schedule at the request of a user, also a paused one; its next time stays. Throws a `MessagingFailure`. */
  runNow(unit: UnitOfWork, user: User, schedule: Schedule): PublishOutcome | undefined {
    const [outcome] = publishNow(unit, user, schedule);
    const change = { lastFireMs: unit.now.wallMs, lastMessages: firedMessages(outcome), error: "" };
    unit.apply(user, "scheduleChanged", { id: schedule.record.id, change });
    this.#reportFired(schedule);
    return outcome;
  }

  #reportFired({ record }: Schedule): void {
    const { id, destination, lastMessages, error, nextFireMs } = record;
    const messageCount = lastMessages.length;
    this.#options.watcher?.scheduleFired({ schedule: id, destination, messageCount, error, nextMs: nextFireMs });
  }

  #publish(unit: UnitOfWork, user: User, schedule: Schedule): Partial<ScheduleRecord> {
    try {
      this.#options.assertMayGrow(user);
      const [outcome] = publishNow(unit, user, schedule);
      return { lastMessages: firedMessages(outcome), error: "" };
    } catch (fault) {
      if (!(fault instanceof MessagingFailure)) throw fault;
      return { lastMessages: [], error: fault.text };
    }
  }
}

function publishNow(unit: UnitOfWork, user: User, { record, body }: Schedule): readonly PublishOutcome[] {
  const { id: scheduleId, destination, options, callerIp } = record;
  return publish(unit, user, { requests: [{ destination, options, callerIp, body }], scheduleId });
}

function firedMessages(outcome: PublishOutcome | undefined): ScheduleRecord["lastMessages"] {
  const all = outcome === undefined ? [] : outcome.kind === "url" ? [outcome.published] : outcome.published;
  return all.slice(0, LAST_MESSAGES_MAX).flatMap(({ messageId }) => parseMessageId(messageId) ?? []);
}

/** The correct next time if the stored one is too far away; undefined if the stored one is correct (4). */
function soonerMomentMs({ cron: text, nextFireMs, lastFireMs }: ScheduleRecord, nowMs: number): number | undefined {
  const storedMs = nextFireMs === 0 ? Number.POSITIVE_INFINITY : nextFireMs;
  if (storedMs <= nowMs + PERIOD_MS_MIN) return undefined;
  const cron = parseCron(text);
  const soonerMs = cron.nextAfterMs(nowMs);
  if (soonerMs === undefined || storedMs <= soonerMs) return undefined;
  // keeps (3)
  const hasFired = lastFireMs >= soonerMs && storedMs <= (cron.nextAfterMs(soonerMs) ?? 0);
  return hasFired ? undefined : soonerMs;
}

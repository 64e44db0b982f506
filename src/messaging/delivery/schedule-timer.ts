/**
 * Schedules in time. A firing publishes through the same way as a request, in
 * the same frame that moves the schedule to its next moment, so it happens once
 * (C.cron.missed, C.schedules.pause; threats C-25, C-26).
 *
 * (1) Whatever was missed (the program was down, the clock jumped) is made up
 *     by one firing at most.
 * (2) A schedule that is paused lets its moments go by.
 * (3) The next moment is stored: a clock that steps back fires nothing twice.
 * (4) A clock that was far ahead has stored moments that are far away, and lets
 *     schedules stand still when it is right again. So at the start, and when the
 *     clock is set back, a next moment that is farther away than the one after
 *     this moment is worked out again, unless that one has fired already.
 */
import type { Log } from "../../kernel/log.ts";
import { parseCron } from "../cron/cron.ts";
import { MessagingFailure } from "../failure.ts";
import { publish } from "../publish.ts";
import type { Recorder } from "../records/recorder.ts";
import { DueHeap } from "../state/due-heap.ts";
import { parseMessageId } from "../state/message-id.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import type { Schedule, ScheduleRecord } from "../state/schedule.ts";
import type { User } from "../state/user.ts";
import type { UnitOfWork } from "../unit-of-work.ts";

/** Of the messages of a firing, so many are remembered as its outcome. */
const LAST_MESSAGES_MAX = 100;

/** No schedule has moments closer to each other: what is due so soon is not looked at again. */
const PERIOD_MS_MIN = 60_000;

export interface ScheduleTimerOptions {
  readonly state: MessagingState;
  readonly recorder: Recorder;
  /** Makes a decision (`Engine.perform`). */
  readonly perform: (work: (unit: UnitOfWork) => void) => void;
  /** Throws a `MessagingFailure` if nothing new may be accepted from this user. */
  readonly assertMayGrow: (user: User) => void;
  /** Nothing fires. */
  readonly deliveriesDisabled: boolean;
  readonly log: Log;
}

export class ScheduleTimer {
  readonly #options: ScheduleTimerOptions;
  /** Next moments by number. */
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

  /** The clock may have been wrong before this moment: keeps (4). */
  correct(nowMs: number): void {
    if (this.#options.deliveriesDisabled) return;
    for (const { user, schedule } of this.#options.state.schedulesByNumber.values()) {
      const { id, nextFireMs: storedMs } = schedule.record;
      const nextFireMs = soonerMomentMs(schedule.record, nowMs);
      if (nextFireMs === undefined) continue;
      this.#options.log.warn(
        "a schedule would have stood still: the clock was ahead when its next moment was worked out",
        {
          ...{ user: user.name, schedule: id, next: new Date(nextFireMs).toISOString() },
          ...(storedMs > 0 && { stored: new Date(storedMs).toISOString() }),
        },
      );
      this.#options.recorder.append(user, "scheduleChanged", { id, change: { nextFireMs } });
      this.watch(schedule);
    }
  }

  /** A schedule has a new next moment. */
  watch({ record, number }: Schedule): void {
    if (record.nextFireMs > 0 && !this.#options.deliveriesDisabled) this.#due.push(record.nextFireMs, number);
  }

  tick(nowMs: number): void {
    for (let dueMs = this.#due.peekDueMs(); dueMs !== undefined && dueMs <= nowMs; dueMs = this.#due.peekDueMs()) {
      const known = this.#options.state.schedulesByNumber.get(this.#due.pop());
      // It was removed, or has another next moment since.
      if (known === undefined || known.schedule.record.nextFireMs !== dueMs) continue;
      this.#fire(known.user, known.schedule, nowMs);
    }
  }

  #fire(user: User, schedule: Schedule, nowMs: number): void {
    const { id, cron, nextFireMs: lastFireMs, isPaused } = schedule.record;
    const nextFireMs = parseCron(cron).nextAfterMs(nowMs) ?? 0; // keeps (1)
    this.#options.perform((unit) => {
      const change = isPaused ? { nextFireMs } : { lastFireMs, nextFireMs, ...this.#publish(unit, user, schedule) }; // keeps (2)
      unit.apply(user, "scheduleChanged", { id, change });
    });
    this.watch(schedule);
  }

  #publish(unit: UnitOfWork, user: User, { record, body }: Schedule): Partial<ScheduleRecord> {
    const { id: scheduleId, destination, options, callerIp } = record;
    try {
      this.#options.assertMayGrow(user);
      const [outcome] = publish(unit, user, { requests: [{ destination, options, callerIp, body }], scheduleId });
      const all = outcome === undefined ? [] : outcome.kind === "url" ? [outcome.published] : outcome.published;
      const lastMessages = all.slice(0, LAST_MESSAGES_MAX).flatMap(({ messageId }) => parseMessageId(messageId) ?? []);
      return { lastMessages, error: "" };
    } catch (fault) {
      if (!(fault instanceof MessagingFailure)) throw fault;
      return { lastMessages: [], error: fault.text };
    }
  }
}

/** The moment that belongs in the place of a next moment that is too far away; undefined: it is right (4). */
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

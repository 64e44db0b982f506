/**
 * Notifying runs that wait for an event, and ending waits (spec: workflow 4.7).
 *
 * (1) Whoever removes a waiter puts the result at the end of the run, in one
 *     frame: so exactly one of event and time-out wins.
 */
import { quotaExceeded } from "../failure.ts";
import type { MessagingLimits } from "../limits.ts";
import { newFacts } from "../state/drawn-ids.ts";
import type { Message } from "../state/message.ts";
import type { Run } from "../state/run.ts";
import type { User } from "../state/user.ts";
import type { Waiter } from "../state/waiter.ts";
import type { UnitOfWork } from "../unit-of-work.ts";
import { resultMessage } from "./run-messages.ts";
import { hiddenOfWait, waitResult } from "./waits.ts";
import type { Notified } from "./workflow-api.ts";

/** Notifies those of these waiters that still wait. */
export function notifyEach(unit: UnitOfWork, waiters: readonly Waiter[], event: NewEvent): readonly Notified[] {
  const { user, data } = event;
  const nowMs = unit.now.wallMs;
  const notified: Notified[] = [];
  for (const waiter of waiters) {
    if (user.waiters.get(waiter.eventId)?.has(waiter) !== true) continue;
    const run = unit.state.runOf(user, waiter.runId);
    notified.push({ run, waiter, messageId: wake(unit, run, { waiter, data, nowMs }).id });
  }
  return notified;
}

interface NewEvent {
  readonly user: User;
  readonly data: Buffer;
}

/** Notifies a run, now or when it waits for the event. */
export function notifyRun(
  unit: UnitOfWork,
  run: Run,
  { eventId, data }: { readonly eventId: string; readonly data: Buffer },
): Notified {
  const waiter = [...run.waiters].find((other) => other.eventId === eventId);
  if (waiter !== undefined) {
    return { run, waiter, messageId: wake(unit, run, { waiter, data, nowMs: unit.now.wallMs }).id };
  }
  checkRoom(run, data, unit.limits);
  unit.apply(run.user, "eventSaved", { runId: run.id, eventId, data });
  return { run, waiter: undefined, messageId: undefined };
}

/** Webhooks are open, so events that are saved for a run count like its entries. Throws a `MessagingFailure`. */
function checkRoom(run: Run, data: Buffer, { stepsPerRunMax, runBytesMax }: MessagingLimits): void {
  let count = 0;
  let bytes = run.entryBytes + data.length;
  for (const saved of run.savedEvents.values()) {
    count += saved.length;
    for (const { length } of saved) bytes += length;
  }
  if (count >= stepsPerRunMax || bytes > runBytesMax) {
    throw quotaExceeded(`Maximum of events that are kept for the workflow run ${run.id} exceeded`);
  }
}

interface WaitEnd {
  readonly waiter: Waiter;
  /** What the event brought; undefined: the run waited too long. */
  readonly data: Buffer | undefined;
  readonly nowMs: number;
}

/** Ends a wait that is recorded. keeps (1) */
export function wake(unit: UnitOfWork, run: Run, end: WaitEnd): Message {
  unit.apply(run.user, "waiterRemoved", { number: end.waiter.number });
  return endWait(unit, run, end);
}

/** Puts the result of a wait at the end of its run. */
export function endWait(unit: UnitOfWork, run: Run, { waiter, data, nowMs }: WaitEnd): Message {
  const bytes = waitResult(waiter, data);
  const { url, headers, timeoutUrl, timeoutHeaders, timeoutBody, timeout, deadlineMs } = waiter;
  const { stepId } = waiter.step;
  const part = { waited: { timeout, deadlineMs, ...(typeof stepId === "number" && { stepId }) } };
  const redact = hiddenOfWait(waiter);
  const { user } = run;
  if (data !== undefined) return unit.send(user, resultMessage(run, { url, headers, bytes, part, redact }), { nowMs });
  const late = resultMessage(run, { url: timeoutUrl, headers: timeoutHeaders, bytes, part, redact });
  if (timeoutBody === undefined) return unit.send(user, late, { nowMs });
  // The run has its entry, and its URL gets the body that was given for a time-out.
  const facts = newFacts(unit, { nowMs, notBeforeMs: nowMs, slotOwner: 0 });
  unit.copyEntry(user, facts, { ...late, isNeededSoon: true, deduplicationKey: "" });
  const workflow = { runId: run.id, callType: "step", isBodyOwn: true } as const;
  return unit.send(user, { fields: { ...late.fields, workflow }, bytes: Buffer.from(timeoutBody) }, { nowMs });
}

/**
 * Starts failed runs again: as a new run with the same entries, or from the start
 * (W.resume). One frame creates the new run, its entries and messages, and removes
 * the dead letter of the old one.
 */

import type { StartedRun } from "../api.ts";
import { type Bodies, loadUndamaged } from "../bodies/body.ts";
import { badRequest, damagedDeadLetter, notFound } from "../failure.ts";
import { runOfDeadLetter } from "../matching.ts";
import type { EnvelopeFields } from "../options/envelope.ts";
import type { PublishOptions } from "../options/publish-request.ts";
import { joinedRedaction } from "../options/redaction.ts";
import type { DeadLetter } from "../state/dead-letters.ts";
import { deadLetterIdText } from "../state/dead-letters.ts";
import { drawId, newFacts } from "../state/drawn-ids.ts";
import { messageId } from "../state/message-id.ts";
import type { Entry, Run, RunConfig } from "../state/run.ts";
import type { User } from "../state/user.ts";
import type { UnitOfWork } from "../unit-of-work.ts";
import { failureMessage } from "./run-messages.ts";
import { plannedStep, readStep, type StepFields } from "./step-text.ts";

interface Failed {
  readonly deadLetter: DeadLetter;
  readonly run: Run;
}

/** The part of the engine that a resume needs: the bodies, and how to make a decision. */
export interface Resuming {
  readonly bodies: Bodies;
  /** `Engine.change` of the user. */
  readonly change: <Result>(work: (unit: UnitOfWork) => Result) => Promise<Result>;
}

/** Throws "not found" if one of the ids does not exist, before anything has changed. */
export async function runAgain(
  { bodies, change }: Resuming,
  user: User,
  { how, deadLetterIds, overrides }: Again,
): Promise<readonly StartedRun[]> {
  const wanted = deadLetterIds.map((id) => failedOf(user, id));
  const copiedOf = ({ entries }: Run): readonly Entry[] => (how === "resume" ? entries : entries.slice(0, 1));
  const loaded = await Promise.all(
    wanted.map(({ run }) => Promise.all(copiedOf(run).map(({ body }) => loadUndamaged(bodies, body)))),
  );
  // A run with a damaged body is left out, so that it does not stop the others.
  const whole = wanted.flatMap((failed, index) => {
    const bytes = loaded[index]?.filter((body) => body !== undefined) ?? [];
    return bytes.length === loaded[index]?.length ? [{ ...failed, bytes }] : [];
  });
  const [first] = wanted;
  if (first !== undefined && whole.length === 0) throw damagedDeadLetter(deadLetterIdText(first.deadLetter.id));
  return change((unit) => {
    // Another request may have resumed or deleted some meanwhile.
    for (const { deadLetter } of whole) failedOf(user, deadLetterIdText(deadLetter.id));
    return whole.map(({ deadLetter, run, bytes }) => {
      const copies = copiedOf(run);
      const again = startAgain(unit, { deadLetter, run, overrides, how }, { copies, bodies: bytes });
      unit.apply(user, "deadLetterRemoved", { id: deadLetter.id });
      return { id: again.id, createdAtMs: again.record.createdAtMs };
    });
  });
}

interface Again {
  readonly how: "resume" | "restart";
  readonly deadLetterIds: readonly string[];
  readonly overrides: Partial<PublishOptions>;
}

function startAgain(
  unit: UnitOfWork,
  { deadLetter, run, overrides, how }: Failed & Pick<Again, "overrides" | "how">,
  { copies, bodies }: { copies: readonly Entry[]; bodies: readonly Buffer[] },
): Run {
  const { user } = run;
  const nowMs = unit.now.wallMs;
  const { invoker: _ended, ...record } = run.record;
  const id = drawId("wfr_", unit.random);
  const config = overridden(record.config, overrides);
  const again = unit.createRun(user, { ...record, isStartedTwice: undefined, id, createdAtMs: nowMs, config });
  const steps = bodies.map(readStep);
  for (const [index, entry] of copies.entries()) {
    const bytes = bodies[index] ?? Buffer.alloc(0);
    const isSent = how === "restart" || isSentAgain(entry, deadLetter, { steps, index });
    const notBeforeMs = isSent ? Math.max(nowMs, entry.notBeforeMs) : nowMs;
    const facts = newFacts(unit, { nowMs, notBeforeMs, slotOwner: 0 });
    const fields = fieldsAgain(entry.envelope.fields, id, overrides);
    const accepted = { fields, bytes, isNeededSoon: true, deduplicationKey: "" };
    if (isSent) unit.accept(user, facts, accepted);
    else unit.copyEntry(user, facts, accepted);
  }
  return again;
}

/** True for the failed message, undelivered entries, and plans without a result. */
function isSentAgain(
  entry: Entry,
  deadLetter: DeadLetter,
  { steps, index }: { steps: readonly (StepFields | undefined)[]; index: number },
): boolean {
  const step = steps[index];
  const target = step === undefined || index === 0 ? undefined : plannedStep(step);
  if (target !== undefined) return !steps.some((other) => other?.["stepId"] === target);
  return entry.sequence === deadLetter.sequence || !entry.isDelivered;
}

function fieldsAgain(fields: EnvelopeFields, runId: string, overrides: Partial<PublishOptions>): EnvelopeFields {
  const { workflow } = fields;
  if (workflow === undefined) return fields;
  const { isUnknownSdk: _once, ...part } = workflow;
  const own =
    part.callType === "toCallback"
      ? { ...fields, redact: joinedRedaction(fields.redact, overrides.redact) }
      : { ...fields, ...ofRun(fields, overrides), retriesMax: overrides.retriesMax ?? fields.retriesMax };
  return { ...own, workflow: { ...part, runId } };
}

function overridden(config: RunConfig, overrides: Partial<PublishOptions>): RunConfig {
  return { ...config, ...ofRun(config, overrides) };
}

/** The overrides that apply to a whole run; `before` are the options of its start. */
function ofRun(before: Pick<RunConfig, "redact">, overrides: Partial<PublishOptions>): Partial<RunConfig> {
  const { retriesMax, retryDelay, flowControl, failureCallback, labels } = overrides;
  const redact = joinedRedaction(before.redact, overrides.redact);
  const all = { retriesMax, retryDelay, flowControl, failureCallback, labels, redact };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Throws unless the call that reported the failure has failed. */
export async function repeatFailureCall(
  { bodies, change }: Resuming,
  user: User,
  deadLetterId: string,
): Promise<StartedRun> {
  const { deadLetter, run } = failedOf(user, deadLetterId);
  const { failureFunction } = run;
  if (failureFunction?.state !== "CALLBACK_FAIL") {
    throw badRequest(
      `Invalid value for dlqId: the failure callback of ${deadLetterId} has not failed: its state is ${failureFunction?.state ?? "none"}`,
    );
  }
  const [first] = run.entries;
  const [bytes, responseBytes] = await Promise.all([
    first === undefined ? Buffer.alloc(0) : loadUndamaged(bodies, first.body),
    loadUndamaged(bodies, deadLetter.responseBody),
  ]);
  if (bytes === undefined || responseBytes === undefined) throw damagedDeadLetter(deadLetterId);
  return change((unit) => {
    failedOf(user, deadLetterId);
    const { response, retried } = deadLetter;
    const message = { ...deadLetter, id: messageId(deadLetter.sequence, deadLetter.nonce) };
    const report = { message, bytes, response, responseBytes, retried: retried - 1 };
    const notice = failureMessage(run, deadLetter, report);
    if (notice === undefined) throw badRequest(`The run of ${deadLetterId} has no failure callback`);
    const call = unit.send(user, notice, { nowMs: unit.now.wallMs });
    const { url, retriesMax } = notice.fields;
    const started = { state: "CALLBACK_INPROGRESS", messageId: call.id, url, retriesMax } as const;
    unit.apply(user, "failureFunctionPut", { runId: run.id, failureFunction: started });
    return { id: run.id, createdAtMs: run.record.createdAtMs };
  });
}

export function cancelFailureCall(unit: UnitOfWork, user: User, deadLetterId: string): void {
  const { run } = failedOf(user, deadLetterId);
  const known = run.failureFunction;
  if (known?.state !== "CALLBACK_INPROGRESS") {
    throw badRequest(
      `Invalid value for dlqId: the failure callback of ${deadLetterId} is not under way: its state is ${known?.state ?? "none"}`,
    );
  }
  for (const message of [...run.messages]) if (message.id === known.messageId) unit.cancel(message);
  const failureFunction = { ...known, state: "CALLBACK_CANCELED" } as const;
  unit.apply(user, "failureFunctionPut", { runId: run.id, failureFunction });
}

function failedOf(user: User, id: string): Failed {
  const deadLetter = user.deadLetters.get(id);
  const run = deadLetter === undefined ? undefined : runOfDeadLetter(user, deadLetter);
  if (deadLetter === undefined || run === undefined) throw notFound(`failed workflow run ${id} not found`);
  return { deadLetter, run };
}

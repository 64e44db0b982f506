/**
 * Failed runs that go on: as a new run with the same entries, or from the start
 * (W.resume). One frame: the new run, its entries and messages, and
 * the dead letter of the old one, which goes.
 */
import { loadUndamaged } from "../bodies/body.ts";
import type { Engine } from "../engine.ts";
import { badRequest, damagedLetter, notFound } from "../failure.ts";
import { runOfLetter } from "../matching.ts";
import type { EnvelopeFields } from "../options/envelope.ts";
import type { PublishOptions } from "../options/publish-request.ts";
import { joinedRedaction } from "../options/redaction.ts";
import { newFacts } from "../publish.ts";
import type { DeadLetter } from "../state/dead-letters.ts";
import { deadLetterIdText } from "../state/dead-letters.ts";
import { drawId } from "../state/drawn-ids.ts";
import { messageId } from "../state/message-id.ts";
import type { User } from "../state/user.ts";
import type { Entry, Run, RunConfig, RunRecord } from "./run.ts";
import { failureMessage } from "./run-messages.ts";
import { plannedStep, readStep, type StepFields } from "./step-text.ts";
import type { StartedRun } from "./workflow-door.ts";

interface Failed {
  readonly letter: DeadLetter;
  readonly run: Run;
}

/** `engine.finish` has to follow. Throws "not found" if one of the ids is not there, and nothing is done. */
export async function runAgain(
  engine: Engine,
  user: User,
  {
    how,
    letterIds,
    overrides,
  }: {
    how: "resume" | "restart";
    letterIds: readonly string[];
    overrides: Partial<PublishOptions>;
  },
): Promise<readonly StartedRun[]> {
  const wanted = letterIds.map((id) => failedOf(user, id));
  const loaded = await Promise.all(
    wanted.map(({ run }) => {
      const entries = how === "resume" ? run.entries : run.entries.slice(0, 1);
      return Promise.all(entries.map(({ body }) => loadUndamaged(engine.realm.bodies, body)));
    }),
  );
  // A run of which something is damaged is left out, so that it does not stop the others.
  const isWhole = loaded.map((bodies) => !bodies.includes(undefined));
  const failed = wanted.filter((_, index) => isWhole[index]);
  const bodies = loaded.filter((_, index) => isWhole[index]) as readonly (readonly Buffer[])[];
  const [first] = wanted;
  if (first !== undefined && failed.length === 0) throw damagedLetter(deadLetterIdText(first.letter.id));
  // Others may have resumed or deleted some meanwhile.
  for (const { letter } of failed) failedOf(user, deadLetterIdText(letter.id));
  engine.assertWritable(user);
  const started = failed.map(({ letter, run }, index) => {
    const copies = how === "resume" ? run.entries : run.entries.slice(0, 1);
    const again = startAgain(engine, { letter, run, overrides, how }, { copies, bodies: bodies[index] ?? [] });
    engine.changes.removeDeadLetter(user, letter);
    return { id: again.id, createdAtMs: again.record.createdAtMs };
  });
  engine.commitFresh();
  return started;
}

function startAgain(
  engine: Engine,
  { letter, run, overrides, how }: Failed & { overrides: Partial<PublishOptions>; how: "resume" | "restart" },
  { copies, bodies }: { copies: readonly Entry[]; bodies: readonly Buffer[] },
): Run {
  const { user } = run;
  const nowMs = engine.nowMs();
  const { invoker: _ended, ...record } = run.record;
  const id = drawId("wfr_", engine.random);
  const config = overridden(record.config, overrides);
  const fresh: RunRecord = { ...record, isStartedTwice: undefined, id, createdAtMs: nowMs, config };
  const again = engine.changes.createRun(user, fresh);
  const steps = bodies.map(readStep);
  for (const [index, entry] of copies.entries()) {
    const bytes = bodies[index] ?? Buffer.alloc(0);
    const isSent = how === "restart" || isSentAgain(entry, letter, { steps, index });
    const notBeforeMs = isSent ? Math.max(nowMs, entry.notBeforeMs) : nowMs;
    const facts = newFacts(engine, { nowMs, notBeforeMs, slotOwner: 0 });
    const fields = fieldsAgain(entry.envelope.fields, id, overrides);
    const accepted = { fields, bytes, isNeededSoon: true, deduplicationKey: "" };
    if (isSent) engine.addFresh(engine.changes.accept(user, facts, accepted));
    else engine.changes.copyEntry(user, facts, accepted);
  }
  return again;
}

/** The failed message, what had not been delivered, and plans whose results nobody would send otherwise. */
function isSentAgain(
  entry: Entry,
  letter: DeadLetter,
  { steps, index }: { steps: readonly (StepFields | undefined)[]; index: number },
): boolean {
  const step = steps[index];
  const target = step === undefined || index === 0 ? undefined : plannedStep(step);
  if (target !== undefined) return !steps.some((other) => other?.["stepId"] === target);
  return entry.sequence === letter.sequence || !entry.isDelivered;
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

/** What is said for a whole run, of which `kept` was said before. */
function ofRun(kept: Pick<RunConfig, "redact">, overrides: Partial<PublishOptions>): Partial<RunConfig> {
  const { retriesMax, retryDelay, flowControl, failureCallback, labels } = overrides;
  const redact = joinedRedaction(kept.redact, overrides.redact);
  const all = { retriesMax, retryDelay, flowControl, failureCallback, labels, redact };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** Throws unless the call that told of the failure has failed. `engine.finish` has to follow. */
export async function repeatFailureCall(engine: Engine, user: User, letterId: string): Promise<StartedRun> {
  const { letter, run } = failedOf(user, letterId);
  const { failureFunction } = run;
  if (failureFunction?.state !== "CALLBACK_FAIL") {
    throw badRequest(
      `Invalid value for dlqId: the failure callback of ${letterId} has not failed: its state is ${failureFunction?.state ?? "none"}`,
    );
  }
  const [first] = run.entries;
  const { bodies } = engine.realm;
  const [bytes, responseBytes] = await Promise.all([
    first === undefined ? Buffer.alloc(0) : loadUndamaged(bodies, first.body),
    loadUndamaged(bodies, letter.responseBody),
  ]);
  if (bytes === undefined || responseBytes === undefined) throw damagedLetter(letterId);
  failedOf(user, letterId);
  const { response, retried } = letter;
  const message = { ...letter, id: messageId(letter.sequence, letter.nonce) };
  const told = failureMessage(run, letter, { message, bytes, response, responseBytes, retried: retried - 1 });
  if (told === undefined) throw badRequest(`The run of ${letterId} has no failure callback`);
  const nowMs = engine.nowMs();
  const facts = newFacts(engine, { nowMs, notBeforeMs: nowMs, slotOwner: 0 });
  const call = engine.changes.accept(user, facts, { ...told, isNeededSoon: true, deduplicationKey: "" });
  engine.addFresh(call);
  const { url, retriesMax } = told.fields;
  engine.changes.putFailureFunction(run, { state: "CALLBACK_INPROGRESS", messageId: call.id, url, retriesMax });
  engine.commitFresh();
  return { id: run.id, createdAtMs: run.record.createdAtMs };
}

/** `engine.finish` has to follow. */
export function cancelFailureCall(engine: Engine, user: User, letterId: string): void {
  const { run } = failedOf(user, letterId);
  const known = run.failureFunction;
  if (known?.state !== "CALLBACK_INPROGRESS") {
    throw badRequest(
      `Invalid value for dlqId: the failure callback of ${letterId} is not under way: its state is ${known?.state ?? "none"}`,
    );
  }
  for (const message of [...run.messages]) if (message.id === known.messageId) engine.cancel(message);
  engine.changes.putFailureFunction(run, { ...known, state: "CALLBACK_CANCELED" });
}

function failedOf(user: User, id: string): Failed {
  const letter = user.deadLetters.get(id);
  const run = letter === undefined ? undefined : runOfLetter(user, letter);
  if (letter === undefined || run === undefined) throw notFound(`failed workflow run ${id} not found`);
  return { letter, run };
}

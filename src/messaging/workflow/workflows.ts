/**
 * Workflow runs: the outcomes of their deliveries, their end, and their waits for
 * events. Each decision is one frame, as everywhere in messaging.
 *
 * (1) The end of a run cancels its waiting messages and notifies the run that
 *     invoked it, in the same frame.
 * (2) The outcome of a delivery that was under way when its run ended is ignored:
 *     no retry, no dead letter, no entry.
 * (3) No wait of a frozen user times out. When it is thawed, those that are late do.
 */

import type { Clock } from "../../kernel/clock.ts";
import { jsonText } from "../../kernel/json/text.ts";
import type { WaitRequest } from "../api.ts";
import { Body } from "../bodies/body.ts";
import type { AttemptReport } from "../delivery/callbacks.ts";
import type { CallBody, DeliveryResult } from "../delivery/delivery.ts";
import { buryMessage, headerOf, recordOutcome, responseOf } from "../delivery/outcome.ts";
import type { Arrival } from "../delivery/scheduler.ts";
import { quotaExceeded } from "../failure.ts";
import type { MessagingLimits } from "../limits.ts";
import { DueHeap } from "../state/due-heap.ts";
import type { Message } from "../state/message.ts";
import type { MessagingState } from "../state/messaging-state.ts";
import { driftOf, type Moment } from "../state/moment.ts";
import { type FailureFunction, type Run, type RunState, runState } from "../state/run.ts";
import type { User } from "../state/user.ts";
import type { UnitOfWork } from "../unit-of-work.ts";
import { Holding } from "./holding.ts";
import { deliveryBody, deliveryBytes } from "./run-bodies.ts";
import { callResult, failureMessage, resultMessage } from "./run-messages.ts";
import { startedRun } from "./starting.ts";
import { StepsPayloadCache } from "./steps-payload.ts";
import { endWait, readWait, wake } from "./waits.ts";

/** The result of a call of a message of a run. */
export interface RunOutcome {
  readonly run: Run;
  readonly body: CallBody;
  readonly result: DeliveryResult;
  readonly nowMs: number;
}

/** The report of the last attempt of a message. */
type RunReport = AttemptReport & { readonly message: Message };

/** Waits that end in one turn: each takes about 25 us, and other requests wait meanwhile. */
export const WAKES_MAX = 500;
/** Longer answers stay in the journal, because ended runs are stored for weeks. */
const SHORT_ANSWER_BYTES = 4 * 1024;
/** At least this many deadlines may be obsolete before they are removed. */
const DEAD_DEADLINES_MAX = 1_024;

const NOT_A_WORKFLOW =
  "detected a non-workflow destination for trigger/invoke. make sure you are sending the request to the correct endpoint";
const NOT_A_TRIGGER = "trigger rest api is only usable with sdk versions after v1.0.0 major version";

export interface WorkflowsOptions {
  readonly state: MessagingState;
  readonly limits: MessagingLimits;
  /** The real clock, because calls take real time. */
  readonly clock: Clock;
  /** Makes a decision (`Engine.perform`). */
  readonly perform: (work: (unit: UnitOfWork) => void) => void;
  /** Passes on messages that were held back. */
  readonly arrive: (messages: readonly Message[]) => void;
}

export class Workflows {
  readonly #options: WorkflowsOptions;
  readonly #holding: Holding;
  /** Of all runs. */
  readonly payloads: StepsPayloadCache;
  /** Deadlines of waiters by number, in passed time. */
  readonly #due = new DueHeap();

  constructor(options: WorkflowsOptions) {
    this.#options = options;
    this.payloads = new StepsPayloadCache(options.state.bodies);
    this.#holding = new Holding(options.clock, options.arrive);
  }

  get nextDueMs(): number | undefined {
    return this.#due.peekDueMs();
  }

  /** After a recovery. */
  resume(now: Moment): void {
    const { state } = this.#options;
    state.orderEndedRuns();
    for (const { waiter } of state.waitersByNumber.values()) {
      this.#due.push(waiter.deadlineMs + driftOf(now), waiter.number);
    }
    this.tick(now);
  }

  /** The user is not frozen any more. Call `tick` afterwards. keeps (3) */
  thaw(user: User, now: Moment): void {
    for (const waiters of user.waiters.values())
      for (const { deadlineMs, number } of waiters) this.#due.push(deadlineMs + driftOf(now), number);
    this.#forgetDeadlines();
  }

  // Deliveries.

  /** Takes messages that are on the disk now; returns those that may be called. */
  holdBack(arrivals: readonly Arrival[], nowMs: number): readonly Arrival[] {
    return this.#holding.holdBack(arrivals, nowMs);
  }

  bodyOf(message: Message, run: Run): CallBody | Promise<CallBody> {
    const { state, limits } = this.#options;
    const stores = { bodies: state.bodies, payloads: this.payloads };
    return deliveryBody(stores, run, { message, lazyFetchBytes: limits.lazyFetchBytes });
  }

  /** The approximate length of the body of a delivery. */
  sentBytes(message: Message, run: Run): number {
    return deliveryBytes(run, { message, lazyFetchBytes: this.#options.limits.lazyFetchBytes });
  }

  started({ run, sequence, envelope }: Message): void {
    const callType = envelope.fields.workflow?.callType;
    if (callType === "step" || callType === "fromCallback") run?.inFlight.add(sequence);
  }

  ended({ run, sequence }: Message): void {
    if (run === undefined) return;
    run.inFlight.delete(sequence);
    this.#holding.ended(run);
  }

  /** Records the outcome of a call of a message of a run. */
  settle(unit: UnitOfWork, message: Message, outcome: RunOutcome): void {
    const { run, body, nowMs, result } = outcome;
    const { response, bytes: responseBytes } = responseOf(result);
    const isDelivered = response.status >= 200 && response.status < 300 && result.kind === "answer";
    if (run.ignoresOutcomeOf(message)) {
      // keeps (2)
      if (isDelivered) unit.deliver(message, nowMs, response.status);
      else {
        unit.apply(message.user, "cancelRequested", { sequence: message.sequence, atMs: nowMs });
        unit.endCancelled(message, nowMs);
      }
      return;
    }
    const report = {
      message,
      response,
      responseBytes,
      retried: message.retried,
      // Only reports of failures and of calls contain the initial body of the run.
      get bytes() {
        return body.initial;
      },
    };
    const error = isDelivered ? whyNoWorkflow(message, run, result) : undefined;
    if (error !== undefined) {
      unit.counts.failed += 1;
      this.#failRun(unit, run, { report: { ...report, response: { ...response, error } }, nowMs });
      return;
    }
    const kind = recordOutcome(unit, message, { result, response, bytes: responseBytes, nowMs });
    if (kind !== "retry") this.#finished(unit, run, { report, kind, nowMs });
  }

  /** The last attempt of a message has ended. */
  #finished(unit: UnitOfWork, run: Run, attempt: LastAttempt): void {
    const { report, kind, nowMs } = attempt;
    const { message } = report;
    const { workflow, callback } = message.envelope.fields;
    switch (workflow?.callType) {
      case "toCallback":
        if (kind === "failed") failInRun(unit, report, nowMs);
        if (callback !== undefined) {
          unit.send(run.user, callResult(run, callback, { report, limits: this.#options.limits }), { nowMs });
        }
        return;
      case "failureCall":
        if (kind === "failed") failInRun(unit, report, nowMs);
        noteFailureCall(unit, run, attempt);
        return;
      default:
        if (kind === "failed") this.#failRun(unit, run, attempt);
    }
  }

  /** keeps (1) */
  #failRun(unit: UnitOfWork, run: Run, { report, nowMs }: Omit<LastAttempt, "kind">): void {
    const { message, response, responseBytes } = report;
    const deadLetter = buryMessage(unit, message, { response, bytes: responseBytes, nowMs });
    this.#end(unit, run, { state: runState.failed, result: undefined, nowMs });
    const notice = failureMessage(run, deadLetter, report);
    if (notice === undefined) return;
    const call = unit.send(run.user, notice, { nowMs });
    const { url, retriesMax } = notice.fields;
    const failureFunction = { state: "CALLBACK_INPROGRESS", messageId: call.id, url, retriesMax } as const;
    unit.apply(run.user, "failureFunctionPut", { runId: run.id, failureFunction });
  }

  // The end of a run.

  /** The function of the run has returned. Does nothing if the run has ended. */
  finish(unit: UnitOfWork, run: Run, result: Buffer): void {
    if (run.isStarted) this.#end(unit, run, { state: runState.success, result, nowMs: unit.now.wallMs });
  }

  cancel(unit: UnitOfWork, run: Run): void {
    this.#end(unit, run, { state: runState.canceled, result: undefined, nowMs: unit.now.wallMs });
  }

  /** keeps (1) */
  #end(unit: UnitOfWork, run: Run, { state, result, nowMs }: RunEnd & { readonly nowMs: number }): void {
    // First, because it throws if the notice is too long.
    const notice = noticeToInvoker(run, { state, result });
    for (const message of [...run.messages]) unit.cancelWaiting(message);
    unit.endRun(run, { state, atMs: nowMs, result });
    // The entries of a failed run stay, but no delivery carries them any more.
    run.stepsPayload?.release();
    if (notice === undefined) return;
    const { parent, url, headers, bytes } = notice;
    const message = resultMessage(parent, { url, headers, bytes, part: { tellsOf: run.id } });
    unit.send(parent.user, message, { nowMs });
  }

  // Events.

  /** Throws a `MessagingFailure` before anything has changed. */
  wait(unit: UnitOfWork, user: User, request: WaitRequest): void {
    const { state, limits, now } = unit;
    const run = startedRun(user, request.runId);
    const { waiter, timeoutMs } = readWait(request);
    // An endpoint that ended before it answered repeats its wait, perhaps when the step has its result already: then the
    // repeated wait would take an event of another step.
    if (run.hasWaited(waiter.step["stepId"])) return;
    for (const other of run.waiters) {
      if (other.eventId === waiter.eventId && other.step["stepId"] === waiter.step["stepId"]) return;
    }
    const nowMs = now.wallMs;
    const record = { ...waiter, number: state.waiterNumberMax + 1, createdAtMs: nowMs, deadlineMs: nowMs + timeoutMs };
    const saved = run.savedEvents.get(waiter.eventId)?.[0];
    if (saved !== undefined) {
      unit.apply(user, "eventTaken", { runId: run.id, eventId: waiter.eventId });
      endWait(unit, run, { waiter: record, data: saved, nowMs });
      return;
    }
    if ((user.waiters.get(waiter.eventId)?.size ?? 0) >= limits.waitersPerEventMax) {
      throw quotaExceeded(`Maximum number of waiters of an event exceeded: ${limits.waitersPerEventMax}`);
    }
    unit.apply(user, "waiterAdded", { record });
    this.#forgetDeadlines();
    this.#due.push(record.deadlineMs + driftOf(now), record.number);
  }

  /** Obsolete deadlines stay until they are due, mostly in a week, or until they are the majority. */
  #forgetDeadlines(): void {
    const { waitersByNumber } = this.#options.state;
    if (this.#due.size > 2 * waitersByNumber.size + DEAD_DEADLINES_MAX) {
      this.#due.retain((number) => waitersByNumber.has(number));
    }
  }

  /** Count of deadlines, including obsolete ones. */
  get deadlineCount(): number {
    return this.#due.size;
  }

  /** Ends waits that have timed out, at most WAKES_MAX: if more have, `nextDueMs` remains in the past. */
  tick(now: Moment): void {
    const { state, perform } = this.#options;
    for (let count = 0; count < WAKES_MAX; count += 1) {
      const dueMs = this.#due.peekDueMs();
      if (dueMs === undefined || dueMs > now.passedMs) return;
      const known = state.waitersByNumber.get(this.#due.pop());
      if (known === undefined) continue;
      const { user, waiter } = known;
      if (user.isFrozen) continue; // keeps (3)
      perform((unit) => {
        wake(unit, state.runOf(user, waiter.runId), { waiter, data: undefined, nowMs: now.wallMs });
      });
    }
  }
}

interface LastAttempt {
  readonly report: RunReport;
  readonly kind: "delivered" | "failed";
  readonly nowMs: number;
}

/** Fails a message without a dead letter. */
function failInRun(unit: UnitOfWork, { message, response, responseBytes }: RunReport, atMs: number): void {
  const { user, sequence } = message;
  unit.apply(user, "failedInRun", { sequence, atMs, dueMs: 0, response, responseBytes });
}

/** Records the result of the call that reports a failure. */
function noteFailureCall(unit: UnitOfWork, run: Run, { report, kind }: LastAttempt): void {
  const { message, response, responseBytes } = report;
  const known = run.failureFunction;
  if (known === undefined || known.messageId !== message.id) return;
  const { user, id: runId } = run;
  const isMissing = headerOf(response.headers, "upstash-workflow-failure-callback-notfound") !== undefined;
  if (kind === "delivered" && isMissing) {
    unit.apply(user, "failureFunctionPut", { runId, failureFunction: undefined });
    return;
  }
  const failureFunction: FailureFunction = {
    ...known,
    state: kind === "delivered" ? "CALLBACK_SUCCESS" : "CALLBACK_FAIL",
    status: response.status,
    headers: response.headers,
  };
  if (responseBytes.length > SHORT_ANSWER_BYTES) {
    const answer = Body.of(responseBytes, false);
    unit.apply(user, "failureFunctionAnswered", { runId, failureFunction, answer });
    return;
  }
  const body = response.status === 0 ? response.error : responseBytes.toString("utf8");
  unit.apply(user, "failureFunctionPut", { runId, failureFunction: { ...failureFunction, body } });
}

interface RunEnd {
  readonly state: RunState;
  readonly result: Buffer | undefined;
}

/** The message that reports the end of a run to the run that invoked it; undefined if no run waits for it. */
function noticeToInvoker(
  run: Run,
  { state, result }: RunEnd,
): { parent: Run; url: string; headers: readonly string[]; bytes: Buffer } | undefined {
  const { invoker } = run.record;
  const parent = invoker === undefined ? undefined : run.user.runs.get(invoker.runId);
  if (invoker === undefined || parent?.isStarted !== true) return undefined;
  const text = result?.toString("utf8") ?? "";
  const out = {
    ...(text === "" ? {} : { body: text }),
    isCanceled: state === runState.canceled,
    isFailed: state === runState.failed,
  };
  const { url, headers } = invoker;
  return { parent, url, headers, bytes: Buffer.from(jsonText({ ...invoker.step, out: jsonText(out) })) };
}

/** Why the destination that took a delivery is not a workflow endpoint; undefined if it is one. */
function whyNoWorkflow({ envelope }: Message, { record }: Run, result: DeliveryResult): string | undefined {
  const { workflow } = envelope.fields;
  if (workflow === undefined || result.kind !== "answer" || workflow.isBodyOwn === true) return undefined;
  if (workflow.callType !== "step" && workflow.callType !== "fromCallback") return undefined;
  if (record.isPlainTrigger === true && workflow.isInit === true) {
    return headerOf(result.headers, "upstash-workflow-sdk") === undefined ? NOT_A_TRIGGER : undefined;
  }
  if (workflow.isDetected !== true) return undefined;
  return headerOf(result.headers, "upstash-workflow-sdk-version") === undefined ? NOT_A_WORKFLOW : undefined;
}

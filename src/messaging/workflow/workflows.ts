/**
 * Workflow runs as they happen: what comes of their deliveries, their end, the
 * events that they wait for. Each event is one frame, like all of messaging.
 *
 * (1) What ends a run also takes its waiting messages and tells the run that
 *     invoked it, in the same frame.
 * (2) The outcome of a delivery that was under way when its run ended means
 *     nothing: no retry, no dead letter, no entry.
 * (3) Who removes a waiter puts the result at the end of the run, in one frame:
 *     so exactly one of event and time-out wins.
 */
import type { Clock } from "../../kernel/clock.ts";
import { jsonText } from "../../kernel/json/text.ts";
import type { AttemptReport } from "../delivery/callbacks.ts";
import type { CallBody, DeliveryResult } from "../delivery/delivery.ts";
import { headerOf, responseOf } from "../delivery/outcome.ts";
import type { Arrival } from "../delivery/scheduler.ts";
import type { Engine } from "../engine.ts";
import { quotaExceeded } from "../failure.ts";
import { newFacts } from "../publish.ts";
import { DueHeap } from "../state/due-heap.ts";
import type { Message } from "../state/message.ts";
import { driftOf, type Moment } from "../state/moment.ts";
import type { User } from "../state/user.ts";
import { Holding } from "./holding.ts";
import { ListCache } from "./list-cache.ts";
import { type FailureFunction, type Run, type RunState, runState } from "./run.ts";
import { deliveryBody, deliveryBytes } from "./run-bodies.ts";
import { callResult, failureMessage, type RunMessage, resultMessage } from "./run-messages.ts";
import { startedRun } from "./starting.ts";
import type { Waiter } from "./waiter.ts";
import { hiddenOfWait, readWait, type WaitRequest, waitResult } from "./waits.ts";

/** What a call of a message of a run brought. */
export interface RunOutcome {
  readonly body: CallBody;
  readonly result: DeliveryResult;
  readonly nowMs: number;
}

/** What came of the last attempt of a message. */
type RunReport = AttemptReport & { readonly message: Message };

/** A run that was told of an event. */
export interface Notified {
  readonly run: Run;
  /** Undefined: nobody waited, and it is kept. */
  readonly waiter: Waiter | undefined;
  readonly messageId: string | undefined;
}

/** Waits that end in one turn: each takes about 25 us, and others wait meanwhile. */
export const WAKES_MAX = 500;
/** Longer ones are kept in the journal: ended runs are remembered for weeks. */
const SHORT_ANSWER_BYTES = 4 * 1024;
/** So many deadlines may be of waiters that are gone, however few there are. */
const DEAD_DEADLINES_MAX = 1_024;

const NOT_A_WORKFLOW =
  "detected a non-workflow destination for trigger/invoke. make sure you are sending the request to the correct endpoint";
const NOT_A_TRIGGER = "trigger rest api is only usable with sdk versions after v1.0.0 major version";

export class Workflows {
  readonly #engine: Engine;
  readonly #holding: Holding;
  /** Of all runs. */
  readonly lists: ListCache;
  /** Deadlines of waiters by number, in passed time. */
  readonly #due = new DueHeap();

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine;
    this.lists = new ListCache(engine.realm.bodies);
    this.#holding = new Holding(clock.real, (messages) => engine.arrive(messages));
  }

  get nextDueMs(): number | undefined {
    return this.#due.peekDueMs();
  }

  /** After a recovery. */
  resume(now: Moment): void {
    this.#engine.realm.orderEndedRuns();
    for (const { waiter } of this.#engine.realm.waitersByNumber.values())
      this.#due.push(waiter.deadlineMs + driftOf(now), waiter.number);
    this.tick(now);
  }

  // Deliveries.

  /** Messages that are on the disk now: those of them that may go on. */
  holdBack(arrivals: readonly Arrival[], nowMs: number): readonly Arrival[] {
    return this.#holding.holdBack(arrivals, nowMs);
  }

  bodyOf(message: Message, run: Run): CallBody | Promise<CallBody> {
    const { realm, limits } = this.#engine;
    const stores = { bodies: realm.bodies, lists: this.lists };
    return deliveryBody(stores, run, { message, lazyFetchBytes: limits.lazyFetchBytes });
  }

  /** How long the body of a delivery is, about. */
  sentBytes(message: Message, run: Run): number {
    return deliveryBytes(run, { message, lazyFetchBytes: this.#engine.limits.lazyFetchBytes });
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

  /** Records what came of a call of a message of a run. */
  settle(message: Message, run: Run, outcome: RunOutcome): void {
    const { changes, counts } = this.#engine;
    const { nowMs, result, body } = outcome;
    const { response, bytes: responseBytes } = responseOf(result);
    const isDelivered = response.status >= 200 && response.status < 300 && result.kind === "answer";
    if (run.hasLeftBehind(message)) {
      // keeps (2)
      if (isDelivered) changes.deliver(message, nowMs, response.status);
      else {
        changes.requestCancel(message, nowMs);
        changes.cancel(message, nowMs);
        counts.cancelled += 1;
      }
      return;
    }
    const report = {
      message,
      response,
      responseBytes,
      retried: message.retried,
      // Only of what failed, and of calls, is said what it began with.
      get bytes() {
        return body.initial;
      },
    };
    const error = isDelivered ? whyNoWorkflow(message, run, result) : undefined;
    if (error !== undefined) {
      counts.failed += 1;
      this.#failRun(run, { ...report, response: { ...response, error } }, nowMs);
      return;
    }
    const kind = this.#engine.recordOutcome(message, result, nowMs);
    if (kind !== "retry") this.#finished(run, report, kind, nowMs);
  }

  /** The last attempt of a message has ended. */
  #finished(run: Run, report: RunReport, kind: "delivered" | "failed", nowMs: number): void {
    const { message, response, responseBytes } = report;
    const { workflow, callback } = message.envelope.fields;
    switch (workflow?.callType) {
      case "toCallback":
        if (kind === "failed") this.#engine.changes.failInRun(message, nowMs, response, responseBytes);
        if (callback !== undefined) {
          this.#accept(run, callResult(run, callback, { report, limits: this.#engine.limits }), nowMs);
        }
        return;
      case "failureCall":
        if (kind === "failed") this.#engine.changes.failInRun(message, nowMs, response, responseBytes);
        this.#noteFailureCall(run, report, kind);
        return;
      default:
        if (kind === "failed") this.#failRun(run, report, nowMs);
    }
  }

  /** keeps (1) */
  #failRun(run: Run, report: RunReport, nowMs: number): void {
    const { changes } = this.#engine;
    const letter = changes.fail(report.message, nowMs, report.response, report.responseBytes);
    this.#end(run, { state: runState.failed, result: undefined, nowMs });
    const told = failureMessage(run, letter, report);
    if (told === undefined) return;
    const message = this.#accept(run, told, nowMs);
    const { url, retriesMax } = told.fields;
    changes.putFailureFunction(run, { state: "CALLBACK_INPROGRESS", messageId: message.id, url, retriesMax });
  }

  #noteFailureCall(run: Run, { message, response, responseBytes }: AttemptReport, kind: "delivered" | "failed"): void {
    const { changes } = this.#engine;
    const known = run.failureFunction;
    if (known === undefined || known.messageId !== message.id) return;
    const isMissing = headerOf(response.headers, "upstash-workflow-failure-callback-notfound") !== undefined;
    if (kind === "delivered" && isMissing) {
      changes.putFailureFunction(run, undefined);
      return;
    }
    const ended: FailureFunction = {
      ...known,
      state: kind === "delivered" ? "CALLBACK_SUCCESS" : "CALLBACK_FAIL",
      status: response.status,
      headers: response.headers,
    };
    if (responseBytes.length > SHORT_ANSWER_BYTES) changes.putFailureAnswer(run, ended, responseBytes);
    else {
      const body = response.status === 0 ? response.error : responseBytes.toString("utf8");
      changes.putFailureFunction(run, { ...ended, body });
    }
  }

  // The end of a run.

  /** Its function has returned. Nothing happens to a run that is gone. `finish` of the engine has to follow. */
  finish(run: Run, result: Buffer): void {
    if (run.isStarted) this.#end(run, { state: runState.success, result, nowMs: this.#engine.nowMs() });
  }

  /** `finish` of the engine has to follow. */
  cancel(run: Run): void {
    this.#end(run, { state: runState.canceled, result: undefined, nowMs: this.#engine.nowMs() });
  }

  /** keeps (1) */
  #end(run: Run, { state, result, nowMs }: { state: RunState; result: Buffer | undefined; nowMs: number }): void {
    // Throws if it is too long, so it comes before anything has changed.
    const told = this.#toldToInvoker(run, { state, result });
    for (const message of [...run.messages]) this.#engine.cancelWaiting(message);
    this.#engine.changes.endRun(run, { state, atMs: nowMs, result });
    // The entries of one that failed stay, and nothing carries them any more.
    run.text?.release();
    if (told === undefined) return;
    const { parent, url, headers, bytes } = told;
    this.#accept(parent, resultMessage(parent, { url, headers, bytes, part: { tellsOf: run.id } }), nowMs);
  }

  /** What the run that invoked this one is told of its end; undefined if there is none that waits for it. */
  #toldToInvoker(
    run: Run,
    { state, result }: { state: RunState; result: Buffer | undefined },
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

  // Events.

  /** `finish` of the engine has to follow. Throws a `MessagingFailure` before anything has changed. */
  wait(user: User, request: WaitRequest): void {
    const { changes, realm, limits } = this.#engine;
    const run = startedRun(user, request.runId);
    const { waiter, timeoutMs } = readWait(request);
    // An endpoint that ended before it answered asks again, perhaps when its step has its result: then it would be told
    // of an event that is for another one.
    if (run.hasWaited(waiter.step["stepId"])) return;
    for (const other of run.waiters) {
      if (other.eventId === waiter.eventId && other.step["stepId"] === waiter.step["stepId"]) return;
    }
    const { now } = this.#engine;
    const nowMs = now.wallMs;
    const record = { ...waiter, number: realm.waiterNumberMax + 1, createdAtMs: nowMs, deadlineMs: nowMs + timeoutMs };
    const saved = run.savedEvents.get(waiter.eventId)?.[0];
    if (saved !== undefined) {
      changes.takeEvent(run, waiter.eventId);
      this.#tell(run, record, saved, nowMs);
      return;
    }
    if ((user.waiters.get(waiter.eventId)?.size ?? 0) >= limits.waitersPerEventMax) {
      throw quotaExceeded(`Maximum number of waiters of an event exceeded: ${limits.waitersPerEventMax}`);
    }
    changes.addWaiter(user, record);
    this.#forgetDeadlines();
    this.#due.push(record.deadlineMs + driftOf(now), record.number);
  }

  /** Those of waiters that are gone stay until they are due, in a week mostly: they go when they are more than the others. */
  #forgetDeadlines(): void {
    const { waitersByNumber } = this.#engine.realm;
    if (this.#due.size > 2 * waitersByNumber.size + DEAD_DEADLINES_MAX) {
      this.#due.retain((number) => waitersByNumber.has(number));
    }
  }

  /** Of waiters, also of some that are gone. */
  get deadlineCount(): number {
    return this.#due.size;
  }

  /** Tells those of these waiters that still wait. `finish` of the engine has to follow. */
  notifyEach(user: User, waiters: readonly Waiter[], data: Buffer): readonly Notified[] {
    const nowMs = this.#engine.nowMs();
    const notified: Notified[] = [];
    for (const waiter of waiters) {
      if (user.waiters.get(waiter.eventId)?.has(waiter) !== true) continue;
      const run = this.#engine.realm.runOf(user, waiter.runId);
      notified.push({ run, waiter, messageId: this.#wake(run, waiter, data, nowMs).id });
    }
    return notified;
  }

  /** Tells a run, now or when it waits for the event. `finish` of the engine has to follow. */
  notifyRun(run: Run, eventId: string, data: Buffer): Notified {
    const waiter = [...run.waiters].find((other) => other.eventId === eventId);
    if (waiter === undefined) {
      this.#checkRoom(run, data);
      this.#engine.changes.saveEvent(run, eventId, data);
      return { run, waiter: undefined, messageId: undefined };
    }
    return { run, waiter, messageId: this.#wake(run, waiter, data, this.#engine.nowMs()).id };
  }

  /** Webhooks are open, so what is kept for a run counts like its entries. Throws a `MessagingFailure`. */
  #checkRoom(run: Run, data: Buffer): void {
    const { stepsPerRunMax, runBytesMax } = this.#engine.limits;
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

  /** Ends waits that took too long, some of them: `nextDueMs` has passed if there are others. */
  tick(now: Moment): void {
    for (let count = 0; count < WAKES_MAX; count += 1) {
      const dueMs = this.#due.peekDueMs();
      if (dueMs === undefined || dueMs > now.passedMs) return;
      const known = this.#engine.realm.waitersByNumber.get(this.#due.pop());
      if (known === undefined) continue;
      this.#wake(this.#engine.realm.runOf(known.user, known.waiter.runId), known.waiter, undefined, now.wallMs);
      this.#engine.commitFresh();
    }
  }

  /** keeps (3) */
  #wake(run: Run, waiter: Waiter, data: Buffer | undefined, nowMs: number): Message {
    this.#engine.changes.removeWaiter(run.user, waiter);
    return this.#tell(run, waiter, data, nowMs);
  }

  /** Puts the result of a wait at the end of its run. Without data it waited too long. */
  #tell(run: Run, waiter: Waiter, data: Buffer | undefined, nowMs: number): Message {
    const bytes = waitResult(waiter, data);
    const { url, headers, timeoutUrl, timeoutHeaders, timeoutBody, timeout, deadlineMs } = waiter;
    const { stepId } = waiter.step;
    const part = { waited: { timeout, deadlineMs, ...(typeof stepId === "number" && { stepId }) } };
    const redact = hiddenOfWait(waiter);
    if (data !== undefined) return this.#accept(run, resultMessage(run, { url, headers, bytes, part, redact }), nowMs);
    const late = resultMessage(run, { url: timeoutUrl, headers: timeoutHeaders, bytes, part, redact });
    if (timeoutBody === undefined) return this.#accept(run, late, nowMs);
    // The run has its entry, and its URL is sent what was asked for.
    const facts = newFacts(this.#engine, { nowMs, notBeforeMs: nowMs, slotOwner: 0 });
    this.#engine.changes.copyEntry(run.user, facts, { ...late, isNeededSoon: true, deduplicationKey: "" });
    const workflow = { runId: run.id, callType: "step", isBodyOwn: true } as const;
    const own = { fields: { ...late.fields, workflow }, bytes: Buffer.from(timeoutBody) };
    return this.#accept(run, own, nowMs);
  }

  #accept(run: Run, { fields, bytes }: RunMessage, nowMs: number): Message {
    const facts = newFacts(this.#engine, { nowMs, notBeforeMs: nowMs, slotOwner: 0 });
    if (fields.queueName !== undefined) this.#engine.queueFor(run.user, fields.queueName);
    const message = this.#engine.changes.accept(run.user, facts, {
      fields,
      bytes,
      isNeededSoon: true,
      deduplicationKey: "",
    });
    this.#engine.addFresh(message);
    return message;
  }
}

/** Why a destination that took a delivery is none for workflows, or undefined. */
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

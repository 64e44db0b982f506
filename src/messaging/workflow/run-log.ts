/**
 * The log of a run: steps in groups (W.logs.groups). Derived from the log of its
 * messages, which exists longer than its entries.
 *
 *     sequential   the start, and steps one after the other
 *     parallel     steps that were planned together, with results as they come
 *     next         a delivery without a result yet
 *
 * The failed attempts of a step are those of the messages whose deliveries ran it: the
 * plan of a parallel step, otherwise the messages since the step before it; and of a
 * call also those of the call and of its answer.
 */
import type { LogEntry, LoggedMessage } from "../api.ts";
import type { EnvelopeFields, WaitFields } from "../options/envelope.ts";
import { headerBytes, headerLists } from "../options/header-lists.ts";
import { RETRIES_DEFAULT } from "../options/headers.ts";
import { joinedRedaction, redactedHeaders, redactedText } from "../options/redaction.ts";
import { type Run, runState } from "../state/run.ts";
import { type MessageState, messageState } from "../state/states.ts";
import { isObject } from "./invoke.ts";
import { plannedStep, readStep, type StepFields, shownStep } from "./step-text.ts";

export interface StepGroup {
  readonly type: "sequential" | "parallel" | "next";
  readonly steps: object[];
}

interface StepError {
  readonly error: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly status: number;
  readonly time: number;
}

/** A message of the run, from its log entries. */
interface RunStep {
  readonly id: string;
  readonly fields: EnvelopeFields;
  readonly body: Buffer;
  readonly createdAtMs: number;
  readonly notBeforeMs: number;
  readonly errors: StepError[];
  state: MessageState;
  nextDeliveryMs: number | undefined;
  /** The fields of its body, if it is a plan or a result. */
  readonly step: StepFields | undefined;
}

export interface RunLog {
  readonly groups: readonly StepGroup[];
  /** Of a run that has ended: failed attempts of deliveries that no step followed, though a later attempt succeeded. */
  readonly lastErrors: readonly StepError[];
  /** The last answer that made the run fail. */
  readonly failure: StepError | undefined;
  /** Errors of the call that reported the failure. */
  readonly failureErrors: readonly StepError[];
  /** When the next attempt of that call is due; undefined if none is. */
  readonly failureDueMs: number | undefined;
}

/** The inputs of a run log besides the log entries. */
export interface RunLogFacts {
  readonly nowMs: number;
  /** The reason phrase of a status. */
  readonly phraseOf: (status: number) => string;
  /** First messages of the runs that it invoked, by run id. */
  readonly invoked: ReadonlyMap<string, LoggedMessage>;
}

/** `entries` are all of the run's messages, earliest first. */
export function runLogOf(run: Run, entries: readonly LogEntry[], { nowMs, phraseOf, invoked }: RunLogFacts): RunLog {
  const messages = messagesOf(entries, phraseOf);
  const last = messages.findLastIndex(({ fields }) => fields.workflow?.isInit === true);
  const listed = messages.slice(Math.max(last, 0)).filter(isListed);
  const failed = messages.find((message) => message.state === messageState.failed && isOfEndpoint(message));
  const failureCalls = messages.filter(({ fields }) => fields.workflow?.callType === "failureCall");
  const grouping = new Grouping(run, listed, { nowMs, invoked });
  return {
    groups: grouping.groups(),
    lastErrors: run.isStarted ? [] : grouping.unfollowedErrors,
    failure: failed?.errors.at(-1),
    failureErrors: failureCalls.flatMap(({ errors }) => errors),
    failureDueMs: failureCalls.at(-1)?.nextDeliveryMs,
  };
}

function messagesOf(entries: readonly LogEntry[], phraseOf: (status: number) => string): readonly RunStep[] {
  const byId = new Map<string, RunStep>();
  for (const { message, timeMs, state: entryState, nextDeliveryMs, response } of entries) {
    let known = byId.get(message.id);
    if (known === undefined) {
      const { id, envelope: fields, body, createdAtMs, notBeforeMs } = message;
      const isStep = fields.workflow?.callType === "step" && fields.workflow.isInit !== true;
      const step = isStep ? readStep(body) : undefined;
      known = { id, fields, body, createdAtMs, notBeforeMs, errors: [], state: entryState, nextDeliveryMs, step };
      byId.set(id, known);
    }
    known.state = entryState;
    known.nextDeliveryMs = nextDeliveryMs;
    if (entryState === messageState.error && response !== undefined) {
      const { status, headers, error, body } = response;
      const text = error !== "" ? error : `${status} ${phraseOf(status)}`.trim();
      const shown = body.toString("utf8");
      known.errors.push({ error: text, body: shown, headers: headerLists(headers), status, time: timeMs });
    }
  }
  return [...byId.values()];
}

function isListed({ fields: { workflow } }: RunStep): boolean {
  return workflow?.callType !== "failureCall" && workflow?.isBodyOwn !== true;
}

/** True if its outcome decides whether the run continues. */
function isOfEndpoint({ fields: { workflow } }: RunStep): boolean {
  return workflow?.callType === "step" || workflow?.callType === "fromCallback";
}

function isPlan({ step }: RunStep): boolean {
  return step !== undefined && plannedStep(step) !== undefined;
}

/** True of a message that fails: it will be retried, or was given up. */
function isTroubled({ state }: RunStep): boolean {
  return state === messageState.retry || state === messageState.failed || state === messageState.error;
}

class Grouping {
  readonly #run: Run;
  readonly #messages: readonly RunStep[];
  readonly #nowMs: number;
  readonly #invoked: RunLogFacts["invoked"];
  readonly #groups: StepGroup[] = [];
  /** The place of each step by its number. */
  readonly #placeOf = new Map<number, { readonly group: StepGroup; readonly index: number }>();
  readonly #results = new Set<number>();
  readonly #calls = new Map<number, RunStep>();
  readonly #answers = new Map<number, RunStep>();
  /** The messages whose deliveries ran each step. */
  readonly #runners = new Map<number, readonly RunStep[]>();
  /** The deliveries since the last step that was shown: they run the next one. */
  #unfollowed: RunStep[] = [];
  #fork: { readonly group: StepGroup; readonly concurrent: number } | undefined;

  constructor(run: Run, messages: readonly RunStep[], { nowMs, invoked }: Pick<RunLogFacts, "nowMs" | "invoked">) {
    this.#run = run;
    this.#messages = messages;
    this.#nowMs = nowMs;
    this.#invoked = invoked;
  }

  groups(): readonly StepGroup[] {
    for (const message of this.#messages) {
      const called = calledStep(message);
      if (called === undefined) continue;
      const { workflow } = message.fields;
      (workflow?.callType === "toCallback" ? this.#calls : this.#answers).set(called, message);
    }
    for (const message of this.#messages) {
      const { workflow } = message.fields;
      if (workflow?.isInit === true) this.#groups.push({ type: "sequential", steps: [this.#initial(message)] });
      else if (workflow?.callType === "toCallback") this.#called(message);
      else if (message.step !== undefined) this.#stepped(message, message.step);
      const isRunner = workflow?.isInit === true || (message.step !== undefined && !isPlan(message));
      if (isRunner && !isTroubled(message)) this.#unfollowed.push(message);
    }
    this.#waiting();
    this.#next();
    return this.#groups;
  }

  /** Once the groups were made. */
  get unfollowedErrors(): readonly StepError[] {
    return this.#unfollowed.flatMap(({ errors }) => errors);
  }

  #initial(message: RunStep): object {
    return {
      stepName: "init",
      stepType: "Initial",
      ...this.#common(message, { concurrent: 1 }),
      state: "STEP_SUCCESS",
      out: this.#text(message, message.body.toString("utf8")),
    };
  }

  #stepped(message: RunStep, step: StepFields): void {
    const target = plannedStep(step);
    if (target !== undefined) this.#planned(message, step, target);
    else if (typeof step["stepId"] === "number") this.#resulted(message, step, step["stepId"]);
  }

  #planned(message: RunStep, step: StepFields, target: number): void {
    if (this.#placeOf.has(target)) return;
    this.#runners.set(target, [...this.#takeUnfollowed(), message]);
    const concurrent = typeof step["concurrent"] === "number" ? step["concurrent"] : 1;
    if (this.#fork === undefined || this.#fork.group.steps.length >= this.#fork.concurrent) {
      this.#fork = { group: { type: "parallel", steps: [] }, concurrent };
      this.#groups.push(this.#fork.group);
    }
    const { group } = this.#fork;
    this.#placeOf.set(target, { group, index: group.steps.length });
    group.steps.push({
      ...this.#fieldsOf(message, { ...step, stepId: target, targetStep: undefined }),
      state: this.#planState(message),
      ...this.#attemptsAt(target),
    });
  }

  #resulted(message: RunStep, step: StepFields, id: number): void {
    if (this.#results.has(id)) return;
    this.#results.add(id);
    const isSleeping =
      message.state === messageState.created &&
      message.notBeforeMs > this.#nowMs &&
      message.notBeforeMs > message.createdAtMs;
    const isDropped = message.state === messageState.cancelled && message.notBeforeMs > this.#run.endedAtMs;
    const place = this.#placeOf.get(id);
    if (place === undefined) this.#runners.set(id, this.#takeUnfollowed());
    const shown = {
      ...this.#fieldsOf(message, step),
      ...this.#attemptsAt(id),
      state: place === undefined && isDropped ? "STEP_CANCELED" : isSleeping ? "STEP_PROGRESS" : "STEP_SUCCESS",
    };
    if (place !== undefined) {
      place.group.steps[place.index] = { ...shown, state: "STEP_SUCCESS" };
      return;
    }
    const group: StepGroup = { type: "sequential", steps: [shown] };
    this.#placeOf.set(id, { group, index: 0 });
    this.#groups.push(group);
  }

  /** A call of a third party without a result. */
  #called(message: RunStep): void {
    const id = calledStep(message);
    if (id === undefined) return;
    const hasResult = this.#messages.some(({ step }) => step?.["stepId"] === id);
    if (hasResult) return;
    const place = this.#placeOf.get(id);
    const given = callHeaders(message);
    const step = {
      stepId: id,
      stepName: given("stepname"),
      stepType: "Call",
      concurrent: Number(given("concurrent") ?? 1),
    };
    if (place !== undefined) {
      place.group.steps[place.index] = { ...place.group.steps[place.index], ...this.#callOf(id) };
      return;
    }
    this.#runners.set(id, this.#takeUnfollowed());
    const group: StepGroup = {
      type: "sequential",
      steps: [{ ...this.#fieldsOf(message, step), state: this.#pendingState(), ...this.#attemptsAt(id) }],
    };
    this.#placeOf.set(id, { group, index: 0 });
    this.#groups.push(group);
  }

  /** Waits without a result, and invoked runs. */
  #waiting(): void {
    for (const wait of [...this.#run.waiters, ...this.#run.leftWaits]) {
      const { step, eventId, createdAtMs } = wait;
      this.#began(step, { createdAt: createdAtMs, waitEventId: eventId, ...waitOf(wait), waitTimeout: false });
    }
    for (const child of this.#run.children) {
      const { id, record, state: childState } = child;
      const facts = {
        createdAt: record.createdAtMs,
        messageId: child.firstMessageId,
        invokedWorkflowRunId: id,
        invokedWorkflowUrl: record.url,
        invokedWorkflowCreatedAt: record.createdAtMs,
        ...this.#begunWith(id),
      };
      this.#began(record.invoker?.step ?? {}, facts, childState === runState.success ? "STEP_SUCCESS" : undefined);
    }
  }

  /** The first message of an invoked run, redacted as it or this run requests. */
  #begunWith(id: string): object {
    const message = this.#invoked.get(id);
    if (message === undefined) return {};
    const redact = joinedRedaction(this.#run.record.config.redact, message.envelope.redact) ?? {};
    return {
      invokedWorkflowRunBody: redact.body === true ? redactedText(message.body) : message.body.toString("utf8"),
      invokedWorkflowRunHeaders: headerLists(redactedHeaders(redact, message.envelope.headers)),
    };
  }

  /** A step whose result comes from an event or an invoked run, perhaps after the end of this run. */
  #began(step: StepFields, facts: Readonly<Record<string, unknown>>, ended?: string): void {
    const id = step["stepId"];
    const place = typeof id === "number" ? this.#placeOf.get(id) : undefined;
    if (place === undefined) {
      const { targetStep: _none, ...shown } = step;
      const group: StepGroup = { type: "sequential", steps: [] };
      if (typeof id === "number") {
        this.#placeOf.set(id, { group, index: 0 });
        this.#runners.set(id, this.#takeUnfollowed());
      }
      const attempts = typeof id === "number" ? this.#attemptsAt(id) : {};
      const state = ended ?? this.#pendingState();
      group.steps.push({ ...shownStep(shown), callType: "step", ...this.#ofConfig(), state, ...facts, ...attempts });
      this.#groups.push(group);
      return;
    }
    const known = place.group.steps[place.index];
    const { createdAt: _known, messageId: _planned, ...more } = facts;
    place.group.steps[place.index] = { ...known, ...more, ...(ended === undefined ? {} : { state: ended }) };
  }

  /** What the message of a result that is not there yet will have of the run. */
  #ofConfig(): object {
    const { headers, retriesMax = RETRIES_DEFAULT, retryDelay, redact = {} } = this.#run.record.config;
    const shown = headerLists(redactedHeaders(redact, headers));
    return { headers: shown, retries: retriesMax, ...(retryDelay === undefined ? {} : { retryDelay }) };
  }

  /** Deliveries to the endpoint without a result. */
  #next(): void {
    const last = this.#messages.findLast(isOfEndpoint);
    const steps: object[] = [];
    for (const message of this.#messages) {
      if (!isOfEndpoint(message) || isPlan(message)) continue;
      const isUnderWay =
        message === last &&
        this.#run.isStarted &&
        (message.state === messageState.active ||
          (message.state === messageState.created && message.notBeforeMs <= this.#nowMs));
      if (!isTroubled(message) && !isUnderWay) continue;
      steps.push({
        messageId: message.id,
        ...stepNameOf(message),
        state:
          message.state === messageState.failed ? "STEP_FAILED" : isTroubled(message) ? "STEP_RETRY" : "STEP_PROGRESS",
        retries: message.fields.retriesMax,
        ...errorsOf(message),
        ...retryDelayOf(message),
        ...(message.nextDeliveryMs === undefined ? {} : { nextDeliveryTime: message.nextDeliveryMs }),
      });
    }
    if (steps.length > 0) this.#groups.push({ type: "next", steps });
  }

  /** The deliveries that the step which is shown now followed. */
  #takeUnfollowed(): readonly RunStep[] {
    const taken = this.#unfollowed;
    this.#unfollowed = [];
    return taken;
  }

  /** The failed attempts to run a step, also of one that succeeded later. */
  #attemptsAt(id: number): object {
    const answer = this.#answers.get(id);
    const messages = [
      ...(this.#runners.get(id) ?? []),
      this.#calls.get(id),
      // The errors of a delivery that goes on failing are in the group `next`.
      answer !== undefined && isTroubled(answer) ? undefined : answer,
    ];
    const errors = messages.flatMap((message) => message?.errors ?? []);
    return errors.length === 0 ? {} : { errors: errors.sort((one, other) => one.time - other.time) };
  }

  #planState(message: RunStep): string {
    switch (message.state) {
      case messageState.failed:
        return "STEP_FAILED";
      case messageState.retry:
      case messageState.error:
        return "STEP_RETRY";
      case messageState.cancelled:
      case messageState.cancelRequested:
        return "STEP_CANCELED";
      default:
        return this.#pendingState();
    }
  }

  #pendingState(): string {
    return this.#run.isStarted ? "STEP_PROGRESS" : "STEP_CANCELED";
  }

  #fieldsOf(message: RunStep, step: StepFields): object {
    const { out, timeout, ...others } = step;
    const rest = shownStep(others);
    const shownOut =
      out === undefined ? {} : { out: this.#text(message, typeof out === "string" ? out : JSON.stringify(out)) };
    const id = step["stepId"];
    return {
      ...rest,
      ...this.#common(message, { concurrent: 1, ...rest }),
      ...(typeof id === "number" ? this.#callOf(id) : {}),
      // The plan of a wait has its time-out; its result has whether it timed out.
      ...(timeout === undefined || timeout === null ? {} : { waitTimeoutDuration: String(timeout) }),
      ...waitedFor(message),
      ...shownOut,
    };
  }

  #common(message: RunStep, { concurrent }: StepFields): object {
    const { id, fields, createdAtMs } = message;
    return {
      callType: fields.workflow?.callType,
      messageId: id,
      concurrent,
      createdAt: createdAtMs,
      headers: headerLists(redactedHeaders(fields.redact ?? {}, fields.headers)),
      retries: fields.retriesMax,
      ...retryDelayOf(message),
    };
  }

  /** The call of a step, and its answer. */
  #callOf(id: number): object {
    const call = this.#calls.get(id);
    if (call === undefined) return {};
    const { fields, body } = call;
    const answer = this.#answers.get(id);
    return {
      callUrl: fields.url,
      callMethod: fields.method,
      callBody: this.#text(call, body.toString("utf8")),
      callHeaders: headerLists(redactedHeaders(fields.redact ?? {}, fields.headers)),
      ...(answer === undefined ? {} : this.#answerOf(answer)),
    };
  }

  /** The answer is the body of a message, redacted like others. */
  #answerOf(answer: RunStep): object {
    const result = readStep(answer.body);
    if (result === undefined) return {};
    const { status, body, header } = result;
    const redact = answer.fields.redact ?? this.#run.record.config.redact ?? {};
    return {
      callResponseStatus: status,
      callResponseBody: this.#text(answer, Buffer.from(String(body ?? ""), "base64").toString("utf8")),
      callResponseHeaders: headerLists(redactedHeaders(redact, isObject(header) ? headerPairs(header) : [])),
    };
  }

  #text({ fields }: RunStep, text: string): string {
    const redact = fields.redact ?? this.#run.record.config.redact;
    return redact?.body === true ? redactedText(text) : text;
  }
}

function waitOf({ timeout, deadlineMs }: WaitFields): object {
  return { waitTimeoutDuration: timeout, waitTimeoutDeadline: deadlineMs };
}

function waitedFor({ fields: { workflow }, step }: RunStep): object {
  const waited = workflow?.waited;
  return waited === undefined ? {} : { ...waitOf(waited), waitTimeout: step?.["waitTimeout"] === true };
}

/** `{name: [value, …]}` as name, value, … */
function headerPairs(lists: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(lists).flatMap(([name, list]) =>
    (Array.isArray(list) ? list : [list]).flatMap((value) => [name, headerBytes(String(value))]),
  );
}

/** The step in which an endpoint failed, if the endpoint named it. */
function stepNameOf({ errors }: RunStep): object {
  const stepName = errors.at(-1)?.headers[ERROR_STEP_NAME]?.[0];
  return stepName === undefined ? {} : { stepName };
}

const ERROR_STEP_NAME = "Upstash-Error-Step-Name";

function errorsOf({ errors }: RunStep): object {
  return errors.length === 0 ? {} : { errors };
}

function retryDelayOf({ fields }: RunStep): object {
  return fields.retryDelay === undefined ? {} : { retryDelay: fields.retryDelay };
}

/** The headers of the callback of a call, by the end of their names. */
function callHeaders({ fields }: RunStep): (name: string) => string | undefined {
  return (name) => {
    const wanted = `forward-upstash-workflow-${name}`;
    const planned = fields.callback?.given.find(([given]) => given === wanted)?.[1];
    if (planned !== undefined) return planned;
    const index = fields.headers.findIndex(
      (given, at) => at % 2 === 0 && given.toLowerCase() === `upstash-workflow-${name}`,
    );
    return index < 0 ? undefined : fields.headers[index + 1];
  };
}

/** The step of a call, or of the result of a call. */
function calledStep(message: RunStep): number | undefined {
  const callType = message.fields.workflow?.callType;
  if (callType !== "toCallback" && callType !== "fromCallback") return undefined;
  const id = Number(callHeaders(message)("stepid") ?? Number.NaN);
  return Number.isSafeInteger(id) ? id : undefined;
}

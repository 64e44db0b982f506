/**
 * Reads the options of one message from headers: for publish, enqueue, batch and
 * schedule, and for the message of a callback. The headers are rows in
 * `header-rows.ts`.
 *
 * (1) All options are valid before anything is accepted: the options of a callback
 *     are read once at the publish, so reading them again after an attempt cannot
 *     fail.
 * (2) The first of several headers with one name counts; list headers are merged
 *     into one list.
 * (3) The rows are read in the order of the table, so the reported fault does not
 *     depend on the order of the headers.
 */

import { canonicalName } from "../../kernel/header-name.ts";
import { TRACE_PARENT, TRACE_STATE, type TraceContext } from "../../kernel/trace-context.ts";
import { badRequest } from "../failure.ts";
import type { CallbackPlan, FlowControl } from "./envelope.ts";
import { checkHeaderName, checkHeaderValue, isForwarded } from "./forwarded-headers.ts";
import {
  type Draft,
  emptyDraft,
  type HeaderRow,
  headerFamilies,
  headerRows,
  invalid,
  RETRIES_DEFAULT,
  type ReadContext,
  type Role,
} from "./header-rows.ts";
import type { PublishOptions } from "./publish-request.ts";
import { InvalidRetryDelay, parseRetryDelay } from "./retry-delay.ts";
import { isWorkflowHeader, readWorkflowOptions } from "./workflow-options.ts";

/** The headers of a message. */
export interface GivenHeaders {
  /** Ours, without prefix, the names in lower case: name, value, name, value, … */
  readonly own: readonly string[];
  readonly contentType: string | undefined;
  /** Of the request. */
  readonly trace?: TraceContext | undefined;
  /** All others that may be forwarded, with their names unchanged. Called only if `header-forward` is set. */
  others(): readonly string[];
}

/** The options of a schedule, without its destination and body. */
export interface ScheduleOptions {
  readonly options: PublishOptions;
  /** Trimmed. */
  readonly cron: string;
  readonly scheduleId: string | undefined;
}

export { RETRIES_DEFAULT };

const METHOD_DEFAULT = "POST";
const SCHEDULED_RUN = "Workflow-RunId is not for schedules: a schedule that calls the URL of a workflow starts a run";
/** The limit of the headers of a request; also for the elements of a batch. */
const HEADER_LENGTH_MAX = 64 * 1024;

const FORWARD = "forward-";
const CALLBACK = "callback-";
const FAILURE_CALLBACK = "failure-callback-";

interface NumberedRow {
  readonly row: HeaderRow;
  readonly index: number;
}

const rowByName: ReadonlyMap<string, NumberedRow> = new Map(headerRows.map((row, index) => [row.name, { row, index }]));

/** True for a name, in lower case and without prefix, that is an option of a message. */
export function isKnownHeader(name: string): boolean {
  return rowByName.has(name) || headerFamilies.some(({ prefix }) => name.startsWith(prefix) && name !== prefix);
}

/** Reads the options of a message. Throws a `MessagingFailure`. */
export function readPublishOptions(given: GivenHeaders, context: ReadContext): PublishOptions {
  return readOptions(given, { context, role: "message", prefix: "", defaults: noDefaults });
}

/** Reads the options of a schedule and its messages. Throws a `MessagingFailure`. */
export function readScheduleOptions(given: GivenHeaders, context: ReadContext): ScheduleOptions {
  const reading: Reading = { context, role: "schedule", prefix: "", defaults: noDefaults };
  const { draft, sorted } = readDraft(given, reading);
  if (draft.cron === undefined) throw badRequest("Cron is missing: set the times at which the schedule fires");
  return { options: optionsOf(draft, sorted, given, reading), cron: draft.cron, scheduleId: draft.scheduleId };
}

/**
 * Reads only the given options, without defaults and without headers for the destination: for messages that have
 * options already. Throws a `MessagingFailure`.
 */
export function readOverrides(given: GivenHeaders, context: ReadContext): Partial<PublishOptions> {
  const reading: Reading = { context, role: "message", prefix: "", defaults: noDefaults };
  const { draft, sorted } = readDraft(given, reading);
  const { method, retriesMax, retryDelay } = draft;
  const overrides: Mutable<Partial<PublishOptions>> = {};
  if (method !== undefined) overrides.method = method;
  if (retriesMax !== undefined) overrides.retriesMax = retriesMax;
  const defaults = { retriesMax: retriesMax ?? RETRIES_DEFAULT, retryDelay };
  if (retryDelay !== undefined) checkRetryDelay("Retry-Delay", retryDelay, defaults.retriesMax);
  assignOptional(overrides, draft);
  assignCallbacks(overrides, draft, sorted, { ...reading, defaults });
  return overrides;
}

/**
 * The options of the message of a callback: its own settings, and those of the
 * original message for missing ones (C.callbacks.options).
 * Never throws for a plan that was accepted.
 */
export function callbackOptions(plan: CallbackPlan, retriesMax: number, retryDelay?: string): PublishOptions {
  const defaults = { retriesMax, retryDelay };
  return readCallback(plan, { context: acceptingContext, role: "callback", prefix: "", defaults });
}

/**
 * The settings of a callback that are not sent to it, such as its retries: name, value, name, value, … as given. They
 * include the settings of its own failure callback.
 */
export function callbackSettings({ given }: CallbackPlan): readonly string[] {
  return given.flatMap(([name, value]) => (isSaidOfCallbacks(name) && !name.startsWith(FORWARD) ? [name, value] : []));
}

/** Reads headers in a body, for a later message. Throws a `MessagingFailure`. */
export function acceptedOptions({ own, contentType }: Pick<GivenHeaders, "own" | "contentType">): PublishOptions {
  const given = { own, contentType, others: nothing };
  return readOptions(given, { context: acceptingContext, role: "message", prefix: "", defaults: noDefaults });
}

/** Accepted options are not checked against limits again, because settings may have changed since. */
const acceptingContext: ReadContext = {
  limits: {
    retriesMax: Number.MAX_SAFE_INTEGER,
    delayMsMax: Number.MAX_SAFE_INTEGER,
    timeoutMsMax: Number.MAX_SAFE_INTEGER,
  },
  nowMs: 0,
  refusalOf: () => undefined,
};

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/** Retry settings of the message of a callback. */
interface Defaults {
  readonly retriesMax?: number;
  readonly retryDelay?: string | undefined;
}

const noDefaults: Defaults = {};

interface Reading {
  readonly context: ReadContext;
  readonly role: Role;
  /** Prefix of the names in errors: empty, or `callback-` and the like. */
  readonly prefix: string;
  readonly defaults: Defaults;
}

/** The headers that have no row of their own: name, value, name, value, … without the prefix of their family. */
interface Sorted {
  readonly forwarded: string[];
  readonly callback: string[];
  readonly failureCallback: string[];
  /** With their names as they are. */
  readonly workflow: string[];
}

function readOptions(given: GivenHeaders, reading: Reading): PublishOptions {
  const { draft, sorted } = readDraft(given, reading);
  return optionsOf(draft, sorted, given, reading);
}

/** keeps (2) and (3) */
function readDraft({ own }: GivenHeaders, reading: Reading): { readonly draft: Draft; readonly sorted: Sorted } {
  const { context, role, prefix } = reading;
  const texts: (string | undefined)[] = new Array(headerRows.length).fill(undefined);
  const sorted: Sorted = { forwarded: [], callback: [], failureCallback: [], workflow: [] };
  let length = 0;
  for (let i = 0; i < own.length; i += 2) {
    const name = own[i] as string;
    const value = own[i + 1] as string;
    length += name.length + value.length;
    const numbered = rowByName.get(name);
    if (numbered === undefined) sortIn(sorted, name, value);
    else if (texts[numbered.index] === undefined) texts[numbered.index] = value.trim();
    else if (numbered.row.isList) texts[numbered.index] += `,${value}`;
  }
  if (length > HEADER_LENGTH_MAX) {
    throw badRequest(`The headers of a message have ${length} characters; the limit is ${HEADER_LENGTH_MAX}`);
  }
  const draft = emptyDraft();
  for (let index = 0; index < texts.length; index += 1) {
    const value = texts[index];
    if (value === undefined) continue;
    const row = headerRows[index] as HeaderRow;
    const field = canonicalName(prefix + row.name);
    // Messages that an earlier version accepted with it stay accepted.
    if (role === "message" && row.whyNotOnMessages !== undefined && context !== acceptingContext) {
      throw invalid(field, value, row.whyNotOnMessages);
    }
    if (role === "schedule" ? row.notOnSchedules : row.onlyOnSchedules) continue;
    row.read(value, draft, { field, context, role });
  }
  return { draft, sorted };
}

function sortIn(sorted: Sorted, name: string, value: string): void {
  if (name.startsWith(FORWARD)) sorted.forwarded.push(name.slice(FORWARD.length), value);
  else if (name.startsWith(FAILURE_CALLBACK)) sorted.failureCallback.push(name.slice(FAILURE_CALLBACK.length), value);
  else if (name.startsWith(CALLBACK)) sorted.callback.push(name.slice(CALLBACK.length), value);
  else if (isWorkflowHeader(name)) sorted.workflow.push(name, value);
}

function optionsOf(draft: Draft, sorted: Sorted, given: GivenHeaders, reading: Reading): PublishOptions {
  const { context, prefix, defaults } = reading;
  const retriesMax = draft.retriesMax ?? defaults.retriesMax ?? Math.min(RETRIES_DEFAULT, context.limits.retriesMax);
  draft.retryDelay ??= defaults.retryDelay;
  if (draft.retryDelay !== undefined) {
    checkRetryDelay(canonicalName(`${prefix}retry-delay`), draft.retryDelay, retriesMax);
  }
  const options: Mutable<PublishOptions> = {
    method: draft.method ?? METHOD_DEFAULT,
    headers: destinationHeaders(draft, sorted.forwarded, given),
    retriesMax,
  };
  const workflow = readWorkflowOptions(sorted.workflow, draft.retriesMax !== undefined);
  if (workflow !== undefined) {
    if (reading.role === "schedule") throw badRequest(SCHEDULED_RUN);
    options.workflow = workflow;
  }
  // A schedule fires long after the request that created it, and without a caller.
  if (given.trace !== undefined && reading.role === "message") options.trace = given.trace;
  assignOptional(options, draft);
  assignCallbacks(options, draft, sorted, { ...reading, defaults: { retriesMax, retryDelay: draft.retryDelay } });
  return options;
}

/** Valid expressions with their number of retries: thousands of messages have the same one. */
const validRetryDelays = new Set<string>();
const VALID_RETRY_DELAYS_MAX = 1_024;

function checkRetryDelay(field: string, expression: string, retriesMax: number): void {
  const known = `${retriesMax} ${expression}`;
  if (validRetryDelays.has(known)) return;
  try {
    parseRetryDelay(expression).validate(retriesMax);
  } catch (thrown) {
    if (!(thrown instanceof InvalidRetryDelay)) throw thrown;
    throw invalid(field, expression, thrown.message);
  }
  if (validRetryDelays.size >= VALID_RETRY_DELAYS_MAX) validRetryDelays.clear();
  validRetryDelays.add(known);
}

function assignOptional(options: Mutable<Partial<PublishOptions>>, draft: Draft): void {
  if (draft.retryDelay !== undefined) options.retryDelay = draft.retryDelay;
  if (draft.timeoutMs !== undefined) options.timeoutMs = draft.timeoutMs;
  if (draft.labels !== undefined) options.labels = draft.labels;
  if (draft.redact !== undefined) options.redact = draft.redact;
  if (draft.delayMs !== undefined) options.delayMs = draft.delayMs;
  if (draft.notBeforeMs !== undefined) options.notBeforeMs = draft.notBeforeMs;
  if (draft.deduplicationId !== undefined) options.deduplicationId = draft.deduplicationId;
  if (draft.isDeduplicatedByContent) options.isDeduplicatedByContent = true;
  if (draft.queueName !== undefined) options.queueName = draft.queueName;
  if (draft.hops !== undefined) options.hops = draft.hops;
  if (draft.flowControlKey !== undefined || draft.flowControlLimits !== undefined) {
    options.flowControl = flowControlOf(draft);
  }
}

function flowControlOf({ flowControlKey, flowControlLimits }: Draft): FlowControl {
  if (flowControlKey === undefined) throw badRequest("Flow-Control-Key is missing: Flow-Control-Value needs a key");
  if (flowControlLimits === undefined) {
    throw badRequest("Flow-Control-Value is missing: set parallelism=n or rate=n for the key");
  }
  return { key: flowControlKey, ...flowControlLimits };
}

/** The headers for the destination: Content-Type, those forwarded by name, and all others with `header-forward`. */
function destinationHeaders(draft: Draft, forwarded: readonly string[], given: GivenHeaders): readonly string[] {
  const headers: string[] = [];
  if (given.contentType !== undefined) {
    checkHeaderValue("Content-Type", given.contentType);
    headers.push("Content-Type", given.contentType);
  }
  addForwarded(headers, forwarded);
  if (!draft.isForwardingAll) return headers;
  // These two keep their values, and are sent unless they are forwarded by name.
  const named = new Set<string>([TRACE_PARENT, TRACE_STATE]);
  for (let i = 0; i < forwarded.length; i += 2) named.add(forwarded[i] as string);
  const others = given.others();
  const rest: string[] = [];
  for (let i = 0; i < others.length; i += 2) {
    const name = (others[i] as string).toLowerCase();
    if (!named.has(name)) rest.push(name, others[i + 1] as string);
  }
  addForwarded(headers, rest);
  return headers;
}

function addForwarded(headers: string[], forwarded: readonly string[]): void {
  for (let i = 0; i < forwarded.length; i += 2) {
    const lowerName = forwarded[i] as string;
    const value = (forwarded[i + 1] as string).trim();
    checkHeaderName(lowerName);
    checkHeaderValue(canonicalName(lowerName), value);
    if (isForwarded(lowerName)) headers.push(canonicalName(lowerName), value);
  }
}

/** keeps (1) */
function assignCallbacks(
  options: Mutable<Partial<PublishOptions>>,
  { callbackUrl, failureCallbackUrl }: Draft,
  sorted: Sorted,
  reading: Reading,
): void {
  const { callback, failureCallback } = sorted;
  if (callback.length === 0 && failureCallback.length === 0 && (callbackUrl ?? failureCallbackUrl) === undefined)
    return;
  const role = reading.role === "callback" ? "nested callback" : "callback";
  const plan = checkedPlan(callbackUrl, callback, { ...reading, role, prefix: reading.prefix + CALLBACK });
  if (plan !== undefined) options.callback = plan;
  const failurePlan = checkedPlan(failureCallbackUrl, failureCallback, {
    ...reading,
    role,
    prefix: reading.prefix + FAILURE_CALLBACK,
  });
  if (failurePlan !== undefined) options.failureCallback = failurePlan;
}

/** Settings of a callback without a URL have no effect, but must be valid. Accepted ones are not checked again. */
function checkedPlan(url: string | undefined, settings: readonly string[], reading: Reading): CallbackPlan | undefined {
  if (url === undefined && (settings.length === 0 || reading.context === acceptingContext)) return undefined;
  const plan = { url: url ?? "", given: pairsOf(settings) };
  readCallback(plan, reading);
  return url === undefined ? undefined : plan;
}

function pairsOf(flat: readonly string[]): readonly (readonly [name: string, value: string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let i = 0; i < flat.length; i += 2) pairs.push([flat[i] as string, flat[i + 1] as string]);
  return pairs;
}

/**
 * The settings of a callback as options of a message to the callback's URL: known
 * names are options, and all others are headers to be sent there.
 */
function readCallback({ given }: CallbackPlan, reading: Reading): PublishOptions {
  const own: string[] = [];
  for (const [name, value] of given) {
    const remedy = whyNotOnCallback(name, reading.role);
    if (remedy !== undefined) throw invalid(canonicalName(reading.prefix + name), value, remedy);
    own.push(isSaidOfCallbacks(name) ? name : FORWARD + name, value);
  }
  return readOptions({ own, contentType: "application/json", others: nothing }, reading);
}

function whyNotOnCallback(name: string, role: Role): string | undefined {
  if (name === "delay" || name === "not-before") return "a callback cannot be delayed";
  if (name === "callback" || name.startsWith(CALLBACK)) {
    return "a callback has no callback of its own, but a failure callback";
  }
  const isFailure = name === "failure-callback" || name.startsWith(FAILURE_CALLBACK);
  return isFailure && role === "nested callback" ? "the failure callback of a callback has none of its own" : undefined;
}

function nothing(): readonly string[] {
  return [];
}

function isSaidOfCallbacks(name: string): boolean {
  const row = rowByName.get(name);
  if (row !== undefined) return row.row.onCallbacks;
  return name === "feature-set" || headerFamilies.some(({ prefix }) => name.startsWith(prefix));
}

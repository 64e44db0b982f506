/**
 * A schedule between two services of messaging: read from a record of a listing
 * (C.schedules.record), and written as the request that makes it (C1).
 *
 * (1) Listings do not contain hidden secrets. Such a schedule cannot be recreated
 *     and is named.
 * (2) A paused schedule never fires during the import: it is created with a cron
 *     that is half a year away, is paused, and then gets its own cron. The label
 *     of the first step marks an interrupted import.
 */
import type { Clock } from "../../kernel/clock.ts";
import { canonicalName } from "../../kernel/header-name.ts";
import type { AreaRequest } from "../area-client.ts";
import { type NamedValues, type RecordFields, valuesObject } from "./fields.ts";

export interface CallbackSetup {
  readonly url: string;
  readonly headers: NamedValues;
  /** Options of the callback itself: names as in a publish, without the prefix and `Callback-`. */
  readonly settings: NamedValues;
}

export interface ScheduleSetup {
  readonly id: string;
  readonly cron: string;
  readonly destination: string;
  readonly method: string;
  readonly headers: NamedValues;
  readonly body: { readonly text: string } | { readonly base64: string } | undefined;
  readonly retries: number | undefined;
  readonly retryDelay: string | undefined;
  readonly delaySeconds: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly callback: CallbackSetup | undefined;
  readonly failureCallback: CallbackSetup | undefined;
  readonly queueName: string | undefined;
  readonly labels: readonly string[];
  readonly flowControl: FlowControlSetup | undefined;
  readonly redactFields: string | undefined;
  readonly isPaused: boolean;
}

interface FlowControlSetup {
  readonly key: string;
  readonly parallelism: number | undefined;
  readonly rate: number | undefined;
  readonly periodSeconds: number;
}

/** Throws a `StartRefusal` that names the field. */
export function readSchedule(fields: RecordFields): ScheduleSetup {
  const labels = fields.texts("labels");
  const label = fields.optionalText("label");
  const body = fields.optionalText("body");
  const base64 = fields.optionalText("bodyBase64");
  return {
    id: fields.text("scheduleId"),
    cron: fields.text("cron"),
    destination: fields.text("destination"),
    method: fields.optionalText("method") ?? "POST",
    headers: canonical(fields.namedValues("header")),
    body: body !== undefined ? { text: body } : base64 !== undefined ? { base64 } : undefined,
    retries: fields.count("retries"),
    retryDelay: fields.optionalText("retryDelayExpression"),
    delaySeconds: fields.count("delay") || undefined,
    timeoutMs: fields.count("timeout") || undefined,
    callback: readCallback(fields, "callback"),
    failureCallback: readCallback(fields, "failureCallback"),
    queueName: fields.optionalText("queueName"),
    labels: labels.length > 0 || label === undefined ? labels : [label],
    flowControl: readFlowControl(fields),
    redactFields: fields.optionalText("redactFields"),
    isPaused: fields.flag("isPaused"),
  };
}

/** An option may also be among the headers, with the prefix of the interface. */
const PREFIXED = /^(?:upstash|service)-(forward-)?(.+)$/i;

function readCallback(fields: RecordFields, name: "callback" | "failureCallback"): CallbackSetup | undefined {
  const url = fields.optionalText(name);
  if (url === undefined) return undefined;
  const headers: [string, readonly string[]][] = [];
  const settings = [...fields.namedValues(`${name}Settings`)];
  for (const [header, values] of fields.namedValues(`${name}Header`)) {
    const [, forward, rest] = PREFIXED.exec(header) ?? [];
    // A callback always has the type of JSON.
    if (header.toLowerCase() === "content-type") continue;
    if (rest === undefined) headers.push([header, values]);
    else if (forward === undefined) settings.push([rest, values]);
    else headers.push([rest, values]);
  }
  return { url, headers: canonical(headers), settings: canonical(settings) };
}

/** Services differ in the spelling of header names. */
function canonical(values: NamedValues): NamedValues {
  return values
    .map(([name, each]) => [canonicalName(name), each] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

function readFlowControl(fields: RecordFields): FlowControlSetup | undefined {
  const key = fields.optionalText("flowControlKey");
  if (key === undefined) return undefined;
  return {
    key,
    // 0: no limit of that kind.
    parallelism: fields.count("parallelism") || undefined,
    rate: fields.count("rate") || fields.count("ratePerSecond") || undefined,
    periodSeconds: fields.count("period") || 1,
  };
}

/** Its record in a listing, with a fixed order of fields. */
export function showSchedule(schedule: ScheduleSetup) {
  const { body, callback, failureCallback, flowControl, labels } = schedule;
  return {
    scheduleId: schedule.id,
    cron: schedule.cron,
    destination: schedule.destination,
    method: schedule.method,
    header: valuesObject(schedule.headers),
    ...(body === undefined ? {} : "text" in body ? { body: body.text } : { bodyBase64: body.base64 }),
    retries: schedule.retries,
    retryDelayExpression: schedule.retryDelay,
    delay: schedule.delaySeconds,
    timeout: schedule.timeoutMs,
    callback: callback?.url,
    callbackHeader: callback && valuesObject(callback.headers),
    callbackSettings: callback && valuesObject(callback.settings),
    failureCallback: failureCallback?.url,
    failureCallbackHeader: failureCallback && valuesObject(failureCallback.headers),
    failureCallbackSettings: failureCallback && valuesObject(failureCallback.settings),
    queueName: schedule.queueName,
    labels: labels.length === 0 ? undefined : labels,
    flowControlKey: flowControl?.key,
    parallelism: flowControl?.parallelism,
    rate: flowControl?.rate,
    period: flowControl?.periodSeconds,
    redactFields: schedule.redactFields,
    isPaused: schedule.isPaused,
  };
}

const HIDDEN = /^REDACTED:[0-9a-f]{64}$/;

/** The part of a schedule that its listing hides, or undefined. keeps (1) */
export function hiddenPart({ body, headers, callback, failureCallback }: ScheduleSetup): string | undefined {
  if (body !== undefined && "text" in body && HIDDEN.test(body.text)) return "its body";
  const hasHidden = (values: NamedValues): boolean => values.some(([, each]) => each.some((text) => HIDDEN.test(text)));
  const lists = [
    headers,
    ...[callback, failureCallback].flatMap((each) => (each ? [each.headers, each.settings] : [])),
  ];
  return lists.some(hasHidden) ? "some of its headers" : undefined;
}

/** The requests that create a schedule, in order. `existing`: the current schedule of its id. keeps (2) */
export function scheduleRequests(
  schedule: ScheduleSetup,
  existing: Pick<ScheduleSetup, "isPaused"> | undefined,
  clock: Clock,
): readonly AreaRequest[] {
  const put = putRequest(schedule);
  const { isPaused } = schedule;
  if (existing === undefined) {
    if (!isPaused) return [put];
    const first = { ...schedule, cron: farCron(clock), labels: [UNFINISHED_LABEL] };
    return [putRequest(first), pauseRequest(schedule, "pause"), put];
  }
  if (isPaused) return existing.isPaused ? [put] : [pauseRequest(schedule, "pause"), put];
  return existing.isPaused ? [put, pauseRequest(schedule, "resume")] : [put];
}

const UNFINISHED_LABEL = "larder-import-unfinished";

export function isUnfinished({ labels }: ScheduleSetup): boolean {
  return labels[0] === UNFINISHED_LABEL;
}

/** The first day of the month that is half a year away. */
function farCron(clock: Clock): string {
  const month = new Date(clock.nowMs()).getUTCMonth();
  return `0 0 1 ${((month + 6) % 12) + 1} *`;
}

function pauseRequest({ id }: ScheduleSetup, what: "pause" | "resume"): AreaRequest {
  return { method: "PATCH", path: `/v2/schedules/${encodeURIComponent(id)}/${what}` };
}

function putRequest(schedule: ScheduleSetup): AreaRequest {
  const { body, flowControl } = schedule;
  const headers = new Map<string, string[]>();
  const say = (name: string, value: string | number | undefined): void => {
    // The texts are UTF-8 on the wire, and headers are bytes.
    if (value !== undefined) headers.set(`upstash-${name}`, [Buffer.from(String(value)).toString("latin1")]);
  };
  say("cron", schedule.cron);
  say("schedule-id", schedule.id);
  say("method", schedule.method);
  say("retries", schedule.retries);
  say("retry-delay", schedule.retryDelay);
  say("delay", schedule.delaySeconds && `${schedule.delaySeconds}s`);
  say("timeout", schedule.timeoutMs && `${schedule.timeoutMs / 1_000}s`);
  say("queue-name", schedule.queueName);
  say("label", schedule.labels.length === 0 ? undefined : schedule.labels.join(","));
  say("redact-fields", schedule.redactFields);
  if (flowControl !== undefined) {
    const { key, parallelism, rate, periodSeconds } = flowControl;
    const limits = [parallelism && `parallelism=${parallelism}`, rate && `rate=${rate}`, `period=${periodSeconds}s`];
    say("flow-control-key", key);
    say("flow-control-value", limits.filter(Boolean).join(","));
  }
  for (const [name, values] of schedule.headers) {
    const isType = name.toLowerCase() === "content-type";
    headers.set(isType ? "content-type" : `upstash-forward-${name}`, [...values]);
  }
  sayCallback(headers, "callback", schedule.callback);
  sayCallback(headers, "failure-callback", schedule.failureCallback);
  return {
    method: "POST",
    // Encoded as a whole, so that the query of the destination is not taken for ours.
    path: `/v2/schedules/${encodeURIComponent(schedule.destination)}`,
    headers: Object.fromEntries(headers),
    body: body === undefined ? "" : "text" in body ? body.text : Buffer.from(body.base64, "base64"),
  };
}

function sayCallback(headers: Map<string, string[]>, name: string, callback: CallbackSetup | undefined): void {
  if (callback === undefined) return;
  headers.set(`upstash-${name}`, [callback.url]);
  for (const [setting, values] of callback.settings) headers.set(`upstash-${name}-${setting}`, [...values]);
  for (const [header, values] of callback.headers) headers.set(`upstash-${name}-forward-${header}`, [...values]);
}

/**
 * The table of delivery headers: the options of one message, one row per header
 * (docs/interface/messaging.md, "Options of a message"). A row reads a value into
 * a draft; `headers.ts` reads whole messages.
 *
 * Names carry no prefix here and are in lower case. `edge/` strips `Service-`
 * and its alias `Upstash-`, and folds query parameters into the same names.
 */
import { parseDecimal, parseDurationMs } from "../../kernel/text/duration.ts";
import { parseCron } from "../cron/cron.ts";
import { InvalidCron } from "../cron/fields.ts";
import { badRequest, type MessagingFailure, quotaExceeded } from "../failure.ts";
import type { MessagingLimits } from "../limits.ts";
import type { Redaction } from "./envelope.ts";
import { type FlowControlLimits, InvalidFlowControl, parseFlowControlValue } from "./flow-control-value.ts";
import { identifierRule, isIdentifier } from "./identifiers.ts";
import { InvalidRedaction, parseRedactFields } from "./redaction.ts";

export interface ReadContext {
  readonly limits: Pick<MessagingLimits, "retriesMax" | "delayMsMax" | "timeoutMsMax">;
  readonly nowMs: number;
  /** Why a URL may not be called, or undefined. */
  readonly refusalOf: (url: URL) => string | undefined;
}

/** The use of headers: callbacks and schedules have other rows than messages. */
export type Role = "message" | "schedule" | "callback" | "nested callback";

/** The options that the rows have read so far. */
export interface Draft {
  method: string | undefined;
  delayMs: number | undefined;
  notBeforeMs: number | undefined;
  retriesMax: number | undefined;
  retryDelay: string | undefined;
  timeoutMs: number | undefined;
  callbackUrl: string | undefined;
  failureCallbackUrl: string | undefined;
  deduplicationId: string | undefined;
  isDeduplicatedByContent: boolean;
  flowControlKey: string | undefined;
  flowControlLimits: FlowControlLimits | undefined;
  labels: readonly string[] | undefined;
  redact: Redaction | undefined;
  queueName: string | undefined;
  isForwardingAll: boolean;
  hops: number | undefined;
  cron: string | undefined;
  scheduleId: string | undefined;
}

export interface HeaderRow {
  /** Lower case, without prefix. */
  readonly name: string;
  /** Form of the value, for the manual. */
  readonly value: string;
  /** Values that `read` takes. A test reads them. */
  readonly examples: readonly string[];
  readonly meaning: string;
  /** Also read as `callback-<name>` and `failure-callback-<name>`. */
  readonly onCallbacks: boolean;
  /** Only for schedules; a message ignores it, unless `whyNotOnMessages` refuses it. */
  readonly onlyOnSchedules?: true;
  /** Why a message with this header is refused: it would not do what its sender wants. */
  readonly whyNotOnMessages?: string;
  /** Only for messages; a schedule ignores it, because it differs between messages. */
  readonly notOnSchedules?: true;
  /** Several headers of this name make one list. */
  readonly isList?: true;
  /** Throws a `MessagingFailure`. `field` is the name of the header for errors. */
  readonly read: (value: string, draft: Draft, where: Where) => void;
}

interface Where {
  readonly field: string;
  readonly context: ReadContext;
  readonly role: Role;
}

const methods: readonly string[] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/** Retries of a message that sets none. */
export const RETRIES_DEFAULT = 3;
/** The longest chain of deliveries to this server that publish again (threats C-08). */
const HOPS_MAX = 10;
/** How much of a value an error shows. */
const SHOWN_LENGTH_MAX = 100;

/** A whole number with few enough digits to be exact. */
const COUNT = /^\d{1,15}$/;

export const headerRows: readonly HeaderRow[] = [
  {
    name: "method",
    value: methods.join(", "),
    examples: ["GET", "PUT"],
    meaning: "the method of the delivery; POST without it",
    onCallbacks: true,
    read(value, draft, { field }) {
      const method = value.toUpperCase();
      if (!methods.includes(method)) throw invalid(field, value, `use ${methods.join(", ")}`);
      draft.method = method;
    },
  },
  {
    name: "delay",
    value: "duration in s, m, h, d: `1d10h30m`",
    examples: ["50s", "1d10h30m"],
    meaning: "the shortest time between acceptance and delivery",
    onCallbacks: false,
    read(value, draft, { field, context }) {
      const delayMs = parseDurationMs(value, "smhd");
      if (delayMs === undefined) throw invalid(field, value, "use a duration such as 50s, 3m, 2h or 1d10h30m");
      checkDelay(field, delayMs, context);
      draft.delayMs = delayMs;
    },
  },
  {
    name: "not-before",
    value: "Unix seconds",
    examples: ["1767225600"],
    meaning: "the earliest time of the delivery; overrides Delay",
    onCallbacks: false,
    read(value, draft, { field, context, role }) {
      if (role === "schedule") throw invalid(field, value, "a schedule fires when Cron says; use Delay");
      const seconds = parseDecimal(value);
      // Rounded up: never earlier than requested.
      const notBeforeMs = seconds === undefined ? Number.NaN : Math.ceil(seconds * 1_000);
      if (!Number.isSafeInteger(notBeforeMs)) throw invalid(field, value, "use a time in Unix seconds");
      checkDelay(field, notBeforeMs - context.nowMs, context);
      draft.notBeforeMs = notBeforeMs;
    },
  },
  {
    name: "retries",
    value: "whole number",
    examples: ["0", "5"],
    meaning: `how often a failed delivery is tried again; ${RETRIES_DEFAULT} without it, and for a callback what its message has`,
    onCallbacks: true,
    read(value, draft, { field, context }) {
      if (!COUNT.test(value)) throw invalid(field, value, "use a whole number, 0 or more");
      const retriesMax = Number(value);
      if (retriesMax > context.limits.retriesMax) {
        throw quotaExceeded(`${field} ${shown(value)} is above the limit of ${context.limits.retriesMax} retries`);
      }
      draft.retriesMax = retriesMax;
    },
  },
  {
    name: "retry-delay",
    value: "expression in ms",
    examples: ["1000 * pow(2, retried)"],
    meaning: "how long to wait after a failed attempt, such as `1000 * pow(2, retried)`; `retried` is 0 at first",
    onCallbacks: true,
    read(value, draft) {
      draft.retryDelay = value;
    },
  },
  {
    name: "timeout",
    value: "duration in s, m, h",
    examples: ["30s", "1h"],
    meaning: "how long one attempt may take",
    onCallbacks: true,
    read(value, draft, { field, context }) {
      const timeoutMs = parseDurationMs(value, "smh");
      if (timeoutMs === undefined || timeoutMs === 0)
        throw invalid(field, value, "use a duration such as 50s, 3m or 2h");
      const { timeoutMsMax } = context.limits;
      if (timeoutMs > timeoutMsMax) throw invalid(field, value, `the limit is ${timeoutMsMax / 1_000}s`);
      draft.timeoutMs = timeoutMs;
    },
  },
  {
    name: "callback",
    value: "URL",
    examples: ["https://example.com/callback"],
    meaning: "called after each attempt with its result",
    onCallbacks: false,
    read(value, draft, { field, context }) {
      draft.callbackUrl = checkCallbackUrl(field, value, context);
    },
  },
  {
    name: "failure-callback",
    value: "URL",
    examples: ["https://example.com/failed"],
    meaning: "called when the last attempt has failed; a callback may have one too",
    onCallbacks: true,
    read(value, draft, { field, context }) {
      draft.failureCallbackUrl = checkCallbackUrl(field, value, context);
    },
  },
  {
    name: "deduplication-id",
    value: "text",
    examples: ["order-17"],
    meaning: "a second message with the same id within the window is not accepted; schedules ignore it",
    onCallbacks: false,
    notOnSchedules: true,
    read(value, draft, { field }) {
      if (value === "") throw invalid(field, value, "it must not be empty");
      draft.deduplicationId = value;
    },
  },
  {
    name: "content-based-deduplication",
    value: "`true` or `false`",
    examples: ["true"],
    meaning:
      "messages with the same destination, body, content type and forwarded headers are duplicates; schedules ignore it",
    onCallbacks: false,
    notOnSchedules: true,
    read(value, draft, { field }) {
      draft.isDeduplicatedByContent = readBoolean(field, value);
    },
  },
  {
    name: "flow-control-key",
    value: "letters, digits, `-`, `_`, `.`",
    examples: ["customer-1"],
    meaning: "the key whose parallelism and rate the deliveries share",
    onCallbacks: true,
    read(value, draft, { field }) {
      draft.flowControlKey = readIdentifier(field, value);
    },
  },
  {
    name: "flow-control-value",
    value: "`parallelism=n`, `rate=n`, `period=duration`, separated by commas",
    examples: ["parallelism=2", "rate=10, period=1m"],
    meaning: "the limits of the key; `ratePerSecond=n` is an old name of rate",
    onCallbacks: true,
    read(value, draft, { field }) {
      draft.flowControlLimits = readFlowControl(field, value);
    },
  },
  {
    name: "label",
    value: "texts separated by commas",
    examples: ["red", "red,blue"],
    meaning: "labels by which messages, logs and dead letters can be found",
    onCallbacks: false,
    isList: true,
    read(value, draft) {
      const labels = value
        .split(",")
        .map((label) => label.trim())
        .filter((label) => label !== "");
      if (labels.length > 0) draft.labels = labels;
    },
  },
  {
    name: "redact-fields",
    value: "`body`, `headers`, `header[Name]`, separated by commas",
    examples: ["body", "header[Authorization]"],
    meaning:
      "the parts of the message, and of messages built from it, such as callbacks, that listings show as `REDACTED:<SHA-256>`; a short secret can be guessed from its hash",
    onCallbacks: false,
    isList: true,
    read(value, draft, { field }) {
      const fields = readRedaction(field, value);
      if (fields.body !== undefined || fields.headers !== undefined) draft.redact = fields;
    },
  },
  {
    name: "queue-name",
    value: "letters, digits, `-`, `_`, `.`",
    examples: ["orders"],
    meaning: "the queue that the messages go through",
    onCallbacks: false,
    read(value, draft, { field }) {
      draft.queueName = readIdentifier(field, value);
    },
  },
  {
    name: "header-forward",
    value: "`true` or `false`",
    examples: ["true"],
    meaning: "forward all headers of the request, except those of the connection and our token",
    onCallbacks: false,
    read(value, draft, { field }) {
      draft.isForwardingAll = readBoolean(field, value);
    },
  },
  {
    name: "hops",
    value: "whole number",
    examples: ["1"],
    meaning: `set by deliveries: how many of them led to this request; above ${HOPS_MAX} it is refused, which ends loops`,
    onCallbacks: false,
    read(value, draft, { field }) {
      if (!COUNT.test(value)) throw invalid(field, value, "use a whole number, 0 or more");
      const hops = Number(value);
      if (hops > HOPS_MAX) throw badRequest(`${field} is above ${HOPS_MAX}: the message is in a loop`);
      draft.hops = hops;
    },
  },
  {
    name: "cron",
    value: "five fields, or `@daily` and the like; `CRON_TZ=Area/City` before them",
    examples: ["*/5 * * * *", "CRON_TZ=Europe/Berlin 0 4 * * *"],
    meaning: "when a schedule fires; a message with it is refused",
    onCallbacks: false,
    onlyOnSchedules: true,
    whyNotOnMessages: "a message is sent once; POST /v2/schedules/<destination> creates a schedule",
    read(value, draft, { field, context }) {
      draft.cron = readCron(field, value, context);
    },
  },
  {
    name: "schedule-id",
    value: "letters, digits, `-`, `_`, `.`",
    examples: ["nightly"],
    meaning: "the id of the schedule; one that exists is replaced",
    onCallbacks: false,
    onlyOnSchedules: true,
    read(value, draft, { field }) {
      draft.scheduleId = readIdentifier(field, value);
    },
  },
];

/** Our headers that are recognized by the start of their name, also for the manual. */
export const headerFamilies: readonly { readonly prefix: string; readonly meaning: string }[] = [
  { prefix: "forward-", meaning: "is sent to the destination, without the prefix" },
  { prefix: "callback-", meaning: "is said of the callback: one of the headers marked so, or one to be sent to it" },
  { prefix: "failure-callback-", meaning: "the same of the failure callback" },
  { prefix: "telemetry-", meaning: "is passed over" },
  {
    prefix: "workflow-",
    meaning: "the part of the message in a workflow run; workflow clients set it, and `Feature-Set` with it",
  },
];

export function emptyDraft(): Draft {
  return {
    method: undefined,
    delayMs: undefined,
    notBeforeMs: undefined,
    retriesMax: undefined,
    retryDelay: undefined,
    timeoutMs: undefined,
    callbackUrl: undefined,
    failureCallbackUrl: undefined,
    deduplicationId: undefined,
    isDeduplicatedByContent: false,
    flowControlKey: undefined,
    flowControlLimits: undefined,
    labels: undefined,
    redact: undefined,
    queueName: undefined,
    isForwardingAll: false,
    hops: undefined,
    cron: undefined,
    scheduleId: undefined,
  };
}

function checkCallbackUrl(field: string, value: string, { refusalOf }: ReadContext): string {
  const url = URL.parse(value);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw invalid(field, value, "a callback is a URL that starts with http:// or https://");
  }
  const refusal = refusalOf(url);
  if (refusal !== undefined) throw invalid(field, value, refusal);
  return value;
}

function checkDelay(field: string, delayMs: number, { limits }: ReadContext): void {
  if (delayMs > limits.delayMsMax) {
    throw quotaExceeded(`${field} is above the limit of ${limits.delayMsMax / 1_000} s from now`);
  }
}

function readCron(field: string, value: string, { nowMs }: ReadContext): string {
  try {
    const cron = parseCron(value);
    if (cron.nextAfterMs(nowMs) === undefined) throw invalid(field, value, "it never fires");
    return cron.text;
  } catch (thrown) {
    if (thrown instanceof InvalidCron) throw invalid(field, value, thrown.message);
    throw thrown;
  }
}

function readFlowControl(field: string, value: string): FlowControlLimits {
  try {
    return parseFlowControlValue(value);
  } catch (thrown) {
    if (thrown instanceof InvalidFlowControl) throw invalid(field, value, thrown.message);
    throw thrown;
  }
}

function readRedaction(field: string, value: string): Redaction {
  try {
    return parseRedactFields(value);
  } catch (thrown) {
    if (thrown instanceof InvalidRedaction) throw invalid(field, value, thrown.message);
    throw thrown;
  }
}

function readIdentifier(field: string, value: string): string {
  if (!isIdentifier(value)) throw invalid(field, value, identifierRule);
  return value;
}

function readBoolean(field: string, value: string): boolean {
  const text = value.toLowerCase();
  if (text !== "true" && text !== "false") throw invalid(field, value, "use true or false");
  return text === "true";
}

export function invalid(field: string, value: string, remedy: string): MessagingFailure {
  return badRequest(`Invalid value for ${field}: ${shown(value)}: ${remedy}`);
}

function shown(value: string): string {
  return JSON.stringify(value.length > SHOWN_LENGTH_MAX ? `${value.slice(0, SHOWN_LENGTH_MAX)}…` : value);
}

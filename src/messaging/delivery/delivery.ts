/**
 * The HTTP request of one attempt: body and forwarded headers as published, our
 * headers in both spellings, and a signature that is fresh for each attempt
 * (C.delivery).
 */

import { TRACE_PARENT, TRACE_STATE, type TraceContext, traceHeaders } from "../../kernel/trace-context.ts";
import type { Envelope, EnvelopeFields } from "../options/envelope.ts";
import type { Message } from "../state/message.ts";
import type { Run, RunRecord } from "../state/run.ts";
import { HeaderTemplate, type TemplateValue } from "./header-template.ts";
import { signDelivery } from "./signature.ts";

/** The prefixes of our headers: both, or one of them. */
export type HeaderSpelling = "both" | "service" | "upstash";

export interface DeliverySettings {
  readonly spelling: HeaderSpelling;
  /** Receivers with keys for several regions choose the key by it. */
  readonly region: string;
}

/** The body that a call sends, and the body that callbacks show: for a run, the body of its first request. */
export type CallBody = (
  | { readonly sent: Buffer }
  | {
      /** The body in pieces. Other calls share them, so they are not changed. */
      readonly sent: readonly Buffer[];
      /** SHA-256 of all of it in base64url. */
      readonly digest: string;
    }
) & { readonly initial: Buffer };

export interface DeliveryRequest {
  readonly user: string;
  readonly url: string;
  readonly method: string;
  /** name, value, name, value, … */
  readonly headers: readonly string[];
  /** The same headers as a template, which other deliveries with the same envelope have too, and its values. */
  readonly template?: HeaderTemplate | undefined;
  readonly values?: readonly string[] | undefined;
  /** In pieces if there are several. */
  readonly body: Buffer | readonly Buffer[];
  readonly timeoutMs: number;
  readonly messageId: string;
  /** Attempts before this one. */
  readonly retried: number;
  /** The trace in the last headers, `traceparent` and `tracestate`; undefined if the publisher set none or its own. */
  readonly trace?: TraceContext | undefined;
}

/** The result of an attempt. */
export type DeliveryResult =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** name, value, name, value, … */
      readonly headers: readonly string[];
      readonly body: Buffer;
      /** True: the answer was longer, and this is its start. */
      readonly isBodyCut?: boolean;
    }
  | {
      readonly kind: "failure";
      readonly text: string;
      readonly status?: number;
      /** Trying again is useless. */
      readonly isFinal?: true;
    };

/** Receives the result of a call. A returned promise resolves when the body of the answer leaves memory. */
export type DeliveryDone = (result: DeliveryResult) => Promise<void> | void;

/** Makes the calls. `done` is called once for each, never before `send` has returned. */
export interface Outbound {
  send(request: DeliveryRequest, done: DeliveryDone): void;
  /** Ends the connections that were made for a user. */
  dropUser(name: string): void;
}

const USER_AGENT = "Upstash-QStash";

/** The values of our headers that differ between the deliveries of an envelope, in the order of a request's `values`. */
const own = { messageId: 0, retried: 1, signature: 2 } as const;

/** Our headers of a delivery: the name without its prefix, and the value; undefined: the header is not sent. */
const ownHeaders: readonly (readonly [name: string, value: (facts: OwnFacts) => TemplateValue | undefined])[] = [
  ["Message-Id", () => own.messageId],
  ["Retried", () => own.retried],
  ["Signature", () => own.signature],
  ["Caller-Ip", ({ fields }) => fields.callerIp],
  ["Topic-Name", ({ fields }) => fields.topicName],
  ["Schedule-Id", ({ fields }) => fields.scheduleId],
  ["Region", ({ region }) => region],
  ["Hops", ({ fields }) => String((fields.hops ?? 0) + 1)],
];

interface OwnFacts {
  readonly fields: EnvelopeFields;
  readonly region: string;
}

const prefixesBySpelling: Readonly<Record<HeaderSpelling, readonly string[]>> = {
  both: ["Upstash-", "Service-"],
  service: ["Service-"],
  upstash: ["Upstash-"],
};

/** Names that a publisher cannot set. Lower case. */
const ownNames: ReadonlySet<string> = new Set([
  "accept-encoding",
  ...ownHeaders.flatMap(([name]) => prefixesBySpelling.both.map((prefix) => `${prefix}${name}`.toLowerCase())),
]);

/** Names whose spelling differs from prefix and row (C.delivery). */
const spellings: ReadonlyMap<string, string> = new Map([["Service-Caller-Ip", "Service-Caller-IP"]]);

/** The names to send in each spelling, one list for each header of ours, in their order. */
const namesBySpelling = new Map(
  (Object.keys(prefixesBySpelling) as HeaderSpelling[]).map((spelling) => [
    spelling,
    ownHeaders.map(([name]) =>
      prefixesBySpelling[spelling].map((prefix) => spellings.get(`${prefix}${name}`) ?? `${prefix}${name}`),
    ),
  ]),
);

export interface DeliveryFacts {
  readonly settings: DeliverySettings;
  readonly nowMs: number;
  /** Id of the signature. */
  readonly tokenId: string;
  readonly timeoutMs: number;
}

export function deliveryRequest(message: Message, body: CallBody, facts: DeliveryFacts): DeliveryRequest {
  return new Delivery(message, body, facts);
}

class Delivery implements DeliveryRequest {
  readonly user: string;
  readonly url: string;
  readonly method: string;
  readonly template: HeaderTemplate;
  readonly values: readonly string[];
  readonly body: Buffer | readonly Buffer[];
  readonly timeoutMs: number;
  readonly messageId: string;
  readonly retried: number;
  readonly trace: TraceContext | undefined;

  constructor(message: Message, body: CallBody, { settings, nowMs, tokenId, timeoutMs }: DeliveryFacts) {
    const { user, envelope, id, retried, run } = message;
    const { url, method } = envelope.fields;
    const signed = "digest" in body ? body : body.sent;
    const { template, trace } = headersOf(envelope, settings, run);
    this.user = user.name;
    this.url = url;
    this.method = method;
    this.template = template;
    // In the order of `own`.
    this.values = [
      id,
      String(retried),
      signDelivery({ key: user.signingKeys.current, url, body: signed, nowMs, tokenId }),
    ];
    this.body = body.sent;
    this.timeoutMs = timeoutMs;
    this.messageId = id;
    this.retried = retried;
    this.trace = trace;
  }

  get headers(): readonly string[] {
    return this.template.headersWith(this.values);
  }
}

/** The headers of the deliveries of an envelope, and what they depend on beside it. */
interface EnvelopeHeaders {
  readonly template: HeaderTemplate;
  /** The trace in the last headers. */
  readonly trace: TraceContext | undefined;
  readonly settings: DeliverySettings;
  readonly runRecord: RunRecord | undefined;
}

const known = new WeakMap<Envelope, EnvelopeHeaders>();

/** Computed once for each envelope, and again if its run has a new record. */
function headersOf(envelope: Envelope, settings: DeliverySettings, run: Run | undefined): EnvelopeHeaders {
  let headers = known.get(envelope);
  if (headers === undefined || headers.settings !== settings || headers.runRecord !== run?.record) {
    headers = newHeadersOf(envelope, settings, run?.record);
    known.set(envelope, headers);
  }
  return headers;
}

function newHeadersOf(
  envelope: Envelope,
  settings: DeliverySettings,
  runRecord: RunRecord | undefined,
): EnvelopeHeaders {
  const { spelling, region } = settings;
  const { fields } = envelope;
  const given = forwardedHeaders(envelope);
  const headers: (readonly [string, TemplateValue])[] = [...pairsOf(given), ["Accept-Encoding", "identity"]];
  if (runRecord !== undefined && isToEndpoint(envelope)) headers.push(...headersOfRun(fields, runRecord, spelling));
  for (const [index, names] of (namesBySpelling.get(spelling) ?? []).entries()) {
    const value = ownHeaders[index]?.[1]({ fields, region });
    if (value !== undefined) for (const name of names) headers.push([name, value]);
  }
  const trace = fields.trace === undefined || namesTrace(given) ? undefined : fields.trace;
  if (trace !== undefined) headers.push(...pairsOf(traceHeaders(trace)));
  return { template: new HeaderTemplate(headers), trace, settings, runRecord };
}

function pairsOf(headers: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i] as string, headers[i + 1] as string]);
  return pairs;
}

/** True if the publisher forwards trace headers: then the trace of the request is not sent. */
function namesTrace(forwarded: readonly string[]): boolean {
  for (let i = 0; i < forwarded.length; i += 2) {
    const name = (forwarded[i] as string).toLowerCase();
    if (name === TRACE_PARENT || name === TRACE_STATE) return true;
  }
  return false;
}

/** Further headers of a delivery to the endpoint of a workflow (W.delivery). */
const runHeaders: readonly (readonly [
  name: string,
  value: (fields: EnvelopeFields, record: RunRecord) => string | undefined,
])[] = [
  ["RunId", (_fields, { id }) => id],
  ["Url", (_fields, { url }) => url],
  ["Init", ({ workflow }) => String(workflow?.isInit === true)],
  ["CreatedAt", (_fields, { createdAtMs }) => String(createdAtMs)],
  ["Unknown-Sdk", ({ workflow }) => (workflow?.isUnknownSdk ? "true" : undefined)],
];

const runNames: ReadonlySet<string> = new Set(
  runHeaders.flatMap(([name]) => prefixesBySpelling.both.map((prefix) => `${prefix}workflow-${name}`.toLowerCase())),
);

/** False for third parties that a run calls: they get no headers of the run. */
function isToEndpoint({ fields: { workflow } }: Envelope): boolean {
  return workflow !== undefined && workflow.callType !== "toCallback";
}

function headersOfRun(fields: EnvelopeFields, record: RunRecord, spelling: HeaderSpelling): [string, string][] {
  const headers: [string, string][] = [];
  for (const [name, render] of runHeaders) {
    const value = render(fields, record);
    if (value === undefined) continue;
    for (const prefix of prefixesBySpelling[spelling]) headers.push([`${prefix}Workflow-${name}`, value]);
  }
  return headers;
}

/** The publisher's forwarded headers without our names, and a User-Agent. */
function forwardedHeaders(envelope: Envelope): readonly string[] {
  const { headers } = envelope.fields;
  const sent: string[] = [];
  let hasUserAgent = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    const lower = name.toLowerCase();
    if (!ownNames.has(lower) && !(isToEndpoint(envelope) && runNames.has(lower)))
      sent.push(name, headers[i + 1] as string);
    hasUserAgent ||= lower === "user-agent";
  }
  if (!hasUserAgent) sent.push("User-Agent", USER_AGENT);
  return sent;
}

/**
 * The HTTP request of one attempt: body and forwarded headers as published, our
 * headers in both spellings, and a signature that is fresh for each attempt
 * (C.delivery).
 */
import { TRACE_PARENT, TRACE_STATE, type TraceContext, traceHeaders } from "../../kernel/trace-context.ts";
import type { Envelope } from "../options/envelope.ts";
import type { Message } from "../state/message.ts";
import type { Run } from "../state/run.ts";
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

/** Our headers of a delivery: the name without its prefix, and the value. */
const ownHeaders: readonly (readonly [name: string, value: (facts: OwnFacts) => string | undefined])[] = [
  ["Message-Id", ({ message }) => message.id],
  ["Retried", ({ message }) => String(message.retried)],
  ["Signature", ({ signature }) => signature],
  ["Caller-Ip", ({ message }) => message.envelope.fields.callerIp],
  ["Topic-Name", ({ message }) => message.envelope.fields.topicName],
  ["Schedule-Id", ({ message }) => message.envelope.fields.scheduleId],
  ["Region", ({ region }) => region],
  ["Hops", ({ message }) => String((message.envelope.fields.hops ?? 0) + 1)],
];

interface OwnFacts {
  readonly message: Message;
  readonly signature: string;
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
  const { user, envelope } = message;
  const { url, method } = envelope.fields;
  const { settings, nowMs, tokenId, timeoutMs } = facts;
  const signed = "digest" in body ? body : body.sent;
  const signature = signDelivery({ key: user.signingKeys.current, url, body: signed, nowMs, tokenId });
  const given = forwardedHeaders(envelope);
  const headers = [...given, "Accept-Encoding", "identity"];
  const own = { message, signature, region: settings.region };
  addRunHeaders(headers, message, settings.spelling);
  const names = namesBySpelling.get(settings.spelling) ?? [];
  for (let index = 0; index < names.length; index += 1) {
    const value = ownHeaders[index]?.[1](own);
    if (value === undefined) continue;
    for (const name of names[index] ?? []) headers.push(name, value);
  }
  const { trace } = envelope.fields;
  const call = { user: user.name, url, method, headers, body: body.sent, timeoutMs };
  const { id: messageId, retried } = message;
  if (trace === undefined || namesTrace(given)) return { ...call, messageId, retried };
  headers.push(...traceHeaders(trace));
  return { ...call, messageId, retried, trace };
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
const runHeaders: readonly (readonly [name: string, value: (message: Message, run: Run) => string | undefined])[] = [
  ["RunId", (_message, { id }) => id],
  ["Url", (_message, { record }) => record.url],
  ["Init", ({ envelope }) => String(envelope.fields.workflow?.isInit === true)],
  ["CreatedAt", (_message, { record }) => String(record.createdAtMs)],
  ["Unknown-Sdk", ({ envelope }) => (envelope.fields.workflow?.isUnknownSdk ? "true" : undefined)],
];

const runNames: ReadonlySet<string> = new Set(
  runHeaders.flatMap(([name]) => prefixesBySpelling.both.map((prefix) => `${prefix}workflow-${name}`.toLowerCase())),
);

/** False for third parties that a run calls: they get no headers of the run. */
function isToEndpoint({ fields: { workflow } }: Envelope): boolean {
  return workflow !== undefined && workflow.callType !== "toCallback";
}

function addRunHeaders(headers: string[], message: Message, spelling: HeaderSpelling): void {
  const { run } = message;
  if (run === undefined || !isToEndpoint(message.envelope)) return;
  for (const [name, render] of runHeaders) {
    const value = render(message, run);
    if (value === undefined) continue;
    for (const prefix of prefixesBySpelling[spelling]) headers.push(`${prefix}Workflow-${name}`, value);
  }
}

const forwarded = new WeakMap<Envelope, readonly string[]>();

/** The publisher's forwarded headers without our names, and a User-Agent: computed once for each envelope. */
function forwardedHeaders(envelope: Envelope): readonly string[] {
  const known = forwarded.get(envelope);
  if (known !== undefined) return known;
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
  forwarded.set(envelope, sent);
  return sent;
}

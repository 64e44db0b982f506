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

/** In which spelling our headers are sent: with both prefixes, or one. */
export type HeaderSpelling = "both" | "service" | "upstash";

export interface DeliverySettings {
  readonly spelling: HeaderSpelling;
  /** Receivers with keys for several regions choose by it. */
  readonly region: string;
}

/** What a call sends, and what is said to have been sent: of a run, what it began with. */
export type CallBody = (
  | { readonly sent: Buffer }
  | {
      /** Together they are what is sent. Other calls share them, so nobody changes them. */
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
  /** What the last headers are, `traceparent` and `tracestate`; undefined: none, or the publisher's own are among them. */
  readonly trace?: TraceContext | undefined;
}

/** What came of an attempt. */
export type DeliveryResult =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** name, value, name, value, … */
      readonly headers: readonly string[];
      readonly body: Buffer;
      /** The answer was longer: this is its start. Absent: it is whole. */
      readonly isBodyCut?: boolean;
    }
  | {
      readonly kind: "failure";
      readonly text: string;
      readonly status?: number;
      /** Trying again is useless. */
      readonly isFinal?: true;
    };

/** Gets the result of a call. A promise says until when the body of the answer stays in memory. */
export type DeliveryDone = (result: DeliveryResult) => Promise<void> | void;

/** Makes the calls. `done` is called once for each, never before `send` has returned. */
export interface Outbound {
  send(request: DeliveryRequest, done: DeliveryDone): void;
  /** Ends the connections that were made for a user. */
  dropUser(name: string): void;
}

const USER_AGENT = "Upstash-QStash";

/** What we say about a delivery: the name without its prefix, and its value. */
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

/** Names that a publisher cannot set: lower case. */
const ownNames: ReadonlySet<string> = new Set([
  "accept-encoding",
  ...ownHeaders.flatMap(([name]) => prefixesBySpelling.both.map((prefix) => `${prefix}${name}`.toLowerCase())),
]);

/** Names that are spelled in another way than their row says (C.delivery). */
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
  /** Of the signature. */
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

/** Whether the publisher forwards a trace by name: then the trace of the request is not sent. */
function namesTrace(forwarded: readonly string[]): boolean {
  for (let i = 0; i < forwarded.length; i += 2) {
    const name = (forwarded[i] as string).toLowerCase();
    if (name === TRACE_PARENT || name === TRACE_STATE) return true;
  }
  return false;
}

/** What a delivery to the endpoint of a workflow says beside that (W.delivery). */
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

/** A third party that a run calls gets none of it. */
function isToEndpoint({ fields: { workflow } }: Envelope): boolean {
  return workflow !== undefined && workflow.callType !== "toCallback";
}

function addRunHeaders(headers: string[], message: Message, spelling: HeaderSpelling): void {
  const { run } = message;
  if (run === undefined || !isToEndpoint(message.envelope)) return;
  for (const [name, say] of runHeaders) {
    const value = say(message, run);
    if (value === undefined) continue;
    for (const prefix of prefixesBySpelling[spelling]) headers.push(`${prefix}Workflow-${name}`, value);
  }
}

const forwarded = new WeakMap<Envelope, readonly string[]>();

/** What the publisher forwards, without the names that are ours, and who calls: worked out once for each envelope. */
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

/** A publish request, read and checked, except for checks that need the state: groups, queues, quotas, duplicates. */
import type { TraceContext } from "../../kernel/trace-context.ts";
import type {
  CallbackPlan,
  EnvelopeFields,
  EnvelopeSource,
  FlowControl,
  Redaction,
  WorkflowFields,
} from "./envelope.ts";
import type { WorkflowOptions } from "./workflow-options.ts";

/** The options of one message, from headers, query parameters or the fields of a batch element. */
export interface PublishOptions {
  readonly method: string;
  /** To the destination: name, value, name, value, … `Content-Type` first if given, then forwarded headers. */
  readonly headers: readonly string[];
  readonly retriesMax: number;
  readonly retryDelay?: string;
  readonly timeoutMs?: number;
  readonly callback?: CallbackPlan;
  readonly failureCallback?: CallbackPlan;
  readonly labels?: readonly string[];
  readonly flowControl?: FlowControl;
  readonly redact?: Redaction;
  /** From the acceptance; `notBeforeMs` has priority. */
  readonly delayMs?: number;
  readonly notBeforeMs?: number;
  readonly deduplicationId?: string;
  /** Messages with the same destination, body, content type and forwarded headers are duplicates. */
  readonly isDeduplicatedByContent?: true;
  readonly queueName?: string;
  /** The length of the chain of our deliveries that led to this message; absent: 0. */
  readonly hops?: number;
  /** Of the request; sent with each attempt, unless the headers have a trace. */
  readonly trace?: TraceContext;
  /** Its part in a workflow run. */
  readonly workflow?: WorkflowOptions;
}

/** The envelope of requests that differ in nothing but their bodies, once the first of them has set it. */
export class SharedEnvelope {
  source: EnvelopeSource | undefined;
}

export interface PublishRequest {
  /** An absolute http(s) URL, or the name of a URL group. */
  readonly destination: string;
  readonly body: Buffer;
  readonly options: PublishOptions;
  /** The address of the publisher. */
  readonly callerIp: string;
  /** Shared by requests that differ in nothing but their bodies. */
  readonly shared?: SharedEnvelope | undefined;
}

/** One accepted message, or a duplicate of an earlier one. */
export interface Published {
  readonly messageId: string;
  readonly url: string;
  readonly isDeduplicated: boolean;
  /** The run that it started or belongs to. */
  readonly run?: { readonly id: string; readonly createdAtMs: number };
}

/** The answer to one request: a URL has one message, a group one for each endpoint. */
export type PublishOutcome =
  | { readonly kind: "url"; readonly published: Published }
  | { readonly kind: "group"; readonly published: readonly Published[] };

/** The origin of a message, which is not in its publisher's options. */
export interface Origin {
  readonly topicName?: string | undefined;
  readonly endpointName?: string | undefined;
  readonly scheduleId?: string | undefined;
  readonly callerIp?: string | undefined;
  readonly callbackOf?: string | undefined;
  readonly holdsQueue?: string | undefined;
  readonly workflow?: WorkflowFields | undefined;
}

/** The envelope of a message to `url` with these options. */
export function envelopeFields(
  url: string,
  options: PublishOptions,
  origin: Origin,
  headers = options.headers,
): EnvelopeFields {
  return {
    url,
    method: options.method,
    headers,
    retriesMax: options.retriesMax,
    retryDelay: options.retryDelay,
    timeoutMs: options.timeoutMs,
    isForMoment: options.notBeforeMs === undefined ? undefined : true,
    callback: options.callback,
    failureCallback: options.failureCallback,
    topicName: origin.topicName,
    endpointName: origin.endpointName,
    scheduleId: origin.scheduleId,
    queueName: options.queueName,
    callerIp: origin.callerIp,
    labels: options.labels,
    flowControl: options.flowControl,
    redact: options.redact,
    callbackOf: origin.callbackOf,
    holdsQueue: origin.holdsQueue,
    hops: options.hops,
    trace: options.trace,
    workflow: origin.workflow,
  };
}

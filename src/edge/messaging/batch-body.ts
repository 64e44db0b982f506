/**
 * A batch: a JSON array of messages (C.batch). The headers of the request are
 * defaults for each message. One invalid element refuses the whole batch.
 */

import { readTraceContext, TRACE_PARENT, TRACE_STATE } from "../../kernel/trace-context.ts";
import {
  badRequest,
  type GivenHeaders,
  MessagingFailure,
  type PublishRequest,
  readPublishOptions,
} from "../../messaging/mod.ts";
import { bodyMalformed } from "../errors.ts";
import { headerPrefixes, unprefixedHeader } from "../names.ts";
import { callerIp } from "./caller-ip.ts";
import { checkDestination } from "./destination-target.ts";
import { joined, otherHeaders, traceOfRequest, withDefaults } from "./head.ts";
import { checkIdentifier } from "./identifier-field.ts";
import { fieldOf, isJsonObject, type JsonObject, optionalText, parseJsonBody, wrongType } from "./json-body.ts";
import type { MessagingCall } from "./route.ts";

const EXPECTED = "a JSON array of objects with destination, headers, body and queue";
const NO_BYTES = Buffer.alloc(0);

/** Differences of the lists of messages. */
export interface BatchForm {
  /** Another name of `destination`. */
  readonly urlField?: string;
  /** Headers before those of each element; the first of a name counts. */
  readonly first?: readonly string[];
}

const PLAIN: BatchForm = {};

/** The messages of a batch, checked. Throws a `MessagingFailure` or a RequestFailure that names the element. */
export function readBatch(call: MessagingCall, form: BatchForm = PLAIN): readonly PublishRequest[] {
  const { request, limits } = call;
  const elements = parseJsonBody(request.body, EXPECTED);
  if (!Array.isArray(elements)) throw bodyMalformed(EXPECTED);
  if (elements.length > limits.batchCountMax) {
    throw badRequest(`The batch has ${elements.length} messages; the limit is ${limits.batchCountMax}`);
  }
  const from = callerIp(request.remoteAddress);
  return elements.map((element: unknown, index) => {
    try {
      if (!isJsonObject(element)) throw badRequest("it must be an object");
      return readElement(call, element, { from, form });
    } catch (thrown) {
      throw thrown instanceof MessagingFailure ? ofElement(thrown, index) : thrown;
    }
  });
}

/** Publishes a batch. A refusal names the element. */
export function publishElements<Result>(publish: () => Result | Promise<Result>): Result | Promise<Result> {
  const refuse = (thrown: unknown): never => {
    const isOfOne = thrown instanceof MessagingFailure && thrown.index !== undefined;
    throw isOfOne ? ofElement(thrown, thrown.index) : thrown;
  };
  try {
    const done = publish();
    return done instanceof Promise ? done.catch(refuse) : done;
  } catch (thrown) {
    return refuse(thrown);
  }
}

function ofElement({ kind, text }: MessagingFailure, index: number): MessagingFailure {
  return new MessagingFailure(kind, `Message ${index} of the batch: ${text}`);
}

function readElement(
  call: MessagingCall,
  element: JsonObject,
  { from, form: { urlField, first = [] } }: { from: string; form: BatchForm },
): PublishRequest {
  const named = urlField === undefined ? undefined : optionalText(element, urlField);
  const destination = checkDestination(optionalText(element, "destination") ?? named ?? "", call.refusalOf);
  const queue = optionalText(element, "queue");
  // The client in Go sends an empty name for a message without a queue.
  const queueName = queue === "" ? undefined : queue;
  if (queueName !== undefined) checkIdentifier("queue", queueName);
  const headers = elementHeaders(call, element);
  const merged = first.length === 0 ? headers : { ...headers, own: [...first, ...headers.own] };
  const options = readPublishOptions(merged, call);
  const body = optionalText(element, "body");
  return {
    destination,
    body: body === undefined ? NO_BYTES : Buffer.from(body),
    options: queueName === undefined ? options : { ...options, queueName },
    callerIp: from,
  };
}

function elementHeaders({ head, request, isAuthorizationOurs }: MessagingCall, element: JsonObject): GivenHeaders {
  const headers = fieldOf(element, "headers") ?? {};
  if (!isJsonObject(headers)) throw wrongType("headers", "an object");
  const service: string[] = [];
  const upstash: string[] = [];
  const rest: string[] = [];
  let contentType: string | undefined;
  let traceParent: string | undefined;
  let traceState: string | undefined;
  for (const [written, value] of Object.entries(headers)) {
    const name = written.trim().toLowerCase();
    for (const text of textsOf(written, value)) {
      const own = unprefixedHeader(name);
      if (own !== undefined) (name.startsWith(headerPrefixes[0]) ? service : upstash).push(own, text);
      else if (name === "content-type") contentType ??= text;
      else if (name === TRACE_PARENT) traceParent = joined(traceParent, text);
      else if (name === TRACE_STATE) traceState = joined(traceState, text);
      else rest.push(name, text);
    }
  }
  return {
    own: withDefaults(withDefaults(service, upstash), head.own),
    contentType,
    // Its own trace, or that of the request.
    trace: readTraceContext(traceParent, traceState) ?? traceOfRequest(request, head),
    others: () => withDefaults(rest, otherHeaders(request.rawHeaders, isAuthorizationOurs)),
  };
}

function textsOf(name: string, value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (value === null) return [];
  if (Array.isArray(value) && value.every((item): item is string => typeof item === "string")) return value;
  throw wrongType(`headers.${name}`, "a string or a list of strings");
}

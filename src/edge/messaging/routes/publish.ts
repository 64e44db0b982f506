/** Publishing: one message, one for a queue, or many at once (C15, C.enqueue, C.batch). */
import {
  badRequest,
  type Published,
  type PublishOptions,
  type PublishOutcome,
  type PublishRequest,
  readPublishOptions,
} from "../../../messaging/mod.ts";
import { takingSteps } from "../append-refusal.ts";
import { readBatch } from "../batch-body.ts";
import { callerIp } from "../caller-ip.ts";
import { destinationOf } from "../destination-target.ts";
import { RequestHeaders, traceOfRequest, withDefaults } from "../head.ts";
import { checkIdentifier } from "../identifier-field.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows } from "../route.ts";

/** C.limits.batch-answer */
const BATCH_ANSWER_BYTES_MAX = 100 * 1024 * 1024;
/** The bytes of an entry of an answer without its URL: field names, an id, a flag. */
const ENTRY_BYTES_MAX = 120;

export const publishRoutes = messagingRows([
  {
    id: "publish",
    rule: "C15",
    method: "POST",
    template: "/v2/publish/*",
    summary: "publishes the body to a URL, or to all endpoints of a URL group",
    repeatStatus: 202,
    isRateLimited: false,
    takesQueryToken: true,
    body: "message",
    run: takingSteps(publish),
  },
  {
    id: "enqueue",
    rule: "C",
    method: "POST",
    template: "/v2/enqueue/:queueName/*",
    summary: "publishes the body through a queue, which is created if it does not exist",
    repeatStatus: 202,
    isRateLimited: false,
    body: "message",
    run: enqueue,
  },
  {
    id: "publishBatch",
    rule: "C",
    method: "POST",
    template: "/v2/batch",
    summary: "publishes a list of `{destination, headers, body, queue}`: all of them or none",
    isRateLimited: false,
    body: "batch",
    run: takingSteps(publishBatch),
  },
]);

/** C15 */
function publish(call: MessagingCall): Promise<MessagingAnswer> {
  return accept(call, readOptionsOf(call));
}

function enqueue(call: MessagingCall): Promise<MessagingAnswer> {
  const [queueName = ""] = call.names;
  checkIdentifier("queueName", queueName);
  return accept(call, { ...readOptionsOf(call), queueName });
}

function readOptionsOf(call: MessagingCall): PublishOptions {
  return readPublishOptions(headersOf(call), call);
}

/** The settings of headers and query; headers take precedence. */
export function headersOf({ head, request, ownQuery, isAuthorizationOurs }: MessagingCall): RequestHeaders {
  const own = withDefaults(head.own, ownQuery.own);
  const given = { own, contentType: head.contentType, trace: traceOfRequest(request, head) };
  return new RequestHeaders(given, request.rawHeaders, { isAuthorizationOurs });
}

function accept(call: MessagingCall, options: PublishOptions): Promise<MessagingAnswer> {
  const destination = destinationOf(call.rest, call.ownQuery.ofDestination, call.refusalOf);
  const { body } = call.request;
  const requests = [{ destination, body, options, callerIp: callerIp(call.request.remoteAddress) }];
  return store(call, requests).then(([outcome]) => answerOf(outcome));
}

async function publishBatch(call: MessagingCall): Promise<MessagingAnswer> {
  const requests = readBatch(call);
  checkAnswerSize(call, requests);
  if (requests.length === 0) return { value: [] };
  const outcomes = await store(call, requests);
  return { value: outcomes.map(entriesOf) };
}

function store(call: MessagingCall, requests: readonly PublishRequest[]): Promise<readonly PublishOutcome[]> {
  const waiting = call.acceptBackpressure?.();
  if (waiting === undefined) return call.api.publish(requests);
  return waiting.then(() => call.api.publish(requests));
}

function answerOf(outcome: PublishOutcome | undefined): MessagingAnswer {
  if (outcome === undefined) return { value: [] };
  const isDeduplicated =
    outcome.kind === "url"
      ? outcome.published.isDeduplicated
      : outcome.published.length > 0 && outcome.published.every((published) => published.isDeduplicated);
  return { value: entriesOf(outcome), isRepeat: isDeduplicated };
}

function entriesOf(outcome: PublishOutcome): unknown {
  return outcome.kind === "url" ? entryOf(outcome.published) : outcome.published.map(entryOf);
}

function entryOf({ messageId, url, isDeduplicated, run }: Published): unknown {
  return {
    messageId,
    url,
    ...(isDeduplicated ? { deduplicated: true } : {}),
    ...(run === undefined ? {} : { workflowRunId: run.id, workflowCreatedAt: run.createdAtMs }),
  };
}

/** Refuses a batch whose answer would be too large, before any of it is stored (threats C-22). */
function checkAnswerSize({ api }: MessagingCall, requests: readonly PublishRequest[]): void {
  let bytes = 0;
  const ofGroup = new Map<string, number>();
  for (const { destination } of requests) {
    let added = ofGroup.get(destination);
    if (added === undefined) {
      const endpoints = destination.includes("://")
        ? [{ url: destination }]
        : (api.group(destination)?.endpoints ?? []);
      added = endpoints.reduce((sum, { url }) => sum + 2 * url.length + ENTRY_BYTES_MAX, 2);
      if (!destination.includes("://")) ofGroup.set(destination, added);
    }
    bytes += added;
  }
  if (bytes > BATCH_ANSWER_BYTES_MAX) {
    throw badRequest(
      `The answer to the batch would have more than ${BATCH_ANSWER_BYTES_MAX} bytes: send it in several parts`,
    );
  }
}

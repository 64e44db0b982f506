/** Publishing: one message, one for a queue, or many at once (C15, C.enqueue, C.batch). */
import {
  badRequest,
  type Published,
  type PublishOutcome,
  type PublishRequest,
  readPublishOptions,
  SharedEnvelope,
} from "../../../messaging/mod.ts";
import { takingSteps } from "../append-refusal.ts";
import { publishElements, readBatch } from "../batch-body.ts";
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
    takesSteps: true,
    // What is larger than a message is read, because only its head and body say whether a run waits for it.
    body: "batch",
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
    takesSteps: true,
    body: "batch",
    run: takingSteps(publishBatch),
  },
]);

/** C15 */
function publish(call: MessagingCall): MessagingAnswer | Promise<MessagingAnswer> {
  return accept(call, [requestOf(call)], answerOf);
}

function enqueue(call: MessagingCall): MessagingAnswer | Promise<MessagingAnswer> {
  const [queueName = ""] = call.names;
  checkIdentifier("queueName", queueName);
  const { destination, options, ...rest } = readRequest(call);
  return accept(call, [{ destination, options: { ...options, queueName }, ...rest }], answerOf);
}

/** What a publish has learnt from a head that repeats. */
class LearntPublish {
  readonly request: Omit<PublishRequest, "body">;
  readonly isAuthorizationOurs: boolean;

  constructor(request: Omit<PublishRequest, "body">, isAuthorizationOurs: boolean) {
    this.request = request;
    this.isAuthorizationOurs = isAuthorizationOurs;
  }

  /** Whether its options are those of this request. A trace from a tracer differs between requests. */
  isFor({ isAuthorizationOurs, request }: MessagingCall, ip: string): boolean {
    return (
      this.isAuthorizationOurs === isAuthorizationOurs && this.request.callerIp === ip && request.trace === undefined
    );
  }
}

/** Like `readRequest`; the options of a head that repeats are read once. */
function requestOf(call: MessagingCall): PublishRequest {
  const { memo, request } = call;
  if (memo === undefined || request.trace !== undefined) return readRequest(call);
  if (memo.learnt instanceof LearntPublish && memo.learnt.isFor(call, callerIp(request.remoteAddress))) {
    const { destination, options, callerIp: ip, shared } = memo.learnt.request;
    return { destination, body: request.body, options, callerIp: ip, shared };
  }
  const read = { ...readRequest(call), shared: new SharedEnvelope() };
  const { body: _, ...learnt } = read;
  memo.learnt = new LearntPublish(learnt, call.isAuthorizationOurs);
  return read;
}

function readRequest(call: MessagingCall): PublishRequest {
  const options = readPublishOptions(headersOf(call), call);
  const destination = destinationOf(call.rest, call.ownQuery.ofDestination, call.refusalOf);
  const { body, remoteAddress } = call.request;
  return { destination, body, options, callerIp: callerIp(remoteAddress) };
}

/** The settings of headers and query; headers take precedence. */
export function headersOf({ head, request, ownQuery, isAuthorizationOurs }: MessagingCall): RequestHeaders {
  const own = withDefaults(head.own, ownQuery.own);
  const given = { own, contentType: head.contentType, trace: traceOfRequest(request, head) };
  return new RequestHeaders(given, request.rawHeaders, { isAuthorizationOurs });
}

function publishBatch(call: MessagingCall): MessagingAnswer | Promise<MessagingAnswer> {
  const requests = readBatch(call);
  checkAnswerSize(call, requests);
  if (requests.length === 0) return { value: [] };
  return publishElements(() => accept(call, requests, (outcomes) => ({ value: outcomes.map(entriesOf) })));
}

/** Publishes when publishers need not wait. The answer leaves when the messages are on the disk. */
function accept(
  call: MessagingCall,
  requests: readonly PublishRequest[],
  answer: (outcomes: readonly PublishOutcome[]) => MessagingAnswer,
): MessagingAnswer | Promise<MessagingAnswer> {
  const acceptNow = (): MessagingAnswer => {
    const { outcomes, safe } = call.api.accept(requests);
    const { value, text, isRepeat = false } = answer(outcomes);
    return { value, text, isRepeat, safe };
  };
  const waiting = call.acceptBackpressure?.();
  return waiting === undefined ? acceptNow() : waiting.then(acceptNow);
}

function answerOf([outcome]: readonly PublishOutcome[]): MessagingAnswer {
  if (outcome === undefined) return { value: [] };
  const value = entriesOf(outcome);
  if (outcome.kind === "group") {
    const { published } = outcome;
    return { value, isRepeat: published.length > 0 && published.every(({ isDeduplicated }) => isDeduplicated) };
  }
  const { messageId, url, isDeduplicated, run } = outcome.published;
  if (isDeduplicated || run !== undefined) return { value, isRepeat: isDeduplicated };
  // An id has letters, digits and an underscore.
  return { value, text: `{"messageId":"${messageId}","url":${quoted(url)}}` };
}

/** The last URL and its JSON: most publishes in a row have the same. */
let lastQuoted = { url: "", text: '""' };

function quoted(url: string): string {
  if (lastQuoted.url !== url) lastQuoted = { url, text: JSON.stringify(url) };
  return lastQuoted.text;
}

/** A published message, or the list of those of a URL group. */
export function entriesOf(outcome: PublishOutcome): unknown {
  return outcome.kind === "url" ? entryOf(outcome.published) : outcome.published.map(entryOf);
}

function entryOf({ messageId, url, isDeduplicated, run }: Published): unknown {
  if (!isDeduplicated && run === undefined) return { messageId, url };
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

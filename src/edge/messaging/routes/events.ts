/** Events that runs wait for (C3, C9, W.wait, W.notify-all, W.hooks). */

import { canonicalName } from "../../../kernel/header-name.ts";
import {
  badRequest,
  checkRunId,
  headerLists,
  headerText,
  hiddenOfWait,
  joinedRedaction,
  type MessagingApi,
  type Notified,
  notFound,
  type Redaction,
  type Run,
  redactedHeaders,
  redactedText,
  type Waiter,
} from "../../../messaging/mod.ts";
import { takingSteps } from "../append-refusal.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows, ok } from "../route.ts";

export const eventRoutes = messagingRows([
  {
    id: "waitForEvent",
    rule: "C",
    method: "POST",
    template: "/v2/wait/:eventId",
    summary: "makes a run wait for an event: `{url, timeout, timeoutUrl, timeoutHeaders, timeoutBody, step}`",
    isRateLimited: false,
    takesSteps: true,
    body: "message",
    run: takingSteps(wait),
  },
  {
    id: "notifyEvent",
    rule: "C",
    method: "POST",
    template: "/v2/notify/:eventId",
    summary: "notifies all runs that wait for an event; the body is the data of the event",
    status: 201,
    isRateLimited: true,
    body: "message",
    run: notifyAll,
  },
  {
    id: "notifyRun",
    rule: "C3",
    method: "POST",
    template: "/v2/notify/:workflowRunId/:eventId",
    summary: "notifies one run of an event, now or when the run waits for it",
    status: 201,
    isRateLimited: true,
    body: "message",
    run: notifyRun,
  },
  {
    id: "listWaiters",
    rule: "C9",
    method: "GET",
    template: "/v2/waiters/:eventId",
    summary: "lists the runs that wait for an event",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: ({ api, names: [eventId = ""] }) => ({ value: waitersView(api, eventId) }),
  },
  {
    id: "callWebhook",
    rule: "C",
    method: "ANY",
    template: "/v2/workflows/hooks/:userId/:workflowRunId/:eventId",
    summary: "notifies one run of an event without a token, as a webhook; the whole request is the data of the event",
    isRateLimited: false,
    isOpen: true,
    body: "message",
    run: hook,
  },
]);

async function wait({ api, names, head, request, refusalOf }: MessagingCall): Promise<MessagingAnswer> {
  const [eventId = ""] = names;
  const runId = head.own[head.own.indexOf("workflow-runid") + 1];
  if (!head.own.includes("workflow-runid") || runId === undefined) {
    throw badRequest("Workflow-RunId is missing: it names the run that waits");
  }
  checkRunId(runId);
  const { own: headers, contentType } = head;
  await api.workflows.wait({ eventId, runId, headers, contentType, body: request.body, refusalOf });
  return ok;
}

async function notifyAll({ api, names, request }: MessagingCall): Promise<MessagingAnswer> {
  const [eventId = ""] = names;
  const notified = await api.workflows.notifyAll(eventId, request.body);
  return { value: notified.map(notifiedView) };
}

/** C3 */
async function notifyRun({ api, names, request }: MessagingCall): Promise<MessagingAnswer> {
  const [runId = "", eventId = ""] = names;
  return { value: notifiedView(await api.workflows.notifyRun(runId, eventId, request.body)) };
}

async function hook({ api, names, request }: MessagingCall): Promise<MessagingAnswer> {
  const [, runId = "", eventId = ""] = names;
  if (api.workflows.find(runId)?.isStarted !== true) throw notFound(`workflow run ${runId} not found`);
  const data = Buffer.from(JSON.stringify(requestView(request)));
  const notified = await api.workflows.notifyRun(runId, eventId, data);
  return { value: notifiedView(notified) };
}

/** The data of an event from a webhook: the whole request. */
function requestView({ method, rawHeaders, body, target }: MessagingCall["request"]): object {
  const header = headerLists(rawHeaders);
  return {
    method,
    header,
    ...(body.length === 0 ? {} : { body: body.toString("base64") }),
    // A proxy in front knows the protocol of the client.
    proto: header["X-Forwarded-Proto"]?.[0] === "https" ? "https" : "http",
    host: header["Host"]?.[0] ?? "localhost",
    url: target,
  };
}

/** The notify result of C3. There is no `error` without one: the client in Go cannot read an empty text. */
function notifiedView({ run, waiter, messageId }: Notified): object {
  return {
    ...(waiter === undefined
      ? {}
      : { waiter: waiterView(waiter, run), messageId, url: waiter.url, deduplicated: false }),
    workflowRunId: run.id,
    workflowCreatedAt: run.record.createdAtMs,
  };
}

function waitersView({ workflows }: MessagingApi, eventId: string): readonly object[] {
  return workflows.waiters(eventId).map((waiter) => waiterView(waiter, workflows.find(waiter.runId)));
}

/** C9.waiter. Fields that the run or the wait redacts are redacted here too. */
function waiterView(waiter: Waiter, run: Run | undefined): object {
  const { runId, eventId, url, headers, deadlineMs, timeoutUrl, timeoutHeaders, timeoutBody } = waiter;
  const redact = joinedRedaction(run?.record.config.redact, hiddenOfWait(waiter)) ?? {};
  return {
    workflowRunId: runId,
    eventId,
    url,
    headers: headersView(headers, redact),
    deadline: Math.ceil(deadlineMs / 1_000),
    ...(timeoutBody === undefined
      ? {}
      : { timeoutBody: base64Of(redact.body ? redactedText(timeoutBody) : timeoutBody) }),
    timeoutUrl,
    timeoutHeaders: headersView(timeoutHeaders, redact),
  };
}

/** The client in Go decodes the field, so the hash of a hidden body is in base64 too. */
function base64Of(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** Headers that are forwarded to the endpoint or with a callback; other names are settings. */
const SENT_ON = /^(?:(?:failure-|callback-)*forward-(.+)|(content-type)|header:(.+))$/;

function headersView(own: readonly string[], redact: Redaction): Record<string, string[]> {
  const view: Record<string, string[]> = Object.create(null);
  for (let i = 0; i < own.length; i += 2) {
    const written = own[i] as string;
    const [, forwarded, contentType, plain] = SENT_ON.exec(written) ?? [];
    const asGiven = contentType ?? plain;
    const key = asGiven === undefined ? `Upstash-${canonicalName(written)}` : canonicalName(asGiven);
    const sent = forwarded ?? asGiven;
    const given = own[i + 1] as string;
    const [, value = given] = sent === undefined ? [] : redactedHeaders(redact, [sent, given]);
    view[key] ??= [];
    view[key].push(headerText(value));
  }
  return view;
}

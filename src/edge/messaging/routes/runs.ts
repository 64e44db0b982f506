/** Workflow runs: start, entries, finish, cancel (W.trigger, W.batch-trigger, W.entries, C14, W.cancel-many). */
import {
  badRequest,
  notFound,
  type PublishOutcome,
  type PublishRequest,
  plainTrigger,
  readPublishOptions,
} from "../../../messaging/mod.ts";
import { publishElements, readBatch } from "../batch-body.ts";
import { callerIp } from "../caller-ip.ts";
import { destinationOf } from "../destination-target.ts";
import { readCount } from "../filters/messages.ts";
import { readRunsFilter } from "../filters/runs.ts";
import { Parameters } from "../parameters.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows, ok } from "../route.ts";
import { headersOf } from "./publish.ts";

/** The most runs that one call cancels, without a count and with one. */
const CANCEL_COUNT_DEFAULT = 100;
export const RUN_CANCEL_MAX = 500;

/** Precedes the headers of every start: the first header of a name counts. */
const INIT = ["workflow-init", "true"];

export const runRoutes = messagingRows([
  {
    id: "startRun",
    rule: "C",
    method: "POST",
    template: "/v2/trigger/*",
    summary: "starts a workflow run at a URL; the body is its initial payload",
    isRateLimited: false,
    takesQueryToken: true,
    body: "message",
    run: trigger,
  },
  {
    id: "startRuns",
    rule: "C",
    method: "POST",
    template: "/v2/batch/trigger",
    summary: "starts workflow runs from a list of `{destination, headers, body}`: all of them or none",
    status: 201,
    isRateLimited: false,
    body: "batch",
    run: triggerBatch,
  },
  {
    id: "listRunEntries",
    rule: "C",
    method: "GET",
    template: "/v2/workflows/runs/:workflowRunId",
    summary: "lists the entries of an active run, in order",
    isForReadOnlyToken: true,
    isRateLimited: false,
    run: getEntries,
  },
  {
    id: "endRun",
    rule: "C14",
    method: "DELETE",
    template: "/v2/workflows/runs/:workflowRunId",
    summary:
      "cancels a run; with `cancel=false` its endpoint reports that the run has finished, and the body is the result",
    isRateLimited: false,
    takesSteps: true,
    body: "message",
    run: endRun,
  },
  {
    id: "cancelRuns",
    rule: "C",
    method: "DELETE",
    template: "/v2/workflows/runs",
    summary: `cancels the runs that match the filters, or any without filters; \`count\` is ${CANCEL_COUNT_DEFAULT} by default`,
    isRateLimited: true,
    run: cancelRuns,
  },
]);

async function trigger(call: MessagingCall): Promise<MessagingAnswer> {
  const headers = headersOf(call);
  const given = {
    own: [...INIT, ...headers.own],
    contentType: headers.contentType,
    trace: headers.trace,
    others: (): readonly string[] => headers.others(),
  };
  const options = readPublishOptions(given, call);
  const destination = destinationOf(call.rest, call.ownQuery.ofDestination, call.refusalOf);
  const { body, remoteAddress } = call.request;
  const request = { destination, body, options: plainTrigger(options, destination), callerIp: callerIp(remoteAddress) };
  const [outcome] = await store(call, [request]);
  return { value: startedView(outcome) };
}

async function triggerBatch(call: MessagingCall): Promise<MessagingAnswer> {
  const requests = readBatch(call, { urlField: "workflowUrl", first: INIT }).map((request) => ({
    ...request,
    options: plainTrigger(request.options, request.destination),
  }));
  if (requests.length === 0) return { value: [] };
  return { value: (await publishElements(() => store(call, requests))).map(startedView) };
}

async function store(call: MessagingCall, requests: readonly PublishRequest[]): Promise<readonly PublishOutcome[]> {
  await call.acceptBackpressure?.();
  return call.api.publish(requests);
}

function startedView(outcome: PublishOutcome | undefined): object {
  const published = outcome?.kind === "url" ? outcome.published : undefined;
  return {
    workflowRunId: published?.run?.id,
    workflowCreatedAt: published?.run?.createdAtMs,
    ...(published?.isDeduplicated ? { deduplicated: true } : {}),
  };
}

/** Endpoints get their entries unchanged; a read-only token gets them redacted, as everywhere else. */
async function getEntries({ api, names, isReadOnly }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  const entries = await api.workflows.entries(id, { isRedacted: isReadOnly });
  if (entries === undefined) throw runMissing(id);
  return { value: entries };
}

/** C14 */
async function endRun({ api, names, query, request }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  const cancel = new Parameters(query).text("cancel") ?? "true";
  if (cancel === "false") {
    await api.workflows.finish(id, Buffer.from(request.body));
    return ok;
  }
  if (cancel !== "true") throw badRequest("Invalid value for cancel: use true or false");
  if (!(await api.workflows.cancel(id))) throw runMissing(id);
  return ok;
}

async function cancelRuns({ api, query, request }: MessagingCall): Promise<MessagingAnswer> {
  const parameters = new Parameters(query, request.body);
  const filter = readRunsFilter(parameters, { isChange: true, others: ["count", "all"] });
  const count = readCount(parameters, RUN_CANCEL_MAX) ?? CANCEL_COUNT_DEFAULT;
  return { value: { cancelled: await api.workflows.cancelMatching(filter, count) } };
}

function runMissing(id: string): unknown {
  return notFound(`workflow run ${id} not found`);
}

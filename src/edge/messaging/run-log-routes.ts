/** Logs of workflow runs: grouped by run, or message by message (spec: workflow 2, 6). */
import { STATUS_CODES } from "node:http";
import type { LogEntry, UserDoor } from "../../messaging/door.ts";
import { headerLists } from "../../messaging/header-lists.ts";
import { redactedText } from "../../messaging/redaction.ts";
import { type Run, runStateNames } from "../../messaging/workflow/run.ts";
import { type RunLog, runLogOf } from "../../messaging/workflow/run-log.ts";
import { readCount, readFilter, readPage } from "./filters.ts";
import { logEntryView } from "./log-view.ts";
import { labelsView } from "./message-view.ts";
import type { MessagingAnswer, MessagingCall, MessagingRoute } from "./messaging-route.ts";
import { Parameters } from "./parameters.ts";
import { readRunsFilter } from "./runs-filter.ts";

const RUN_COUNT_MAX = 10;
const EVENT_COUNT_DEFAULT = 100;
const EVENT_COUNT_MAX = 1_000;
/** Entries of the log that are asked for at once. */
const LOG_PAGE = 1_000;

export const runLogRoutes: readonly MessagingRoute[] = ["logs", "events", "messageLogs"].map((name) => ({
  rule: "C",
  method: "GET",
  template: `/v2/workflows/${name}`,
  summary:
    name === "logs"
      ? "with `groupBy=workflowRunId` runs with their steps, ten at most, the latest first; without it what happened to their messages"
      : "the same under another name",
  isForReadOnlyToken: true,
  isRateLimited: true,
  run: list,
}));

function phraseOf(status: number): string {
  return STATUS_CODES[status] ?? "";
}

function list(call: MessagingCall): Promise<MessagingAnswer> {
  const parameters = new Parameters(call.query);
  return parameters.text("groupBy") === "workflowRunId" ? listRuns(call, parameters) : listEvents(call, parameters);
}

async function listRuns({ door, nowMs }: MessagingCall, parameters: Parameters): Promise<MessagingAnswer> {
  const filter = readRunsFilter(parameters, { isChange: false, others: [] });
  const count = readCount(parameters, RUN_COUNT_MAX) ?? RUN_COUNT_MAX;
  const cursor = parameters.text("cursor");
  const page = door.workflows.list(filter, { count, ...(cursor === undefined ? {} : { cursor }) });
  const runs: object[] = [];
  // One after the other: each may take many entries of the log.
  for (const run of page.runs) {
    const log = runLogOf(run, await entriesOf(door, run), { nowMs, phraseOf });
    const result = run.result === undefined ? undefined : await door.loadBody(run.result);
    runs.push(runView(run, log, result));
  }
  return { status: 200, value: { cursor: page.cursor ?? "", runs } };
}

async function entriesOf(door: UserDoor, { id }: Run): Promise<readonly LogEntry[]> {
  const filter = { attributes: new Map([["workflowRunId", [id]] as const]) };
  const all: LogEntry[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await door.logs(filter, {
      order: "earliest first",
      count: LOG_PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    all.push(...page.entries);
    cursor = page.cursor;
    if (cursor === undefined) return all;
  }
}

function runView(run: Run, log: RunLog, result: Buffer | undefined): object {
  const { record, state, endedAtMs } = run;
  const { labels, flowControl, redact } = record.config;
  const response = result?.toString("utf8");
  return {
    workflowRunId: run.id,
    workflowUrl: record.url,
    workflowState: runStateNames[state],
    workflowRunCreatedAt: record.createdAtMs,
    ...(endedAtMs === 0 ? {} : { workflowRunCompletedAt: endedAtMs }),
    ...(response === undefined
      ? {}
      : { workflowRunResponse: redact?.body === true ? redactedText(response) : response }),
    ...labelsView({ labels }),
    ...(flowControl === undefined ? {} : { flowControlKey: flowControl.key }),
    ...(record.invoker === undefined
      ? {}
      : {
          invoker: {
            workflowRunId: record.invoker.runId,
            workflowUrl: record.invoker.url,
            workflowRunCreatedAt: record.invoker.createdAtMs,
          },
        }),
    ...failureView(run, log),
    ...(run.letterId === undefined ? {} : { dlqId: run.letterId }),
    steps: log.groups,
  };
}

function failureView({ failureFunction, letterId }: Run, { failure, failureErrors }: RunLog): object {
  if (failureFunction === undefined) return {};
  const { messageId, url, state, retriesMax, status, headers, body } = failureFunction;
  return {
    failureFunction: {
      messageId,
      url,
      state,
      failHeaders: failure?.headers,
      failStatus: failure?.status,
      failResponse: failure?.body,
      dlqId: letterId,
      errors: failureErrors.length === 0 ? undefined : failureErrors,
      responseBody: body,
      responseHeaders: headers && headerLists(headers),
      responseStatus: status,
      maxRetries: retriesMax,
    },
  };
}

async function listEvents({ door, query }: MessagingCall, parameters: Parameters): Promise<MessagingAnswer> {
  const filter = readFilter(new Parameters(query), { target: "logs", isChange: false, others: [] });
  const page = readPage(parameters, {
    countDefault: EVENT_COUNT_DEFAULT,
    countMax: EVENT_COUNT_MAX,
    orderDefault: "latest first",
  });
  const attributes = new Map([...filter.attributes, ["source", ["workflow"]] as const]);
  const { entries, cursor } = await door.logs({ ...filter, attributes }, page);
  return { status: 200, value: { cursor, events: entries.map((entry) => eventView(door, entry)) } };
}

function eventView(door: UserDoor, entry: LogEntry): object {
  const { workflow } = entry.message.envelope;
  const run = workflow === undefined ? undefined : door.workflows.find(workflow.runId);
  return {
    ...logEntryView(entry, "CANCELED"),
    workflowRunId: workflow?.runId,
    workflowUrl: run?.record.url,
    workflowCreatedAt: run?.record.createdAtMs,
    callType: workflow?.callType,
  };
}

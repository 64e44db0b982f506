/**
 * Logs of workflow runs: grouped by run, or message by message (W.logs). The client in Go asks `logs` for runs without
 * `groupBy`, the one in JavaScript `events` with it.
 */
import {
  type AttributeName,
  BODY_DAMAGED,
  badRequest,
  headerLists,
  type LogEntry,
  type LoggedMessage,
  type MessageState,
  type MessagingApi,
  messageState,
  type Run,
  type RunLog,
  redactedText,
  runLogOf,
  runStateNames,
} from "../../../messaging/mod.ts";
import { statusTexts } from "../../http/status-texts.ts";
import { readCount, readFilter, readPage } from "../filters/messages.ts";
import { LIST_BYTES_MAX } from "../filters/page-size.ts";
import { readRunLogFilter } from "../filters/run-logs.ts";
import { Parameters } from "../parameters.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows } from "../route.ts";
import { logEntryView } from "../views/logs.ts";
import { labelsView } from "../views/messages.ts";
import { readTrimming } from "../views/trim-body.ts";
import { readWithinBytes } from "./logs.ts";

export const RUN_LIST_MAX = 10;
const EVENT_COUNT_DEFAULT = 100;
export const RUN_EVENT_LIST_MAX = 1_000;
/** The most runs whose logs are read for a page. */
const LOGS_MAX = 100;
/** The entries that one query of the log returns at most. */
const LOG_PAGE = 1_000;
/** How often the log of a run is read that changes meanwhile. */
const HISTORY_READS_MAX = 3;
/** The most messages that one query names. */
const MESSAGES_PER_QUERY = 500;

const EVENTS =
  "lists the log entries of the messages of runs; with `groupBy=workflowRunId`: the same as `/v2/workflows/logs`";

export const runLogRoutes = (
  [
    ["listRunLogs", "logs", `lists runs with their steps, latest first, at most ${RUN_LIST_MAX}`, listRuns],
    ["listRunEvents", "events", EVENTS, listEventsOrRuns],
    ["listRunMessageLogs", "messageLogs", EVENTS, listEventsOrRuns],
  ] as const
).flatMap(([id, name, summary, run]) =>
  messagingRows([
    {
      id,
      rule: "C",
      method: "GET",
      template: `/v2/workflows/${name}`,
      summary,
      isForReadOnlyToken: true,
      isRateLimited: true,
      run: (call) => run(call, new Parameters(call.query)),
    },
  ]),
);

function phraseOf(status: number): string {
  return statusTexts[status] ?? "";
}

function listEventsOrRuns(call: MessagingCall, parameters: Parameters): Promise<MessagingAnswer> {
  const groupBy = parameters.text("groupBy");
  if (groupBy === undefined) return listEvents(call, parameters);
  if (groupBy !== "workflowRunId") throw badRequest("Invalid value for groupBy: use workflowRunId");
  return listRuns(call, parameters);
}

async function listRuns({ api, nowMs }: MessagingCall, parameters: Parameters): Promise<MessagingAnswer> {
  const filter = await readRunLogFilter(api, parameters);
  const count = readCount(parameters, RUN_LIST_MAX) ?? RUN_LIST_MAX;
  const trim = readTrimming(parameters);
  const runs: object[] = [];
  let cursor = parameters.text("cursor");
  let bytes = 0;
  // One at a time, because each may need many entries of the log. A page that becomes too large ends early.
  for (let reads = 0; reads < LOGS_MAX && runs.length < count && bytes < LIST_BYTES_MAX; reads += 1) {
    const page = api.workflows.list(filter.runs, { count: 1, ...(cursor === undefined ? {} : { cursor }) });
    cursor = page.cursor;
    const [run] = page.runs;
    if (run !== undefined) {
      const { entries, invoked } = await historyOf(api, run);
      const log = runLogOf(run, entries, { nowMs, phraseOf, invoked });
      if (filter.isMeant?.(run, log) ?? true) {
        const [result, answer] = await Promise.all(
          [run.result, run.failureAnswer].map((body) => (body === undefined ? undefined : api.loadBody(body))),
        );
        const isDamaged = run.result !== undefined && result === undefined;
        const damage = isDamaged ? { workflowRunResponseError: BODY_DAMAGED } : {};
        runs.push(trim({ ...runView(run, log, { result, answer }), ...damage }));
        bytes += bodyBytes(entries) + (result?.length ?? 0) + (answer?.length ?? 0);
        for (const { body } of invoked.values()) bytes += body.length;
      }
    }
    if (run === undefined || cursor === undefined) break;
  }
  return { value: { cursor: cursor ?? "", runs } };
}

/** The log of a run, as it was after the last change of the run itself, if that does not change all the time. */
async function historyOf(
  api: MessagingApi,
  run: Run,
): Promise<{ readonly entries: readonly LogEntry[]; readonly invoked: ReadonlyMap<string, LoggedMessage> }> {
  for (let reads = 1; ; reads += 1) {
    const before = memoryOf(run);
    const entries = await entriesOf(api, [["workflowRunId", [run.id]]]);
    const invoked = await invokedBy(api, run);
    const after = memoryOf(run);
    const isSame = before.length === after.length && before.every((fact, index) => fact === after[index]);
    if (isSame || reads === HISTORY_READS_MAX) return { entries, invoked };
  }
}

/** What a view of a run takes from memory, beside its log. */
function memoryOf({ state, failureFunction, waiters, leftWaits, children }: Run): readonly unknown[] {
  return [state, failureFunction?.state, ...waiters, ...leftWaits, ...children];
}

function bodyBytes(entries: readonly LogEntry[]): number {
  let bytes = 0;
  for (const { message, state: entryState } of entries)
    if (entryState === messageState.created) bytes += message.body.length;
  return bytes;
}

/** The first messages of the runs that this run invoked, by run id. Memory has them only until those runs end. */
async function invokedBy(api: MessagingApi, { children }: Run): Promise<ReadonlyMap<string, LoggedMessage>> {
  const invoked = new Map<string, LoggedMessage>();
  const runs = [...children];
  for (let from = 0; from < runs.length; from += MESSAGES_PER_QUERY) {
    const ids = runs.slice(from, from + MESSAGES_PER_QUERY).map(({ firstMessageId }) => firstMessageId);
    for (const { message } of await entriesOf(api, [["messageId", ids]], [messageState.created])) {
      const runId = message.envelope.workflow?.runId;
      if (runId !== undefined) invoked.set(runId, message);
    }
  }
  return invoked;
}

async function entriesOf(
  api: MessagingApi,
  attributes: readonly (readonly [name: AttributeName, values: readonly string[]])[],
  states?: readonly MessageState[],
): Promise<readonly LogEntry[]> {
  const filter = { attributes: new Map(attributes), ...(states === undefined ? {} : { states }) };
  const all: LogEntry[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await api.logs(filter, {
      order: "earliest first",
      count: LOG_PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    all.push(...page.entries);
    cursor = page.cursor;
    if (cursor === undefined) return all;
  }
}

function runView(
  run: Run,
  log: RunLog,
  { result, answer }: { readonly result: Buffer | undefined; readonly answer: Buffer | undefined },
): object {
  const { record, state: runStateNow, endedAtMs } = run;
  const { labels, flowControl, redact } = record.config;
  const response = result?.toString("utf8");
  return {
    workflowRunId: run.id,
    workflowUrl: record.url,
    workflowState: runStateNames[runStateNow],
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
    ...failureView(run, log, answer),
    ...(run.deadLetterId === undefined ? {} : { dlqId: run.deadLetterId }),
    ...(log.lastErrors.length === 0 ? {} : { errors: log.lastErrors }),
    steps: log.groups,
  };
}

function failureView(
  { failureFunction, deadLetterId }: Run,
  { failure, failureErrors, failureDueMs }: RunLog,
  answer: Buffer | undefined,
): object {
  if (failureFunction === undefined) return {};
  const { messageId, url, retriesMax, status, headers, body } = failureFunction;
  return {
    failureFunction: {
      messageId,
      url,
      state: failureFunction.state,
      failHeaders: failure?.headers,
      failStatus: failure?.status,
      failResponse: failure?.body,
      dlqId: deadLetterId,
      errors: failureErrors.length === 0 ? undefined : failureErrors,
      responseBody: answer?.toString("utf8") ?? body,
      responseHeaders: headers && headerLists(headers),
      responseStatus: status,
      maxRetries: retriesMax,
      nextDeliveryTime: failureDueMs,
    },
  };
}

async function listEvents({ api, query }: MessagingCall, parameters: Parameters): Promise<MessagingAnswer> {
  const filter = readFilter(new Parameters(query), { target: "logs", isChange: false, others: [] });
  const page = readPage(parameters, {
    countDefault: EVENT_COUNT_DEFAULT,
    countMax: RUN_EVENT_LIST_MAX,
    orderDefault: "latest first",
  });
  const trim = readTrimming(parameters);
  const attributes = new Map([...filter.attributes, ["source", ["workflow"]] as const]);
  const { entries, cursor } = await readWithinBytes(api, { ...filter, attributes }, page);
  return { value: { cursor, events: entries.map((entry) => trim(eventView(api, entry), true)) } };
}

function eventView(api: MessagingApi, entry: LogEntry): object {
  const { workflow } = entry.message.envelope;
  const run = workflow === undefined ? undefined : api.workflows.find(workflow.runId);
  return {
    ...logEntryView(entry, "CANCELED"),
    workflowRunId: workflow?.runId,
    workflowUrl: run?.record.url,
    workflowCreatedAt: run?.record.createdAtMs,
    callType: workflow?.callType,
  };
}

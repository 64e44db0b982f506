/**
 * The parameters, bodies and answers of the routes of messaging, for its OpenAPI
 * document: an entry for each row of `messagingRoutes`, by its id. Path, method,
 * token and statuses of success come from the row.
 */

import { PERIOD_MS_MAX } from "../../messaging/mod.ts";
import { NAME_PAGE_MAX } from "../messaging/name-page.ts";
import type { MessagingRoute, Method } from "../messaging/route.ts";
import { DEAD_LETTER_BULK_MAX, DEAD_LETTER_LIST_MAX } from "../messaging/routes/dead-letters.ts";
import { FAILED_RUN_START_MAX } from "../messaging/routes/failed-runs.ts";
import { LOG_LIST_MAX } from "../messaging/routes/logs.ts";
import { MESSAGE_CANCEL_MAX } from "../messaging/routes/messages.ts";
import { RUN_EVENT_LIST_MAX, RUN_LIST_MAX } from "../messaging/routes/run-logs.ts";
import { RUN_CANCEL_MAX } from "../messaging/routes/runs.ts";
import { type MessagingOperationId, messagingRoutes } from "../messaging/routes/table.ts";
import { JOB_URL, MESSAGE_ID } from "./examples.ts";
import {
  count,
  cursor,
  exactUrl,
  filters,
  HEADER_FAMILIES,
  messageHeaders,
  order,
  overrideHeaders,
  runEventFilters,
  runFilters,
  runIdHeader,
  runLogFilters,
  scheduleHeaders,
  trimBody,
} from "./messaging-parameters.ts";
import { messagingSchemas } from "./messaging-schemas.ts";
import {
  type Answer,
  type AreaDescription,
  answer,
  bytesBody,
  capitalized,
  jsonBody,
  namesIn,
  type Operation,
  type OperationExample,
  type OperationMethod,
  openApiPath,
  type Parameter,
  type RequestBody,
  type Tag,
  TRANSPORT,
} from "./operation.ts";
import {
  anyObject,
  either,
  flag,
  integer,
  list,
  mapOf,
  named,
  object,
  orNull,
  type Schema,
  text,
  count as wholeNumber,
  words,
} from "./schema.ts";

interface Described {
  readonly parameters?: readonly Parameter[];
  readonly body?: RequestBody;
  /** The answer of success; undefined if the route never succeeds. */
  readonly done: Schema | undefined;
  /** Statuses of refusals besides those of every route. */
  readonly refusals?: readonly (404 | 412 | 501)[];
  /** The name of the part of the path in the place of `*`; `destination` if absent. */
  readonly rest?: string;
  readonly example?: OperationExample;
}

const tags: readonly Tag[] = [
  {
    name: "Workflow runs",
    description: "Starting, reading and cancelling runs, and the events that they wait for",
    paths: ["/v2/trigger", "/v2/batch/trigger", "/v2/workflows/runs", "/v2/workflows/hooks", "/v2/wait", "/v2/notify"],
  },
  {
    name: "Failed runs",
    description: "Runs that failed permanently: resuming, restarting, deleting",
    paths: ["/v2/workflows/dlq"],
  },
  {
    name: "Logs",
    description: "What happened to messages and runs",
    paths: ["/v2/logs", "/v2/events", "/v2/workflows/"],
  },
  {
    name: "Messages",
    description: "Publishing, enqueueing, reading and cancelling messages",
    paths: ["/v2/publish", "/v2/enqueue", "/v2/batch", "/v2/messages"],
  },
  { name: "Queues", description: "Messages that are delivered in order", paths: ["/v2/queues"] },
  { name: "Schedules", description: "Messages that are published by a cron expression", paths: ["/v2/schedules"] },
  { name: "URL groups", description: "Several destinations under one name", paths: ["/v2/topics"] },
  { name: "Dead letters", description: "Messages that failed permanently", paths: ["/v2/dlq"] },
  {
    name: "Flow control",
    description: "Limits of parallel deliveries and of their rate, by key",
    paths: ["/v2/flowControl", "/v2/globalParallelism"],
  },
  {
    name: "Signing keys",
    description: "The keys that sign deliveries. A GET of the path of their rotation is about flow control",
    paths: ["/v2/keys"],
  },
  { name: "Health", description: "Whether messaging is ready", paths: ["/v2/readiness"] },
  { name: "Not available", description: "Paths of the hosted service that larder refuses", paths: ["/llm"] },
];

const empty = named("Empty");
const message = bytesBody("The body of the message");
const publishedOrList = either(named("Published"), list(named("Published")));
const headerMap = mapOf(either(text, list(text)));
const batchElement = object(
  { destination: text },
  { headers: orNull(headerMap), body: orNull(text), queue: orNull(text) },
);
const query = (name: string, schema: Schema, description?: string): Parameter => ({
  name,
  in: "query",
  schema,
  ...(description !== undefined && { description }),
});

/** The whole list without them. */
const namePage = [
  query("prefix", text, "Only names that begin with this"),
  {
    ...count(NAME_PAGE_MAX),
    description:
      "A page in the order of the names; fewer results are the last page. Without `count`, `cursor` and `prefix`: the whole list",
  },
  { ...cursor, description: "The last name of the previous page" },
];
const deadLetterPage = [...filters("dead letters"), count(DEAD_LETTER_LIST_MAX), cursor, order, trimBody];
const deadLetterBulk = [...filters("dead letters"), count(DEAD_LETTER_BULK_MAX), cursor];
const logPage = [...filters("logs"), count(LOG_LIST_MAX), cursor, order, trimBody];
/** Parameters in a JSON body; those in the query count too. */
const parametersBody = jsonBody(anyObject, {
  isOptional: true,
  description: "The parameters of the query may be here instead; several values are a list",
});
const runEvents = (): Described => ({
  parameters: [
    query("groupBy", words("workflowRunId"), "Lists runs with their steps instead of log entries of their messages"),
    ...runEventFilters,
    count(RUN_EVENT_LIST_MAX),
    cursor,
    order,
    trimBody,
  ],
  done: either(named("Runs"), named("RunEvents")),
});
const eventData: OperationExample = { request: '{"paid":true}' };
/** Everything with a label. */
const byLabel = { label: "billing" };
const startFailedRuns = (): Described => ({
  parameters: [...filters("dead letters"), count(FAILED_RUN_START_MAX), cursor, ...overrideHeaders],
  body: parametersBody,
  done: object({ workflowRuns: list(named("StartedRun")) }, { cursor: text }),
  refusals: [404, 412],
  example: { request: byLabel },
});
const startFailedRun: Described = { parameters: overrideHeaders, done: named("StartedRun"), refusals: [404, 412] };

/** A route without a description does not compile, nor does a description without a route. */
const descriptions: Readonly<Record<MessagingOperationId, Described>> = {
  publish: {
    parameters: messageHeaders,
    body: message,
    done: publishedOrList,
    refusals: [412],
    example: { request: '{"id":7}', answer: { messageId: MESSAGE_ID, url: JOB_URL } },
  },
  enqueue: {
    parameters: messageHeaders,
    body: message,
    done: publishedOrList,
    refusals: [412],
    example: { request: '{"id":7}', answer: { messageId: MESSAGE_ID, url: JOB_URL } },
  },
  publishBatch: {
    parameters: messageHeaders,
    body: jsonBody(list(batchElement)),
    done: list(publishedOrList),
    refusals: [412],
    example: {
      request: [{ destination: JOB_URL, headers: { "Service-Delay": "10s" }, body: '{"id":7}', queue: "mail" }],
      answer: [{ messageId: MESSAGE_ID, url: JOB_URL }],
    },
  },
  getMessage: { done: named("Message"), refusals: [404] },
  cancelMessage: { done: object({ cancelled: wholeNumber }), refusals: [404] },
  retryMessage: { done: empty, refusals: [404] },
  cancelMessages: {
    parameters: [...filters("messages"), { ...count(MESSAGE_CANCEL_MAX), description: "Without effect" }],
    body: parametersBody,
    done: object({ cancelled: wholeNumber }),
    example: { request: byLabel, answer: { cancelled: 3 } },
  },
  putQueue: {
    body: jsonBody(
      object({ queueName: text }, { parallelism: orNull({ type: "integer", minimum: 1 }), paused: orNull(flag) }),
    ),
    done: empty,
    refusals: [412],
    example: { request: { queueName: "mail", parallelism: 2 } },
  },
  listQueues: { parameters: namePage, done: list(named("Queue")) },
  getQueue: { done: named("Queue"), refusals: [404] },
  deleteQueue: { done: empty },
  pauseQueue: { done: empty, refusals: [412] },
  resumeQueue: { done: empty, refusals: [412] },
  pauseSchedule: { done: empty, refusals: [404] },
  resumeSchedule: { done: empty, refusals: [404] },
  pauseScheduleByPost: { done: empty, refusals: [404] },
  resumeScheduleByPost: { done: empty, refusals: [404] },
  runSchedule: { done: publishedOrList, refusals: [404, 412] },
  listSchedules: { parameters: namePage, done: list(named("Schedule")) },
  getSchedule: { done: named("Schedule"), refusals: [404] },
  deleteSchedule: { done: empty, refusals: [404] },
  putSchedule: {
    parameters: scheduleHeaders,
    body: message,
    done: object({ scheduleId: text }),
    refusals: [412],
    example: { request: '{"id":7}', answer: { scheduleId: "nightly" } },
  },
  listUrlGroups: { parameters: namePage, done: list(named("UrlGroup")) },
  getUrlGroup: { done: named("UrlGroup"), refusals: [404] },
  setUrlGroupHeaders: {
    body: jsonBody(object({ headers: headerMap })),
    done: empty,
    refusals: [404],
    example: { request: { headers: { "X-Source": "larder" } } },
  },
  deleteUrlGroup: { done: empty },
  addEndpoints: {
    body: jsonBody(object({ endpoints: list(object({ url: text }, { name: orNull(text) }), { minItems: 1 }) })),
    done: empty,
    refusals: [412],
    example: { request: { endpoints: [{ url: JOB_URL, name: "first" }] } },
  },
  removeEndpoints: {
    body: jsonBody(object({ endpoints: list(either(object({ url: text }), object({ name: text })), { minItems: 1 }) })),
    done: empty,
  },
  listDeadLetters: {
    parameters: deadLetterPage,
    done: object({ messages: list(named("DeadLetter")) }, { cursor: text }),
  },
  getDeadLetter: { done: named("DeadLetter"), refusals: [404] },
  deleteDeadLetter: { done: empty, refusals: [404] },
  deleteDeadLetters: {
    parameters: deadLetterBulk,
    body: parametersBody,
    done: object({ deleted: wholeNumber }, { cursor: text }),
    example: { request: byLabel, answer: { deleted: 3 } },
  },
  retryDeadLetters: {
    parameters: [...deadLetterBulk, ...overrideHeaders],
    body: parametersBody,
    done: object({ responses: list(named("Retried")) }, { cursor: text }),
    refusals: [404, 412],
    example: { request: byLabel },
  },
  retryDeadLetter: {
    parameters: overrideHeaders,
    done: object({ responses: list(named("Retried")) }, { cursor: text }),
    refusals: [404, 412],
  },
  listFlowControlKeys: {
    parameters: [query("search", text, "A part of the name"), ...namePage],
    done: list(named("FlowControlKey")),
  },
  getFlowControlKey: { done: named("FlowControlKey"), refusals: [404] },
  pauseFlowControlKey: { done: empty },
  resumeFlowControlKey: { done: empty },
  pinFlowControlKey: {
    parameters: [
      query("parallelism", { type: "integer", minimum: 1 }),
      query("rate", { type: "integer", minimum: 1 }),
      query("period", { type: "integer", minimum: 1, maximum: PERIOD_MS_MAX / 1_000 }, "Period of the rate in seconds"),
    ],
    done: empty,
  },
  unpinFlowControlKey: {
    parameters: [query("parallelism", words("true", "false")), query("rate", words("true", "false"))],
    done: empty,
  },
  resetRateFlowControlKey: { done: empty },
  resetFlowControlKey: { done: empty },
  getGlobalParallelism: {
    done: object({ parallelismMax: wholeNumber, parallelismCount: wholeNumber }),
  },
  getWaitlist: {
    parameters: [{ ...query("flowControlKey", text), isRequired: true }],
    done: object({ flowControlKey: text, waitlistSize: wholeNumber }),
    refusals: [404],
  },
  listLogs: { parameters: logPage, done: object({ logs: list(named("LogEntry")) }, { cursor: text }) },
  listEvents: {
    parameters: logPage,
    done: object({ events: list(named("LogEntry")) }, { cursor: text }),
  },
  getSigningKeys: { done: named("SigningKeys") },
  rotateSigningKeys: { done: named("SigningKeys") },
  getReadiness: { done: object({ ready: { type: "boolean" } }) },
  startRun: {
    parameters: [...messageHeaders, runIdHeader],
    body: message,
    done: named("StartedRun"),
    refusals: [412],
    example: { request: '{"orderId":7}' },
  },
  startRuns: {
    parameters: messageHeaders,
    body: jsonBody(
      list(either(batchElement, object({ workflowUrl: text }, { headers: orNull(headerMap), body: orNull(text) }))),
    ),
    done: list(named("StartedRun")),
    refusals: [412],
  },
  listRunEntries: { done: list(named("RunEntry")), refusals: [404] },
  endRun: {
    parameters: [query("cancel", words("true", "false"), "`false`: the run has finished, and the body is its result")],
    body: bytesBody("The result of the run"),
    done: empty,
    refusals: [404, 412],
    example: { request: '{"total":12}' },
  },
  cancelRuns: {
    parameters: [
      ...runFilters,
      exactUrl,
      count(RUN_CANCEL_MAX),
      query("all", words("true"), "Has no effect: without filters all runs match"),
    ],
    body: parametersBody,
    done: object({ cancelled: wholeNumber }),
    example: { request: byLabel, answer: { cancelled: 3 } },
  },
  waitForEvent: {
    parameters: [{ ...runIdHeader, isRequired: true }],
    body: jsonBody(
      object(
        { url: text, step: anyObject },
        {
          timeout: orNull(either(text, integer)),
          timeoutUrl: orNull(text),
          timeoutHeaders: orNull(headerMap),
          timeoutBody: {},
        },
      ),
    ),
    done: empty,
    refusals: [412],
  },
  notifyEvent: {
    body: bytesBody("The data of the event"),
    done: list(named("Notified")),
    refusals: [412],
    example: eventData,
  },
  notifyRun: { body: bytesBody("The data of the event"), done: named("Notified"), refusals: [412], example: eventData },
  listWaiters: { done: list(named("Waiter")) },
  callWebhook: { body: bytesBody("Anything"), done: named("Notified"), refusals: [404, 412], example: eventData },
  deleteFailedRuns: {
    parameters: deadLetterBulk,
    body: parametersBody,
    done: object({ deleted: wholeNumber }, { cursor: text }),
    example: { request: byLabel, answer: { deleted: 3 } },
  },
  listFailedRuns: {
    parameters: deadLetterPage,
    done: object({ cursor: text, messages: list(named("FailedRun")) }),
  },
  getFailedRun: { done: named("FailedRun"), refusals: [404] },
  deleteFailedRun: { done: empty, refusals: [404] },
  resumeRuns: startFailedRuns(),
  resumeRun: startFailedRun,
  restartRuns: startFailedRuns(),
  restartRun: startFailedRun,
  repeatFailureCallback: { done: named("StartedRun"), refusals: [404] },
  cancelFailureCallback: { done: empty, refusals: [404] },
  listRunLogs: {
    parameters: [
      query("groupBy", words("workflowRunId"), "Has no effect: runs are always grouped"),
      ...runLogFilters,
      count(RUN_LIST_MAX),
      cursor,
      trimBody,
    ],
    done: named("Runs"),
  },
  listRunEvents: runEvents(),
  listRunMessageLogs: runEvents(),
  completeChat: { rest: "rest", done: undefined, refusals: [501] },
};

type Row = (typeof messagingRoutes)[number];

export function describeMessaging(): AreaDescription {
  return {
    title: "larder: messaging",
    description: [
      "Every header with the prefix `Service-` may have the prefix `Upstash-` instead; if both are present, `Service-` counts. If the path ends in a destination, such a header may also be in the query under its whole name in lower case (`service-retries=2`); the header takes precedence.",
      HEADER_FAMILIES,
      "A destination is a URL or the name of a URL group, either verbatim, followed by its own query, or percent-encoded. Several values of a filter are separated by commas, or the filter is repeated.",
      "The token of a publish may be in the query as `service_token`, `upstash_token` or `qstash_token`, unless the server is configured to refuse it. HEAD is answered like GET.",
      TRANSPORT,
    ].join("\n\n"),
    tags,
    operations: messagingRoutes.flatMap(operationsOf),
    schemas: messagingSchemas,
    tokenParameter: "service_token",
  };
}

const anyMethod: readonly OperationMethod[] = ["get", "post", "put", "patch", "delete"];
const methods: Readonly<Record<Method, readonly OperationMethod[]>> = {
  GET: ["get"],
  POST: ["post"],
  PUT: ["put"],
  PATCH: ["patch"],
  DELETE: ["delete"],
  ANY: anyMethod,
};

function operationsOf(route: Row): readonly Operation[] {
  const {
    parameters = [],
    body,
    done,
    refusals = [],
    rest = "destination",
    example,
  }: Described = descriptions[route.id];
  const { id, rule, template, method: wanted, isOpen, isForReadOnlyToken, takesQueryToken } = route;
  const path = openApiPath(template, rest);
  const names = namesIn(path).map((name): Parameter => ({ name, in: "path", schema: text }));
  return methods[wanted].map((method) => ({
    id: wanted === "ANY" ? `${id}By${method.charAt(0).toUpperCase()}${method.slice(1)}` : id,
    rule,
    method,
    path,
    summary: capitalized(route.summary),
    parameters: [...names, ...parameters],
    ...(body !== undefined && { body }),
    answers: [...(done === undefined ? [] : answersOf(route, done)), ...refusalsOf(route, refusals)],
    token: isOpen ? "open" : isForReadOnlyToken ? "read-only" : "standard",
    ...(takesQueryToken && { isQueryTokenTaken: true }),
    ...(example !== undefined && { example }),
  }));
}

function answersOf({ status, repeatStatus }: MessagingRoute, done: Schema): readonly Answer[] {
  const repeat = "Everything was accepted before";
  return [
    answer(status ?? 200, "Done", done),
    ...(repeatStatus === undefined ? [] : [answer(repeatStatus, repeat, done)]),
  ];
}

function refusalsOf(route: MessagingRoute, more: readonly number[]): readonly Answer[] {
  const refusal = (status: number, meaning: string): Answer => answer(status, meaning, named("Error"));
  return [
    refusal(400, "A field is invalid"),
    ...(route.isOpen ? [] : [refusal(401, "The token is missing or invalid")]),
    ...(route.isOpen || route.isForReadOnlyToken ? [] : [refusal(403, "A read-only token may not change anything")]),
    ...(more.includes(404) ? [refusal(404, "It does not exist")] : []),
    ...(more.includes(412) ? [refusal(412, "A limit is exceeded")] : []),
    ...(route.isRateLimited || route.body !== undefined
      ? [refusal(429, "The limit of requests per second or messages per day is exceeded")]
      : []),
    refusal(500, "Internal error; the log of the server has the cause"),
    ...(more.includes(501) ? [refusal(501, "Not available")] : []),
    refusal(503, "The area is starting or stopping, or temporarily refuses writes"),
  ];
}

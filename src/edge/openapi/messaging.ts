/**
 * What the routes of messaging take and answer, for its OpenAPI document: one
 * entry for each row of `messagingRoutes`, by its method and template. A test
 * holds that none is missing.
 */
import type { MessagingRoute, Method } from "../messaging/route.ts";
import { messagingRoutes } from "../messaging/routes/table.ts";
import {
  count,
  cursor,
  filters,
  HEADER_FAMILIES,
  messageHeaders,
  order,
  overrideHeaders,
  runFilters,
  runIdHeader,
  scheduleHeaders,
  trimBody,
} from "./messaging-parameters.ts";
import { messagingSchemas } from "./messaging-schemas.ts";
import {
  type Answer,
  type AreaDescription,
  answer,
  bytesBody,
  jsonBody,
  namesIn,
  type Operation,
  type OperationMethod,
  openApiPath,
  type Parameter,
  type RequestBody,
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
import { TRANSPORT } from "./store.ts";

interface Described {
  readonly id: string;
  readonly parameters?: readonly Parameter[];
  readonly body?: RequestBody;
  /** Answers of success, by status. */
  readonly done: Readonly<Record<number, Schema>>;
  /** Statuses of refusals besides those that every route may have. */
  readonly refusals?: readonly (404 | 412 | 501)[];
}

const empty = { 200: named("Empty") };
const message = bytesBody("The body of the message, as it is");
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

const letterPage = [...filters("dead letters"), count(100), cursor, order, trimBody];
const letterBulk = [...filters("dead letters"), count(500), cursor];
const logPage = [...filters("logs"), count(1_000), cursor, order, trimBody];
/** The same in a JSON body, where both count. */
const parametersBody = jsonBody(anyObject, {
  isOptional: true,
  description: "The parameters of the query may stand here instead, a list for several values",
});
const orEmptyCursor = { cursor: text };
const pausing: readonly (readonly [string, Described])[] = (["PATCH", "POST"] as const).flatMap((method) =>
  (["pause", "resume"] as const).map((what): readonly [string, Described] => [
    `${method} /v2/schedules/:scheduleId/${what}`,
    { id: `${what}Schedule${method === "PATCH" ? "" : "ByPost"}`, done: empty, refusals: [404] },
  ]),
);
const runLists: readonly (readonly [string, Described])[] = ["logs", "events", "messageLogs"].map((name) => [
  `GET /v2/workflows/${name}`,
  {
    id: `listRun${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    parameters: [
      query("groupBy", words("workflowRunId"), "Runs with their steps, instead of what happened to their messages"),
      ...new Map([...filters("logs"), ...runFilters].map((parameter) => [parameter.name, parameter])).values(),
      count(1_000),
      cursor,
      order,
      trimBody,
    ],
    done: { 200: either(named("Runs"), named("RunEvents")) },
  },
]);
const again: readonly (readonly [string, Described])[] = ["resume", "restart"].flatMap((how) => [
  [
    `POST /v2/workflows/dlq/${how}`,
    {
      id: `${how}Runs`,
      parameters: [...filters("dead letters"), count(50), cursor, ...overrideHeaders],
      body: parametersBody,
      done: { 200: object({ workflowRuns: list(named("StartedRun")) }, { cursor: text }) },
      refusals: [404, 412],
    },
  ],
  [
    `POST /v2/workflows/dlq/${how}/:dlqId`,
    { id: `${how}Run`, parameters: overrideHeaders, done: { 200: named("StartedRun") }, refusals: [404, 412] },
  ],
]);
const flowKeyCalls: readonly (readonly [string, Described])[] = ["pause", "resume", "resetRate", "reset"].map(
  (what) => [`POST /v2/flowControl/:flowControlKey/${what}`, { id: `${what}FlowControlKey`, done: empty }],
);

/** By the method and the template of the route. */
export const messagingDescriptions: ReadonlyMap<string, Described> = new Map<string, Described>([
  [
    "POST /v2/publish/*",
    {
      id: "publish",
      parameters: messageHeaders,
      body: message,
      done: { 200: publishedOrList, 202: publishedOrList },
      refusals: [412],
    },
  ],
  [
    "POST /v2/enqueue/:queueName/*",
    {
      id: "enqueue",
      parameters: messageHeaders,
      body: message,
      done: { 200: publishedOrList, 202: publishedOrList },
      refusals: [412],
    },
  ],
  [
    "POST /v2/batch",
    {
      id: "publishBatch",
      parameters: messageHeaders,
      body: jsonBody(list(batchElement)),
      done: { 200: list(publishedOrList) },
      refusals: [412],
    },
  ],
  ["GET /v2/messages/:messageId", { id: "getMessage", done: { 200: named("Message") }, refusals: [404] }],
  [
    "DELETE /v2/messages/:messageId",
    { id: "cancelMessage", done: { 200: object({ cancelled: wholeNumber }) }, refusals: [404] },
  ],
  [
    "DELETE /v2/messages",
    {
      id: "cancelMessages",
      parameters: [...filters("messages"), count(500)],
      body: parametersBody,
      done: { 200: object({ cancelled: wholeNumber }) },
    },
  ],
  [
    "POST /v2/queues",
    {
      id: "putQueue",
      body: jsonBody(
        object({ queueName: text }, { parallelism: orNull({ type: "integer", minimum: 1 }), paused: orNull(flag) }),
      ),
      done: empty,
      refusals: [412],
    },
  ],
  ["GET /v2/queues", { id: "listQueues", done: { 200: list(named("Queue")) } }],
  ["GET /v2/queues/:queueName", { id: "getQueue", done: { 200: named("Queue") }, refusals: [404] }],
  ["DELETE /v2/queues/:queueName", { id: "deleteQueue", done: empty }],
  ["POST /v2/queues/:queueName/pause", { id: "pauseQueue", done: empty, refusals: [412] }],
  ["POST /v2/queues/:queueName/resume", { id: "resumeQueue", done: empty, refusals: [412] }],
  ...pausing,
  ["GET /v2/schedules", { id: "listSchedules", done: { 200: list(named("Schedule")) } }],
  ["GET /v2/schedules/:scheduleId", { id: "getSchedule", done: { 200: named("Schedule") }, refusals: [404] }],
  ["DELETE /v2/schedules/:scheduleId", { id: "deleteSchedule", done: empty, refusals: [404] }],
  [
    "POST /v2/schedules/*",
    {
      id: "putSchedule",
      parameters: scheduleHeaders,
      body: message,
      done: { 200: object({ scheduleId: text }) },
      refusals: [412],
    },
  ],
  ["GET /v2/topics", { id: "listUrlGroups", done: { 200: list(named("UrlGroup")) } }],
  ["GET /v2/topics/:urlGroupName", { id: "getUrlGroup", done: { 200: named("UrlGroup") }, refusals: [404] }],
  [
    "PATCH /v2/topics/:urlGroupName",
    { id: "setUrlGroupHeaders", body: jsonBody(object({ headers: headerMap })), done: empty, refusals: [404] },
  ],
  ["DELETE /v2/topics/:urlGroupName", { id: "deleteUrlGroup", done: empty }],
  [
    "POST /v2/topics/:urlGroupName/endpoints",
    {
      id: "addEndpoints",
      body: jsonBody(object({ endpoints: list(object({ url: text }, { name: orNull(text) }), { minItems: 1 }) })),
      done: empty,
      refusals: [412],
    },
  ],
  [
    "DELETE /v2/topics/:urlGroupName/endpoints",
    {
      id: "removeEndpoints",
      body: jsonBody(
        object({ endpoints: list(either(object({ url: text }), object({ name: text })), { minItems: 1 }) }),
      ),
      done: empty,
    },
  ],
  [
    "GET /v2/dlq",
    {
      id: "listDeadLetters",
      parameters: letterPage,
      done: { 200: object({ messages: list(named("DeadLetter")) }, { cursor: text }) },
    },
  ],
  ["GET /v2/dlq/:dlqId", { id: "getDeadLetter", done: { 200: named("DeadLetter") }, refusals: [404] }],
  ["DELETE /v2/dlq/:dlqId", { id: "deleteDeadLetter", done: empty, refusals: [404] }],
  [
    "DELETE /v2/dlq",
    {
      id: "deleteDeadLetters",
      parameters: letterBulk,
      body: parametersBody,
      done: { 200: object({ deleted: wholeNumber }, { cursor: text }) },
    },
  ],
  [
    "POST /v2/dlq/retry",
    {
      id: "retryDeadLetters",
      parameters: [...letterBulk, ...overrideHeaders],
      body: parametersBody,
      done: { 201: object({ responses: list(named("Retried")) }, { cursor: text }) },
      refusals: [404, 412],
    },
  ],
  [
    "POST /v2/dlq/retry/:dlqId",
    {
      id: "retryDeadLetter",
      parameters: overrideHeaders,
      done: { 201: object({ responses: list(named("Retried")) }, { cursor: text }) },
      refusals: [404, 412],
    },
  ],
  [
    "GET /v2/flowControl",
    {
      id: "listFlowControlKeys",
      parameters: [query("search", text, "What the name contains")],
      done: { 200: list(named("FlowControlKey")) },
    },
  ],
  [
    "GET /v2/flowControl/:flowControlKey",
    { id: "getFlowControlKey", done: { 200: named("FlowControlKey") }, refusals: [404] },
  ],
  ...flowKeyCalls,
  [
    "POST /v2/flowControl/:flowControlKey/pin",
    {
      id: "pinFlowControlKey",
      parameters: [
        query("parallelism", { type: "integer", minimum: 1 }),
        query("rate", { type: "integer", minimum: 1 }),
        query("period", { type: "integer", minimum: 1, maximum: 604_800 }, "Seconds, of the rate"),
      ],
      done: empty,
    },
  ],
  [
    "POST /v2/flowControl/:flowControlKey/unpin",
    {
      id: "unpinFlowControlKey",
      parameters: [query("parallelism", words("true", "false")), query("rate", words("true", "false"))],
      done: empty,
    },
  ],
  [
    "GET /v2/globalParallelism",
    {
      id: "getGlobalParallelism",
      done: { 200: object({ parallelismMax: wholeNumber, parallelismCount: wholeNumber }) },
    },
  ],
  [
    "GET /v2/keys/rotate",
    {
      id: "getWaitlist",
      parameters: [{ ...query("flowControlKey", text), isRequired: true }],
      done: { 200: object({ flowControlKey: text, waitlistSize: wholeNumber }) },
      refusals: [404],
    },
  ],
  [
    "GET /v2/logs",
    { id: "listLogs", parameters: logPage, done: { 200: object({ logs: list(named("LogEntry")) }, { cursor: text }) } },
  ],
  [
    "GET /v2/events",
    {
      id: "listEvents",
      parameters: logPage,
      done: { 200: object({ events: list(named("LogEntry")) }, { cursor: text }) },
    },
  ],
  ["GET /v2/keys", { id: "getSigningKeys", done: { 200: named("SigningKeys") } }],
  ["POST /v2/keys/rotate", { id: "rotateSigningKeys", done: { 200: named("SigningKeys") } }],
  [
    "POST /v2/trigger/*",
    {
      id: "startRun",
      parameters: [...messageHeaders, runIdHeader],
      body: message,
      done: { 200: named("StartedRun") },
      refusals: [412],
    },
  ],
  [
    "POST /v2/batch/trigger",
    {
      id: "startRuns",
      parameters: messageHeaders,
      body: jsonBody(
        list(either(batchElement, object({ workflowUrl: text }, { headers: orNull(headerMap), body: orNull(text) }))),
      ),
      done: { 201: list(named("StartedRun")) },
      refusals: [412],
    },
  ],
  [
    "GET /v2/workflows/runs/:workflowRunId",
    { id: "listRunEntries", done: { 200: list(named("RunEntry")) }, refusals: [404] },
  ],
  [
    "DELETE /v2/workflows/runs/:workflowRunId",
    {
      id: "endRun",
      parameters: [
        query("cancel", words("true", "false"), "`false`: the run has finished, and the body is its result"),
      ],
      body: bytesBody("The result of the run"),
      done: empty,
      refusals: [404],
    },
  ],
  [
    "DELETE /v2/workflows/runs",
    {
      id: "cancelRuns",
      parameters: [
        ...runFilters,
        count(500),
        query("all", words("true"), "Means nothing: without filters all are meant"),
      ],
      body: parametersBody,
      done: { 200: object({ cancelled: wholeNumber }) },
    },
  ],
  [
    "POST /v2/wait/:eventId",
    {
      id: "waitForEvent",
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
  ],
  [
    "POST /v2/notify/:eventId",
    {
      id: "notifyEvent",
      body: bytesBody("What the runs are told"),
      done: { 201: list(named("Notified")) },
      refusals: [412],
    },
  ],
  [
    "POST /v2/notify/:workflowRunId/:eventId",
    { id: "notifyRun", body: bytesBody("What the run is told"), done: { 201: named("Notified") }, refusals: [412] },
  ],
  ["GET /v2/waiters/:eventId", { id: "listWaiters", done: { 200: list(named("Waiter")) } }],
  [
    "ANY /v2/workflows/hooks/:userId/:workflowRunId/:eventId",
    { id: "callWebhook", body: bytesBody("Anything"), done: { 200: named("Notified") }, refusals: [404, 412] },
  ],
  [
    "DELETE /v2/workflows/dlq",
    {
      id: "deleteFailedRuns",
      parameters: letterBulk,
      body: parametersBody,
      done: { 200: object({ deleted: wholeNumber }, { cursor: text }) },
    },
  ],
  [
    "GET /v2/workflows/dlq",
    {
      id: "listFailedRuns",
      parameters: letterPage,
      done: { 200: object({ ...orEmptyCursor, messages: list(named("FailedRun")) }) },
    },
  ],
  ["GET /v2/workflows/dlq/:dlqId", { id: "getFailedRun", done: { 200: named("FailedRun") }, refusals: [404] }],
  ["DELETE /v2/workflows/dlq/:dlqId", { id: "deleteFailedRun", done: empty, refusals: [404] }],
  ...again,
  [
    "POST /v2/workflows/dlq/callback/:dlqId",
    { id: "repeatFailureCallback", done: { 200: named("StartedRun") }, refusals: [404] },
  ],
  [
    "DELETE /v2/workflows/dlq/callback/:dlqId",
    { id: "cancelFailureCallback", done: { 302: named("Empty") }, refusals: [404] },
  ],
  ...runLists,
  ["ANY /llm/v1/*", { id: "completeChat", done: {}, refusals: [501] }],
]);

/** How a route is called in the table. */
export function messagingRouteKey({ method, template }: Pick<MessagingRoute, "method" | "template">): string {
  return `${method} ${template}`;
}

export function describeMessaging(): AreaDescription {
  return {
    title: "larder: messaging",
    description: [
      "Every header that begins with `Service-` may begin with `Upstash-` instead; where both are there, `Service-` counts. Where a path ends in a destination, such a header may also stand in the query under its whole name in lower case (`service-retries=2`); a header wins.",
      HEADER_FAMILIES,
      "A destination is a URL or the name of a URL group: as it is, with its own query behind it, or percent-encoded. Filters with several values may have commas between them or be repeated.",
      "The token of a publish may stand in the query as `service_token`, `upstash_token` or `qstash_token`, unless the server is told to take none from there. HEAD is answered like GET.",
      TRANSPORT,
    ].join("\n\n"),
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

function operationsOf(route: MessagingRoute): readonly Operation[] {
  const facts = messagingDescriptions.get(messagingRouteKey(route));
  if (facts === undefined) return [];
  const { rule, template, method: wanted, isOpen, isForReadOnlyToken, takesQueryToken } = route;
  const path = openApiPath(template, template.startsWith("/llm") ? "rest" : "destination");
  const names = namesIn(path).map((name): Parameter => ({ name, in: "path", schema: text }));
  return methods[wanted].map((method) => ({
    id: wanted === "ANY" ? `${facts.id}By${method.charAt(0).toUpperCase()}${method.slice(1)}` : facts.id,
    rule,
    method,
    path,
    summary: `${route.summary.charAt(0).toUpperCase()}${route.summary.slice(1)}`,
    parameters: [...names, ...(facts.parameters ?? [])],
    ...(facts.body !== undefined && { body: facts.body }),
    answers: [
      ...Object.entries(facts.done).map(([status, schema]) =>
        answer(Number(status), meanings[status] ?? "Done", schema),
      ),
      ...refusalsOf(route, facts.refusals ?? []),
    ],
    token: isOpen ? "open" : isForReadOnlyToken ? "read-only" : "standard",
    ...(takesQueryToken && { isQueryTokenTaken: true }),
  }));
}

const meanings: Readonly<Record<string, string>> = { 202: "All of it was accepted before: nothing new", 302: "Done" };

function refusalsOf(route: MessagingRoute, more: readonly number[]): readonly Answer[] {
  const refusal = (status: number, meaning: string): Answer => answer(status, meaning, named("Error"));
  return [
    refusal(400, "A field does not say what it should"),
    ...(route.isOpen ? [] : [refusal(401, "The token is missing or opens nothing")]),
    ...(route.isOpen || route.isForReadOnlyToken ? [] : [refusal(403, "A read-only token may only read")]),
    ...(more.includes(404) ? [refusal(404, "There is no such thing")] : []),
    ...(more.includes(412) ? [refusal(412, "More than the limits allow")] : []),
    ...(route.isRateLimited || route.body !== undefined
      ? [refusal(429, "More than in a second or a day is allowed")]
      : []),
    refusal(500, "A fault of the server; its log has the cause"),
    ...(more.includes(501) ? [refusal(501, "Not available")] : []),
    refusal(503, "The area starts or stops, or writes are refused for a while"),
  ];
}

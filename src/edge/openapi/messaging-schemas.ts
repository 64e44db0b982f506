/** The schemas of the answers of messaging, by name (the tables of docs/interface/messaging.md). */
import { runStateNames } from "../../messaging/mod.ts";
import {
  anyObject,
  count,
  described,
  flag,
  integer,
  list,
  mapOf,
  named,
  object,
  type Schema,
  text,
  words,
} from "./schema.ts";

const unixMs = described(integer, "Unix milliseconds");
const unixSeconds = described(integer, "Unix seconds");
const headers = described(mapOf(list(text)), "Lists of values by name");
const base64 = described(text, "Base64");
const damaged = described(text, "Replaces a body that is damaged on disk");
const failedAttempts = list(object({ error: text, body: text, headers, status: count, time: unixMs }));
const callbackState = words("CALLBACK_INPROGRESS", "CALLBACK_SUCCESS", "CALLBACK_FAIL", "CALLBACK_CANCELED");

/** Optional fields of a message in every view. */
const flow = { flowControlKey: text, parallelism: count, rate: count, period: described(count, "Seconds") };
const labels = { label: described(text, "Old name for the first of `labels`"), labels: list(text) };

const messageParts = {
  topicName: text,
  endpointName: text,
  body: described(text, "If it is UTF-8"),
  bodyBase64: base64,
  bodyError: damaged,
  callback: text,
  callbackHeader: headers,
  failureCallback: text,
  failureCallbackHeader: headers,
  scheduleId: text,
  queueName: text,
  callerIP: text,
  callerIp: text,
  timeout: described(count, "Milliseconds"),
  retryDelayExpression: text,
  ...labels,
  ...flow,
};
const messageFacts = {
  messageId: text,
  url: text,
  method: text,
  header: headers,
  maxRetries: count,
  notBefore: unixMs,
  createdAt: unixMs,
};

const response = { responseStatus: count, responseHeader: headers };
const logState = words(
  "CREATED",
  "ACTIVE",
  "RETRY",
  "ERROR",
  "DELIVERED",
  "FAILED",
  "CANCEL_REQUESTED",
  "CANCELLED",
  "CANCELED",
);
const logFacts = {
  time: unixMs,
  messageId: text,
  state: logState,
  header: headers,
  body: base64,
  url: text,
  method: text,
  maxRetries: count,
};
const logParts = {
  nextDeliveryTime: unixMs,
  topicName: text,
  endpointName: text,
  scheduleId: text,
  queueName: text,
  error: text,
  responseStatus: count,
  responseBody: base64,
  responseHeaders: headers,
  responseHeader: headers,
  timeout: described(count, "Milliseconds"),
  callback: text,
  callbackHeaders: headers,
  failureCallback: text,
  failureCallbackHeaders: headers,
  retryDelayExpression: text,
  retryDelayExpr: text,
  callerIp: text,
  callerIP: text,
  ...labels,
  ...flow,
};

const startedRun = { workflowRunId: text, workflowCreatedAt: unixMs };

export const messagingSchemas: Readonly<Record<string, Schema>> = {
  Error: object({ error: described(text, "Names the invalid field") }),
  Empty: object({}),
  Published: object({ messageId: text, url: text }, { deduplicated: flag, ...startedRun }),
  Message: object(messageFacts, {
    ...messageParts,
    waitsFor: described(text, "The reason why it is not delivered yet"),
  }),
  DeadLetter: object(
    { dlqId: text, ...messageFacts, ...response },
    {
      ...messageParts,
      responseBody: text,
      responseBodyBase64: base64,
      responseBodyError: damaged,
      ...startedRun,
      workflowUrl: text,
      failureFunctionState: callbackState,
      failureCallbackInfo: object(
        { state: callbackState },
        { responseStatus: count, responseBody: text, responseHeaders: headers },
      ),
    },
  ),
  Retried: object({ messageId: text, deduplicated: flag }),
  LogEntry: object(logFacts, logParts),
  RunEvent: object(logFacts, { ...logParts, ...startedRun, workflowUrl: text, callType: text }),
  Queue: object({ createdAt: unixMs, updatedAt: unixMs, name: text, parallelism: count, lag: count, paused: flag }),
  Schedule: object(
    {
      scheduleId: text,
      cron: text,
      createdAt: unixMs,
      destination: text,
      method: text,
      header: headers,
      retries: count,
      isPaused: flag,
      callerIP: text,
      callerIp: text,
    },
    {
      body: text,
      bodyBase64: base64,
      retryDelayExpression: text,
      delay: described(count, "Seconds"),
      timeout: described(count, "Milliseconds"),
      callback: text,
      callbackHeader: headers,
      callbackSettings: described(headers, "Settings of the callback besides its headers, such as Retries"),
      failureCallback: text,
      failureCallbackHeader: headers,
      failureCallbackSettings: described(headers, "Settings of the failure callback"),
      redactFields: described(text, "The fields shown as REDACTED, as requested"),
      queueName: text,
      lastScheduleTime: unixMs,
      nextScheduleTime: unixMs,
      lastScheduleStates: described(mapOf(words("IN_PROGRESS", "SUCCESS", "FAIL")), "By message id"),
      error: text,
      ...labels,
      ...flow,
    },
  ),
  UrlGroup: object(
    { name: text, endpoints: list(object({ url: text }, { name: text })), createdAt: unixMs, updatedAt: unixMs },
    { headers: mapOf({ anyOf: [text, list(text)] }) },
  ),
  FlowControlKey: object({
    flowControlKey: text,
    waitListSize: count,
    waitlistSize: count,
    parallelismMax: count,
    parallelismCount: count,
    rateMax: count,
    rateCount: count,
    ratePeriod: described(count, "Seconds"),
    ratePeriodStart: unixSeconds,
    isPaused: flag,
    isPinnedParallelism: flag,
    isPinnedRate: flag,
  }),
  SigningKeys: object({ current: text, next: text }),
  StartedRun: object(startedRun, { deduplicated: flag }),
  RunEntry: object({ messageId: text, body: base64, callType: text }),
  Waiter: object(
    {
      workflowRunId: text,
      eventId: text,
      url: text,
      headers: headers,
      deadline: unixSeconds,
      timeoutUrl: text,
      timeoutHeaders: headers,
    },
    { timeoutBody: base64 },
  ),
  Notified: object(startedRun, {
    waiter: named("Waiter"),
    messageId: text,
    url: text,
    deduplicated: flag,
    error: described(text, "Why the run could not be notified"),
  }),
  FailedRun: object(
    {
      dlqId: text,
      url: text,
      method: text,
      header: headers,
      body: described(text, "Empty if it is not UTF-8"),
      bodyBase64: described(text, "Empty if it is UTF-8"),
      maxRetries: count,
      createdAt: unixMs,
      callerIP: text,
      ...response,
      responseBody: text,
      responseBodyBase64: text,
    },
    {
      workflowUrl: text,
      ...startedRun,
      bodyError: damaged,
      responseBodyError: damaged,
      failureCallback: text,
      failureFunctionState: callbackState,
      flowControlKey: text,
      ...labels,
    },
  ),
  Run: object(
    {
      workflowRunId: text,
      workflowUrl: text,
      workflowState: words(...runStateNames),
      workflowRunCreatedAt: unixMs,
      steps: list(object({ type: words("sequential", "parallel", "next"), steps: list(anyObject) })),
    },
    {
      workflowRunCompletedAt: unixMs,
      workflowRunResponse: text,
      workflowRunResponseError: damaged,
      invoker: object({ workflowRunId: text, workflowUrl: text, workflowRunCreatedAt: unixMs }),
      failureFunction: object(
        { messageId: text, url: text, state: callbackState, maxRetries: count },
        {
          failHeaders: headers,
          failStatus: count,
          failResponse: text,
          dlqId: text,
          errors: failedAttempts,
          responseBody: text,
          responseHeaders: headers,
          responseStatus: count,
          nextDeliveryTime: unixMs,
        },
      ),
      errors: described(failedAttempts, "Of an ended run: failed attempts after its last step"),
      dlqId: text,
      flowControlKey: text,
      ...labels,
    },
  ),
  Runs: object({ cursor: described(text, "Empty on the last page"), runs: list(named("Run")) }),
  RunEvents: object({ events: list(named("RunEvent")) }, { cursor: text }),
};

/**
 * Log entries (C6.entry). Two generations of clients read them: renamed fields have
 * both names, and the spelling of CANCELLED depends on the list.
 */
import {
  type EnvelopeFields,
  headerLists,
  type LogEntry,
  messageState,
  messageStateName,
  redactedText,
} from "../../../messaging/mod.ts";
import { callbackHeaderView, flowControlView, headerView, labelsView } from "./messages.ts";

/** The list's spelling of the state CANCELLED. */
export type CancelledSpelling = "CANCELLED" | "CANCELED";

export function logEntryView(
  { message, timeMs, state: entryState, nextDeliveryMs, response }: LogEntry,
  cancelled: CancelledSpelling,
): object {
  const { envelope: fields } = message;
  return {
    time: timeMs,
    messageId: message.id,
    state: entryState === messageState.cancelled ? cancelled : messageStateName(entryState),
    header: headerView(fields),
    body: logBody(fields, message.body),
    nextDeliveryTime: nextDeliveryMs,
    url: fields.url,
    topicName: fields.topicName,
    endpointName: fields.endpointName,
    scheduleId: fields.scheduleId,
    queueName: fields.queueName,
    ...(entryState === messageState.error && response !== undefined ? responseView(response) : {}),
    timeout: fields.timeoutMs,
    method: fields.method,
    callback: fields.callback?.url,
    callbackHeaders: callbackHeaderView(fields.callback, fields),
    failureCallback: fields.failureCallback?.url,
    failureCallbackHeaders: callbackHeaderView(fields.failureCallback, fields),
    maxRetries: fields.retriesMax,
    retryDelayExpression: fields.retryDelay,
    retryDelayExpr: fields.retryDelay,
    ...labelsView(fields),
    ...flowControlView(fields),
    callerIp: fields.callerIp,
    callerIP: fields.callerIp,
  };
}

function logBody({ redact }: Pick<EnvelopeFields, "redact">, body: Buffer): string {
  return redact?.body === true ? redactedText(body) : body.toString("base64");
}

function responseView({ status, headers, error, body }: NonNullable<LogEntry["response"]>): object {
  const lists = headerLists(headers);
  return {
    error: error === "" ? `The destination answered ${status}` : error,
    responseStatus: status,
    responseBody: body.toString("base64"),
    responseHeaders: lists,
    responseHeader: lists,
  };
}

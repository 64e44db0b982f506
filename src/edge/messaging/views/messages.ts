/**
 * Messages as clients see them (C.message). This file has the common fields of
 * messages, dead letters and log entries, and hides the fields that the publisher
 * wants redacted in all of them (threats C-21).
 *
 * A field without a value is absent.
 */

import { isUtf8 } from "node:buffer";
import {
  BODY_DAMAGED,
  type CallbackPlan,
  callbackOptions,
  callbackSettings,
  type EnvelopeFields,
  type HeaderLists,
  headerLists,
  PERIOD_MS_DEFAULT,
  redactedHeaders,
  redactedText,
} from "../../../messaging/mod.ts";

/** The headers of a message, redacted if required. */
export function headerView({ headers, redact }: Pick<EnvelopeFields, "headers" | "redact">): HeaderLists {
  return headerLists(redact === undefined ? headers : redactedHeaders(redact, headers));
}

/** The headers of a callback request. */
export function callbackHeaderView(
  plan: CallbackPlan | undefined,
  { retriesMax, redact }: Pick<EnvelopeFields, "retriesMax" | "redact">,
): HeaderLists | undefined {
  return plan === undefined ? undefined : headerView({ headers: callbackOptions(plan, retriesMax).headers, redact });
}

/** The options of a callback except its headers: names as in a publish, without the prefix and `Callback-`. */
export function callbackSettingsView(
  plan: CallbackPlan | undefined,
  { redact }: Pick<EnvelopeFields, "redact">,
): HeaderLists | undefined {
  const settings = plan === undefined ? [] : callbackSettings(plan);
  if (settings.length === 0) return undefined;
  const shown = settings.map((text, index) => {
    const name = index % 2 === 0 ? undefined : SENT_TO_NESTED.exec(settings[index - 1] ?? "")?.[1];
    return name === undefined || redact === undefined ? text : (redactedHeaders(redact, [name, text])[1] ?? "");
  });
  return headerLists(shown);
}

/** A header of the failure callback of a callback. */
const SENT_TO_NESTED = /^failure-callback-(?:forward-)?(.+)$/;

/** In the form of `Redact-Fields`. */
export function redactFieldsView({ redact }: Pick<EnvelopeFields, "redact">): string | undefined {
  if (redact === undefined) return undefined;
  const { body, headers } = redact;
  const names = headers === true ? ["headers"] : (headers ?? []).map((name) => `header[${name}]`);
  return [...(body === true ? ["body"] : []), ...names].join(",");
}

/** `body` as text, or `bodyBase64` if it is not UTF-8. */
export function bodyView(bytes: Buffer): { readonly body?: string; readonly bodyBase64?: string } {
  return isUtf8(bytes) ? { body: bytes.utf8Slice() } : { bodyBase64: bytes.toString("base64") };
}

/** The body of a message, redacted if required. Undefined is a damaged body, which becomes `bodyError`. */
export function messageBodyView(
  { redact }: Pick<EnvelopeFields, "redact">,
  bytes: Buffer | undefined,
): { readonly body?: string; readonly bodyBase64?: string; readonly bodyError?: string } {
  if (bytes === undefined) return { bodyError: BODY_DAMAGED };
  return redact?.body === true ? { body: redactedText(bytes) } : bodyView(bytes);
}

/** Flow control of messages, schedules and log entries; the period is in seconds. */
export function flowControlView({ flowControl }: Pick<EnvelopeFields, "flowControl">): object {
  if (flowControl === undefined) return {};
  const { key, parallelism, rate, periodMs = PERIOD_MS_DEFAULT } = flowControl;
  return { flowControlKey: key, parallelism, rate, period: secondsOf(periodMs) };
}

/** `label` is the old name of the first one. */
export function labelsView({ labels }: Pick<EnvelopeFields, "labels">): object {
  return labels === undefined || labels.length === 0 ? {} : { label: labels[0], labels };
}

export function secondsOf(ms: number): number {
  return Math.floor(ms / 1_000);
}

export interface MessageMoments {
  readonly id: string;
  readonly createdAtMs: number;
  readonly notBeforeMs: number;
}

/** The common fields of messages and dead letters. */
export function messageView(
  fields: EnvelopeFields,
  { id, createdAtMs, notBeforeMs }: MessageMoments,
  body: Buffer | undefined,
): object {
  return {
    messageId: id,
    url: fields.url,
    topicName: fields.topicName,
    endpointName: fields.endpointName,
    method: fields.method,
    header: headerView(fields),
    ...messageBodyView(fields, body),
    maxRetries: fields.retriesMax,
    notBefore: notBeforeMs,
    createdAt: createdAtMs,
    callback: fields.callback?.url,
    callbackHeader: callbackHeaderView(fields.callback, fields),
    failureCallback: fields.failureCallback?.url,
    failureCallbackHeader: callbackHeaderView(fields.failureCallback, fields),
    scheduleId: fields.scheduleId,
    queueName: fields.queueName,
    callerIP: fields.callerIp,
    callerIp: fields.callerIp,
    ...labelsView(fields),
    ...flowControlView(fields),
    timeout: fields.timeoutMs,
    retryDelayExpression: fields.retryDelay,
  };
}

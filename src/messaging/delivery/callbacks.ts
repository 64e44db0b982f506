/**
 * Callbacks: messages that report the outcome of another message. The callback
 * of a plain message is sent after every attempt, its failure callback once,
 * when the message failed permanently (C.callbacks).
 */

import type { CallbackPlan, EnvelopeFields } from "../options/envelope.ts";
import { headerLists } from "../options/header-lists.ts";
import { callbackOptions } from "../options/headers.ts";
import { envelopeFields, type PublishOptions } from "../options/publish-request.ts";
import { redactedHeaders, redactedText } from "../options/redaction.ts";
import { type DeadLetter, deadLetterIdText, type ResponseFacts } from "../state/dead-letters.ts";
import type { Message } from "../state/message.ts";

/** The attempt that a callback reports. */
export interface AttemptReport {
  readonly message: Pick<Message, "id" | "envelope" | "notBeforeMs" | "createdAtMs">;
  readonly bytes: Buffer;
  readonly response: ResponseFacts;
  readonly responseBytes: Buffer;
  /** Attempts before this one. */
  readonly retried: number;
  /** Set if the message failed permanently. */
  readonly deadLetter?: DeadLetter | undefined;
}

export interface Callback {
  readonly fields: EnvelopeFields;
  readonly options: PublishOptions;
  readonly bytes: Buffer;
}

/** The message that reports an attempt. */
export function callbackOf(plan: CallbackPlan, report: AttemptReport, holdsQueue: string | undefined): Callback {
  const { message } = report;
  const { retriesMax, retryDelay, callerIp, hops, trace, redact } = message.envelope.fields;
  const own = callbackOptions(plan, retriesMax, retryDelay);
  const options = {
    ...own,
    ...(hops !== undefined && { hops }),
    ...(trace !== undefined && { trace }),
    // Headers and body come from the message, so records of the callback hide what records of the message hide.
    ...(redact !== undefined && { redact }),
  };
  const origin = { callerIp, callbackOf: message.id, holdsQueue };
  return {
    fields: envelopeFields(plan.url, options, origin),
    options,
    bytes: Buffer.from(JSON.stringify(reportOf(report))),
  };
}

/** The body of a callback. `isRedacted: false` is for the endpoint of a run, which may see hidden parts. */
export function reportOf(
  { message, bytes, response, responseBytes, retried, deadLetter }: AttemptReport,
  { isRedacted = true } = {},
): object {
  const fields = isRedacted ? message.envelope.fields : { ...message.envelope.fields, redact: undefined };
  // Without an answer, the body is the error.
  const body = response.status === 0 ? Buffer.from(response.error) : responseBytes;
  return {
    status: response.status,
    header: headerLists(response.headers),
    body: body.toString("base64"),
    retried,
    maxRetries: fields.retriesMax,
    sourceMessageId: message.id,
    topicName: fields.topicName,
    endpointName: fields.endpointName,
    url: fields.url,
    method: fields.method,
    sourceHeader: headerLists(redactedHeaders(fields.redact ?? {}, fields.headers)),
    sourceBody: fields.redact?.body === true ? redactedText(bytes) : bytes.toString("base64"),
    notBefore: message.notBeforeMs,
    createdAt: message.createdAtMs,
    scheduleId: fields.scheduleId,
    callerIP: fields.callerIp,
    dlqId: deadLetter === undefined ? undefined : deadLetterIdText(deadLetter.id),
  };
}

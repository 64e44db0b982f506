/** A failed workflow message: exactly the fields of C5.record. */

import { isUtf8 } from "node:buffer";
import {
  BODY_DAMAGED,
  type DeadLetter,
  deadLetterIdText,
  headerLists,
  type MessagingApi,
  redactedText,
} from "../../../messaging/mod.ts";
import { headerView, labelsView } from "./messages.ts";

export async function workflowLetterView(api: MessagingApi, letter: DeadLetter): Promise<object> {
  const [bytes, responseBytes] = await Promise.all([api.loadBody(letter.body), api.loadBody(letter.responseBody)]);
  const { envelope, response, createdAtMs } = letter;
  const { fields } = envelope;
  const run = fields.workflow === undefined ? undefined : api.workflows.find(fields.workflow.runId);
  const shown = fields.redact?.body === true && bytes !== undefined ? Buffer.from(redactedText(bytes)) : bytes;
  const answer = response.status === 0 ? Buffer.from(response.error) : responseBytes;
  return {
    dlqId: deadLetterIdText(letter.id),
    workflowUrl: run?.record.url,
    workflowRunId: fields.workflow?.runId,
    workflowCreatedAt: run?.record.createdAtMs,
    url: fields.url,
    method: fields.method,
    header: headerView(fields),
    ...textOrBase64(shown, { text: "body", base64: "bodyBase64", error: "bodyError" }),
    maxRetries: fields.retriesMax,
    createdAt: createdAtMs,
    failureCallback: fields.failureCallback?.url,
    callerIP: fields.callerIp,
    ...labelsView(fields),
    flowControlKey: fields.flowControl?.key,
    failureFunctionState: run?.failureFunction?.state,
    responseStatus: response.status,
    responseHeader: headerLists(response.headers),
    ...textOrBase64(answer, { text: "responseBody", base64: "responseBodyBase64", error: "responseBodyError" }),
  };
}

/** One of the two is empty; both are for damaged bytes. */
function textOrBase64(
  bytes: Buffer | undefined,
  { text, base64, error }: { text: string; base64: string; error: string },
): object {
  if (bytes === undefined) return { [text]: "", [base64]: "", [error]: BODY_DAMAGED };
  return isUtf8(bytes)
    ? { [text]: bytes.utf8Slice(), [base64]: "" }
    : { [text]: "", [base64]: bytes.toString("base64") };
}

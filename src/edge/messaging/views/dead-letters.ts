/** Dead letters: the message and the last answer (C.dlq.record). */

import {
  BODY_DAMAGED,
  type DeadLetter,
  deadLetterIdText,
  type Filter,
  headerLists,
  type MessagingApi,
  messageId,
  type Page,
  type Run,
} from "../../../messaging/mod.ts";
import { LIST_BYTES_MAX } from "../filters/page-size.ts";
import { bodyView, messageView } from "./messages.ts";

/** A page of dead letters whose bodies fit in one answer; at least one. */
export function readLetters(api: MessagingApi, filter: Filter, page: Page): ReturnType<MessagingApi["deadLetters"]> {
  const found = api.deadLetters(filter, page);
  const count = fittingCount(found.deadLetters);
  return count < found.deadLetters.length ? api.deadLetters(filter, { ...page, count }) : found;
}

function fittingCount(letters: readonly DeadLetter[]): number {
  let bytes = 0;
  let count = 0;
  for (const { body, responseBody } of letters) {
    bytes += body.length + responseBody.length;
    if (bytes > LIST_BYTES_MAX && count > 0) break;
    count += 1;
  }
  return count;
}

export async function deadLetterView(api: MessagingApi, letter: DeadLetter): Promise<object> {
  const run = runOf(api, letter);
  const [body, responseBody, answer] = await Promise.all([
    api.loadBody(letter.body),
    api.loadBody(letter.responseBody),
    run?.failureAnswer === undefined ? undefined : api.loadBody(run.failureAnswer),
  ]);
  const { response, sequence, nonce, createdAtMs, notBeforeMs } = letter;
  const moments = { id: messageId(sequence, nonce), createdAtMs, notBeforeMs };
  return {
    dlqId: deadLetterIdText(letter.id),
    ...messageView(letter.envelope.fields, moments, body),
    responseStatus: response.status,
    responseHeader: headerLists(response.headers),
    ...responseBodyView(response.status === 0 ? Buffer.from(response.error) : responseBody),
    ...runView(run, answer),
  };
}

function runOf(api: MessagingApi, { envelope }: DeadLetter): Run | undefined {
  const { workflow } = envelope.fields;
  return workflow === undefined ? undefined : api.workflows.find(workflow.runId);
}

/** The run that failed with this dead letter, and the result of its failure callback. */
function runView(run: Run | undefined, answer: Buffer | undefined): object {
  if (run === undefined) return {};
  const { record, failureFunction } = run;
  return {
    workflowRunId: run.id,
    workflowUrl: record.url,
    workflowCreatedAt: record.createdAtMs,
    failureFunctionState: failureFunction?.state,
    failureCallbackInfo: failureFunction && {
      state: failureFunction.state,
      responseStatus: failureFunction.status,
      responseBody: answer?.toString("utf8") ?? failureFunction.body,
      responseHeaders: failureFunction.headers && headerLists(failureFunction.headers),
    },
  };
}

/** Without an answer, the body is the error. */
function responseBodyView(bytes: Buffer | undefined): object {
  if (bytes === undefined) return { responseBodyError: BODY_DAMAGED };
  const { body, bodyBase64 } = bodyView(bytes);
  return bodyBase64 === undefined ? { responseBody: body } : { responseBodyBase64: bodyBase64 };
}

/** Dead letters: the message as it was, and the last answer (service.md C8; spec: messaging 1.5). */

import { type DeadLetter, deadLetterIdText } from "../../messaging/dead-letters.ts";
import type { UserDoor } from "../../messaging/door.ts";
import { headerLists } from "../../messaging/header-lists.ts";
import { messageId } from "../../messaging/message-id.ts";
import { bodyView, messageView } from "./message-view.ts";

export async function deadLetterView(door: UserDoor, letter: DeadLetter): Promise<object> {
  const [body, responseBody] = await Promise.all([door.loadBody(letter.body), door.loadBody(letter.responseBody)]);
  const { response, sequence, nonce, createdAtMs, notBeforeMs } = letter;
  const moments = { id: messageId(sequence, nonce), createdAtMs, notBeforeMs };
  return {
    dlqId: deadLetterIdText(letter.id),
    ...messageView(letter.envelope.fields, moments, body),
    responseStatus: response.status,
    responseHeader: headerLists(response.headers),
    ...responseBodyView(response.status === 0 ? Buffer.from(response.error) : responseBody),
    ...runView(door, letter),
  };
}

/** The run that failed with this letter, and what came of the call that told of it. */
function runView(door: UserDoor, { envelope }: DeadLetter): object {
  const { workflow } = envelope.fields;
  const run = workflow === undefined ? undefined : door.workflows.find(workflow.runId);
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
      responseBody: failureFunction.body,
      responseHeaders: failureFunction.headers && headerLists(failureFunction.headers),
    },
  };
}

/** Where no answer came, the body is what went wrong. */
function responseBodyView(bytes: Buffer): object {
  const { body, bodyBase64 } = bodyView(bytes);
  return bodyBase64 === undefined ? { responseBody: body } : { responseBodyBase64: bodyBase64 };
}

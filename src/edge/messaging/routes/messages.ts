/** Look-up, early retry and cancellation of messages (C.messages). */
import { notFound } from "../../../messaging/mod.ts";
import { readCount, readFilter } from "../filters/messages.ts";
import { Parameters } from "../parameters.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows, ok } from "../route.ts";
import { messageView } from "../views/messages.ts";

/** The largest number that `count` may have, which has no effect. */
export const MESSAGE_CANCEL_MAX = 500;

export const messageRoutes = messagingRows([
  {
    id: "getMessage",
    rule: "C",
    method: "GET",
    template: "/v2/messages/:messageId",
    summary: "returns a message and the reason that it waits; a finished message is found for a minute",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: getMessage,
  },
  {
    id: "cancelMessage",
    rule: "C",
    method: "DELETE",
    template: "/v2/messages/:messageId",
    summary: "cancels a message",
    isRateLimited: true,
    run: cancelMessage,
  },
  {
    id: "retryMessage",
    rule: "C",
    method: "POST",
    template: "/v2/messages/:messageId/retry",
    summary: "makes the next attempt of a waiting message due at once",
    isRateLimited: true,
    run: retryMessage,
  },
  {
    id: "cancelMessages",
    rule: "C",
    method: "DELETE",
    template: "/v2/messages",
    summary: "cancels the messages that match the filters; all of them without filters",
    isRateLimited: true,
    run: cancelMessages,
  },
]);

async function getMessage({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  const message = api.findMessage(id);
  if (message !== undefined) {
    const waitsFor = api.waitsFor(message);
    const body = await api.loadBody(message.body);
    return { value: { ...messageView(message.envelope.fields, message, body), waitsFor } };
  }
  const finished = await api.findFinished(id);
  if (finished === undefined) throw messageMissing(id);
  return { value: messageView(finished.envelope, finished, finished.body) };
}

async function cancelMessage({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  if (!(await api.cancel(id))) throw messageMissing(id);
  return { value: { cancelled: 1 } };
}

async function retryMessage({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  if (!(await api.retryNow(id))) throw messageMissing(id);
  return ok;
}

async function cancelMessages({ api, request, query }: MessagingCall): Promise<MessagingAnswer> {
  const parameters = new Parameters(query, request.body);
  const filter = readFilter(parameters, { target: "messages", isChange: true, others: ["count"] });
  // All are cancelled, as by the hosted service: clients send a count of 100 also for all messages, and call once.
  readCount(parameters, MESSAGE_CANCEL_MAX);
  return { value: { cancelled: await api.cancelMatching(filter) } };
}

function messageMissing(id: string): unknown {
  return notFound(`message ${id} not found`);
}

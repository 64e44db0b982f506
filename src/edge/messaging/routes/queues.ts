/** Queues (C.queues). */
import { badRequest, notFound } from "../../../messaging/mod.ts";
import { checkIdentifier } from "../identifier-field.ts";
import { fieldOf, type JsonObject, optionalText, readJsonObject, wrongType } from "../json-body.ts";
import { readNamePage } from "../name-page.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows, ok } from "../route.ts";
import { queueView } from "../views/management.ts";

export const queueRoutes = messagingRows([
  {
    id: "putQueue",
    rule: "C",
    method: "POST",
    template: "/v2/queues",
    summary: "creates or changes a queue: `{queueName, parallelism, paused}`; missing fields keep their values",
    isRateLimited: true,
    run: putQueue,
  },
  {
    id: "listQueues",
    rule: "C",
    method: "GET",
    template: "/v2/queues",
    summary: "lists the queues",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: list,
  },
  {
    id: "getQueue",
    rule: "C",
    method: "GET",
    template: "/v2/queues/:queueName",
    summary: "returns a queue; `lag` is the number of its waiting messages",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: getQueue,
  },
  {
    id: "deleteQueue",
    rule: "C",
    method: "DELETE",
    template: "/v2/queues/:queueName",
    summary:
      "deletes a queue and cancels its messages, except steps of workflow runs, which continue without the queue",
    isRateLimited: true,
    run: deleteQueue,
  },
  {
    id: "pauseQueue",
    rule: "C",
    method: "POST",
    template: "/v2/queues/:queueName/pause",
    summary: "pauses a queue: its messages wait",
    isRateLimited: true,
    run: (call) => setPaused(call, true),
  },
  {
    id: "resumeQueue",
    rule: "C",
    method: "POST",
    template: "/v2/queues/:queueName/resume",
    summary: "resumes a queue",
    isRateLimited: true,
    run: (call) => setPaused(call, false),
  },
]);

function list({ api, query }: MessagingCall): MessagingAnswer {
  const page = readNamePage(query);
  return { value: (page === undefined ? api.queues : api.queuePage(page)).map(queueView) };
}

async function putQueue({ api, request }: MessagingCall): Promise<MessagingAnswer> {
  const fields = readJsonObject(request.body, "a JSON object with queueName, parallelism and paused");
  const name = optionalText(fields, "queueName");
  if (name === undefined || name === "") throw badRequest("queueName is missing");
  checkIdentifier("queueName", name);
  const parallelism = readParallelism(fields);
  const isPaused = fieldOf(fields, "paused");
  if (isPaused !== undefined && typeof isPaused !== "boolean") throw wrongType("paused", "true or false");
  await api.putQueue(name, {
    ...(parallelism === undefined ? {} : { parallelism }),
    ...(isPaused === undefined ? {} : { isPaused }),
  });
  return ok;
}

function readParallelism(fields: JsonObject): number | undefined {
  const value = fieldOf(fields, "parallelism");
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1) {
    throw wrongType("parallelism", "a whole number, 1 or more");
  }
  return value;
}

function getQueue({ api, names }: MessagingCall): MessagingAnswer {
  const [name = ""] = names;
  const queue = api.queue(name);
  if (queue === undefined) throw notFound(`queue ${name} not found`);
  return { value: queueView(queue) };
}

async function deleteQueue({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [name = ""] = names;
  await api.deleteQueue(name);
  return ok;
}

/** Creates a missing queue. */
async function setPaused({ api, names }: MessagingCall, isPaused: boolean): Promise<MessagingAnswer> {
  const [name = ""] = names;
  checkIdentifier("queueName", name);
  await api.putQueue(name, { isPaused });
  return ok;
}

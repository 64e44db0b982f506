/** The dead-letter queue (C8, C11, C.dlq). */
import { badRequest, type Filter, notFound, readOverrides } from "../../../messaging/mod.ts";
import { type BulkPage, readBulkPage, readFilter, readPage } from "../filters/messages.ts";
import { Parameters } from "../parameters.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows, ok } from "../route.ts";
import { deadLetterView, readLetters } from "../views/dead-letters.ts";
import { readTrimming } from "../views/trim-body.ts";
import { headersOf } from "./publish.ts";

export const DEAD_LETTER_LIST_MAX = 100;
export const DEAD_LETTER_BULK_MAX = 500;

export const deadLetterRoutes = messagingRows([
  {
    id: "listDeadLetters",
    rule: "C",
    method: "GET",
    template: "/v2/dlq",
    summary: "lists the dead letters that match the filters, page by page",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: list,
  },
  {
    id: "getDeadLetter",
    rule: "C",
    method: "GET",
    template: "/v2/dlq/:dlqId",
    summary: "returns a dead letter",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: get,
  },
  {
    id: "deleteDeadLetter",
    rule: "C11",
    method: "DELETE",
    template: "/v2/dlq/:dlqId",
    summary: "deletes a dead letter",
    isRateLimited: true,
    run: deleteOne,
  },
  {
    id: "deleteDeadLetters",
    rule: "C",
    method: "DELETE",
    template: "/v2/dlq",
    summary: "deletes the dead letters that match the filters; all of them without filters",
    isRateLimited: true,
    run: deleteMany,
  },
  {
    id: "retryDeadLetters",
    rule: "C8",
    method: "POST",
    template: "/v2/dlq/retry",
    summary: "publishes dead letters as new messages; headers change their settings",
    status: 201,
    isRateLimited: true,
    run: retryMany,
  },
  {
    id: "retryDeadLetter",
    rule: "C8",
    method: "POST",
    template: "/v2/dlq/retry/:dlqId",
    summary: "publishes one dead letter as a new message; headers change its settings",
    status: 201,
    isRateLimited: true,
    run: (call) => retry(call, { ids: [...call.names], attributes: new Map() }, {}),
  },
]);

async function list({ api, query }: MessagingCall): Promise<MessagingAnswer> {
  const parameters = new Parameters(query);
  for (const name of ["host", "path"]) {
    if (parameters.all(name).length > 0) throw badRequest(`Unknown filter: dead letters cannot be listed by ${name}`);
  }
  const filter = readFilter(parameters, { target: "dead letters", isChange: false, others: [] });
  const page = readPage(parameters, {
    countDefault: DEAD_LETTER_LIST_MAX,
    countMax: DEAD_LETTER_LIST_MAX,
    orderDefault: "earliest first",
  });
  const trim = readTrimming(parameters);
  const { deadLetters, cursor } = readLetters(api, filter, page);
  const messages = await Promise.all(deadLetters.map(async (letter) => trim(await deadLetterView(api, letter))));
  return { value: { cursor, messages } };
}

async function get({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  const letter = api.deadLetter(id);
  if (letter === undefined) throw deadLetterMissing(id);
  return { value: await deadLetterView(api, letter) };
}

/** C11 */
async function deleteOne({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  const { deleted } = await api.deleteDeadLetters({ ids: [id], attributes: new Map() }, {});
  if (deleted === 0) throw deadLetterMissing(id);
  return ok;
}

async function deleteMany(call: MessagingCall): Promise<MessagingAnswer> {
  const { filter, page } = readBulk(call, call.query);
  const { deleted, cursor } = await call.api.deleteDeadLetters(filter, page);
  return { value: { deleted, cursor } };
}

/** C8 */
function retryMany(call: MessagingCall): Promise<MessagingAnswer> {
  const { filter, page } = readBulk(call, call.ownQuery.rest);
  return retry(call, filter, page);
}

function readBulk({ request }: MessagingCall, query: string): { readonly filter: Filter; readonly page: BulkPage } {
  const parameters = new Parameters(query, request.body);
  const filter = readFilter(parameters, { target: "dead letters", isChange: true, others: ["count", "cursor"] });
  return { filter, page: readBulkPage(parameters, DEAD_LETTER_BULK_MAX) };
}

async function retry(call: MessagingCall, filter: Filter, page: BulkPage): Promise<MessagingAnswer> {
  const overrides = readOverrides(headersOf(call), call);
  const { published, cursor } = await call.api.retryDeadLetters(filter, page, overrides);
  const responses = published.map(({ messageId, isDeduplicated }) => ({ messageId, deduplicated: isDeduplicated }));
  return { value: { cursor, responses } };
}

function deadLetterMissing(id: string): unknown {
  return notFound(`dead letter ${id} not found`);
}

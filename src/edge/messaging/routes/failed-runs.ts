/** Failed workflow runs (C4, C5, W.dlq, W.resume, W.failure-callback). */

import {
  badRequest,
  type DeadLetter,
  deadLetterIdText,
  type Filter,
  notFound,
  readOverrides,
  type StartedRun,
} from "../../../messaging/mod.ts";
import { readBulkPage, readFilter, readPage } from "../filters/messages.ts";
import { Parameters } from "../parameters.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows, ok } from "../route.ts";
import { readLetters } from "../views/dead-letters.ts";
import { workflowLetterView } from "../views/failed-runs.ts";
import { readTrimming } from "../views/trim-body.ts";
import { DEAD_LETTER_BULK_MAX, DEAD_LETTER_LIST_MAX } from "./dead-letters.ts";
import { headersOf } from "./publish.ts";

const DELETE_COUNT_DEFAULT = 100;
/** The most runs that one call starts. */
export const FAILED_RUN_START_MAX = 50;
/** The most runs that one call starts by their ids: a page of the list. */
const IDS_MAX = DEAD_LETTER_LIST_MAX;

export const failedRunRoutes = messagingRows([
  {
    id: "deleteFailedRuns",
    rule: "C4",
    method: "DELETE",
    template: "/v2/workflows/dlq",
    summary: `deletes the failed workflow runs that match the filters; \`count\` is ${DELETE_COUNT_DEFAULT} by default`,
    isRateLimited: true,
    run: deleteMany,
  },
  {
    id: "listFailedRuns",
    rule: "C5",
    method: "GET",
    template: "/v2/workflows/dlq",
    summary: "lists the failed workflow runs that match the filters, page by page",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: list,
  },
  {
    id: "getFailedRun",
    rule: "C",
    method: "GET",
    template: "/v2/workflows/dlq/:dlqId",
    summary: "returns a failed workflow run",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: async ({ api, names: [id = ""] }) => ({
      value: await workflowLetterView(api, letterOf(api, id)),
    }),
  },
  {
    id: "deleteFailedRun",
    rule: "C",
    method: "DELETE",
    template: "/v2/workflows/dlq/:dlqId",
    summary: "deletes a failed workflow run",
    isRateLimited: true,
    run: deleteOne,
  },
  ...(["resume", "restart"] as const).flatMap((how) =>
    messagingRows([
      {
        id: `${how}Runs` as const,
        rule: "C",
        method: "POST",
        template: `/v2/workflows/dlq/${how}`,
        summary: `starts failed runs as new runs, ${how === "resume" ? "at the step that failed" : "from the first step"}: at most ${FAILED_RUN_START_MAX}, or ${IDS_MAX} if \`dlqIds\` names them; headers change their settings`,
        isRateLimited: true,
        run: (call) => startMany(call, how),
      },
      {
        id: `${how}Run` as const,
        rule: "C",
        method: "POST",
        template: `/v2/workflows/dlq/${how}/:dlqId`,
        summary: `starts one failed run as a new run, ${how === "resume" ? "at the step that failed" : "from the first step"}; headers change its settings`,
        isRateLimited: true,
        run: (call) => startOne(call, how),
      },
    ]),
  ),
  {
    id: "repeatFailureCallback",
    rule: "C",
    method: "POST",
    template: "/v2/workflows/dlq/callback/:dlqId",
    summary: "repeats the call of a failure callback or failure function that failed",
    isRateLimited: true,
    run: async ({ api, names: [id = ""] }) => ({
      value: startedView(await api.workflows.repeatFailureCall(id)),
    }),
  },
  {
    id: "cancelFailureCallback",
    rule: "C",
    method: "DELETE",
    template: "/v2/workflows/dlq/callback/:dlqId",
    summary: "cancels the calls of a failure callback or failure function",
    status: 302,
    isRateLimited: true,
    async run({ api, names: [id = ""] }) {
      await api.workflows.cancelFailureCall(id);
      return ok;
    },
  },
]);

/** C5 */
async function list({ api, query }: MessagingCall): Promise<MessagingAnswer> {
  const parameters = new Parameters(query);
  const filter = ofRuns(readFilter(parameters, { target: "dead letters", isChange: false, others: [] }));
  const page = readPage(parameters, {
    countDefault: DEAD_LETTER_LIST_MAX,
    countMax: DEAD_LETTER_LIST_MAX,
    orderDefault: "earliest first",
  });
  const trim = readTrimming(parameters);
  const { deadLetters, cursor } = readLetters(api, filter, page);
  const messages = await Promise.all(deadLetters.map(async (letter) => trim(await workflowLetterView(api, letter))));
  return { value: { cursor: cursor ?? "", messages } };
}

/** C4 */
async function deleteMany(call: MessagingCall): Promise<MessagingAnswer> {
  const { filter, page } = readBulk(call, DEAD_LETTER_BULK_MAX);
  const isByIds = filter.ids !== undefined;
  const { deleted, cursor } = await call.api.deleteDeadLetters(
    filter,
    isByIds ? page : { countMax: DELETE_COUNT_DEFAULT, ...page },
  );
  return { value: { deleted, cursor } };
}

async function deleteOne({ api, names }: MessagingCall): Promise<MessagingAnswer> {
  const [id = ""] = names;
  letterOf(api, id);
  await api.deleteDeadLetters({ ids: [id], attributes: new Map(), runs: {} }, {});
  return ok;
}

async function startMany(call: MessagingCall, how: "resume" | "restart"): Promise<MessagingAnswer> {
  const { filter, page } = readBulk(call, FAILED_RUN_START_MAX);
  const { api } = call;
  const overrides = readOverrides(headersOf(call), call);
  const idCount = new Set(filter.ids).size;
  if (idCount > IDS_MAX) {
    throw badRequest(`Invalid value for dlqIds: there are ${idCount}; the limit is ${IDS_MAX}`);
  }
  const count = page.countMax ?? FAILED_RUN_START_MAX;
  const cursor = page.cursor === undefined ? {} : { cursor: page.cursor };
  const found =
    filter.ids === undefined
      ? api.deadLetters(filter, { order: "earliest first", count, ...cursor })
      : { deadLetters: [...new Set(filter.ids)].map((id) => letterOf(api, id)), cursor: undefined };
  const ids = found.deadLetters.map(({ id }) => deadLetterIdText(id));
  const workflowRuns = (await api.workflows.again(how, ids, overrides)).map(startedView);
  return { value: { cursor: found.cursor, workflowRuns } };
}

async function startOne(call: MessagingCall, how: "resume" | "restart"): Promise<MessagingAnswer> {
  const { api, names } = call;
  const [id = ""] = names;
  letterOf(api, id);
  const [started] = await api.workflows.again(how, [id], readOverrides(headersOf(call), call));
  return { value: started === undefined ? {} : startedView(started) };
}

function readBulk(
  { request, query }: MessagingCall,
  countMax: number,
): { readonly filter: Filter; readonly page: ReturnType<typeof readBulkPage> } {
  const parameters = new Parameters(query, request.body);
  const filter = readFilter(parameters, { target: "dead letters", isChange: true, others: ["count", "cursor"] });
  return { filter: ofRuns(filter), page: readBulkPage(parameters, countMax) };
}

/** Restricts a filter to the dead letters of runs. */
function ofRuns(filter: Filter): Filter {
  return { ...filter, runs: filter.runs ?? {} };
}

function letterOf(api: MessagingCall["api"], id: string): DeadLetter {
  const letter = api.deadLetter(id);
  if (letter?.envelope.fields.workflow === undefined) throw notFound(`failed workflow run ${id} not found`);
  return letter;
}

function startedView({ id, createdAtMs }: StartedRun): object {
  return { workflowRunId: id, workflowCreatedAt: createdAtMs };
}

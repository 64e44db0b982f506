/** Logs: every state of every message (C6). */
import type { Filter, LogEntry, LogPage, MessagingApi, Page } from "../../../messaging/mod.ts";
import { type PageBounds, readFilter, readPage } from "../filters/messages.ts";
import { LIST_BYTES_MAX } from "../filters/page-size.ts";
import { Parameters } from "../parameters.ts";
import { type MessagingAnswer, type MessagingCall, messagingRows } from "../route.ts";
import { type CancelledSpelling, logEntryView } from "../views/logs.ts";
import { readTrimming } from "../views/trim-body.ts";

export const LOG_LIST_MAX = 1_000;

export const logRoutes = messagingRows([
  {
    id: "listLogs",
    rule: "C6",
    method: "GET",
    template: "/v2/logs",
    summary: "lists the log entries that match the filters, page by page, latest first",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: (call) => list(call, { field: "logs", countDefault: 100, cancelled: "CANCELLED" }),
  },
  {
    id: "listEvents",
    rule: "C6",
    method: "GET",
    template: "/v2/events",
    summary: "lists log entries under the old name: the list is called `events`, and CANCELLED is spelled CANCELED",
    isForReadOnlyToken: true,
    isRateLimited: true,
    run: (call) => list(call, { field: "events", countDefault: LOG_LIST_MAX, cancelled: "CANCELED" }),
  },
]);

/** The differences between the two lists. */
interface Form {
  readonly field: "logs" | "events";
  readonly countDefault: number;
  readonly cancelled: CancelledSpelling;
}

/** C6 */
async function list({ api, query }: MessagingCall, { field, countDefault, cancelled }: Form): Promise<MessagingAnswer> {
  const parameters = new Parameters(query);
  const filter = readFilter(parameters, { target: "logs", isChange: false, others: [] });
  const bounds: PageBounds = { countDefault, countMax: LOG_LIST_MAX, orderDefault: "latest first" };
  const page = readPage(parameters, bounds);
  const trim = readTrimming(parameters);
  const { entries, cursor } = await readWithinBytes(api, filter, page);
  const views = entries.map((entry) => trim(logEntryView(entry, cancelled), true));
  return { value: { cursor, [field]: views } };
}

/** Reads a page; if its bodies are too large together, reads a shorter one. */
export async function readWithinBytes(api: MessagingApi, filter: Filter, page: Page): Promise<LogPage> {
  const found = await api.logs(filter, page);
  const count = fittingCount(found.entries);
  return count === found.entries.length ? found : api.logs(filter, { ...page, count });
}

function fittingCount(entries: readonly LogEntry[]): number {
  let bytes = 0;
  let count = 0;
  for (const { message, response } of entries) {
    bytes += message.body.length + (response?.body.length ?? 0);
    if (bytes > LIST_BYTES_MAX && count > 0) break;
    count += 1;
  }
  return count;
}

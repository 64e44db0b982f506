/** Answers messaging's queries of the log of messages from the history. */
import {
  badRequest,
  type Filter,
  type LogPage,
  type LogReader,
  logEntry,
  type Page,
  type User,
} from "../../messaging/mod.ts";
import { type HistoryPage, type HistoryQuery, MalformedCursor } from "../../persistence/history/query.ts";

/** Answers when everything up to the position is in the history, or after 2 s with the entries so far. */
export type ListHistory = (query: HistoryQuery, position: number) => Promise<HistoryPage>;

/** `end` returns the current position. */
export function messageLog(list: ListHistory, end: () => number): LogReader {
  return {
    async list(user: User, filter: Filter, page: Page): Promise<LogPage> {
      try {
        const { entries, cursor } = await list(queryOf(user, filter, page), end());
        return { entries: entries.map(({ entry, message }) => logEntry(entry, message.detail)), cursor };
      } catch (fault) {
        if (isMalformedCursor(fault)) throw badRequest(`Invalid value for cursor: ${page.cursor}`);
        throw fault;
      }
    },
  };
}

function queryOf(user: User, { attributes, ids, states, fromMs, toMs }: Filter, page: Page): HistoryQuery {
  const messageIds = ids ?? attributes.get("messageId");
  const others = new Map([...attributes].filter(([name]) => name !== "messageId"));
  return {
    user: user.number,
    attributes: others,
    order: page.order,
    count: page.count,
    ...(messageIds !== undefined && { messageIds }),
    ...(states !== undefined && { states }),
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
    ...(page.cursor !== undefined && { cursor: page.cursor }),
  };
}

/** From another thread it arrives as a plain error with the same name. */
function isMalformedCursor(fault: unknown): boolean {
  return fault instanceof MalformedCursor || (fault instanceof Error && fault.name === "MalformedCursor");
}

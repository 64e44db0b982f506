/** A message: what it is, what it waits for, each attempt to deliver it, its body and the answers. */
import "./messaging.css";
import { useEffect } from "preact/hooks";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Body } from "../../parts/body.tsx";
import { bytesFromBase64, bytesFromText } from "../../parts/bytes.ts";
import { durationText } from "../../parts/format.ts";
import { Headers } from "../../parts/headers.tsx";
import { Card, IdTitle, PageHead } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state.tsx";
import { ErrorBox, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { Timeline, type TimelineItem } from "../../parts/timeline.tsx";
import type { PageProps } from "../pages.ts";
import { entryKey, FactsOfMessage, isUnfinished, type LogEntry } from "./message-facts.tsx";
import { api, page } from "./places.ts";

/** Bodies are shown up to here; more is loaded to be saved. */
const SHOWN_BYTES = 20_000;
/** Of the body of each answer. */
const ANSWER_BYTES = 4_000;
const PAGE_ENTRIES = 100;
/** Of the timeline. */
const ENTRIES_MAX = 1_000;
const WATCH_MS = 2_000;

export default function MessagePage({ params: { tenant = "", id = "" } }: PageProps) {
  const { value: entries, error, reload } = useLoad((signal) => loadAll(tenant, id, signal), [tenant, id]);
  const last = entries?.at(-1);
  const isOpen = last !== undefined && isUnfinished(last.state);
  useNews(tenant, id, { last, isOpen, onNews: reload });
  if (entries === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const [first] = entries;
  if (first === undefined || last === undefined)
    return (
      <PageHead
        title="Message"
        lead={`The log has no message ${id}: it never existed, or is older than the log (--log-retention)`}
      />
    );
  return (
    <>
      <PageHead
        title={<IdTitle id={id} />}
        lead={
          <>
            <StateBadge state={last.state} /> published <Time at={first.time} />
          </>
        }
        actions={<Actions tenant={tenant} id={id} state={last.state} onDone={reload} />}
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {isOpen && <WaitsFor tenant={tenant} id={id} step={`${entries.length}`} bodyBytes={bytesOf(first.body).length} />}
      {last.state === "FAILED" && <LetterLink tenant={tenant} id={id} />}
      <div class="cards halves">
        <Card title="Message">
          <FactsOfMessage
            tenant={tenant}
            message={last}
            more={[["Published", <Time key="time" at={first.time} isExact />]]}
          />
        </Card>
        <Card title="Headers">
          <Headers headers={first.header} of={`message ${id}`} />
        </Card>
      </div>
      <Card title="Attempts">
        <Timeline label="Attempts" items={timelineOf(tenant, entries)} />
      </Card>
      <Card title="Body">
        <MessageBody tenant={tenant} id={id} />
      </Card>
    </>
  );
}

/** Looks whether there is a newer entry while the message is not finished: that costs less than all entries. */
function useNews(
  tenant: string,
  id: string,
  { last, isOpen, onNews }: { last: LogEntry | undefined; isOpen: boolean; onNews: () => void },
): void {
  const { value } = useLoad(
    async (signal) =>
      isOpen
        ? await loadEntries(tenant, { messageId: id, order: "latestFirst", count: 1, trimBody: 0 }, signal)
        : undefined,
    [tenant, id, isOpen],
    isOpen ? { everyMs: WATCH_MS } : {},
  );
  const newest = value?.[0];
  const isNew = newest !== undefined && last !== undefined && entryKey(newest) !== entryKey(last);
  useEffect(() => {
    if (isNew) onNews();
  }, [isNew, newest === undefined ? "" : entryKey(newest)]);
}

/** A page is short if the bodies of its entries are long, also if they are cut then. */
async function loadAll(tenant: string, id: string, signal: AbortSignal): Promise<readonly LogEntry[]> {
  const entries: LogEntry[] = [];
  let cursor: string | undefined;
  do {
    const answer = await loadPage(
      tenant,
      { messageId: id, count: PAGE_ENTRIES, trimBody: ANSWER_BYTES, cursor },
      signal,
    );
    entries.push(...answer.logs);
    cursor = answer.cursor;
  } while (cursor !== undefined && entries.length < ENTRIES_MAX);
  return entries;
}

type LogQuery = Readonly<Record<string, string | number | undefined>>;

async function loadEntries(tenant: string, query: LogQuery, signal?: AbortSignal): Promise<LogEntry[]> {
  return (await loadPage(tenant, query, signal)).logs;
}

function loadPage(
  tenant: string,
  query: LogQuery,
  signal?: AbortSignal,
): Promise<{ logs: LogEntry[]; cursor?: string }> {
  return request(api(tenant, "logs"), {
    query: { order: "earliestFirst", ...query },
    ...(signal !== undefined && { signal }),
  });
}

interface ActionsProps {
  readonly tenant: string;
  readonly id: string;
  readonly state: string;
  readonly onDone: () => void;
}

function Actions({ tenant, id, state, onDone }: ActionsProps) {
  const isWaiting = state === "CREATED" || state === "RETRY";
  if (!isWaiting && state !== "ACTIVE") return null;
  return (
    <>
      {isWaiting && (
        <Action
          run={async () => {
            await request(api(tenant, "messages", id, "retry"), { method: "POST" });
            onDone();
            return "The next attempt is due now";
          }}
        >
          {state === "RETRY" ? "Retry now" : "Deliver now"}
        </Action>
      )}
      <Action
        kind="danger"
        confirm={
          state === "ACTIVE"
            ? "The call that is under way continues, and its outcome has no effect."
            : "The message will not be delivered."
        }
        run={async () => {
          await request(api(tenant, "messages", id), { method: "DELETE" });
          onDone();
          return "Cancelled";
        }}
      >
        Cancel message
      </Action>
    </>
  );
}

/** The reason is asked for only with a short body, because the answer has the body too. */
function WaitsFor({ tenant, id, step, bodyBytes }: { tenant: string; id: string; step: string; bodyBytes: number }) {
  const isShort = bodyBytes < ANSWER_BYTES;
  const { value } = useLoad(
    async (signal) =>
      isShort
        ? await request<{ waitsFor?: string }>(api(tenant, "messages", id), { signal }).catch(() => undefined)
        : undefined,
    [tenant, id, step, isShort],
    isShort ? { everyMs: 5_000 } : {},
  );
  return value?.waitsFor === undefined ? null : (
    <p class="waits-for" role="status">
      {value.waitsFor}.
    </p>
  );
}

function LetterLink({ tenant, id }: { tenant: string; id: string }) {
  const { value } = useLoad(
    async (signal) => {
      const { messages } = await request<{ messages: { dlqId: string }[] }>(api(tenant, "dlq"), {
        query: { messageId: id, count: 1, trimBody: 0 },
        signal,
      });
      return messages[0]?.dlqId;
    },
    [tenant, id],
  );
  return value === undefined ? null : (
    <p class="waits-for">
      It failed permanently and is a dead letter: <a href={page(tenant, "dlq", value)}>{value}</a>
    </p>
  );
}

/** One event for each attempt, from its start to its outcome. */
function timelineOf(tenant: string, entries: readonly LogEntry[]): readonly TimelineItem[] {
  const items: TimelineItem[] = [];
  let attempt = 0;
  for (const [index, entry] of entries.entries()) {
    const { state, time } = entry;
    const key = `${index}`;
    switch (state) {
      case "CREATED":
        items.push({ key, tone: "plain", title: "Published", at: time });
        break;
      case "ACTIVE":
        attempt += 1;
        items.push({ key, tone: "busy", title: `Attempt ${attempt}: under way`, at: time });
        break;
      case "DELIVERED":
      case "ERROR":
        items.push(endedAttempt(items.at(-1)?.tone === "busy" ? items.pop() : undefined, { tenant, attempt, entry }));
        break;
      case "RETRY":
        items.push({
          key,
          tone: "warn",
          title: "Waits for its next attempt",
          detail: (
            <>
              Planned for <Time at={entry.nextDeliveryTime} isExact />
              {entry.nextDeliveryTime !== undefined && `, ${durationText(entry.nextDeliveryTime - time)} later`}
            </>
          ),
        });
        break;
      case "FAILED":
        items.push({ key, tone: "bad", title: "Failed permanently", at: time });
        break;
      default:
        items.push({ key, tone: "plain", title: state === "CANCELLED" ? "Cancelled" : "Cancel requested", at: time });
    }
  }
  return items;
}

function endedAttempt(
  started: TimelineItem | undefined,
  { tenant, attempt, entry }: { tenant: string; attempt: number; entry: LogEntry },
): TimelineItem {
  const { state, time, messageId, error, responseStatus = 0, responseHeaders, responseBody } = entry;
  const at = started?.at ?? time;
  const shared = { key: started?.key ?? `end ${attempt}`, at, tookMs: time - at };
  if (state === "DELIVERED")
    return {
      ...shared,
      tone: "good",
      title: `Attempt ${attempt}: delivered`,
      detail: "The destination answered with a 2xx status. The log keeps the response of failed attempts only.",
    };
  const bytes = bytesOf(responseBody);
  return {
    ...shared,
    tone: "bad",
    title: `Attempt ${attempt}: ${responseStatus === 0 ? "no response" : `status ${responseStatus}`}`,
    detail: (
      <>
        {error !== undefined && <bdi>{error}</bdi>}
        {responseStatus !== 0 && (
          <details>
            <summary>Response</summary>
            <Headers headers={responseHeaders ?? {}} of={`the response to message ${messageId}`} />
            <Body
              label={`Response of attempt ${attempt}`}
              bytes={bytes}
              isCut={bytes.length === ANSWER_BYTES}
              fileName={`${messageId}-response-${attempt}.bin`}
              {...(bytes.length === ANSWER_BYTES && { loadWhole: () => loadAnswer(tenant, entry) })}
            />
          </details>
        )}
      </>
    ),
  };
}

async function loadAnswer(tenant: string, { messageId, time }: LogEntry): Promise<Uint8Array<ArrayBuffer>> {
  const query = { messageId, state: "ERROR", fromDate: time, toDate: time, count: 1 };
  const [found] = await loadEntries(tenant, query);
  return bytesOf(found?.responseBody);
}

/** The body in the log: in base64, or as the replacement of a hidden body. */
function bytesOf(body: string | undefined): Uint8Array<ArrayBuffer> {
  if (body === undefined) return new Uint8Array();
  return body.startsWith("REDACTED:") ? bytesFromText(body) : bytesFromBase64(body);
}

function MessageBody({ tenant, id }: { tenant: string; id: string }) {
  const query = { messageId: id, state: "CREATED", count: 1 };
  const { value, error, reload } = useLoad(
    (signal) => loadEntries(tenant, { ...query, trimBody: SHOWN_BYTES }, signal),
    [tenant, id],
  );
  if (value === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const bytes = bytesOf(value[0]?.body);
  const isCut = bytes.length === SHOWN_BYTES;
  return (
    <Body
      label="Body of the message"
      bytes={bytes}
      isCut={isCut}
      fileName={`${id}.bin`}
      {...(isCut && { loadWhole: async () => bytesOf((await loadEntries(tenant, query))[0]?.body) })}
    />
  );
}

/** A schedule: when it fires, what it publishes, how the last firing ended. */
import "./messaging.css";
import { useLocation } from "preact-iso";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Body } from "../../parts/body.tsx";
import { bytesFromBase64, bytesFromText } from "../../parts/bytes.ts";
import { durationText } from "../../parts/format.ts";
import { Headers } from "../../parts/headers.tsx";
import { Card, PageHead } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state.tsx";
import { ErrorBox, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../pages.ts";
import { FactsOfMessage } from "./message-facts.tsx";
import { nextTimes } from "./next-times.ts";
import { api, page } from "./places.ts";
import { type Schedule, ScheduleState } from "./schedules.tsx";

const WATCH_MS = 5_000;

export default function SchedulePage({ params: { tenant = "", id = "" } }: PageProps) {
  const { route } = useLocation();
  const path = (...end: readonly string[]): string => api(tenant, "schedules", id, ...end);
  const { value, error, reload } = useLoad((signal) => request<Schedule>(path(), { signal }), [tenant, id], {
    everyMs: WATCH_MS,
  });
  if (value === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const { scheduleId: _, ...message } = value;
  const { isPaused, nextScheduleTime, lastScheduleTime, cron, destination, retries, delay } = value;
  const states = Object.entries(value.lastScheduleStates ?? {});
  return (
    <>
      <PageHead
        title={
          <>
            Schedule <bdi>{id}</bdi>
          </>
        }
        lead={
          <>
            <ScheduleState schedule={value} />{" "}
            {isPaused ? "times that pass are skipped" : <NextTime at={nextScheduleTime} />}
          </>
        }
        actions={
          <>
            <Action
              run={async () => {
                await request(path("run"), { method: "POST" });
                reload();
                return "Its message is published";
              }}
            >
              Run now
            </Action>
            <Action
              run={async () => {
                await request(path(isPaused ? "resume" : "pause"), { method: "POST" });
                reload();
              }}
            >
              {isPaused ? "Resume" : "Pause"}
            </Action>
            <Action
              kind="danger"
              confirm="The messages that it has published stay."
              run={async () => {
                await request(path(), { method: "DELETE" });
                route(page(tenant, "schedules"));
                return `Deleted the schedule ${id}`;
              }}
            >
              Delete
            </Action>
          </>
        }
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {value.error !== undefined && <ErrorBox error={`The last firing published nothing: ${value.error}`} />}
      <div class="cards halves">
        <Card title="Schedule">
          <FactsOfMessage
            tenant={tenant}
            message={{ ...message, messageId: "", url: destination, maxRetries: retries }}
            more={[
              [
                "Cron",
                <code key="cron">
                  <bdi>{cron}</bdi>
                </code>,
              ],
              ["Next", isPaused ? "paused" : <NextTimes cron={cron} at={nextScheduleTime} />],
              ["Created", <Time key="created" at={value.createdAt} isExact />],
              ["Delay", delay === undefined ? undefined : durationText(delay * 1_000)],
              ["Redacted fields", value.redactFields],
            ]}
          />
        </Card>
        <Card
          title="Last firing"
          actions={
            <a href={`${page(tenant, "messages")}?scheduleId=${encodeURIComponent(id)}`}>
              All messages of this schedule
            </a>
          }
        >
          {lastScheduleTime === undefined ? (
            <p class="hint">It has not fired yet</p>
          ) : (
            <p>
              <Time at={lastScheduleTime} isExact /> (<Time at={lastScheduleTime} />)
            </p>
          )}
          <ul class="plain">
            {states.map(([messageId, state]) => (
              <li key={messageId}>
                <StateBadge state={state} /> <a href={page(tenant, "messages", messageId)}>{messageId}</a>
              </li>
            ))}
          </ul>
        </Card>
        <Card title="Headers">
          <Headers headers={value.header} of={`schedule ${id}`} />
        </Card>
      </div>
      <Card title="Body">
        <Body
          label="Body of the schedule"
          fileName={`${id}.bin`}
          bytes={value.bodyBase64 === undefined ? bytesFromText(value.body ?? "") : bytesFromBase64(value.bodyBase64)}
        />
      </Card>
    </>
  );
}

function NextTimes({ cron, at }: { cron: string; at: number | undefined }) {
  if (at === undefined) return <>none</>;
  return (
    <ul class="plain">
      {nextTimes(cron, at).map((time) => (
        <li key={time}>
          <Time at={time} isExact />
        </li>
      ))}
    </ul>
  );
}

function NextTime({ at }: { at: number | undefined }) {
  return at === undefined ? (
    <>it does not fire again</>
  ) : (
    <>
      next <Time at={at} />
    </>
  );
}

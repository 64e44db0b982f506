/** A queue: what waits in it, and what can be done with it. */
import "../messaging.css";
import { useLocation } from "preact-iso";
import { request } from "../../../api/client.ts";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { FormButton, fieldText } from "../../../parts/form-dialog.tsx";
import { countText } from "../../../parts/format.ts";
import { ErrorBox, Loading } from "../../../parts/states.tsx";
import { Time } from "../../../parts/time.tsx";
import type { PageProps } from "../../pages.ts";
import { api, page } from "../places.ts";
import { HolderPage } from "./holder-page.tsx";
import { ParallelismField, type Queue, QueueState } from "./queues.tsx";

const WATCH_MS = 3_000;

export default function QueuePage({ params: { tenant = "", name = "" } }: PageProps) {
  const { route } = useLocation();
  const { value, error, reload } = useLoad(
    (signal) => request<Queue>(api(tenant, "queues", name), { signal }),
    [tenant, name],
    { everyMs: WATCH_MS },
  );
  if (value === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const { parallelism, paused, lag } = value;
  const filter = `?queueName=${encodeURIComponent(name)}`;
  return (
    <HolderPage
      noun="Queue"
      name={name}
      lead={<QueueState queue={value} />}
      isPaused={paused}
      onToggle={async () => {
        await request(api(tenant, "queues", name, paused ? "resume" : "pause"), { method: "POST" });
        reload();
      }}
      actions={
        <>
          <FormButton
            title="Change parallelism"
            submit="Change"
            run={async (fields) => {
              const json = { queueName: name, parallelism: Number(fieldText(fields, "parallelism")) };
              await request(api(tenant, "queues"), { json });
              reload();
            }}
          >
            <ParallelismField value={parallelism} />
          </FormButton>
          <Action
            kind="danger"
            confirm={`Deletes the queue and cancels its messages; ${countText(lag)} wait. Steps of workflow runs continue without it.`}
            run={async () => {
              await request(api(tenant, "queues", name), { method: "DELETE" });
              route(page(tenant, "queues"));
              return `Deleted the queue ${name}`;
            }}
          >
            Delete
          </Action>
        </>
      }
      loaded={{ error, reload }}
      waitingCount={lag}
      facts={[
        ["At a time", countText(parallelism)],
        ["Created", <Time key="created" at={value.createdAt} isExact />],
        ["Changed", <Time key="changed" at={value.updatedAt} isExact />],
      ]}
      links={
        <>
          <a href={page(tenant, "messages") + filter}>All messages of this queue</a>
          <a href={page(tenant, "dlq") + filter}>Its dead letters</a>
        </>
      }
    />
  );
}

/** The runs that wait for an event, and a notification for them. */
import { useRef, useState } from "preact/hooks";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Button } from "../../parts/button.tsx";
import { Field } from "../../parts/field.tsx";
import { type FilterField, useFilters, useQueryChange } from "../../parts/filters.tsx";
import { Card, PageHead } from "../../parts/page.tsx";
import { Empty, ErrorBox, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import type { PageProps } from "../pages.ts";
import { api, page } from "./places.ts";

interface Waiter {
  readonly url: string;
  readonly headers?: Readonly<Record<string, readonly string[]>>;
  /** Unix s. */
  readonly deadline?: number;
}

function runOf({ headers }: Waiter): string | undefined {
  const [, values] =
    Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "upstash-workflow-runid") ?? [];
  return values?.[0];
}

const fields: readonly FilterField[] = [{ name: "event", label: "Event" }];

export default function Events({ params: { tenant = "" } }: PageProps) {
  const { event = "" } = useFilters(fields);
  const change = useQueryChange();
  return (
    <>
      <PageHead
        title="Events"
        lead="Runs wait for an event by its id (context.waitForEvent); a notification wakes them."
      />
      <form
        class="filters"
        onSubmit={(submitted) => {
          submitted.preventDefault();
          const wanted = String(new FormData(submitted.currentTarget).get("event") ?? "");
          change({ event: wanted === "" ? undefined : wanted });
        }}
      >
        <Field label="Id of the event">
          <input name="event" required defaultValue={event} spellcheck={false} autocomplete="off" />
        </Field>
        <Button type="submit">Show its waiters</Button>
      </form>
      {event === "" ? (
        <Empty>Enter the id of an event to see who waits for it.</Empty>
      ) : (
        <Waiters tenant={tenant} event={event} />
      )}
    </>
  );
}

function Waiters({ tenant, event }: { tenant: string; event: string }) {
  const { value, error, reload } = useLoad(
    (signal) => request<readonly Waiter[]>(api(tenant, "waiters", event), { signal }),
    [tenant, event],
    { everyMs: 5_000 },
  );
  const data = useRef<HTMLTextAreaElement>(null);
  const [note, setNote] = useState("");
  return (
    <>
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading />}
      {value !== undefined && (
        <Table
          label="Waiters"
          rows={value}
          keyOf={(waiter, index) => `${runOf(waiter) ?? waiter.url} ${index}`}
          hrefOf={(waiter) => {
            const id = runOf(waiter);
            return id === undefined ? undefined : page(tenant, "runs", id);
          }}
          columns={[
            {
              title: "Run",
              width: "minmax(6rem, 1fr)",
              cell: (waiter) => <bdi>{runOf(waiter) ?? waiter.url}</bdi>,
            },
            { title: "Workflow", width: "minmax(6rem, 2fr)", isWide: true, cell: ({ url }) => <bdi>{url}</bdi> },
            {
              title: "Until",
              width: "8rem",
              cell: ({ deadline }) => <Time at={deadline === undefined ? undefined : deadline * 1_000} />,
            },
          ]}
          empty={<Empty>No run waits for this event now.</Empty>}
        />
      )}
      <Card title="Notify">
        <Field label="Data of the event">
          <textarea ref={data} rows={4} spellcheck={false} placeholder='{"paid": true}' />
        </Field>
        <Action
          kind="main"
          run={async () => {
            const woken = await request<readonly unknown[]>(api(tenant, "notify", event), {
              method: "POST",
              body: data.current?.value ?? "",
              headers: { "content-type": "application/json" },
            });
            setNote(`Notified runs: ${woken.length}`);
            reload();
          }}
        >
          Notify all waiters
        </Action>
        {note !== "" && <p role="status">{note}</p>}
      </Card>
    </>
  );
}

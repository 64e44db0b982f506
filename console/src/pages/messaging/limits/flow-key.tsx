/** A flow-control key: its limits and counts, and everything that can be done with it. */
import "../messaging.css";
import { request } from "../../../api/client.ts";
import { useLoad } from "../../../api/load.ts";
import { Action } from "../../../parts/action.tsx";
import { Field } from "../../../parts/field.tsx";
import { FormButton, fieldText } from "../../../parts/form-dialog.tsx";
import { countText, durationText } from "../../../parts/format.ts";
import { ErrorBox, Loading } from "../../../parts/states.tsx";
import { Time } from "../../../parts/time.tsx";
import type { PageProps } from "../../pages.ts";
import { api, page } from "../places.ts";
import { type FlowKey, KeyState, limitsOf } from "./flow-control.tsx";
import { HolderPage } from "./holder-page.tsx";

const WATCH_MS = 3_000;

export default function FlowKeyPage({ params: { tenant = "", key = "" } }: PageProps) {
  const { value, error, reload } = useLoad(
    (signal) => request<FlowKey>(api(tenant, "flowControl", key), { signal }),
    [tenant, key],
    { everyMs: WATCH_MS },
  );
  if (value === undefined) return error === undefined ? <Loading /> : <ErrorBox error={error} onRetry={reload} />;
  const act = async (action: string, query: Readonly<Record<string, string | undefined>> = {}): Promise<void> => {
    await request(api(tenant, "flowControl", key, action), { method: "POST", query });
    reload();
  };
  const { isPaused, isPinnedParallelism, isPinnedRate, parallelismMax, rateMax, ratePeriod } = value;
  return (
    <HolderPage
      noun="Flow-control key"
      name={key}
      lead={
        <>
          <KeyState of={value} /> {limitsOf(value)}
        </>
      }
      isPaused={isPaused}
      onToggle={() => act(isPaused ? "resume" : "pause")}
      actions={
        <>
          <FormButton
            title="Pin limits"
            submit="Pin"
            run={(fields) =>
              act("pin", {
                parallelism: fieldText(fields, "parallelism"),
                rate: fieldText(fields, "rate"),
                period: fieldText(fields, "rate") === undefined ? undefined : fieldText(fields, "period"),
              })
            }
          >
            <p class="hint">Pinned limits stay, whatever messages set. An empty field is not pinned.</p>
            <Field label="Parallelism">
              <input name="parallelism" type="number" min="1" defaultValue={shown(parallelismMax)} />
            </Field>
            <Field label="Rate" hint="Calls in a period">
              <input name="rate" type="number" min="1" defaultValue={shown(rateMax)} />
            </Field>
            <Field label="Period" hint="A duration, such as 10s or 1m">
              <input name="period" defaultValue={`${ratePeriod}s`} />
            </Field>
          </FormButton>
          {isPinnedParallelism && <Action run={() => act("unpin", { parallelism: "true" })}>Unpin parallelism</Action>}
          {isPinnedRate && <Action run={() => act("unpin", { rate: "true" })}>Unpin rate</Action>}
          <Action run={() => act("resetRate")}>Reset rate</Action>
          <Action
            kind="danger"
            confirm="Begins a new period, and no longer counts the calls that are under way: more of them than the parallelism may run at a time."
            run={() => act("reset")}
          >
            Reset
          </Action>
        </>
      }
      loaded={{ error, reload }}
      waitingCount={value.waitListSize}
      facts={[
        ["Calls under way", ofLimit(value.parallelismCount, parallelismMax, isPinnedParallelism)],
        ["Calls in the period", ofLimit(value.rateCount, rateMax, isPinnedRate)],
        ["Period", rateMax === 0 ? undefined : durationText(ratePeriod * 1_000)],
        [
          "Period began",
          value.ratePeriodStart === 0 ? undefined : <Time key="start" at={value.ratePeriodStart * 1_000} />,
        ],
      ]}
      links={
        <a href={`${page(tenant, "messages")}?flowControlKey=${encodeURIComponent(key)}`}>All messages of this key</a>
      }
    />
  );
}

function shown(limit: number): string {
  return limit === 0 ? "" : `${limit}`;
}

function ofLimit(count: number, max: number, isPinned: boolean): string {
  if (max === 0) return `${countText(count)}, without a limit`;
  return `${countText(count)} of ${countText(max)}${isPinned ? ", pinned" : ""}`;
}

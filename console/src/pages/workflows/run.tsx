/** A run: its steps over time, what went in and came out, and what can be done with it. */
import "./workflows.css";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { request } from "../../api/client.ts";
import { useLoad } from "../../api/load.ts";
import { Action } from "../../parts/action.tsx";
import { Code } from "../../parts/code.tsx";
import { durationText } from "../../parts/format.ts";
import { Card, Facts, IdTitle, PageHead } from "../../parts/page.tsx";
import { StateBadge } from "../../parts/state.tsx";
import { ErrorBox, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { pagePath } from "../../places.ts";
import type { PageProps } from "../pages.ts";
import { api, page } from "./places.ts";
import { loadRuns, type Run } from "./run-log.ts";
import { FailedAttempts, Steps } from "./steps.tsx";

const WATCH_MS = 2_000;

export default function RunPage({ params: { tenant = "", id = "" } }: PageProps) {
  const [isWatched, setWatched] = useState(false);
  const { value, error, isLoading, reload } = useLoad(
    async (signal) => (await loadRuns(tenant, { workflowRunId: id, count: 1 }, signal)).runs[0],
    [tenant, id],
    isWatched ? { everyMs: WATCH_MS } : {},
  );
  const isOpen = value?.workflowState === "RUN_STARTED";
  useEffect(() => setWatched(isOpen), [isOpen]);
  if (value === undefined) {
    if (error !== undefined) return <ErrorBox error={error} onRetry={reload} />;
    if (isLoading) return <Loading />;
    return (
      <PageHead
        title="Run"
        lead={`The log has no run ${id}: it never existed, or is older than the log (--log-retention)`}
      />
    );
  }
  const { workflowUrl, workflowState, workflowRunCreatedAt, workflowRunCompletedAt, invoker, labels, flowControlKey } =
    value;
  return (
    <>
      <PageHead
        title={<IdTitle id={id} />}
        lead={
          <>
            <StateBadge state={workflowState} /> started <Time at={workflowRunCreatedAt} />
          </>
        }
        actions={<Actions tenant={tenant} run={value} onDone={reload} />}
      />
      {error !== undefined && <ErrorBox error={error} onRetry={reload} />}
      <Card>
        <Facts
          rows={[
            ["Workflow", <bdi key="url">{workflowUrl}</bdi>],
            ["Started", <Time key="start" at={workflowRunCreatedAt} isExact />],
            ["Ended", workflowRunCompletedAt && <Time at={workflowRunCompletedAt} isExact />],
            ["Duration", workflowRunCompletedAt && durationText(workflowRunCompletedAt - workflowRunCreatedAt)],
            ["Labels", labels?.join(", ")],
            ["Flow-control key", flowControlKey],
            [
              "Invoked by",
              invoker && <a href={page(tenant, "runs", invoker.workflowRunId)}>{invoker.workflowRunId}</a>,
            ],
            [
              "Dead letter",
              value.dlqId && <a href={pagePath("messaging", tenant, "dlq", value.dlqId)}>{value.dlqId}</a>,
            ],
          ]}
        />
      </Card>
      <Card title="Steps">
        <Steps tenant={tenant} run={value} />
      </Card>
      {value.errors !== undefined && (
        <Card title="Failed attempts after the last step">
          <FailedAttempts of="the last delivery" errors={value.errors} />
        </Card>
      )}
      {value.workflowRunResponse !== undefined && value.workflowRunResponse !== "" && (
        <Card title="Result">
          <Code label="Result of the run" text={value.workflowRunResponse} />
        </Card>
      )}
      {value.failureFunction !== undefined && (
        <Card title="Failure function" actions={<StateBadge state={value.failureFunction.state} />}>
          <Code label="The failure that it was told" text={value.failureFunction.failResponse ?? ""} />
        </Card>
      )}
    </>
  );
}

function Actions({ tenant, run, onDone }: { tenant: string; run: Run; onDone: () => void }) {
  const { route } = useLocation();
  const { workflowRunId, workflowState, dlqId } = run;
  const again = async (verb: "resume" | "restart"): Promise<void> => {
    const started = await request<{ workflowRunId?: string }>(api(tenant, "workflows", "dlq", verb, dlqId ?? ""), {
      method: "POST",
    });
    if (started.workflowRunId !== undefined) route(page(tenant, "runs", started.workflowRunId));
  };
  return (
    <>
      <a class="button" href={`${pagePath("messaging", tenant, "messages")}?${new URLSearchParams({ workflowRunId })}`}>
        Its messages
      </a>
      {workflowState === "RUN_STARTED" && (
        <Action
          kind="danger"
          confirm="Steps that are under way end, and no other begins."
          run={async () => {
            await request(api(tenant, "workflows", "runs", workflowRunId), { method: "DELETE" });
            onDone();
            return "Cancelled";
          }}
        >
          Cancel run
        </Action>
      )}
      {dlqId !== undefined && (
        <>
          <Action confirm="A new run continues at the step that failed." run={() => again("resume")}>
            Resume
          </Action>
          <Action confirm="A new run begins with the first step." run={() => again("restart")}>
            Restart
          </Action>
        </>
      )}
    </>
  );
}

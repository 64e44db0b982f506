/** The steps of a run in their order, with a bar for the time of each; parallel steps are side by side in time. */
import { Code } from "../../parts/code.tsx";
import { durationText } from "../../parts/format.ts";
import { Headers } from "../../parts/headers.tsx";
import { Facts } from "../../parts/page.tsx";
import { StateBadge, toneOf } from "../../parts/state.tsx";
import { Time } from "../../parts/time.tsx";
import { page } from "./places.ts";
import type { Run, Step } from "./run-log.ts";

interface Shown {
  readonly step: Step;
  readonly isParallel: boolean;
  readonly startMs: number;
  /** A step that is under way ends now. */
  readonly endMs: number;
}

export function Steps({ tenant, run }: { tenant: string; run: Run }) {
  const endMs = run.workflowRunCompletedAt ?? Date.now();
  const rows = rowsOf(run, endMs);
  if (rows.length === 0) return <p class="hint">No step has begun.</p>;
  const firstMs = run.workflowRunCreatedAt;
  const spanMs = Math.max(1, endMs - firstMs);
  return (
    <ol class="steps" aria-label="Steps">
      {rows.map(({ step, isParallel, startMs, endMs: until }, index) => (
        <li key={`${index} ${step.messageId}`}>
          <details>
            <summary>
              <span class="step-name">
                {isParallel && <span aria-hidden="true">∥ </span>}
                <bdi>{nameOf(step)}</bdi> <span class="hint">{step.stepType}</span>
              </span>
              <StateBadge state={step.state} />
              <span class="step-time">{durationText(Math.max(0, until - startMs))}</span>
              <span class="step-track" aria-hidden="true">
                <span
                  class={`step-bar tone-${toneOf(step.state)}`}
                  style={{
                    left: `${(100 * Math.max(0, startMs - firstMs)) / spanMs}%`,
                    width: `${Math.max(0.5, (100 * (until - startMs)) / spanMs)}%`,
                  }}
                />
              </span>
            </summary>
            <Detail tenant={tenant} step={step} isParallel={isParallel} />
          </details>
        </li>
      ))}
    </ol>
  );
}

/** A step begins when the one before has ended; its time in the log is that of its end. */
function rowsOf(run: Run, nowMs: number): readonly Shown[] {
  const rows: Shown[] = [];
  let startMs = run.workflowRunCreatedAt;
  for (const { type, steps } of run.steps) {
    let groupEndMs = startMs;
    for (const step of steps) {
      const endMs = type === "next" ? nowMs : (step.createdAt ?? startMs);
      groupEndMs = Math.max(groupEndMs, endMs);
      rows.push({
        step,
        isParallel: type === "parallel" || steps.length > 1,
        startMs,
        endMs: Math.max(startMs, endMs),
      });
    }
    if (type !== "next") startMs = groupEndMs;
  }
  return rows;
}

function nameOf({ stepName, stepType }: Step): string {
  return stepName === undefined || stepName === "" ? (stepType ?? "the next step") : stepName;
}

function Detail({ tenant, step, isParallel }: { tenant: string; step: Step; isParallel: boolean }) {
  const { messageId, createdAt, retries, sleepFor, sleepUntil, callUrl, callMethod, callResponseStatus } = step;
  return (
    <div class="step-detail">
      <Facts
        rows={[
          ["Message", messageId],
          [
            "Ended",
            createdAt !== undefined && step.state !== "STEP_PROGRESS" ? <Time at={createdAt} isExact /> : undefined,
          ],
          ["In parallel", isParallel ? "yes" : undefined],
          ["Retries allowed", retries],
          ["Sleeps for", sleepFor === undefined ? undefined : durationText(sleepFor * 1_000)],
          ["Sleeps until", sleepUntil && <Time at={sleepUntil * 1_000} isExact />],
          ["Calls", callUrl && `${callMethod ?? ""} ${callUrl}`],
          ["Status of the answer", callResponseStatus],
          [
            "Invokes",
            step.invokedWorkflowRunId && (
              <a href={page(tenant, "runs", step.invokedWorkflowRunId)}>{step.invokedWorkflowRunId}</a>
            ),
          ],
          ["Waits for event", step.waitEventId],
          ["For at most", step.waitTimeoutDuration],
          ["Timed out", step.waitTimeout === undefined ? undefined : step.waitTimeout ? "yes" : "no"],
        ]}
      />
      {step.callHeaders !== undefined && <Headers headers={step.callHeaders} of={`the call of step ${nameOf(step)}`} />}
      {step.callBody !== undefined && step.callBody !== "" && (
        <Code label="Body of the call" text={textOf(step.callBody)} />
      )}
      {step.out !== undefined && step.out !== null && step.out !== "" && (
        <Code label={`Output of ${nameOf(step)}`} text={textOf(step.out)} />
      )}
      {step.errors !== undefined && step.errors.length > 0 && (
        <ul class="step-errors">
          {step.errors.map(({ error, status, time }) => (
            <li key={time}>
              <Time at={time} isExact />: {status > 0 && `status ${status}, `}
              <bdi>{error}</bdi>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

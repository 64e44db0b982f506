/** The steps of a run in their order, with a bar for the time of each; parallel steps are side by side in time. */
import { useState } from "preact/hooks";
import { Button } from "../../parts/button.tsx";
import { Code } from "../../parts/code.tsx";
import { countText, durationText } from "../../parts/format.ts";
import { Headers } from "../../parts/headers.tsx";
import { Facts } from "../../parts/page.tsx";
import { StateBadge, toneOf } from "../../parts/state.tsx";
import { Time } from "../../parts/time.tsx";
import { pagePath } from "../../places.ts";
import { page } from "./places.ts";
import type { Run, Step, StepError } from "./run-log.ts";
import { durationMs, timedSteps } from "./step-times.ts";

/** A run may have thousands of steps; the last ones are shown first. */
const SHOWN_STEPS = 200;

export function Steps({ tenant, run }: { tenant: string; run: Run }) {
  const [shownCount, setShownCount] = useState(SHOWN_STEPS);
  const endMs = run.workflowRunCompletedAt ?? Date.now();
  const rows = timedSteps(run.steps, { startMs: run.workflowRunCreatedAt, endMs });
  if (rows.length === 0) return <p class="hint">No step has begun.</p>;
  const firstMs = run.workflowRunCreatedAt;
  const spanMs = Math.max(1, endMs - firstMs);
  const hiddenCount = Math.max(0, rows.length - shownCount);
  return (
    <>
      {hiddenCount > 0 && (
        <Button onClick={() => setShownCount(shownCount + SHOWN_STEPS)}>
          Show more of {countText(hiddenCount)} earlier steps
        </Button>
      )}
      <ol class="steps" aria-label="Steps" start={hiddenCount + 1}>
        {rows.slice(hiddenCount).map(({ step, isParallel, startMs, endMs: until }, index) => (
          <li key={`${hiddenCount + index} ${step.messageId}`}>
            <details>
              <summary>
                <span class="step-name">
                  {isParallel && <span aria-hidden="true">∥ </span>}
                  <bdi>{nameOf(step)}</bdi> <span class="hint">{hintOf(step)}</span>
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
              <Detail tenant={tenant} step={step} isParallel={isParallel} endMs={until} />
            </details>
          </li>
        ))}
      </ol>
    </>
  );
}

/** Its type, and how often it failed before. */
function hintOf({ stepType = "", errors = [] }: Step): string {
  if (errors.length === 0) return stepType;
  return `${stepType} ${errors.length} failed ${errors.length === 1 ? "attempt" : "attempts"}`.trimStart();
}

function nameOf({ stepName, stepType }: Step): string {
  return stepName === undefined || stepName === "" ? (stepType ?? "the next step") : stepName;
}

interface DetailProps {
  readonly tenant: string;
  readonly step: Step;
  readonly isParallel: boolean;
  readonly endMs: number;
}

function Detail({ tenant, step, isParallel, endMs }: DetailProps) {
  const { messageId, retries, sleepFor, sleepUntil, callUrl, callMethod, callResponseStatus } = step;
  return (
    <div class="step-detail">
      <Facts
        rows={[
          ["Message", messageId && <a href={pagePath("messaging", tenant, "messages", messageId)}>{messageId}</a>],
          [
            "Ended",
            step.state === "STEP_SUCCESS" || step.state === "STEP_FAILED" ? <Time at={endMs} isExact /> : undefined,
          ],
          ["In parallel", isParallel ? "yes" : undefined],
          ["Retries allowed", retries],
          ["Sleeps for", sleepFor === undefined ? undefined : durationText(durationMs(sleepFor))],
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
          ["Next attempt", step.nextDeliveryTime && <Time at={step.nextDeliveryTime} isExact />],
          ["Timed out", step.waitTimeout === undefined ? undefined : step.waitTimeout ? "yes" : "no"],
        ]}
      />
      {step.callHeaders !== undefined && <Headers headers={step.callHeaders} of={`the call of step ${nameOf(step)}`} />}
      <Text title="Body of the call" text={step.callBody} />
      {step.callResponseHeaders !== undefined && (
        <>
          <p class="hint">Response</p>
          <Headers headers={step.callResponseHeaders} of={`the response to the call of step ${nameOf(step)}`} />
          <Text title="Body of the response" text={step.callResponseBody} />
        </>
      )}
      <Text title="Body of the invoked run" text={step.invokedWorkflowRunBody} />
      {/* The output of a call is its response again, with headers that are hidden above. */}
      {step.callResponseHeaders === undefined && (
        <Text
          title={step.stepType === "Initial" ? "Input of the run" : "Output"}
          text={step.out}
          label={`Output of ${nameOf(step)}`}
        />
      )}
      {step.errors !== undefined && step.errors.length > 0 && (
        <>
          <p class="hint">Failed attempts</p>
          <FailedAttempts of={nameOf(step)} errors={step.errors} />
        </>
      )}
    </div>
  );
}

export function FailedAttempts({ of, errors }: { of: string; errors: readonly StepError[] }) {
  return (
    <ol class="step-errors" aria-label={`Failed attempts of ${of}`}>
      {errors.map(({ error, time, body }, index) => (
        <li key={`${index} ${time}`}>
          <Time at={time} isExact />: <bdi>{error}</bdi>
          {body !== "" && <Code label={`Response of failed attempt ${index + 1} of ${of}`} text={body} />}
        </li>
      ))}
    </ol>
  );
}

/** A value of a step; nothing if it has none. */
function Text({ title, text, label = title }: { title: string; text: unknown; label?: string }) {
  if (text === undefined || text === null || text === "") return null;
  return (
    <>
      <p class="hint">{title}</p>
      <Code label={label} text={typeof text === "string" ? text : JSON.stringify(text)} />
    </>
  );
}

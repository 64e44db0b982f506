/** The log of workflow runs, as `GET /v2/workflows/logs` with `groupBy=workflowRunId` returns it. */
import { request } from "../../api/client.ts";
import { api } from "./places.ts";

type Headers = Readonly<Record<string, readonly string[]>>;

export interface StepError {
  readonly error: string;
  /** Of the response, as text. */
  readonly body: string;
  readonly status: number;
  /** Unix ms. */
  readonly time: number;
}

/** A step that ended, or that is under way in a group `next`; what a step has depends on its type. */
export interface Step {
  readonly messageId?: string;
  readonly stepName?: string;
  readonly stepType?: string;
  readonly state: string;
  readonly out?: unknown;
  readonly retries?: number;
  readonly createdAt?: number;
  /** Failed attempts, also of a step that succeeded later. */
  readonly errors?: readonly StepError[];
  /** Seconds, or a duration such as `10s`. */
  readonly sleepFor?: number | string;
  /** Unix s. */
  readonly sleepUntil?: number;
  readonly callUrl?: string;
  readonly callMethod?: string;
  readonly callResponseStatus?: number;
  readonly callHeaders?: Headers;
  readonly callBody?: unknown;
  readonly callResponseHeaders?: Headers;
  readonly callResponseBody?: string;
  readonly invokedWorkflowRunId?: string;
  readonly invokedWorkflowUrl?: string;
  readonly invokedWorkflowRunBody?: string;
  /** Unix ms; of a step that will be tried again. */
  readonly nextDeliveryTime?: number;
  readonly waitEventId?: string;
  readonly waitTimeoutDuration?: string;
  readonly waitTimeout?: boolean;
  readonly headers?: Headers;
}

export interface StepGroup {
  /** `next`: the steps that are under way. */
  readonly type: "sequential" | "parallel" | "next";
  readonly steps: readonly Step[];
}

export interface Run {
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  readonly workflowState: "RUN_STARTED" | "RUN_SUCCESS" | "RUN_FAILED" | "RUN_CANCELED";
  readonly workflowRunCreatedAt: number;
  readonly workflowRunCompletedAt?: number;
  readonly workflowRunResponse?: string;
  readonly label?: string;
  readonly labels?: readonly string[];
  readonly flowControlKey?: string;
  readonly invoker?: { readonly workflowRunId: string; readonly workflowUrl: string };
  readonly failureFunction?: {
    readonly state: string;
    readonly failStatus?: number;
    readonly failResponse?: string;
    readonly dlqId?: string;
  };
  readonly dlqId?: string;
  /** Failed attempts after the last step, of a run that has ended. */
  readonly errors?: readonly StepError[];
  readonly steps: readonly StepGroup[];
}

/** A page of runs, latest first; an empty cursor at the end. */
export async function loadRuns(
  tenant: string,
  query: Readonly<Record<string, string | number | undefined>>,
  signal?: AbortSignal,
): Promise<{ runs: readonly Run[]; cursor: string | undefined }> {
  const { runs, cursor } = await request<{ runs: readonly Run[]; cursor?: string }>(api(tenant, "workflows", "logs"), {
    query: { ...query, groupBy: "workflowRunId" },
    ...(signal !== undefined && { signal }),
  });
  return { runs, cursor: cursor === "" ? undefined : cursor };
}

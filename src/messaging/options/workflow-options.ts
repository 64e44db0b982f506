/**
 * Reads the workflow options of a message from headers (W.headers). `headers.ts`
 * reads its other options.
 */
import { badRequest } from "../failure.ts";

export type CallType = "step" | "toCallback" | "fromCallback" | "failureCall";

export interface WorkflowOptions {
  readonly runId: string | undefined;
  readonly url: string | undefined;
  readonly isInit: boolean;
  readonly callType: CallType;
  /** The body names a run that waits for the end of the one it starts. */
  readonly isInvoke: boolean;
  /** The endpoint starts the run a second time. */
  readonly isRepublished: boolean;
  /** Requests a start in two phases. */
  readonly isUnknownSdk: boolean;
  /** Only features that the server knows. */
  readonly features: readonly Feature[];
  /** True if `Retries` was given. */
  readonly hasRetries: boolean;
  /** A plain request started the run, without a workflow client. */
  readonly isPlainTrigger?: true;
}

/** `LazyFetch`: a long body may be left out. `WF_DetectTrigger`: an answer must show that it comes from a workflow. */
export type Feature = "LazyFetch" | "WF_DetectTrigger";

const features: readonly string[] = ["LazyFetch", "WF_DetectTrigger"] satisfies Feature[];

/** Names in lower case without prefix that are read here, and not forwarded. */
export function isWorkflowHeader(name: string): boolean {
  return name === "feature-set" || name.startsWith("workflow-");
}

const ID_LENGTH_MAX = 512;
/** Visible ASCII. */
const ID = /^[\x21-\x7e]+$/;

/** Throws a `MessagingFailure`. */
export function checkRunId(id: string): void {
  if (id.length <= ID_LENGTH_MAX && ID.test(id)) return;
  throw badRequest(
    `Invalid value for Workflow-RunId: it must be 1 to ${ID_LENGTH_MAX} visible ASCII characters without a space`,
  );
}

/** `given` is name, value, … Undefined for a message that is not part of a workflow. Throws a `MessagingFailure`. */
export function readWorkflowOptions(given: readonly string[], hasRetries: boolean): WorkflowOptions | undefined {
  if (given.length === 0) return undefined;
  const values = new Map<string, string>();
  for (let i = 0; i < given.length; i += 2) {
    const name = given[i] as string;
    if (!values.has(name)) values.set(name, (given[i + 1] as string).trim());
  }
  const is = (name: string): boolean => values.get(name)?.toLowerCase() === "true";
  const runId = values.get("workflow-runid");
  const isInit = is("workflow-init");
  if (runId === undefined && !isInit) return undefined;
  if (runId !== undefined) checkRunId(runId);
  return {
    runId,
    url: values.get("workflow-url"),
    isInit,
    callType: callTypeOf(values.get("workflow-calltype")),
    isInvoke: is("workflow-invoke"),
    isRepublished: is("workflow-trigger-by-sdk"),
    isUnknownSdk: is("workflow-unknown-sdk"),
    features: featuresOf(values.get("feature-set") ?? ""),
    hasRetries,
  };
}

function callTypeOf(text = "step"): CallType {
  if (text === "step" || text === "toCallback" || text === "fromCallback" || text === "failureCall") return text;
  throw badRequest(`Invalid value for Workflow-CallType: ${JSON.stringify(text.slice(0, 100))}`);
}

function featuresOf(text: string): readonly Feature[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name): name is Feature => features.includes(name));
}

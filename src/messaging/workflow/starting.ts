/**
 * Turns published messages into runs and entries: starts of runs, further entries,
 * and duplicate starts (W.start, W.append, W.duplicate, W.two-phase).
 * `planRunMessage` decides and changes nothing, `carryOutRun` executes the plan,
 * both as parts of publishing (publish.ts).
 */
import type { Random } from "../../kernel/random.ts";
import { badRequest, quotaExceeded } from "../failure.ts";
import type { MessagingLimits } from "../limits.ts";
import type { EnvelopeFields, WorkflowFields } from "../options/envelope.ts";
import { envelopeFields, type Published, type PublishRequest } from "../options/publish-request.ts";
import type { WorkflowOptions } from "../options/workflow-options.ts";
import { drawId, newFacts } from "../state/drawn-ids.ts";
import type { Invoker, Run, RunConfig, RunRecord } from "../state/run.ts";
import type { User } from "../state/user.ts";
import type { UnitOfWork } from "../unit-of-work.ts";
import { readInvoke } from "./invoke.ts";
import {
  asksForTwoStarts,
  configOf,
  configured,
  featureFields,
  hiddenIn,
  replacedConfig,
  traceOf,
} from "./trigger-config.ts";

/** A message of a run, ready to be accepted. */
export interface RunDraft {
  readonly kind: "start" | "restart" | "append" | "duplicate";
  readonly runId: string;
  readonly url: string;
  readonly fields: EnvelopeFields | undefined;
  readonly bytes: Buffer;
  readonly notBeforeMs: number;
  /** The record of a run that starts, or starts again. */
  readonly record: RunRecord | undefined;
}

/** Counts the runs and entries that the requests of one call will add. */
export class RunCounts {
  readonly started = new Set<string>();
  readonly #appended = new Map<string, { count: number; bytes: number }>();

  /** Throws a `MessagingFailure` if the run would exceed a limit. */
  add({ id, entries, entryBytes }: Run, bytes: number, limits: MessagingLimits): void {
    const added = this.#appended.get(id) ?? { count: 0, bytes: 0 };
    added.count += 1;
    added.bytes += bytes;
    this.#appended.set(id, added);
    if (entries.length + added.count > limits.stepsPerRunMax) {
      throw quotaExceeded(`Maximum number of steps of the workflow run ${id} exceeded: ${limits.stepsPerRunMax}`);
    }
    if (entryBytes + added.bytes > limits.runBytesMax) {
      throw quotaExceeded(`Maximum number of bytes of the workflow run ${id} exceeded: ${limits.runBytesMax}`);
    }
  }
}

interface PlanContext {
  readonly user: User;
  readonly limits: MessagingLimits;
  readonly nowMs: number;
  readonly random: Random;
}

/** Throws a `MessagingFailure`, which names the run that cannot continue. */
export function planRunMessage(
  context: PlanContext,
  request: PublishRequest,
  { counts, workflow }: { counts: RunCounts; workflow: WorkflowOptions },
): RunDraft {
  const runId = workflow.runId ?? drawId("wfr_", context.random);
  const given = { ...request, runId, workflow };
  if (workflow.isInit) return planStart(context, given, counts);
  const run = startedRun(context.user, runId);
  counts.add(run, request.body.length, context.limits);
  return planAppend(context, given, run);
}

interface Given extends PublishRequest {
  readonly runId: string;
  readonly workflow: WorkflowOptions;
}

/** The run with this id. Throws if it does not exist or has ended. */
export function startedRun(user: User, id: string): Run {
  const run = user.runs.get(id);
  if (run === undefined) throw badRequest(`Invalid value for workflowRunId: the workflow run ${id} does not exist`);
  if (!run.isStarted) throw badRequest(`Invalid value for workflowRunId: the workflow run ${id} has ended`);
  return run;
}

function planStart(context: PlanContext, given: Given, counts: RunCounts): RunDraft {
  const { runId, workflow, options, callerIp, destination } = given;
  const known = context.user.runs.get(runId);
  const isAgain = known?.isStarted === true && known.record.isStartedTwice === true && workflow.isRepublished;
  const { invoker, body } = workflow.isInvoke ? readInvoke(given.body) : { invoker: undefined, body: given.body };
  if (counts.started.has(runId) || (known !== undefined && !isAgain)) {
    if (invoker !== undefined && known !== undefined) assertInvokedBy(context, known, invoker);
    return { ...draftOf(context, given), kind: "duplicate", fields: undefined, record: undefined };
  }
  counts.started.add(runId);
  const first = invokedBy(configOf(options), invoker && context.user.runs.get(invoker.runId));
  const config = known === undefined ? first : replacedConfig(known.record.config, first);
  const isStartedTwice = known === undefined && asksForTwoStarts(options);
  const record: RunRecord = {
    id: runId,
    url: workflow.url ?? destination,
    createdAtMs: known?.record.createdAtMs ?? context.nowMs,
    callerIp,
    config,
    invoker,
    depth: depthOf(context, invoker),
    ...(isStartedTwice ? { isStartedTwice } : {}),
    ...(workflow.isPlainTrigger === true ? { isPlainTrigger: true } : {}),
  };
  const own = configured({ ...options, headers: config.headers }, config);
  const fields = envelopeFields(destination, own, {
    callerIp,
    workflow: {
      runId,
      callType: "step",
      isInit: true,
      ...featureFields(workflow),
      ...(isStartedTwice ? { isUnknownSdk: true } : {}),
    },
  });
  return { ...draftOf(context, given), kind: known === undefined ? "start" : "restart", bytes: body, fields, record };
}

/**
 * An invoked run continues the trace of its invoker unless it has its own, and hides what the invoker hides, because
 * its body comes from there.
 */
function invokedBy(config: RunConfig, run: Run | undefined): RunConfig {
  const outer = run?.record.config;
  const { redact } = hiddenIn(config, outer ?? {});
  return { ...config, trace: config.trace ?? outer?.trace, redact };
}

/** Throws if another step started the run: the end of the run would never reach the step that invokes it now. */
function assertInvokedBy({ user }: PlanContext, { id, record }: Run, { runId, step }: Invoker): void {
  const { invoker } = record;
  if (invoker?.runId === runId && invoker.step["stepId"] === step["stepId"]) return;
  startedRun(user, runId);
  throw quotaExceeded(`Invalid value for Workflow-RunId: the workflow run ${id} exists, and ${runId} did not start it`);
}

/** Throws if the invoking run has ended, or the chain of invocations is too long. */
function depthOf({ user, limits }: PlanContext, invoker: Invoker | undefined): number {
  if (invoker === undefined) return 0;
  const depth = startedRun(user, invoker.runId).record.depth + 1;
  if (depth > limits.invokeDepthMax) {
    // Not a bad request: clients take that for the end of the invoking run, and would never continue it.
    throw quotaExceeded(
      `The workflow run ${invoker.runId} was invoked through ${depth - 1} others; the limit is ${limits.invokeDepthMax}`,
    );
  }
  return depth;
}

function planAppend(context: PlanContext, given: Given, run: Run): RunDraft {
  const { workflow, options, callerIp, destination } = given;
  const part: WorkflowFields = { runId: run.id, callType: workflow.callType, ...featureFields(workflow) };
  const { config } = run.record;
  const isToThirdParty = workflow.callType === "toCallback";
  const own = isToThirdParty
    ? { ...options, ...traceOf(options, config), ...hiddenIn(options, config) }
    : configured(options, config);
  const fields = envelopeFields(destination, own, { callerIp, workflow: part });
  return { ...draftOf(context, given), kind: "append", fields, record: undefined };
}

function draftOf(
  { nowMs }: PlanContext,
  { runId, destination, body, options }: Given,
): Pick<RunDraft, "runId" | "url" | "bytes" | "notBeforeMs"> {
  const notBeforeMs = Math.max(nowMs, options.notBeforeMs ?? nowMs + (options.delayMs ?? 0));
  return { runId, url: destination, bytes: body, notBeforeMs };
}

export function carryOutRun(
  unit: UnitOfWork,
  user: User,
  { draft, nowMs, isNeededSoon }: { readonly draft: RunDraft; readonly nowMs: number; readonly isNeededSoon: boolean },
): Published {
  const { kind, runId, url, fields, bytes, notBeforeMs, record } = draft;
  if (kind === "start" && record !== undefined) unit.createRun(user, record);
  const run = user.runs.get(runId);
  const view = run && { id: run.id, createdAtMs: run.record.createdAtMs };
  if (run === undefined || view === undefined || fields === undefined) {
    const first = run?.firstMessageId ?? "";
    return { messageId: first, url, isDeduplicated: true, ...(view && { run: view }) };
  }
  if (kind === "restart" && record !== undefined) unit.apply(user, "runRestarted", { runId, config: record.config });
  const facts = newFacts(unit, { nowMs, notBeforeMs, slotOwner: 0 });
  const message = unit.accept(user, facts, { fields, bytes, isNeededSoon, deduplicationKey: "" });
  return { messageId: message.id, url, isDeduplicated: false, run: view };
}

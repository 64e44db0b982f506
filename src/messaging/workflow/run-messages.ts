/**
 * Messages that the server itself puts at the end of a run or sends for it:
 * what came of a call, of a wait, of an invoked run, and the call that tells of
 * a failure (spec: workflow 4.6 to 4.10).
 */
import { type AttemptReport, reportOf } from "../callbacks.ts";
import type { DeadLetter } from "../dead-letters.ts";
import { deadLetterIdText } from "../dead-letters.ts";
import type { CallbackPlan, EnvelopeFields, WorkflowFields } from "../envelope.ts";
import { acceptedOptions, callbackOptions, RETRIES_DEFAULT } from "../headers.ts";
import { envelopeFields } from "../publish.ts";
import { partHeaders } from "./invoke.ts";
import type { Run } from "./run.ts";
import { configured, featureFields, hasHeader, traceOf, withoutHeader, withoutSdkVersion } from "./trigger-config.ts";

export interface RunMessage {
  readonly fields: EnvelopeFields;
  readonly bytes: Buffer;
}

/** The entry that is the result of a step, delivered with headers that were given when the step began. */
export function resultMessage(
  run: Run,
  {
    url,
    headers,
    bytes,
    part = {},
  }: {
    readonly url: string;
    readonly headers: readonly string[];
    readonly bytes: Buffer;
    readonly part?: Partial<WorkflowFields>;
  },
): RunMessage {
  const options = acceptedOptions(partHeaders(headers));
  const features = options.workflow === undefined ? {} : featureFields(options.workflow);
  const fields = envelopeFields(url, configured(options, run.record.config), {
    callerIp: run.record.callerIp,
    workflow: { runId: run.id, callType: "step", ...features, ...part },
  });
  return { fields, bytes };
}

/** What came of a call of a third party: only its end is told. */
export function callResult(run: Run, plan: CallbackPlan, report: AttemptReport): RunMessage {
  const { config } = run.record;
  const { retriesMax, callerIp } = report.message.envelope.fields;
  const own = callbackOptions(plan, config.retriesMax ?? RETRIES_DEFAULT, config.retryDelay);
  const features = own.workflow === undefined ? {} : featureFields(own.workflow);
  // The own retries of the callback are in there, so nothing of the run's is to be put in their place.
  const options = configured({ ...own, workflow: { ...NO_PART, hasRetries: true } }, config);
  const headers = withoutSdkVersion(options.headers);
  const fields = envelopeFields(
    plan.url,
    { ...options, headers },
    { callerIp, callbackOf: report.message.id, workflow: { runId: run.id, callType: "fromCallback", ...features } },
  );
  const isSuccess = report.response.status >= 200 && report.response.status < 300;
  // A client takes an attempt that is not the last one for one that is followed by others.
  const retried = isSuccess ? report.retried : retriesMax;
  return { fields, bytes: Buffer.from(JSON.stringify({ ...reportOf(report), retried })) };
}

/** The call that tells of a run's failure; undefined if nobody is to be told. */
export function failureMessage(run: Run, letter: DeadLetter, report: AttemptReport): RunMessage | undefined {
  const { fields: failed } = letter.envelope;
  const plan = failed.failureCallback;
  if (plan === undefined) return undefined;
  const { config, createdAtMs } = run.record;
  const options = callbackOptions(plan, config.retriesMax ?? RETRIES_DEFAULT, config.retryDelay);
  const { failureCallback: _none, ...rest } = options;
  const flowControl = options.flowControl ?? config.flowControl;
  const fields = envelopeFields(
    plan.url,
    {
      ...rest,
      headers: failureHeaders(options.headers),
      ...traceOf(options, config),
      ...(flowControl === undefined ? {} : { flowControl }),
      // It carries what the run began with, so the log hides it as it hides that.
      ...(config.redact === undefined ? {} : { redact: config.redact }),
    },
    {
      callerIp: failed.callerIp,
      callbackOf: report.message.id,
      workflow: { runId: run.id, callType: "failureCall" },
    },
  );
  const told = {
    ...reportOf({ ...report, deadLetter: letter }, { isRedacted: false }),
    dlqId: deadLetterIdText(letter.id),
    workflowRunId: run.id,
    workflowCreatedAt: createdAtMs,
    failedAt: letter.id.ms,
  };
  return { fields, bytes: Buffer.from(JSON.stringify(told)) };
}

const NO_PART = {
  runId: undefined,
  url: undefined,
  isInit: false,
  callType: "fromCallback",
  isInvoke: false,
  isRepublished: false,
  isUnknownSdk: false,
  features: [],
} as const;

const FAILURE_HEADERS = ["Upstash-Workflow-Is-Failure", "Upstash-Workflow-Failure-Callback"];

function failureHeaders(given: readonly string[]): readonly string[] {
  const headers = [...withoutHeader(given, "upstash-workflow-unknown-sdk")];
  for (const name of FAILURE_HEADERS) if (!hasHeader(headers, name.toLowerCase())) headers.push(name, "true");
  return headers;
}

/**
 * Messages that the server adds to a run or sends for it: results of calls, waits
 * and invoked runs, and the call that reports a failure (W.call, W.wait.result,
 * W.invoke.result, W.failure).
 */

import { type AttemptReport, reportOf } from "../delivery/callbacks.ts";
import { cutHeaders, isCut, mendedError, twiceQuotedWithin } from "../delivery/cut-answer.ts";
import type { MessagingLimits } from "../limits.ts";
import type { CallbackPlan, EnvelopeFields, Redaction, WorkflowFields } from "../options/envelope.ts";
import { acceptedOptions, callbackOptions, RETRIES_DEFAULT } from "../options/headers.ts";
import { envelopeFields } from "../options/publish-request.ts";
import { joinedRedaction } from "../options/redaction.ts";
import type { DeadLetter } from "../state/dead-letters.ts";
import { deadLetterIdText } from "../state/dead-letters.ts";
import type { Run } from "../state/run.ts";
import { partHeaders } from "./invoke.ts";
import { configured, featureFields, hasHeader, traceOf, withoutHeader, withoutSdkVersion } from "./trigger-config.ts";

export interface RunMessage {
  readonly fields: EnvelopeFields;
  readonly bytes: Buffer;
}

/** The entry with the result of a step, delivered with the headers that the step began with. */
export function resultMessage(
  run: Run,
  {
    url,
    headers,
    bytes,
    part = {},
    redact,
  }: {
    readonly url: string;
    readonly headers: readonly string[];
    readonly bytes: Buffer;
    readonly part?: Partial<WorkflowFields>;
    /** Further redaction. */
    readonly redact?: Redaction | undefined;
  },
): RunMessage {
  const options = acceptedOptions(partHeaders(headers));
  const features = options.workflow === undefined ? {} : featureFields(options.workflow);
  const hidden = joinedRedaction(options.redact, redact);
  const redacted = { ...options, ...(hidden !== undefined && { redact: hidden }) };
  const fields = envelopeFields(url, configured(redacted, run.record.config), {
    callerIp: run.record.callerIp,
    workflow: { runId: run.id, callType: "step", ...features, ...part },
  });
  return { fields, bytes };
}

/** Bytes of the id and name of a step, and of field names, in the result of a call that a client publishes. */
const RESULT_FIELDS_BYTES = 1_024;

/**
 * The result of a call of a third party, which is reported once, at its end. An answer is cut if the run would exceed
 * its limit of bytes, or if its client could not publish it: clients send the answer back as the result of the step, a
 * JSON text within a JSON text, in a message with the usual limits.
 */
export function callResult(
  run: Run,
  plan: CallbackPlan,
  { report, limits }: { report: AttemptReport; limits: Pick<MessagingLimits, "runBytesMax" | "bodyBytesMax"> },
): RunMessage {
  const { config } = run.record;
  const { retriesMax, callerIp } = report.message.envelope.fields;
  const own = callbackOptions(plan, config.retriesMax ?? RETRIES_DEFAULT, config.retryDelay);
  const features = own.workflow === undefined ? {} : featureFields(own.workflow);
  // `hasRetries`, because `own` has the retries already, and those of the run must not replace them.
  const { redact } = report.message.envelope.fields;
  const redacted = { ...own, ...(redact !== undefined && { redact }), workflow: { ...NO_PART, hasRetries: true } };
  const options = configured(redacted, config);
  const headers = withoutSdkVersion(options.headers);
  const fields = envelopeFields(
    plan.url,
    { ...options, headers },
    { callerIp, callbackOf: report.message.id, workflow: { runId: run.id, callType: "fromCallback", ...features } },
  );
  const isSuccess = report.response.status >= 200 && report.response.status < 300;
  // Clients expect another report after an attempt that is not the last one.
  const retried = isSuccess ? report.retried : retriesMax;
  const bytesOf = (shown: AttemptReport): Buffer => Buffer.from(JSON.stringify({ ...reportOf(shown), retried }));
  if (report.response.status === 0) return { fields, bytes: bytesOf(report) };
  const quotedHeaders = Buffer.byteLength(JSON.stringify(JSON.stringify([report.response.headers, headers])));
  const room = limits.bodyBytesMax - RESULT_FIELDS_BYTES - 2 * quotedHeaders;
  const cut = cutTo(report, twiceQuotedWithin(report.responseBytes, room));
  const bytes = bytesOf(cut);
  const excessBytes = bytes.length - Math.max(0, limits.runBytesMax - run.entryBytes);
  if (excessBytes <= 0) return { fields, bytes };
  // In base64 three bytes are four.
  return { fields, bytes: bytesOf(cutTo(cut, cut.responseBytes.length - Math.ceil((excessBytes * 3) / 4))) };
}

/** The report with the first `bytesMax` of the answer. */
function cutTo(report: AttemptReport, bytesMax: number): AttemptReport {
  const { response, responseBytes } = report;
  if (bytesMax >= responseBytes.length) return report;
  const start = responseBytes.subarray(0, Math.max(0, bytesMax));
  return {
    ...report,
    response: { ...response, headers: cutHeaders(response.headers, start.length) },
    responseBytes: start,
  };
}

/** The call that reports the failure of a run; undefined if it has no failure callback. */
export function failureMessage(run: Run, deadLetter: DeadLetter, report: AttemptReport): RunMessage | undefined {
  const { fields: failed } = deadLetter.envelope;
  const plan = failed.failureCallback;
  if (plan === undefined) return undefined;
  const { config, createdAtMs } = run.record;
  const options = callbackOptions(plan, config.retriesMax ?? RETRIES_DEFAULT, config.retryDelay);
  const { failureCallback: _none, ...rest } = options;
  const flowControl = options.flowControl ?? config.flowControl;
  // It carries the initial body of the run and the answer to its message, so it has the redaction of both.
  const redact = joinedRedaction(config.redact, failed.redact);
  const fields = envelopeFields(
    plan.url,
    {
      ...rest,
      headers: failureHeaders(options.headers),
      ...traceOf(options, config),
      ...(flowControl === undefined ? {} : { flowControl }),
      ...(redact === undefined ? {} : { redact }),
    },
    {
      callerIp: failed.callerIp,
      callbackOf: report.message.id,
      workflow: { runId: run.id, callType: "failureCall" },
    },
  );
  const notice = {
    ...reportOf({ ...report, responseBytes: errorBytes(report), deadLetter: deadLetter }, { isRedacted: false }),
    dlqId: deadLetterIdText(deadLetter.id),
    workflowRunId: run.id,
    workflowCreatedAt: createdAtMs,
    failedAt: deadLetter.id.ms,
  };
  return { fields, bytes: Buffer.from(JSON.stringify(notice)) };
}

/** The answer of the endpoint, in a form that a client can parse as an error. */
function errorBytes({ response, responseBytes }: AttemptReport): Buffer {
  return isCut(response.headers) ? mendedError(responseBytes) : responseBytes;
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

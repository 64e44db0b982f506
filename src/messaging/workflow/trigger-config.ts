/**
 * The configuration that the start of a run sets for all of its messages
 * (W.config). Later messages need not carry it; options of their own have priority.
 */
import type { WorkflowFields } from "../options/envelope.ts";
import type { PublishOptions } from "../options/publish-request.ts";
import { joinedRedaction } from "../options/redaction.ts";
import type { RunConfig } from "../state/run.ts";

const UNKNOWN_SDK = "upstash-workflow-unknown-sdk";
const SDK_VERSION = "upstash-workflow-sdk-version";

/** The options of a first message that apply to later ones. */
export function configOf(options: PublishOptions): RunConfig {
  const { workflow, retriesMax, retryDelay, flowControl, failureCallback, labels, redact, trace } = options;
  const plan = failureCallback && {
    url: failureCallback.url,
    given: failureCallback.given.filter(([name]) => name !== `forward-${UNKNOWN_SDK}`),
  };
  return {
    headers: withoutHeader(options.headers, UNKNOWN_SDK),
    retriesMax: workflow?.hasRetries ? retriesMax : undefined,
    retryDelay,
    flowControl,
    failureCallback: plan,
    labels,
    redact,
    trace,
  };
}

/** The config of a second start: missing options, except headers, come from the first one. */
export function replacedConfig(first: RunConfig, second: RunConfig): RunConfig {
  return {
    headers: second.headers,
    retriesMax: second.retriesMax ?? first.retriesMax,
    retryDelay: second.retryDelay ?? first.retryDelay,
    flowControl: second.flowControl ?? first.flowControl,
    failureCallback: second.failureCallback ?? first.failureCallback,
    labels: second.labels ?? first.labels,
    redact: joinedRedaction(first.redact, second.redact),
    trace: second.trace ?? first.trace,
  };
}

type Configured = Pick<
  PublishOptions,
  "headers" | "retriesMax" | "retryDelay" | "flowControl" | "failureCallback" | "labels" | "redact" | "trace"
>;

/** The options of a message; missing ones come from its run. */
export function configured<Options extends Configured & { readonly workflow?: { readonly hasRetries: boolean } }>(
  options: Options,
  config: RunConfig,
): Options {
  const { retryDelay, flowControl, failureCallback, labels, redact } = options;
  const hasRetries = options.workflow?.hasRetries === true;
  return {
    ...options,
    headers: withHeaders(options.headers, config.headers),
    retriesMax: hasRetries ? options.retriesMax : (config.retriesMax ?? options.retriesMax),
    ...given("retryDelay", retryDelay ?? config.retryDelay),
    ...given("flowControl", flowControl ?? config.flowControl),
    ...given("failureCallback", failureCallback ?? config.failureCallback),
    ...given("labels", labels ?? config.labels),
    ...hiddenIn({ redact }, config),
    ...traceOf(options, config),
  };
}

/** The trace of a message: its own, or that of its run. */
export function traceOf(
  { trace }: Pick<PublishOptions, "trace">,
  config: Pick<RunConfig, "trace">,
): Pick<PublishOptions, "trace"> {
  return given("trace", trace ?? config.trace);
}

/** The redaction of a message: its own joined with that of its run. */
export function hiddenIn(
  { redact }: Pick<RunConfig, "redact">,
  config: Pick<RunConfig, "redact">,
): Pick<PublishOptions, "redact"> {
  return given("redact", joinedRedaction(config.redact, redact));
}

/** Headers for the delivery of a call's result, which must not look like a list of entries. */
export function withoutSdkVersion(headers: readonly string[]): readonly string[] {
  return withoutHeader(headers, SDK_VERSION);
}

/** `headers`, and those of `defaults` whose names are not among them. `Content-Type` comes first. */
export function withHeaders(headers: readonly string[], defaults: readonly string[]): readonly string[] {
  const names = new Set<string>();
  for (let i = 0; i < headers.length; i += 2) names.add((headers[i] as string).toLowerCase());
  const own: string[] = [...headers];
  const front: string[] = [];
  for (let i = 0; i < defaults.length; i += 2) {
    const name = defaults[i] as string;
    if (names.has(name.toLowerCase())) continue;
    (name === "Content-Type" ? front : own).push(name, defaults[i + 1] as string);
  }
  return front.length === 0 ? own : [...front, ...own];
}

export function withoutHeader(headers: readonly string[], lowerName: string): readonly string[] {
  const others: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (name.toLowerCase() !== lowerName) others.push(name, headers[i + 1] as string);
  }
  return others.length === headers.length ? headers : others;
}

export function hasHeader(headers: readonly string[], lowerName: string): boolean {
  for (let i = 0; i < headers.length; i += 2) if ((headers[i] as string).toLowerCase() === lowerName) return true;
  return false;
}

/** True for a start in two phases. */
export function asksForTwoStarts({ workflow, headers }: PublishOptions): boolean {
  return workflow?.isUnknownSdk === true || hasHeader(headers, UNKNOWN_SDK);
}

/** The features as fields of an envelope. */
export function featureFields({ features }: { readonly features: readonly string[] }): Partial<WorkflowFields> {
  return {
    ...(features.includes("LazyFetch") ? { isLazy: true } : {}),
    ...(features.includes("WF_DetectTrigger") ? { isDetected: true } : {}),
  };
}

function given<Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in Name]?: Value });
}

const SDK_VERSION_HEADER = "Upstash-Workflow-Sdk-Version";
const IS_FAILURE: readonly (readonly [string, string])[] = [
  ["forward-upstash-workflow-is-failure", "true"],
  ["forward-upstash-workflow-failure-callback", "true"],
];

/**
 * The options of a run that a plain request starts, completed with those that a workflow client would set
 * (W.trigger.defaults). `options` were read with `Workflow-Init: true`.
 */
export function plainTrigger(options: PublishOptions, url: string): PublishOptions {
  const { workflow, headers, failureCallback, retriesMax } = options;
  if (workflow === undefined) return options;
  const retries = workflow.hasRetries ? ([["retries", String(retriesMax)]] as const) : [];
  return {
    ...options,
    headers: hasHeader(headers, SDK_VERSION) ? headers : [...headers, SDK_VERSION_HEADER, "1"],
    failureCallback: failureCallback ?? { url, given: [...IS_FAILURE, ...forwarded(headers), ...retries] },
    workflow: { ...workflow, url, features: ["LazyFetch"], callType: "step", isInvoke: false, isPlainTrigger: true },
  };
}

function forwarded(headers: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = (headers[i] as string).toLowerCase();
    if (name !== "content-type") pairs.push([`forward-${name}`, headers[i + 1] as string]);
  }
  return pairs;
}

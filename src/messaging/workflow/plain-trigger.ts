/** A run that a plain request starts: what a client for workflows would have said is added here (W.trigger.defaults). */
import type { PublishOptions } from "../options/publish-request.ts";
import { hasHeader } from "./trigger-config.ts";

const SDK_VERSION = "Upstash-Workflow-Sdk-Version";
const IS_FAILURE: readonly (readonly [string, string])[] = [
  ["forward-upstash-workflow-is-failure", "true"],
  ["forward-upstash-workflow-failure-callback", "true"],
];

/** `options` were read with `Workflow-Init: true`. */
export function plainTrigger(options: PublishOptions, url: string): PublishOptions {
  const { workflow, headers, failureCallback, retriesMax } = options;
  if (workflow === undefined) return options;
  const retries = workflow.hasRetries ? ([["retries", String(retriesMax)]] as const) : [];
  return {
    ...options,
    headers: hasHeader(headers, SDK_VERSION.toLowerCase()) ? headers : [...headers, SDK_VERSION, "1"],
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

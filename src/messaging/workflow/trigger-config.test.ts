/** The configuration that the start of a run sets for all of its messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultLimits } from "../limits.ts";
import { readPublishOptions } from "../options/headers.ts";
import type { PublishOptions } from "../options/publish-request.ts";
import {
  asksForTwoStarts,
  configOf,
  configured,
  replacedConfig,
  withHeaders,
  withoutSdkVersion,
} from "./trigger-config.ts";

function read(text: string, contentType?: string): PublishOptions {
  const own = text.split("; ").flatMap((pair) => {
    const equals = pair.indexOf("=");
    return [pair.slice(0, equals), pair.slice(equals + 1)];
  });
  const context = { limits: defaultLimits, nowMs: 0, refusalOf: () => undefined };
  return readPublishOptions({ own, contentType, others: () => [] }, context);
}

const START =
  "workflow-init=true; workflow-runid=wfr_1; forward-x-a=1; retries=5; retry-delay=7; label=blue; redact-fields=body; " +
  "flow-control-key=k; flow-control-value=rate=2; failure-callback=https://f.test";
const first = configOf(read(START, "text/plain"));

test("W.config: missing options of a later message come from the start", () => {
  const later = configured(read("workflow-runid=wfr_1", "application/json"), first);
  assert.deepEqual(later.headers, ["Content-Type", "application/json", "X-A", "1"]);
  assert.equal(later.retriesMax, 5);
  assert.equal(later.retryDelay, "7");
  assert.deepEqual(later.labels, ["blue"]);
  assert.deepEqual(later.redact, { body: true });
  assert.equal(later.flowControl?.key, "k");
  assert.equal(later.failureCallback?.url, "https://f.test");
});

test("W.config: options of a later message have priority", () => {
  const later = configured(read("workflow-runid=wfr_1; forward-x-a=2; retries=0; label=red"), first);
  assert.deepEqual(later.headers, ["Content-Type", "text/plain", "X-A", "2"]);
  assert.equal(later.retriesMax, 0);
  assert.deepEqual(later.labels, ["red"]);
});

test("a second start replaces the headers, and other options that it sets", () => {
  const second = configOf(read("workflow-init=true; forward-x-b=2; label=red", "application/json"));
  const config = replacedConfig(first, second);
  assert.deepEqual(config.headers, ["Content-Type", "application/json", "X-B", "2"]);
  assert.equal(config.retriesMax, 5);
  assert.deepEqual(config.labels, ["red"]);
  assert.equal(config.failureCallback?.url, "https://f.test");
});

test("the header that requests a second start is not stored", () => {
  const options = read(
    "workflow-init=true; forward-upstash-workflow-unknown-sdk=true; failure-callback=https://f.test; " +
      "failure-callback-forward-upstash-workflow-unknown-sdk=true",
  );
  assert.ok(asksForTwoStarts(options));
  assert.ok(!asksForTwoStarts(read("workflow-init=true")));
  assert.deepEqual(configOf(options).headers, []);
  assert.deepEqual(configOf(options).failureCallback?.given, []);
});

test("header names are case-insensitive", () => {
  assert.deepEqual(withHeaders(["X-A", "1"], ["x-a", "2", "X-B", "3"]), ["X-A", "1", "X-B", "3"]);
  assert.deepEqual(withoutSdkVersion(["UPSTASH-Workflow-Sdk-Version", "1", "X-A", "2"]), ["X-A", "2"]);
});

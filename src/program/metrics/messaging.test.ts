/** The metrics of workflow runs, in the scraped form. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, MessagingHarness } from "../../../test/harness/messaging-harness.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { defaultLimits } from "../../messaging/limits.ts";
import { readPublishOptions } from "../../messaging/options/headers.ts";
import { measureMessaging } from "./messaging.ts";

const url = "https://app.test/";

async function publish(harness: MessagingHarness, headers: string, body: string): Promise<void> {
  const own = headers.split("; ").flatMap((pair) => pair.split("="));
  const context = { limits: defaultLimits, nowMs: harness.clock.nowMs(), refusalOf: () => undefined };
  const options = readPublishOptions({ own, contentType: undefined, others: () => [] }, context);
  await harness.user.publish([{ destination: url, body: Buffer.from(body), options, callerIp: "203.0.113.7" }]);
  await harness.settle();
}

function figures(harness: MessagingHarness): Readonly<Record<string, number | undefined>> {
  const metrics = new Metrics();
  measureMessaging(metrics, harness.messaging.engine);
  const found: Record<string, number | undefined> = {};
  for (const { name, series } of metrics.snapshot()) {
    const [, own] = /^larder_messaging_workflow_(\w+)$/.exec(name) ?? [];
    if (own === undefined) continue;
    for (const { labelValues, values } of series) found[[own, ...labelValues].join(" ")] = values[0];
  }
  return found;
}

test("counts runs that start and end, and has gauges of running and waiting runs", async () => {
  const harness = await MessagingHarness.start();
  harness.destination = ({ body }) => answered(body.includes(Buffer.from("ill").toString("base64")) ? 489 : 200);
  const { workflows } = harness.user;
  for (const id of ["a", "b", "c", "d"]) await publish(harness, `workflow-init=true; workflow-runid=${id}`, "well");
  await publish(harness, "workflow-init=true; workflow-runid=e; retries=0", "ill");
  await publish(harness, "workflow-runid=a", '{"stepId":1}');
  await workflows.finish("a", Buffer.from("done"));
  await workflows.cancel("b");
  const body = Buffer.from(JSON.stringify({ url, step: { stepId: 1 } }));
  const facts = { headers: [], contentType: undefined, refusalOf: () => undefined };
  await workflows.wait({ eventId: "paid", runId: "c", body, ...facts });

  assert.deepEqual(figures(harness), {
    runs_started_total: 5,
    "runs_ended_total success": 1,
    "runs_ended_total failed": 1,
    "runs_ended_total cancelled": 1,
    steps_delivered_total: 5,
    runs: 2,
    waits: 1,
  });

  harness.restart();
  assert.deepEqual(figures(harness), {
    runs_started_total: 0,
    "runs_ended_total success": 0,
    "runs_ended_total failed": 0,
    "runs_ended_total cancelled": 0,
    steps_delivered_total: 0,
    runs: 2,
    waits: 1,
  });
});

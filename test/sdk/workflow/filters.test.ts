/**
 * Every filter that the types of the official clients have, on each of their lists and bulk changes: it finds what
 * matches, and nothing else. The tables are complete by type, so that a new version of a client cannot add a filter that
 * a list ignores: a program would then see, or cancel, what it did not mean.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Client as MessagingClient } from "@upstash/qstash";
import type { Client } from "@upstash/workflow";
import { Application } from "./application.ts";

const app = new Application();

type Overloads<Method> = Method extends { (request: infer First): unknown; (request: infer Second): unknown }
  ? First | Second
  : never;
type KeyOf<Union> = Union extends unknown ? keyof Union : never;
type FilterOf<Request> = Request extends { filter?: infer Filter } ? Exclude<Filter, undefined> : never;
/** For each filter a value that matches, and one that does not. */
type Values<Filter> = Readonly<Record<Exclude<KeyOf<Filter>, "api">, readonly [matching: unknown, other: unknown]>>;

type RunLogFilter = FilterOf<NonNullable<Parameters<Client["logs"]>[0]>>;
type RunCancelFilter = FilterOf<Overloads<Client["cancel"]>>;
type FailedRunFilter = FilterOf<NonNullable<Parameters<Client["dlq"]["list"]>[0]>>;
type MessageLogFilter = FilterOf<NonNullable<Parameters<MessagingClient["logs"]>[0]>>;
type MessageCancelFilter = FilterOf<Parameters<MessagingClient["messages"]["cancel"]>[0]>;
type DeadLetterFilter = FilterOf<NonNullable<Parameters<MessagingClient["dlq"]["listMessages"]>[0]>>;

const LONG_AGO = new Date(1);
const FAR_AHEAD = new Date(4e12);

const common = {
  fromDate: [LONG_AGO, FAR_AHEAD],
  toDate: [FAR_AHEAD, LONG_AGO],
  callerIp: ["127.0.0.1", "10.9.8.7"],
  label: [["blue", "none"], "red"],
  flowControlKey: [["key"], "other"],
} as const;
const ofUrl = { host: [["app.test"], "b.test"], path: ["/filtered", ["/other", "/"]] } as const;
const url = "http://app.test/filtered";
const ofRun = { workflowUrl: [[url, "http://b.test"], "http://app.test/filter"] } as const;

/** Asserts that each value selects what it should. `count`: how many a filter finds. */
async function assertSelects<Filter>(
  values: Values<Filter>,
  count: (filter: Record<string, unknown>) => Promise<number>,
): Promise<void> {
  for (const [name, [matching, other]] of Object.entries<readonly [unknown, unknown]>(values)) {
    assert.equal(await count({ [name]: other }), 0, `${name}, another value`);
    assert.equal(await count({ [name]: matching }), 1, `${name}, a value that matches`);
  }
}

const flowControl = { key: "key", parallelism: 5 };
const later = { url, delay: "1d" as const, label: ["green", "blue"], flowControl };

test("W.logs.filters: each filter of the client selects runs of the log", async () => {
  const { workflowRunId } = await app.client.trigger(later);
  const { workflowRunCreatedAt, steps } = await app.run(workflowRunId);
  const messageId = String(steps[0]?.steps[0]?.["messageId"]);
  await assertSelects<RunLogFilter>(
    {
      ...{ ...common, ...ofUrl, ...ofRun },
      workflowRunId: [workflowRunId, "wfr_none"],
      workflowCreatedAt: [workflowRunCreatedAt, 1],
      state: ["RUN_STARTED", "RUN_FAILED"],
      messageId: [messageId, "msg_none"],
    },
    async (filter) => (await app.client.logs({ filter } as object)).runs.length,
  );
});

test("W.cancel-many: each filter of the client selects runs to cancel", async () => {
  await assertSelects<RunCancelFilter>(
    { ...common, ...ofUrl, ...ofRun, workflowUrlStartingWith: [["http://app.test/f"], "http://app.test/other"] },
    async (filter) => {
      await app.client.trigger({ ...later, workflowRunId: JSON.stringify(filter).replace(/\W+/g, "-") });
      const { cancelled } = await app.client.cancel({ filter } as object as Parameters<Client["cancel"]>[0]);
      await app.client.cancel({ all: true } as object as Parameters<Client["cancel"]>[0]);
      return cancelled;
    },
  );
});

test("C5: each filter of the client selects failed runs", async () => {
  app.route("filtered", async () => new Response("no workflow"));
  const failureUrl = app.route("failure", async () => new Response());
  const { workflowRunId } = await app.client.trigger({ ...later, delay: 0, retries: 0, failureUrl });
  const { workflowRunCreatedAt } = await app.until(
    workflowRunId,
    ({ failureFunction }) => failureFunction?.state === "CALLBACK_SUCCESS",
  );
  await assertSelects<FailedRunFilter>(
    {
      ...{ ...common, ...ofRun },
      url: [url, "http://app.test/filter"],
      workflowRunId: [workflowRunId, "wfr_none"],
      workflowCreatedAt: [workflowRunCreatedAt, 1],
      failureFunctionState: ["CALLBACK_SUCCESS", "CALLBACK_FAIL"],
      responseStatus: [200, 500],
    },
    async (filter) => (await app.client.dlq.list({ filter } as object)).messages.length,
  );
});

const ofMessage = {
  url: [[url], "http://app.test/filter"],
  urlGroup: [["group"], "other"],
  scheduleId: [["scheduled"], "other"],
  queueName: [["queue"], "other"],
} as const;

/** Publishes a message that has every property; returns its id. */
async function publishOfSchedule(options: object): Promise<string> {
  const { urlGroups, schedules } = app.messagingClient;
  await urlGroups.addEndpoints({ name: "group", endpoints: [{ url }] });
  const { label } = later;
  const schedule = { destination: "group", cron: "0 0 1 1 *", scheduleId: "scheduled", queueName: "queue" };
  await schedules.create({ ...schedule, label, flowControl, ...options });
  const { json } = await app.send("POST /v2/schedules/scheduled/run");
  return (json as readonly { messageId: string }[])[0]?.messageId ?? "";
}

test("C6: each filter of the client selects log entries", async () => {
  const messageId = await publishOfSchedule({ delay: "1d" });
  await assertSelects<Omit<MessageLogFilter, "count">>(
    {
      ...{ ...common, ...ofUrl, ...ofMessage },
      topicName: ["group", "other"],
      messageId: [messageId, "msg_none"],
      state: ["CREATED", "DELIVERED"],
    },
    async (filter) => (await app.messagingClient.logs({ filter } as object)).logs.length,
  );
});

test("C.messages.cancel-many: each filter of the client selects messages to cancel", async () => {
  await assertSelects<MessageCancelFilter>({ ...common, ...ofUrl, ...ofMessage }, async (filter) => {
    await publishOfSchedule({ delay: "1d" });
    type Request = Parameters<MessagingClient["messages"]["cancel"]>[0];
    const { cancelled } = await app.messagingClient.messages.cancel({ filter } as object as Request);
    await app.messagingClient.messages.cancel({ all: true });
    return cancelled;
  });
});

test("C.dlq.list: each filter of the client selects dead letters", async () => {
  app.route("filtered", async () => new Response("", { status: 418 }));
  const messageId = await publishOfSchedule({ retries: 0 });
  const find = async (filter: object) => (await app.messagingClient.dlq.listMessages({ filter })).messages.length;
  for (let look = 0; look < 10_000 && (await find({})) === 0; look += 1);
  await assertSelects<DeadLetterFilter>(
    { ...common, ...ofMessage, messageId: [messageId, "msg_none"], responseStatus: [[418], 500] },
    find,
  );
});

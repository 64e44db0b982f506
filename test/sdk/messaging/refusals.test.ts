/** Refusals in the official client: the server's texts in its errors, its classes for 429, the read-only token. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, QstashDailyRatelimitError, QstashError, QstashRatelimitError, upstash } from "@upstash/qstash";
import { start } from "../../../src/mod.ts";
import { type Served, testMethods } from "./served.ts";

const served: Served = testMethods("Refusals", [
  [
    ["workflow.cancel"],
    "a missing run cannot be cancelled",
    async (client) => {
      await assert.rejects(client.workflow.cancel("wfr_1"), {
        name: "QstashError",
        status: 404,
        message: '{"error":"workflow run wfr_1 not found"}',
      });
    },
  ],
]);

const url = "https://a.test";

const refusals: readonly (readonly [
  name: string,
  run: (client: Client) => Promise<unknown>,
  status: number,
  text: string | RegExp,
])[] = [
  [
    "a destination that is neither a URL nor a group",
    (client) => client.publish({ urlGroup: "nobody" }),
    400,
    "Invalid destination: there is no URL group nobody, and a URL starts with http:// or https://",
  ],
  [
    "the vendor's model service, which was discontinued",
    (client) =>
      client.publishJSON({ api: { name: "llm", provider: upstash() }, body: {}, callback: "https://callback.test/" }),
    400,
    'Invalid destination: "api/llm": there are no built-in destinations; publish to the URL of the service itself',
  ],
  [
    "the same through a queue",
    (client) =>
      client
        .queue({ queueName: "queue" })
        .enqueueJSON({ api: { name: "llm", provider: upstash() }, body: {}, callback: "https://callback.test/" }),
    400,
    'Invalid destination: "api/llm": there are no built-in destinations; publish to the URL of the service itself',
  ],
  [
    "the same in a batch, which is not stored",
    (client) =>
      client.batchJSON([
        { url, body: {} },
        { api: { name: "llm", provider: upstash() }, body: {}, callback: "https://callback.test/" },
      ]),
    400,
    'Message 1 of the batch: Invalid destination: "api/llm": there are no built-in destinations; publish to the URL of the service itself',
  ],
  [
    "a chat completion",
    (client) =>
      client.chat().create({
        provider: upstash(),
        model: "meta-llama/Meta-Llama-3-8B-Instruct",
        messages: [{ role: "user", content: "?" }],
      }),
    501,
    "Chat completions are not implemented: publish to the URL of the service itself",
  ],
  [
    "more retries than the limit",
    (client) => client.publish({ url, retries: 1_000_000 }),
    412,
    'Retries "1000000" is above the limit of 1000 retries',
  ],
  [
    "more retries than the limit in a batch, which is not stored",
    (client) => client.batch([{ url }, { url, retries: 1_000_000 }]),
    412,
    'Message 1 of the batch: Retries "1000000" is above the limit of 1000 retries',
  ],
  [
    "an invalid expression",
    (client) => client.publish({ url, retryDelay: "while(1)" }),
    400,
    /^Invalid value for Retry-Delay: "while\(1\)": /,
  ],
  [
    "a queue name with a blank",
    (client) => client.queue({ queueName: "a b" }).upsert({ parallelism: 1 }),
    400,
    /^Invalid value for queueName: "a b": /,
  ],
  [
    "an unknown filter of a cancel",
    (client) => client.messages.cancel({ filter: { labeel: "x" } as never }),
    400,
    "Unknown filter: labeel",
  ],
  [
    "host and path of dead letters",
    (client) => client.dlq.listMessages({ filter: { host: "a.test" } as never }),
    400,
    "Unknown filter: dead letters cannot be listed by host",
  ],
  [
    "a cron expression that never fires",
    (client) => client.schedules.create({ destination: url, cron: "0 0 30 2 *" }),
    400,
    /^Invalid value for Cron: "0 0 30 2 \*": /,
  ],
  [
    "a schedule id with a slash",
    (client) => client.schedules.create({ destination: url, cron: "@daily", scheduleId: "a/b" }),
    400,
    /^Invalid value for Schedule-Id: "a\/b": /,
  ],
  [
    "a pin with a rate of zero",
    (client) => client.flowControl.pin("key", { rate: 0 }),
    400,
    'Invalid rate "0": give a whole number from 1 to 1000000000',
  ],
  ["an unknown message", (client) => client.messages.get("msg_1"), 404, "message msg_1 not found"],
  ["an unknown schedule", (client) => client.schedules.get("s"), 404, "schedule s not found"],
  ["a pause of one", (client) => client.schedules.pause({ schedule: "s" }), 404, "schedule s not found"],
];

for (const [name, run, status, text] of refusals) {
  test(`${name} is a QstashError with the text of the server`, async () => {
    const client = served.client();

    await assert.rejects(run(client), (error) => {
      assert.ok(error instanceof QstashError, String(error));
      assert.equal(error.status, status);
      const { error: actual, ...rest } = JSON.parse(error.message);
      assert.deepEqual(rest, {});
      if (typeof text === "string") assert.equal(actual, text);
      else assert.match(actual, text);
      return true;
    });
    assert.deepEqual((await client.logs()).logs, []);
  });
}

test("a wrong token is refused", async () => {
  const client = served.client({}, "wrong");
  await assert.rejects(client.publish({ url }), {
    name: "QstashError",
    status: 401,
    message: '{"error":"Missing or invalid token: send it as Authorization: Bearer <token>"}',
  });
});

test("C-20: a read-only token reads, and changes nothing", async () => {
  const client = served.client();
  const { messageId } = await client.publish({ url, delay: "1h" });
  const reader = served.client({}, served.larder.messaging.readOnlyToken);
  const refused = { name: "QstashError", status: 403, message: '{"error":"A read-only token may only read"}' };

  assert.equal((await reader.messages.get(messageId)).url, url);
  assert.equal((await reader.logs()).logs.length, 1);
  assert.deepEqual(await reader.queue().list(), []);
  assert.deepEqual(await reader.schedules.list(), []);
  assert.deepEqual(await reader.urlGroups.list(), []);
  assert.deepEqual((await reader.dlq.listMessages()).messages, []);
  const changes: readonly (() => Promise<unknown>)[] = [
    () => reader.publish({ url }),
    () => reader.batch([{ url }]),
    () => reader.queue({ queueName: "queue" }).enqueue({ url }),
    () => reader.queue({ queueName: "queue" }).upsert({ parallelism: 1 }),
    () => reader.messages.cancel(messageId),
    () => reader.messages.cancel({ all: true }),
    () => reader.dlq.delete({ all: true }),
    () => reader.dlq.retry({ all: true }),
    () => reader.schedules.create({ destination: url, cron: "@daily" }),
    () => reader.urlGroups.addEndpoints({ name: "group", endpoints: [{ url }] }),
    () => reader.flowControl.pause("key"),
  ];
  for (const change of changes) await assert.rejects(change(), refused);
  assert.equal((await client.logs()).logs.length, 1);
});

test("too many requests per second raise the client's error for bursts, and publishing is not counted", async () => {
  await using limited = await start({ rateLimit: 1 });
  const { url: baseUrl, token } = limited.messaging;
  const client = new Client({ baseUrl, token, retry: false, devMode: false });
  for (let i = 0; i < 5; i += 1) await client.publish({ url, delay: "1h" });

  const all = await Promise.allSettled(Array.from({ length: 4 }, () => client.schedules.list()));

  const refused = all.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
  assert.ok(refused?.reason instanceof QstashRatelimitError, String(refused?.reason));
  const { limit, remaining, reset } = refused.reason;
  assert.deepEqual([limit, remaining], ["1", "0"]);
  assert.ok(Number(reset) > 1.7e9);
});

test("C.limits.daily: messages above the daily limit raise the client's error for it, and a batch is refused as a whole", async () => {
  await using limited = await start({ dailyMessageLimit: 2 });
  const { url: baseUrl, token } = limited.messaging;
  const client = new Client({ baseUrl, token, retry: false, devMode: false });
  await client.publish({ url, delay: "1h" });

  const batch = client.batch([
    { url, delay: "1h" },
    { url, delay: "1h" },
  ]);

  await assert.rejects(batch, (error) => {
    assert.ok(error instanceof QstashDailyRatelimitError, String(error));
    assert.equal(error.limit, "2");
    return true;
  });
  await client.publish({ url, delay: "1h" });
  await assert.rejects(client.publish({ url, delay: "1h" }), { name: "QstashDailyRatelimitError", remaining: "0" });
});

test("a client made from the printed variables works", async () => {
  const names = ["QSTASH_URL", "QSTASH_TOKEN"] as const;
  for (const name of names) process.env[name] = served.larder.env[name];
  try {
    const client = new Client({ devMode: false });
    assert.equal((await client.publish({ url })).url, url);
  } finally {
    for (const name of names) delete process.env[name];
  }
});

test("C.options.ignored: a client with telemetry disabled works, and telemetry headers are not forwarded", async () => {
  const silent = served.client({ enableTelemetry: false });
  await silent.publish({ url, body: "silent" });
  await served.client().publish({ url, body: "telling" });
  const names = (await served.destination.arrived(2)).flatMap(({ headers }) => Object.keys(headers));
  assert.deepEqual(
    names.filter((name) => name.includes("telemetry")),
    [],
  );
});

/** The requests of the messaging clients in Go and Python, in their exact bytes, with answers that their parsers read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliveryResult } from "../../../src/messaging/delivery/delivery.ts";
import { answered } from "../../harness/messaging-harness.ts";
import { type MessagingServer, startMessagingServer } from "../../harness/messaging-server.ts";
import { problemsOf } from "./client-rows.ts";
import { messagingGo } from "./messaging-go.ts";
import { messagingPython } from "./messaging-python.ts";

/** The headers that the HTTP library of the language adds to each request. */
const clients = {
  "qstash-go": { rows: messagingGo, headers: ["User-Agent", "Go-http-client/1.1", "Accept-Encoding", "gzip"] },
  "qstash-py": {
    rows: messagingPython,
    headers: ["Accept", "*/*", "Accept-Encoding", "gzip, deflate", "User-Agent", "python-httpx/0.27.0"],
  },
} as const;

for (const [name, { rows, headers }] of Object.entries(clients))
  test(`C.readiness, C.batch: ${name}: each request is served, and the client can read its answer`, async () => {
    await using server = await startMessagingServer();
    await failTwo(server);
    assert.deepEqual(await problemsOf(rows, (line, sent) => server.send(line, sent), headers), []);
  });

/** Two dead letters: one with every option that a client reads, and one with bodies that are not text. */
async function failTwo(server: MessagingServer): Promise<void> {
  server.destination = ({ url, headers }) =>
    url.startsWith("https://fails.test") ? failure(headers.has("x-bytes") ? BYTES : Buffer.from("no")) : answered(200);
  await server.publish("https://fails.test", { headers: everyOption, body: "x" });
  await server.publish("https://fails.test", {
    headers: ["Upstash-Retries", "0", "Upstash-Forward-X-Bytes", "1"],
    body: BYTES,
  });
  await server.advance(0);
}

const BYTES = Buffer.from([0xff, 0x00]);

function failure(body: Buffer): DeliveryResult {
  return { kind: "answer", status: 500, headers: ["X-Why", "a", "X-Why", "b"], body };
}

const everyOption = [
  ...["Upstash-Retries", "0", "Upstash-Retry-Delay", "1000", "Upstash-Timeout", "30s", "Upstash-Label", "label"],
  ...["Upstash-Callback", "https://callback.test", "Upstash-Callback-Forward-A", "b"],
  ...["Upstash-Failure-Callback", "https://failure.test", "Upstash-Failure-Callback-Forward-A", "b"],
  ...["Upstash-Flow-Control-Key", "failed", "Upstash-Flow-Control-Value", "parallelism=1, rate=5, period=1m"],
];

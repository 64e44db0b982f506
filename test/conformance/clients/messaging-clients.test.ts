/** The requests of the messaging clients in Go and Python, in their exact bytes, with answers that their parsers read. */
import assert from "node:assert/strict";
import { test } from "node:test";
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

/** Two dead letters. */
async function failTwo(server: MessagingServer): Promise<void> {
  server.destination = () => ({ kind: "answer", status: 500, headers: [], body: Buffer.from("no") });
  for (let count = 0; count < 2; count += 1)
    await server.publish("https://fails.test", { headers: ["Upstash-Retries", "0"] });
  await server.advance(0);
}

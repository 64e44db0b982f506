/**
 * The requests of the rate limiter in Python, in their exact bytes. The commands of the client that it sends them by are in
 * `test/sdk/python/`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sendLine } from "../../harness/send-line.ts";
import { startServer, TOKEN } from "../../harness/server.ts";
import { problemsOf } from "./client-rows.ts";
import { ratelimitPython } from "./ratelimit-python.ts";

/** The headers that the clients and their HTTP library add to each request. */
const headers = [
  ...["Accept", "*/*", "Accept-Encoding", "gzip, deflate", "User-Agent", "python-httpx/0.28.1"],
  ...["Content-Type", "application/json", "Upstash-Encoding", "base64", "Upstash-Sync-Token", ""],
  ...["Upstash-Telemetry-Sdk", "py-upstash-redis@v1.7.0, py-upstash-ratelimit@v1.1.0"],
];

test("ratelimit-py: each request is served, and the client can read its answer", async () => {
  await using server = await startServer();

  const problems = await problemsOf(
    ratelimitPython,
    (line, sent) => sendLine(server.url, line, { token: TOKEN, ...sent }),
    headers,
  );

  assert.deepEqual(problems, []);
});

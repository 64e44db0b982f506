/**
 * The requests of the workflow clients in Python and Go, in their exact bytes, with answers that their parsers read. After
 * each request of Python, its endpoint reads the delivery that follows.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { answered, type Destination } from "../../harness/messaging-harness.ts";
import { startMessagingServer } from "../../harness/messaging-server.ts";
import { problemsOf } from "./client-rows.ts";
import { workflowGo } from "./workflow-go.ts";
import { clientPython, failurePython, runPython } from "./workflow-python.ts";
import { readDelivery } from "./workflow-python-serve.ts";

const ENDPOINT = "https://app.test/run";

/** The headers that the HTTP library of the language adds to each request. */
const httpx = ["Accept", "*/*", "Accept-Encoding", "gzip, deflate", "User-Agent", "python-httpx/0.27.0"];
const netHttp = ["User-Agent", "Go-http-client/1.1", "Accept-Encoding", "gzip"];

const json = ["Content-Type", "application/json"];
const sdk = ["Upstash-Workflow-Sdk-Version", "1"];

/** A workflow, and a third party. */
const works: Destination = ({ url }) =>
  url.startsWith(ENDPOINT) ? answered(200, sdk, '{"workflowRunId": "wfr_1"}') : answered(200, json, '{"ok": true}');

/** The same, and a workflow that fails. */
const worksAndFails: Destination = (call) =>
  call.url.startsWith("https://fails.test") ? answered(500, sdk, "no") : works(call);

/** The failure function works. */
const fails: Destination = ({ headers }) =>
  headers.has("upstash-workflow-is-failure")
    ? answered(200, sdk, "{}")
    : answered(500, json, '{"error": "ValueError", "message": "boom"}');

const python = [
  ["a run", runPython, works],
  ["its client", clientPython, works],
  ["a run that fails", failurePython, fails],
] as const;

for (const [what, rows, destination] of python)
  test(`workflow-py: ${what}: each request is served, and the endpoint can read the delivery that follows`, async () => {
    await using server = await startMessagingServer();
    server.destination = destination;
    for (const row of rows) {
      assert.deepEqual(await problemsOf([row], (line, sent) => server.send(line, sent), httpx), []);
      await server.advance(row.afterMs ?? 0);
      if (row.delivery === undefined) continue;
      const call = server.calls.findLast(({ url }) => url === ENDPOINT);
      assert.ok(call, row.call);
      assert.deepEqual(readDelivery(call), row.delivery, row.call);
      for (const name of ["host", "connection", "content-length"])
        assert.equal(call.headers.has(name), false, `${row.call}: ${name} of another request`);
    }
  });

test("workflow-go: each request is served, and the client can read its answer", async () => {
  await using server = await startMessagingServer();
  server.destination = worksAndFails;
  const send: Parameters<typeof problemsOf>[1] = async (line, sent) => {
    const reply = await server.send(line, sent);
    await server.advance(0);
    return reply;
  };
  assert.deepEqual(await problemsOf(workflowGo, send, netHttp), []);
});

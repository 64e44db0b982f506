/** The requests of the vector client in Python, in their exact bytes, with answers that its parser reads. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer } from "../../harness/vector-server.ts";
import { problemsOf } from "./client-rows.ts";
import { vectorPython } from "./vector-python.ts";

test("vector-py: each request is served, and the client can read its answer", async () => {
  await using server = await startVectorServer();
  const headers = [
    ...["Accept", "*/*", "Accept-Encoding", "gzip, deflate", "User-Agent", "python-httpx/0.28.1"],
    ...["Upstash-Telemetry-Sdk", "upstash-vector-py@v0.4.0", "Upstash-Telemetry-Runtime", "python@v3.13.1"],
  ];

  const problems = await problemsOf(vectorPython, (line, sent) => server.send(line, sent), headers);

  assert.deepEqual(problems, []);
});

/** The requests of the vector clients in Python, Go and PHP, in their exact bytes, with answers that their parsers read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer } from "../../harness/vector-server.ts";
import { problemsOf } from "./client-rows.ts";
import { vectorGo, vectorPhp } from "./vector-go-php.ts";
import { vectorPython } from "./vector-python.ts";

/** The headers that the client and its HTTP library add to each request. */
const clients = {
  "vector-py": {
    rows: vectorPython,
    headers: [
      ...["Accept", "*/*", "Accept-Encoding", "gzip, deflate", "User-Agent", "python-httpx/0.28.1"],
      ...["Upstash-Telemetry-Sdk", "upstash-vector-py@v0.4.0", "Upstash-Telemetry-Runtime", "python@v3.13.1"],
    ],
  },
  "vector-go": { rows: vectorGo, headers: ["User-Agent", "Go-http-client/1.1", "Accept-Encoding", "gzip"] },
  "vector-php": { rows: vectorPhp, headers: ["User-Agent", "GuzzleHttp/7", "Upstash-Telemetry-Runtime", "php"] },
} as const;

for (const [name, { rows, headers }] of Object.entries(clients))
  test(`${name}: each request is served, and the client can read its answer`, async () => {
    await using server = await startVectorServer();

    const problems = await problemsOf(rows, (line, sent) => server.send(line, sent), headers);

    assert.deepEqual(problems, []);
  });

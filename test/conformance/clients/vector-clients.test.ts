/** The requests of the vector clients in Python, Go and PHP, in their exact bytes, with answers that their parsers read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startVectorServer } from "../../harness/vector-server.ts";
import { problemsOf } from "./client-rows.ts";
import { vectorGo, vectorPhp } from "./vector-go-php.ts";
import { vectorPython } from "./vector-python.ts";
import { vectorGoTexts, vectorPhpTexts, vectorPythonTexts } from "./vector-texts.ts";

/** The headers that the client and its HTTP library add to each request. */
const clients = {
  "vector-py": {
    rows: vectorPython,
    texts: vectorPythonTexts,
    headers: [
      ...["Accept", "*/*", "Accept-Encoding", "gzip, deflate", "User-Agent", "python-httpx/0.28.1"],
      ...["Upstash-Telemetry-Sdk", "upstash-vector-py@v0.4.0", "Upstash-Telemetry-Runtime", "python@v3.13.1"],
    ],
  },
  "vector-go": {
    rows: vectorGo,
    texts: vectorGoTexts,
    headers: ["User-Agent", "Go-http-client/1.1", "Accept-Encoding", "gzip"],
  },
  "vector-php": {
    rows: vectorPhp,
    texts: vectorPhpTexts,
    headers: ["User-Agent", "GuzzleHttp/7", "Upstash-Telemetry-Runtime", "php"],
  },
} as const;

const withModels = { type: "HYBRID", dimension: 4, denseModel: "DRAWN", sparseModel: "DRAWN" } as const;

for (const [name, { rows, texts, headers }] of Object.entries(clients))
  test(`${name}: each request is served, and the client can read its answer`, async () => {
    for (const [table, definition] of [
      [rows, {}],
      [texts, withModels],
    ] as const) {
      await using server = await startVectorServer(definition);

      const problems = await problemsOf(table, (line, sent) => server.send(line, sent), headers);

      assert.deepEqual(problems, []);
    }
  });

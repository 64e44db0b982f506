/**
 * Every command of the official Python client in each of its ways of calling: as single requests, in its pipelines and
 * in its transactions. The tables have what its caller gets.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer, type TestServer } from "../../harness/server.ts";
import { isRaised, type Row, resultOf } from "./client.ts";
import { collectionFamilies } from "./collections.ts";
import { valueFamilies } from "./values.ts";

/** The client sends these with each request, unless it is told not to. */
const headers = {
  "Upstash-Encoding": "base64",
  "Upstash-Telemetry-Sdk": "py-upstash-redis@v1.7.0",
  "Upstash-Telemetry-Runtime": "python@v3.13.1",
  "Upstash-Telemetry-Platform": "unknown",
  "Upstash-Telemetry-Retry": "0",
  "Upstash-Sync-Token": "",
  "Content-Type": "application/json",
};

/** Sends the requests in one way, and returns an answer for each. */
type Way = (server: TestServer, requests: readonly string[]) => Promise<readonly unknown[]>;

async function post(server: TestServer, path: string, body: string): Promise<unknown> {
  const reply = await server.send(path, { method: "POST", headers, body });
  assert.notEqual(reply.headers["upstash-sync-token"], undefined);
  return reply.json;
}

function batch(path: string): Way {
  return async (server, requests) => {
    const answers = await post(server, path, `[${requests.join(",")}]`);
    assert.ok(Array.isArray(answers), JSON.stringify(answers));
    return answers;
  };
}

const ways: Readonly<Record<string, Way>> = {
  "single requests": async (server, requests) => {
    const answers: unknown[] = [];
    for (const request of requests) answers.push(await post(server, "/", request));
    return answers;
  },
  "a pipeline": batch("/pipeline"),
  "a transaction": batch("/multi-exec"),
};

function shown(request: string, answer: unknown): unknown {
  try {
    return resultOf(JSON.parse(request) as unknown[], answer);
  } catch (error) {
    if (error instanceof assert.AssertionError || !(error instanceof Error)) throw error;
    return error;
  }
}

for (const [family, rows] of Object.entries({ ...valueFamilies, ...collectionFamilies }))
  for (const [way, send] of Object.entries(ways))
    test(`Python: ${family}: every command, in ${way}`, async () => {
      await using server = await startServer();
      // A refused command would end the whole transaction; the single requests show it.
      const sent = way === "a transaction" ? rows.filter(([, result]) => !isRaised(result) || !result.isRefused) : rows;
      const answers =
        sent.length === 0
          ? []
          : await send(
              server,
              sent.map(([request]) => request),
            );

      assert.equal(answers.length, sent.length);
      for (const [index, row] of sent.entries()) check(row, shown(row[0], answers[index]));
    });

function check([request, expected]: Row, result: unknown): void {
  if (!isRaised(expected)) {
    assert.deepEqual(result, expected, request);
    return;
  }
  assert.ok(result instanceof Error, request);
  assert.equal(result.message.slice(0, expected.startsWith.length), expected.startsWith, request);
}

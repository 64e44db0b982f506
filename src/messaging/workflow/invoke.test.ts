import assert from "node:assert/strict";
import { test } from "node:test";
import { readInvoke } from "./invoke.ts";

const fields = { workflowRunId: "wfr_1", workflowUrl: "https://a.test/", step: { stepId: 1 } };

function read(body: unknown) {
  return readInvoke(Buffer.from(JSON.stringify(body)));
}

test("W.invoke: larder's own headers are kept for the result, and others are not", () => {
  const headers = { "Upstash-Retries": ["2"], "Content-Type": ["text/plain"], "X A": ["not sent"] };
  assert.deepEqual(read({ ...fields, headers, body: { a: 1 } }), {
    invoker: {
      ...{ runId: "wfr_1", url: "https://a.test/", createdAtMs: 0, step: { stepId: 1 } },
      headers: ["retries", "2", "content-type", "text/plain"],
    },
    body: Buffer.from('{"a":1}'),
  });
});

test("rejects a header of an invoke that no message could have, with its field", () => {
  for (const [headers, text] of [
    [[], "Invalid value for headers: it must be an object"],
    [{ "Upstash-Retries": [2] }, "Invalid value for headers.Upstash-Retries: it must be a list of strings"],
    [{ "Upstash-Retries": ["x"] }, 'In headers: Invalid value for Retries: "x": use a whole number, 0 or more'],
    [{ "Upstash-Forward-X A": ["1"] }, 'In headers: Invalid header name: "Upstash-Forward-X A"'],
    [
      { "Upstash-Forward-X-A": ["1\r\nb: c"] },
      "In headers: Invalid value for the header X-A: control characters and characters outside Latin-1 are not allowed",
    ],
  ] as const)
    assert.throws(() => read({ ...fields, headers }), { kind: "bad request", text }, text);
});

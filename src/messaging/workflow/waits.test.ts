/** Requests of runs to wait, and the results of waits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readWait, waitResult } from "./waits.ts";

function read(body: unknown) {
  return readWait({
    eventId: "paid",
    runId: "wfr_1",
    headers: ["workflow-runid", "wfr_1"],
    contentType: "application/json",
    body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    refusalOf: ({ hostname }) => (hostname === "refused.test" ? "It is refused" : undefined),
  });
}

const step = { stepId: 3, stepName: "hold" };
const url = "https://a.test/";
const headers = ["content-type", "application/json", "workflow-runid", "wfr_1"];

test("W.wait: missing options of a time-out come from the event", () => {
  assert.deepEqual(read({ url, step }), {
    waiter: {
      eventId: "paid",
      runId: "wfr_1",
      timeout: "7d",
      url,
      headers,
      timeoutUrl: url,
      timeoutHeaders: headers,
      step,
    },
    timeoutMs: 604_800_000,
  });
});

test("durations are texts with units or a number of seconds", () => {
  for (const [timeout, ms] of [
    ["90s", 90_000],
    ["1d2h", 93_600_000],
    [5, 5_000],
    ["1.5", 1_500],
  ] as const) {
    assert.equal(read({ url, step, timeout }).timeoutMs, ms, String(timeout));
  }
});

test("rejects an invalid field with its name", () => {
  for (const [body, text] of [
    ["[]", "The body of a wait must be a JSON object with url, step and timeout"],
    ["{", "The body of a wait must be a JSON object with url, step and timeout"],
    [{ step }, "Invalid value for url: it must be a URL that starts with http:// or https://"],
    [{ url: "ftp://a.test", step }, "Invalid value for url: it must be a URL that starts with http:// or https://"],
    [{ url: "https://refused.test", step }, "Invalid value for url: It is refused"],
    [{ url, step: 1 }, "Invalid value for step: it must be an object"],
    [{ url, step, timeout: "soon" }, "Invalid value for timeout: it must be a duration such as 90s or 1d2h"],
    [
      { url, step, timeoutUrl: 1 },
      "Invalid value for timeoutUrl: it must be a URL that starts with http:// or https://",
    ],
    [
      { url, step, timeoutHeaders: { "Upstash-A": [1] } },
      "Invalid value for timeoutHeaders.Upstash-A: it must be a list of strings",
    ],
    [{ url, step, timeoutHeaders: { "X A": ["1"] } }, 'In timeoutHeaders: Invalid header name: "X A"'],
    [
      { url, step, timeoutHeaders: { "Upstash-Forward-X A": ["1"] } },
      'In timeoutHeaders: Invalid header name: "Upstash-Forward-X A"',
    ],
    [
      { url, step, timeoutHeaders: { "X-A": ["a\r\nb"] } },
      "In timeoutHeaders: Invalid value for the header X-A: control characters and characters outside Latin-1 are not allowed",
    ],
    [
      { url, step, timeoutHeaders: { "Upstash-Retries": ["x"] } },
      'In timeoutHeaders: Invalid value for Retries: "x": use a whole number, 0 or more',
    ],
  ] as const) {
    assert.throws(() => read(body), { kind: "bad request", text }, text);
  }
});

test("an event is reported as base64, a time-out by a flag", () => {
  const { waiter } = read({ url, step });
  const record = { ...waiter, number: 1, createdAtMs: 0, deadlineMs: 0 };
  assert.equal(
    waitResult(record, Buffer.from("yes")).toString(),
    '{"stepId":3,"stepName":"hold","waitEventId":"paid","out":"eWVz"}',
  );
  assert.equal(
    waitResult(record, undefined).toString(),
    '{"stepId":3,"stepName":"hold","waitEventId":"paid","waitTimeout":true}',
  );
});

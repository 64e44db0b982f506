import assert from "node:assert/strict";
import { test } from "node:test";
import { otherHeaders, readMessagingHead, traceOfRequest, withDefaults } from "./head.ts";

test("reads our headers without prefix, in either spelling and any case", () => {
  assert.deepEqual(
    readMessagingHead([
      "Host",
      "larder.test",
      "authorization",
      "Bearer t",
      "Upstash-Retries",
      "2",
      "UPSTASH-Forward-X-Team",
      "a",
      "Content-Type",
      "text/plain",
      "Upstash-Forward-X-Team",
      "b",
      "Origin",
      "http://page.test",
      "Upstash-",
      "nothing",
      "Traceparent",
      "00-a",
      "tracestate",
      "a=1",
      "TraceState",
      "b=2",
    ]),
    {
      authorization: "Bearer t",
      contentType: "text/plain",
      traceParent: "00-a",
      traceState: "a=1,b=2",
      own: ["retries", "2", "forward-x-team", "a", "forward-x-team", "b"],
    },
  );
});

test("H.prefixes: Service- wins over the other spelling", () => {
  const { own } = readMessagingHead([
    "Upstash-Retries",
    "1",
    "Service-Retries",
    "2",
    "Upstash-Delay",
    "5s",
    "Upstash-Forward-A",
    "u",
    "Service-Forward-A",
    "s",
  ]);
  assert.deepEqual(own, ["retries", "2", "forward-a", "s", "delay", "5s"]);
});

test("reads values in UTF-8 as text, and leaves headers for destinations as bytes", () => {
  const { own } = readMessagingHead([
    "Upstash-Label",
    "\xc3\xa9",
    "Upstash-Deduplication-Id",
    "\xe9",
    "Upstash-Forward-A",
    "\xc3\xa9",
    "Upstash-Callback-Forward-A",
    "\xc3\xa9",
  ]);
  assert.deepEqual(own, [
    "label",
    "é",
    "deduplication-id",
    "é",
    "forward-a",
    "\xc3\xa9",
    "callback-forward-a",
    "\xc3\xa9",
  ]);
});

test("defaults add missing names", () => {
  assert.deepEqual(withDefaults(["a", "1", "a", "2"], ["a", "3", "b", "4", "b", "5"]), [
    "a",
    "1",
    "a",
    "2",
    "b",
    "4",
    "b",
    "5",
  ]);
  assert.deepEqual(withDefaults([], ["a", "1"]), ["a", "1"]);
  assert.deepEqual(withDefaults(["a", "1"], []), ["a", "1"]);
});

test("C-12: the other headers exclude ours, Content-Type, those in Connection, and our token", () => {
  const rawHeaders = [
    "Authorization",
    "Bearer t",
    "Content-Type",
    "a/b",
    "Connection",
    "close, X-Hop",
    "X-Hop",
    "1",
    "Service-Retries",
    "1",
    "upstash-label",
    "l",
    "Cookie",
    "c=1",
    "X-A",
    "2",
  ];
  assert.deepEqual(otherHeaders(rawHeaders, true), ["connection", "close, X-Hop", "cookie", "c=1", "x-a", "2"]);
  assert.deepEqual(otherHeaders(rawHeaders, false).slice(0, 2), ["authorization", "Bearer t"]);
});

test("the trace of a request is the span of its listener, or from its headers", () => {
  const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const head = readMessagingHead(["traceparent", parent, "tracestate", "a=1"]);
  assert.deepEqual(traceOfRequest({}, head), { parent, state: "a=1" });
  const trace = { parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00000000000000aa-01" };
  assert.deepEqual(traceOfRequest({ trace }, head), trace);
  assert.equal(traceOfRequest({}, readMessagingHead([])), undefined);
});

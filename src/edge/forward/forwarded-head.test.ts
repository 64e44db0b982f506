import assert from "node:assert/strict";
import { test } from "node:test";
import { endToEnd, forwardedHeaders, PROBE, probeOf, readForwarded, withoutForwarded } from "./forwarded-head.ts";

test("the header of a forwarded request has the address of its client", () => {
  const headers = forwardedHeaders(["Host", "a"], { address: "2001:db8::7", port: 4_711 });
  assert.deepEqual(headers, ["Host", "a", "Larder-Forwarded", "2;4711;2001:db8::7"]);
  assert.deepEqual(readForwarded("2;4711;2001:db8::7"), { address: "2001:db8::7", port: 4_711 });
  assert.deepEqual(readForwarded("2;9;192.0.2.7"), { address: "192.0.2.7", port: 9 });
  assert.deepEqual(readForwarded("2;0;probe"), PROBE);
  assert.deepEqual(readForwarded("2;12;probe"), probeOf(12));
});

test("a header of another form names no client", () => {
  for (const value of [
    undefined,
    "",
    "2",
    "1;4711;192.0.2.7",
    "2;;192.0.2.7",
    "2;123456;192.0.2.7",
    "2;9;192.0.2.7;",
    "2;9;192.0.2.7, 2;9;192.0.2.8;",
    `2;9;${"a".repeat(65)}`,
  ])
    assert.equal(readForwarded(value), undefined, String(value));
});

test("headers of one connection, and the header of a forwarded request, do not pass through a node", () => {
  const rawHeaders = [
    ...["Host", "a", "connection", "close, X-Own", "X-Own", "1", "Keep-Alive", "timeout=5", "TE", "trailers"],
    ...["Transfer-Encoding", "chunked", "Content-Length", "3", "Upgrade", "h2c", "Expect", "100-continue"],
    ...["Larder-Forwarded", "2;9;192.0.2.7", "Accept", "*/*"],
  ];
  assert.deepEqual(endToEnd(rawHeaders), ["Host", "a", "Accept", "*/*"]);
});

test("the area does not see the header of a forwarded request", () => {
  const rawHeaders = ["Host", "a", "LARDER-Forwarded", "2;9;192.0.2.7", "larder-forwardee", "1"];
  assert.deepEqual(withoutForwarded(rawHeaders), ["Host", "a", "larder-forwardee", "1"]);
});

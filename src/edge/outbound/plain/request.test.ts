import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutboundCall } from "../call.ts";
import { isPlainCall, plainRequest } from "./request.ts";

const call: OutboundCall = {
  user: "main",
  url: "http://a.test/",
  method: "POST",
  headers: ["X-Name", "caf\xe9", "x-name", ""],
  body: Buffer.from([0xff, 0]),
  timeoutMs: 1_000,
};

test("writes head and body of an ordinary request, in Latin-1", () => {
  assert.ok(isPlainCall(call, "/a?b"));
  const { text, body } = plainRequest(call, "/a?b", "a.test:8080");
  assert.equal(body, undefined);
  assert.equal(
    text,
    "POST /a?b HTTP/1.1\r\nhost: a.test:8080\r\nconnection: keep-alive\r\nX-Name: caf\xe9\r\nx-name: \r\ncontent-length: 2\r\n\r\n\xff\0",
  );
});

test("joins a body in pieces, and leaves a long body to the socket", () => {
  const head = "POST / HTTP/1.1\r\nhost: a.test\r\nconnection: keep-alive\r\ncontent-length:";
  const pieces = { ...call, headers: [], body: [Buffer.from([0xff]), Buffer.from("b"), Buffer.from("c")] };
  assert.ok(isPlainCall(pieces, "/"));
  assert.deepEqual(plainRequest(pieces, "/", "a.test"), { text: `${head} 3\r\n\r\n\xffbc`, body: undefined });
  const long = Buffer.alloc(12_289, "l");
  for (const body of [long, [long.subarray(1), long.subarray(0, 1)]]) {
    assert.deepEqual(plainRequest({ ...pieces, body }, "/", "a.test"), { text: `${head} 12289\r\n\r\n`, body: long });
  }
});

/** Changes of the call, or its path. */
const others: readonly (readonly [Partial<OutboundCall>, string])[] = [
  [{ method: "GET" }, "/"],
  [{ method: "HEAD" }, "/"],
  [{ method: "DELETE" }, "/"],
  [{ method: "post" }, "/"],
  [{ body: [Buffer.alloc(131_072), Buffer.from("b")] }, "/"],
  [{ headers: ["", "a"] }, "/"],
  [{ headers: ["X Y", "a"] }, "/"],
  [{ headers: ["X\r\nY", "a"] }, "/"],
  [{ headers: ["X", "a\r\nY: b"] }, "/"],
  [{ headers: ["X", "a\0"] }, "/"],
  [{ headers: ["X", "\u0100"] }, "/"],
  [{ headers: ["X", "a", "Y", "a", "Z", "a\0"] }, "/"],
  [{ headers: ["X", "a", "Host", "a"] }, "/"],
  [{ headers: ["Host", "b.test"] }, "/"],
  [{ headers: ["Content-Length", "2"] }, "/"],
  [{ headers: ["TRANSFER-ENCODING", "chunked"] }, "/"],
  [{ headers: ["Connection", "close"] }, "/"],
  [{ headers: ["Keep-Alive", "timeout=1"] }, "/"],
  [{ headers: ["Upgrade", "h2c"] }, "/"],
  [{ headers: ["Expect", "100-continue"] }, "/"],
  [{}, ""],
  [{}, "*"],
  [{}, "/a b"],
  [{}, "/a\r\nX: y"],
];

test("leaves every other request to the HTTP client", () => {
  for (const [changed, path] of others) {
    assert.equal(isPlainCall({ ...call, ...changed }, path), false, JSON.stringify([changed, path]));
  }
});

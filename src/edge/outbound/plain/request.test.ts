import assert from "node:assert/strict";
import { test } from "node:test";
import { HeaderTemplate } from "../../../messaging/delivery/header-template.ts";
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

const template = new HeaderTemplate([
  ["X-Fixed", "caf\xe9"],
  ["X-Own", 1],
  ["x-own", 1],
  ["X-Between", "b"],
  ["X-First", 0],
]);

test("joins the fixed headers of a template once, and writes the values of each call", () => {
  const templated = { ...call, template, values: ["first", "own"] };
  const written = (path: string, host: string, values: readonly string[]): string => {
    const one = { ...templated, values };
    assert.ok(isPlainCall(one, path));
    return plainRequest(one, path, host).text;
  };
  assert.equal(
    written("/a", "a.test", ["1", "2"]),
    "POST /a HTTP/1.1\r\nhost: a.test\r\nconnection: keep-alive\r\nX-Fixed: caf\xe9\r\nX-Own: 2\r\nx-own: 2\r\nX-Between: b\r\nX-First: 1\r\ncontent-length: 2\r\n\r\n\xff\0",
  );
  for (const [path, host, method] of [
    ["/a", "a.test", "POST"],
    ["/b", "a.test", "POST"],
    ["/b", "b.test", "POST"],
    ["/b", "b.test", "PUT"],
    ["/a", "a.test", "POST"],
  ] as const) {
    const one = { ...templated, method, values: [path, host] };
    const listed = { ...call, method, headers: template.headersWith(one.values) };
    assert.equal(plainRequest(one, path, host).text, plainRequest(listed, path, host).text);
  }
});

test("writes a template without values of calls, and one without headers", () => {
  const start = "POST / HTTP/1.1\r\nhost: a.test\r\nconnection: keep-alive\r\n";
  const end = "content-length: 2\r\n\r\n\xff\0";
  const fixed = { ...call, template: new HeaderTemplate([["X", "y"]]), values: [] };
  assert.equal(plainRequest(fixed, "/", "a.test").text, `${start}X: y\r\n${end}`);
  assert.equal(plainRequest({ ...fixed, template: new HeaderTemplate([]) }, "/", "a.test").text, start + end);
});

test("leaves a template with other headers, and other values of a call, to the HTTP client", () => {
  for (const [name, value] of [
    ["X Y", "a"],
    ["Host", "b.test"],
    ["Content-Length", "2"],
    ["X", "a\r\nY: b"],
    ["X", "\u0100"],
    ["X\r\nY", 0],
    ["Transfer-Encoding", 0],
  ] as const) {
    const other = { ...call, template: new HeaderTemplate([[name, value]]), values: ["v"] };
    for (let times = 0; times < 2; times += 1) assert.equal(isPlainCall(other, "/"), false, JSON.stringify(name));
  }
  for (const value of ["a\r\nY: b", "a\0", "\u0100", "a\n"]) {
    assert.equal(isPlainCall({ ...call, template, values: ["a", value] }, "/"), false, JSON.stringify(value));
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

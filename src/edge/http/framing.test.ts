import assert from "node:assert/strict";
import { test } from "node:test";
import { framingFailure, hasBody, originForm, readFraming } from "./framing.ts";

const rows: [string, string[], number | undefined][] = [
  ["a plain request passes", ["Host", "a"], undefined],
  ["a length passes", ["Host", "a", "Content-Length", "3"], undefined],
  ["chunked passes", ["Host", "a", "Transfer-Encoding", "Chunked"], undefined],
  ["identity passes", ["Host", "a", "Content-Encoding", "identity"], undefined],
  ["no host is refused", ["Accept", "*/*"], 400],
  ["two hosts are refused", ["Host", "a", "host", "a"], 400],
  ["one Authorization passes", ["Host", "a", "Authorization", "Bearer a"], undefined],
  [
    "two Authorization headers are refused",
    ["Host", "a", "Authorization", "Bearer a", "authorization", "Bearer a"],
    401,
  ],
  [
    "a length with a transfer encoding is refused",
    ["Host", "a", "Content-Length", "3", "Transfer-Encoding", "chunked"],
    400,
  ],
  [
    "two transfer encodings are refused",
    ["Host", "a", "Transfer-Encoding", "chunked", "transfer-encoding", "chunked"],
    501,
  ],
  ["a transfer encoding other than chunked is refused", ["Host", "a", "Transfer-Encoding", "gzip, chunked"], 501],
  [
    "a byte that only looks like a blank before chunked is refused",
    ["Host", "a", "Transfer-Encoding", "\xa0chunked"],
    501,
  ],
  ["a length beyond 2^53 is refused", ["Host", "a", "Content-Length", "99999999999999999999"], 400],
  ["S-03: a compressed body is refused", ["Host", "a", "Content-Encoding", "gzip"], 415],
  [
    "S-03: a body that is compressed twice is refused",
    ["Host", "a", "Content-Encoding", "identity", "Content-Encoding", "br"],
    415,
  ],
];

const statusOfKind: Record<string, number> = {
  "bad request": 400,
  unauthorized: 401,
  "unsupported encoding": 415,
  "not implemented": 501,
};

for (const [name, rawHeaders, status] of rows) {
  test(name, () => {
    const failure = framingFailure(readFraming(rawHeaders), "1.1");
    assert.equal(failure === undefined ? undefined : statusOfKind[failure.kind], status);
  });
}

test("HTTP/1.0 may omit the host and may not use a transfer encoding", () => {
  assert.equal(framingFailure(readFraming([]), "1.0"), undefined);
  assert.equal(framingFailure(readFraming(["Transfer-Encoding", "chunked"]), "1.0")?.kind, "bad request");
});

test("accepts only HTTP/1.1 and HTTP/1.0", () => {
  for (const version of ["0.9", "1.2", "2.0", "3.0"])
    assert.equal(framingFailure(readFraming(["Host", "a"]), version)?.kind, "bad request", version);
});

test("a body follows a length above zero or a transfer encoding", () => {
  assert.equal(hasBody(readFraming(["Host", "a"])), false);
  assert.equal(hasBody(readFraming(["Content-Length", "0"])), false);
  assert.equal(hasBody(readFraming(["Content-Length", "1"])), true);
  assert.equal(hasBody(readFraming(["Transfer-Encoding", "chunked"])), true);
});

test("removes the authority of a target in absolute form and rejects other forms", () => {
  const targets: [string, string | undefined][] = [
    ["/get/k?x", "/get/k?x"],
    ["//k", "//k"],
    ["http://host:80/get/k", "/get/k"],
    ["HTTPS://host/get/k?a=/b", "/get/k?a=/b"],
    ["http://host", "/"],
    ["http://host?x=1", "/?x=1"],
    ["http://[::1]:80/get/k", "/get/k"],
    ["http:///get/k", undefined],
    ["http://?x=1", undefined],
    ["http://#a/get/k", undefined],
    ["http://host#a/get/k", undefined],
    ["http://user@host/get/k", undefined],
    ["http://a\\b/get/k", undefined],
    ["*", undefined],
    ["host:80", undefined],
    ["", undefined],
  ];
  for (const [target, expected] of targets) assert.equal(originForm(target), expected, target);
});

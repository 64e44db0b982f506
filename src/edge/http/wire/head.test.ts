import assert from "node:assert/strict";
import { test } from "node:test";
import { FIELDS_MAX, HeadReader } from "./head.ts";

const BYTES_MAX = 1_000;

/** The head as text, or why it was not read, in chunks of so many bytes; then how many bytes follow it. */
function read(text: string, chunkBytes = text.length, bytesMax = BYTES_MAX): unknown {
  const bytes = Buffer.from(text, "latin1");
  const reader = new HeadReader(bytesMax);
  for (let length = chunkBytes; ; length += chunkBytes) {
    const head = reader.read(bytes.subarray(0, Math.min(length, bytes.length)), 0);
    if (typeof head === "string") return head;
    if (head !== undefined) {
      const { method, target, httpVersion, rawHeaders } = head;
      return [method, target, httpVersion, rawHeaders, bytes.length - reader.end];
    }
    if (length >= bytes.length) return "incomplete";
  }
}

const heads: readonly (readonly [name: string, text: string, expected: unknown])[] = [
  [
    "a request line and fields",
    "POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz",
    ["POST", "/a?b", "1.1", ["Host", "a", "Content-Length", "3"], 3],
  ],
  ["no field", "GET / HTTP/1.0\r\n\r\n", ["GET", "/", "1.0", [], 0]],
  ["empty lines before", "\r\n\r\nGET / HTTP/1.1\r\n\r\n", ["GET", "/", "1.1", [], 0]],
  [
    "white space around values",
    "GET / HTTP/1.1\r\nA:b\r\nC: \t d e\t \r\nF:\r\nG: \r\n\r\n",
    ["GET", "/", "1.1", ["A", "b", "C", "d e", "F", "", "G", ""], 0],
  ],
  ["bytes above 127 in a value", "GET / HTTP/1.1\r\nA: \xe9\xff\r\n\r\n", ["GET", "/", "1.1", ["A", "\xe9\xff"], 0]],
  ["an absolute target", "GET HTTP://b/c HTTP/1.1\r\n\r\n", ["GET", "HTTP://b/c", "1.1", [], 0]],
  ["an authority, for CONNECT", "CONNECT b:1 HTTP/1.1\r\n\r\n", ["CONNECT", "b:1", "1.1", [], 0]],
  ["an authority, for GET", "GET b:1 HTTP/1.1\r\n\r\n", "malformed"],
  ["half a line", "GET / HTTP/1.1\r\nHost", "incomplete"],
  ["no empty line", "GET / HTTP/1.1\r\nHost: a\r\n", "incomplete"],
  ["a bare line feed", "GET / HTTP/1.1\nHost: a\r\n\r\n", "malformed"],
  ["a bare line feed at the end", "GET / HTTP/1.1\r\n\n", "malformed"],
  ["a bare carriage return", "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", "malformed"],
  ["a NUL", "GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", "malformed"],
  ["a continued line", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "malformed"],
  ["a space before a colon", "GET / HTTP/1.1\r\nA : b\r\n\r\n", "malformed"],
  ["a field without a colon", "GET / HTTP/1.1\r\nA\r\n\r\n", "malformed"],
  ["a field without a name", "GET / HTTP/1.1\r\n: b\r\n\r\n", "malformed"],
  ["two spaces", "GET  / HTTP/1.1\r\n\r\n", "malformed"],
  ["a space at the end", "GET / HTTP/1.1 \r\n\r\n", "malformed"],
  ["no version", "GET /\r\n\r\n", "malformed"],
  ["another version", "GET / HTTP/1.2\r\n\r\n", "malformed"],
  ["a method in lower case", "get / HTTP/1.1\r\n\r\n", "malformed"],
  ["bytes above 127 in a target", "GET /\xe9 HTTP/1.1\r\n\r\n", "malformed"],
  ["two lengths", "GET / HTTP/1.1\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\n", "malformed"],
  ["a length with a sign", "GET / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", "malformed"],
  ["a length of 16 digits", "GET / HTTP/1.1\r\nContent-Length: 1000000000000000\r\n\r\n", "malformed"],
  ["an empty length", "GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", "malformed"],
  [
    "a length and a transfer encoding",
    "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "malformed",
  ],
  ["a transfer encoding in HTTP/1.0", "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "malformed"],
  [
    "another transfer encoding, which the listener refuses",
    "GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
    ["GET", "/", "1.1", ["Transfer-Encoding", "gzip"], 0],
  ],
];

for (const [name, text, expected] of heads)
  test(`S-02: a head with ${name} is read the same in chunks of any size`, () => {
    for (const chunkBytes of [text.length, 1, 2, 3, 7]) assert.deepEqual(read(text, chunkBytes), expected);
  });

test("A-18: a head has at most so many bytes, complete or not", () => {
  const text = `GET / HTTP/1.1\r\nA: ${"b".repeat(100)}\r\n\r\n`;
  assert.notEqual(read(text, 1, text.length), "head too large");
  assert.equal(read(text, 1, text.length - 1), "head too large");
  assert.equal(read("x".repeat(50), 1, 50), "incomplete");
  assert.equal(read("x".repeat(51), 1, 50), "head too large");
  assert.equal(read("\r\n".repeat(26), 1, 50), "head too large");
});

test("A-18: a head has at most so many fields", () => {
  const head = (count: number): string => `GET / HTTP/1.1\r\n${"a:\r\n".repeat(count)}\r\n`;
  assert.notEqual(read(head(FIELDS_MAX), 10_000, 10_000), "head too large");
  assert.equal(read(head(FIELDS_MAX + 1), 10_000, 10_000), "head too large");
});

test("heads are read one after the other", () => {
  const bytes = Buffer.from("GET /a HTTP/1.1\r\nA: b\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
  const reader = new HeadReader(BYTES_MAX);
  const targets = [0, 0].map(() => {
    const head = reader.read(bytes, reader.end);
    assert.ok(typeof head === "object");
    return [head.target, head.rawHeaders];
  });
  assert.deepEqual(targets, [
    ["/a", ["A", "b"]],
    ["/b", []],
  ]);
});

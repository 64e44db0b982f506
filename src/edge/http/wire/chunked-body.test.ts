import assert from "node:assert/strict";
import { test } from "node:test";
import { ChunkedBody, EXTENSION_BYTES_MAX } from "./chunked-body.ts";

const TRAILER_BYTES_MAX = 40;

/** The data and the bytes after the body, or how it ended, in packets of so many bytes. */
function read(text: string, packetBytes = text.length): readonly [data: string, end: string | number] {
  const body = new ChunkedBody(TRAILER_BYTES_MAX);
  const bytes = Buffer.from(text, "latin1");
  let data = "";
  const receiver = {
    data: (chunk: Buffer): void => {
      data += chunk.latin1Slice();
    },
    end() {},
  };
  for (let at = 0; at < bytes.length; at += packetBytes) {
    const end = body.read(bytes.subarray(at, at + packetBytes), 0, () => receiver);
    if (typeof end === "number") return [data, bytes.length - at - end];
    if (end === "malformed") return [data, end];
  }
  return [data, "incomplete"];
}

const bodies: readonly (readonly [name: string, text: string, data: string, end: string | number])[] = [
  ["one chunk", "3\r\nabc\r\n0\r\n\r\n", "abc", 0],
  ["several chunks", "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", "abc", 0],
  ["no data", "0\r\n\r\n", "", 0],
  [
    "a size in hex of both cases, and zeros before it",
    "00a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
    "01234567890123456789",
    0,
  ],
  ["line ends in its data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n", 0],
  ["extensions", '3;a;b=c;d="e;\\"f "\r\nabc\r\n0;a\r\n\r\n', "abc", 0],
  ["trailers", "0\r\nA: b\r\nC:\r\n\r\n", "", 0],
  ["half a chunk", "3\r\nab", "ab", "incomplete"],
  ["no last line", "3\r\nabc\r\n0\r\n", "abc", "incomplete"],
  ["no size", "\r\n", "", "malformed"],
  ["a prefix", "0x3\r\nabc", "", "malformed"],
  ["a sign", "+3\r\nabc", "", "malformed"],
  ["a space after the size", "3 \r\nabc", "", "malformed"],
  ["nine digits", "000000003\r\nabc", "", "malformed"],
  ["a bare line feed after the size", "3\nabc", "", "malformed"],
  ["more data than its size", "2\r\nabc\r\n", "ab", "malformed"],
  ["a bare line feed after data", "3\r\nabc\n0\r\n\r\n", "abc", "malformed"],
  ["an extension without a name", "3;\r\nabc", "", "malformed"],
  ["an extension without a value", "3;a=\r\nabc", "", "malformed"],
  ["a line feed in an extension", "3;a\nb\r\nabc", "", "malformed"],
  ["a trailer without a colon", "0\r\nA\r\n\r\n", "", "malformed"],
  ["a continued trailer", "0\r\nA: b\r\n c\r\n\r\n", "", "malformed"],
  ["a bare carriage return in a trailer", "0\r\nA: b\rc\r\n\r\n", "", "malformed"],
  ["trailers at the limit", `0\r\nA: ${"x".repeat(37)}\r\n\r\n`, "", 0],
  ["trailers beyond the limit", `0\r\nA: ${"x".repeat(38)}\r\n\r\n`, "", "malformed"],
  ["an invalid length in its trailers", "1\r\na\r\n0\r\ncontent-length: 4, 4\r\n\r\n", "a", "malformed"],
  ["a valid length in its trailers", "1\r\na\r\n0\r\nContent-Length: 1\r\n\r\n", "a", "malformed"],
  ["a length after another trailer", "0\r\nA: b\r\nCONTENT-LENGTH:0\r\n\r\n", "", "malformed"],
  ["a transfer encoding in its trailers", "0\r\nTransfer-Encoding: chunked\r\n\r\n", "", "malformed"],
  ["a host in its trailers", "0\r\nHost: b\r\n\r\n", "", "malformed"],
  ["trailers whose names begin as refused ones", "0\r\nHosts: b\r\nTransfer-Encodings: c\r\n\r\n", "", 0],
  ["trailers whose names end as refused ones", "0\r\nX-Host: b\r\nX-Content-Length: 4\r\n\r\n", "", 0],
];

for (const [name, text, data, end] of bodies)
  test(`S-02: a chunked body with ${name} is read the same in packets of any size`, () => {
    for (const packetBytes of [text.length, 1, 2, 3, 5]) assert.deepEqual(read(text, packetBytes), [data, end]);
  });

test("bytes after a body are not read", () => {
  assert.deepEqual(read("1\r\na\r\n0\r\n\r\nGET"), ["a", 3]);
});

test("A-18: extensions of a body have at most so many bytes together", () => {
  const chunk = (bytes: number): string => `1;${"a".repeat(bytes)}\r\nx\r\n`;
  assert.equal(read(`${chunk(EXTENSION_BYTES_MAX - 2)}0\r\n\r\n`)[1], 0);
  assert.equal(read(chunk(EXTENSION_BYTES_MAX))[1], "malformed");
  assert.equal(read(chunk(EXTENSION_BYTES_MAX / 2).repeat(2))[1], "malformed");
});

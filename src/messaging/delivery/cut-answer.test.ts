import assert from "node:assert/strict";
import { test } from "node:test";
import { cutHeaders, isCut, mendedError, twiceQuotedWithin } from "./cut-answer.ts";

test("a cut answer keeps its headers except those that describe the whole body, and has the stored length", () => {
  const given = [
    "Content-Type",
    "text/plain",
    "Content-Length",
    "5242880",
    "content-md5",
    "eA==",
    "Digest",
    "sha-256=a",
  ];
  const headers = cutHeaders([...given, "Repr-Digest", "b", "Content-Digest", "c", "X-A", "1"], 1_048_576);

  assert.deepEqual(headers, [
    ...["Content-Type", "text/plain", "X-A", "1"],
    ...["Service-Body-Cut", "1048576", "Upstash-Body-Cut", "1048576"],
  ]);
  assert.equal(isCut(headers), true);
  assert.equal(isCut(given), false);
});

test("replaces the cut header of a destination", () => {
  assert.deepEqual(cutHeaders(["service-body-cut", "7"], 3), ["Service-Body-Cut", "3", "Upstash-Body-Cut", "3"]);
});

const quoted: readonly (readonly [text: Buffer, room: number, kept: number])[] = [
  [Buffer.from("abc"), 100, 3],
  [Buffer.from("abc"), 3, 3],
  [Buffer.from("abc"), 2, 2],
  [Buffer.from('""'), 8, 2],
  [Buffer.from('""'), 7, 1],
  [Buffer.from("\\\n\u0001"), 14, 3],
  [Buffer.from("\\\n\u0001"), 13, 2],
  [Buffer.from([0xff, 0xff]), 3, 1],
  [Buffer.from("abc"), -1, 0],
];

for (const [text, room, kept] of quoted) {
  test(`${JSON.stringify(text.toString("latin1"))} in ${room} bytes of a JSON text within a JSON text: ${kept} bytes`, () => {
    assert.equal(twiceQuotedWithin(text, room), kept);
  });
}

const errors: readonly (readonly [start: string, mended: string])[] = [
  ['{"error":"Error","message":"far too lo', '{"error":"Error","message":"far too lo…"}'],
  ['{"error":"Error","message":"whole","stack":"at a\\', '{"error":"Error","message":"whole","stack":"at a…"}'],
  ['{"message":"a \\u00e', '{"message":"a …"}'],
  ['{"message":"whole","list":[1,{"a":"b', '{"message":"whole","list":[1,{"a":"b…"}]}'],
  ['{"error":"E', '{"error":"E…","message":"{\\"error\\":\\"E…"}'],
  ["plain text", '{"message":"plain text…"}'],
  ["[1,2", '{"message":"[1,2…"}'],
];

test("completes the start of an error to an object with a readable message", () => {
  for (const [start, mended] of errors) {
    assert.equal(mendedError(Buffer.from(start)).toString(), mended, start);
  }
});

test("an error that is truncated within a field name shows its whole start as the message", () => {
  const mended = JSON.parse(mendedError(Buffer.from('{"message":"whole","sta')).toString());
  assert.deepEqual(mended, { message: '{"message":"whole","sta…' });
});

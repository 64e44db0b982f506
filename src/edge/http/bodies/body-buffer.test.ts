import assert from "node:assert/strict";
import { test } from "node:test";
import { BodyBuffer } from "./body-buffer.ts";

function filled(chunks: readonly string[], expectedBytes: number): Buffer {
  const body = new BodyBuffer(expectedBytes);
  for (const chunk of chunks) body.add(Buffer.from(chunk));
  return body.take();
}

test("does not copy a body of one chunk", () => {
  const chunk = Buffer.from("whole");
  const body = new BodyBuffer(5);
  body.add(chunk);
  assert.equal(body.take(), chunk);
});

test("joins chunks in their order, with and without an announced length", () => {
  const chunks = ["a", "bc", "", "def"];
  assert.equal(filled(chunks, 6).toString(), "abcdef");
  assert.equal(filled(chunks, 0).toString(), "abcdef");
  assert.equal(filled([], 0).length, 0);
  const many = new Array<string>(10_000).fill("xy");
  assert.equal(filled(many, 0).toString(), "xy".repeat(10_000));
  assert.equal(filled(many, 20_000).toString(), "xy".repeat(10_000));
});

test("A-13: memory follows the received bytes, not the announced length", () => {
  const body = new BodyBuffer(1_000_000_000);
  body.add(Buffer.from("a"));
  body.add(Buffer.from("b"));
  assert.equal(body.take().buffer.byteLength, 4_096);
});

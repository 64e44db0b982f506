import assert from "node:assert/strict";
import { test } from "node:test";
import { RECENT_BYTES_MAX, RecentBytes } from "./recent-bytes.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text);

test("what was written in a row can be taken once, up to any end", () => {
  const recent = new RecentBytes();
  recent.add(bytes("abc"), 64);
  recent.add(bytes("defg"), 67);
  assert.equal(recent.take(64, 66)?.toString(), "ab");
  assert.equal(recent.take(64, 66), undefined);
  recent.add(bytes("h"), 71);
  assert.equal(recent.take(67, 72)?.toString(), "defgh");
  assert.equal(recent.take(72, 72), undefined);
});

test("bytes outside of what is kept are not given", () => {
  const recent = new RecentBytes();
  recent.add(bytes("abc"), 64);
  assert.equal(recent.take(63, 65), undefined);
  assert.equal(recent.take(64, 68), undefined);
  assert.equal(recent.take(64, 67)?.toString(), "abc");
});

test("a copy is kept, because the writer uses its buffer again", () => {
  const recent = new RecentBytes();
  const buffer = Buffer.from("abc");
  recent.add(buffer, 0);
  buffer.fill("x");
  assert.equal(recent.take(0, 3)?.toString(), "abc");
});

test("a write elsewhere, a long one, or a cut makes it forget what was written before", () => {
  const recent = new RecentBytes();
  recent.add(bytes("abc"), 64);
  recent.add(bytes("XY"), 65);
  assert.equal(recent.take(64, 67), undefined);
  assert.equal(recent.take(65, 67)?.toString(), "XY");
  recent.add(bytes("abc"), 67);
  recent.add(new Uint8Array(RECENT_BYTES_MAX + 1), 70);
  assert.equal(recent.take(67, 70), undefined);
  recent.add(new Uint8Array(RECENT_BYTES_MAX), 100);
  assert.equal(recent.take(100, 100 + RECENT_BYTES_MAX)?.length, RECENT_BYTES_MAX);
  recent.add(bytes("abc"), 64);
  recent.clear();
  assert.equal(recent.take(64, 67), undefined);
});

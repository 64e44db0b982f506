import assert from "node:assert/strict";
import { test } from "node:test";
import { Bodies, Body, type BodySource } from "./body.ts";

const HELLO = Buffer.from("hello");
const BATCH = { start: 0, end: 1, segment: 3, offset: 1_000 };

/** A source that has `bytes` at one location only. */
function sourceWith(segment: number, offset: number, bytes: Buffer): BodySource {
  return {
    read: async (wantedSegment, wantedOffset, length) => {
      if (wantedSegment !== segment || wantedOffset !== offset) throw new Error(`nothing in segment ${wantedSegment}`);
      return bytes.subarray(0, length);
    },
  };
}

/** A body at offset 7 of its frame, whose payload is at offset 50 of its batch. */
function appended(bodies: Bodies, isNeededSoon: boolean): Body {
  const body = Body.of(HELLO, isNeededSoon);
  bodies.note(body, 7);
  bodies.appended(1, 50);
  return body;
}

test("a body that is not needed soon leaves memory when its batch is written, and is read from its location", async () => {
  const bodies = new Bodies();
  bodies.open(sourceWith(3, 1_057, HELLO));
  const body = appended(bodies, false);
  assert.equal(bodies.load(body), body.bytes);
  bodies.written(BATCH);

  assert.equal(body.bytes, undefined);
  assert.equal(bodies.memoryBytes, 0);
  assert.deepEqual([...bodies.liveBytes], [[3, 5]]);
  assert.equal((await bodies.load(body)).toString(), "hello");
});

test("a body that is needed soon stays in memory until it is set aside", () => {
  const bodies = new Bodies();
  bodies.open(sourceWith(3, 1_057, HELLO));
  const body = appended(bodies, true);
  bodies.written(BATCH);
  assert.equal(bodies.memoryBytes, 5);

  bodies.setAside(body);

  assert.equal(bodies.memoryBytes, 0);
  assert.equal(body.bytes, undefined);
});

test("without a source bodies stay in memory", () => {
  const bodies = new Bodies();
  const body = appended(bodies, false);
  bodies.written(BATCH);
  assert.equal(bodies.load(body), body.bytes);
});

test("a segment has no live bytes after its last body is freed or moved", () => {
  const bodies = new Bodies();
  bodies.open(sourceWith(3, 1_057, HELLO));
  const freed = appended(bodies, false);
  const moved = appended(bodies, false);
  bodies.written(BATCH);
  bodies.free(freed);
  bodies.free(freed);
  assert.deepEqual([...bodies.liveBytes], [[3, 5]]);

  bodies.place(moved, 4, 20);

  assert.deepEqual([...bodies.liveBytes], [[4, 5]]);
});

test("a body that is freed before its batch is written does not hold a segment", () => {
  const bodies = new Bodies();
  bodies.open(sourceWith(3, 1_057, HELLO));
  const body = appended(bodies, false);
  bodies.free(body);
  bodies.written(BATCH);
  assert.deepEqual([...bodies.liveBytes], []);
});

test("rejects other bytes at the location", async () => {
  const bodies = new Bodies();
  bodies.open(sourceWith(3, 1_057, Buffer.from("jello")));
  const body = appended(bodies, false);
  bodies.written(BATCH);
  await assert.rejects(Promise.resolve(bodies.load(body)), { name: "BodyDamaged" });
});

test("a body that is moved during the read is read at its new location", async () => {
  const bodies = new Bodies();
  bodies.open(sourceWith(4, 20, HELLO));
  const body = appended(bodies, false);
  bodies.written(BATCH);
  const loading = bodies.load(body);
  bodies.place(body, 4, 20);
  assert.equal((await loading).toString(), "hello");
});

/** Bodies in memory and in the journal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Bodies, Body } from "./body.ts";

test("a body that is moved counts once, and not at all when nobody wants it any more", () => {
  const bodies = new Bodies();
  bodies.open({ read: async () => Buffer.alloc(0) });
  const body = Body.of(Buffer.from("hello"), true);
  bodies.note(body, 3);
  bodies.appended(1, 0);
  bodies.written({ start: 0, end: 1, segment: 1, offset: 100 });
  assert.equal(bodies.memoryBytes, 5);

  bodies.note(body, 7);
  bodies.appended(2, 0);
  assert.equal(bodies.memoryBytes, 5);
  bodies.written({ start: 1, end: 2, segment: 2, offset: 200 });
  assert.deepEqual([body.segment, body.offset], [2, 207]);

  bodies.free(body);
  assert.equal(bodies.memoryBytes, 0);
});

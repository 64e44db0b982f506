/** The answer of a call that need not wait: its rows are in memory, and the clock stands still. */
import assert from "node:assert/strict";
import type { Eventually } from "../../src/vector/api.ts";

export function atOnce<Value>(value: Eventually<Value>): Value {
  assert.ok(!(value instanceof Promise), "an answer that needs no time comes at once");
  return value;
}

/** The rows of the delivery headers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultLimits } from "../limits.ts";
import { emptyDraft, headerRows } from "./header-rows.ts";

const context = { limits: defaultLimits, nowMs: 1_766_000_000_000, refusalOf: () => undefined };

test("every example of a header is a valid value", () => {
  for (const { name, examples, onlyOnSchedules, read } of headerRows) {
    assert.ok(examples.length > 0, name);
    for (const value of examples) {
      const draft = emptyDraft();
      read(value, draft, { field: name, context, role: onlyOnSchedules === true ? "schedule" : "message" });
      assert.notDeepEqual(draft, emptyDraft(), `${name}: ${value}`);
    }
  }
});

import assert from "node:assert/strict";
import { STATUS_CODES } from "node:http";
import { test } from "node:test";
import { statusTexts } from "./status-texts.ts";

test("status lines have the texts that Node's own servers send", () => {
  assert.deepEqual(statusTexts, STATUS_CODES);
});

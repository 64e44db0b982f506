/** A program at the other end of a pipe may end first, as head does. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { programFile } from "./program-process.ts";

test("a command whose reader has ended prints no error and succeeds", () => {
  // The reader ends at once, so the command writes to a closed pipe.
  const script = '"$0" "$1" --help | true; exit "$PIPESTATUS"';
  const { status, stderr } = spawnSync("bash", ["-c", script, process.execPath, programFile], { encoding: "utf8" });
  assert.equal(stderr, "");
  assert.equal(status, 0);
});

/** The built program beside the sources: the build leaves out spaces, but none of a text. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { checkoutProgram, programFile } from "./program-process.ts";

function outputOf(program: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });
  assert.deepEqual({ status, stderr }, { status: 0, stderr: "" }, args.join(" "));
  return stdout;
}

// Scripts for shells are the longest templates of several lines.
for (const words of ["--version", "--help", "completions bash"]) {
  test(`the built program prints the same as the sources for ${words}`, {
    skip: programFile === checkoutProgram && "only a whole test run builds the program",
  }, () => {
    const args = words.split(" ");
    const printed = outputOf(programFile, args);
    assert.ok(printed.length > 0);
    assert.equal(printed, outputOf(checkoutProgram, args));
  });
}

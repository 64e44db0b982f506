import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../settings/read-settings.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { eventOutput } from "./output.ts";

function runOf(words: string): RunSettings {
  const reading = readSettings({ arguments: words.split(" "), environment: {}, readFile: () => "" });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  return reading.run;
}

test("dev prints events for people unless it is quiet; serve logs them at the level debug only", () => {
  assert.equal(eventOutput(runOf("dev"), {})?.isDebug, false);
  assert.equal(eventOutput(runOf("dev"), { isQuiet: true }), undefined);
  assert.equal(eventOutput(runOf("serve"), {}), undefined);
  assert.equal(eventOutput(runOf("serve --log-level debug"), {})?.isDebug, true);
  assert.equal(eventOutput(runOf("dev"), { mayColour: false })?.isColoured, false);
});

test("dev takes --quiet and --no-color, serve does not", () => {
  const reading = readSettings({
    arguments: ["dev", "--quiet", "--no-color"],
    environment: {},
    readFile: () => "",
  });
  assert.ok(reading.kind === "run");
  assert.deepEqual([...reading.options.keys()], ["quiet", "no color"]);
  const refused = readSettings({ arguments: ["serve", "--quiet"], environment: {}, readFile: () => "" });
  assert.deepEqual(refused.kind === "refused" && refused.problems, ["--quiet belongs to larder dev"]);
});

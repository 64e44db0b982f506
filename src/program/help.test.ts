import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { EXAMPLE_CONFIGURATION, MANUAL_PATH, manualText } from "../../tools/manual.ts";
import { parseConfiguration } from "../config.ts";
import { helpText } from "./help.ts";
import { settingList } from "./settings.ts";

test("the manual says what the tables say (node tools/manual.ts writes it)", () => {
  assert.equal(readFileSync(MANUAL_PATH, "utf8"), manualText());
});

test("every setting stands in the help and in the manual with all its names", () => {
  const help = helpText("0.0.0");
  const manual = manualText();
  for (const [name, row] of settingList) {
    for (const word of [row.flag, ...row.environment, row.meaning.split(" ", 3).join(" ")]) {
      if (word === undefined) continue;
      assert.ok(help.includes(word), `${name}: ${word} is not in the help`);
      assert.ok(manual.includes(word), `${name}: ${word} is not in the manual`);
    }
  }
});

test("no line of the help is wider than a terminal", () => {
  for (const line of helpText("0.0.0").split("\n")) assert.ok(line.length <= 100, line);
});

test("the manual's example of a configuration file is one", () => {
  const fileKeys = new Set(settingList.flatMap(([, row]) => (row.fileKey === undefined ? [] : [row.fileKey])));
  let count = 0;
  const text = EXAMPLE_CONFIGURATION.replaceAll(`"…"`, () => `"token-${count++}"`);
  assert.deepEqual(parseConfiguration(text, fileKeys).problems, []);
});

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { exampleConfiguration, manualPages } from "../../../tools/manual.ts";
import { parseConfiguration } from "../settings/config.ts";
import { settingList } from "../settings/settings.ts";
import { helpText } from "./help.ts";

test("the manual and the reference have the tables of the program: npm run manual", () => {
  for (const [path, text] of manualPages()) assert.equal(readFileSync(path, "utf8"), text, path);
});

test("every page of the reference has tables of the program", () => {
  const folder = new URL("../../../docs/reference/", import.meta.url);
  const written = [...manualPages().keys()].map((path) => basename(path));
  for (const file of readdirSync(folder)) assert.ok(written.includes(file), file);
});

test("every setting stands in the help and in the reference with all its names", () => {
  const help = helpText("0.0.0");
  const reference = [...manualPages().values()].join("\n");
  for (const [name, row] of settingList) {
    for (const word of [row.flag, ...row.environment, row.meaning.split(" ", 3).join(" ")]) {
      if (word === undefined) continue;
      assert.ok(help.includes(word), `${name}: ${word} is not in the help`);
      assert.ok(reference.includes(word), `${name}: ${word} is not in the reference`);
    }
  }
});

test("no line of the help is wider than a terminal", () => {
  for (const line of helpText("0.0.0").split("\n")) assert.ok(line.length <= 100, line);
});

test("the manual's example of a configuration file is one", () => {
  const fileKeys = new Set(settingList.flatMap(([, row]) => (row.fileKey === undefined ? [] : [row.fileKey])));
  let count = 0;
  const text = exampleConfiguration().replaceAll(`"…"`, () => `"token-${count++}"`);
  assert.deepEqual(parseConfiguration(text, fileKeys).problems, []);
});

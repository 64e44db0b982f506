import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import { fromJSONSchema } from "zod";
import { exampleConfiguration, manualPages } from "../../../tools/manual.ts";
import { configSchemaText } from "../../../tools/reference/config-schema.ts";
import { parseConfiguration } from "../settings/config.ts";
import { settingList } from "../settings/settings.ts";
import { BadValue } from "../settings/values.ts";
import { helpText } from "./help.ts";

test("the manual and the reference have the current tables of the program: npm run manual", () => {
  for (const [path, text] of manualPages()) assert.equal(readFileSync(path, "utf8"), text, path);
});

test("every page of the reference is generated from tables of the program", () => {
  const folder = new URL("../../../docs/reference/", import.meta.url);
  const written = [...manualPages().keys()].map((path) => basename(path));
  for (const file of readdirSync(folder)) assert.ok(written.includes(file), file);
});

test("the help and the reference have every setting with all its names", () => {
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

test("the manual's example of a configuration file is valid", () => {
  const fileKeys = new Set(settingList.flatMap(([, row]) => (row.fileKey === undefined ? [] : [row.fileKey])));
  let count = 0;
  const text = exampleConfiguration().replaceAll(`"…"`, () => `"token-${count++}"`);
  assert.deepEqual(parseConfiguration(text, fileKeys).problems, []);
  assert.ok(isInSchema(text));
});

/** An independent validator. */
const schema = fromJSONSchema(JSON.parse(configSchemaText()));

function isInSchema(text: string): boolean {
  return schema.safeParse(JSON.parse(text)).success;
}

test("the configuration of the example matches the schema", () => {
  const path = new URL("../../../examples/reading-list/larder.json", import.meta.url);
  assert.ok(isInSchema(readFileSync(path, "utf8")));
});

const written: readonly (readonly [file: string, isRight: boolean])[] = [
  ["{}", true],
  ['{"$schema": "./config.schema.json"}', true],
  ['{"$schema": 1}', false],
  ['{"hots": "a"}', false],
  ['{"cors": false, "storePort": 0, "rateLimit": "off", "maxmemory": "100mb", "scriptTimeLimit": "2s"}', true],
  ['{"allowDestination": ["10.0.0.0/8", "*.test"]}', true],
  ['{"storePort": 65536}', false],
  ['{"scriptTimeLimit": "2"}', false],
  ['{"fsync": "sometimes"}', false],
  ['{"store": {"databases": [{}]}}', false],
  ['{"store": {"databases": [{"name": "a", "maxmemoryPolicy": "lru"}]}}', false],
  [
    '{"vector": {"indexes": [{"name": "a", "dimension": "auto", "embedding": {"model": "m", "provider": "hashing", "dimension": 3}}]}}',
    true,
  ],
  ['{"vector": {"models": {"m": {"provider": "http"}}}}', false],
  ['{"messaging": {"users": [{"name": "a", "nextSigningKey": "x"}]}}', false],
];

for (const [file, isRight] of written) {
  test(`reader and schema ${isRight ? "accept" : "reject"} ${file}`, () => {
    const fileKeys = new Set(settingList.flatMap(([, row]) => (row.fileKey === undefined ? [] : [row.fileKey])));
    const { configuration, problems } = parseConfiguration(file, fileKeys);
    const isTaken = problems.length === 0 && isEverySettingRead(configuration.settings);
    assert.equal(isTaken, isRight);
    assert.equal(isInSchema(file), isRight);
  });
}

function isEverySettingRead(settings: ReadonlyMap<string, string>): boolean {
  return settingList.every(([, { fileKey, parse }]) => {
    const text = fileKey === undefined ? undefined : settings.get(fileKey);
    try {
      if (text !== undefined) parse(text);
      return true;
    } catch (fault) {
      if (fault instanceof BadValue) return false;
      throw fault;
    }
  });
}

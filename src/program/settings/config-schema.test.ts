import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { exampleConfiguration } from "../../../tools/manual.ts";
import { configSchema } from "../../../tools/reference/config-schema.ts";
import { parseConfiguration } from "./config.ts";
import { readConfigText } from "./config-text.ts";
import { FieldReader } from "./field-reader.ts";
import type { Setting } from "./setting.ts";
import { settingList } from "./settings.ts";
import { BadValue, fileValue } from "./values.ts";

/** An independent validator. */
const validator = new Ajv2020({ strictTypes: false, keywords: ["allowComments", "allowTrailingCommas"] });
const isValid = validator.compile(configSchema());

function isInSchema(text: string): boolean {
  return isValid(readConfigText(text).value);
}

const fileSettings = settingList.flatMap(([, row]) => (row.fileKey === undefined ? [] : [[row.fileKey, row] as const]));
const fileKeys = new Set(fileSettings.map(([key]) => key));

test("the schema is a JSON Schema of draft 2020-12", () => {
  const schema = configSchema();
  assert.equal(schema.$schema, "https://json-schema.org/draft/2020-12/schema");
  assert.equal(validator.validateSchema(schema), true, JSON.stringify(validator.errors));
});

test("the schema has every setting of the file, with its names and its meaning", () => {
  const { properties = {} } = configSchema();
  const others = ["$schema", "store", "vector", "messaging", "admin"];
  assert.deepEqual(Object.keys(properties).toSorted(), [...fileKeys, ...others].toSorted());
  for (const [key, row] of fileSettings) {
    const { title = "", description = "" } = properties[key] ?? {};
    assert.deepEqual(title.split(", "), [key, row.flag, ...row.environment], key);
    assert.ok(description.startsWith(row.meaning), key);
  }
});

test("the schema has every fixed default, as the value of the file that the reader takes for it", () => {
  const { properties = {} } = configSchema();
  assert.equal(properties["storePort"]?.default, 8079);
  assert.equal(properties["cors"]?.default, true);
  assert.equal(properties["port"]?.default, "off");
  assert.equal(properties["maxRequestSize"]?.default, "10mb");
  assert.deepEqual(properties["allowDestination"]?.default, []);
  assert.equal(properties["tlsCert"]?.default, undefined);
  for (const [key, row] of fileSettings) {
    const value = properties[key]?.default;
    assert.equal(new FieldReader().settingText(value ?? "", key), row.default ?? "", key);
    if (value !== undefined) assert.ok(isValid({ [key]: value }), key);
  }
});

test("the reader and the schema accept the examples of the schema", () => {
  let count = 0;
  for (const [key, row] of fileSettings) {
    const { anyOf = [], examples = [] } = row.parse.schema;
    for (const example of [...examples, ...anyOf.flatMap((each) => each.examples ?? [])]) {
      assert.ok(isRead(row, example), `${key}: ${example}`);
      assert.ok(isValid({ [key]: example }), `${key}: ${example}`);
      count += 1;
    }
  }
  assert.ok(count > 20, String(count));
});

/** Values of all kinds; numbers and words on both sides of the bounds of many settings. */
const values: readonly unknown[] = [
  ...[-1, 0, 0.5, 1, 5, 64, 65, 100, 1_001, 65_535, 65_536, 1_000_001, 1e9, 1e14],
  ...["", " ", ",=!", "on", "yes", "off", "auto", "1x", "0x10", "10mb", "10 KB", "5s", "5", "0ms", "-1", "DENSE"],
  ...["always", "one", "any", "json", "debug", "both", "noeviction", "eu-1", "eu_1"],
  ...[true, false, null, {}, [], ["a.test"], [1]],
];

/** Kinds of settings whose schema is only a type, because their rule is no regular expression of a usual size. */
const looseKeys = new Set([
  ...["host", "adminHost", "adminAllowedHosts", "allowDestination", "outboundMap", "trustedProxies"],
  ...["dataDir", "tlsCert", "tlsKey", "respTlsCert", "respTlsKey"],
]);

test("the schema refuses what the reader refuses, and accepts what it reads", () => {
  const counts = { refused: 0, read: 0 };
  for (const [key, row] of fileSettings) {
    for (const value of values) {
      const isReadable = isRead(row, value);
      const isAccepted = isValid({ [key]: value });
      // A size or a count in a text has its bounds only in the reader.
      const isBeyondSchema = looseKeys.has(key) || (typeof value === "string" && /^\d/.test(value));
      if (isReadable && !isOddSpelling(row, value)) assert.ok(isAccepted, `${key}: ${JSON.stringify(value)}`);
      if (!isReadable && !isBeyondSchema) assert.ok(!isAccepted, `${key}: ${JSON.stringify(value)}`);
      counts[isReadable ? "read" : "refused"] += 1;
    }
  }
  assert.ok(counts.read > 300 && counts.refused > 1_000, JSON.stringify(counts));
});

function isRead(row: Setting<unknown>, value: unknown): boolean {
  const reader = new FieldReader();
  reader.setting(value, row.fileKey ?? "", row.parse);
  return reader.problems.length === 0;
}

/** Another form of a value than the one that files have for its text, such as a list of one number. */
function isOddSpelling(row: Setting<unknown>, value: unknown): boolean {
  const text = new FieldReader().settingText(value, "") ?? "";
  return JSON.stringify(fileValue(row.parse.schema, text)) !== JSON.stringify(value);
}

test("the examples of the manual and of the application match the schema", () => {
  assert.ok(isInSchema(exampleConfiguration().replaceAll('"…"', '"token"')));
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

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { configSchema } from "../../../../tools/reference/config-schema.ts";
import { readConfigText } from "../../settings/config-text.ts";
import { readSettings } from "../../settings/read-settings.ts";
import { settingList } from "../../settings/settings.ts";

interface Given {
  words: string;
  file?: string;
  environment?: Record<string, string>;
}

/** Runs a command as the command line does, with `file` as larder.json. */
async function runConfig({ words, file, environment = {} }: Given): Promise<{ code: unknown; lines: string[] }> {
  const lines: string[] = [];
  const print = (line: string): void => void lines.push(line);
  const reading = readSettings({
    arguments: words.split(" "),
    environment,
    readFile: (path) => {
      assert.ok(path === "larder.json" && file !== undefined, path);
      return file;
    },
  });
  if (reading.kind === "refused") {
    return { code: reading.command?.refused?.(reading.problems, print), lines };
  }
  assert.equal(reading.kind, "run");
  if (reading.kind !== "run") return { code: undefined, lines };
  const { command, ...call } = reading;
  return { code: await command.run({ ...call, commands: [], version: "1.2.3", print }), lines };
}

test("config check prints each problem with its line, and exits with 1", async () => {
  const file = '{\n  // Ports\n  "storePort": 70000,\n  "hots": "a",\n  "admin": { "token": "secret canary" },\n}';
  const environment = { LARDER_FSYNC: "never" };
  assert.deepEqual(await runConfig({ words: "config check --config larder.json --hsot a", file, environment }), {
    code: 1,
    lines: [
      "Unknown flag --hsot: did you mean --host?",
      "larder.json:4:3: hots is not a known key",
      "larder.json:5:14: admin.token is refused: the token is not 1 to 512 visible ASCII characters without a space",
      'LARDER_FSYNC: "never" is not one of always, everysec, no',
      'larder.json:3:3: storePort: "70000" is not a port from 0 to 65535',
    ],
  });
});

test("config check finds tokens that a start refuses", async () => {
  const file =
    '{\n  "host": "10.1.2.3",\n  "store": { "databases": [\n    { "name": "main", "token": "short" }\n  ] }\n}';
  const { code, lines } = await runConfig({ words: "config check --config larder.json", file });
  assert.equal(code, 1);
  assert.match(lines.join("\n"), /^store\.databases\[0\]\.token in larder\.json:4 is too short \(5\)/);
});

test("config check prints ok for valid settings, and exits with 0", async () => {
  const file = '{ "storePort": 0 }';
  assert.deepEqual(await runConfig({ words: "config check --config larder.json", file }), {
    code: 0,
    lines: ["larder.json: ok"],
  });
  assert.deepEqual(await runConfig({ words: "config check" }), { code: 0, lines: ["settings: ok"] });
});

const mixed: Given = {
  words: "config print --config larder.json --host 127.0.0.2",
  file: `{
    "storePort": 9000,
    "allowDestination": ["10.0.0.0/8", "*.test"],
    "store": { "databases": [{ "name": "shop", "token": "canary-1" }] },
    "messaging": { "users": [{ "name": "main", "currentSigningKey": "sig_canary" }] },
    "admin": { "token": "canary-2" }
  }`,
  environment: {
    LARDER_FSYNC: "always",
    LARDER_STORE_TOKEN: "canary-3",
    LARDER_TLS_CERT: "a\u001b[2Jb",
    LARDER_TLS_KEY: "k",
  },
};

test("config print shows each setting with its value and its source", async () => {
  const { code, lines } = await runConfig(mixed);
  assert.equal(code, 0);
  const rows = lines.map((line) => line.split(/ {2,}/));
  const row = (name: string): unknown => rows.find(([first]) => first === name)?.slice(1);
  assert.deepEqual(row("setting"), ["value", "from"]);
  assert.deepEqual(row("host"), ["127.0.0.2", "flag --host"]);
  assert.deepEqual(row("fsync"), ["always", "environment LARDER_FSYNC"]);
  assert.deepEqual(row("storePort"), ["9000", "file larder.json:2"]);
  assert.deepEqual(row("vectorPort"), ["8081", "default"]);
  assert.deepEqual(row("allowDestination"), ["10.0.0.0/8,*.test", "file larder.json:3"]);
  assert.deepEqual(row("tlsCert"), ["a\\x1b[2Jb", "environment LARDER_TLS_CERT"]);
  assert.deepEqual(row("maxResponseSize"), ["–", "default"]);
  assert.equal(rows.length, 1 + settingList.length + 2);
});

test("S-09: config print shows of a secret only whether it is set", async () => {
  for (const words of [mixed.words, `${mixed.words} --json`]) {
    const { lines } = await runConfig({ ...mixed, words });
    assert.doesNotMatch(lines.join("\n"), /canary/, words);
  }
  const { lines } = await runConfig(mixed);
  const rows = lines.map((line) => line.split(/ {2,}/));
  const row = (name: string): unknown => rows.find(([first]) => first === name)?.slice(1);
  assert.deepEqual(row("LARDER_STORE_TOKEN"), ["set", "environment LARDER_STORE_TOKEN"]);
  assert.deepEqual(row("LARDER_VECTOR_TOKEN"), ["not set", "default"]);
  assert.deepEqual(row("LARDER_ADMIN_TOKEN"), ["set", "file larder.json:6"]);
  assert.deepEqual(row("databases: shop"), ["token set, readOnlyToken not set", "file larder.json:4"]);
});

test("config print --json prints one line with the same values", async () => {
  const { lines } = await runConfig({ ...mixed, words: `${mixed.words} --json` });
  assert.equal(lines.length, 1);
  const { settings, users } = JSON.parse(lines[0] ?? "");
  assert.deepEqual(settings.storePort, { value: 9000, source: "file", place: "larder.json:2" });
  assert.deepEqual(settings.cors, { value: true, source: "default" });
  assert.deepEqual(settings.tlsKey, { value: "k", source: "environment", place: "LARDER_TLS_KEY" });
  assert.deepEqual(settings.maxResponseSize, { value: null, source: "default" });
  assert.deepEqual(settings.LARDER_STORE_TOKEN, { value: "set", source: "environment", place: "LARDER_STORE_TOKEN" });
  assert.deepEqual(users, [
    {
      name: "main",
      secrets: { token: "not set", readOnlyToken: "not set", currentSigningKey: "set", nextSigningKey: "not set" },
      place: "larder.json:5",
    },
  ]);
});

test("config print shows what a setting does to others", async () => {
  const { lines } = await runConfig({ words: "config print --port 3000 --json" });
  const { settings } = JSON.parse(lines[0] ?? "");
  assert.deepEqual(settings.port, { value: 3000, source: "flag", place: "--port" });
  assert.deepEqual(settings.threads, { value: "one", source: "default" });
});

test("config print --dev shows the settings of larder dev", async () => {
  const { lines } = await runConfig({ words: "config print --dev --json" });
  const { settings } = JSON.parse(lines[0] ?? "");
  assert.deepEqual(settings.dataDir, { value: null, source: "default" });
  assert.deepEqual(settings.destinations, { value: "any", source: "default" });
});

/** The example, with the slashes before settings and sections removed, except where only the user knows the value. */
function uncommented(text: string): string {
  return text
    .split("\n")
    .map((line) => (/: "…",$/.test(line) ? line : line.replace(/^ {2}\/\/ (?=["}]| {2})/, "  ")))
    .join("\n");
}

test("config example passes config check and the schema, as printed and with each line in use", async () => {
  const isInSchema = new Ajv2020({ strict: false }).compile(configSchema());
  const { code, lines } = await runConfig({ words: "config example" });
  assert.equal(code, 0);
  const printed = lines.join("\n");
  const inUse = uncommented(printed);
  assert.deepEqual(Object.keys(readConfigText(printed).value as object), ["$schema"]);
  const keys = Object.keys(readConfigText(inUse).value as object);
  assert.ok(keys.length > 60 && keys.includes("vector") && keys.includes("cors"), String(keys));
  for (const file of [printed, inUse]) {
    const checked = await runConfig({ words: "config check --config larder.json", file });
    assert.deepEqual(checked, { code: 0, lines: ["larder.json: ok"] });
    assert.ok(isInSchema(readConfigText(file).value));
  }
});

test("config example has every setting of the file with its default", async () => {
  const { lines } = await runConfig({ words: "config example" });
  const text = lines.join("\n");
  for (const [, { fileKey, flag }] of settingList) {
    if (fileKey === undefined) continue;
    assert.match(text, new RegExp(`\\n  // "${fileKey}": .+,\\n`));
    assert.match(text, new RegExp(`[( ]${flag},\\s`));
  }
  assert.match(text, /\n {2}\/\/ "maxRequestSize": "10mb",\n/);
  assert.match(text, /\n {2}\/\/ "cors": true,\n/);
  for (const line of text.split("\n")) assert.ok(line.length <= 110, line);
});

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { start } from "../../../mod.ts";
import { readSettings } from "../../settings/read-settings.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { printEnvironment, readEnvironmentOf } from "./print-environment.ts";

const folder = mkdtempSync(join(tmpdir(), "larder-env-"));
after(() => rmSync(folder, { recursive: true }));

const first = { databases: undefined, indexes: undefined, users: undefined };

function runOf(words: string, environment: Readonly<Record<string, string>> = {}): RunSettings {
  const reading = readSettings({ arguments: words.split(" "), environment, readFile: () => "" });
  assert.ok(reading.kind === "run", JSON.stringify(reading));
  return reading.run;
}

test("larder env --dev prints the addresses and the tokens of larder dev", async () => {
  assert.deepEqual(await readEnvironmentOf(runOf("env --dev --store-port 81 --resp-port 82"), first), {
    UPSTASH_REDIS_REST_URL: "http://127.0.0.1:81",
    UPSTASH_REDIS_REST_TOKEN: "dev",
    KV_REST_API_URL: "http://127.0.0.1:81",
    KV_REST_API_TOKEN: "dev",
    KV_REST_API_READ_ONLY_TOKEN: "dev-readonly",
    REDIS_URL: "redis://default:dev@127.0.0.1:82",
    UPSTASH_VECTOR_REST_URL: "http://127.0.0.1:8081",
    UPSTASH_VECTOR_REST_TOKEN: "dev",
    UPSTASH_VECTOR_REST_READONLY_TOKEN: "dev-readonly",
    QSTASH_URL: "http://127.0.0.1:8080",
    QSTASH_TOKEN: "eyJVc2VySUQiOiJkZWZhdWx0VXNlciIsIlBhc3N3b3JkIjoiZGVmYXVsdFBhc3N3b3JkIn0=",
    QSTASH_CURRENT_SIGNING_KEY: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
    QSTASH_NEXT_SIGNING_KEY: "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
  });
});

test("with one port the addresses have the paths of the areas", async () => {
  const environment = await readEnvironmentOf(runOf("env --dev --port 9000"), first);
  assert.equal(environment["UPSTASH_VECTOR_REST_URL"], "http://127.0.0.1:9000/vector");
});

test("larder env prints the environment of the server that uses the data directory", async () => {
  const dataDir = join(folder, "running");
  await using larder = await start({ dataDir, store: { databases: [{ name: "first" }, { name: "second" }] } });
  const configuration = JSON.stringify({ store: { databases: [{ name: "first" }, { name: "second" }] } });
  const reading = readSettings({
    arguments: ["env", "--data-dir", dataDir, "--config", "larder.json"],
    environment: {},
    readFile: () => configuration,
  });
  assert.ok(reading.kind === "run");
  assert.deepEqual(await readEnvironmentOf(reading.run, first), larder.env);
  const second = await readEnvironmentOf(reading.run, { ...first, databases: "second" });
  assert.equal(second["UPSTASH_REDIS_REST_URL"], larder.store.url);
  assert.notEqual(second["UPSTASH_REDIS_REST_TOKEN"], larder.store.token);
  await assert.rejects(readEnvironmentOf(reading.run, { ...first, databases: "third" }), {
    message: 'There is no database "third": there is first, second',
  });
});

test("prints no token that only the command generated", async () => {
  const run = runOf(`env --data-dir ${join(folder, "unused")}`);
  await assert.rejects(readEnvironmentOf(run, first), {
    message: `${join(folder, "unused", "tokens.json")} does not have all tokens yet: start larder serve, or add --dev for the tokens of larder dev`,
  });
});

test("refuses ports that are any free port", async () => {
  await assert.rejects(readEnvironmentOf(runOf("env --dev --vector-port 0"), first), {
    message: "--vector-port 0 is any free port: name the port, or the data directory of the running server",
  });
});

test("prints export commands, an .env file or JSON", () => {
  const environment = { URL: "http://a:1", TOKEN: "it's", OTHER: 'a"$b' };
  assert.equal(
    printEnvironment(environment, "shell"),
    `export URL='http://a:1'\nexport TOKEN='it'\\''s'\nexport OTHER='a"$b'`,
  );
  assert.equal(printEnvironment(environment, "dotenv"), `URL="http://a:1"\nTOKEN="it's"\nOTHER='a"$b'`);
  assert.deepEqual(JSON.parse(printEnvironment(environment, "json")), environment);
});

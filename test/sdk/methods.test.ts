/** The table of the client's methods is complete, and the behaviour of the methods that it leaves out. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Redis } from "@upstash/redis";
import { Served, startHere } from "./client.ts";
import {
  installedMethods,
  methodsOfFamilies,
  methodsOfOthers,
  methodsOfSearch,
  methodsOfTheClient,
} from "./methods.ts";

const othersListed: readonly string[] = methodsOfOthers.flatMap(([, methods]) => methods);
const listed: readonly string[] = [
  ...Object.values(methodsOfFamilies).flat(),
  ...methodsOfTheClient,
  ...methodsOfSearch,
  ...othersListed,
];

test("every method of the client is tested by a family, or is left out for a reason", () => {
  assert.deepEqual(listed.toSorted(), installedMethods().toSorted());
});

test("every family has a file that tests its methods", () => {
  const directory = fileURLToPath(new URL(".", import.meta.url));
  const files = readdirSync(directory).filter((name) => name.endsWith(".test.ts"));
  const texts = files.map((name) => readFileSync(directory + name, "utf8"));
  for (const family of Object.keys(methodsOfFamilies))
    assert.equal(texts.filter((text) => text.includes(`testMethods("${family}",`)).length, 1, family);
});

test("a pipeline and a transaction have every method of the client except those that are not commands", () => {
  const redis = new Redis({ url: "http://unreachable.test", token: "none" });
  for (const batch of [redis.pipeline(), redis.multi()]) {
    const names = new Set(Object.keys(batch).filter((name) => typeof Reflect.get(batch, name) === "function"));
    for (const name of ["json", "functions"] as const)
      for (const inner of Object.keys(batch[name])) names.add(`${name}.${inner}`);

    assert.deepEqual(
      [...names].filter((name) => !listed.includes(name)),
      [],
    );
    assert.deepEqual(listed.filter((name) => !names.has(name)).toSorted(), [
      ...["addTelemetry", "autoPipeline", "createScript", "multi", "pipeline", "psubscribe"],
      ...["search.alias", "search.createIndex", "search.index", "subscribe", "use"],
      ...["vector.createIndex", "vector.index"],
    ]);
  }
});

const served = new Served(startHere);

/** The command that the server refuses, and the methods of the hosted service that send it. */
const refusals: readonly (readonly [command: string, method: string, run: (redis: Redis) => Promise<unknown>])[] = [
  [
    "VECTOR.CREATE",
    "vector.createIndex",
    (redis) => redis.vector.createIndex({ name: "i", dimension: 2, metric: "COSINE" }),
  ],
  ["VECTOR.QUERY", "vector.index", (redis) => redis.vector.index("i").query({ vector: [1, 2], topK: 1 })],
  ["ARCOUNT", "arcount", (redis) => redis.arcount("a")],
  ["ARDEL", "ardel", (redis) => redis.ardel("a", 0)],
  ["ARDELRANGE", "ardelrange", (redis) => redis.ardelrange("a", [0, 1])],
  ["ARGET", "arget", (redis) => redis.arget("a", 0)],
  ["ARGETRANGE", "argetrange", (redis) => redis.argetrange("a", 0, 1)],
  ["ARGREP", "argrep", (redis) => redis.argrep("a", 0, 1, { predicates: [{ exact: "x" }] })],
  ["ARINFO", "arinfo", (redis) => redis.arinfo("a")],
  ["ARINSERT", "arinsert", (redis) => redis.arinsert("a", "x")],
  ["ARLASTITEMS", "arlastitems", (redis) => redis.arlastitems("a", 1)],
  ["ARLEN", "arlen", (redis) => redis.arlen("a")],
  ["ARMGET", "armget", (redis) => redis.armget("a", 0)],
  ["ARMSET", "armset", (redis) => redis.armset("a", { 0: "x" })],
  ["ARNEXT", "arnext", (redis) => redis.arnext("a")],
  ["AROP", "arop", (redis) => redis.arop("a", 0, 1, "SUM")],
  ["ARRING", "arring", (redis) => redis.arring("a", 1, "x")],
  ["ARSCAN", "arscan", (redis) => redis.arscan("a", 0, 1)],
  ["ARSEEK", "arseek", (redis) => redis.arseek("a", 0)],
  ["ARSET", "arset", (redis) => redis.arset("a", 0, "x")],
];

test("commands of the hosted service alone are refused by name, and change nothing", async () => {
  assert.deepEqual(refusals.map(([, method]) => method).toSorted(), othersListed.toSorted());
  // In a pipeline the client decodes before it checks for an error.
  const redis = served.client({ enableAutoPipelining: false });
  for (const [command, , run] of refusals)
    await assert.rejects(run(redis), (error: Error) =>
      error.message.includes(`ERR Command is not available: '${command}'. See docs/reference/commands.md`),
    );
  assert.equal(await redis.dbsize(), 0);
});

/** Search indexes through `redis.search` of the official client. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Redis } from "@upstash/redis";
import { suiteSetting } from "../harness/cluster/suite-setting.ts";
import { Served, startHere } from "./client.ts";

const served = new Served(startHere);
/** There a directory is not what a server starts from. */
const isCluster = suiteSetting() !== undefined;

test("definitions, aliases and the order of equal scores survive a restart", { skip: isCluster }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "larder-sdk-"));
  const open = async () => {
    const server = await startHere(directory);
    const { url, token } = server.store;
    return { server, redis: new Redis({ url, token }) };
  };
  const order = ["t:5", "t:1", "t:9", "t:3"];
  try {
    const first = await open();
    const index = await first.redis.search.createIndex({
      ...{ name: "things", dataType: "hash", prefix: "t:" },
      schema: { name: "KEYWORD" },
    });
    for (const key of order) await first.redis.hset(key, { name: "thing" });
    await index.addAlias({ alias: "alias" });
    await index.waitIndexing();
    await first.server.stop();
    const second = await open();
    const found = await second.redis.search.index({ name: "alias" }).query({ filter: {}, select: {} });
    assert.deepEqual(
      found,
      order.map((key) => ({ key, score: 1 })),
    );
    await second.server.stop();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

/** The ways in which a client sends requests and takes answers. */
const clients: readonly (readonly [way: string, client: () => Redis])[] = [
  ["automatic pipelines", () => served.client()],
  [
    "single requests, plain answers",
    () => served.client({ responseEncoding: false, enableAutoPipelining: false, automaticDeserialization: true }),
  ],
];

const notes: readonly object[] = [
  { note: "A pale octopus hides under coral", depth: 12.5, zone: "slope", taxon: "/mollusc/octopus" },
  { note: "Coral, coral and more coral", depth: 3, zone: "flat", taxon: "/cnidaria/coral" },
  { note: "The octopus watched the diver; the diver fled", depth: 30, zone: "slope", taxon: "/mollusc/octopus" },
  { note: "Octopuses and squids", depth: 200, zone: "deep", taxon: "/mollusc" },
  { note: "Sea grass", zone: "flat", taxon: "/plant/grass" },
];

const schema = {
  note: "TEXT",
  depth: { type: "F64", fast: true },
  zone: "KEYWORD",
  taxon: "FACET",
} as const;

async function reef(redis: Redis) {
  await redis.flushdb();
  const index = await redis.search.createIndex({ name: "reef", dataType: "json", prefix: "reef:", schema });
  for (const [number, note] of notes.entries()) await redis.json.set(`reef:${number}`, "$", { ...note });
  assert.equal(await index.waitIndexing(), 1);
  return index;
}

for (const [way, clientOf] of clients) {
  test(`an index is created, described, searched and dropped, in ${way}`, async () => {
    const redis = clientOf();
    const index = await reef(redis);
    assert.deepEqual(await index.describe(), {
      name: "reef",
      dataType: "json",
      prefixes: ["reef:"],
      language: "english",
      schema: {
        note: { type: "TEXT" },
        depth: { type: "F64", fast: true },
        zone: { type: "KEYWORD" },
        taxon: { type: "FACET" },
      },
    });
    assert.deepEqual(await index.query({ filter: { note: { $phrase: "pale octopus" } } }), [
      { key: "reef:0", score: 1.7466556, data: notes[0] },
    ]);
    assert.deepEqual(await index.query({ filter: { note: { $eq: "coral" } }, select: { depth: true } }), [
      { key: "reef:1", score: 1.3635619, data: { depth: 3 } },
      { key: "reef:0", score: 0.7942397, data: { depth: 12.5 } },
    ]);
    assert.deepEqual(await index.query({ filter: {}, orderBy: { depth: "ASC" }, limit: 2, offset: 1, select: {} }), [
      { key: "reef:0", score: 12.5 },
      { key: "reef:2", score: 30 },
    ]);
    assert.deepEqual(await index.query({ filter: { zone: "none" } }), []);
    assert.deepEqual(await index.count({ filter: { zone: "slope" } }), { count: 2 });
    assert.equal(await redis.type("reef"), "search");
    assert.deepEqual(await redis.scan("0", { type: "search" }), ["0", ["reef"]]);
    assert.equal(await index.drop(), 1);
    assert.equal(await index.drop(), 0);
    assert.equal(await index.describe(), null);
    assert.equal(await index.query({ filter: {} }), null);
    assert.deepEqual(await index.count({ filter: {} }), { count: -1 });
    assert.equal(await index.waitIndexing(), 0);
    assert.equal(await redis.dbsize(), 5);
  });

  test(`highlights stand where the text is, in ${way}`, async () => {
    const index = await reef(clientOf());
    const highlight: { fields: "note"[]; preTag: string; postTag: string } = {
      fields: ["note"],
      preTag: "[",
      postTag: "]",
    };
    assert.deepEqual(await index.query({ filter: { note: { $eq: "coral" } }, highlight, select: { note: true } }), [
      { key: "reef:1", score: 1.3635619, data: { note: "[Coral], [coral] and more [coral]" } },
      { key: "reef:0", score: 0.7942397, data: { note: "A pale octopus hides under [coral]" } },
    ]);
  });

  test(`aggregations come as objects, in ${way}`, async () => {
    const index = await reef(clientOf());
    const aggregations = {
      zones: { $terms: { field: "zone" }, $aggs: { depth: { $avg: { field: "depth" } } } },
      depths: { $histogram: { field: "depth", interval: 100 } },
      taxa: { $facet: { field: "taxon", path: "/mollusc" } },
    } as const;
    assert.deepEqual(await index.aggregate({ aggregations }), {
      zones: {
        buckets: [
          { key: "slope", docCount: 2, depth: { value: 21.25 } },
          { key: "flat", docCount: 2, depth: { value: 3 } },
          { key: "deep", docCount: 1, depth: { value: 200 } },
        ],
        sumOtherDocCount: 0,
        docCountErrorUpperBound: 0,
      },
      depths: {
        buckets: [
          { key: 0, docCount: 3 },
          { key: 100, docCount: 0 },
          { key: 200, docCount: 1 },
        ],
      },
      taxa: {
        path: "/mollusc",
        sumOtherDocCount: 0,
        children: [{ path: "/mollusc/octopus", docCount: 2, sumOtherDocCount: 0 }],
      },
    });
  });

  test(`aliases name indexes, in ${way}`, async () => {
    const redis = clientOf();
    const index = await reef(redis);
    assert.deepEqual(await redis.search.alias.list(), {});
    assert.equal(await index.addAlias({ alias: "sea" }), 1);
    assert.equal(await redis.search.alias.add({ indexName: "reef", alias: "sea" }), 2);
    assert.equal(await redis.search.alias.add({ indexName: "missing", alias: "later" }), 1);
    assert.deepEqual(await redis.search.alias.list(), { later: "missing", sea: "reef" });
    const sea = redis.search.index({ name: "sea", schema });
    assert.deepEqual(await sea.count({ filter: { note: { $fuzzy: "octopu diver" } } }), { count: 1 });
    assert.equal((await sea.describe())?.name, "reef");
    assert.equal(await redis.search.alias.delete({ alias: "later" }), 1);
    assert.equal(await redis.search.alias.delete({ alias: "later" }), 0);
  });

  test(`hashes and strings are documents, in ${way}`, async () => {
    const redis = clientOf();
    await redis.flushdb();
    const hashes = await redis.search.createIndex({
      ...{ name: "hashes", dataType: "hash", prefix: ["g:", "h:"], existsOk: true, language: "german" },
      schema: { name: { type: "TEXT", noStem: true }, age: { type: "U64", fast: true } },
    });
    await redis.hset("h:1", { name: "Ada", age: 36, extra: "x" });
    assert.deepEqual(await hashes.query({ filter: { age: { $gte: 30 } }, select: { name: true } }), [
      { key: "h:1", score: 1, data: { name: "Ada" } },
    ]);
    const strings = await redis.search.createIndex({
      ...{ name: "strings", dataType: "string", prefix: "s:", skipInitialScan: true },
      schema: { in: { name: "KEYWORD" as const } },
    });
    await redis.set("s:1", { in: { name: "Ada" }, n: [1, 2.5] });
    assert.deepEqual(await strings.query({ filter: { "in.name": "Ada" } }), [
      { key: "s:1", score: 1, data: { in: { name: "Ada" }, n: [1, 2.5] } },
    ]);
  });

  test(`the client reads names and texts that look like numbers as numbers, in ${way}`, async () => {
    const redis = clientOf();
    await redis.flushdb();
    const index = await redis.search.createIndex({
      ...{ name: "7", dataType: "json", prefix: ["1", "j"] },
      schema: { in: { word: "KEYWORD" as const }, n: { type: "F64" as const, fast: true as const } },
    });
    await redis.json.set("1", "$", { in: { word: "12" }, n: 4, flags: { on: true } });
    await redis.json.set("j", "$", { in: { word: "[1]" }, n: 30, text: "null" });
    assert.deepEqual(
      await index.query({
        filter: { "in.word": "12" },
        select: { "in.word": true, n: true, "flags.on": true } as never,
      }),
      [{ key: 1, score: 1, data: { in: { word: 12 }, n: 4, flags: { on: true } } }],
    );
    assert.deepEqual(await index.query({ filter: { n: { $gt: 4 } } }), [
      { key: "j", score: 1, data: { in: { word: "[1]" }, n: 30, text: "null" } },
    ]);
    const aggregations: Parameters<typeof index.aggregate>[0]["aggregations"] = {
      p: { $percentiles: { field: "n", percents: [50, 99.5] } },
      words: { $terms: { field: "in.word" } },
      none: { $avg: { field: "n" } },
    };
    assert.deepEqual(await index.aggregate({ filter: { n: 4 }, aggregations }), {
      p: { values: { "50.0": 4, "99.5": 4 } },
      words: { buckets: [{ key: 12, docCount: 1 }], sumOtherDocCount: 0, docCountErrorUpperBound: 0 },
      none: { value: 4 },
    });
    assert.deepEqual((await index.aggregate({ filter: { n: 5 }, aggregations }))?.["none"], { value: null });
  });

  test(`errors have the text of the server, in ${way}`, async () => {
    const redis = clientOf();
    const index = await reef(redis);
    await assert.rejects(index.query({ filter: { none: "x" } } as never), /ERR Unknown field: none/);
    await assert.rejects(
      redis.search.createIndex({ name: "reef", dataType: "json", prefix: "reef:", schema }),
      /ERR Index reef already exists/,
    );
    await assert.rejects(redis.set("reef", "x"), /WRONGTYPE/);
  });
}

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { crc32 } from "node:zlib";
import { atOnce } from "../../../test/harness/at-once.ts";
import { clusteredRows, nearestRows } from "../../../test/harness/clustered-rows.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { GraphHits, LoadedGraph, NamespaceGraph, RecordVersion } from "./graph.ts";
import { InlineGraphBuilder } from "./inline-graph-builder.ts";

const SEED = 5_021;
const DIMENSION = 16;
const COUNT = 1_500;

const all = clusteredRows(seededRandom(SEED), { count: COUNT, dimension: DIMENSION, clusters: 30, noise: 0.4 });
const rowOf = (record: number): Float32Array => all.subarray(record * DIMENSION, (record + 1) * DIMENSION);
const options = { dimension: DIMENSION, similarity: "COSINE", read: rowOf } as const;
const records: readonly RecordVersion[] = Array.from({ length: COUNT }, (_, record) => ({
  record,
  version: record * 8 + 0.5,
}));

async function fileOf(saved: readonly RecordVersion[]): Promise<Uint8Array<ArrayBuffer>> {
  const builder = new InlineGraphBuilder();
  const graph = builder.open(options);
  for (const { record, version } of saved) graph.insert(record, version);
  await graph.whenBuilt();
  const bytes = await graph.save();
  assert.ok(bytes);
  return bytes;
}

const file = await fileOf(records);

function loaded(result: LoadedGraph): Extract<LoadedGraph, { kind: "loaded" }> {
  assert.ok(result.kind === "loaded", "it is loaded");
  return result;
}

function load(bytes: Uint8Array, now: Iterable<RecordVersion> = records): LoadedGraph {
  return atOnce(new InlineGraphBuilder().load(options, bytes, now));
}

/** The share of the 10 most similar records among 50 hits, for every 50th row. */
function recallOf(graph: NamespaceGraph, among: readonly number[]): number {
  let found = 0;
  let wanted = 0;
  for (let record = 0; record < COUNT; record += 50) {
    const query = rowOf(record);
    const nearest = nearestRows(query, { similarity: "COSINE", count: 10, among, rowOf });
    const hits = graph.search({ query, count: 50, effort: 64 });
    const known = new Set(hits.records.subarray(0, hits.count));
    wanted += nearest.length;
    found += nearest.filter((nearby) => known.has(nearby)).length;
  }
  return found / wanted;
}

const everyRecord = records.map(({ record }) => record);

test("a loaded graph finds what the saved one found, and no record is pending", () => {
  const { graph, lostCount } = loaded(load(file));

  assert.equal(lostCount, 0);
  assert.equal(graph.count, COUNT);
  assert.equal(graph.pendingCount, 0);
  assert.ok(recallOf(graph, everyRecord) >= 0.99);
});

test("saving a loaded graph gives the same file", async () => {
  const { graph } = loaded(load(file));

  assert.deepEqual(await graph.save(), file);
});

test("the file may begin anywhere in its buffer", () => {
  const shifted = new Uint8Array(file.length + 3).subarray(3);
  shifted.set(file);

  assert.equal(loaded(load(shifted)).graph.count, COUNT);
});

test("a renumbered record is found by its new number", () => {
  const turned = records.map(({ record, version }) => ({ record: COUNT - 1 - record, version }));
  const builder = new InlineGraphBuilder();
  const read = (record: number): Float32Array => rowOf(COUNT - 1 - record);

  const { graph } = loaded(atOnce(builder.load({ ...options, read }, file, turned)));

  assert.equal(graph.search({ query: rowOf(0), count: 1, effort: 50 }).records[0], COUNT - 1);
});

test("records that are not in the file are pending until they are inserted", async () => {
  const half = await fileOf(records.slice(0, 1_000));

  const { graph } = loaded(load(half));
  assert.equal(graph.count, 1_000);
  assert.deepEqual(
    [...graph.pending].sort((a, b) => a - b),
    everyRecord.slice(1_000),
  );
  await graph.whenBuilt();
  assert.equal(graph.count, COUNT);
  assert.ok(recallOf(graph, everyRecord) >= 0.99);
});

describe("changed rows", () => {
  test("a missing version gives no node, and its neighbours are still found", () => {
    const now = records.filter(({ record }) => record % 3 !== 0);

    const { graph, lostCount } = loaded(load(file, now));

    assert.equal(lostCount, 500);
    assert.equal(graph.count, 1_000);
    assert.ok(
      recallOf(
        graph,
        now.map(({ record }) => record),
      ) >= 0.98,
    );
  });

  test("a row with the version of another one is inserted again", async () => {
    const builder = new InlineGraphBuilder();
    // A file of another index with the same versions.
    const read = (record: number): Float32Array => rowOf(record % 5 === 0 ? (record + 1) % COUNT : record);

    const { graph, lostCount } = loaded(atOnce(builder.load({ ...options, read }, file, records)));

    assert.equal(lostCount, 300);
    assert.equal(graph.pendingCount, 300);
    await graph.whenBuilt();
    assert.equal(graph.count, COUNT);
  });

  test("refuses a file that has lost most of its rows", () => {
    const result = load(file, records.slice(0, 700));

    assert.deepEqual(result, { kind: "refused", reason: "too many of its rows have changed" });
  });
});

test("a loaded graph has no dead nodes", async () => {
  const builder = new InlineGraphBuilder();
  const graph = builder.open(options);
  for (const { record, version } of records) graph.insert(record, version);
  await graph.whenBuilt();
  for (let record = 0; record < 300; record += 1) graph.remove(record);
  const bytes = await graph.save();
  assert.ok(bytes);

  const again = loaded(load(bytes, records.slice(300)));

  assert.equal(again.graph.count, 1_200);
  assert.equal(again.lostCount, 300);
  assert.ok(recallOf(again.graph, everyRecord.slice(300)) >= 0.99);
});

describe("refuses invalid files", () => {
  const refusals: readonly (readonly [string, Uint8Array, string])[] = [
    ["an empty file", new Uint8Array(0), "its length is wrong"],
    ["a length that is not a multiple of four", file.subarray(0, -1), "its length is wrong"],
    ["a cut file", file.subarray(0, -400), "its length is wrong"],
    ["a file with extra bytes", Uint8Array.from([...file, 0, 0, 0, 0]), "its length is wrong"],
    ["another file", new Uint8Array(4_096).fill(7), "it is not a graph file of this machine"],
    ["another format", changed(1, 2), "it has format 2, but this version reads format 1"],
    ["another dimension", resigned(changed(2, 17)), "it has another dimension or similarity"],
    ["another similarity", resigned(changed(3, 1)), "it has another dimension or similarity"],
    ["more nodes than there are", resigned(changed(4, COUNT + 1)), "its nodes do not fill it exactly"],
    ["fewer nodes than there are", resigned(changed(4, COUNT - 1)), "its nodes do not fill it exactly"],
    ["a huge number of nodes", resigned(changed(4, 0xffff_ffff)), "its nodes do not fill it exactly"],
    ["no entry", resigned(changed(5, 0)), "its entry is not a node"],
    ["an entry that is not a node", resigned(changed(5, COUNT + 1)), "its entry is not a node"],
    ["a centre that is not a number", resigned(changed(6, 0x7fc0_0000)), "its centre is not finite"],
    ["a level above the maximum", resigned(changed(6 + DIMENSION + 3, 25)), "its nodes do not fill it exactly"],
    ["a link beyond the nodes", resigned(changed(6 + DIMENSION + 4, COUNT + 1)), "it has an invalid link"],
  ];
  for (const [what, bytes, reason] of refusals) {
    test(what, () => assert.deepEqual(load(bytes), { kind: "refused", reason }));
  }

  test("every flipped bit", () => {
    const random = seededRandom(SEED + 1);
    for (let i = 0; i < 300; i += 1) {
      const bytes = file.slice();
      const at = random.below(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      assert.equal(load(bytes).kind, "refused", `byte ${at}`);
    }
  });
});

test("wrong contents with a valid checksum never give a wrong record, and never fail", () => {
  const seed = SEED + 2;
  const random = seededRandom(seed);
  let loadedCount = 0;
  for (let i = 0; i < 150; i += 1) {
    const bytes = file.slice();
    const words = new Uint32Array(bytes.buffer);
    for (let change = 0; change < 1 + random.below(4); change += 1) {
      const at = 4 + random.below(words.length - 6);
      const kind = random.below(3);
      // A small number may pass as a link, a word from elsewhere as anything.
      if (kind === 0) words[at] = random.below(COUNT + 2);
      else if (kind === 1) words[at] = words[random.below(words.length)] as number;
      else words.copyWithin(at, random.below(words.length), random.below(words.length));
    }
    const result = load(resigned(bytes));
    if (result.kind === "refused") continue;
    loadedCount += 1;
    for (let record = 0; record < COUNT; record += 300) {
      const hits: GraphHits = result.graph.search({ query: rowOf(record), count: 20, effort: 20 });
      const found = [...hits.records.subarray(0, hits.count)];
      assert.equal(new Set(found).size, found.length, `seed ${seed}, file ${i}`);
      assert.deepEqual(
        found.filter((hit) => hit >= COUNT),
        [],
        `seed ${seed}, file ${i}`,
      );
    }
  }
  assert.ok(loadedCount > 10, `${loadedCount} were loaded`);
});

/** The file with one word changed. */
function changed(word: number, value: number): Uint8Array<ArrayBuffer> {
  const bytes = file.slice();
  new Uint32Array(bytes.buffer)[word] = value;
  return bytes;
}

/** The file with the correct length and checksum of its contents. */
function resigned(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(bytes.buffer);
  words[words.length - 2] = words.length;
  words[words.length - 1] = crc32(bytes.subarray(0, -4));
  return bytes;
}

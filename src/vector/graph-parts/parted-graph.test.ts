import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { atOnce } from "../../../test/harness/at-once.ts";
import { clusteredRows, nearestRows } from "../../../test/harness/clustered-rows.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { GraphOptions, RecordVersion } from "../graph/graph.ts";
import { InlineGraphBuilder } from "../graph/inline-graph-builder.ts";
import { type Similarity, similarities } from "../index/definition.ts";
import { hasBit, setBit, wordCountOf } from "../search/bits.ts";
import { mergedHits, type PartHits } from "./graph-part.ts";
import { PartedGraph } from "./parted-graph.ts";

const SEED = 20_261_129;
const DIMENSION = 24;
const PART_RECORDS = 256;
const DRAWN = 4_000;
const WANTED = 10;
const EFFORT = 64;
const NOTHING: PartHits = { records: new Uint32Array(0), distances: new Float32Array(0) };

const drawn = clusteredRows(seededRandom(SEED), { count: DRAWN, dimension: DIMENSION, clusters: 40, noise: 0.4 });
const drawnRow = (i: number): Float32Array => drawn.slice(i * DIMENSION, (i + 1) * DIMENSION);

/** Rows by record, beside a graph in parts. */
class World {
  readonly builder = new InlineGraphBuilder();
  readonly rows = new Map<number, Float32Array>();
  readonly versions = new Map<number, number>();
  readonly similarity: Similarity;
  readonly options: GraphOptions;
  graph: PartedGraph;
  #nextRow = 0;
  #nextVersion = 1;

  constructor(similarity: Similarity = "COSINE") {
    this.similarity = similarity;
    this.options = {
      dimension: DIMENSION,
      similarity,
      read: (record) => {
        const row = this.rows.get(record);
        assert.ok(row !== undefined, `record ${record} has a row`);
        return row;
      },
    };
    this.graph = this.opened();
  }

  opened(): PartedGraph {
    return new PartedGraph({ graphs: this.builder, graph: this.options, partRecords: PART_RECORDS });
  }

  put(record: number, row = this.#draw()): void {
    this.rows.set(record, row);
    this.versions.set(record, this.#nextVersion);
    this.graph.insert(record, this.#nextVersion);
    this.#nextVersion += 1;
  }

  remove(record: number): void {
    this.rows.delete(record);
    this.versions.delete(record);
    this.graph.remove(record);
  }

  move(from: number, to: number): void {
    const row = this.rows.get(from) as Float32Array;
    this.remove(from);
    this.put(to, row);
  }

  fill(count: number): Promise<void> {
    for (let record = 0; record < count; record += 1) this.put(record);
    return this.graph.whenBuilt();
  }

  *versionsOf(number: number): Generator<RecordVersion> {
    for (const [record, version] of this.versions)
      if (Math.floor(record / PART_RECORDS) === number) yield { record, version };
  }

  find(query: Float32Array, count: number, matches?: Uint32Array): readonly number[] {
    let hits = NOTHING;
    for (const part of this.graph.parts) {
      if (matches !== undefined && part.countOf({ matches, version: 1 }) === 0) continue;
      const accepts = matches && part.bitsOf(matches);
      hits = mergedHits(
        hits,
        part.hitsOf(part.graph.search({ query, count, effort: Math.max(count, EFFORT), ...(accepts && { accepts }) })),
      );
    }
    return [...hits.records];
  }

  /** The share of the nearest records of `among` that are among the first 50 of the merged lists. */
  recall(queryCount: number, matches?: Uint32Array): number {
    const among = [...this.rows.keys()].filter((record) => matches === undefined || hasBit(matches, record));
    let found = 0;
    let wanted = 0;
    for (let i = 0; i < queryCount; i += 1) {
      const query = drawnRow(DRAWN - 1 - i);
      const rowOf = (record: number): Float32Array => this.rows.get(record) as Float32Array;
      const nearest = nearestRows(query, { similarity: this.similarity, count: WANTED, among, rowOf });
      const hits = new Set(this.find(query, EFFORT, matches).slice(0, 50));
      wanted += nearest.length;
      found += nearest.filter((record) => hits.has(record)).length;
    }
    return found / wanted;
  }

  #draw(): Float32Array {
    this.#nextRow += 1;
    return drawnRow(this.#nextRow);
  }
}

test("a part begins with its first record, and each record is in the part of its number", async () => {
  const world = new World();
  assert.equal(world.graph.parts.length, 0);
  for (const record of [0, 255, 256, 1_025]) world.put(record);
  await world.graph.whenBuilt();

  assert.deepEqual(
    world.graph.parts.map(({ number, first, graph: { count }, insertCount }) => [number, first, count, insertCount]),
    [
      [0, 0, 2, 2],
      [1, 256, 1, 1],
      [4, 1_024, 1, 1],
    ],
  );
  assert.equal(world.graph.count, 4);
});

test("pending records have the numbers of the namespace", () => {
  const world = new World();
  for (const record of [3, 300, 301, 900]) world.put(record);
  world.graph.remove(301);
  world.graph.remove(2_000);

  assert.deepEqual(
    world.graph.parts.map((part) => [...part.pending()]),
    [[3], [300], [900]],
  );
  assert.equal(world.graph.pendingCount, 3);
  assert.deepEqual(
    [3, 4, 300, 301, 900, 2_000].map((record) => world.graph.isPending(record)),
    [true, false, true, false, true, false],
  );
});

test("tables and bits of a graph have the size of its part", async () => {
  const world = new World();
  await world.fill(600);
  const matches = new Uint32Array(wordCountOf(600));
  for (const record of [0, 255, 256, 599]) setBit(matches, record);

  assert.deepEqual(
    world.graph.parts.map((part) => [part.bitsOf(matches).length, part.countOf({ matches, version: 1 })]),
    [
      [8, 2],
      [8, 1],
      [3, 1],
    ],
  );
  setBit(matches, 257);
  const [, second] = world.graph.parts;
  assert.equal(second?.bitsOf(matches), second?.bitsOf(matches), "one view of the same bits");
  assert.equal(second?.countOf({ matches, version: 1 }), 1, "counted again only with another version");
  assert.equal(second?.countOf({ matches, version: 2 }), 2);
});

test("bits that end with the first part are used as they are", async () => {
  const world = new World();
  await world.fill(10);
  const matches = new Uint32Array(8);

  assert.equal(world.graph.parts[0]?.bitsOf(matches), matches);
});

test("hits are in the order of their distances, and those of the first list come first if these are equal", () => {
  const list = (...hits: readonly (readonly [number, number])[]): PartHits => ({
    records: Uint32Array.from(hits, ([record]) => record),
    distances: Float32Array.from(hits, ([, distance]) => distance),
  });

  assert.deepEqual(
    mergedHits(list([5, -2], [1, 0.5], [9, 3]), list([12, -3], [11, 0.5], [10, 0.75])),
    list([12, -3], [5, -2], [1, 0.5], [11, 0.5], [10, 0.75], [9, 3]),
  );
  assert.deepEqual(mergedHits(list(), list([4, 1])), list([4, 1]));
  assert.deepEqual(mergedHits(list([4, 1]), list()), list([4, 1]));
});

describe("beside brute force", () => {
  for (const similarity of similarities)
    test(`${similarity}: five parts find 99 % of the nearest records, through changes and moves`, async () => {
      const world = new World(similarity);
      const random = seededRandom(SEED);
      await world.fill(1_200);
      const before = world.recall(50);
      for (let i = 0; i < 600; i += 1) {
        const records = [...world.rows.keys()];
        const record = records[random.below(records.length)] as number;
        const kind = random.below(3);
        if (kind === 0) world.put(record);
        else if (kind === 1) world.remove(record);
        else {
          const to = random.below(1_280);
          if (!world.rows.has(to)) world.move(record, to);
        }
      }
      await world.graph.whenBuilt();

      assert.equal(world.graph.count, world.rows.size);
      assert.deepEqual(
        [before, world.recall(50)].map((recall) => recall >= 0.99),
        [true, true],
      );
      const hits = world.find(drawnRow(1), 2_000);
      assert.deepEqual(hits.toSorted(byNumber), [...world.rows.keys()].toSorted(byNumber), "each once, none removed");
    });

  test("walks return the records that pass a filter, whatever their part", async () => {
    const world = new World();
    await world.fill(1_000);
    const matches = new Uint32Array(wordCountOf(1_000));
    // None of the second part.
    for (let record = 0; record < 1_000; record += 1)
      if (record % 3 === 0 && (record < 256 || record >= 512)) setBit(matches, record);

    assert.ok(world.recall(50, matches) >= 0.98);
    assert.ok(world.find(drawnRow(7), EFFORT, matches).every((record) => hasBit(matches, record)));
  });
});

describe("files of parts", () => {
  test("each part finds its records in its file, and the others are pending", async () => {
    const world = new World();
    await world.fill(700);
    const files = await Promise.all(world.graph.parts.map(({ graph }) => graph.save()));
    world.put(300);
    world.rows.delete(600);
    world.versions.delete(600);
    const loaded = world.opened();
    for (const [number, bytes] of files.entries()) {
      assert.ok(bytes !== undefined);
      assert.equal(atOnce(loaded.load(number, bytes, world.versionsOf(number))), undefined);
    }

    assert.deepEqual(
      loaded.parts.map((part) => [part.graph.count, [...part.pending()]]),
      [
        [256, []],
        [255, [300]],
        [187, []],
      ],
    );
    world.graph = loaded;
    await loaded.whenBuilt();
    assert.ok(world.recall(50) >= 0.99);
  });

  test("the file of another part is refused, and changes nothing", async () => {
    const world = new World();
    await world.fill(512);
    const [, bytes] = await Promise.all(world.graph.parts.map(({ graph }) => graph.save()));
    const loaded = world.opened();

    assert.equal(atOnce(loaded.load(0, bytes as Uint8Array, world.versionsOf(0))), "too many of its rows have changed");
    assert.equal(loaded.parts.length, 0);
  });

  test("rows that are read later have the numbers of the namespace", async () => {
    const world = new World();
    await world.fill(512);
    const [, bytes] = await Promise.all(world.graph.parts.map(({ graph }) => graph.save()));
    const { dimension, similarity } = world.options;
    const asked: number[] = [];
    const readLater = async (records: readonly number[]): Promise<readonly (Float32Array | undefined)[]> => {
      asked.push(...records);
      return records.map((record) => world.rows.get(record));
    };
    const graph = new PartedGraph({
      graphs: world.builder,
      graph: { dimension, similarity, readLater },
      partRecords: PART_RECORDS,
    });

    assert.equal(await graph.load(1, bytes as Uint8Array, world.versionsOf(1)), undefined);
    graph.insert(3, 1_000);
    await graph.whenBuilt();
    assert.deepEqual(asked.toSorted(byNumber), [3, ...Array.from({ length: 256 }, (_, i) => 256 + i)]);
    assert.deepEqual(
      graph.parts.map(({ number, graph: { count } }) => [number, count]),
      [
        [0, 1],
        [1, 256],
      ],
    );
  });
});

function byNumber(one: number, other: number): number {
  return one - other;
}

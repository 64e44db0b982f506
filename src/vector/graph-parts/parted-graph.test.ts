import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { atOnce } from "../../../test/harness/at-once.ts";
import { clusteredRows, nearestRows } from "../../../test/harness/clustered-rows.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { GraphOptions, NamespaceGraph, RecordVersion } from "../graph/graph.ts";
import { InlineGraphBuilder } from "../graph/inline-graph-builder.ts";
import { type Similarity, similarities } from "../index/definition.ts";
import { hasBit, setBit, wordCountOf } from "../search/bits.ts";
import { type ListedHits, mergedHits } from "./graph-part.ts";
import { PartedGraph } from "./parted-graph.ts";

const SEED = 20_261_129;
const DIMENSION = 24;
const PART_RECORDS = 256;
const DRAWN = 4_000;
const WANTED = 10;
const EFFORT = 64;
const NOTHING: ListedHits = { records: new Uint32Array(0), distances: new Float32Array(0), count: 0 };

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

  *versionsNow(): Generator<RecordVersion> {
    for (const [record, version] of this.versions) yield { record, version };
  }

  /** The numbers of the parts, and how many records each has. */
  get sizes(): readonly (readonly [number: number, recordCount: number])[] {
    return this.graph.parts.map(({ number, recordCount }) => [number, recordCount]);
  }

  find(query: Float32Array, count: number, matches?: Uint32Array): readonly number[] {
    let hits = NOTHING;
    for (const { graph } of this.graph.parts) {
      const request = { query, count, effort: Math.max(count, EFFORT) };
      hits = mergedHits(hits, graph.search({ ...request, ...(matches !== undefined && { accepts: matches }) }));
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

test("a part begins when the others are full, and a removed record leaves room in its part", () => {
  const world = new World();
  assert.deepEqual(world.sizes, []);
  for (let record = 0; record < 600; record += 1) world.put(record);
  assert.deepEqual(world.sizes, [
    [0, 256],
    [1, 256],
    [2, 88],
  ]);
  for (let record = 250; record < 260; record += 1) world.remove(record);
  world.graph.remove(2_000);
  for (const record of [700, 701, 100, 300]) world.put(record);

  assert.deepEqual(world.sizes, [
    [0, 252],
    [1, 252],
    [2, 88],
  ]);
  assert.deepEqual(
    [0, 250, 260, 600, 700, 2_000].map((record) => world.graph.has(record)),
    [true, false, true, false, true, false],
  );
});

test("a record that changes is pending in its part, and one that moves in the first part with room", async () => {
  const world = new World();
  await world.fill(600);
  world.put(300);
  world.move(599, 700);
  assert.deepEqual(
    world.graph.parts.map(({ graph }) => [...graph.pending]),
    [[], [300], [700]],
  );
  world.remove(3);
  world.move(598, 3);

  assert.deepEqual(
    world.graph.parts.map(({ graph, changeCount }) => [[...graph.pending], changeCount]),
    [
      [[3], 258],
      [[300], 257],
      [[700], 91],
    ],
  );
  assert.equal(world.graph.pendingCount, 3);
  assert.equal(world.graph.count + world.graph.pendingCount, world.rows.size);
});

test("the records of a part that pass are counted, and again only with another version", async () => {
  const world = new World();
  await world.fill(600);
  const matches = new Uint32Array(wordCountOf(600) + 1);
  // The last ones do not exist.
  for (const record of [0, 255, 256, 599, 600, 610]) setBit(matches, record);
  const counts = (version: number): readonly number[] =>
    world.graph.parts.map((part) => world.graph.passCountOf(part, { matches, version }));

  assert.deepEqual(counts(1), [2, 1, 1]);
  setBit(matches, 257);
  assert.deepEqual(counts(1), [2, 1, 1]);
  assert.deepEqual(counts(2), [2, 2, 1]);
  const [, second] = world.graph.parts;
  assert.ok(second !== undefined);
  const passing = world.graph.passingOf(second, matches);
  assert.deepEqual([passing.count, hasBit(passing.matches, 255), hasBit(passing.matches, 256)], [2, false, true]);
});

test("of a long filter, the counts are estimates", () => {
  const unbuilt = { insert: () => {} } as unknown as NamespaceGraph;
  const graphs = { open: () => unbuilt, load: () => assert.fail("nothing is loaded") };
  const graph = new PartedGraph({ graphs, graph: new World().options, partRecords: 40_000 });
  for (let record = 0; record < 100_000; record += 1) graph.insert(record, record);
  const matches = new Uint32Array(wordCountOf(100_000));
  for (let record = 0; record < 60_000; record += 3) setBit(matches, record);
  const counts = graph.parts.map((part) => graph.passCountOf(part, { matches, version: 1 }));

  for (const [i, wanted] of [13_333, 6_667, 0].entries())
    assert.ok(Math.abs((counts[i] as number) - wanted) < 300, `${counts[i]} instead of ${wanted}`);
});

test("hits are in the order of their distances, and those of the first list come first if these are equal", () => {
  const list = (...hits: readonly (readonly [number, number])[]): ListedHits => ({
    records: Uint32Array.from(hits, ([record]) => record),
    distances: Float32Array.from(hits, ([, distance]) => distance),
    count: hits.length,
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
  const filesOf = ({ graph }: World): Promise<readonly (Uint8Array | undefined)[]> =>
    Promise.all(graph.parts.map((part) => part.graph.save()));

  test("each part has the records of its file, whatever their numbers are now", async () => {
    const world = new World();
    await world.fill(700);
    const files = await filesOf(world);
    const rows = [...world.rows];
    world.rows.clear();
    world.versions.clear();
    for (const [record, row] of rows) {
      world.rows.set(999 - record, row);
      world.versions.set(999 - record, record + 1);
    }
    // One is gone, and one has another row.
    world.rows.delete(999);
    world.versions.delete(999);
    world.versions.set(500, 5_000);
    world.graph = world.opened();
    for (const [number, bytes] of files.entries())
      assert.equal(atOnce(world.graph.load(number, bytes as Uint8Array, world.versionsNow())), undefined);

    assert.deepEqual(world.sizes, [
      [0, 255],
      [1, 255],
      [2, 188],
    ]);
    assert.deepEqual(
      [998, 743, 500, 300].map((record) => world.graph.has(record)),
      [true, true, false, true],
    );
    assert.equal(world.graph.pendingCount, 0);
    world.graph.insert(500, 5_000);
    await world.graph.whenBuilt();
    assert.ok(world.recall(50) >= 0.99);
  });

  test("a file that is loaded as another part, or twice, gives no record twice", async () => {
    const world = new World();
    await world.fill(512);
    const [first, second] = (await filesOf(world)) as [Uint8Array, Uint8Array];
    world.graph = world.opened();

    assert.equal(atOnce(world.graph.load(3, second, world.versionsNow())), undefined);
    assert.equal(atOnce(world.graph.load(0, second, world.versionsNow())), "too many of its rows have changed");
    assert.equal(atOnce(world.graph.load(1, first, world.versionsNow())), undefined);
    assert.deepEqual(world.sizes, [
      [1, 256],
      [3, 256],
    ]);
    assert.equal(world.graph.count, 512);
  });

  test("a file with more records than a part is loaded whole, and gives away those that change", async () => {
    const world = new World();
    const whole = world.builder.open(world.options);
    for (let record = 0; record < 600; record += 1) {
      world.rows.set(record, drawnRow(record));
      world.versions.set(record, record);
      whole.insert(record, record);
    }
    await whole.whenBuilt();
    assert.equal(atOnce(world.graph.load(0, (await whole.save()) as Uint8Array, world.versionsNow())), undefined);
    assert.deepEqual(world.sizes, [[0, 600]]);
    for (let record = 0; record < 400; record += 1) world.put(record);

    assert.deepEqual(world.sizes, [
      [0, 256],
      [1, 256],
      [2, 88],
    ]);
    await world.graph.whenBuilt();
    assert.ok(world.recall(50) >= 0.99);
  });

  test("a damaged file is refused, and changes nothing", async () => {
    const world = new World();
    await world.fill(256);
    const [bytes] = (await filesOf(world)) as [Uint8Array];
    bytes[200] = (bytes[200] as number) ^ 1;
    world.graph = world.opened();

    assert.equal(atOnce(world.graph.load(0, bytes, world.versionsNow())), "its checksum is wrong");
    assert.deepEqual(world.sizes, []);
  });

  test("only rows of the file are read later", async () => {
    const world = new World();
    await world.fill(512);
    const [, bytes] = (await filesOf(world)) as [Uint8Array, Uint8Array];
    const { dimension, similarity } = world.options;
    const asked: number[] = [];
    const readLater = async (records: readonly number[]): Promise<readonly (Float32Array | undefined)[]> => {
      asked.push(...records);
      return records.map((record) => world.rows.get(record));
    };
    const options = { dimension, similarity, readLater };
    world.graph = new PartedGraph({ graphs: world.builder, graph: options, partRecords: PART_RECORDS });

    assert.equal(await world.graph.load(1, bytes, world.versionsNow()), undefined);
    assert.deepEqual(
      asked.toSorted(byNumber),
      Array.from({ length: 256 }, (_, i) => 256 + i),
    );
    assert.deepEqual(world.sizes, [[1, 256]]);
  });
});

function byNumber(one: number, other: number): number {
  return one - other;
}

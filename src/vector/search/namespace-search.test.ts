/** Searches whose best candidates change between their steps, more of them than a search has spare ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DiskLife, DIMENSION as FILE_DIMENSION } from "../../../test/simulation/vector/disk-world.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { seededRandom } from "../../kernel/random.ts";
import { readFilter } from "../filter/filter-text.ts";
import type { Namespace } from "../index/namespace.ts";
import { VectorEngine } from "../index/vector-engine.ts";
import { defaultVectorLimits } from "../limits.ts";
import { ExactScan } from "../rows/exact-scan.ts";
import type { TaskTaker } from "../threads/search-task.ts";
import { NamespaceSearch } from "./namespace-search.ts";

/** So many values that a scan has two steps. */
const DIMENSION = 1_536;
const RECORDS = 4_000;
const TOP_K = 10;
/** The values of records that have moved away. */
const FAR_FROM = 100_000;

class ChangingNamespace {
  readonly namespace: Namespace;
  /** The first value of each record, which is its distance from the query; the others are 0. */
  readonly #values = new Map<string, number>();
  readonly #index;
  readonly #engine: VectorEngine;

  constructor(recordCount = RECORDS) {
    this.#engine = new VectorEngine({
      journal: new NullJournal(),
      clock: new VirtualClock(),
      random: seededRandom(1),
      limits: defaultVectorLimits,
      graphs: undefined,
      newHandle: () => "handle",
    });
    this.#index = this.#engine.define(
      "docs",
      {
        type: "DENSE",
        dimension: DIMENSION,
        similarity: "EUCLIDEAN",
        denseModel: undefined,
        sparseModel: undefined,
      },
      { dense: undefined, sparse: undefined },
    );
    this.put(Array.from({ length: recordCount }, (_, i) => [`r-${i}`, i]));
    const [placed] = this.#engine.namespaces;
    assert.ok(placed !== undefined);
    this.namespace = placed.namespace;
  }

  put(values: readonly (readonly [id: string, value: number])[]): void {
    const records = values.map(([id, value]) => {
      this.#values.set(id, value);
      const vector = new Float32Array(DIMENSION);
      vector[0] = value;
      return { id, vector };
    });
    this.#index.upsert("", records);
  }

  /** The nearest ids to the query, best first. */
  nearest(count: number): readonly string[] {
    return [...this.#values]
      .sort(([, a], [, b]) => a - b)
      .slice(0, count)
      .map(([id]) => id);
  }

  /** Runs a search to its end, and calls `change` after each other step. Returns the ids and the number of steps. */
  search(change: (step: number) => void): { readonly ids: readonly (string | undefined)[]; readonly steps: number } {
    const search = exactSearch(this.namespace, DIMENSION);
    let steps = 1;
    for (; !search.step(); steps += 1) change(steps);
    return { ids: search.hits.map(({ record }) => this.namespace.table.idOf(record)), steps };
  }

  close(): void {
    this.#engine.close();
  }
}

/** An exact search for the records next to zero. */
function exactSearch(namespace: Namespace, dimension: number): NamespaceSearch {
  return new NamespaceSearch(namespace, {
    vector: new Float32Array(dimension),
    sparseVector: undefined,
    count: TOP_K,
    fusionDepth: TOP_K,
    filter: readFilter(""),
    weighting: undefined,
    fusion: "RRF",
    excludedIds: new Set(),
    effort: "exact",
  });
}

// A start has two steps, and four times as many spare candidates as the one before it.
for (const [count, starts] of [
  [60, 2],
  [500, 4],
] as const) {
  test(`a scan is exact although its ${count} nearest records move away between its steps`, () => {
    const world = new ChangingNamespace();
    let far = FAR_FROM;
    const { ids, steps } = world.search(() => {
      world.put(
        world.nearest(count).map((id) => {
          far += 1;
          return [id, far];
        }),
      );
    });
    assert.deepEqual(ids, world.nearest(TOP_K));
    assert.equal(steps, 2 * starts);
    world.close();
  });
}

test("a scan ends although every record is written between its steps, and is exact", () => {
  const world = new ChangingNamespace();
  const { ids, steps } = world.search(() => {
    // As a write of the same vector does.
    for (let record = 0; record < RECORDS; record += 1) world.namespace.changes.note(record);
  });
  assert.deepEqual(ids, world.nearest(TOP_K));
  assert.equal(steps, 2 * 5);
  world.close();
});

test("a short scan, which has few spare candidates, is exact although more records move away while a thread has it", () => {
  const world = new ChangingNamespace(200);
  let takenCount = 0;
  const taker: TaskTaker = {
    wants: () => takenCount === 0,
    take: (task) => {
      assert.ok(task.kind === "scan");
      takenCount += 1;
      const scan = new ExactScan(task.rows, { ...task, query: new Float32Array(DIMENSION), order: (record) => record });
      while (!scan.step(1));
      const hits = scan.hits();
      assert.equal(hits.length, TOP_K + 2);
      world.put(world.nearest(3).map((id, i) => [id, FAR_FROM + i]));
      const records = Uint32Array.from(hits, ({ record }) => record);
      task.done({ records, ranks: Float32Array.from(hits, ({ rank }) => rank), isComplete: true });
      return true;
    },
    takeRead: () => "never",
    waitFor: () => {},
  };
  const search = exactSearch(world.namespace, DIMENSION);
  while (!search.step(taker));
  assert.equal(takenCount, 1);
  assert.deepEqual(
    search.hits.map(({ record }) => world.namespace.table.idOf(record)),
    world.nearest(TOP_K),
  );
  world.close();
});

test("weights by IDF are those of the moment in which a search ends", () => {
  const engine = new VectorEngine({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs: undefined,
    newHandle: () => "handle",
  });
  const definition = {
    dimension: DIMENSION,
    similarity: "EUCLIDEAN",
    denseModel: undefined,
    sparseModel: undefined,
  } as const;
  const index = engine.define("docs", { type: "HYBRID", ...definition }, { dense: undefined, sparse: undefined });
  const put = (from: number, end: number, sparse: (i: number) => readonly [dimension: number, value: number]): void => {
    const records = Array.from({ length: end - from }, (_, at) => {
      const i = from + at;
      const vector = new Float32Array(DIMENSION);
      vector[0] = i;
      const [dimension, value] = sparse(i);
      const sparseVector = { indices: Int32Array.of(dimension), values: Float32Array.of(value) };
      return { id: `r-${i}`, vector, sparseVector };
    });
    index.upsert("", records);
  };
  // Three in ten have the first dimension of the query, one in ten the other one, and both are among the best.
  put(0, RECORDS, (i) => [i % 10 < 3 ? 1 : i % 10, 1 + i / 1_000]);
  const [placed] = engine.namespaces;
  assert.ok(placed !== undefined);
  const { namespace } = placed;
  const begin = (): NamespaceSearch =>
    new NamespaceSearch(namespace, {
      vector: new Float32Array(DIMENSION),
      sparseVector: { indices: Int32Array.of(1, 4), values: Float32Array.of(1, 0.5) },
      count: TOP_K,
      fusionDepth: TOP_K,
      filter: readFilter(""),
      weighting: "IDF",
      fusion: "DBSF",
      excludedIds: new Set(),
      effort: "exact",
    });
  const search = begin();
  let steps = 1;
  // More records, and more of them with one of the dimensions.
  for (; !search.step(); steps += 1) put(RECORDS * steps, RECORDS * steps + 500, () => [1, 0.001]);
  const fresh = begin();
  while (!fresh.step());
  assert.ok(steps > 1);
  assert.deepEqual(search.hits, fresh.hits);
  engine.close();
});

// With rows in memory the fourth start stays on the thread of the index, which may not wait for the disk.
test("a scan of rows in files has its rows read at each of four starts, and is exact", async () => {
  const life = await DiskLife.begin({ rows: "disk", definition: { similarity: "EUCLIDEAN" }, hasThreads: false });
  const values = Array.from({ length: 1_500 }, (_, i) => i);
  const put = (ids: readonly number[]): void => {
    const records = ids.map((id) => {
      const vector = new Float32Array(FILE_DIMENSION);
      vector[0] = values[id] as number;
      return { id: String(id), vector };
    });
    for (let from = 0; from < records.length; from += 500) life.index.upsert("", records.slice(from, from + 500));
  };
  const nearest = (count: number): number[] =>
    [...values.keys()].sort((a, b) => (values[a] as number) - (values[b] as number)).slice(0, count);
  put([...values.keys()]);
  await life.settled();
  const namespace = life.index.state.find("");
  const rows = namespace?.fileRows;
  assert.ok(namespace !== undefined && rows !== undefined);
  let starts = 0;
  const holdFiles = rows.holdFiles.bind(rows);
  rows.holdFiles = () => {
    starts += 1;
    return holdFiles();
  };
  let reading: Promise<unknown> | undefined;
  const taker: TaskTaker = {
    wants: () => false,
    take: () => false,
    takeRead: () => "never",
    waitFor: (promise) => {
      reading = promise;
    },
  };

  const search = exactSearch(namespace, FILE_DIMENSION);
  let far = FAR_FROM;
  for (let changedStarts = 0; !search.step(taker); ) {
    await reading;
    if (starts === changedStarts) continue;
    changedStarts = starts;
    const moved = nearest(500);
    for (const id of moved) {
      far += 1;
      values[id] = far;
    }
    put(moved);
  }

  assert.equal(starts, 4);
  assert.deepEqual(
    search.hits.map(({ record }) => namespace.table.idOf(record)),
    nearest(TOP_K).map(String),
  );
  await life.end();
});

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clusteredRows, nearestRows } from "../../../test/harness/clustered-rows.ts";
import { seededRandom } from "../../kernel/random.ts";
import { nextTurn } from "../../kernel/turn.ts";
import { type Similarity, similarities } from "../index/definition.ts";
import type { GraphRequest, NamespaceGraph } from "./graph.ts";
import { InlineGraphBuilder } from "./inline-graph-builder.ts";

const SEED = 20_261_121;
const QUERIES = 25;

interface World {
  readonly builder: InlineGraphBuilder;
  readonly graph: NamespaceGraph;
  readonly count: number;
  readonly queries: readonly Float32Array[];
  readonly similarity: Similarity;
  rowOf(record: number): Float32Array;
  setRow(record: number, row: Float32Array): void;
}

interface WorldOptions {
  readonly count: number;
  readonly dimension: number;
  readonly similarity?: Similarity;
  readonly clusters?: number;
  readonly noise?: number;
  readonly offset?: number;
}

/** A built graph of clustered rows; the queries are rows of the same clusters. */
async function world(options: WorldOptions): Promise<World> {
  const { count, dimension, similarity = "COSINE", clusters = 40, noise = 0.4, offset = 0 } = options;
  const all = clusteredRows(seededRandom(SEED), { count: count + QUERIES, dimension, clusters, noise, offset });
  const rowAt = (index: number): Float32Array => all.slice(index * dimension, (index + 1) * dimension);
  const rows = Array.from({ length: count }, (_, record) => rowAt(record));
  const rowOf = (record: number): Float32Array => rows[record] as Float32Array;
  const builder = new InlineGraphBuilder();
  const graph = builder.open({ dimension, similarity, read: rowOf });
  for (let record = 0; record < count; record += 1) graph.insert(record, record);
  await graph.whenBuilt();
  return {
    builder,
    graph,
    count,
    similarity,
    queries: Array.from({ length: QUERIES }, (_, i) => rowAt(count + i)),
    rowOf,
    setRow: (record, row) => {
      rows[record] = row;
    },
  };
}

function hitsOf(graph: NamespaceGraph, request: GraphRequest): number[] {
  const { records, count } = graph.search(request);
  return [...records.subarray(0, count)];
}

function allOf({ count }: World): number[] {
  return Array.from({ length: count }, (_, record) => record);
}

/** The share of the 10 most similar rows of `among` that are in the first `count` hits. */
function recallOf(
  { graph, queries, similarity, rowOf }: World,
  among: readonly number[],
  request: Omit<GraphRequest, "query">,
): number {
  let found = 0;
  let wanted = 0;
  for (const query of queries) {
    const nearest = nearestRows(query, { similarity, count: 10, among, rowOf });
    const hits = new Set(hitsOf(graph, { ...request, query }));
    wanted += nearest.length;
    found += nearest.filter((record) => hits.has(record)).length;
  }
  return found / wanted;
}

/** The bits of the records. */
function bitsOf(records: readonly number[], count: number): Uint32Array {
  const bits = new Uint32Array(Math.ceil(count / 32));
  for (const record of records) bits[record >> 5] = (bits[record >> 5] ?? 0) | (1 << (record & 31));
  return bits;
}

describe("recall of 10 records in 50 hits", () => {
  for (const similarity of similarities) {
    test(`${similarity}: at least 99 % of 3,000 rows of 48 values`, async () => {
      const there = await world({ count: 3_000, dimension: 48, similarity });

      const recall = recallOf(there, allOf(there), { count: 50, effort: 64 });

      assert.ok(recall >= 0.99, `recall ${recall}, seed ${SEED}`);
    });
  }

  for (const [dimension, least] of [
    [1, 0.95],
    [2, 0.99],
    [3, 0.99],
    [17, 0.99],
    [384, 0.99],
    [1_536, 0.99],
  ] as const) {
    test(`dimension ${dimension}: at least ${least * 100} % of 1,200 rows`, async () => {
      const there = await world({ count: 1_200, dimension, similarity: "EUCLIDEAN" });

      const recall = recallOf(there, allOf(there), { count: 50, effort: 64 });

      assert.ok(recall >= least, `recall ${recall}, seed ${SEED}`);
    });
  }

  for (const similarity of ["COSINE", "EUCLIDEAN"] as const) {
    test(`${similarity}: distinguishes rows that are all far away in one direction`, async () => {
      const there = await world({ count: 2_000, dimension: 32, similarity, offset: 10 });

      const recall = recallOf(there, allOf(there), { count: 50, effort: 64 });

      assert.ok(recall >= 0.99, `recall ${recall}, seed ${SEED}`);
    });
  }
});

test("a graph grows over many blocks of nodes", async () => {
  // A block of 1 MiB has 16 nodes of this dimension.
  const there = await world({ count: 100, dimension: 40_000, clusters: 4 });

  const recall = recallOf(there, allOf(there), { count: 50, effort: 64 });

  assert.ok(recall >= 0.99, `recall ${recall}, seed ${SEED}`);
  assert.ok(there.graph.byteCount > 4 * 1_048_576);
});

test("returns each hit once, best first, at most as many as requested", async () => {
  const { graph, queries } = await world({ count: 300, dimension: 8 });
  const [query] = queries as [Float32Array];

  const { records, distances, count, isComplete } = graph.search({ query, count: 1_000, effort: 10 });

  assert.equal(count, 300);
  assert.equal(isComplete, true);
  assert.equal(new Set(records.subarray(0, count)).size, 300);
  assert.deepEqual(distances.subarray(0, count), distances.subarray(0, count).toSorted());
});

test("an empty graph has no hits", async () => {
  const { graph } = await world({ count: 0, dimension: 4 });

  assert.equal(graph.search({ query: Float32Array.of(1, 2, 3, 4), count: 10, effort: 10 }).count, 0);
  assert.equal(graph.count, 0);
  assert.equal(await graph.save(), undefined);
});

test("finds all of many equal rows", async () => {
  const builder = new InlineGraphBuilder();
  const row = Float32Array.of(0.25, -1, 3);
  const graph = builder.open({ dimension: 3, similarity: "COSINE", read: () => row });
  for (let record = 0; record < 500; record += 1) graph.insert(record, record);
  await graph.whenBuilt();

  assert.equal(graph.search({ query: row, count: 20, effort: 40 }).count, 20);
});

test("rows without a direction and rows that overflow float32 sums do no harm", async () => {
  const rows = [Float32Array.of(0, 0), Float32Array.of(3e38, 3e38), Float32Array.of(1e-40, 0), Float32Array.of(1, 0)];
  for (const similarity of similarities) {
    const builder = new InlineGraphBuilder();
    const graph = builder.open({ dimension: 2, similarity, read: (record) => rows[record] as Float32Array });
    for (let record = 0; record < rows.length; record += 1) graph.insert(record, record);
    await graph.whenBuilt();

    for (const query of rows) {
      assert.deepEqual(hitsOf(graph, { query, count: 10, effort: 10 }).toSorted(), [0, 1, 2, 3], similarity);
    }
  }
});

test("thousands of equal rows hide no other row, and each of them is found", async () => {
  const there = await world({ count: 1_500, dimension: 16 });
  const same = there.rowOf(0);
  for (let record = 1_500; record < 4_000; record += 1) {
    there.setRow(record, same);
    there.graph.insert(record, record);
  }
  await there.graph.whenBuilt();

  const { records, count, visits } = there.graph.search({ query: same, count: 100, effort: 100 });
  assert.equal(count, 100);
  assert.equal(
    records.subarray(0, count).every((record) => record === 0 || record >= 1_500),
    true,
  );
  assert.ok(visits < 4_000, `${visits} visits`);
  assert.equal(there.graph.search({ query: same, count: 4_000, effort: 4_000 }).count, 4_000);
  const others = allOf(there).slice(1);
  const accepts = bitsOf(others, 4_000);
  assert.ok(recallOf(there, others, { count: 50, effort: 64, accepts }) >= 0.99);
});

describe("filters", () => {
  let filtered: Promise<World> | undefined;

  for (const share of [0.5, 0.1, 0.02]) {
    test(`returns only records that pass (${share * 100} %), and all the hits among them`, async () => {
      // Searches do not change it.
      filtered ??= world({ count: 3_000, dimension: 24 });
      const there = await filtered;
      const random = seededRandom(SEED + 1);
      const passing = allOf(there).filter(() => random.unit() < share);

      const accepts = bitsOf(passing, there.count);
      const recall = recallOf(there, passing, { count: 30, effort: 48, accepts });

      assert.ok(recall >= 0.98, `recall ${recall}, seed ${SEED}`);
      for (const query of there.queries) {
        const hits = hitsOf(there.graph, { query, count: 30, effort: 48, accepts });
        assert.equal(hits.length, 30);
        assert.deepEqual(
          hits.filter((record) => !passing.includes(record)),
          [],
        );
      }
    });
  }

  test("records beyond the end of the bits do not pass", async () => {
    const { graph, queries } = await world({ count: 300, dimension: 8 });
    const [query] = queries as [Float32Array];

    const hits = hitsOf(graph, { query, count: 300, effort: 300, accepts: Uint32Array.of(0xffff_ffff) });

    assert.deepEqual(
      hits.toSorted((a, b) => a - b),
      Array.from({ length: 32 }, (_, i) => i),
    );
  });

  test("bits are read again only with another stamp", async () => {
    const { graph, queries } = await world({ count: 64, dimension: 8 });
    const [query] = queries as [Float32Array];
    const accepts = bitsOf([3], 64);
    const request = { query, count: 64, effort: 64, accepts };

    assert.deepEqual(hitsOf(graph, { ...request, acceptsStamp: 1 }), [3]);
    accepts.fill(0);
    accepts[1] = 1;
    assert.deepEqual(hitsOf(graph, { ...request, acceptsStamp: 1 }), [3]);
    assert.deepEqual(hitsOf(graph, { ...request, acceptsStamp: 2 }), [32]);
    assert.deepEqual(hitsOf(graph, request), [32]);
  });

  test("many filters in turn use their own bits", async () => {
    const { graph, queries } = await world({ count: 640, dimension: 8 });
    const [query] = queries as [Float32Array];
    const filters = Array.from({ length: 20 }, (_, i) => bitsOf([i * 31], (i + 1) * 32));
    for (let round = 0; round < 3; round += 1) {
      for (const [i, accepts] of filters.entries()) {
        assert.deepEqual(hitsOf(graph, { query, count: 10, effort: 10, accepts, acceptsStamp: 0 }), [i * 31]);
      }
    }
  });

  test("a walk with a low bound of nodes ends early and reports it", async () => {
    const { graph, queries } = await world({ count: 3_000, dimension: 8 });
    const [query] = queries as [Float32Array];

    const { isComplete, visits } = graph.search({
      query,
      count: 10,
      effort: 10,
      accepts: new Uint32Array(100),
      visitsMax: 200,
    });

    assert.equal(isComplete, false);
    assert.ok(visits >= 200 && visits < 240, `${visits} visits`);
  });
});

describe("changes", () => {
  test("a removed record is never a hit, and the others still are", async () => {
    const there = await world({ count: 3_000, dimension: 24 });
    const remaining = allOf(there).filter((record) => record % 4 !== 0);
    for (const record of allOf(there)) if (record % 4 === 0) there.graph.remove(record);

    assert.equal(there.graph.count, 2_250);
    assert.ok(recallOf(there, remaining, { count: 50, effort: 64 }) >= 0.99);
    for (const query of there.queries) {
      const hits = hitsOf(there.graph, { query, count: 100, effort: 100 });
      assert.equal(hits.length, 100);
      assert.equal(hits.filter((record) => record % 4 === 0).length, 0);
    }
  });

  test("a record with a changed row is pending until it is found by its new row", async () => {
    const there = await world({ count: 500, dimension: 16 });
    const [query] = there.queries as [Float32Array];
    const far = there.rowOf(7);

    there.setRow(7, query);
    there.graph.insert(7, 10_007);

    assert.equal(there.graph.isPending(7), true);
    assert.deepEqual([...there.graph.pending], [7]);
    assert.equal(hitsOf(there.graph, { query: far, count: 500, effort: 500 }).includes(7), false);
    await there.graph.whenBuilt();
    assert.equal(there.graph.isPending(7), false);
    assert.equal(hitsOf(there.graph, { query, count: 1, effort: 50 })[0], 7);
    assert.equal(there.graph.count, 500);
  });

  test("a reused number only means its new row", async () => {
    const there = await world({ count: 500, dimension: 16 });
    const [query] = there.queries as [Float32Array];
    for (let round = 0; round < 5; round += 1) {
      there.graph.remove(3);
      there.setRow(3, there.rowOf(100 + round));
      there.graph.insert(3, 1_000 + round);
      await there.graph.whenBuilt();
    }

    const hits = hitsOf(there.graph, { query, count: 500, effort: 500 });

    assert.equal(hits.filter((record) => record === 3).length, 1);
    assert.deepEqual(
      hitsOf(there.graph, { query: there.rowOf(104), count: 2, effort: 50 }).toSorted((a, b) => a - b),
      [3, 104],
    );
  });

  test("a record removed or changed while in progress is not found by its old row", async () => {
    const there = await world({ count: 400, dimension: 16 });
    const [one, other] = there.queries as [Float32Array, Float32Array];
    // The first 300 are in progress, one of them half done.
    for (const record of allOf(there)) there.graph.insert(record, record);
    there.builder.runOnce(100);
    const before = there.graph.count;

    there.graph.remove(399);
    there.setRow(398, one);
    there.graph.insert(398, 50_398);
    there.graph.remove(397);
    there.setRow(397, other);
    there.graph.insert(397, 50_397);
    await there.graph.whenBuilt();

    assert.equal(before, 0);
    assert.equal(there.graph.count, 399);
    const hits = hitsOf(there.graph, { query: one, count: 400, effort: 400 });
    assert.equal(new Set(hits).size, 399);
    assert.equal(hits.includes(399), false);
    assert.equal(hits[0], 398);
    assert.equal(hitsOf(there.graph, { query: other, count: 1, effort: 50 })[0], 397);
  });

  test("runOnce inserts the given number of rows", async () => {
    const there = await world({ count: 0, dimension: 4 });
    const row = Float32Array.of(1, 2, 3, 4);
    for (let record = 0; record < 600; record += 1) there.graph.insert(record, record);
    for (let record = 0; record < 600; record += 1) there.setRow(record, row);

    assert.equal(there.builder.runOnce(10), 10);
    assert.equal(there.graph.pendingCount, 600, "a batch becomes searchable as a whole");
    assert.equal(there.builder.runOnce(300), 300);
    assert.equal(there.graph.pendingCount, 344);
    assert.equal(there.builder.runOnce(1_000), 290);
    assert.equal(there.graph.pendingCount, 0);
  });

  test("a graph of mostly dead nodes is built again, and answers meanwhile", async () => {
    const there = await world({ count: 4_000, dimension: 16 });
    const full = there.graph.byteCount;
    const remaining = allOf(there).filter((record) => record < 2_500);
    for (const record of allOf(there)) if (record >= 2_500) there.graph.remove(record);

    assert.ok(there.graph.byteCount > full, "there are two generations");
    assert.ok(recallOf(there, remaining, { count: 50, effort: 64 }) >= 0.99);
    await there.graph.whenBuilt();
    while (there.builder.runOnce(1_000) > 0);
    await there.graph.whenBuilt();

    assert.ok(there.graph.byteCount < full, "there is one");
    assert.equal(there.graph.count, 2_500);
    assert.equal(there.graph.pendingCount, 0);
    assert.ok(recallOf(there, remaining, { count: 50, effort: 64 }) >= 0.99);
  });

  test("changes during the rebuild are in the new generation", async () => {
    const there = await world({ count: 4_000, dimension: 16 });
    for (const record of allOf(there)) if (record >= 2_500) there.graph.remove(record);
    const [query] = there.queries as [Float32Array];

    there.builder.runOnce(1_000);
    there.graph.remove(0);
    there.setRow(1, query);
    there.graph.insert(1, 70_001);
    while (there.builder.runOnce(1_000) > 0);

    assert.equal(there.graph.count, 2_499);
    const hits = hitsOf(there.graph, { query, count: 2_500, effort: 2_500 });
    assert.equal(hits[0], 1);
    assert.equal(hits.includes(0), false);
    assert.equal(hits.length, 2_499);
  });

  test("random changes leave exactly the live records findable", async () => {
    const seed = SEED + 2;
    const random = seededRandom(seed);
    const there = await world({ count: 400, dimension: 8, similarity: "EUCLIDEAN" });
    const live = new Set(allOf(there));
    let version = 1_000;
    for (let step = 0; step < 4_000; step += 1) {
      const record = random.below(600);
      if (random.below(5) < 2) {
        there.graph.remove(record);
        live.delete(record);
      } else {
        there.setRow(record, there.queries[random.below(QUERIES)]?.slice() as Float32Array);
        version += 1;
        there.graph.insert(record, version);
        live.add(record);
      }
      if (random.below(20) === 0) there.builder.runOnce(random.below(50));
      if (random.below(100) > 0) continue;
      const [query] = there.queries as [Float32Array];
      const hits = hitsOf(there.graph, { query, count: 1_000, effort: 1_000 });
      const all = [...hits, ...there.graph.pending].toSorted((a, b) => a - b);
      assert.deepEqual(
        all,
        [...live].sort((a, b) => a - b),
        `seed ${seed}, step ${step}`,
      );
    }
  });
});

test("records that are written repeatedly do not make the graph grow without end", async () => {
  const there = await world({ count: 2_000, dimension: 8 });
  const atFirst = there.graph.byteCount;
  let most = 0;
  let version = there.count;
  for (let round = 0; round < 30; round += 1) {
    for (let record = 0; record < 300; record += 1) {
      version += 1;
      there.graph.insert(record, version);
    }
    // The batches in progress come back only when the turn ends.
    await nextTurn();
    there.builder.runOnce(300);
    most = Math.max(most, there.graph.byteCount);
  }

  assert.ok(most < 3 * atFirst, `${most} bytes at most, ${atFirst} at first`);
  await there.builder.close();
});

test("closing a graph resolves its waiters", async () => {
  const there = await world({ count: 10, dimension: 4 });
  there.graph.close();
  there.graph.close();

  await there.graph.whenBuilt();
  await there.builder.close();
});

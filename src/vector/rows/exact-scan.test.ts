/** Compares the exact search with a plain loop that defines the order of every sum. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { type Similarity, similarities } from "../index/definition.ts";
import type { Hit } from "../search/top-hits.ts";
import { ExactScan, type ExactScanOptions } from "./exact-scan.ts";
import { RowMemory } from "./row-memory.ts";
import { RowStore } from "./row-store.ts";
import { similarityRows } from "./similarity.ts";

const { fround } = Math;
const memory = new RowMemory();

/** Four accumulators of four lanes; terms after the last sixteen go into the first. */
function sumOf(dimension: number, term: (i: number) => number): number {
  const sums = new Float32Array(16);
  const whole = dimension - (dimension % 16);
  for (let i = 0; i < dimension; i += 1) {
    // Padding is part of its row: the last sixteen are those of the padded dimension.
    const padded = (dimension + 3) & ~3;
    const sixteens = padded - (padded % 16);
    const lane = i < Math.max(whole, sixteens) ? i % 16 : i % 4;
    sums[lane] = fround((sums[lane] ?? 0) + fround(term(i)));
  }
  const lanes = [0, 1, 2, 3].map((lane) => {
    const [a = 0, b = 0, c = 0, d = 0] = [sums[lane], sums[lane + 4], sums[lane + 8], sums[lane + 12]];
    return fround(fround(a + b) + fround(c + d));
  });
  const [a = 0, b = 0, c = 0, d = 0] = lanes;
  return fround(fround(a + b) + fround(c + d));
}

function dotOf(left: Float32Array, right: Float32Array): number {
  return sumOf(left.length, (i) => fround((left[i] ?? 0) * (right[i] ?? 0)));
}

const plainRanks: Record<Similarity, (vector: Float32Array, query: Float32Array) => number> = {
  COSINE(vector, query) {
    const [dot, own, asked] = [dotOf(vector, query), dotOf(vector, vector), dotOf(query, query)];
    if (dot === own && dot === asked) return 1;
    const cosine = fround(dot / fround(fround(Math.sqrt(asked)) * fround(Math.sqrt(own))));
    return Math.min(1, Math.max(0, fround(fround(1 + cosine) / 2)));
  },
  EUCLIDEAN(vector, query) {
    const squared = sumOf(vector.length, (i) => {
      const difference = fround((vector[i] ?? 0) - (query[i] ?? 0));
      return fround(difference * difference);
    });
    return fround(1 / fround(1 + squared));
  },
  DOT_PRODUCT: dotOf,
};

function plainSearch(vectors: ReadonlyMap<number, Float32Array>, options: ExactScanOptions): Hit[] {
  const { query, similarity, count, order, matches, excluded } = options;
  const passes = (record: number): boolean =>
    (matches === undefined || ((matches[record >>> 5] ?? 0) & (1 << (record & 31))) !== 0) &&
    excluded?.has(record) !== true;
  return [...vectors]
    .filter(([record]) => passes(record))
    .map(([record, vector]) => {
      const rank = plainRanks[similarity](vector, query);
      return { record, score: similarityRows[similarity].score(rank), rank };
    })
    .sort((a, b) => b.rank - a.rank || order(a.record) - order(b.record))
    .slice(0, count);
}

function searchAtOnce(store: RowStore, options: ExactScanOptions): Hit[] {
  const scan = new ExactScan(store, options);
  while (!scan.step(1e9));
  return scan.hits();
}

function randomVector(random: Random, dimension: number): Float32Array {
  return Float32Array.from({ length: dimension }, () => random.unit() - 0.5);
}

function bitsOf(records: Iterable<number>, recordCount: number): Uint32Array {
  const bits = new Uint32Array((recordCount + 31) >>> 5);
  for (const record of records) bits[record >>> 5] = (bits[record >>> 5] ?? 0) | (1 << (record & 31));
  return bits;
}

/** A store with gaps, some repeated vectors, and an insertion order that differs from the records' numbers. */
function randomStore(random: Random, { dimension, recordCount }: { dimension: number; recordCount: number }) {
  const store = new RowStore(memory, dimension);
  const vectors = new Map<number, Float32Array>();
  store.ensure(recordCount - 1);
  for (let record = 0; record < recordCount; record += 1) {
    if (random.unit() < 0.1) continue;
    const twin = vectors.get(random.below(recordCount));
    const vector = twin !== undefined && random.unit() < 0.2 ? twin : randomVector(random, dimension);
    store.set(record, vector);
    vectors.set(record, vector);
  }
  const places = Float64Array.from({ length: recordCount }, () => random.unit());
  return { store, vectors, order: (record: number) => places[record] ?? 0 };
}

test("an empty store has no hits", () => {
  const store = new RowStore(memory, 4);

  const hits = searchAtOnce(store, {
    query: new Float32Array(4),
    similarity: "COSINE",
    count: 10,
    order: (record) => record,
  });

  assert.deepEqual(hits, []);
});

test("hits are best first, and equal ones in insertion order", () => {
  const store = new RowStore(memory, 2);
  store.ensure(4);
  store.set(0, Float32Array.of(0, 1));
  store.set(1, Float32Array.of(1, 0));
  store.set(3, Float32Array.of(2, 0));
  store.set(4, Float32Array.of(-1, 0));
  const places = [3, 9, 0, 1, 2];

  const hits = searchAtOnce(store, {
    query: Float32Array.of(1, 0),
    similarity: "COSINE",
    count: 3,
    order: (record) => places[record] ?? 0,
  });

  assert.deepEqual(hits, [
    { record: 3, score: 1, rank: 1 },
    { record: 1, score: 1, rank: 1 },
    { record: 0, score: 0.5, rank: 0.5 },
  ]);
  store.clear();
});

for (const similarity of similarities) {
  test(`${similarity}: hits agree with a plain loop to the last bit, in slices and with conditions`, () => {
    const seed = 1_234;
    const random = seededRandom(seed);
    for (const dimension of [1, 2, 3, 4, 15, 16, 17, 31, 64, 100, 257, 384]) {
      const recordCount = dimension < 4 ? 9_000 : 1 + random.below(700);
      const { store, vectors, order } = randomStore(random, { dimension, recordCount });
      for (const share of [undefined, 0, 0.01, 0.3, 0.9]) {
        const records = [...vectors.keys()];
        const matching = records.filter(() => random.unit() < (share ?? 1));
        const options: ExactScanOptions = {
          query:
            random.unit() < 0.5 ? randomVector(random, dimension) : (vectors.get(records[0] ?? 0) ?? assert.fail()),
          similarity,
          count: 1 + random.below(30),
          order,
          ...(share === undefined ? {} : { matches: bitsOf(matching, recordCount) }),
          ...(random.unit() < 0.5 ? { excluded: new Set(records.filter(() => random.unit() < 0.2)) } : {}),
        };
        const what = `seed ${seed}, dimension ${dimension}, share ${share}`;
        const expected = plainSearch(vectors, options);

        assert.deepEqual(searchAtOnce(store, options), expected, what);

        const sliced = new ExactScan(store, options);
        while (!sliced.step(1 + random.below(20_000)));
        assert.deepEqual(sliced.hits(), expected, `${what}, sliced`);
      }
      store.clear();
    }
  });
}

test("rows have the same bits whether they are scored alone or within their block", () => {
  const random = seededRandom(7);
  const { store, vectors, order } = randomStore(random, { dimension: 50, recordCount: 2_000 });
  const matches = bitsOf(
    [...vectors.keys()].filter((record) => record % 3 === 0),
    2_000,
  );
  for (const similarity of similarities) {
    const options = { query: randomVector(random, 50), similarity, count: 2_000, order, matches };

    const alone = searchAtOnce(store, { ...options, matchCount: 1 });
    const whole = searchAtOnce(store, { ...options, matchCount: 2_000 });

    assert.ok(alone.length > 500);
    assert.deepEqual(alone, whole);
  }
  store.clear();
});

test("a row scored separately has the score of the search", () => {
  const random = seededRandom(8);
  const { store, order } = randomStore(random, { dimension: 77, recordCount: 300 });
  for (const similarity of similarities) {
    const query = randomVector(random, 77);
    const prepared = memory.prepare(query);

    for (const { record, score, rank } of searchAtOnce(store, { query, similarity, count: 300, order })) {
      assert.equal(store.score(similarity, prepared, record), score);
      assert.equal(store.rank(similarity, prepared, record), rank);
    }
  }
  store.clear();
});

test("a slice ends when its work is done", () => {
  const store = new RowStore(memory, 112);
  store.ensure(999);
  for (let record = 0; record < 1_000; record += 1) store.set(record, new Float32Array(112).fill(1));
  const scan = new ExactScan(store, {
    query: new Float32Array(112).fill(1),
    similarity: "COSINE",
    count: 1,
    order: (record) => record,
  });

  let slices = 1;
  while (!scan.step(128 * 100)) slices += 1;

  // The store has room for 1,147 rows; each is work of 112 + 16.
  assert.equal(store.capacity, 1_147);
  assert.equal(slices, 12);
  store.clear();
});

test("searches take turns, over several arenas", () => {
  const random = seededRandom(9);
  const small = new RowMemory({ arenaBytes: 2_097_152 });
  const store = new RowStore(small, 200);
  const vectors = new Map<number, Float32Array>();
  store.ensure(3_999);
  for (let record = 0; record < 4_000; record += 1) {
    const vector = randomVector(random, 200);
    store.set(record, vector);
    vectors.set(record, vector);
  }
  const order = (record: number): number => record;
  const all = similarities.map((similarity) => ({ query: randomVector(random, 200), similarity, count: 20, order }));

  const scans = all.map((options) => new ExactScan(store, options));
  while (scans.map((scan) => scan.step(10_000)).includes(false));

  assert.deepEqual(
    scans.map((scan) => scan.hits()),
    all.map((options) => plainSearch(vectors, options)),
  );
});

test("rows that are added, changed or removed between slices do not harm a search", () => {
  const store = new RowStore(memory, 64);
  store.ensure(9_999);
  for (let record = 0; record < 10_000; record += 1) store.set(record, new Float32Array(64).fill(1));
  const scan = new ExactScan(store, {
    query: new Float32Array(64).fill(1),
    similarity: "EUCLIDEAN",
    count: 5,
    order: (record) => record,
  });
  assert.equal(scan.step(80 * 10), false);

  store.truncate(100);
  store.set(50, new Float32Array(64));
  while (!scan.step(1_000));

  assert.deepEqual(
    scan.hits().map(({ record }) => record),
    [0, 1, 2, 3, 4],
  );
  store.clear();
});

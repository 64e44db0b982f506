import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SparseVector } from "../index/record.ts";
import type { ScoredRecord } from "../search/scored.ts";
import { SparseIndex } from "./sparse-index.ts";
import { inverseFrequency, SparseScan, type SparseScanRequest } from "./sparse-scan.ts";

type Entries = readonly (readonly [number, number])[];

function vector(entries: Entries): SparseVector {
  return {
    indices: Int32Array.from(entries, ([index]) => index),
    values: Float32Array.from(entries, ([, value]) => value),
  };
}

function indexOf(vectors: readonly Entries[]): SparseIndex {
  const index = new SparseIndex();
  for (const [record, entries] of vectors.entries()) index.set(record, vector(entries));
  return index;
}

function scanOf(index: SparseIndex, query: Entries, options: Partial<SparseScanRequest> = {}): SparseScan {
  return new SparseScan(index, {
    query: vector(query),
    weighting: undefined,
    count: 10,
    order: (record) => record,
    ...options,
  });
}

function search(index: SparseIndex, query: Entries, options: Partial<SparseScanRequest> = {}): ScoredRecord[] {
  const scan = scanOf(index, query, options);
  assert.equal(scan.step(1_000_000), true);
  return scan.hits();
}

/** The slow and obvious implementation of B2.sparse and B2.idf. */
function plainSearch(
  vectors: ReadonlyMap<number, SparseVector>,
  query: SparseVector,
  weighting: "IDF" | undefined,
): ScoredRecord[] {
  const weights = Float32Array.from(query.indices, (dimension, i) => {
    const n = [...vectors.values()].filter((other) => other.indices.includes(dimension)).length;
    const idf = Math.fround(Math.log((vectors.size - n + 0.5) / (n + 0.5) + 1));
    return (query.values[i] ?? 0) * (weighting === "IDF" ? idf : 1);
  });
  const hits: ScoredRecord[] = [];
  for (const [record, { indices, values }] of vectors) {
    let score = 0;
    let isShared = false;
    for (const [i, dimension] of query.indices.entries()) {
      for (const [j, own] of indices.entries()) {
        if (own !== dimension) continue;
        isShared = true;
        score = Math.fround(score + Math.fround((weights[i] ?? 0) * (values[j] ?? 0)));
      }
    }
    if (isShared) hits.push({ record, score });
  }
  return hits.sort((a, b) => b.score - a.score || a.record - b.record);
}

test("B2.sparse: finds only records that share an index with the query, whatever the sum", () => {
  const index = indexOf([
    [[1, 1]],
    [[2, -1]],
    [
      [1, 1],
      [2, 1],
    ],
    [[3, 5]],
    [[2, 0]],
  ]);
  assert.deepEqual(
    search(index, [
      [1, 1],
      [2, 2],
    ]),
    [
      { record: 2, score: 3 },
      { record: 0, score: 1 },
      { record: 4, score: 0 },
      { record: 1, score: -2 },
    ],
  );
});

test("IDF weights give the scores that the official clients' tests compare to the last digit", () => {
  const first = indexOf([
    [
      [7, 0.2],
      [9, 0.1],
    ],
    [[7, 0.2]],
    [[8, 1]],
  ]);
  const query: Entries = [
    [7, 0.2],
    [9, 0.1],
  ];
  assert.deepEqual(search(first, query, { weighting: "IDF" }), [
    { record: 0, score: Math.fround(0.028608438) },
    { record: 1, score: Math.fround(0.018800145) },
  ]);
  const second = indexOf([
    [
      [7, 0.3],
      [9, 0.4],
    ],
    [[7, 0.1]],
    [[8, 1]],
  ]);
  const [best] = search(
    second,
    [
      [7, 0.5],
      [9, 0.5],
    ],
    { weighting: "IDF" },
  );
  assert.deepEqual(best, { record: 0, score: Math.fround(0.26666638) });
});

test("the inverse document frequency is a float32", () => {
  assert.equal(inverseFrequency(3, 2), Math.fround(0.47000363));
  assert.equal(inverseFrequency(3, 1), Math.fround(0.98082924));
  assert.equal(inverseFrequency(1, 1), Math.fround(0.28768209));
});

test("B2.idf: N is the number of records with a sparse vector", () => {
  const index = indexOf([[[7, 1]], [[8, 1]], [[8, 1]]]);
  index.remove(2);
  index.remove(1);
  assert.deepEqual(search(index, [[7, 1]], { weighting: "IDF" }), [{ record: 0, score: Math.fround(0.28768209) }]);
});

test("repeated indices are multiplied pairwise", () => {
  const index = indexOf([
    [
      [7, 1],
      [8, 5],
      [7, 10],
    ],
  ]);
  const query: Entries = [
    [7, 2],
    [7, 3],
  ];
  assert.deepEqual(search(index, query), [{ record: 0, score: 55 }]);
});

test("products and sums are rounded in the order of the query, then of the record", () => {
  // 2^24 + 1 is not a float32: ones added one by one are lost, two at once are not.
  const index = indexOf([
    [
      [1, 16_777_216],
      [2, 1],
      [2, 1],
    ],
  ]);
  assert.equal(
    search(index, [
      [1, 1],
      [2, 1],
    ])[0]?.score,
    16_777_216,
  );
  assert.equal(
    search(index, [
      [2, 1],
      [1, 1],
    ])[0]?.score,
    16_777_218,
  );
});

test("equal scores are in insertion order, even at the cut", () => {
  const index = indexOf([[[1, 1]], [[1, 1]], [[1, 1]], [[1, 2]]]);
  const order = (record: number): number => -record;
  assert.deepEqual(search(index, [[1, 1]], { count: 3, order }), [
    { record: 3, score: 2 },
    { record: 2, score: 1 },
    { record: 1, score: 1 },
  ]);
});

test("does not find records that do not pass or are excluded", () => {
  const index = indexOf([[[1, 4]], [[1, 3]], [[1, 2]], [[1, 1]]]);
  const matches = Uint32Array.of(0b1011);
  const excluded = new Set([1]);
  assert.deepEqual(search(index, [[1, 1]], { matches, excluded }), [
    { record: 0, score: 4 },
    { record: 3, score: 1 },
  ]);
  assert.deepEqual(search(index, [[1, 1]], { matches: new Uint32Array(0) }), []);
});

test("finds nothing in an empty index, with an empty query, or with a count of zero", () => {
  assert.deepEqual(search(new SparseIndex(), [[1, 1]], { weighting: "IDF" }), []);
  assert.deepEqual(search(indexOf([[[1, 1]]]), []), []);
  assert.deepEqual(search(indexOf([[[1, 1]]]), [[1, 1]], { count: 0 }), []);
});

test("a sum beyond float32 becomes the largest float32, and NaN becomes 0", () => {
  const index = indexOf([
    [[1, 1e38]],
    [[1, -1e38]],
    [
      [1, 1e38],
      [2, -1e38],
    ],
  ]);
  assert.deepEqual(
    search(index, [
      [1, 100],
      [2, 100],
    ]),
    [
      { record: 0, score: 3.4028234663852886e38 },
      { record: 2, score: 0 },
      { record: 1, score: -3.4028234663852886e38 },
    ],
  );
});

const entriesMade = fc.array(fc.tuple(fc.integer({ min: -1, max: 8 }), fc.float({ min: -8, max: 8, noNaN: true })), {
  maxLength: 12,
});

test("a scan, whole or in slices, finds the same as the plain search, and scoreNow agrees", () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(entriesMade, { freq: 4, nil: undefined }), { maxLength: 40 }),
      entriesMade,
      fc.constantFrom("IDF" as const, undefined),
      fc.integer({ min: 1, max: 40 }),
      (made, query, weighting, budget) => {
        const index = new SparseIndex();
        const plain = new Map<number, SparseVector>();
        for (const [record, entries] of made.entries()) {
          if (entries === undefined) continue;
          index.set(record, vector(entries));
          plain.set(record, vector(entries));
        }
        const wanted = plainSearch(plain, vector(query), weighting);
        assert.deepEqual(search(index, query, { weighting, count: 100 }), wanted);
        assert.deepEqual(search(index, query, { weighting, count: 3 }), wanted.slice(0, 3));
        const scan = scanOf(index, query, { weighting, count: 100 });
        for (let stepCount = 0; !scan.step(budget); stepCount += 1) assert.ok(stepCount < 10_000);
        assert.deepEqual(scan.hits(), wanted);
        for (const record of plain.keys())
          assert.equal(scan.scoreNow(record), wanted.find((hit) => hit.record === record)?.score);
      },
    ),
    { numRuns: 150 },
  );
});

test("finds exactly the records that pass, few or many", () => {
  const index = new SparseIndex();
  const plain = new Map<number, SparseVector>();
  for (let record = 0; record < 3_000; record += 1) {
    const made = vector([
      [1, (record * 37) % 101],
      [2 + (record % 3), 1],
      [1, -(record % 7)],
    ]);
    index.set(record, made);
    plain.set(record, made);
  }
  const query: Entries = [
    [3, 2],
    [1, 0.5],
    [9, 1],
  ];
  const excluded = new Set([64, 700]);
  for (const weighting of ["IDF", undefined] as const) {
    const all = plainSearch(plain, vector(query), weighting);
    for (const every of [1, 2, 40, 900, 2_999, 5_000]) {
      const matches = new Uint32Array(94);
      for (let record = 0; record < 3_000; record += every)
        matches[record >>> 5] = (matches[record >>> 5] ?? 0) | (1 << (record & 31));
      const wanted = all.filter(({ record }) => record % every === 0 && !excluded.has(record)).slice(0, 5);
      for (const budget of [1, 1_000, 1_000_000]) {
        const scan = scanOf(index, query, { weighting, matches, excluded, count: 5 });
        while (!scan.step(budget));
        assert.deepEqual(scan.hits(), wanted);
      }
    }
  }
});

test("reads lists of many chunks completely, in slices that end anywhere", () => {
  const index = new SparseIndex();
  const plain = new Map<number, SparseVector>();
  // In scattered order, so that chunks are split everywhere; every 50th record has the index 700 times.
  for (let i = 0; i < 1_500; i += 1) {
    const record = (i * 677) % 1_500;
    const count = record % 50 === 0 ? 700 : 1;
    const made = {
      indices: new Int32Array(count).fill(5),
      values: Float32Array.from({ length: count }, (_, j) => ((record + j) % 97) / 8),
    };
    index.set(record, made);
    plain.set(record, made);
  }
  const query: Entries = [
    [5, 0.5],
    [5, 0.25],
  ];
  const wanted = plainSearch(plain, vector(query), undefined);
  for (const budget of [1, 100, 1_000, 100_000]) {
    const scan = scanOf(index, query, { count: 2_000 });
    while (!scan.step(budget));
    assert.deepEqual(scan.hits(), wanted);
  }
});

test("records that change between steps do not affect others", () => {
  const change = fc.record({
    record: fc.integer({ min: 0, max: 60 }),
    entries: fc.option(entriesMade, { nil: undefined }),
  });
  fc.assert(
    fc.property(
      fc.array(entriesMade, { minLength: 20, maxLength: 50 }),
      entriesMade,
      fc.array(change, { maxLength: 30 }),
      fc.integer({ min: 1, max: 30 }),
      (made, query, changes, budget) => {
        const index = indexOf(made);
        const before = search(index, query, { count: 100 });
        const scan = scanOf(index, query, { count: 100 });
        const changed = new Set<number>();
        const left = [...changes];
        while (!scan.step(budget)) {
          const next = left.shift();
          if (next === undefined) continue;
          changed.add(next.record);
          if (next.entries === undefined) index.remove(next.record);
          else index.set(next.record, vector(next.entries));
        }
        const isSame = ({ record }: ScoredRecord): boolean => !changed.has(record);
        assert.deepEqual(scan.hits().filter(isSame), before.filter(isSame));
        const after = new Map(search(index, query, { count: 100 }).map(({ record, score }) => [record, score]));
        for (const record of changed) assert.equal(scan.scoreNow(record), after.get(record));
      },
    ),
    { numRuns: 150 },
  );
});

test("emptying the index ends a running scan", () => {
  const index = indexOf(Array.from({ length: 3_000 }, () => [[1, 1]] as const));
  const scan = scanOf(index, [
    [1, 1],
    [2, 1],
  ]);
  assert.equal(scan.step(10), false);
  index.clear();
  while (!scan.step(10));
  assert.equal(scan.scoreNow(0), undefined);
});

test("interleaved scans do not see each other's sums", () => {
  const index = indexOf(Array.from({ length: 2_000 }, (_, record) => [[1, record]] as const));
  const scans = [1, 2, 3].map((factor) => scanOf(index, [[1, factor]], { count: 1 }));
  for (let round = 0; round < 1_000; round += 1) for (const scan of scans) scan.step(100);
  assert.deepEqual(
    scans.map((scan) => scan.hits()),
    [[{ record: 1_999, score: 1_999 }], [{ record: 1_999, score: 3_998 }], [{ record: 1_999, score: 5_997 }]],
  );
});

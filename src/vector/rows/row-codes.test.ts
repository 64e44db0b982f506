/**
 * Searches that skip rows by their codes find the same as ranking every row, to
 * the last bit, for rows and queries that are hard for bounds.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { allowanceOf, spending } from "../../../test/budget.ts";
import { seedFrom } from "../../../test/harness/seed.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { similarities } from "../index/definition.ts";
import type { Hit } from "../search/top-hits.ts";
import { codeQuery } from "./coded-query.ts";
import { ExactScan, type ExactScanOptions } from "./exact-scan.ts";
import { RowMemory } from "./row-memory.ts";
import { RowStore } from "./row-store.ts";
import { similarityRows } from "./similarity.ts";

const memory = new RowMemory();
const seed = seedFrom("LARDER_ROW_CODES_SEED");
const allowance = allowanceOf("row-codes");
const order = (record: number): number => (record * 7_919) % 10_007;

type Draw = (random: Random, dimension: number, known: readonly Float32Array[]) => Float32Array;

const oneOf = (random: Random, known: readonly Float32Array[]): Float32Array =>
  known[random.below(known.length)] ?? assert.fail();

const drawPlain: Draw = (random, length) => Float32Array.from({ length }, () => random.unit() - 0.5);

/** Whole numbers, whose codes have no rest, so that the bounds are exact. */
const drawWhole: Draw = (random, length) => Float32Array.from({ length }, () => random.below(255) - 127);

/** Vectors for which a bound is very tight, or useless. */
const hardDraws: readonly Draw[] = [
  drawPlain,
  // Equal rows with equal ranks, of which only some become hits.
  (random, _, known) => oneOf(random, known),
  // Another row with one value changed by one step of float32.
  (random, dimension, known) => {
    const vector = oneOf(random, known).slice();
    const at = random.below(dimension);
    vector[at] = (vector[at] ?? 0) * (1 + 2 ** -23);
    return vector;
  },
  // The same direction with any length, even if its square is near the limits of float32.
  (random, _, known) => oneOf(random, known).map((value) => value * 10 ** (random.below(15) - 7)),
  (random, dimension) => drawPlain(random, dimension, []).map((value) => value * 1e17),
  (random, dimension) => drawPlain(random, dimension, []).map((value) => value * 1e-19),
  // A row that equals its code, without a rest.
  (random, dimension) => drawWhole(random, dimension, []),
  // One value so large that all others are less than a step.
  (random, dimension) => {
    const vector = drawPlain(random, dimension, []);
    vector[random.below(dimension)] = 10 ** random.below(5);
    return vector;
  },
  // Far from the origin, close together.
  (random, dimension) => drawPlain(random, dimension, []).map((value) => 100 + value),
  // Half-way between two codes in every value.
  (random, length) => Float32Array.from({ length }, (_, i) => (i === 0 ? 127 : random.below(127) + 0.5)),
  (_, length) => new Float32Array(length).fill(1),
];

function drawHard(random: Random, dimension: number, known: readonly Float32Array[]): Float32Array {
  const draw = hardDraws[random.below(hardDraws.length)] ?? assert.fail();
  return (known.length === 0 ? drawPlain : draw)(random, dimension, known).map(clamp);
}

/** So that squares stay finite. */
function clamp(value: number): number {
  return Math.max(-1e17, Math.min(1e17, value));
}

/** More records than fit into the blocks without codes. */
const sizes = [
  { dimension: 128, recordCount: 5_000 },
  { dimension: 131, recordCount: 4_500 },
  { dimension: 384, recordCount: 2_500 },
  { dimension: 2_047, recordCount: 700 },
];

function hardStore(random: Random, { dimension, recordCount }: { dimension: number; recordCount: number }): RowStore {
  const store = new RowStore(memory, dimension);
  store.ensure(recordCount - 1);
  const known: Float32Array[] = [];
  for (let record = 0; record < recordCount; record += 1) {
    if (random.unit() < 0.05) continue;
    const vector = drawHard(random, dimension, known);
    known.push(vector);
    store.set(record, vector);
  }
  return store;
}

/** Searches do not change them, so each is filled once for all similarities. */
const hardStores = new Map<number, RowStore>();

function sharedStore(random: Random, size: (typeof sizes)[number]): RowStore {
  const known = hardStores.get(size.dimension);
  if (known !== undefined) return known;
  const store = hardStore(random, size);
  hardStores.set(size.dimension, store);
  return store;
}

after(() => {
  for (const store of hardStores.values()) store.clear();
});

function queryOf(random: Random, store: RowStore): Float32Array {
  const known = Array.from({ length: store.capacity }, (_, record) => record).filter((record) => store.has(record));
  return drawHard(random, store.dimension, [store.read(known[random.below(known.length)] ?? 0)]);
}

/** Ranks every row that passes. */
function rankAll(store: RowStore, { query, similarity, count, matches }: ExactScanOptions): Hit[] {
  const prepared = memory.prepare(query);
  const hits: Hit[] = [];
  for (let record = 0; record < store.capacity; record += 1) {
    if (!store.has(record) || (matches !== undefined && !isSet(matches, record))) continue;
    const rank = store.rank(similarity, prepared, record);
    hits.push({ record, score: similarityRows[similarity].score(rank), rank });
  }
  return hits.sort((a, b) => b.rank - a.rank || order(a.record) - order(b.record)).slice(0, count);
}

function isSet(bits: Uint32Array, record: number): boolean {
  return ((bits[record >>> 5] ?? 0) & (1 << (record & 31))) !== 0;
}

function drawMatches(random: Random, store: RowStore): Uint32Array | undefined {
  const share = [undefined, 0.1, 0.3, 0.8][random.below(4)];
  if (share === undefined) return undefined;
  const matches = new Uint32Array((store.capacity >>> 5) + 1);
  for (let record = 0; record < store.capacity; record += 1)
    if (random.unit() < share) matches[record >>> 5] = (matches[record >>> 5] ?? 0) | (1 << (record & 31));
  return matches;
}

for (const similarity of similarities) {
  test(`${similarity}: a search with codes finds the same as ranking every row`, () => {
    const random = seededRandom(seed);
    for (const size of sizes) {
      const store = sharedStore(random, size);
      const isSpent = spending(allowance);
      for (let round = 0; !isSpent(round); round += 1) {
        const options = {
          query: queryOf(random, store),
          similarity,
          count: 1 + random.below(25),
          order,
          matches: drawMatches(random, store),
        };
        const scan = new ExactScan(store, options);
        while (!scan.step(1 + random.below(1_000_000)));

        assert.deepEqual(scan.hits(), rankAll(store, options), `seed ${seed}, ${size.dimension}, round ${round}`);
      }
    }
  });

  test(`${similarity}: rows that change between slices do not hide others`, () => {
    const random = seededRandom(seed);
    const store = hardStore(random, { dimension: 384, recordCount: 2_500 });
    const isSpent = spending(allowance);
    for (let round = 0; !isSpent(round); round += 1) {
      const options = {
        query: queryOf(random, store),
        similarity,
        count: 20,
        order,
        matches: drawMatches(random, store),
      };
      const changed = new Set<number>();
      const scan = new ExactScan(store, options);
      while (!scan.step(100_000)) {
        const record = random.below(2_500);
        changed.add(record);
        if (random.unit() < 0.2) store.remove(record);
        else store.set(record, drawHard(random, 384, [options.query]));
      }

      const found = scan.hits().filter(({ record }) => !changed.has(record));
      const worst = scan.hits().at(-1)?.rank ?? Number.NEGATIVE_INFINITY;
      const wanted = rankAll(store, { ...options, count: 2_500 }).filter(
        ({ record, rank }) => !changed.has(record) && rank > worst,
      );
      assert.deepEqual(found.slice(0, wanted.length), wanted, `seed ${seed}, round ${round}`);
    }
    store.clear();
  });
}

/** A pair takes this part of the time of a search. */
const PAIRS_PER_ROUND = 28;

/** Pairs of a row and a query for which a bound is almost reached. */
const tightPairs: readonly ((random: Random, dimension: number) => { row: Float32Array; query: Float32Array })[] = [
  // The query goes where the code does not: all of the rest counts.
  (random, dimension) => {
    const row = drawPlain(random, dimension, []);
    return { row, query: restOf(row) };
  },
  // Seen from its code, the query is beyond the row.
  (random, dimension) => {
    const row = drawPlain(random, dimension, []);
    const rest = restOf(row);
    const far = 0.1 + 5 * random.unit();
    return { row, query: row.map((value, i) => value + far * (rest[i] ?? 0)) };
  },
  // The row goes where the code of the query does not.
  (random, dimension) => {
    const query = drawPlain(random, dimension, []);
    const step = Math.max(...query.map(Math.abs)) / 32_767;
    return { query, row: query.map((value) => Math.sign(value / step - Math.round(value / step)) * 127) };
  },
  // Small squares, of which float32 sums lose much.
  (random, dimension) => {
    const row = drawWhole(random, dimension, []);
    const other = drawWhole(random, dimension, []);
    return { query: row.map((value, i) => value + (other[i] ?? 0)), row: row.map((value) => value * 2e-24) };
  },
  (random, dimension) => {
    const row = drawWhole(random, dimension, []);
    return { row, query: row.map((value) => value * 1e-22) };
  },
  // Sums that round as much as they can: nothing else is between rank and bound.
  (random, dimension) => {
    const row = drawWhole(random, dimension, []);
    return { row, query: row.map((value) => value * (1 + random.unit())) };
  },
  (random, dimension) => ({ row: drawWhole(random, dimension, []), query: drawWhole(random, dimension, []) }),
];

/** The rest after steps of a 127th of the largest value. */
function restOf(row: Float32Array): Float32Array {
  const scale = Math.max(...row.map(Math.abs)) / 127;
  return row.map((value) => value - Math.round(value / scale) * scale);
}

for (const similarity of similarities) {
  test(`${similarity}: no row is skipped if the threshold is its rank`, () => {
    const random = seededRandom(seed);
    for (const dimension of [128, 385, 2_048]) {
      const store = new RowStore(memory, dimension);
      const record = Math.ceil(1_048_576 / (dimension * 4));
      store.ensure(record);
      const block = store.findBlock(record) ?? assert.fail();
      const { arena, codes = assert.fail() } = block;
      const isSpent = spending(allowance);
      for (let round = 0; !isSpent(round / PAIRS_PER_ROUND); round += 1) {
        const { row, query } = (tightPairs[round % tightPairs.length] ?? assert.fail())(random, dimension);
        store.set(record, row);
        const prepared = memory.prepare(query);
        const coded = codeQuery(prepared);
        if (coded === undefined) continue;
        arena.loadCoded(coded);
        const { list, codedQuery } = arena.scratch;
        arena.words[list / 4] = record - block.start;

        const left = arena.kernel.sift(
          similarityRows[similarity].code,
          codes,
          store.codeBytes,
          list,
          1,
          codedQuery,
          store.rank(similarity, prepared, record),
        );
        assert.equal(left, 1, `seed ${seed}, dimension ${dimension}, round ${round}`);
      }
      store.clear();
    }
  });
}

test("codes skip nearly all rows that are not hits, and no hit", () => {
  const random = seededRandom(5);
  const store = new RowStore(memory, 384);
  store.ensure(1_299);
  for (let record = 0; record < 1_300; record += 1) store.set(record, drawPlain(random, 384, []));
  const block = store.findBlock(1_299) ?? assert.fail();
  assert.ok(block.codes !== undefined);
  for (const similarity of similarities) {
    const prepared = memory.prepare(drawPlain(random, 384, []));
    const coded = codeQuery(prepared) ?? assert.fail();
    const ranks = Array.from({ length: block.end - block.start }, (_, row) =>
      block.start + row < 1_300 ? store.rank(similarity, prepared, block.start + row) : Number.NEGATIVE_INFINITY,
    );
    const threshold = ranks.toSorted((a, b) => b - a)[9] ?? assert.fail();

    const { list, codedQuery } = block.arena.scratch;
    block.arena.loadCoded(coded);
    const left = block.arena.kernel.siftRange(
      similarityRows[similarity].code,
      block.codes,
      store.codeBytes,
      0,
      1_300 - block.start,
      codedQuery,
      threshold,
      list,
    );

    const rows = [...block.arena.words.subarray(list / 4, list / 4 + left)];
    assert.ok(left < 25, `${similarity}: ${left} are left`);
    assert.deepEqual(
      rows.filter((row) => (ranks[row] ?? 0) >= threshold),
      ranks.flatMap((rank, row) => (rank >= threshold ? [row] : [])),
      "in their order",
    );
  }
  store.clear();
});

test("a query whose squares are too small or too large for bounds has no code", () => {
  for (const value of [0, 1e-12, 1e8]) {
    assert.equal(codeQuery(memory.prepare(new Float32Array(128).fill(value))), undefined);
  }
  assert.notEqual(codeQuery(memory.prepare(new Float32Array(128).fill(1))), undefined);
});

test("only blocks of full size and rows of at least 128 values have codes", () => {
  const narrow = new RowStore(memory, 127);
  narrow.ensure(9_999);
  const wide = new RowStore(memory, 128);
  wide.ensure(9_999);

  assert.equal(narrow.findBlock(9_999)?.codes, undefined);
  assert.equal(wide.findBlock(0)?.codes, undefined);
  assert.notEqual(wide.findBlock(9_999)?.codes, undefined);
  narrow.clear();
  wide.clear();
});

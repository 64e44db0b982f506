import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { GROUND_LINKS, GraphKernel, NO_NODE } from "./graph-kernel.ts";
import { GraphSearcher } from "./graph-searcher.ts";

const SEED = 20_261_128;

/** DOT_PRODUCT without a centre, so that a distance is only a product of two codes and their steps. */
function graphOf(rows: readonly Float32Array[], levelOf: (node: number) => number = () => 0): GraphKernel {
  const kernel = GraphKernel.create(rows[0]?.length ?? 1, "DOT_PRODUCT");
  assert.ok(kernel !== undefined);
  for (const [record, row] of rows.entries()) {
    kernel.putRow(row);
    assert.equal(kernel.code.insert(record, levelOf(record), 32, NO_NODE), record);
    kernel.code.setLive(record, 1);
  }
  return kernel;
}

function randomRows(random: Random, count: number, dimension: number): Float32Array[] {
  return Array.from({ length: count }, () => Float32Array.from({ length: dimension }, () => 2 * random.unit() - 1));
}

function largestOf(row: Float32Array): number {
  return row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** To the nearest whole number, halves to the even one. */
function nearest(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function codeOf(row: Float32Array, codeMax: number): number[] {
  const largest = largestOf(row);
  const factor = largest > 0 ? Math.fround(codeMax / largest) : 0;
  return Array.from(row, (value) => nearest(Math.fround(value * factor)));
}

/** The distance of the kernel, by a plain loop. */
function plainDistance(query: Float32Array, row: Float32Array): number {
  const step = Math.fround(largestOf(query) / 127);
  const scale = Math.fround(largestOf(row) / 63);
  const code = codeOf(row, 63);
  const sum = codeOf(query, 127).reduce((total, value, i) => total + value * (code[i] as number), 0);
  return Math.fround(Math.fround(step * -scale) * Math.fround(sum));
}

describe("distances", () => {
  for (const dimension of [1, 7, 16, 33, 64, 384]) {
    test(`dimension ${dimension}: have the bits of a plain loop, for lists of every length`, () => {
      const random = seededRandom(SEED + dimension);
      for (let count = 1; count <= 14; count += 1) {
        const rows = randomRows(random, count, dimension);
        const [query] = randomRows(random, 1, dimension) as [Float32Array];
        const searcher = new GraphSearcher(graphOf(rows));

        const hits = searcher.search({ query, count, effort: count });

        assert.equal(hits.count, count);
        for (let i = 0; i < count; i += 1) {
          const record = hits.records[i] as number;
          assert.equal(hits.distances[i], plainDistance(query, rows[record] as Float32Array), `seed ${SEED}`);
        }
      }
    });
  }

  test("have no overflow for the longest rows of the largest values", () => {
    const dimension = 65_536;
    const row = new Float32Array(dimension).fill(1);
    const opposite = new Float32Array(dimension).fill(-1);
    const searcher = new GraphSearcher(graphOf([row, opposite]));

    const hits = searcher.search({ query: row, count: 2, effort: 2 });

    assert.deepEqual([...hits.records.subarray(0, 2)], [0, 1]);
    assert.deepEqual(
      Array.from(hits.distances.subarray(0, 2), (distance) => Math.round(distance)),
      [-65_536, 65_536],
    );
  });
});

/** The walk over the ground, by a plain loop over arrays: the distances of its hits, and the number of visits. */
function plainWalk(
  { code, words, linksAt }: { code: GraphKernel["code"]; words: Uint32Array; linksAt(node: number): number },
  distanceOf: (node: number) => number,
  { effort, passes }: { effort: number; passes(node: number): boolean },
): { distances: number[]; visits: number } {
  const start = (code.entry() >>> 0) - 1;
  const seen = new Set([start]);
  const frontier = [start];
  const results: number[] = passes(start) ? [start] : [];
  const sort = (nodes: number[]): number[] => nodes.sort((a, b) => distanceOf(a) - distanceOf(b));
  const isWorse = (node: number): boolean =>
    results.length === effort && distanceOf(node) >= distanceOf(results.at(-1) as number);
  for (;;) {
    const next = sort(frontier).shift();
    if (next === undefined) break;
    if (results.length === effort && distanceOf(next) > distanceOf(results.at(-1) as number)) break;
    for (let i = 0; i < GROUND_LINKS; i += 1) {
      const link = words[linksAt(next) + i] as number;
      if (link === 0) break;
      const node = link - 1;
      if (seen.has(node)) continue;
      seen.add(node);
      if (isWorse(node)) continue;
      frontier.push(node);
      if (!passes(node)) continue;
      results.push(node);
      sort(results);
      results.length = Math.min(results.length, effort);
    }
  }
  return { distances: results.map(distanceOf), visits: seen.size };
}

describe("walks", () => {
  const random = seededRandom(SEED);
  const rows = randomRows(random, 600, 12);
  const kernel = graphOf(rows);
  const searcher = new GraphSearcher(kernel);
  const graph = { code: kernel.code, words: kernel.words, linksAt: (node: number) => kernel.linksAt(node, 0) };
  const queries = randomRows(random, 12, 12);

  for (const effort of [1, 2, 3, 4, 5, 8, 31, 64, 200, 700]) {
    for (const [what, modulus] of [
      ["every record", 1],
      ["a third", 3],
      ["one in 40", 40],
    ] as const) {
      test(`effort ${effort}, ${what} passes: the hits and visits of a plain walk`, () => {
        const passes = (node: number): boolean => node % modulus === 0;
        const accepts = new Uint32Array(Math.ceil(rows.length / 32));
        for (let node = 0; node < rows.length; node += 1)
          if (passes(node)) accepts[node >> 5] = (accepts[node >> 5] as number) | (1 << (node & 31));
        for (const query of queries) {
          const distances = rows.map((row) => plainDistance(query, row));

          const { distances: found, count, visits } = searcher.search({ query, count: effort, effort, accepts });

          const wanted = plainWalk(graph, (node) => distances[node] as number, { effort, passes });
          assert.deepEqual([...found.subarray(0, count)], wanted.distances, `seed ${SEED}`);
          // The entry is measured once more, to begin with.
          assert.equal(visits, wanted.visits, `seed ${SEED}`);
        }
      });
    }
  }
});

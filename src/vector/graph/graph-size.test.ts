/** The computed memory of nodes against that of graphs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../kernel/random.ts";
import { PAGE_BYTES } from "../../kernel/web-assembly.ts";
import { GraphKernel, NO_NODE, UPPER_LINKS } from "./graph-kernel.ts";
import { nodeBytesOf, nodesMaxOf, partRecordsOf } from "./graph-size.ts";

const LEVEL_FACTOR = 1 / Math.log(UPPER_LINKS);

/** Appends nodes, without links, until the memory is full. */
function filledKernel(dimension: number, pagesMax: number): GraphKernel {
  const kernel = GraphKernel.create(dimension, "COSINE", pagesMax);
  assert.ok(kernel !== undefined);
  const random = seededRandom(1);
  const row = new Float32Array(dimension).fill(1);
  kernel.putRow(row);
  for (let record = 0; ; record += 1) {
    const level = Math.floor(-Math.log(1 - random.unit()) * LEVEL_FACTOR);
    if (kernel.code.append(record, level) >>> 0 === NO_NODE) return kernel;
  }
}

const memories: readonly (readonly [dimension: number, pagesMax: number])[] = [
  [384, 768],
  [1_536, 768],
  [64, 256],
];

test("a memory is full at the computed number of nodes, less at most two blocks", () => {
  for (const [dimension, pagesMax] of memories) {
    const { nodeCount } = filledKernel(dimension, pagesMax);
    const computed = nodesMaxOf(dimension, pagesMax * PAGE_BYTES);
    const unused = (computed - nodeCount) * nodeBytesOf(dimension);
    assert.ok(unused >= 0 && unused < 2 * 2 ** 20, `${dimension} dimensions: ${nodeCount} of ${computed} nodes`);
  }
});

test("one memory has 7.8 million nodes of 384 dimensions, and 2.5 million of 1,536", () => {
  assert.deepEqual(
    [384, 1_536].map((dimension) => nodesMaxOf(dimension)),
    [7_833_600, 2_526_016],
  );
});

test("one graph has at most 4.7 million records of 384 dimensions, and 1.5 million of 1,536", () => {
  assert.deepEqual(
    [384, 1_536].map((dimension) => partRecordsOf(dimension)),
    [4_700_160, 1_515_609],
  );
});

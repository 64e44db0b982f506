import assert from "node:assert/strict";
import { test } from "node:test";
import { clusteredRows } from "../../../test/harness/clustered-rows.ts";
import { seededRandom } from "../../kernel/random.ts";
import { type Similarity, similarities } from "../index/definition.ts";
import {
  CHECK_FOUND,
  CHECK_LOST,
  CHECK_REPAIRED,
  CHECK_SKIPPED,
  GROUND_LINKS,
  GraphKernel,
  NO_NODE,
  UPPER_LINKS,
} from "./graph-kernel.ts";
import { CheckTally, GraphMaintenance } from "./graph-maintenance.ts";
import { GraphSearcher } from "./graph-searcher.ts";
import { GraphWriter } from "./graph-writer.ts";

const SEED = 20_261_128;
const DIMENSION = 64;
const OLD = 3_000;
const NEW = 450;
const EFFORT = 128;

/** A kernel with live nodes of the rows; record r is node r until places are used again. */
class Graph {
  readonly kernel: GraphKernel;
  readonly writer: GraphWriter;
  readonly rows: Float32Array;
  #next = 0;

  constructor(similarity: Similarity, rows: Float32Array) {
    const kernel = GraphKernel.create(DIMENSION, similarity);
    assert.ok(kernel !== undefined);
    this.kernel = kernel;
    this.writer = new GraphWriter(kernel, seededRandom(SEED));
    this.rows = rows;
  }

  rowOf(record: number): Float32Array {
    return this.rows.subarray(record * DIMENSION, (record + 1) * DIMENSION);
  }

  /** Inserts the next rows, without the checks that follow them, and returns their nodes. */
  insert(count: number): number[] {
    return Array.from({ length: count }, () => {
      this.kernel.putRow(this.rowOf(this.#next));
      const level = this.#next % 16 === 0 ? 1 + (this.#next % 3) : 0;
      const node = this.kernel.code.insert(this.#next, level, EFFORT, this.writer.maintenance.takePlace(level)) >>> 0;
      this.#next += 1;
      this.kernel.code.setLive(node, 1);
      return node;
    });
  }

  die(nodes: readonly number[]): void {
    for (const node of nodes) this.kernel.code.setLive(node, 0);
    this.writer.maintenance.retire(Uint32Array.from(nodes));
  }

  /** The share of the records that a walk finds by their own rows. */
  foundShare(records: readonly number[]): number {
    const searcher = new GraphSearcher(this.kernel);
    const found = records.filter((record) => {
      const hits = searcher.search({ query: this.rowOf(record), count: EFFORT, effort: EFFORT });
      return hits.records.subarray(0, hits.count).includes(record);
    });
    return found.length / records.length;
  }

  listOf(node: number, level: number): number[] {
    const start = this.kernel.linksAt(node, level);
    const list = this.kernel.words.subarray(start, start + (level === 0 ? GROUND_LINKS : UPPER_LINKS));
    const end = list.indexOf(0);
    return [...(end < 0 ? list : list.subarray(0, end))].map((link) => link - 1);
  }

  /** Every link of every level, as the node that it leads to. */
  *links(): Generator<{ readonly from: number; readonly level: number; readonly to: number }> {
    for (let from = 0; from < this.kernel.nodeCount; from += 1) {
      for (let level = 0; level <= this.kernel.code.levelOf(from); level += 1)
        for (const to of this.listOf(from, level)) yield { from, level, to };
    }
  }
}

/** Normal rows; from OLD on, each is `factor` times as long. */
function rowsOf(factor: number, count = OLD + NEW): Float32Array {
  const rows = clusteredRows(seededRandom(SEED), { count, dimension: DIMENSION, clusters: count, noise: 0 });
  for (let i = OLD * DIMENSION; i < rows.length; i += 1) rows[i] = (rows[i] as number) * factor;
  return rows;
}

const oldRecords = Array.from({ length: OLD }, (_, record) => record);

test("records of smaller norm hide older ones, and one round of checks links these again", () => {
  const graph = new Graph("EUCLIDEAN", rowsOf(0.4));
  graph.insert(OLD + NEW);

  const before = graph.foundShare(oldRecords);
  graph.writer.maintenance.run({ retired: new Uint32Array(0), checkCount: OLD + NEW, sweepCount: 0 });
  const { checkedCount, missedCount, lost } = graph.writer.maintenance.takeReport(0);

  assert.ok(before < 0.9, `${before} before, seed ${SEED}`);
  assert.equal(checkedCount, OLD + NEW);
  assert.ok(missedCount > 100, `${missedCount} missed`);
  assert.deepEqual(lost, []);
  const after = graph.foundShare(oldRecords);
  assert.ok(after >= 0.99, `${after} after, seed ${SEED}`);
});

for (const similarity of similarities) {
  test(`${similarity}: a check that has linked a node finds it, and the node links back`, () => {
    const graph = new Graph(similarity, rowsOf(0.4));
    graph.insert(OLD + NEW);
    const { code } = graph.kernel;
    let repairedCount = 0;
    for (const node of oldRecords) {
      const before = graph.listOf(node, 0);
      if (code.check(node, EFFORT) !== CHECK_REPAIRED) continue;
      repairedCount += 1;
      const added = graph.listOf(node, 0).filter((to) => !before.includes(to));
      const linkers = added.filter((to) => graph.listOf(to, 0).includes(node));
      assert.equal(code.check(node, EFFORT), CHECK_FOUND, `node ${node}, seed ${SEED}`);
      // The diversity of a full list may drop the way back.
      if (before.length < GROUND_LINKS && added.length > 0) assert.ok(linkers.length > 0);
      if (repairedCount === 20) break;
    }
    if (similarity === "EUCLIDEAN") assert.equal(repairedCount, 20);
  });
}

test("pinned links stay when nearer nodes come", () => {
  const graph = new Graph("EUCLIDEAN", rowsOf(0.4, OLD + 4 * NEW));
  graph.insert(OLD + NEW);
  const { code } = graph.kernel;
  const pinned = oldRecords.filter((node) => code.check(node, EFFORT) === CHECK_REPAIRED).slice(0, 50);
  const linkers = Map.groupBy(
    [...graph.links()].filter(({ level }) => level === 0),
    ({ to }) => to,
  );
  graph.insert(3 * NEW);

  assert.equal(pinned.length, 50);
  for (const node of pinned) {
    const isKept = linkers.get(node)?.some(({ from }) => graph.listOf(from, 0).includes(node));
    assert.ok(isKept, `node ${node}, seed ${SEED}`);
  }
});

test("a pass removes retired nodes from all lists of all levels, and the others are found", () => {
  const graph = new Graph("COSINE", rowsOf(1));
  graph.insert(OLD);
  const dead = oldRecords.filter((record) => record % 4 === 0);
  graph.die(dead);
  graph.writer.maintenance.run({ retired: new Uint32Array(0), checkCount: 0, sweepCount: OLD });

  const isDead = new Set(dead);
  assert.deepEqual(
    [...graph.links()].filter(({ from, to }) => isDead.has(to) || isDead.has(from)),
    [],
  );
  assert.equal(graph.writer.maintenance.takeReport(0).freedCount, OLD / 4);
  assert.equal(isDead.has((graph.kernel.code.entry() >>> 0) - 1), false);
  const share = graph.foundShare(oldRecords.filter((record) => !isDead.has(record)));
  assert.ok(share >= 0.999, `${share}, seed ${SEED}`);
});

test("a pass in portions between insertions removes the nodes that were retired when it began", () => {
  const graph = new Graph("EUCLIDEAN", rowsOf(1));
  graph.insert(OLD);
  const dead = oldRecords.filter((record) => record % 5 === 1);
  graph.die(dead);
  const { maintenance } = graph.writer;
  let freedCount = 0;
  for (let i = 0; freedCount === 0; i += 1) {
    graph.insert(i < 20 ? 20 : 0);
    maintenance.run({ retired: new Uint32Array(0), checkCount: 5, sweepCount: 100 });
    freedCount += maintenance.takeReport(0).freedCount;
    // Those die during the pass and stay until the next one.
    if (i < 10) graph.die([i * 10 + 5]);
  }

  const isDead = new Set(dead);
  assert.equal(freedCount, OLD / 5);
  assert.deepEqual(
    [...graph.links()].filter(({ to }) => isDead.has(to)),
    [],
  );
});

test("new nodes take free places of their level, and only their own rows find them", () => {
  const graph = new Graph("EUCLIDEAN", rowsOf(1));
  graph.insert(OLD);
  const dead = oldRecords.filter((record) => record % 4 < 2);
  graph.die(dead);
  graph.writer.maintenance.run({ retired: new Uint32Array(0), checkCount: 0, sweepCount: OLD });
  const levels = oldRecords.map((node) => graph.kernel.code.levelOf(node));
  const nodes = graph.insert(NEW);

  assert.ok(nodes.filter((node) => node < OLD).length > 0.9 * NEW);
  assert.deepEqual(
    oldRecords.map((node) => graph.kernel.code.levelOf(node)),
    levels,
  );
  const live = [...oldRecords.filter((record) => record % 4 >= 2), ...nodes.map((_, i) => OLD + i)];
  const share = graph.foundShare(live);
  assert.ok(share >= 0.999, `${share}, seed ${SEED}`);
});

test("the counts of links equal the links after repairs and removals", () => {
  const graph = new Graph("EUCLIDEAN", rowsOf(0.4));
  graph.insert(OLD + NEW);
  graph.die(oldRecords.filter((record) => record % 5 === 3));
  graph.writer.maintenance.run({ retired: new Uint32Array(0), checkCount: OLD, sweepCount: OLD + NEW });

  const counts = new Uint32Array(OLD + NEW);
  for (const { level, to } of graph.links()) if (level === 0) counts[to] = (counts[to] ?? 0) + 1;
  // The count is before the links.
  const { words } = graph.kernel;
  assert.deepEqual(
    Uint32Array.from(counts, (_, node) => words[graph.kernel.linksAt(node, 0) - 1] as number),
    counts,
  );
});

test("the last node cannot be retired, and another entry is found when there is one", () => {
  const graph = new Graph("COSINE", rowsOf(1));
  const [first] = graph.insert(1) as [number];
  assert.equal(graph.kernel.code.retire(first), 0);
  const [second] = graph.insert(1) as [number];
  assert.equal(graph.kernel.code.retire(first), 1);
  assert.equal(graph.kernel.code.entry() >>> 0, second + 1);
  assert.equal(graph.kernel.code.retire(second), 0);
});

test("nodes between retired ones only are linked to live ones farther away", () => {
  const graph = new Graph("EUCLIDEAN", rowsOf(0.01));
  graph.insert(OLD + NEW - 10);
  // All that is near the rows that follow.
  graph.die(Array.from({ length: NEW - 10 }, (_, i) => OLD + i));
  const nodes = graph.insert(10);
  graph.writer.maintenance.run({ retired: new Uint32Array(0), checkCount: 0, sweepCount: OLD + NEW });

  assert.equal(graph.foundShare(nodes), 1);
});

test("an empty graph has nothing to maintain", () => {
  const kernel = GraphKernel.create(DIMENSION, "COSINE");
  assert.ok(kernel !== undefined);
  const maintenance = new GraphMaintenance(kernel);
  maintenance.run({ retired: new Uint32Array(0), checkCount: 10, sweepCount: 10 });

  const { checkedCount, freedCount } = maintenance.takeReport(3);
  assert.deepEqual([checkedCount, freedCount, maintenance.takePlace(0)], [0, 0, NO_NODE]);
});

test("a tally reports no share until four misses, and forgets old checks", () => {
  const tally = new CheckTally();
  tally.add(100, 3);
  assert.equal(tally.share, 0);
  tally.add(100, 17);
  assert.equal(tally.share, 0.1);
  for (let i = 0; i < 8; i += 1) tally.add(256, 0);
  assert.equal(tally.share, 0);
});

test("the results of checks equal those of the WebAssembly code", () => {
  const code = GraphKernel.create(DIMENSION, "COSINE")?.code;

  assert.equal(code?.CHECK_FOUND.value, CHECK_FOUND);
  assert.equal(code?.CHECK_REPAIRED.value, CHECK_REPAIRED);
  assert.equal(code?.CHECK_LOST.value, CHECK_LOST);
  assert.equal(code?.CHECK_SKIPPED.value, CHECK_SKIPPED);
});

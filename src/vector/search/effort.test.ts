/** The effort of a query: an exact search, a given effort, and the effort that the index chooses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clusteredRows, nearestRows } from "../../../test/harness/clustered-rows.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { Effort } from "../api.ts";
import { InlineGraphBuilder } from "../graph/inline-graph-builder.ts";
import { type Similarity, similarities } from "../index/definition.ts";
import { VectorEngine } from "../index/vector-engine.ts";
import { defaultVectorLimits } from "../limits.ts";

const ROWS = 2_000;
const DIMENSION = 40;
const TOP_K = 10;

/** Independent noise in every dimension: a walk with little effort finds few of the nearest. */
const rows = clusteredRows(seededRandom(5), { count: ROWS + 20, dimension: DIMENSION, clusters: 1, noise: 1 });
const rowOf = (record: number): Float32Array => rows.subarray(record * DIMENSION, (record + 1) * DIMENSION);
const everyRow = Array.from({ length: ROWS }, (_, record) => record);
const queries = Array.from({ length: 20 }, (_, i) => rowOf(ROWS + i));

type Ask = (vector: Float32Array, effort: Effort, filter?: string) => readonly number[];

/** A namespace with a graph; `ask` returns the numbers of the hits. */
async function graphOf(similarity: Similarity): Promise<{ readonly ask: Ask; close(): void }> {
  const engine = new VectorEngine({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs: new InlineGraphBuilder(),
    graphWorkMin: 1,
    newHandle: () => "handle",
  });
  await engine.start();
  const definition = { type: "DENSE", dimension: DIMENSION, similarity, denseModel: undefined, sparseModel: undefined };
  const index = engine.define("docs", definition as Parameters<typeof engine.define>[1], {
    dense: undefined,
    sparse: undefined,
  });
  index.upsert(
    "",
    everyRow.map((record) => ({
      id: String(record),
      vector: rowOf(record).slice(),
      metadata: JSON.stringify({ half: record % 2 }),
    })),
  );
  await index.state.find("")?.graph?.whenBuilt();
  const ask: Ask = (vector, effort, filter = "") => {
    const include = { metadata: false, vectors: false, data: false };
    const query = { vector, topK: TOP_K, include, filter, weighting: undefined, fusion: "RRF", effort } as const;
    const lists = index.query("", [query]);
    assert.ok(!(lists instanceof Promise), "nothing waits for its turn while the clock stands still");
    return (lists[0] ?? []).map(({ id }) => Number(id));
  };
  return { ask, close: () => engine.close() };
}

for (const similarity of similarities)
  test(`an exact search finds the same as brute force with ${similarity}, and a small effort finds less`, async () => {
    const { ask, close } = await graphOf(similarity);
    let missed = 0;
    for (const query of queries) {
      const truth = nearestRows(query, { similarity, count: TOP_K, among: everyRow, rowOf });
      assert.deepEqual(ask(query, "exact"), truth);
      const walked = new Set(ask(query, TOP_K));
      missed += truth.filter((record) => !walked.has(record)).length;
    }
    // Otherwise the exact searches may have been walks.
    assert.ok(missed > 20, `a walk misses only ${missed} of 200`);
    close();
  });

test("an exact search with a filter finds the same as brute force among the records that pass", async () => {
  const { ask, close } = await graphOf("COSINE");
  const among = everyRow.filter((record) => record % 2 === 1);
  for (const query of queries)
    assert.deepEqual(
      ask(query, "exact", "half = 1"),
      nearestRows(query, { similarity: "COSINE", count: TOP_K, among, rowOf }),
    );
  close();
});

test("more effort finds more, and an effort that costs more than a scan is a scan", async () => {
  const { ask, close } = await graphOf("EUCLIDEAN");
  const foundWith = (effort: Effort): number =>
    queries.reduce((sum, query) => {
      const truth = nearestRows(query, { similarity: "EUCLIDEAN", count: TOP_K, among: everyRow, rowOf });
      const found = new Set(ask(query, effort));
      return sum + truth.filter((record) => found.has(record)).length;
    }, 0);
  const [small, medium, large] = [foundWith(10), foundWith(40), foundWith(4_000)];
  assert.ok(small < medium, `${small} with effort 10, ${medium} with effort 40`);
  assert.ok(medium < 200, `${medium} with effort 40`);
  assert.equal(large, 200);
  close();
});

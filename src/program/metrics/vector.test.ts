/** The metrics of an index: its recall, also in `/info`, from a graph with a known one; and the files of its rows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DIMENSION, DiskLife } from "../../../test/simulation/vector/disk-world.ts";
import { RecallWorld } from "../../../test/simulation/vector/recall-world.ts";
import { Metrics } from "../../kernel/metrics.ts";
import { figuresIn } from "./stats.ts";
import { measureVectors } from "./vector.ts";

test("metrics, figures and info report a missed recall target and what was measured", async () => {
  const world = new RecallWorld({ missed: () => 60, limits: { effortMax: 320 } });
  const metrics = new Metrics();
  measureVectors(metrics, world.engine);
  const seriesOf = (name: string): unknown => metrics.snapshot().find((family) => family.name === name)?.series;
  await world.fill();
  assert.deepEqual(world.index.info().recall, { target: 0.99, measured: [] });
  assert.deepEqual(seriesOf("larder_vector_recall"), []);
  assert.deepEqual(seriesOf("larder_vector_recall_missed"), [{ labelValues: ["docs"], values: [0] }]);

  await world.measure(20_000);

  const [measured, ...others] = world.index.info().recall?.measured ?? [];
  assert.deepEqual(others, []);
  const { recall = 1, lowerBound = 1 } = measured ?? {};
  assert.ok(recall > 0.75 && recall < 0.85, `${recall}`);
  assert.ok(lowerBound > recall - 0.03 && lowerBound < recall, `${lowerBound} of ${recall}`);
  assert.deepEqual(measured, {
    namespace: "",
    number: 0,
    topK: "1-10",
    filter: "none",
    recall,
    lowerBound,
    recordCount: 200,
    queryCount: 0,
    effort: 320,
    scanShare: 0,
    isReached: false,
  });
  const labelValues = ["docs", "1-10", "none"];
  assert.deepEqual(seriesOf("larder_vector_recall"), [{ labelValues, values: [recall] }]);
  assert.deepEqual(seriesOf("larder_vector_recall_lower_bound"), [{ labelValues, values: [lowerBound] }]);
  assert.deepEqual(seriesOf("larder_vector_effort"), [{ labelValues, values: [320] }]);
  assert.deepEqual(seriesOf("larder_vector_recall_missed"), [{ labelValues: ["docs"], values: [1] }]);
  assert.deepEqual(seriesOf("larder_vector_recall_target"), [{ labelValues: ["docs"], values: [0.99] }]);
  const figures = figuresIn(metrics.snapshot(), "vector");
  assert.deepEqual([figures["recall"], figures["recallMissed"]], [recall, 1]);
  world.close();
});

const COUNT = 600;

/** Distinct rows of whole numbers. */
function rowOf(record: number): Float32Array {
  return Float32Array.from({ length: DIMENSION }, (_, i) => 1 + ((record * 7 + i * (1 + (record % 11))) % 23));
}

async function filled(rows: "memory" | "disk", hasThreads: boolean): Promise<DiskLife> {
  // An entry has a head of 16 bytes and 24 values of 4, and a file a head of 64 bytes and 256 entries.
  const life = await DiskLife.begin({ rows, hasThreads });
  life.index.upsert(
    "",
    Array.from({ length: COUNT }, (_, i) => ({ id: `r-${i}`, vector: rowOf(i) })),
  );
  await life.settled();
  return life;
}

for (const hasThreads of [true, false])
  test(`metrics report the files of rows and the reads from them, ${hasThreads ? "by threads" : "by the thread pool"}`, async () => {
    const life = await filled("disk", hasThreads);
    const metrics = new Metrics();
    measureVectors(metrics, life.engine);
    const seriesValue = (name: string): number => {
      const series = metrics.snapshot().find((family) => family.name === `larder_vector_${name}`)?.series ?? [];
      assert.deepEqual(
        series.map(({ labelValues }) => labelValues),
        [["docs"]],
      );
      return series[0]?.values[0] ?? Number.NaN;
    };
    const reads = (): number[] => [seriesValue("row_file_reads_total"), seriesValue("row_file_read_bytes_total")];
    const newReads = async (ask: () => unknown): Promise<number[]> => {
      const before = reads();
      await ask();
      return reads().map((value, i) => value - (before[i] as number));
    };
    const sizes = life.fileNames.map((path) => life.disk.bytesOf(path).length);
    assert.deepEqual(sizes, [64 + 256 * 112, 64 + 256 * 112, 64 + 88 * 112]);
    assert.equal(seriesValue("row_file_bytes"), 67_392);
    assert.equal(figuresIn(metrics.snapshot(), "vector")["rowFileBytes"], 67_392);

    const include = { metadata: false, vectors: true, data: false };
    const fetched = { kind: "ids", ids: ["r-3", "r-300"] } as const;
    assert.deepEqual(await newReads(() => life.index.fetch("", fetched, include)), [2, 224]);
    const exact = { vector: rowOf(3), effort: "exact" } as const;
    assert.deepEqual(await newReads(() => life.ask(exact)), [3, 67_200]);
    const [count = 0, bytes] = await newReads(() => life.ask({ vector: rowOf(3), effort: 20 }));
    assert.ok(count >= 1 && count <= 60, `${count} reads`);
    if (hasThreads) assert.equal(bytes, count * 112);
    await life.end();
  });

test("an index with rows in memory has no figures of row files", async () => {
  const life = await filled("memory", true);
  const metrics = new Metrics();
  measureVectors(metrics, life.engine);
  const names = metrics.snapshot().filter(({ name, series }) => name.includes("row_file") && series.length > 0);
  assert.deepEqual(names, []);
  assert.equal("rowFileBytes" in figuresIn(metrics.snapshot(), "vector"), false);
  await life.end();
});

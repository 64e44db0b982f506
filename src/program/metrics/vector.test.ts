/** The recall of an index in its metrics and in `/info`, from a graph with a known recall. */
import assert from "node:assert/strict";
import { test } from "node:test";
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

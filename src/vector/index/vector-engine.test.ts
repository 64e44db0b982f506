import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { seededRandom } from "../../kernel/random.ts";
import { defaultVectorLimits } from "../limits.ts";
import type { IndexDefinition } from "./definition.ts";
import { DefinitionMismatch, VectorEngine } from "./vector-engine.ts";

const embedders = { dense: undefined, sparse: undefined };

function definitionOf(changes: Partial<IndexDefinition> = {}): IndexDefinition {
  return {
    type: "DENSE",
    dimension: undefined,
    similarity: "COSINE",
    denseModel: undefined,
    sparseModel: undefined,
    ...changes,
  };
}

function newEngine(): VectorEngine {
  return new VectorEngine({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs: undefined,
    newHandle: () => "handle",
  });
}

function restored(engine: VectorEngine): VectorEngine {
  const other = newEngine();
  for (const frame of engine.dump()) other.replay(Buffer.from(frame));
  return other;
}

test("refuses another definition of an index with records, and the error names both", () => {
  const engine = newEngine();
  engine.define("docs", definitionOf({ dimension: 3 }), embedders);

  for (const [changes, text] of [
    [{ type: "HYBRID" }, "the index docs has type DENSE and cannot become HYBRID"],
    [{ similarity: "EUCLIDEAN" }, "the index docs has similarity COSINE and cannot become EUCLIDEAN"],
    [{ dimension: 4 }, "the index docs has dimension 3 and cannot become 4"],
  ] as const)
    assert.throws(
      () => engine.define("docs", definitionOf(changes), embedders),
      (fault) => fault instanceof DefinitionMismatch && fault.message.startsWith(text),
    );
});

test("an unspecified dimension is fixed by a record, and later definitions may omit or state it", () => {
  const engine = newEngine();
  const index = engine.define("docs", definitionOf(), embedders);
  index.upsert("", [{ id: "a", vector: new Float32Array([1, 0]) }]);

  assert.equal(engine.define("docs", definitionOf(), embedders).definition.dimension, 2);
  assert.equal(engine.define("docs", definitionOf({ dimension: 2 }), embedders).definition.dimension, 2);
});

test("a reset leaves indexes as defined, without records and without a dimension fixed by a record", () => {
  const engine = newEngine();
  engine.define("docs", definitionOf(), embedders).upsert("n", [{ id: "a", vector: new Float32Array([1, 0]) }]);
  engine.reset();

  const index = engine.index("docs");
  assert.deepEqual(index?.namespaceNames(), [""]);
  assert.equal(index?.info().vectorCount, 0);
  assert.equal(index?.definition.dimension, undefined);
});

test("a snapshot stores the assigned numbers, even of dropped indexes and namespaces", () => {
  const engine = newEngine();
  engine.define("gone", definitionOf(), embedders);
  engine.drop("gone");
  const index = engine.define("docs", definitionOf(), embedders);
  const vector = new Float32Array([1, 0]);
  index.upsert("other", [
    { id: "a", vector },
    { id: "b", vector },
  ]);
  index.delete("other", { kind: "ids", ids: ["b"] });
  index.deleteNamespace("other");
  const copy = restored(engine);

  const state = copy.index("docs")?.state;
  assert.equal(state?.number, 2);
  assert.equal(state?.nextNamespace, 2);
  assert.equal(state?.nextVersion, 3);
  assert.equal(copy.define("new", definitionOf(), embedders).state.number, 3);
});

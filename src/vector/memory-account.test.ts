/** The memory account of an index, and writes without memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import { NullJournal } from "../kernel/journal.ts";
import { MemoryGuard } from "../kernel/memory-guard.ts";
import { seededRandom } from "../kernel/random.ts";
import type { IndexDefinition } from "./index/definition.ts";
import { VectorEngine } from "./index/vector-engine.ts";
import type { VectorIndex } from "./index/vector-index.ts";
import { defaultVectorLimits } from "./limits.ts";

const definition: IndexDefinition = {
  type: "DENSE",
  dimension: 4,
  similarity: "EUCLIDEAN",
  denseModel: undefined,
  sparseModel: undefined,
};

function startEngine(guard?: MemoryGuard): VectorEngine {
  return new VectorEngine({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs: undefined,
    newHandle: () => "handle",
    guard,
  });
}

function define(engine: VectorEngine, name: string): VectorIndex {
  return engine.define(name, definition, { dense: undefined, sparse: undefined });
}

function fill(index: VectorIndex, count: number, data = "d".repeat(100)): void {
  const records = Array.from({ length: count }, (_, i) => ({
    id: `${i}`,
    vector: Float32Array.of(1, 2, 3, 4),
    sparseVector: undefined,
    metadata: '{"a":1}',
    data,
  }));
  index.upsert("n", records);
}

test("records count with their vectors, metadata and data until they are deleted", () => {
  const index = define(startEngine(), "docs");
  const { memory } = index.state;
  const empty = memory.bytes;
  fill(index, 10);
  const filled = memory.bytes;
  assert.ok(filled - empty > 10 * 370, `${filled - empty}`);
  index.delete("n", { kind: "ids", ids: ["0", "1", "2", "3", "4"] });
  assert.ok(memory.bytes < filled - 5 * 370);
  index.deleteNamespace("n");
  assert.equal(memory.bytes, empty);
});

test("A-16: the largest index may not grow when memory is nearly used up; others may, and all may delete", () => {
  const readBytes = (): number => [...engine.indexes].reduce((sum, { state }) => sum + state.memory.bytes, 0);
  const engine: VectorEngine = startEngine(new MemoryGuard({ bytesMax: 100_000, readBytes }));
  const [large, small] = [define(engine, "large"), define(engine, "small")];
  for (let count = 10; large.state.memory.mayGrow; count += 5) fill(large, count);
  const { vectorCount } = large.info();

  assert.throws(() => fill(large, 1), {
    kind: "unavailable",
    text: "The memory of the vector index is nearly used up, and this index uses much of it: delete some vectors, or raise --vector-memory",
  });
  fill(small, 1);
  assert.equal(small.info().vectorCount, 1);
  assert.equal(large.info().vectorCount, vectorCount);
  large.reset("n");
  fill(large, 1);
  assert.equal(engine.drop("large"), true);
});

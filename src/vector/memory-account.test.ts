/** The memory account of an index, and writes without memory. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { settledFlags } from "../../test/harness/settled-memory.ts";
import type { VectorGrowth } from "../../test/harness/vector-memory-growth.ts";
import { VirtualClock } from "../kernel/clock.virtual.ts";
import { NullJournal } from "../kernel/journal.ts";
import { MemoryGuard } from "../kernel/memory-guard.ts";
import { seededRandom } from "../kernel/random.ts";
import type { GraphBuilder } from "./graph/graph.ts";
import { InlineGraphBuilder } from "./graph/inline-graph-builder.ts";
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

function startEngine(guard?: MemoryGuard, graphs?: GraphBuilder): VectorEngine {
  return new VectorEngine({
    journal: new NullJournal(),
    clock: new VirtualClock(),
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs,
    graphWorkMin: 0,
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
  // A namespace 9,000 and its directory of sparse values 256; a block of rows 4,096; id 8 and its tables 16, version and place 20,
  // metadata 16 and 4, data 108 and 4.
  assert.ok(Math.abs(filled - empty - 9_256 - 4_096 - 10 * 176) < 10, `${filled - empty}`);
  index.delete("n", { kind: "ids", ids: ["0", "1", "2", "3", "4"] });
  assert.ok(memory.bytes < filled - 5 * 170, `${memory.bytes}`);
  index.deleteNamespace("n");
  assert.equal(memory.bytes, empty);
});

test("records that wait for the graph count with the memory that it will take for them", async () => {
  const engine = startEngine(undefined, new InlineGraphBuilder());
  await engine.start();
  const index = define(engine, "docs");
  fill(index, 2_000);
  const { memory } = index.state;
  const namespace = index.state.find("n");
  const pending = memory.bytes;
  assert.equal(namespace?.pendingCount, 2_000);
  assert.ok(pending > 2_000 * (196 + 190), `${pending}`);
  await namespace.graph?.whenBuilt();
  index.state.recount();

  assert.equal(namespace.pendingCount, 0);
  assert.ok(Math.abs(memory.bytes - pending) < 0.1 * pending + 700_000, `${pending} before, ${memory.bytes} after`);
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

const ERROR_SHARE_MAX = 0.2;
const program = fileURLToPath(new URL("../../test/harness/vector-memory-growth.ts", import.meta.url));

test("the account of an index is within 20 % of the growth of the process", (context) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [...settledFlags, program], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const growths = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as VectorGrowth);
  const wrong: string[] = [];
  for (const { records, processBytes, countedBytes } of growths) {
    const line = `${records}: the process grew by ${processBytes} bytes, and ${countedBytes} are counted`;
    context.diagnostic(line);
    if (Math.abs(countedBytes / processBytes - 1) > ERROR_SHARE_MAX) wrong.push(line);
  }
  assert.equal(growths.length, 5);
  assert.deepEqual(wrong, []);
});

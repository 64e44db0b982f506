/**
 * A program for `src/vector/memory-account.test.ts`, run with `settledFlags`: fills
 * an index with one kind of records after the other and prints, as one line of
 * JSON for each, the growth of the process and that of the account of the index.
 *
 * Run: node --expose-gc --single-threaded test/harness/vector-memory-growth.ts
 */
import { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import type { NewRecord } from "../../src/vector/index/record.ts";
import { VectorEngine } from "../../src/vector/index/vector-engine.ts";
import type { VectorIndex } from "../../src/vector/index/vector-index.ts";
import { defaultVectorLimits } from "../../src/vector/limits.ts";
import { settledBytes } from "./settled-memory.ts";

export interface VectorGrowth {
  readonly records: string;
  /** Of the JavaScript heap, the buffers outside of it and the blocks of rows, after a collection. */
  readonly processBytes: number;
  readonly countedBytes: number;
}

interface Kind {
  readonly name: string;
  readonly namespaceCount: number;
  /** In each namespace. */
  readonly count: number;
  readonly dimension: number;
  readonly metadata?: (i: number) => string;
  readonly data?: (i: number) => string;
}

const kinds: readonly Kind[] = [
  { name: "short vectors alone", namespaceCount: 1, count: 100_000, dimension: 8 },
  {
    name: "384 dimensions with metadata of 32 bytes",
    namespaceCount: 1,
    count: 8_000,
    dimension: 384,
    metadata: (i) => `{"city":"Oslo","number":${100_000 + i}}`,
  },
  {
    name: "metadata and data beyond ASCII",
    namespaceCount: 1,
    count: 20_000,
    dimension: 8,
    metadata: (i) => `{"city":"Tromsø","number":${i}}`,
    data: (i) => "€".repeat(i % 200),
  },
  {
    name: "data of 6 KB",
    namespaceCount: 1,
    count: 1_500,
    dimension: 8,
    data: (i) => `${i}`.padEnd(6_000, "x"),
  },
  {
    name: "a thousand namespaces of ten records",
    namespaceCount: 1_000,
    count: 10,
    dimension: 128,
    metadata: (i) => `{"city":"Oslo","number":${100_000 + i}}`,
  },
];

const BATCH = 500;
/** The indexes of the measurements that are over. */
const dropped: WeakRef<VectorIndex>[] = [];
const engine = new VectorEngine({
  journal: new NullJournal(),
  clock: new VirtualClock(),
  random: seededRandom(1),
  limits: { ...defaultVectorLimits, namespacesMax: 10_000 },
  graphs: undefined,
  newHandle: () => "handle",
});

await measure({ name: "first calls", namespaceCount: 3, count: 2_000, dimension: 8 });
for (const kind of kinds) console.log(JSON.stringify(await measure(kind)));

async function measure(kind: Kind): Promise<VectorGrowth> {
  const { name, namespaceCount, count, dimension } = kind;
  const before = await settledBytes(processBytes, dropped.splice(0));
  const definition = {
    type: "DENSE",
    dimension,
    similarity: "EUCLIDEAN",
    denseModel: undefined,
    sparseModel: undefined,
  } as const;
  const index = engine.define(name, definition, { dense: undefined, sparse: undefined });
  const { bytes: empty } = index.state.memory;
  for (let number = 0; number < namespaceCount; number += 1)
    for (let start = 0; start < count; start += BATCH) {
      const length = Math.min(BATCH, count - start);
      index.upsert(
        `tenant-${number}`,
        Array.from({ length }, (_, i) => recordOf(kind, start + i)),
      );
    }
  const processGrowth = (await settledBytes(processBytes)) - before;
  const countedBytes = index.state.memory.bytes - empty;
  engine.drop(name);
  dropped.push(new WeakRef(index));
  return { records: name, processBytes: processGrowth, countedBytes };
}

function recordOf({ dimension, metadata, data }: Kind, i: number): NewRecord {
  const vector = Float32Array.from({ length: dimension }, (_, at) => ((i * 31 + at) % 100) / 100);
  return { id: `record-${100_000 + i}`, vector, metadata: metadata?.(i), data: data?.(i) };
}

function processBytes(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers + engine.memory.usedBytes;
}

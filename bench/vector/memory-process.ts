/**
 * The memory of one index, in a process of its own, and the processor time of
 * what reads its tables. Prints a `MemoryResult` as JSON.
 *
 * node --expose-gc bench/vector/memory-process.ts <set as JSON>
 */
import { assert } from "../../src/kernel/assert.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { threadGraphBuilder } from "../../src/program/workers/graph-threads.ts";
import type { VectorQuery } from "../../src/vector/api.ts";
import { compileFilter } from "../../src/vector/filter/filter.ts";
import type { Namespace } from "../../src/vector/index/namespace.ts";
import type { VectorIndex } from "../../src/vector/index/vector-index.ts";
import { CODE_FACTS_BYTES, remainderBytesOf } from "../../src/vector/rows/row-kernel.ts";
import { chunksOf, type DataSet, readQueries } from "./data-set.ts";
import { openEngine, plainQuery } from "./larder-subject.ts";

/** All bytes are for each vector, except `threadBytes`. */
export interface MemoryResult {
  readonly residentBytes: number;
  /** By the account of the index, with the graph. */
  readonly countedBytes: number;
  readonly parts: Readonly<Record<string, number>>;
  /** The thread that builds graphs, before it has built anything. */
  readonly threadBytes: number;
  /** Microseconds of this thread. */
  readonly costs: Readonly<Record<string, number>>;
}

const CHUNK_ROWS = 1_000;
const LISTS_PER_BUFFER = 64;
const SETTLE_MS = 500;
const BATCH = 100;
const BATCHES = 2_000;
const ROUNDS = 7;
const CITIES = ["Oslo", "Lima", "Rome", "Bern"];

const set = JSON.parse(process.argv[2] ?? "{}") as DataSet;
const includesMetadata = { metadata: true, vectors: false, data: false } as const;

/** At most 16 bytes, in no order. A string of its own, as from a body. */
function idOf(row: number): string {
  const mixed = Math.imul(row + 1, 0x9e37_79b1) >>> 0;
  return Buffer.from(`doc-${mixed.toString(16).padStart(8, "0")}`).toString();
}

/** At most 32 bytes. */
function metadataOf(row: number): string {
  return Buffer.from(`{"city":"${CITIES[row % CITIES.length]}","n":${row}}`).toString();
}

const builder = threadGraphBuilder({ log: silentLog });
const engine = await openEngine(builder);
const { dimension, similarity } = set;
const definition = { type: "DENSE", dimension, similarity, denseModel: undefined, sparseModel: undefined } as const;
const unstarted = await measureProcess();
const first = builder.open({ dimension: 1, similarity, read: () => Float32Array.of(1) });
first.insert(0, 1);
await first.whenBuilt();
first.close();
const before = await measureProcess();

const index = engine.define("bench", definition, { dense: undefined, sparse: undefined });
let upsertUs = 0;
for (const { first: start, rows } of chunksOf(set, CHUNK_ROWS)) {
  const records = recordsOf(start, rows);
  upsertUs += cpuUs(() => index.upsert("", records)) / set.rowCount;
  await new Promise((resolve) => setImmediate(resolve));
}
const namespace = index.state.find("");
assert(namespace !== undefined, "the namespace exists");
await namespace.graph?.whenBuilt();
const after = await measureProcess();
const parts = partsOf(namespace);
const residentBytes = (after.resident - before.resident) / set.rowCount;
const countedBytes = index.state.memory.bytes / set.rowCount;
const costs = { "upsert of a new record": upsertUs, ...(await costsOf(index, namespace)) };
const result: MemoryResult = {
  residentBytes,
  countedBytes,
  parts,
  threadBytes: before.resident - unstarted.resident,
  costs,
};
console.log(JSON.stringify(result));
engine.close();
await builder.close();

/** The vectors share buffers, as those of a body do (`kernel/float32/document.ts`). */
function recordsOf(start: number, rows: Float32Array) {
  let shared = new Float32Array(0);
  return Array.from({ length: rows.length / dimension }, (_, i) => {
    const at = (i % LISTS_PER_BUFFER) * dimension;
    if (at === 0) shared = rows.slice(i * dimension, (i + LISTS_PER_BUFFER) * dimension);
    return { id: idOf(start + i), vector: shared.subarray(at, at + dimension), metadata: metadataOf(start + i) };
  });
}

interface ProcessBytes {
  readonly resident: number;
  readonly heap: number;
  readonly heapFree: number;
  readonly buffers: number;
}

async function measureProcess(): Promise<ProcessBytes> {
  for (let i = 0; i < 3; i += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
  const { rss, heapUsed, heapTotal, arrayBuffers } = process.memoryUsage();
  return { resident: rss, heap: heapUsed, heapFree: heapTotal - heapUsed, buffers: arrayBuffers };
}

function partsOf({ rows, graph, count }: Namespace): Record<string, number> {
  assert(rows !== undefined, "the namespace has rows");
  const isSplit = rows.blocks.at(-1)?.isSplit === true;
  const rowBytes = isSplit ? remainderBytesOf(rows.dimension) : rows.rowBytes;
  const codeBytes = rows.codeBytes + CODE_FACTS_BYTES;
  const graphBytes = (graph?.byteCount ?? 0) / count;
  const heap = (after.heap - before.heap) / count;
  const heapFree = (after.heapFree - before.heapFree) / count;
  const buffers = (after.buffers - before.buffers) / count;
  const blocks = rows.byteCount / count - rowBytes - codeBytes;
  const tables = (engine.memory.usedBytes - rows.byteCount) / count;
  const known = rowBytes + codeBytes + blocks + tables + graphBytes + heap + heapFree + buffers;
  return {
    "rows, without what codes have of them": rowBytes,
    "row codes": codeBytes,
    "lengths and room in blocks of rows": blocks,
    graph: graphBytes,
    "tables of records in blocks": tables,
    "array buffers": buffers,
    "V8 heap": heap,
    "V8 heap, free": heapFree,
    rest: (after.resident - before.resident) / count - known,
  };
}

async function costsOf(searched: VectorIndex, { table, filters }: Namespace): Promise<Record<string, number>> {
  const queries = readQueries(set);
  const idBatches = Array.from({ length: BATCHES }, (_, batch) =>
    Array.from({ length: BATCH }, (_, i) => idOf((batch * 7_919 + i * 104_729) % set.rowCount)),
  );
  const unknown = idBatches.map((ids) => ids.map((id) => Buffer.from(`x${id}`).toString()));
  const changes = idBatches.map((ids, batch) =>
    ids.map((id, i) => ({ id, metadataUpdateMode: "OVERWRITE" as const, metadata: metadataOf(batch * BATCH + i) })),
  );
  const count = BATCHES * BATCH;
  const fetches: number[] = [];
  const misses: number[] = [];
  const columns: number[] = [];
  const updates: number[] = [];
  const searches: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    fetches.push(
      cpuUs(() => {
        for (const ids of idBatches) searched.fetch("", { kind: "ids", ids }, includesMetadata);
      }) / count,
    );
    misses.push(
      cpuUs(() => {
        for (const ids of unknown) for (const id of ids) table.find(id);
      }) / count,
    );
    // A field without a column is read from every record.
    const match = filters.start(compileFilter(`n${round} = 1 OR city = 'Oslo' AND n > ${round}`));
    columns.push(
      cpuUs(() => {
        while (!match.step(1_000_000));
      }) / set.rowCount,
    );
    updates.push(
      cpuUs(() => {
        for (const batch of changes) for (const change of batch) void searched.update("", change);
      }) / count,
    );
    const startUs = cpuNow();
    for (const vector of queries) {
      const query: VectorQuery = { ...plainQuery, include: includesMetadata, vector, topK: 100, effort: 160 };
      await searched.query("", [query]);
    }
    searches.push((cpuNow() - startUs) / queries.length);
  }
  return {
    "fetch of a record with metadata": median(fetches),
    "look-up of an unknown id": median(misses),
    "column of a field, for each record": median(columns),
    "update of metadata": median(updates),
    "query, 100 hits with metadata": median(searches),
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >>> 1] ?? Number.NaN;
}

function cpuUs(call: () => void): number {
  const startUs = cpuNow();
  call();
  return cpuNow() - startUs;
}

function cpuNow(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

/**
 * The peers as subjects, each as its own documentation recommends it, with the
 * same numbers where they have the same parameters: 16 neighbours, 128 candidates
 * while building, one thread where that can be set.
 */
import { DatabaseSync } from "node:sqlite";
import { loadPeer } from "../peers/modules.ts";
import type { Hits, OpenSet, OpenSubject, Search } from "./subject.ts";
import { FILTERED_MODULI } from "./truth.ts";

const NEIGHBOURS = 16;
const BUILD_EFFORT = 128;
const EFFORT = 64;
/** Hits by codes of one byte that are scored again with their float32 rows. */
const RESCORED = 30;
/** LanceDB fetches this many times as many by its codes, and scores them again. */
const LANCE_REFINE = 4;

interface Hnswlib {
  readonly HierarchicalNSW: new (
    space: "cosine" | "l2",
    dimension: number,
  ) => {
    initIndex(rowCount: number, neighbours: number, effort: number): void;
    addPoint(point: number[], label: number): void;
    setEf(effort: number): void;
    searchKnn(query: number[], count: number, filter?: (label: number) => boolean): { neighbors: number[] };
  };
}

/** float32 rows. */
export function openHnswlib({ dimension, similarity, rowCount }: OpenSet): OpenSubject {
  const { HierarchicalNSW } = loadPeer<Hnswlib>("hnswlib-node");
  const index = new HierarchicalNSW(similarity === "COSINE" ? "cosine" : "l2", dimension);
  index.initIndex(rowCount, NEIGHBOURS, BUILD_EFFORT);
  return {
    add: (first, rows) => {
      for (let i = 0; i < rows.length / dimension; i += 1)
        index.addPoint(Array.from(rows.subarray(i * dimension, (i + 1) * dimension)), first + i);
    },
    finish: async () => {},
    search: ({ query, count, effort = EFFORT, passing }: Search): Hits => {
      index.setEf(effort);
      // Its binding takes arrays of numbers only.
      const point = Array.from(query);
      if (passing === undefined) return index.searchKnn(point, count).neighbors;
      const { modulus, remainder } = passing;
      return index.searchKnn(point, count, (label) => label % modulus === remainder).neighbors;
    },
    isAdjustable: true,
    ownBytes: () => undefined,
  };
}

interface Usearch {
  readonly Index: new (options: {
    dimensions: number;
    metric: "cos" | "l2sq";
    quantization: "f16" | "i8";
    connectivity: number;
    expansion_add: number;
    expansion_search: number;
  }) => {
    add(keys: BigUint64Array, vectors: Float32Array, threads: number): void;
    search(query: Float32Array, count: number, threads: number): { keys: BigUint64Array };
  };
}

export function openUsearchF16(set: OpenSet): OpenSubject {
  return openUsearch(set, "f16");
}

/** As `openUsearchF16`, built by two threads. */
export function openUsearchF16Two(set: OpenSet): OpenSubject {
  return openUsearch(set, "f16", 2);
}

/** Codes of one byte; the best are scored again with float32 rows, which are stored beside it. */
export function openUsearchI8(set: OpenSet): OpenSubject {
  return openUsearch(set, "i8");
}

function openUsearch(
  { dimension, similarity, rowCount }: OpenSet,
  quantization: "f16" | "i8",
  threads = 1,
): OpenSubject {
  const { Index } = loadPeer<Usearch>("usearch");
  const index = new Index({
    dimensions: dimension,
    metric: similarity === "COSINE" ? "cos" : "l2sq",
    quantization,
    connectivity: NEIGHBOURS,
    expansion_add: BUILD_EFFORT,
    // It uses the larger of this and the number of hits, so an effort is requested as that many hits.
    expansion_search: 1,
  });
  const kept = quantization === "i8" ? new Float32Array(rowCount * dimension) : undefined;
  return {
    add: (first, rows) => {
      const keys = BigUint64Array.from({ length: rows.length / dimension }, (_, i) => BigInt(first + i));
      index.add(keys, rows, threads);
      kept?.set(rows, first * dimension);
    },
    finish: async () => {},
    search: ({ query, count, effort = EFFORT }: Search): Hits => {
      const found = index.search(query, Math.max(count, effort), 1).keys;
      const records: number[] = [];
      for (let i = 0; i < Math.min(found.length, kept === undefined ? count : RESCORED); i += 1)
        records.push(Number(found[i]));
      if (kept === undefined) return records;
      const scores = new Map(
        records.map((row) => [row, nearness(query, kept.subarray(row * dimension, (row + 1) * dimension), similarity)]),
      );
      return records.sort((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0)).slice(0, count);
    },
    isAdjustable: true,
    ownBytes: () => undefined,
  };
}

function nearness(query: Float32Array, row: Float32Array, similarity: OpenSet["similarity"]): number {
  let dot = 0;
  let squared = 0;
  for (let i = 0; i < query.length; i += 1) {
    const value = row[i] as number;
    dot += (query[i] as number) * value;
    squared += value * value;
  }
  return similarity === "COSINE" ? dot / Math.sqrt(squared) : 2 * dot - squared;
}

interface LanceQuery {
  distanceType(type: "cosine" | "l2"): LanceQuery;
  ef(effort: number): LanceQuery;
  refineFactor(factor: number): LanceQuery;
  limit(count: number): LanceQuery;
  where(filter: string): LanceQuery;
  select(columns: readonly string[]): LanceQuery;
  toArray(): Promise<readonly { id: number }[]>;
}

interface LanceTable {
  add(rows: readonly object[]): Promise<unknown>;
  createIndex(column: string, options: { config: unknown }): Promise<void>;
  query(): { nearestTo(query: Float32Array): LanceQuery };
  optimize(): Promise<unknown>;
}

interface Lance {
  connect(folder: string): Promise<{ createTable(name: string, rows: readonly object[]): Promise<LanceTable> }>;
  readonly Index: {
    hnswSq(options: object): unknown;
    btree(): unknown;
  };
}

/** On disk; an HNSW over codes of one byte, a tree for each filtered field. */
export async function openLanceDb({ dimension, similarity, scratch, isFiltered }: OpenSet): Promise<OpenSubject> {
  const { connect, Index } = loadPeer<Lance>("@lancedb/lancedb");
  const connection = await connect(scratch);
  const distanceType = similarity === "COSINE" ? "cosine" : "l2";
  let table: LanceTable | undefined;
  const getTable = (): LanceTable => {
    if (table === undefined) throw new Error("rows are added before they are searched");
    return table;
  };
  return {
    add: async (first, rows) => {
      const records = Array.from({ length: rows.length / dimension }, (_, i) => ({
        id: first + i,
        vector: Array.from(rows.subarray(i * dimension, (i + 1) * dimension)),
        ...Object.fromEntries(FILTERED_MODULI.map((modulus) => [`m${modulus}`, (first + i) % modulus])),
      }));
      if (table === undefined) table = await connection.createTable("bench", records);
      else await table.add(records);
    },
    finish: async () => {
      await getTable().optimize();
      const options = { distanceType, m: NEIGHBOURS, efConstruction: BUILD_EFFORT, numPartitions: 1 };
      await getTable().createIndex("vector", { config: Index.hnswSq(options) });
      if (!isFiltered) return;
      for (const modulus of FILTERED_MODULI) await getTable().createIndex(`m${modulus}`, { config: Index.btree() });
    },
    search: async ({ query, count, effort = EFFORT, passing }: Search): Promise<Hits> => {
      const asked = getTable().query().nearestTo(query).distanceType(distanceType).ef(effort).limit(count);
      const refined = asked.refineFactor(LANCE_REFINE).select(["id", "_distance"]);
      const filtered = passing === undefined ? refined : refined.where(`m${passing.modulus} = ${passing.remainder}`);
      return (await filtered.toArray()).map(({ id }) => Number(id));
    },
    isAdjustable: true,
    ownBytes: () => undefined,
  };
}

interface SqliteVec {
  load(database: DatabaseSync): void;
}

/** In memory, float32; scans every row that passes. */
export function openSqliteVec({ dimension, similarity }: OpenSet): OpenSubject {
  const database = new DatabaseSync(":memory:", { allowExtension: true });
  loadPeer<SqliteVec>("sqlite-vec").load(database);
  const fields = FILTERED_MODULI.map((modulus) => `m${modulus}`);
  const metric = similarity === "COSINE" ? " distance_metric=cosine" : "";
  const columns = [`vector float[${dimension}]${metric}`, ...fields.map((field) => `${field} integer`)];
  database.exec(`CREATE VIRTUAL TABLE bench USING vec0(${columns.join(", ")})`);
  const insert = database.prepare(
    `INSERT INTO bench (rowid, vector, ${fields.join(", ")}) VALUES (?, ?, ${fields.map(() => "?").join(", ")})`,
  );
  const select = "SELECT rowid FROM bench WHERE vector MATCH ? AND k = ?";
  const all = database.prepare(select);
  const passingStatements = new Map(
    FILTERED_MODULI.map((modulus) => [modulus as number, database.prepare(`${select} AND m${modulus} = ?`)]),
  );
  return {
    add: (first, rows) => {
      database.exec("BEGIN");
      for (let i = 0; i < rows.length / dimension; i += 1) {
        const vector = bytesOf(rows.slice(i * dimension, (i + 1) * dimension));
        insert.run(BigInt(first + i), vector, ...FILTERED_MODULI.map((modulus) => BigInt((first + i) % modulus)));
      }
      database.exec("COMMIT");
    },
    finish: async () => {},
    search: ({ query, count, passing }: Search): Hits => {
      const found =
        passing === undefined
          ? all.all(bytesOf(query), count)
          : passingStatements.get(passing.modulus)?.all(bytesOf(query), count, BigInt(passing.remainder));
      return (found ?? []).map((row) => Number(row["rowid"]));
    },
    isAdjustable: false,
    ownBytes: () => undefined,
  };
}

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

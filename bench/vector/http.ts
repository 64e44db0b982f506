/** One index over HTTP: upserts while its graph is built and a client queries, then queries alone. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Similarity } from "../../src/vector/index/definition.ts";
import type { RawResult } from "../harness/raw-client.ts";
import { type Spread, spreadOf } from "../harness/statistics.ts";
import { type DataSet, readQueries } from "./data-set.ts";
import { loopDelayMs, type Place, startServer, type VectorServer } from "./larder-server.ts";
import { type Asked, BATCH_ROWS, type Digits, queryBody, startClient, writeQueries, writeUpserts } from "./requests.ts";
import type { Hits } from "./subject.ts";
import type { Truth } from "./truth.ts";

export interface HttpSize {
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: readonly number[];
}

export interface UpsertRow {
  readonly digits: Digits;
  /** Undefined: as many as it accepts. */
  readonly vectorsPerSecondMax: number | undefined;
  readonly vectorsPerSecond: number;
  readonly answer: Pick<RawResult, "p50Ms" | "p99Ms" | "maxMs">;
  /** For one concurrent caller. */
  readonly query: Pick<RawResult, "p50Ms" | "p99Ms" | "maxMs">;
  readonly loopDelayMs: number;
  /** Records not in the graph when the last upsert was answered. */
  readonly pendingCount: number;
  /** From the first upsert until all are in the graph. */
  readonly builtMs: number;
}

export interface QueryRow {
  readonly connections: number;
  readonly perSecond: Spread;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The largest of the rounds. */
  readonly loopDelayMs: number;
}

export interface HttpResult {
  readonly set: DataSet;
  readonly upserts: readonly UpsertRow[];
  readonly queries: readonly QueryRow[];
  readonly recall: number;
  readonly memory: {
    /** The growth of the process since it was empty. */
    readonly residentBytes: number | undefined;
    readonly rowBytes: number;
    readonly graphBytes: number;
  };
}

/** The rate of upserts that should hardly affect a querying caller. */
export const GOAL_PER_SECOND = 12_000;

export interface UpsertWay {
  readonly digits: Digits;
  readonly vectorsPerSecondMax?: number;
}

/** In addition to the one whose index is queried afterwards. */
const ways: readonly UpsertWay[] = [
  { digits: "7 decimals", vectorsPerSecondMax: GOAL_PER_SECOND },
  { digits: "all digits" },
];

const UPSERT_CONNECTIONS = 2;
const RECALL_QUERIES = 100;
const POLL_MS = 50;
const SETTLE_MS = 3_000;

export async function measureHttp(
  { place, set, truth, log }: { place: Place; set: DataSet; truth: Truth; log: (line: string) => void },
  size: HttpSize,
): Promise<HttpResult> {
  const upserts: UpsertRow[] = [];
  for (const way of ways) {
    log(`HTTP: upserts with ${way.digits}, ${way.vectorsPerSecondMax ?? "no"} vectors/s at most`);
    await withServer(place, async (server) => upserts.push(await upsertAll(server, set, way)));
  }
  return withServer(place, async (server) => {
    const emptyBytes = server.process.residentBytes();
    log("HTTP: upserts with 7 decimals");
    upserts.unshift(await upsertAll(server, set, { digits: "7 decimals" }));
    await delay(SETTLE_MS);
    const filledBytes = server.process.residentBytes();
    const memory = {
      residentBytes: emptyBytes === undefined || filledBytes === undefined ? undefined : filledBytes - emptyBytes,
      rowBytes: await server.metric("larder_vector_row_bytes"),
      graphBytes: await server.metric("larder_vector_graph_bytes"),
    };
    const recall = truth.recallOf(await hitsOf(server, set), 1);
    const queries: QueryRow[] = [];
    const file = writeQueries(set);
    for (const connections of size.connections) {
      log(`HTTP: queries over ${connections} connections`);
      queries.push(await queryOver(server, { file, connections, size }));
    }
    return { set, upserts, queries, recall, memory };
  });
}

/** Sends all rows and resolves when they are in the graph. */
export async function upsertAll(
  server: VectorServer,
  set: DataSet,
  { digits, vectorsPerSecondMax }: UpsertWay,
): Promise<UpsertRow> {
  const { port } = server;
  const writer = await startClient(writeUpserts(set, digits), {
    port,
    connections: UPSERT_CONNECTIONS,
    isOnce: true,
    perSecondMax: vectorsPerSecondMax === undefined ? undefined : vectorsPerSecondMax / BATCH_ROWS,
  });
  const prober = await startClient(writeQueries(set), { port, connections: 1, isOnce: false });
  await loopDelayMs(server);
  const beganMs = performance.now();
  writer.begin();
  prober.begin();
  const written = await writer.done;
  prober.stop();
  const probed = await prober.done;
  const failure = written.failure ?? probed.failure;
  if (failure !== undefined) throw new Error(`an upsert or a query beside it failed: ${failure}`);
  const delayMs = await loopDelayMs(server);
  const pendingCount = await server.metric("larder_vector_pending_records");
  while ((await server.metric("larder_vector_pending_records")) > 0) await delay(POLL_MS);
  return {
    digits,
    vectorsPerSecondMax,
    vectorsPerSecond: (written.requests * BATCH_ROWS * 1_000) / written.durationMs,
    answer: written,
    query: probed,
    loopDelayMs: delayMs,
    pendingCount,
    builtMs: performance.now() - beganMs,
  };
}

export async function hitsOf(server: VectorServer, set: DataSet, asked: Asked = {}): Promise<readonly Hits[]> {
  const lists: Hits[] = [];
  for (const query of readQueries(set).slice(0, RECALL_QUERIES)) {
    const hits = await server.call<readonly { readonly id: string }[]>("/query", queryBody(query, asked));
    lists.push(hits.map(({ id }) => Number(id)));
  }
  return lists;
}

async function queryOver(
  server: VectorServer,
  { file, connections, size }: { file: string; connections: number; size: HttpSize },
): Promise<QueryRow> {
  const results: RawResult[] = [];
  const delaysMs: number[] = [];
  // The first is the warm-up.
  for (let round = 0; round <= size.rounds; round += 1) {
    const client = await startClient(file, { port: server.port, connections, isOnce: false });
    await loopDelayMs(server);
    client.begin();
    await delay(size.seconds * 1_000);
    client.stop();
    const result = await client.done;
    if (result.failure !== undefined) throw new Error(`a query failed: ${result.failure}`);
    const delayMs = await loopDelayMs(server);
    if (round === 0) continue;
    results.push(result);
    delaysMs.push(delayMs);
  }
  return {
    connections,
    perSecond: spreadOf(results.map(({ requests, durationMs }) => (requests * 1_000) / durationMs)),
    p50Ms: spreadOf(results.map(({ p50Ms }) => p50Ms)).median,
    p99Ms: spreadOf(results.map(({ p99Ms }) => p99Ms)).median,
    loopDelayMs: Math.max(...delaysMs),
  };
}

export async function withServer<Result>(
  { parent, program }: Place,
  use: (server: VectorServer) => Promise<Result>,
  similarity: Similarity = "COSINE",
): Promise<Result> {
  const directory = mkdtempSync(join(parent, "vector-"));
  const server = await startServer(program, directory, { similarity });
  try {
    return await use(server);
  } finally {
    await server.process.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

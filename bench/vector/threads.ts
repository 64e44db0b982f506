/**
 * Searches on one and on two threads: 8 callers in this process, each with one
 * query at a time, then 8 connections over HTTP. Rounds alternate between the
 * numbers of threads; medians. Queries per second need two idle cores; queries per
 * CPU second, and the time for which a thread was able to run (running or waiting
 * for a core), also mean something on a busy machine.
 */
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/kernel/clock.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { threadGraphBuilder } from "../../src/program/workers/graph-threads.ts";
import { openSearchThreads } from "../../src/program/workers/search-threads.ts";
import { GraphCache, type GraphFiles } from "../../src/vector/graph/graph-cache.ts";
import { VectorEngine } from "../../src/vector/index/vector-engine.ts";
import type { VectorIndex } from "../../src/vector/index/vector-index.ts";
import { defaultVectorLimits } from "../../src/vector/limits.ts";
import { spreadOf } from "../harness/statistics.ts";
import { figure, table } from "../harness/table.ts";
import { chunksOf, type DataSet, readQueries } from "./data-set.ts";
import { upsertAll } from "./http.ts";
import { type Place, startServer, type VectorServer } from "./larder-server.ts";
import { plainQuery } from "./larder-subject.ts";
import { startClient, writeQueries } from "./requests.ts";

export interface ThreadsSize {
  readonly rounds: number;
  readonly seconds: number;
}

const THREAD_COUNTS = [1, 2] as const;
const CALLERS = 8;
const TOP_K = 10;
const CHUNK_ROWS = 1_000;
const WARM_UP_SECONDS = 0.5;

interface Round {
  readonly perSecond: number;
  readonly perCpuSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Threads able to run, on average; unknown over HTTP. */
  readonly runnable: number;
}

/** Prints a table for the set. */
export async function measureThreads(
  { place, set, log }: { place: Place; set: DataSet; log: (line: string) => void },
  size: ThreadsSize,
): Promise<string> {
  const inProcess = await measureEngines(set, size, log);
  const overHttp = await measureServers({ place, set, log }, size);
  const rows = [...rowsOf("in process", inProcess), ...rowsOf("over HTTP", overHttp)];
  const head = [
    "",
    "threads",
    "queries/s",
    "of one thread",
    "queries/CPU s",
    "of one thread",
    "p50 ms",
    "p99 ms",
    "able to run",
  ];
  return `${set.name}, ${CALLERS} callers, topK ${TOP_K}\n\n${table(head, rows)}`;
}

function rowsOf(name: string, roundsByCount: readonly (readonly Round[])[]): string[][] {
  const median = (rounds: readonly Round[], read: (round: Round) => number): number =>
    spreadOf(rounds.map(read)).median;
  const one = roundsByCount[0] as readonly Round[];
  return roundsByCount.map((rounds, i) => {
    const share = (read: (round: Round) => number): string => (median(rounds, read) / median(one, read)).toFixed(2);
    return [
      name,
      `${THREAD_COUNTS[i]}`,
      figure(median(rounds, ({ perSecond }) => perSecond)),
      share(({ perSecond }) => perSecond),
      figure(median(rounds, ({ perCpuSecond }) => perCpuSecond)),
      share(({ perCpuSecond }) => perCpuSecond),
      median(rounds, ({ p50Ms }) => p50Ms).toFixed(2),
      median(rounds, ({ p99Ms }) => p99Ms).toFixed(2),
      median(rounds, ({ runnable }) => runnable).toFixed(2),
    ];
  });
}

async function inTurn<Subject>(
  subjects: readonly Subject[],
  size: ThreadsSize,
  run: (subject: Subject, seconds: number) => Promise<Round>,
): Promise<readonly (readonly Round[])[]> {
  const rounds = subjects.map((): Round[] => []);
  for (const subject of subjects) await run(subject, WARM_UP_SECONDS);
  for (let round = 0; round < size.rounds; round += 1) {
    const order = [...subjects.keys()];
    for (const i of round % 2 === 0 ? order : order.reverse())
      rounds[i]?.push(await run(subjects[i] as Subject, size.seconds));
  }
  return rounds;
}

interface OpenEngine {
  readonly index: VectorIndex;
  close(): Promise<void>;
}

async function measureEngines(
  set: DataSet,
  size: ThreadsSize,
  log: (line: string) => void,
): Promise<readonly (readonly Round[])[]> {
  // The second engine loads the graph that the first has built.
  const files = new Map<string, Uint8Array>();
  const engines: OpenEngine[] = [];
  for (const count of THREAD_COUNTS) {
    log(`${set.name}: opening an engine with ${count} threads`);
    engines.push(await openEngine(set, count, files));
  }
  const queries = readQueries(set);
  try {
    return await inTurn(engines, size, ({ index }, seconds) => callEngine(index, queries, seconds));
  } finally {
    for (const engine of engines) await engine.close();
  }
}

async function openEngine(set: DataSet, count: number, saved: Map<string, Uint8Array>): Promise<OpenEngine> {
  const graphs = threadGraphBuilder({ log: silentLog });
  const threads = openSearchThreads({ log: silentLog, count });
  const engine = new VectorEngine({
    journal: new NullJournal(),
    clock: systemClock,
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs,
    threads,
    newHandle: () => "handle",
  });
  const { dimension, similarity } = set;
  const definition = { type: "DENSE", dimension, similarity, denseModel: undefined, sparseModel: undefined } as const;
  const index = engine.define("bench", definition, { dense: undefined, sparse: undefined });
  for (const { first, rows } of chunksOf(set, CHUNK_ROWS)) {
    const vectorOf = (i: number): Float32Array => rows.slice(i * dimension, (i + 1) * dimension);
    index.upsert(
      "",
      Array.from({ length: rows.length / dimension }, (_, i) => ({ id: String(first + i), vector: vectorOf(i) })),
    );
  }
  const files: GraphFiles = {
    names: async () => [...saved.keys()],
    read: async (name) => saved.get(name),
    write: async (name, bytes) => void saved.set(name, bytes),
    remove: async (name) => void saved.delete(name),
  };
  const cache = new GraphCache(files, silentLog);
  await engine.start(cache);
  await index.state.find("")?.graph?.whenBuilt();
  await cache.save(engine.namespaces, { all: true });
  return {
    index,
    close: async () => {
      await threads?.close();
      engine.close();
      await graphs.close();
    },
  };
}

async function callEngine(index: VectorIndex, queries: readonly Float32Array[], seconds: number): Promise<Round> {
  const takenMs: number[] = [];
  const cpu = process.cpuUsage();
  const able = ableMs();
  const startMs = performance.now();
  const endMs = startMs + seconds * 1_000;
  const call = async (caller: number): Promise<void> => {
    for (let number = caller * 37; performance.now() < endMs; number += 1) {
      const atMs = performance.now();
      const vector = queries[number % queries.length] as Float32Array;
      await index.query("", [{ ...plainQuery, vector, topK: TOP_K }]);
      takenMs.push(performance.now() - atMs);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, caller) => call(caller)));
  const totalMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  const sorted = takenMs.sort((a, b) => a - b);
  const percentile = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  return {
    perSecond: (sorted.length * 1_000) / totalMs,
    perCpuSecond: (sorted.length * 1_000_000) / (user + system),
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    runnable: (ableMs() - able) / totalMs,
  };
}

/** The time for which threads of this process ran or waited for a core; NaN if the system does not tell. */
function ableMs(): number {
  try {
    let sum = 0;
    for (const thread of readdirSync("/proc/self/task")) {
      const [ran = 0, waited = 0] = readFileSync(`/proc/self/task/${thread}/schedstat`, "utf8").split(" ").map(Number);
      sum += ran + waited;
    }
    return sum / 1_000_000;
  } catch {
    return Number.NaN;
  }
}

async function measureServers(
  { place, set, log }: { place: Place; set: DataSet; log: (line: string) => void },
  size: ThreadsSize,
): Promise<readonly (readonly Round[])[]> {
  const file = writeQueries(set);
  const servers: VectorServer[] = [];
  try {
    for (const count of THREAD_COUNTS) {
      log(`${set.name}: filling a server with ${count} threads`);
      const directory = mkdtempSync(join(place.parent, "threads-"));
      const server = await startServer(place.program, directory, { settings: ["--vector-threads", `${count}`] });
      servers.push(server);
      await upsertAll(server, set, { digits: "7 decimals" });
    }
    return await inTurn(servers, size, (server, seconds) => callServer(server, file, seconds));
  } finally {
    for (const server of servers) await server.process.stop();
  }
}

async function callServer(server: VectorServer, file: string, seconds: number): Promise<Round> {
  const client = await startClient(file, { port: server.port, connections: CALLERS, isOnce: false });
  const startedMs = server.process.cpuMs() ?? Number.NaN;
  client.begin();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  client.stop();
  const { requests, durationMs, p50Ms, p99Ms, failure } = await client.done;
  if (failure !== undefined) throw new Error(`a query failed: ${failure}`);
  const cpuMs = (server.process.cpuMs() ?? Number.NaN) - startedMs;
  const perSecond = (requests * 1_000) / durationMs;
  return { perSecond, perCpuSecond: (requests * 1_000) / cpuMs, p50Ms, p99Ms, runnable: Number.NaN };
}

/**
 * Question: what do millions of vectors cost with their rows on disk: how long
 * do they take to load, how much memory do they take, what is their recall, how fast
 * are queries and starts, and how slow are queries with little memory?
 *
 * Method: vectors in clusters (vector/data-set.ts), drawn while they are sent:
 * upserts of 1,000 over two connections with everysec, one namespace, `--vector-rows
 * disk`. The same process compares each vector with 100 queries, so the truth is a
 * plain scan that shares no code with larder. Then: queries for ten hits over 1 and
 * 8 connections; the program starts again from its files, and once more in a group of
 * processes (cgroup, version 1) whose memory is limited to --limit times the bytes of codes and graph, the
 * system's cache of files included.
 *
 * Read: each line is printed when its figures are known, so a run that is cut off
 * leaves those it has. Bytes are those of the whole process for each vector. The client's core
 * is shared with the thread that builds graphs, so the time of loading is not the least
 * possible. A limit below what the process itself needs ends it: the report says so.
 *
 * Run: npm run build && npm run bench -- vector-large [--rows 5000000] [--dimension 384] [--limit 1.3] [--folder /tmp]
 *      5 million take about an hour on two cores that nothing else uses, and 40 GB of disk. A run that is interrupted
 *      removes its files: another one begins again.
 */
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { machineFacts } from "./harness/machine.ts";
import { publishedProgram } from "./store/subjects.ts";
import { drawOf } from "./vector/data-set.ts";
import { startServer, type VectorServer } from "./vector/larder-server.ts";
import { BestRows } from "./vector/large/best-rows.ts";
import { measureQueries, upsertAll } from "./vector/large/requests.ts";
import { queryBody } from "./vector/requests.ts";
import { HIT_COUNT } from "./vector/truth.ts";

const TRUE_QUERIES = 100;
const TIMED_QUERIES = 2_000;
const ROWS_OF_A_CLUSTER = 50;
const SECONDS = 20;
const POLL_MS = 1_000;
/** While the graph is built, its state is printed at this interval. */
const STATE_MS = 60_000;
/** Of a start that reads all rows. */
const START_MS_MAX = 1_800_000;
const MEMORY_GROUPS = "/sys/fs/cgroup/memory";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "5000000" },
    dimension: { type: "string", default: "384" },
    limit: { type: "string", default: "1.3" },
    folder: { type: "string", default: tmpdir() },
  },
});
const rowCount = Number(values.rows);
const dimension = Number(values.dimension);
const say = (line: string): void => console.log(line);

const parent = mkdtempSync(join(values.folder, "larder-bench-"));
// A server that was killed may write until it has ended.
process.once("exit", () => rmSync(parent, { recursive: true, force: true, maxRetries: 10 }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const program = publishedProgram(parent);
const directory = join(parent, "data");
mkdirSync(directory);

const draw = drawOf({
  ...{ rowCount, dimension, queryCount: TRUE_QUERIES },
  clusterCount: Math.ceil(rowCount / ROWS_OF_A_CLUSTER),
});
const queries = Array.from({ length: TRUE_QUERIES + TIMED_QUERIES }, () => {
  const query = new Float32Array(dimension);
  draw(query);
  return query;
});
const truth = new BestRows(queries.slice(0, TRUE_QUERIES), HIT_COUNT);

for (const fact of machineFacts(new Date())) say(`- ${fact}`);
say(`- ${rowCount} x ${dimension}, cosine, rows on disk\n`);

const first = await start();
const emptyBytes = first.process.residentBytes() ?? Number.NaN;
const beganMs = performance.now();
await upsertAll(first, {
  ...{ rowCount, dimension, draw, truth },
  progress: sayState,
});
const sentMs = performance.now() - beganMs;
for (let saidMs = sentMs; (await first.metric("larder_vector_pending_records")) > 0; await delay(POLL_MS)) {
  if (performance.now() - beganMs - saidMs < STATE_MS) continue;
  saidMs = performance.now() - beganMs;
  await sayState(rowCount);
}
const builtMs = performance.now() - beganMs;
say(`answered after ${seconds(sentMs)}, all in the graph after ${seconds(builtMs)}`);
await report("after loading", first, emptyBytes);
await first.process.stop();

await reportStart();
await reportLimited();
process.exit(0);

async function start(group?: string): Promise<VectorServer> {
  const settings = ["--vector-rows", "disk"];
  return await startServer(program, directory, {
    settings,
    startMsMax: START_MS_MAX,
    ...(group !== undefined && { group }),
  });
}

async function sayState(sentCount: number): Promise<void> {
  const afterMs = performance.now() - beganMs;
  const resident = first.process.residentBytes() ?? Number.NaN;
  const pending = await first.metric("larder_vector_pending_records");
  say(
    `  ${seconds(afterMs)}: ${sentCount} sent, ${pending} pending, resident ${perVector(resident - emptyBytes, sentCount)} bytes a vector`,
  );
}

async function reportStart(): Promise<void> {
  const startMs = performance.now();
  const server = await start();
  const runningMs = performance.now() - startMs;
  while ((await server.metric("larder_vector_pending_records")) > 0) await delay(POLL_MS);
  say(`running after ${seconds(runningMs)}, all in the graph after ${seconds(performance.now() - startMs)}`);
  await report("after a start", server, emptyBytes);
  await server.process.stop();
}

/** The limit is set when the server has started, because a start reads all files. */
async function reportLimited(): Promise<void> {
  const group = join(MEMORY_GROUPS, `larder-bench-${process.pid}`);
  try {
    mkdirSync(group);
  } catch {
    say("the memory of processes cannot be limited here");
    return;
  }
  const server = await start(group);
  while ((await server.metric("larder_vector_pending_records")) > 0) await delay(POLL_MS);
  const codesAndGraph =
    (await server.metric("larder_vector_graph_bytes")) + (await server.metric("larder_vector_row_bytes"));
  const limit = Math.ceil(Number(values.limit) * codesAndGraph);
  try {
    writeFileSync(join(group, "memory.limit_in_bytes"), `${limit}`);
    await report(`with at most ${perVector(limit, rowCount)} bytes of memory a vector`, server, 0);
  } catch (fault) {
    say(`with at most ${perVector(limit, rowCount)} bytes of memory a vector: ${String(fault)}`);
  }
  await server.process.stop();
  rmdirSync(group);
}

async function report(what: string, server: VectorServer, baseBytes: number): Promise<void> {
  const resident = server.process.residentBytes() ?? Number.NaN;
  const graphBytes = await server.metric("larder_vector_graph_bytes");
  const rowBytes = await server.metric("larder_vector_row_bytes");
  const fileBytes = await server.metric("larder_vector_row_file_bytes");
  say(`${what}:`);
  say(`  resident ${perVector(resident - baseBytes, rowCount)} bytes a vector (${(resident / 1e9).toFixed(2)} GB)`);
  say(
    `  graph ${perVector(graphBytes, rowCount)}, rows in memory ${perVector(rowBytes, rowCount)}, row files ${perVector(fileBytes, rowCount)}`,
  );
  const hits: (readonly string[])[] = [];
  for (const query of queries.slice(0, TRUE_QUERIES)) hits.push(await nearest(server, query));
  const recall = truth.recallOf(hits);
  say(
    `  recall@${HIT_COUNT} of ${TRUE_QUERIES} queries: mean ${recall.mean.toFixed(4)}, lowest ${recall.lowest.toFixed(1)}`,
  );
  for (const connections of [1, 8]) {
    const times = await measureQueries(server, {
      queries: queries.slice(TRUE_QUERIES),
      connections,
      seconds: SECONDS,
    });
    const { perSecond, p50Ms, p99Ms, maxMs } = times;
    say(
      `  ${connections} connections: ${perSecond.toFixed(0)} queries/s, p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, longest ${maxMs.toFixed(0)} ms`,
    );
  }
}

async function nearest(server: VectorServer, query: Float32Array): Promise<readonly string[]> {
  const hits = await server.call<readonly { readonly id: string }[]>("/query", queryBody(query));
  return hits.map(({ id }) => id);
}

function perVector(bytes: number, count: number): string {
  return (bytes / count).toFixed(0);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(0)} s`;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Speed at equal recall: each subject, and larder over HTTP, is searched with the
 * smallest effort that reaches RECALL, in turn; and the time until each index is
 * complete. On a busy machine the processor time says more than the rate: over
 * HTTP it is that of the server without the thread that builds graphs. Every
 * subject is warmed up before each measurement; the server is pinned to its core
 * once its graph is there, and the client has the other one.
 */
import { cpuMsOfThreads, pinRunning, SERVER_CORE } from "../harness/pinned-process.ts";
import { median, type Spread, spreadOf } from "../harness/statistics.ts";
import { figure, spreadText, table } from "../harness/table.ts";
import type { DataSet } from "./data-set.ts";
import { hitsOf, upsertAll, withServer } from "./http.ts";
import type { Place, VectorServer } from "./larder-server.ts";
import { startClient, writeQueries } from "./requests.ts";
import type { Hits, Point, Times } from "./subject.ts";
import { equalSubjects, missingPeer, names, type RunningSubject, startSubject } from "./subjects.ts";
import { Truth } from "./truth.ts";

export interface EqualSize {
  readonly topKs: readonly number[];
  readonly rounds: number;
  /** Of one measurement. */
  readonly seconds: number;
  readonly queryCount: number;
}

export interface EqualOptions {
  readonly place: Place;
  readonly set: DataSet;
  readonly size: EqualSize;
  readonly log: (line: string) => void;
}

const RECALL = 0.99;
/** Efforts that are tried: each is larger by an eighth of a doubling. The largest is what a query may set. */
const EFFORTS_PER_DOUBLING = 8;
const EFFORT_MAX = 4_000;
const CONNECTIONS = [1, 16] as const;
const WARM_UP_SECONDS = 0.3;
const BUILDING_THREAD = /^graph builder/;

type Rate = Pick<Times, "perSecond" | "cpuUs">;

/** Something that is searched. */
interface Searched {
  readonly name: string;
  /** The hits of the first queries. */
  hits(topK: number, effort: number): Promise<readonly Hits[]>;
  rate(topK: number, effort: number, seconds: number): Promise<Rate>;
}

/** A table for the set. */
export async function measureEqual(options: EqualOptions): Promise<string> {
  const { place, set, size, log } = options;
  const running: RunningSubject[] = [];
  try {
    const builds: string[][] = [];
    for (const subject of equalSubjects) {
      const missing = missingPeer(subject);
      if (missing !== undefined) {
        log(`${subject.name}: ${missing}`);
        continue;
      }
      log(`${set.name}: building ${subject.name}`);
      const started = await startSubject(subject, set, false);
      running.push(started);
      const { buildMs } = await started.ask({ kind: "build" });
      builds.push([subject.name, (buildMs / 1_000).toFixed(1)]);
    }
    const measure = async (server: VectorServer): Promise<string> => {
      log(`${set.name}: building over HTTP`);
      const { builtMs } = await upsertAll(server, set, { digits: "7 decimals" });
      builds.push(["larder over HTTP", (builtMs / 1_000).toFixed(1)]);
      pinRunning(server.process.pid, SERVER_CORE);
      const searched = [
        ...running.map((each) => inProcess(each, size)),
        ...CONNECTIONS.map((connections) => overHttp(server, set, connections)),
      ];
      const truth = new Truth(set, { hitCount: Math.max(...size.topKs), moduli: [1] });
      const tables: string[] = [];
      for (const topK of size.topKs) tables.push(await measureTopK(options, { searched, truth, topK }));
      return [`## ${set.name}, recall of ${RECALL}`, ...tables, table(["building", "seconds"], builds)].join("\n\n");
    };
    return await withServer(place, measure, set.similarity);
  } finally {
    await Promise.all(running.map((each) => each.stop()));
  }
}

async function measureTopK(
  { set, size, log }: EqualOptions,
  { searched, truth, topK }: { searched: readonly Searched[]; truth: Truth; topK: number },
): Promise<string> {
  const found: { readonly each: Searched; readonly effort: number; readonly recall: number; rates: Rate[] }[] = [];
  for (const each of searched) {
    log(`${set.name}, topK ${topK}: effort of ${each.name}`);
    const known = found.find(({ each: { name } }) => isLarder(name));
    // The graphs of larder in the process and over HTTP have the same recall.
    const from = isLarder(each.name) ? known?.effort : undefined;
    found.push({ each, rates: [], ...(await smallestEffort(each, truth, { topK, from })) });
  }
  for (let round = 0; round < size.rounds; round += 1) {
    log(`${set.name}, topK ${topK}: round ${round + 1} of ${size.rounds}`);
    for (const { each, effort, rates } of round % 2 === 0 ? found : found.toReversed())
      rates.push(await each.rate(topK, effort, size.seconds));
  }
  const peer = found.find(({ each }) => each.name === names.hnswlib);
  const rows = found.map(({ each, effort, recall, rates }) => {
    const perSecond: Spread = spreadOf(rates.map((rate) => rate.perSecond));
    const peerRates = peer?.rates ?? [];
    const times = median(peerRates.map((rate, round) => (rates[round]?.perSecond ?? Number.NaN) / rate.perSecond));
    const cpuTimes = median(peerRates.map((rate, round) => rate.cpuUs / (rates[round]?.cpuUs ?? Number.NaN)));
    return [
      each.name,
      String(effort),
      recall.toFixed(4),
      spreadText(perSecond),
      timesText(times),
      figure(median(rates.map((rate) => rate.cpuUs))),
      timesText(cpuTimes),
    ];
  });
  return table([`topK ${topK}`, "effort", "recall", "searches/s", "times hnswlib", "CPU us", "times by CPU"], rows);
}

function timesText(times: number): string {
  return Number.isNaN(times) ? "" : times.toFixed(2);
}

/** The smallest tried effort that reaches RECALL, or the largest one. `from`: an effort that is probably enough. */
async function smallestEffort(
  searched: Searched,
  truth: Truth,
  { topK, from }: { topK: number; from: number | undefined },
): Promise<{ effort: number; recall: number }> {
  const recallOf = async (effort: number): Promise<number> =>
    truth.recallOf(await searched.hits(topK, effort), 1, topK);
  const efforts: number[] = [];
  for (let step = 0; ; step += 1) {
    const effort = Math.round(topK * 2 ** (step / EFFORTS_PER_DOUBLING));
    if (effort > EFFORT_MAX) break;
    if (effort !== efforts.at(-1)) efforts.push(effort);
  }
  let low = 0;
  let high = efforts.length - 1;
  let best = { effort: efforts[high] ?? topK, recall: Number.NaN };
  if (from !== undefined) {
    const recall = await recallOf(from);
    if (recall >= RECALL) return { effort: from, recall };
    low = efforts.indexOf(from) + 1;
  }
  while (low <= high) {
    const middle = (low + high) >> 1;
    const effort = efforts[middle] as number;
    const recall = await recallOf(effort);
    if (recall >= RECALL) {
      best = { effort, recall };
      high = middle - 1;
    } else {
      if (Number.isNaN(best.recall)) best = { ...best, recall };
      low = middle + 1;
    }
  }
  return best;
}

function isLarder(name: string): boolean {
  return name.startsWith(names.larder);
}

function inProcess(running: RunningSubject, { queryCount }: EqualSize): Searched {
  const pointOf = (topK: number, effort: number): Point => ({ topK, effort, modulus: 1 });
  return {
    name: running.subject.name,
    hits: (topK, effort) => running.ask({ kind: "hits", point: pointOf(topK, effort), queryCount }),
    rate: async (topK, effort, seconds) => {
      const point = pointOf(topK, effort);
      await running.ask({ kind: "time", point, seconds: WARM_UP_SECONDS });
      return running.ask({ kind: "time", point, seconds });
    },
  };
}

function overHttp(server: VectorServer, set: DataSet, connections: number): Searched {
  return {
    name: `larder over HTTP, ${connections} at a time`,
    hits: (topK, effort) => hitsOf(server, set, { topK, effort }),
    rate: async (topK, effort, seconds) => {
      const file = writeQueries(set, { topK, effort });
      await rateOverHttp(server, { file, connections, seconds: WARM_UP_SECONDS });
      return rateOverHttp(server, { file, connections, seconds });
    },
  };
}

async function rateOverHttp(
  server: VectorServer,
  { file, connections, seconds }: { file: string; connections: number; seconds: number },
): Promise<Rate> {
  const client = await startClient(file, { port: server.port, connections, isOnce: false });
  const startMs = searchingMs(server);
  client.begin();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  client.stop();
  const { requests, durationMs, failure } = await client.done;
  if (failure !== undefined) throw new Error(`a query failed: ${failure}`);
  return {
    perSecond: (requests * 1_000) / durationMs,
    cpuUs: ((searchingMs(server) - startMs) * 1_000) / requests,
  };
}

/** Processor time of the server so far, without the threads that build graphs, in ms. */
function searchingMs({ process: { cpuMs, pid } }: VectorServer): number {
  return (cpuMs() ?? Number.NaN) - cpuMsOfThreads(pid, BUILDING_THREAD);
}

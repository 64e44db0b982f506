/**
 * Kills the real program while clients write vectors. One namespace is so large
 * that it has a graph, which is built, searched and saved at the same time: a
 * start after a `stop` reads the graph from its file. In half of the lives its rows
 * are on disk, in files of which one may be damaged between two starts.
 */
import { existsSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../../../src/kernel/clock.ts";
import type { Random } from "../../../../src/kernel/random.ts";
import type { RunningProgram } from "../../../program/program-process.ts";
import {
  describeEndings,
  drawEnding,
  type Ending,
  killStarts,
  moment,
  readMetric,
  type Shares,
  SNAPSHOT_STARTED,
  stopCleanly,
} from "../endings.ts";
import { fsyncOf, type KillGround } from "../ground.ts";
import { type Endpoint, post } from "../post.ts";
import { type KillOptions, type KillPort, type RoundEnd, runKillRounds, startKilled } from "../rounds.ts";
import { BASE_COUNT, checkEverything, checkRound, loadBase } from "./checks.ts";
import { Ledger } from "./ledger.ts";
import { jsonOf, signsOf } from "./signs.ts";
import { writeUntilLost } from "./writers.ts";

export interface VectorKillSummary {
  rounds: number;
  readonly roundsByEnding: Map<Ending, number>;
  acknowledged: number;
  /** Starts that found the file of the graph and used it. */
  graphsLoaded: number;
  /** Starts that found row files, and those of them of which one was cut off or removed. */
  rowStarts: number;
  rowDamages: number;
  /** Snapshots that were under way at a kill, or done before it. */
  snapshots: number;
  /** The least share of the best hits that queries found with the graph. */
  recall: number;
  readonly damages: readonly string[];
}

interface Life {
  readonly directory: string;
  readonly ground: KillGround;
  readonly fsync: "always" | "everysec";
  readonly rows: "memory" | "disk";
  readonly ledger: Ledger;
  readonly random: Random;
}

/** Loading enough for a graph takes longer than a round, so a life has many rounds. */
const ROUNDS_OF_A_LIFE = 20;
const SHARES: Shares = [
  ["start-up", 4],
  ["saving", 3],
  ["snapshot", 1],
  ["stop", 2],
];
/** Time that the round under way and the last check of everything still take. */
const END_MS = 3_000;
const CLIENTS = 16;
const WRITE_MS_MIN = 5;
const WRITE_MS_MAX = 1_500;
const START_KILL_MS_MAX = 900;
const SAVING_KILL_MS_MAX = 120;
/** Clients continue to write meanwhile: some hundreds of rows are always missing. */
const PENDING_MAX = 1_200;
const BUILD_MS_MAX = 30_000;
const POLL_MS = 50;
const GRAPH_REFUSED = /a graph file is not used/;
const SNAPSHOT_KILL_MS_MAX = 600;
const FILL_BYTES = 900_000;
const FILL_COUNT = 16;
const FILL_REQUESTS_MAX = 20;
/** One start in so many finds a damaged row file. */
const DAMAGED_ONE_IN = 3;
const TOKEN = "vector-kill-rounds";

export async function runVectorKills(options: KillOptions): Promise<VectorKillSummary> {
  const summary: Omit<VectorKillSummary, "damages"> = {
    ...{ rounds: 0, acknowledged: 0, graphsLoaded: 0, rowStarts: 0, rowDamages: 0, snapshots: 0, recall: 1 },
    roundsByEnding: new Map([["kill", 0], ...SHARES.map(([ending]): [Ending, number] => [ending, 0])]),
  };
  const port: KillPort<Life, string> = {
    name: "vector",
    roundsOfALife: ROUNDS_OF_A_LIFE,
    endMs: END_MS,
    begin({ directory, ground, number, random }) {
      const fsync = fsyncOf(number % 2 === 0 ? "everysec" : "always");
      const rows = random.below(2) === 0 ? "disk" : "memory";
      return { directory, ground, fsync, rows, random, ledger: new Ledger() };
    },
    async start(life) {
      const server = await start(life);
      await loadBase(endpointOf(server), BASE_COUNT);
      return server;
    },
    runRound: (life, server) => runRound(life, server, summary),
    acknowledgedCount: ({ ledger }) => ledger.acknowledgedCount,
    async checkEverything({ ledger, random }, server) {
      const damages: string[] = [];
      const everything = { endpoint: endpointOf(server), ledger, baseCount: BASE_COUNT, random, damages };
      summary.recall = Math.min(summary.recall, await checkEverything(everything));
      summary.acknowledged += ledger.acknowledgedCount;
      return damages;
    },
    close: () => {},
  };
  const { rounds, damages } = await runKillRounds(port, options);
  return { ...summary, rounds, damages };
}

export function describeVectorKills(summary: VectorKillSummary): string {
  const { rounds, roundsByEnding, acknowledged, graphsLoaded, snapshots, recall, damages } = summary;
  const { rowStarts, rowDamages } = summary;
  return [
    ...damages.map((damage) => `WRONG ${damage}`),
    `rounds ${rounds} (${describeEndings(roundsByEnding)}), acknowledged writes ${acknowledged}; graphs read from their file ${graphsLoaded}; starts with row files ${rowStarts}, of which ${rowDamages} with a damaged one; snapshots ${snapshots}; recall by the graph at least ${recall}`,
  ].join("\n");
}

async function runRound(
  life: Life,
  server: RunningProgram,
  summary: Omit<VectorKillSummary, "damages">,
): Promise<RoundEnd<string>> {
  const { ledger, random } = life;
  const ending = drawEnding(random, SHARES);
  const writing = writeUntilLost(endpointOf(server), { ledger, clientCount: CLIENTS, random });
  // A refusal in one client must not go unseen during the wait for the end.
  await Promise.race([writing, momentOfEnd(server, ending, random)]);
  if (SNAPSHOT_STARTED.test(server.log)) summary.snapshots += 1;
  await end(server, ending, random);
  await writing;
  if (ending === "start-up") {
    const env = { LARDER_VECTOR_TOKEN: TOKEN };
    const { ground } = life;
    await killStarts(random, { ground, args: () => flags(life), env, msMax: START_KILL_MS_MAX, isGroup: true });
  }
  const hasGraphFile = filesOf(life, "graph-").length > 0;
  damageRowFile(life, summary);
  const next = await start(life);
  if (hasGraphFile && !GRAPH_REFUSED.test(next.log)) summary.graphsLoaded += 1;
  const damages: string[] = [];
  await checkRound({ endpoint: endpointOf(next), ledger, baseCount: BASE_COUNT, random, damages });
  summary.roundsByEnding.set(ending, (summary.roundsByEnding.get(ending) ?? 0) + 1);
  return { server: next, damages };
}

function start(life: Life): Promise<RunningProgram> {
  return startKilled(life.ground, { args: flags(life), env: { LARDER_VECTOR_TOKEN: TOKEN } });
}

function flags({ directory, fsync, rows, random }: Life): readonly string[] {
  const threads = random.below(2) === 0 ? "one" : "per-area";
  return ["--data-dir", directory, "--fsync", fsync, "--threads", threads, "--vector-rows", rows];
}

function endpointOf(server: RunningProgram): Endpoint {
  return { url: server.environment["UPSTASH_VECTOR_REST_URL"] ?? "", token: TOKEN };
}

function filesOf({ directory }: Life, start: string): readonly string[] {
  const path = join(directory, "vector");
  // A node of a cluster has the files of its shard elsewhere, and no start of it uses derived ones.
  return existsSync(path) ? readdirSync(path).filter((name) => name.startsWith(start)) : [];
}

/** Sometimes cuts off or removes a row file: the next start reads its rows from the journal. */
function damageRowFile(life: Life, summary: Pick<VectorKillSummary, "rowStarts" | "rowDamages">): void {
  const { directory, random } = life;
  const names = filesOf(life, "rows-");
  if (names.length === 0) return;
  summary.rowStarts += 1;
  if (random.below(DAMAGED_ONE_IN) > 0) return;
  summary.rowDamages += 1;
  const path = join(directory, "vector", names[random.below(names.length)] as string);
  if (random.below(2) === 0) rmSync(path);
  else truncateSync(path, random.below(statSync(path).size + 1));
}

async function momentOfEnd(server: RunningProgram, ending: Ending, random: Random): Promise<void> {
  if (ending === "snapshot") {
    await fillUntilSnapshot(server);
    await moment(random.below(SNAPSHOT_KILL_MS_MAX));
  } else {
    if (ending === "saving" || ending === "stop") await untilBuilt(server);
    await moment(WRITE_MS_MIN + random.below(WRITE_MS_MAX - WRITE_MS_MIN));
  }
}

/** Waits until hardly anything is missing in the graph, so that there is something to save. */
async function untilBuilt(server: RunningProgram): Promise<void> {
  const endMs = systemClock.monotonicMs() + BUILD_MS_MAX;
  while ((await readMetric(server, "larder_vector_pending_records")) > PENDING_MAX) {
    if (systemClock.monotonicMs() > endMs) throw new Error(`the graph is not built after ${BUILD_MS_MAX} ms`);
    await moment(POLL_MS);
  }
}

/** Overwrites a few records with much data, so that the journal grows and the index does not. */
async function fillUntilSnapshot(server: RunningProgram): Promise<void> {
  const vector = jsonOf(signsOf(0));
  const data = "x".repeat(FILL_BYTES);
  const records = Array.from({ length: FILL_COUNT }, (_, i) => `{"id":"f-${i}","vector":${vector},"data":"${data}"}`);
  for (let request = 0; !SNAPSHOT_STARTED.test(server.log); request += 1) {
    if (request === FILL_REQUESTS_MAX) throw new Error(`no snapshot after ${request * FILL_COUNT * FILL_BYTES} bytes`);
    await post(endpointOf(server), { path: "/upsert/fill", text: `[${records.join()}]` });
  }
}

async function end(server: RunningProgram, ending: Ending, random: Random): Promise<void> {
  if (ending === "stop") return await stopCleanly(server);
  if (ending === "saving") await Promise.race([server.stop(), moment(random.below(SAVING_KILL_MS_MAX))]);
  if (ending === "snapshot") await server.kill();
  else await server.killGroup();
}

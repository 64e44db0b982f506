/**
 * Kills the real program again and again while clients write vectors, and looks
 * whether it kept its word. One namespace is so large that it has a graph, which
 * is built, searched and saved while all this happens.
 *
 *     kill       SIGKILL 5 to 1,500 ms after the clients started, while the graph may still be built
 *     start-up   the same, and one to three SIGKILLs while the next start is still recovering
 *     saving     SIGTERM, and SIGKILL soon after, while the graph is written
 *     snapshot   SIGKILL while the process of a snapshot runs
 *     stop       SIGTERM under load: ends with code 0, and the next start reads the graph of its file
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../../../src/kernel/random.ts";
import type { Allowance } from "../../../budget.ts";
import { anyPorts, type RunningProgram, spawnProgram, startProgram } from "../../../program/program-process.ts";
import { type Endpoint, post } from "../../post.ts";
import { BASE_COUNT, checkEverything, checkRound, loadBase } from "./checks.ts";
import { Ledger } from "./ledger.ts";
import { jsonOf, signsOf } from "./signs.ts";
import { writeUntilLost } from "./writers.ts";

const endings = ["kill", "start-up", "saving", "snapshot", "stop"] as const;
type Ending = (typeof endings)[number];

export interface VectorKillSummary {
  rounds: number;
  readonly roundsByEnding: Record<Ending, number>;
  acknowledged: number;
  /** Starts that found the file of the graph and used it. */
  graphsLoaded: number;
  /** Snapshots that were under way at a kill, or done before it. */
  snapshots: number;
  /** The least share of the best hits that queries found by way of the graph. */
  recall: number;
  readonly damages: string[];
}

export interface VectorKillOptions {
  readonly allowance: Allowance;
  readonly seed: number;
  readonly print: (line: string) => void;
}

interface Life {
  readonly directory: string;
  readonly fsync: "always" | "everysec";
  readonly ledger: Ledger;
  readonly random: Random;
}

/** Loading what a graph needs takes longer than a round, so a life has many. */
const ROUNDS_OF_A_LIFE = 20;
/** Out of twenty rounds; the rest are plain kills. */
const SHARES: Readonly<Partial<Record<Ending, number>>> = { "start-up": 4, saving: 3, snapshot: 1, stop: 2 };
const SHARES_SUM = 20;
/** What the round that is under way and the last look at everything still take. */
const END_MS = 2_500;
const CLIENTS = 16;
const WRITE_MS_MIN = 5;
const WRITE_MS_MAX = 1_500;
const START_KILL_MS_MAX = 900;
const START_KILLS_MAX = 3;
const SAVING_KILL_MS_MAX = 120;
/** Clients go on writing meanwhile: some hundreds are always on their way. */
const PENDING_MAX = 1_200;
const BUILD_MS_MAX = 30_000;
const POLL_MS = 50;
const GRAPH_REFUSED = /a graph file is not used/;
const SNAPSHOT_STARTED = /snapshot started/;
const SNAPSHOT_KILL_MS_MAX = 600;
const FILL_BYTES = 900_000;
const FILL_COUNT = 16;
const FILL_REQUESTS_MAX = 20;
const TOKEN = "vector-kill-rounds";

export async function runVectorKills({ allowance, seed, print }: VectorKillOptions): Promise<VectorKillSummary> {
  const startMs = systemClock.monotonicMs();
  const summary: VectorKillSummary = {
    ...{ rounds: 0, acknowledged: 0, graphsLoaded: 0, snapshots: 0, recall: 1, damages: [] },
    roundsByEnding: { kill: 0, "start-up": 0, saving: 0, snapshot: 0, stop: 0 },
  };
  const isLeft = (): boolean =>
    "count" in allowance
      ? summary.rounds < allowance.count
      : systemClock.monotonicMs() - startMs < allowance.budgetMs - END_MS || summary.rounds === 0;
  for (let number = 0; isLeft() && summary.damages.length === 0; number += 1) {
    const directory = mkdtempSync(join(tmpdir(), "larder-vectors-"));
    const random = seededRandom(seed * 1_000_003 + number);
    const fsync = number % 2 === 0 ? "everysec" : "always";
    await liveOnce({ directory, fsync, random, ledger: new Ledger() }, summary, isLeft).catch((cause: unknown) => {
      throw new Error(`round ${summary.rounds} of SEED=${seed} failed; data directory kept: ${directory}`, { cause });
    });
    if (summary.damages.length > 0) print(`life ${number} of SEED=${seed}; data directory kept: ${directory}`);
    else rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
  return summary;
}

export function describeVectorKills(summary: VectorKillSummary): string {
  const { rounds, roundsByEnding, acknowledged, graphsLoaded, snapshots, recall, damages } = summary;
  const kinds = Object.entries(roundsByEnding).map(([ending, count]) => `${ending} ${count}`);
  return [
    ...damages.map((damage) => `WRONG ${damage}`),
    `rounds ${rounds} (${kinds.join(", ")}), acknowledged writes ${acknowledged}; graphs read from their file ${graphsLoaded}; snapshots ${snapshots}; recall by the graph at least ${recall}`,
  ].join("\n");
}

async function liveOnce(life: Life, summary: VectorKillSummary, isLeft: () => boolean): Promise<void> {
  const { ledger, random } = life;
  const { damages } = summary;
  let server = await start(life);
  try {
    await loadBase(endpointOf(server), BASE_COUNT);
    for (let round = 0; round < ROUNDS_OF_A_LIFE && (round === 0 || isLeft()) && damages.length === 0; round += 1) {
      const ending = drawEnding(random);
      const writing = writeUntilLost(endpointOf(server), { ledger, clientCount: CLIENTS, random });
      // A refusal in one client must not go unseen while the moment of the end is awaited.
      await Promise.race([writing, momentOfEnd(server, ending, random)]);
      if (SNAPSHOT_STARTED.test(server.log)) summary.snapshots += 1;
      await end(server, ending, random);
      await writing;
      if (ending === "start-up") await killStarts(life);
      const hasGraphFile = graphFilesOf(life).length > 0;
      server = await start(life);
      if (hasGraphFile && !GRAPH_REFUSED.test(server.log)) summary.graphsLoaded += 1;
      await checkRound({ endpoint: endpointOf(server), ledger, baseCount: BASE_COUNT, random, damages });
      summary.rounds += 1;
      summary.roundsByEnding[ending] += 1;
    }
    const everything = { endpoint: endpointOf(server), ledger, baseCount: BASE_COUNT, random, damages };
    summary.recall = Math.min(summary.recall, await checkEverything(everything));
  } finally {
    summary.acknowledged += ledger.acknowledgedCount;
    await server.killGroup();
  }
}

function drawEnding(random: Random): Ending {
  let left = random.below(SHARES_SUM);
  const ending = endings.find((each) => {
    left -= SHARES[each] ?? 0;
    return left < 0;
  });
  return ending ?? "kill";
}

function start(life: Life): Promise<RunningProgram> {
  return startProgram("serve", {
    args: flags(life),
    env: { LARDER_VECTOR_TOKEN: TOKEN },
    hasOwnGroup: true,
  });
}

function flags({ directory, fsync, random }: Life): readonly string[] {
  const threads = random.below(2) === 0 ? "one" : "per-area";
  return ["--data-dir", directory, "--fsync", fsync, "--threads", threads];
}

function endpointOf(server: RunningProgram): Endpoint {
  return { url: server.environment["UPSTASH_VECTOR_REST_URL"] ?? "", token: TOKEN };
}

/** Waiting for a moment is what this is about: no event tells when a machine kills a process. */
function moment(delayMs: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(delayMs, resolve));
}

function graphFilesOf({ directory }: Life): readonly string[] {
  return readdirSync(join(directory, "vector")).filter((name) => name.startsWith("graph-"));
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

/** Waits until hardly anything is missing in the graph: then there is something to save. */
async function untilBuilt(server: RunningProgram): Promise<void> {
  const endMs = systemClock.monotonicMs() + BUILD_MS_MAX;
  while ((await readFigure(server, "pending_records")) > PENDING_MAX) {
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
  if (ending === "stop") {
    const { code, signal } = await server.stop();
    if (code !== 0) throw new Error(`SIGTERM ended with code ${code}, signal ${signal}\n${server.log}`);
    return;
  }
  if (ending === "saving") {
    const stopped = server.stop();
    await Promise.race([stopped, moment(random.below(SAVING_KILL_MS_MAX))]);
  }
  if (ending === "snapshot") await server.kill();
  else await server.killGroup();
}

async function killStarts(life: Life): Promise<void> {
  const { random } = life;
  for (let left = 1 + random.below(START_KILLS_MAX); left > 0; left -= 1) {
    const env = { ...anyPorts, LARDER_VECTOR_TOKEN: TOKEN };
    const starting = spawnProgram(["serve", ...flags(life)], { env, hasOwnGroup: true });
    await moment(random.below(START_KILL_MS_MAX));
    await starting.killGroup();
  }
}

async function readFigure(server: RunningProgram, name: string): Promise<number> {
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`larder_vector_${name}{`));
  if (line === undefined) throw new Error(`the figures say nothing of ${name}`);
  return Number(line.slice(line.lastIndexOf(" ")));
}

/**
 * All three areas of the real program under load at once, for minutes.
 *
 *     npm run soak -- --minutes 60 [--seed 7]
 *
 * The first half is steady: nothing is killed, and every few seconds heap,
 * handles and the data directory are sampled. The second half is rounds: the
 * process and its child processes get SIGKILL, and the checkers of each area's
 * kill rounds look in the next start for everything acknowledged.
 *
 * Bounded means: the last third of the steady half uses no more than the middle
 * third, plus half of it and what a snapshot or a collection explains.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../../../src/kernel/clock.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { type RunningProgram, startProgram } from "../../program/program-process.ts";
import { moment } from "../kill/endings.ts";
import {
  checkMessages,
  drain,
  MESSAGING_TOKEN,
  type MessageKillSummary,
  noMessageKills,
  readRepeated,
  targetOf,
} from "../kill/messaging/kill-loop.ts";
import { Publishers } from "../kill/messaging/publishers.ts";
import { Receiver } from "../kill/messaging/receiver.ts";
import type { Endpoint } from "../kill/post.ts";
import { runTogether, writeUntilLost as writeToStore } from "../kill/store/clients.ts";
import { Ledger as StoreLedger } from "../kill/store/ledger.ts";
import { BASE_COUNT, checkEverything, checkRound, loadBase } from "../kill/vector/checks.ts";
import { Ledger as VectorLedger } from "../kill/vector/ledger.ts";
import { writeUntilLost as writeVectors } from "../kill/vector/writers.ts";
import { excesses, type Sample, takeSample } from "./samples.ts";

export interface SoakOptions {
  readonly durationMs: number;
  readonly seed: number;
  /** Vectors that exist from the beginning; by default enough that their namespace has a graph. */
  readonly baseCount?: number;
  readonly print: (line: string) => void;
}

export interface SoakSummary {
  rounds: number;
  readonly samples: Sample[];
  readonly messages: MessageKillSummary;
  storeAcknowledged: number;
  vectorAcknowledged: number;
  readonly damages: string[];
}

const STEADY_SHARE = 0.5;
const SAMPLES = 30;
const STORE_CLIENTS = 4;
const VECTOR_CLIENTS = 4;
const PUBLISHERS = 4;
/** A round is killed at a moment up to here. */
const ROUND_MS_MAX = 6_000;
const ROUND_MS_MIN = 200;
const VECTOR_TOKEN = "soak";

interface World {
  readonly directory: string;
  readonly baseCount: number;
  readonly random: Random;
  readonly receiver: Receiver;
  readonly publishers: Publishers;
  readonly store: StoreLedger;
  readonly vectors: VectorLedger;
}

/** Rejects if a start fails or a request is refused; losses are in the summary. */
export async function runSoak({ durationMs, seed, baseCount = BASE_COUNT, print }: SoakOptions): Promise<SoakSummary> {
  const directory = mkdtempSync(join(tmpdir(), "larder-soak-"));
  const world: World = {
    directory,
    baseCount,
    random: seededRandom(seed),
    receiver: await Receiver.start(),
    publishers: new Publishers(),
    store: new StoreLedger(STORE_CLIENTS),
    vectors: new VectorLedger(),
  };
  const summary: SoakSummary = {
    rounds: 0,
    samples: [],
    messages: noMessageKills(),
    storeAcknowledged: 0,
    vectorAcknowledged: 0,
    damages: [],
  };
  const startMs = systemClock.monotonicMs();
  const killsMs: number[] = [];
  let server = await start(world);
  try {
    await loadBase(vectorEndpoint(server), baseCount);
    let loadMs = durationMs * STEADY_SHARE;
    do {
      await loadUntilKilled(world, server, { loadMs, samples: summary.rounds === 0 ? summary.samples : undefined });
      killsMs.push(systemClock.nowMs());
      server = await start(world);
      await checkAfterKill(world, server, summary);
      summary.rounds += 1;
      loadMs = ROUND_MS_MIN + world.random.below(ROUND_MS_MAX - ROUND_MS_MIN);
    } while (summary.damages.length === 0 && systemClock.monotonicMs() - startMs < durationMs);
    await checkAtEnd(world, server, { summary, killsMs });
  } catch (cause) {
    throw new Error(`SEED=${seed} failed in round ${summary.rounds}; data directory kept: ${directory}`, { cause });
  } finally {
    await server.killGroup();
    world.receiver.stop();
  }
  if (summary.damages.length > 0) print(`SEED=${seed}; data directory kept: ${directory}`);
  else rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  return summary;
}

export function describeSoak(summary: SoakSummary): string {
  const { rounds, samples, messages, storeAcknowledged, vectorAcknowledged, damages } = summary;
  const last = samples.at(-1);
  const megabytes = (bytes = 0): string => `${Math.round(bytes / 2 ** 20)} MB`;
  return [
    ...damages.map((damage) => `WRONG ${damage}`),
    `kills ${rounds}; acknowledged: store ${storeAcknowledged}, vectors ${vectorAcknowledged}, messages ${messages.acknowledged} (delivered ${messages.delivered}, dead letters ${messages.deadLetters}, cancelled ${messages.cancelled}, delivered twice ${messages.duplicates})`,
    `at the end of the steady half: heap ${megabytes(last?.heapBytes)}, handles ${last?.handles ?? "not counted"}, data directory ${megabytes(last?.directoryBytes)}; ${samples.length} samples`,
  ].join("\n");
}

function start({ directory }: World): Promise<RunningProgram> {
  return startProgram("serve", {
    // Logs are kept for a minute, so that the history has an end that can be checked.
    args: ["--data-dir", directory, "--destinations", "any", "--threads", "per-area", "--log-retention", "1m"],
    env: { LARDER_MESSAGING_TOKEN: MESSAGING_TOKEN, LARDER_VECTOR_TOKEN: VECTOR_TOKEN },
    hasOwnGroup: true,
  });
}

/** Loads all areas for a time, samples the process if requested, and kills it. */
async function loadUntilKilled(
  world: World,
  server: RunningProgram,
  { loadMs, samples }: { loadMs: number; samples: Sample[] | undefined },
): Promise<void> {
  const { store, vectors, random, publishers, receiver, directory } = world;
  const loading = Promise.all([
    ...store.owners.map((client) => writeToStore(client, { endpoint: storeEndpoint(server), ledger: store, random })),
    writeVectors(vectorEndpoint(server), { ledger: vectors, clientCount: VECTOR_CLIENTS, random }),
    publishers.publishUntilLost(targetOf(server, receiver), PUBLISHERS, random),
  ]);
  // A refusal in one client must not go unseen while the time passes.
  const orRefused = (step: Promise<void>): Promise<unknown> => Promise.race([step, loading]);
  for (let taken = 0; samples !== undefined && taken < SAMPLES; taken += 1) {
    await orRefused(moment(loadMs / SAMPLES));
    samples.push(await takeSample(server, directory));
  }
  if (samples === undefined) await orRefused(moment(loadMs));
  await server.killGroup();
  await loading;
  store.closeOpenWrites();
}

async function checkAfterKill(world: World, server: RunningProgram, summary: SoakSummary): Promise<void> {
  const { store, vectors, random, baseCount } = world;
  const { damages } = summary;
  summary.messages.repeated += await readRepeated(server);
  const lost = await store.check((commands) => runTogether(storeEndpoint(server), commands));
  damages.push(...lost.map(({ kind, owner, what }) => `store: ${kind} of ${owner}: ${what}`));
  const endpoint = vectorEndpoint(server);
  await checkRound({ endpoint, ledger: vectors, baseCount, random, damages });
}

async function checkAtEnd(
  world: World,
  server: RunningProgram,
  { summary, killsMs }: { summary: SoakSummary; killsMs: readonly number[] },
): Promise<void> {
  const { damages, messages } = summary;
  const { store, vectors, random, publishers, receiver, baseCount } = world;
  await drain(server);
  const { repeated } = messages;
  messages.repeated = 0;
  await checkMessages({
    target: targetOf(server, receiver),
    receiver,
    publishers,
    killsMs,
    repeated,
    summary: messages,
  });
  damages.push(...messages.damages);
  const everything = { endpoint: vectorEndpoint(server), ledger: vectors, baseCount, random, damages };
  await checkEverything(everything);
  damages.push(...excesses(summary.samples));
  summary.storeAcknowledged = store.ackedCount;
  summary.vectorAcknowledged = vectors.acknowledgedCount;
}

function storeEndpoint(server: RunningProgram): Endpoint {
  return { url: server.storeUrl, token: server.storeToken };
}

function vectorEndpoint(server: RunningProgram): Endpoint {
  return { url: server.environment["UPSTASH_VECTOR_REST_URL"] ?? "", token: VECTOR_TOKEN };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { minutes: { type: "string", default: "5" }, seed: { type: "string" } } });
  const seed = Number(values.seed ?? systemClock.nowMs() % 2 ** 31);
  console.log(`SEED=${seed}, ${values.minutes} minutes`);
  const summary = await runSoak({ durationMs: Number(values.minutes) * 60_000, seed, print: console.log });
  console.log(describeSoak(summary));
  process.exitCode = summary.damages.length > 0 ? 1 : 0;
}

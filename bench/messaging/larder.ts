/**
 * The published larder, on the servers' core, with its history where the
 * measurement requires it: on the same core, on the load's core (its threads are
 * moved there), or absent (without-history.ts).
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  childCpuMsOf,
  cpuMsOfThreads,
  isPinning,
  LOAD_CORE,
  type PinnedProcess,
  startPinned,
  threadsOf,
} from "../harness/pinned-process.ts";
import { hasPostgres, startPostgres } from "../peers/postgres.ts";
import type { Place, RunningSubject, Subject } from "./subjects.ts";

export const SIGNING_KEY = "sig_bench-key-that-nobody-else-knows";
const TOKEN = Buffer.from('{"UserID":"bench","Password":"that-nobody-else-knows"}').toString("base64");
const ADMIN_TOKEN = "bench-admin-token-that-nobody-else-knows";

export type HistoryPlace = "second core" | "same core" | "off";

/** The headers of the publisher, as the official client sends them through fetch. */
export const publishHeaders: readonly (readonly [string, string])[] = [
  ["authorization", `Bearer ${TOKEN}`],
  ["content-type", "application/json"],
  ["accept", "*/*"],
  ["accept-language", "*"],
  ["sec-fetch-mode", "cors"],
  ["user-agent", "node"],
  ["accept-encoding", "gzip, deflate"],
];

export interface LarderServer {
  readonly process: PinnedProcess;
  readonly port: number;
  /** A metric of the messaging area by its name in the metrics. */
  metric(name: string): Promise<number>;
  call(method: string, path: string, body?: string): Promise<string>;
}

export interface StartOptions {
  readonly history: HistoryPlace;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const WITHOUT_HISTORY = pathToFileURL(fileURLToPath(new URL("without-history.ts", import.meta.url))).href;
const POLL_MS = 20;
/** The names of the threads of the history in the system: names are truncated to 15 characters. */
const HISTORY_THREAD = /^history /;

/** Options of Node for the measured program: `BENCH_NODE_OPTIONS="--cpu-prof --cpu-prof-dir=…"` for a profile. */
const nodeOptions = (process.env["BENCH_NODE_OPTIONS"] ?? "").split(" ").filter((option) => option !== "");

/** Starts the program on free ports with this data directory. */
export async function startMessaging(
  program: string,
  directory: string,
  { history, flags = [], env = {} }: StartOptions,
): Promise<LarderServer> {
  const options = [...nodeOptions, ...(history === "off" ? ["--import", WITHOUT_HISTORY] : [])];
  const process_ = await startPinned({
    command: [
      process.execPath,
      ...options,
      program,
      "serve",
      "--data-dir",
      directory,
      "--destinations",
      "any",
      ...flags,
    ],
    env: {
      LARDER_MESSAGING_TOKEN: TOKEN,
      LARDER_ADMIN_TOKEN: ADMIN_TOKEN,
      LARDER_CURRENT_SIGNING_KEY: SIGNING_KEY,
      LARDER_NEXT_SIGNING_KEY: `${SIGNING_KEY}-next`,
      LARDER_STORE_PORT: "0",
      LARDER_VECTOR_PORT: "0",
      LARDER_MESSAGING_PORT: "0",
      LARDER_ADMIN_PORT: "0",
      ...env,
    },
    until: /running at[\s\S]*# admin: /,
  });
  const port = Number(/QSTASH_URL="http:\/\/[^"]*:(\d+)"/.exec(process_.output())?.[1]);
  if (history === "second core") {
    // A new history starts its threads with the first listing, or a little later.
    await answerOf(`http://127.0.0.1:${port}/v2/logs?count=1`, { headers: { authorization: `Bearer ${TOKEN}` } });
    moveHistory(process_.pid);
  }
  const adminAddress = /# admin: (\S+)/.exec(process_.output())?.[1] ?? "";
  return {
    process: process_,
    port,
    metric: async (name) => {
      const page = await answerOf(`${adminAddress}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
      const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(page)?.[1];
      if (value === undefined) throw new Error(`the metric ${name} does not exist`);
      return Number(value);
    },
    call: (method, path, body) =>
      answerOf(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        ...(body !== undefined && { body }),
      }),
  };
}

export function larder(history: HistoryPlace): Subject {
  return {
    name: `larder, history ${history === "off" ? "off" : `on the ${history}`}`,
    missing: undefined,
    publishPath: "/v2/publish/",
    headers: publishHeaders,
    delayHeaders: (seconds) => [["service-delay", `${seconds}s`]],
    start: (place) => start(place, history),
  };
}

async function start({ parent, program }: Place, history: HistoryPlace): Promise<RunningSubject> {
  const directory = mkdtempSync(join(parent, "larder-"));
  const server = await startMessaging(program, directory, { history });
  return {
    port: server.port,
    signingKey: SIGNING_KEY,
    // Time on the other core does not count for the servers' core.
    cpuMs: () =>
      (server.process.cpuMs() ?? Number.NaN) +
      childCpuMsOf(server.process.pid) -
      (history === "second core" && isPinning ? cpuMsOfThreads(server.process.pid, HISTORY_THREAD) : 0),
    residentBytes: () => server.process.residentBytes(),
    stop: async () => {
      await server.process.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Of the areas that are not measured: in a cluster no secret is generated. */
const clusterSecrets: Readonly<Record<string, string>> = {
  LARDER_MESSAGING_READ_ONLY_TOKEN: Buffer.from('{"UserID":"bench","Password":"that-only-readers-know"}').toString(
    "base64",
  ),
  LARDER_STORE_TOKEN: "bench-store-token-that-nobody-else-knows",
  LARDER_STORE_READ_ONLY_TOKEN: "bench-store-token-that-only-readers-know",
  LARDER_VECTOR_TOKEN: "bench-vector-token-that-nobody-else-knows",
  LARDER_VECTOR_READ_ONLY_TOKEN: "bench-vector-token-that-only-readers-know",
};

/** One node of a cluster, whose journal is in a PostgreSQL on the servers' core too. */
export const clusterLarder: Subject = {
  ...larder("same core"),
  name: "larder, one node of a cluster + PostgreSQL",
  missing: hasPostgres ? undefined : "PostgreSQL is not installed",
  start: startClusterNode,
};

async function startClusterNode({ parent, program }: Place): Promise<RunningSubject> {
  const postgres = await startPostgres(parent);
  const directory = mkdtempSync(join(parent, "larder-"));
  const env = { ...clusterSecrets, LARDER_CLUSTER_URL: postgres.connection };
  const initEnv = { ...process.env, ...env };
  execFileSync(process.execPath, [program, "cluster", "init"], {
    env: initEnv,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const server = await startMessaging(program, directory, {
    history: "same core",
    flags: ["--cluster-node", "a"],
    env,
  });
  await untilServed(server);
  return {
    port: server.port,
    signingKey: SIGNING_KEY,
    cpuMs: () => (server.process.cpuMs() ?? Number.NaN) + childCpuMsOf(server.process.pid) + postgres.cpuMs(),
    residentBytes: () => server.process.residentBytes(),
    stop: async () => {
      await server.process.stop();
      await postgres.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A node answers 421 until it has claimed the area. */
async function untilServed({ port }: LarderServer): Promise<void> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  while ((await fetch(`http://127.0.0.1:${port}/v2/keys`, { headers })).status !== 200)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
}

/** Moves the threads of the history to the load's core. */
function moveHistory(pid: number): void {
  if (!isPinning) return;
  const threads = threadsOf(pid, HISTORY_THREAD);
  if (threads.length === 0) throw new Error("the threads of the history have other names now");
  for (const thread of threads) spawnSync("taskset", ["-p", "-c", `${LOAD_CORE}`, thread]);
}

async function answerOf(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 200)}`);
  return text;
}

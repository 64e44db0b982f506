/**
 * The published larder, with one dense index. It has all cores, since it
 * builds graphs on a separate thread; its clients share the last one with it.
 */
import { writeFileSync } from "node:fs";
import type { Similarity } from "../../src/vector/index/definition.ts";
import { type PinnedProcess, startPinned } from "../harness/pinned-process.ts";
import { TOKEN } from "./requests.ts";

export interface Place {
  /** The parent of data directories: on disk. */
  readonly parent: string;
  /** The published program's `bin/larder.cjs`. */
  readonly program: string;
}

export interface VectorServer {
  readonly process: PinnedProcess;
  readonly port: number;
  /** A metric by its name: the largest, if several threads have one. */
  metric(name: string): Promise<number>;
  call<Result>(path: string, body: string): Promise<Result>;
}

const ADMIN_TOKEN = "bench-admin-token-that-nobody-else-knows";
const nodeOptions = (process.env["BENCH_NODE_OPTIONS"] ?? "").split(" ").filter((option) => option !== "");

export async function startServer(
  program: string,
  directory: string,
  {
    similarity = "COSINE",
    settings = [],
    group,
    startMsMax,
  }: {
    similarity?: Similarity;
    settings?: readonly string[];
    /** The directory of a cgroup (version 1) in which the server runs. */
    group?: string;
    startMsMax?: number;
  } = {},
): Promise<VectorServer> {
  const configuration = `${directory}.json`;
  const index = { name: "main", type: "DENSE", similarity, token: TOKEN };
  writeFileSync(configuration, JSON.stringify({ vector: { indexes: [index] } }));
  const flags = [
    "--config",
    configuration,
    "--data-dir",
    directory,
    "--fsync",
    "everysec",
    "--snapshots",
    "off",
    ...settings,
  ];
  const server = await startPinned({
    command: [
      ...(group === undefined ? [] : inGroup(group)),
      process.execPath,
      ...nodeOptions,
      program,
      "serve",
      ...flags,
    ],
    core: "any",
    ...(startMsMax !== undefined && { startMsMax }),
    env: {
      LARDER_ADMIN_TOKEN: ADMIN_TOKEN,
      LARDER_STORE_PORT: "0",
      LARDER_VECTOR_PORT: "0",
      LARDER_MESSAGING_PORT: "0",
      LARDER_ADMIN_PORT: "0",
    },
    until: /running at[\s\S]*# admin: /,
  });
  const port = Number(/UPSTASH_VECTOR_REST_URL="http:\/\/[^"]*:(\d+)"/.exec(server.output())?.[1]);
  const adminAddress = /# admin: (\S+)/.exec(server.output())?.[1] ?? "";
  return {
    process: server,
    port,
    metric: async (name) => {
      const page = await answerOf(`${adminAddress}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
      const values = [...page.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))].map((match) => match[1]);
      if (values.length === 0) throw new Error(`the metric ${name} does not exist`);
      return Math.max(...values.map(Number));
    },
    call: async (path, body) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const text = await answerOf(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body });
      return (JSON.parse(text) as { result: never }).result;
    },
  };
}

/** The event loop's p99 since the last call, in ms. */
export async function loopDelayMs(server: VectorServer): Promise<number> {
  return (await server.metric("larder_event_loop_delay_p99_seconds")) * 1_000;
}

/** The prefix of a command that runs it in the cgroup. */
function inGroup(group: string): readonly string[] {
  return ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group];
}

async function answerOf(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 200)}`);
  return text;
}

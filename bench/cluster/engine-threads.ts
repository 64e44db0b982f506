/**
 * Two shards of each area in one thread of a node and in two (`--engine-threads`).
 * The work is inside the process: scripts of 2,000 GETs, and requests with 50
 * queries each of an index, so that HTTP and its client take little. A GET over
 * HTTP is almost only HTTP, which one thread reads: it shows the cost of the
 * way to another thread. 8 callers send one request after the other, in turn for a
 * tenant of each shard, so that both shards have the same work.
 *
 * Read the ratio of two threads to one in each round. It needs two idle cores
 * beside PostgreSQL, which has nothing to do meanwhile. The second table needs none:
 * it counts units per second of processor time of the busiest thread of the area,
 * which is the limit of the rate on a machine with enough cores.
 */
import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { cpuMsByThread, type PinnedProcess, startPinned } from "../harness/pinned-process.ts";
import { type Spread, spreadOf } from "../harness/statistics.ts";
import { figure, spreadText, table } from "../harness/table.ts";

export interface EngineThreadsOptions {
  /** Of the cluster, which has two shards of each area. */
  readonly url: string;
  readonly program: string;
  /** For the data directory and the configuration. */
  readonly parent: string;
  /** Secrets that a node needs, as variables. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly seconds: number;
}

/** `main` is on the first shard, `red` on the second, and `tan` on the first. */
const TENANTS = ["red", "tan"] as const;
const CALLERS = 8;
const GETS_OF_A_SCRIPT = 2_000;
const SCRIPT = "local n = 0 for i = 1, tonumber(ARGV[1]) do n = n + #redis.call('GET', KEYS[1]) end return n";
const RECORDS = 5_000;
const RECORDS_OF_A_REQUEST = 500;
const DIMENSION = 128;
const QUERIES_OF_A_REQUEST = 50;
const SETTLE_MS = 500;
const GOAL = 1.7;

type Area = "store" | "vector";

interface Node {
  readonly process: PinnedProcess;
  readonly ports: Readonly<Record<Area | "admin", number>>;
}

interface Work {
  readonly name: string;
  readonly unit: string;
  readonly area: Area;
  readonly path: string;
  readonly body: string;
  /** Units of a request. */
  readonly count: number;
  /** Of two threads to one; undefined: only shown. */
  readonly goal: number | undefined;
}

const WORK: readonly Work[] = [
  {
    ...{ name: `scripts of ${GETS_OF_A_SCRIPT} GETs`, unit: "GETs", area: "store", path: "/", goal: GOAL },
    body: JSON.stringify(["EVAL", SCRIPT, "1", "key", String(GETS_OF_A_SCRIPT)]),
    count: GETS_OF_A_SCRIPT,
  },
  {
    ...{ name: `${QUERIES_OF_A_REQUEST} queries in a request`, unit: "queries", area: "vector", path: "/query" },
    body: JSON.stringify(Array.from({ length: QUERIES_OF_A_REQUEST }, (_, i) => ({ vector: vectorOf(i), topK: 10 }))),
    count: QUERIES_OF_A_REQUEST,
    goal: GOAL,
  },
  {
    ...{ name: "GET over HTTP", unit: "GETs", area: "store", path: "/", count: 1, goal: undefined },
    body: JSON.stringify(["GET", "key"]),
  },
];

interface Rates {
  readonly perSecond: number;
  /** Per second of processor time of the busiest thread of the area. */
  readonly perBusySecond: number;
}

/** Of each round, with one thread and with two. */
type Rounds = readonly [one: Rates[], two: Rates[]];

export async function measureEngineThreads(options: EngineThreadsOptions): Promise<string> {
  const rounds = WORK.map((): Rounds => [[], []]);
  const first = await startNode(options, 1);
  await fill(first);
  await first.process.stop();
  for (let round = 0; round < options.rounds; round += 1)
    for (const threads of round % 2 === 0 ? ([1, 2] as const) : ([2, 1] as const)) {
      const node = await startNode(options, threads);
      await settled(node);
      for (const [i, work] of WORK.entries()) rounds[i]?.[threads - 1]?.push(await rateOf(node, work, options.seconds));
      await node.process.stop();
    }
  const tableOf = (head: string, read: (rates: Rates) => number): string => {
    const rows = WORK.map((work, i) => rowOf(work, rounds[i] ?? [[], []], read));
    return table([head, "1 thread", "2 threads", "ratio", "goal"], rows);
  };
  const wall = tableOf("2 shards, per second", ({ perSecond }) => perSecond);
  const busy = tableOf("2 shards, per second of the busiest thread", ({ perBusySecond }) => perBusySecond);
  return `${wall}\n\n${busy}`;
}

function rowOf({ name, unit, goal }: Work, [one, two]: Rounds, read: (rates: Rates) => number): readonly string[] {
  const [before, after] = [one.map(read), two.map(read)];
  const ratio = spreadOf(after.map((rate, round) => rate / (before[round] ?? Number.NaN)));
  const isMet = goal === undefined || ratio.median >= goal ? "" : ", NOT MET";
  const wanted = goal === undefined ? "" : `at least ${goal}${isMet}`;
  return [`${name}, ${unit}`, spreadText(spreadOf(before)), spreadText(spreadOf(after)), ratioText(ratio), wanted];
}

function ratioText({ median, min, max }: Spread): string {
  return `${median.toFixed(2)} [${min.toFixed(2)} to ${max.toFixed(2)}]`;
}

/** Numbers from -1 to 1 that differ for each record and repeat in each run. */
function vectorOf(record: number): readonly number[] {
  return Array.from({ length: DIMENSION }, (_, i) => Number(Math.sin(record * 12.9898 + i * 78.233).toFixed(4)));
}

const tokenOf = (area: Area, name: string): string => `${area}-of-${name}-that-nobody-else-knows`;

async function startNode(options: EngineThreadsOptions, threads: number): Promise<Node> {
  const { program, parent, url, secrets } = options;
  const config = join(parent, "engine-threads.json");
  const tenantsOf = (area: Area): readonly object[] =>
    TENANTS.map((name) => ({ name, token: tokenOf(area, name), readOnlyToken: `reader-${tokenOf(area, name)}` }));
  const configuration = {
    store: { databases: [{ name: "main" }, ...tenantsOf("store")] },
    vector: { indexes: [{ name: "main" }, ...tenantsOf("vector")] },
  };
  writeFileSync(config, JSON.stringify(configuration), { mode: 0o600 });
  const running = await startPinned({
    command: [
      ...[process.execPath, program, "serve", "--data-dir", join(parent, "threads"), "--cluster-node", "threads"],
      ...["--config", config, "--engine-threads", String(threads), "--vector-threads", "1", "--log-format", "json"],
    ],
    core: "any",
    env: {
      ...secrets,
      ...{ LARDER_CLUSTER_URL: url, LARDER_STORE_PORT: "0", LARDER_VECTOR_PORT: "0" },
      ...{ LARDER_MESSAGING_PORT: "0", LARDER_ADMIN_PORT: "0" },
    },
    until: /"area is served"(?:[\s\S]*"area is served"){5}/,
  });
  const portOf = (pattern: RegExp): number => Number(pattern.exec(running.output())?.[1]);
  return {
    process: running,
    ports: {
      store: portOf(/UPSTASH_REDIS_REST_URL="http:\/\/[^"]*:(\d+)"/),
      vector: portOf(/UPSTASH_VECTOR_REST_URL="http:\/\/[^"]*:(\d+)"/),
      admin: portOf(/admin\D+http:\/\/[^\s"]*:(\d+)/i),
    },
  };
}

interface Call {
  readonly port: number;
  readonly path: string;
  readonly token: string;
  readonly body: string;
}

/** Rejects if the answer is not 200. */
function call(agent: Agent, { port, path, token, body }: Call): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const sending = request({ host: "127.0.0.1", port, path, method: "POST", headers, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`${path} was answered with ${response.statusCode}: ${text}`));
      });
      response.on("error", reject);
    });
    sending.on("error", reject);
    sending.end(body);
  });
}

async function fill({ ports }: Node): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (const name of TENANTS) {
    const set = JSON.stringify(["SET", "key", "v".repeat(100)]);
    await call(agent, { port: ports.store, path: "/", token: tokenOf("store", name), body: set });
    for (let from = 0; from < RECORDS; from += RECORDS_OF_A_REQUEST) {
      const records = Array.from({ length: RECORDS_OF_A_REQUEST }, (_, i) => ({
        id: String(from + i),
        vector: vectorOf(from + i),
      }));
      const body = JSON.stringify(records);
      await call(agent, { port: ports.vector, path: "/upsert", token: tokenOf("vector", name), body });
    }
  }
  agent.destroy();
}

/** Resolves when all records are in their graphs, which are built in the background. */
async function settled({ ports }: Node): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`http://127.0.0.1:${ports.admin}/metrics`)).text();
    const pending = [...metrics.matchAll(/^larder_vector_pending_records\{[^}]*\} (\d+)$/gm)];
    if (pending.every(([, count]) => count === "0")) return;
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
}

async function rateOf({ ports, process: { pid } }: Node, work: Work, seconds: number): Promise<Rates> {
  const { area, path, body, count } = work;
  const agent = new Agent({ keepAlive: true });
  const threads = new RegExp(`^${area}(?:-\\d+)?$`, "m");
  const run = async (forMs: number): Promise<Rates> => {
    const startMs = performance.now();
    const cpuMs = cpuMsByThread(pid, threads);
    let requests = 0;
    const caller = async (): Promise<void> => {
      while (performance.now() - startMs < forMs) {
        const name = TENANTS[requests % TENANTS.length] ?? "";
        requests += 1;
        await call(agent, { port: ports[area], path, token: tokenOf(area, name), body });
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    const wallMs = performance.now() - startMs;
    const busyMs = [...cpuMsByThread(pid, threads)].map(([thread, ms]) => ms - (cpuMs.get(thread) ?? 0));
    const units = requests * count * 1_000;
    return { perSecond: units / wallMs, perBusySecond: units / Math.max(...busyMs) };
  };
  await run(1_000);
  const rates = await run(seconds * 1_000);
  agent.destroy();
  console.error(`${work.name}: ${figure(rates.perSecond)} ${work.unit}/s`);
  return rates;
}

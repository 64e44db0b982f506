/**
 * Question: what does a node of a cluster cost beside a single server and beside
 * bare statements, and how long is a shard without an owner?
 *
 * Method: the published `dist/` (npm run build first) and PostgreSQL with its
 * defaults, all on this machine. `SET` sends one command at a time over HTTP to a node, and in turn one
 * append of a row through `pg` on a connection of its own, the statement that the node uses. `GET` waits for no
 * commit, so it shows what HTTP and its client take of a SET here.
 * `takeover` kills the node that owns 100,000 keys, and asks another one, which waits, until it answers;
 * `restart in place` starts the same node again at once. Rounds; medians [min to max].
 * `threads` compares two shards in one thread and in two (cluster/engine-threads.ts), on another database of PostgreSQL.
 * `growth` compares the costs of an operation when one of four nodes has load and when all have (cluster/growth.ts), and
 * `hops` those through another node and at the owner (cluster/hops.ts); `fronts` says how far a database grows with fronts (cluster/fronts.ts).
 * The rate of publishes is measured by `npm run bench -- messaging --only cluster`.
 *
 * Run: npm run build && npm run bench -- cluster-nodes [--rounds 5] [--seconds 5] [--keys 100000] [--part nodes|threads|growth|hops|fronts [--subject RESP]]
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { measureEngineThreads } from "./cluster/engine-threads.ts";
import { measureFronts } from "./cluster/fronts.ts";
import { measureGrowth } from "./cluster/growth.ts";
import { measureHops } from "./cluster/hops.ts";
import { createShard, deleteForm } from "./cluster/log-forms.ts";
import { quantile } from "./cluster/log-load.ts";
import { machineFacts } from "./harness/machine.ts";
import { type PinnedProcess, startPinned } from "./harness/pinned-process.ts";
import { spreadOf } from "./harness/statistics.ts";
import { spreadText, table } from "./harness/table.ts";
import { hasPostgres, type PostgresPeer, startPostgres } from "./peers/postgres.ts";
import { publishedProgram } from "./store/subjects.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "5" },
    keys: { type: "string", default: "100000" },
    part: { type: "string" },
    subject: { type: "string" },
  },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const keys = Number(options.keys);

const TOKEN = "bench-token-that-nobody-else-knows";
const ROW_BYTES = 200;
const KEYS_OF_A_REQUEST = 1_000;
const GOAL_FACTOR = 1.15;
const GOAL_MS = 0.3;

/** What a node needs: in a cluster no secret is generated. */
const secrets = {
  LARDER_STORE_TOKEN: TOKEN,
  LARDER_STORE_READ_ONLY_TOKEN: `reader-${TOKEN}`,
  LARDER_VECTOR_TOKEN: TOKEN,
  LARDER_VECTOR_READ_ONLY_TOKEN: `reader-${TOKEN}`,
  LARDER_MESSAGING_TOKEN: messagingToken("that-nobody-else-knows"),
  LARDER_MESSAGING_READ_ONLY_TOKEN: messagingToken("that-only-readers-know"),
  LARDER_ADMIN_TOKEN: "bench-admin-token-that-nobody-else-knows",
  LARDER_CURRENT_SIGNING_KEY: "sig_bench-key-that-nobody-else-knows",
  LARDER_NEXT_SIGNING_KEY: "sig_bench-key-that-nobody-else-knows-next",
} as const satisfies Readonly<Record<string, string>>;

function messagingToken(password: string): string {
  return Buffer.from(JSON.stringify({ UserID: "bench", Password: password })).toString("base64");
}

interface Node {
  readonly process: PinnedProcess;
  readonly port: number;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

async function startNode(name: string, url: string): Promise<Node> {
  const process_ = await startPinned({
    command: [
      ...[process.execPath, program, "serve", "--data-dir", join(parent, name), "--cluster-node", name],
      ...["--threads", "one"],
    ],
    core: "any",
    env: {
      ...secrets,
      ...{ LARDER_CLUSTER_URL: url, LARDER_STORE_PORT: "0", LARDER_VECTOR_PORT: "0" },
      ...{ LARDER_MESSAGING_PORT: "0", LARDER_ADMIN_PORT: "0" },
    },
    until: /running at[\s\S]*UPSTASH_REDIS_REST_URL="[^"]+"/,
  });
  return {
    process: process_,
    port: Number(/UPSTASH_REDIS_REST_URL="http:\/\/[^"]*:(\d+)"/.exec(process_.output())?.[1]),
  };
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Undefined if nobody answers. */
function ask({ port }: Node, path: string, body: unknown): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const sending = request({ host: "127.0.0.1", port, path, method: "POST", headers, agent }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", () => resolve(undefined));
    });
    sending.on("error", () => resolve(undefined));
    sending.end(JSON.stringify(body));
  });
}

/** The time until a node carries a command out, in ms. */
async function untilServed(node: Node, command: readonly string[]): Promise<number> {
  const startMs = performance.now();
  while ((await ask(node, "/", command))?.status !== 200) await new Promise((resolve) => setTimeout(resolve, 5));
  return performance.now() - startMs;
}

/** The times of one command after another, in ms, ascending. */
async function timesOf(run: (number: number) => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  for (let number = 0; performance.now() < endMs; number += 1) {
    const beganMs = performance.now();
    await run(number);
    times.push(performance.now() - beganMs);
  }
  return times.sort((a, b) => a - b);
}

async function measureSets(postgres: PostgresPeer, node: Node): Promise<string> {
  const client = new Client({ connectionString: postgres.connection.replace("/postgres", "/bare") });
  await client.connect();
  await createShard(client);
  const form = deleteForm(client);
  await form.create();
  const row = Buffer.alloc(ROW_BYTES, "larder ");
  let start = 0;
  const subjects = [
    {
      name: `append of ${ROW_BYTES} bytes through pg`,
      run: async () => {
        await form.append({ segment: 1, start, before: Math.max(0, start - ROW_BYTES), bytes: row });
        start += ROW_BYTES;
      },
    },
    {
      name: "SET over HTTP to a node",
      run: async (number: number) => {
        const answer = await ask(node, "/", ["SET", `key:${number % 10_000}`, "v".repeat(100)]);
        if (answer?.status !== 200) throw new Error(`a SET was answered with ${answer?.status}: ${answer?.text}`);
      },
    },
    {
      name: "GET over HTTP of a node",
      run: async (number: number) => {
        const answer = await ask(node, "/", ["GET", `key:${number % 10_000}`]);
        if (answer?.status !== 200) throw new Error(`a GET was answered with ${answer?.status}: ${answer?.text}`);
      },
    },
  ];
  const p50 = subjects.map((): number[] => []);
  const p99 = subjects.map((): number[] => []);
  for (const { run } of subjects) await timesOf(run);
  for (let round = 0; round < rounds; round += 1)
    for (const i of round % 2 === 0 ? [0, 1, 2] : [2, 1, 0]) {
      const times = await timesOf((subjects[i] as (typeof subjects)[number]).run);
      p50[i]?.push(quantile(times, 0.5));
      p99[i]?.push(quantile(times, 0.99));
    }
  await client.end();
  const [bare = Number.NaN, ours = Number.NaN] = p50.map((each) => spreadOf(each).median);
  const limit = bare * GOAL_FACTOR + GOAL_MS;
  const rows = subjects.map(({ name }, i) => [
    name,
    spreadText(spreadOf(p50[i] ?? [])),
    spreadText(spreadOf(p99[i] ?? [])),
  ]);
  const goal = `p50 at most ${GOAL_FACTOR} x the append + ${GOAL_MS} ms = ${limit.toFixed(2)} ms: ${ours <= limit ? "yes" : "NO"}`;
  return `${table(["one at a time", "p50 ms", "p99 ms"], rows)}\n\n${goal}`;
}

async function fill(node: Node): Promise<void> {
  for (let first = 0; first < keys; first += KEYS_OF_A_REQUEST) {
    const commands = Array.from({ length: KEYS_OF_A_REQUEST }, (_, i) => [
      "SET",
      `user:${first + i}`,
      `value:${first + i}`,
    ]);
    const answer = await ask(node, "/pipeline", commands);
    if (answer?.status !== 200) throw new Error(`a pipeline was answered with ${answer?.status}`);
  }
}

async function kill({ process: { pid } }: Node): Promise<void> {
  process.kill(pid, "SIGKILL");
}

async function measureTakeovers(url: string, first: Node): Promise<string> {
  const takeovers: number[] = [];
  const restarts: number[] = [];
  await fill(first);
  let owner = first;
  let ownerName = "a";
  for (let round = 0; round < rounds; round += 1) {
    const otherName = ownerName === "a" ? "b" : "a";
    const other = await startNode(otherName, url);
    await kill(owner);
    takeovers.push(await untilServed(other, ["GET", "user:7"]));
    const startMs = performance.now();
    await kill(other);
    const again = await startNode(otherName, url);
    await untilServed(again, ["GET", "user:7"]);
    restarts.push(performance.now() - startMs);
    owner = again;
    ownerName = otherName;
  }
  await kill(owner);
  const rows = [
    ["takeover by a node that waits", spreadText(spreadOf(takeovers)), "8,500 at worst"],
    ["restart in place", spreadText(spreadOf(restarts)), "2,000"],
  ];
  return table([`after kill -9 with ${keys} keys`, "ms until the first answer", "goal"], rows);
}

/** Makes a database with a cluster. Returns its URL. */
async function newCluster(database: string, words: readonly string[]): Promise<string> {
  await createDatabase(database);
  const url = postgres.connection.replace("/postgres", `/${database}`);
  const env = { ...process.env, LARDER_CLUSTER_URL: url };
  execFileSync(process.execPath, [program, "cluster", "init", ...words], {
    env,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return url;
}

async function createDatabase(name: string): Promise<void> {
  const client = new Client({ connectionString: postgres.connection });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
}

async function measureNodes(): Promise<void> {
  await createDatabase("bare");
  const url = await newCluster("nodes", []);
  const node = await startNode("a", url);
  await untilServed(node, ["PING"]);
  console.log(`\n${await measureSets(postgres, node)}`);
  console.log(`\n${await measureTakeovers(url, node)}`);
}

if (!hasPostgres) {
  console.error("PostgreSQL is not installed (apt-get install postgresql, or its name on your system)");
  process.exit(1);
}
const parent = mkdtempSync(join(tmpdir(), "larder-cluster-nodes-"));
// PostgreSQL runs as another user than root.
chmodSync(parent, 0o755);
const program = publishedProgram(parent);
const postgres = await startPostgres(parent);
try {
  for (const fact of machineFacts(new Date())) console.log(`- ${fact}`);
  const subject = options.subject === undefined ? {} : { subject: options.subject };
  const isWanted = (part: string): boolean => options.part === undefined || options.part === part;
  if (isWanted("nodes")) await measureNodes();
  if (isWanted("threads")) {
    const url = await newCluster("threads", ["--shards", "2"]);
    console.log(`\n${await measureEngineThreads({ url, program, parent, secrets, rounds, seconds })}`);
  }
  if (isWanted("growth")) {
    const url = await newCluster("growth", ["--shards", "5"]);
    console.log(`\n${await measureGrowth({ url, program, parent, secrets, rounds, seconds, postgres })}`);
  }
  if (isWanted("hops")) {
    const url = await newCluster("hops", []);
    console.log(`\n${await measureHops({ url, program, parent, secrets, rounds, seconds, ...subject }, TOKEN)}`);
  }
  if (isWanted("fronts")) {
    const url = await newCluster("fronts", []);
    const tokens = { store: TOKEN, messaging: secrets.LARDER_MESSAGING_TOKEN };
    console.log(`\n${await measureFronts({ url, program, parent, secrets, rounds, seconds, ...subject, tokens })}`);
  }
} finally {
  await postgres.stop();
  rmSync(parent, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * Question: how fast does `larder import` copy a running redis-server, and what does a
 * key cost?
 *
 * Method: a redis-server with short strings, strings of a kilobyte, and hashes of
 * ten fields, all with random contents and a tenth of them with an expiry. In turn,
 * so that both meet the same machine: `larder import` into a new data directory,
 * which has its own server in the same process, and a client of redis-server that
 * copies into a second redis-server as people do it by hand, with ioredis: SCAN, and
 * for each page DUMP and PEXPIRETIME in one pipeline and RESTORE in another. That
 * client compares nothing; larder reads each key again and compares it. Neither is
 * pinned: both have all cores, with redis-server beside them.
 *
 * Read: keys a second by the wall clock, with the start and the end of the program, and
 * without them, which are the time for an empty database; processor time for each key,
 * of the copying process (larder's has its server in it) and of all processes; medians.
 *
 * Run: npm run build && npm run bench -- import [--quick]     (--quick: few keys, one round; writes no results)
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { seededRandom } from "../src/kernel/random.ts";
import { isInstalled, machineFacts } from "./harness/machine.ts";
import type { PinnedProcess } from "./harness/pinned-process.ts";
import { writePart } from "./harness/results-page.ts";
import { median } from "./harness/statistics.ts";
import { figure, table } from "./harness/table.ts";
import { startRedis } from "./peers/redis.ts";
import { publishedProgram } from "./store/subjects.ts";

const { values: options } = parseArgs({ options: { quick: { type: "boolean" } } });
const isQuick = options.quick === true;
const ROUNDS = isQuick ? 1 : 5;
const FILL_BATCH = 1_000;
/** The other database of the source. */
const EMPTY = 1;
const EXPIRES_MS = 3_600_000;
/** Of /proc/self/stat. */
const TICK_MS = 10;

const byHand = fileURLToPath(new URL("./peers/copy-by-hand.ts", import.meta.url));

const random = seededRandom(1);
const text = (length: number): string =>
  Array.from({ length }, () => String.fromCharCode(33 + random.below(90))).join("");
/** Random texts that repeat, since drawing each one would take most of the time. */
const texts = Array.from({ length: 1_000 }, () => text(1_024));
const drawn = (length: number): string => `${random.below(1e9)}${texts[random.below(texts.length)]}`.slice(0, length);

interface Data {
  readonly name: string;
  readonly keys: number;
  readonly command: (key: string) => readonly string[];
}

const datasets: readonly Data[] = [
  { name: "strings of 100 bytes", keys: 500_000, command: (key) => ["SET", key, drawn(100)] },
  { name: "strings of 1 KB", keys: 200_000, command: (key) => ["SET", key, drawn(1_024)] },
  {
    name: "hashes of 10 fields",
    keys: 200_000,
    command: (key) => ["HSET", key, ...Array.from({ length: 10 }, (_, field) => [`field${field}`, drawn(12)]).flat()],
  },
];

interface Run {
  readonly seconds: number;
  /** Of the copying process. */
  readonly ownMs: number;
  /** Of all processes. */
  readonly allMs: number;
}

async function fill(port: number, data: Data): Promise<void> {
  const client = new Redis(port, "127.0.0.1");
  await client.flushall();
  for (let first = 0; first < data.keys; first += FILL_BATCH) {
    const batch = client.pipeline();
    for (let index = first; index < Math.min(first + FILL_BATCH, data.keys); index += 1) {
      const [name = "", ...words] = data.command(`key:${index}`);
      batch.call(name, ...words);
      if (index % 10 === 0) batch.call("PEXPIRE", `key:${index}`, `${EXPIRES_MS + index}`);
    }
    await batch.exec();
  }
  await client.quit();
}

/** Processor time of the children that have ended. */
function childrenMs(): number {
  const fields = readFileSync("/proc/self/stat", "latin1")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS;
}

/** Runs a copy to its end. @param servers the others whose time counts */
async function measure(command: readonly string[], servers: readonly PinnedProcess[]): Promise<Run> {
  const serversMs = (): number => servers.reduce((sum, server) => sum + (server.cpuMs() ?? Number.NaN), 0);
  const [own, others, start] = [childrenMs(), serversMs(), performance.now()];
  const child = spawn(process.execPath, command, { stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${String(code)}\n${errors}`);
  const ownMs = childrenMs() - own;
  return { seconds: (performance.now() - start) / 1_000, ownMs, allMs: ownMs + serversMs() - others };
}

const parent = mkdtempSync(join(tmpdir(), "larder-import-"));
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
const program = publishedProgram(parent);

async function measureLarder(source: { port: number; process: PinnedProcess }, database = 0): Promise<Run> {
  const directory = mkdtempSync(join(parent, "data-"));
  try {
    const address = `redis://127.0.0.1:${source.port}/${database}`;
    return await measure([program, "import", address, "--data-dir", directory], [source.process]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureByHand(source: { port: number; process: PinnedProcess }, database = 0): Promise<Run> {
  const target = await startRedis(parent, "everysec", "any");
  try {
    return await measure([byHand, `${source.port}`, `${target.port}`, `${database}`], [source.process, target.process]);
  } finally {
    await target.stop();
  }
}

interface Runs {
  readonly runs: Run[];
  readonly empty: Run[];
}

/** `empty`: runs without keys. */
function row(name: string, keys: number, { runs, empty }: Runs): readonly string[] {
  const middle = (of: (run: Run) => number): number => median(runs.map(of));
  const emptySeconds = median(empty.map(({ seconds }) => seconds));
  const perKey = (ms: number): string => figure((ms * 1_000) / keys);
  return [
    name,
    figure(keys / middle((run) => run.seconds)),
    figure(keys / (middle((run) => run.seconds) - emptySeconds)),
    perKey(middle((run) => run.ownMs)),
    perKey(middle((run) => run.allMs)),
  ];
}

async function main(): Promise<void> {
  if (!isInstalled("redis-server")) throw new Error("redis-server is not installed");
  const rows: (readonly string[])[] = [];
  const source = await startRedis(parent, "everysec", "any");
  for (const each of datasets) {
    const data = isQuick ? { ...each, keys: 20_000 } : each;
    await fill(source.port, data);
    const [larder, hand]: [Runs, Runs] = [
      { runs: [], empty: [] },
      { runs: [], empty: [] },
    ];
    for (let round = 1; round <= ROUNDS; round += 1) {
      larder.runs.push(await measureLarder(source));
      hand.runs.push(await measureByHand(source));
      larder.empty.push(await measureLarder(source, EMPTY));
      hand.empty.push(await measureByHand(source, EMPTY));
      console.error(`${data.name}, round ${round} of ${ROUNDS}`);
    }
    rows.push(row(`${data.name}: larder`, data.keys, larder), row(`${data.name}: by hand`, data.keys, hand));
  }
  await source.stop();
  const report = [
    "# Import (`bench/import.bench.ts`)",
    "",
    ...machineFacts(new Date()).map((fact) => `- ${fact}`),
    `- ${datasets.map(({ name, keys }) => `${figure(keys)} ${name}`).join(", ")}; a tenth of the keys expires; medians of ${ROUNDS} rounds`,
    "",
    table(["", "keys/s", "keys/s, without start and end", "µs of the copying process", "µs of all processes"], rows),
    "",
  ].join("\n");
  console.log(report);
  if (!isQuick) writePart(report);
}

await main();

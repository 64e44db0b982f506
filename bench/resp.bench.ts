/**
 * Question: how many commands does the store answer over RESP on one core,
 * compared with redis-server?
 *
 * Method: the published `dist/` (npm run build first) and redis-server,
 * both with data on disk that is synced once a second, and for SET and GET the
 * least that a server in JavaScript can do (`peers/bare-resp.ts`), all started and
 * pinned to core 0; redis-benchmark with 50 connections on core 1 measures one after
 * the other, in an order that alternates from round to round. Values of 3 bytes
 * under 10,000 keys; one request in flight for each connection (`-P 1`), and
 * sixteen (`-P 16`). Five rounds of 2 s; medians [min to max].
 *
 * Read: `of redis-server` is the ratio of the medians, and `bare` that of the bare
 * server to redis-server. With `-P 1` all spend their time in the system, and
 * redis-benchmark is often the limit. Goals: 0.8 with `-P 1`, and with `-P 16` 1.0
 * for SET and 0.8 for GET. A missed goal is marked NO.
 *
 * Run: npm run build && npm run bench -- resp [--quick]
 *      --quick: one round of 1 s; writes no results
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { freePort } from "../test/harness/free-port.ts";
import { machineFacts } from "./harness/machine.ts";
import { startPinned } from "./harness/pinned-process.ts";
import { writePart } from "./harness/results-page.ts";
import { median, spreadOf } from "./harness/statistics.ts";
import { spreadText, table } from "./harness/table.ts";
import { hasRedisBenchmark, runRedisBenchmark, startRedis } from "./peers/redis.ts";
import { publishedProgram, startLarder, TOKEN } from "./store/subjects.ts";

const tests = ["set", "get", "incr", "lpush"] as const;

interface Row {
  readonly test: (typeof tests)[number];
  readonly pipelined: number;
  /** The goal, as a share of redis-server's rate. */
  readonly goal: number | undefined;
}

/** Those of `-P 16`. */
const pipelinedGoals: { readonly [Test in Row["test"]]?: number } = { set: 1.0, get: 0.8 };

const rows: readonly Row[] = [
  ...tests.map((test) => ({ test, pipelined: 1, goal: 0.8 })),
  ...tests.map((test) => ({ test, pipelined: 16, goal: pipelinedGoals[test] })),
];

const CONNECTIONS = 50;
const VALUE_BYTES = 3;

const { values } = parseArgs({ options: { quick: { type: "boolean" } } });
const { rounds, seconds } = values.quick === true ? { rounds: 1, seconds: 1 } : { rounds: 5, seconds: 2 };

if (!hasRedisBenchmark || !existsSync(fileURLToPath(new URL("../dist/main.js", import.meta.url)))) {
  console.error("redis-server, redis-benchmark and dist/main.js are needed: npm run build makes the last");
  process.exit(1);
}

const parent = mkdtempSync(join(tmpdir(), "larder-bench-"));
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
process.once("SIGINT", () => process.exit(130));

const redis = await startRedis(parent);
const respPort = await freePort();
const directory = mkdtempSync(join(parent, "larder-"));
const flags = ["--data-dir", directory, "--fsync", "everysec", "--threads", "per-area", "--resp-port", `${respPort}`];
const larder = await startLarder(publishedProgram(parent), flags);

const bare = await startPinned({
  command: [process.execPath, fileURLToPath(new URL("peers/bare-resp.ts", import.meta.url))],
  until: /listening on \d+/,
});
const barePort = Number(/listening on (\d+)/.exec(bare.output())?.[1]);
/** The tests whose commands the bare server knows. */
const bareTests: ReadonlySet<string> = new Set(["set", "get"]);

const subjects = {
  larder: { port: respPort, password: TOKEN },
  redis: { port: redis.port },
  bare: { port: barePort },
} as const;
const inOrder = ["redis", "larder", "bare"] as const;

const rates = new Map<string, number[]>();
for (let round = 0; round < rounds; round += 1) {
  const names = round % 2 === 0 ? inOrder : inOrder.toReversed();
  for (const row of rows) {
    for (const name of names) {
      const { test, pipelined } = row;
      if (name === "bare" && !bareTests.has(test)) continue;
      const load = { test, pipelined, connections: CONNECTIONS, valueBytes: VALUE_BYTES, seconds };
      const result = runRedisBenchmark({ ...load, ...subjects[name] });
      const key = keyOf(row, name);
      rates.set(key, [...(rates.get(key) ?? []), result?.perSecond ?? Number.NaN]);
      console.error(`${key}: ${Math.round(result?.perSecond ?? Number.NaN)}/s`);
    }
  }
}
await larder.process.stop();
await redis.stop();
await bare.stop();

const lines = rows.map((row) => {
  const ours = rates.get(keyOf(row, "larder")) ?? [];
  const theirs = rates.get(keyOf(row, "redis")) ?? [];
  const ratio = median(ours) / median(theirs);
  const leastRates = rates.get(keyOf(row, "bare"));
  const leastRatio = leastRates === undefined ? "" : (median(leastRates) / median(theirs)).toFixed(2);
  const goal = row.goal === undefined ? "" : `${row.goal}: ${ratio >= row.goal ? "yes" : "NO"}`;
  const name = `${row.test.toUpperCase()}, -P ${row.pipelined}`;
  return [name, spreadText(spreadOf(ours)), spreadText(spreadOf(theirs)), ratio.toFixed(2), leastRatio, goal];
});

const page = [
  "# RESP (`bench/resp.bench.ts`)",
  "",
  ...machineFacts(new Date()).map((fact) => `- ${fact}`),
  `- ${CONNECTIONS} connections, values of ${VALUE_BYTES} bytes, runs of ${seconds} s, ${rounds} rounds`,
  "",
  table(["redis-benchmark", "larder, commands/s", "redis-server", "of redis-server", "bare", "goal"], lines),
  "",
].join("\n");
console.log(page);
if (values.quick !== true) writePart(page);

function keyOf({ test, pipelined }: Row, subject: string): string {
  return `${subject} ${test} -P ${pipelined}`;
}

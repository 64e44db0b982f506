/**
 * Question: how many messages does messaging accept, deliver and forget on one
 * core, how soon do they arrive, and what do waiting ones cost, compared with
 * alternatives?
 *
 * Method: the published `dist/` (npm run build first), data directory on
 * disk. A publish is answered when it is on the disk; then the message is
 * signed, delivered over HTTP, and its end is on the disk too. Servers are
 * pinned to core 0; publishers and destination are one process on core 1, so
 * that one clock times publish and arrival. Bodies of 300 bytes; publishers
 * have one request in flight each and send the headers of a client that
 * publishes through fetch. Warm-up 2 s, runs of 5 s, five rounds whose order
 * alternates, each run on a fresh data directory; medians [min to max].
 * The history of larder follows the journal on separate threads: on core 1
 * (with the load), on core 0 (with everything), or removed for the bench
 * (messaging/without-history.ts). Every 512th delivery has its signature
 * checked.
 * Peers run in the same rounds on the same cores and give the same guarantee
 * about a power cut: BullMQ on a redis-server that syncs at each write, pg-boss
 * on PostgreSQL with its defaults, each behind the same small gateway that signs and
 * calls with the code of larder (messaging/peer-gateway.ts). A node of a cluster runs beside them, with its journal in a
 * PostgreSQL of the same settings on the same core. To install the peers:
 *     npm install --prefix /some/folder bullmq ioredis pg-boss
 *     apt-get install redis-server postgresql         (or their names on your system)
 *     BENCH_PEERS=/some/folder npm run bench -- messaging
 *
 * Read: `arrival` is from publish to arrival, `answer` from publish to its
 * answer. `backlog` is the maximum of accepted messages that had not arrived; it grows
 * if the last third of a run has clearly more than the one before. `core 0`
 * is the share of the core that the server's processes used: far below 100 % the
 * disk, the load or another process on the machine was the limit, and `delivered
 * per CPU s` is comparable. Lateness includes the time of the publish.
 * Differences below 15 % are noise. A missed goal is marked NO.
 *
 * Run: npm run build && npm run bench -- messaging [--quick] [--only <text in "subject: load">] [--rounds <n>] [--program <bin/larder.cjs>]
 *      --quick: runs of 2 s, one round, 100,000 pending messages, 1,000 schedules; writes no results
 *      --only also takes "schedules" and "pending"; a part of a run writes no results
 *      --program: another build to measure instead of this one
 */
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machineFacts } from "./harness/machine.ts";
import { isPinning } from "./harness/pinned-process.ts";
import { writePart } from "./harness/results-page.ts";
import { clusterLarder, larder } from "./messaging/larder.ts";
import { peers } from "./messaging/peers.ts";
import { measurePending } from "./messaging/pending.ts";
import { names, report } from "./messaging/report.ts";
import { measureSchedules } from "./messaging/schedules.ts";
import type { Place, Subject } from "./messaging/subjects.ts";
import { measureThroughput, type Workload } from "./messaging/throughput.ts";
import { peerVersion } from "./peers/modules.ts";
import { hasPostgres } from "./peers/postgres.ts";
import { publishedProgram } from "./store/subjects.ts";

const TMPFS = 0x0102_1994;

const full = { rounds: 5, seconds: 5, warmUpSeconds: 2, pending: 1_000_000, schedules: 10_000 };
const quick = { rounds: 1, seconds: 2, warmUpSeconds: 1, pending: 100_000, schedules: 1_000 };

/** One message, then nothing for a while after its arrival. */
const IDLE_GAP_MS = 20;
const idle: Workload = { name: names.idle, publishers: 1, gapMs: IDLE_GAP_MS };
const one: Workload = { name: names.one, publishers: 1 };
const many: Workload = { name: names.many, publishers: 64 };
const most: Workload = { name: names.most, publishers: 256 };
const delayedIdle: Workload = { name: names.delayedIdle, publishers: 0, delayedEveryMs: 10 };
const delayedLoaded: Workload = { name: names.delayedLoaded, publishers: 64, delayedEveryMs: 10 };

const { values } = parseArgs({
  options: {
    quick: { type: "boolean" },
    only: { type: "string", default: "" },
    program: { type: "string" },
    rounds: { type: "string" },
  },
});
const size = values.quick === true ? quick : { ...full, rounds: Number(values.rounds ?? full.rounds) };
const { only } = values;
const log = (line: string): void => console.error(line);

if (values.program === undefined && !existsSync(fileURLToPath(new URL("../dist/main.js", import.meta.url)))) {
  console.error("dist/main.js does not exist: run npm run build");
  process.exit(1);
}

const parent = mkdtempSync(join(dataParent(), "larder-bench-"));
// PostgreSQL runs as another user, and must have access to its own directory in here.
chmodSync(parent, 0o711);
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
process.once("SIGINT", () => process.exit(130));
const place: Place = { parent, program: values.program ?? publishedProgram(parent) };

const pairs = wantedPairs();
const rows = await measureThroughput(pairs, { place, log, ...size });
const schedules = await measureIf("schedules", () => measureSchedules(place, size.schedules));
const pending = await measureIf("pending", () => measurePending(place, size.pending));

const facts = [
  ...machineFacts(new Date()).filter((fact) => !/^(?:webdis|wrk):/.test(fact)),
  `bullmq: ${peerVersion("bullmq") ?? "not installed"}`,
  `pg-boss: ${peerVersion("pg-boss") ?? "not installed"}, PostgreSQL ${hasPostgres ? "installed" : "not installed"}`,
  isPinning ? "servers on core 0, publishers and destination on core 1" : "nothing is pinned to a core",
  `runs of ${size.seconds} s, ${size.rounds} rounds`,
];
const page = report({ facts, rows, schedules, pending });
console.log(page);
// Part of a run, or a short one, is not a result.
if (values.quick !== true && only === "") writePart(page);

function wantedPairs(): readonly (readonly [Subject, Workload])[] {
  const all: (readonly [Subject, Workload])[] = [];
  for (const workload of [idle, one, many, most, delayedIdle, delayedLoaded]) {
    all.push([larder("second core"), workload]);
  }
  for (const history of ["same core", "off"] as const)
    for (const workload of [many, most]) all.push([larder(history), workload]);
  for (const peer of [clusterLarder, ...peers]) {
    if (peer.missing !== undefined) log(`${peer.name}: ${peer.missing}`);
    else for (const workload of [one, many, most]) all.push([peer, workload]);
  }
  return all.filter(([subject, workload]) => isWanted(`${subject.name}: ${workload.name}`));
}

async function measureIf<Result>(name: string, measure: () => Promise<Result>): Promise<Result | undefined> {
  if (!isWanted(name)) return undefined;
  log(name);
  return measure();
}

function isWanted(name: string): boolean {
  return name.includes(only);
}

/** A directory on disk: the temporary one, unless it is in memory. */
function dataParent(): string {
  return statfsSync(tmpdir()).type === TMPFS ? process.cwd() : tmpdir();
}

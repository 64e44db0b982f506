/**
 * Question: how many commands does the store answer on one core, how fast, and
 * what do its keys and its starts cost, compared with alternatives?
 *
 * Method: the published `dist/` (npm run build first), data directory on
 * disk, everysec. All processes of a server are pinned to core 0, the load
 * generator (wrk, 64 connections, one request each) to core 1. Warm-up 1 s,
 * 4 s after a start, runs of 3 s, five rounds whose order alternates; medians [min to max]. The
 * requests carry the headers that the official client sends through fetch.
 * Peers run in the same rounds on the same cores and give the same guarantee:
 * redis-server with an append-only file that is synced once a second, alone
 * (redis-benchmark over TCP), behind webdis, and behind a plain Node gateway
 * with ioredis. Keys are 10,000 in turn; resident keyspaces are measured in a
 * separate process. The data types are measured as in
 * `data-types.bench.ts`.
 *
 * Read: `core 0` is the share of the core that the server's processes used; far
 * below 100 % the load generator or another process on the machine was the limit.
 * Differences below 15 % are noise. A missed goal is marked NO.
 *
 * Run: npm run build && npm run bench -- store [--quick] [--only <text in "subject: workload">]
 *      --quick: runs of 1 s, one round, 200,000 keys; writes no results
 */
import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { generator } from "./harness/http-load.ts";
import { machineFacts } from "./harness/machine.ts";
import { isPinning } from "./harness/pinned-process.ts";
import { writePart } from "./harness/results-page.ts";
import { measureDataTypes } from "./store/data-types.ts";
import { measureKeyspace } from "./store/keyspace.ts";
import type { KeyspaceResult } from "./store/keyspace-process.ts";
import { measureEmptyStarts, measureRecovery } from "./store/recovery.ts";
import { report, withDataTypes } from "./store/report.ts";
import { type Place, publishedProgram } from "./store/subjects.ts";
import { measureThroughput } from "./store/throughput.ts";

const TMPFS = 0x0102_1994;

const full = {
  rounds: 5,
  seconds: 3,
  starts: 10,
  keyspaces: [1_000_000, 5_000_000],
  recovered: 1_000_000,
  elements: 1_000_000,
};
const quick = { rounds: 1, seconds: 1, starts: 3, keyspaces: [200_000], recovered: 200_000, elements: 20_000 };

const { values } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string", default: "" } } });
const size = values.quick === true ? quick : full;
const { only } = values;
const log = (line: string): void => console.error(line);

if (!existsSync(fileURLToPath(new URL("../dist/main.js", import.meta.url)))) {
  console.error("dist/main.js does not exist: run npm run build");
  process.exit(1);
}

const parent = mkdtempSync(join(dataParent(), "larder-bench-"));
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
process.once("SIGINT", () => process.exit(130));
const place: Place = { parent, program: publishedProgram(parent) };

const throughput = await measureThroughput({ place, rounds: size.rounds, seconds: size.seconds, only, log });

const keyspaces: KeyspaceResult[] = [];
for (const count of size.keyspaces) {
  if (!isWanted(`keyspace of ${count} keys`)) continue;
  log(`keyspace of ${count} keys`);
  keyspaces.push(await measureKeyspace(count));
}

const starts = isWanted("empty start") ? await measureEmptyStarts(place, size.starts) : undefined;
const recovery = isWanted("recovery") ? await measureRecovery(place, size.recovered) : undefined;

const dataTypes = isWanted("data types") ? await measureDataTypes({ elementCount: size.elements, only: "", log }) : [];

const facts = [
  ...machineFacts(new Date()),
  `load generator: ${generator}, ${isPinning ? "servers on core 0, load on core 1" : "nothing is pinned to a core"}`,
  `runs of ${size.seconds} s, ${size.rounds} rounds`,
];
const rest = report({ facts, throughput, starts, keyspaces, recovery });
const page = dataTypes.length > 0 ? withDataTypes(rest, { facts, results: dataTypes }) : rest;
console.log(page);
// Part of a run, or a short one, is not a result.
if (values.quick !== true && only === "") writePart(page);

function isWanted(name: string): boolean {
  return name.includes(only);
}

/** A directory on disk: the temporary one, unless it is in memory. */
function dataParent(): string {
  return statfsSync(tmpdir()).type === TMPFS ? process.cwd() : tmpdir();
}

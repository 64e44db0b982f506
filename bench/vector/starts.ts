/**
 * The time of a start: from the journal or a snapshot, with or without the graph's
 * file. The parts of one data directory are removed in turn. Files
 * are in the system's cache, as after a restart of only the program.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Spread, spreadOf } from "../harness/statistics.ts";
import { type DataSet, readQueries } from "./data-set.ts";
import { upsertAll } from "./http.ts";
import { type Place, startServer } from "./larder-server.ts";
import { queryBody } from "./requests.ts";
import { HIT_COUNT } from "./truth.ts";

export interface StartRow {
  readonly what: string;
  /** From the start of the process to the line `running at`, and to the first answer to a query. */
  readonly runningMs: Spread;
  readonly answeredMs: Spread;
  /** From the start of the process until no record is outside the graph. */
  readonly builtMs: Spread;
  readonly residentBytes: number | undefined;
}

export interface StartResult {
  readonly set: DataSet;
  readonly journalBytes: number;
  readonly snapshotBytes: number;
  readonly snapshotMs: number;
  readonly graphFileBytes: number;
  readonly rows: readonly StartRow[];
}

export const startNames = {
  journal: "journal",
  journalAndGraph: "journal, graph file",
  snapshot: "snapshot",
  snapshotAndGraph: "snapshot, graph file",
} as const;

const POLL_MS = 20;
const GRAPH_FILE = /graph-\d+-\d+$/;

export async function measureStarts(
  { place, set, log }: { place: Place; set: DataSet; log: (line: string) => void },
  rounds: number,
): Promise<StartResult> {
  const { parent, program } = place;
  const directory = mkdtempSync(join(parent, "starts-"));
  log("starts: filling");
  const first = await startServer(program, directory);
  await upsertAll(first, set, { digits: "7 decimals" });
  await first.process.stop();
  const journalBytes = bytesIn(directory, /\.journal$/);
  const graphFileBytes = bytesIn(directory, GRAPH_FILE);

  const rows: StartRow[] = [];
  const measure = async (what: string, hasGraph: boolean): Promise<void> => {
    log(`starts: from the ${what}`);
    rows.push(await startsOf({ place, set, directory, what, hasGraph, rounds }));
  };
  await measure(startNames.journal, false);
  await measure(startNames.journalAndGraph, true);

  // A stop closes the journal's segment of its start only, and a snapshot is made of closed ones.
  await (await startServer(program, directory)).process.stop();
  const beganMs = performance.now();
  await promisify(execFile)(process.execPath, [program, "internal-snapshot", directory, "vector"]);
  const snapshotMs = performance.now() - beganMs;
  // The next start adopts the snapshot and removes what it replaces.
  await measure(startNames.snapshot, false);
  await measure(startNames.snapshotAndGraph, true);
  const snapshotBytes = bytesIn(directory, /\.snapshot$/);
  rmSync(directory, { recursive: true, force: true });
  return { set, journalBytes, snapshotBytes, snapshotMs, graphFileBytes, rows };
}

interface StartOptions {
  readonly place: Place;
  readonly set: DataSet;
  readonly directory: string;
  readonly what: string;
  readonly hasGraph: boolean;
  readonly rounds: number;
}

async function startsOf({ place, set, directory, what, hasGraph, rounds }: StartOptions): Promise<StartRow> {
  const running: number[] = [];
  const answered: number[] = [];
  const built: number[] = [];
  let residentBytes: number | undefined;
  const [query = new Float32Array(0)] = readQueries(set);
  for (let round = 0; round < rounds; round += 1) {
    // A start modifies its directory.
    const copy = mkdtempSync(join(place.parent, "start-"));
    cpSync(directory, copy, { recursive: true });
    if (!hasGraph) removeGraphFiles(copy);
    const beganMs = performance.now();
    const server = await startServer(place.program, copy);
    running.push(performance.now() - beganMs);
    const hits = await server.call<readonly unknown[]>("/query", queryBody(query));
    answered.push(performance.now() - beganMs);
    if (hits.length !== HIT_COUNT) throw new Error(`after the start from the ${what} there are ${hits.length} hits`);
    while ((await server.metric("larder_vector_pending_records")) > 0)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    built.push(performance.now() - beganMs);
    residentBytes = server.process.residentBytes();
    await server.process.stop();
    rmSync(copy, { recursive: true, force: true });
  }
  return {
    what,
    runningMs: spreadOf(running),
    answeredMs: spreadOf(answered),
    builtMs: spreadOf(built),
    residentBytes,
  };
}

function removeGraphFiles(directory: string): void {
  for (const path of filesIn(directory)) if (GRAPH_FILE.test(path)) rmSync(path);
}

function bytesIn(directory: string, pattern: RegExp): number {
  return filesIn(join(directory, "vector"))
    .filter((path) => pattern.test(path))
    .reduce((sum, path) => sum + statSync(path).size, 0);
}

function filesIn(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).map((path) => join(directory, path));
}

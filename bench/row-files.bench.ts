/**
 * Question: what does a search cost if the float rows of its candidates are read
 * from files instead of memory, with the files in the page cache and without?
 * And how fast are rows written, found again at a start, and scanned?
 *
 * Method: rows in clusters are in a row store, in a graph, and in row files
 * below --directory. A search walks the graph for 160 candidates and scores them
 * in order until further hits are unlikely, once from the store and once from the
 * files, as a search thread does. Both ways run in turn for ROUNDS rounds over the
 * same queries; the figures are CPU time of this process for each query, the
 * median of the rounds. A cold round begins after `dd oflag=nocache` has dropped the
 * files from the page cache; its figures are wall times of single queries, and the
 * disk is that of the directory.
 *
 * Read: `search` of files should be at most twice that of memory when warm.
 * Both find the same hits, or the bench fails.
 *
 * Run: npm run bench -- row-files [--rows 50000] [--directory /tmp]
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { seededRandom } from "../src/kernel/random.ts";
import { fileDisk } from "../src/persistence/disk/file-disk.ts";
import { rowFiles } from "../src/program/workers/row-files.ts";
import { InlineGraphBuilder } from "../src/vector/graph/inline-graph-builder.ts";
import { entryBytesOf, HEAD_BYTES, NO_RECORD } from "../src/vector/row-files/row-entries.ts";
import { RowFiles } from "../src/vector/row-files/row-files.ts";
import type { PreparedQuery } from "../src/vector/rows/prepared-query.ts";
import { RowMemory } from "../src/vector/rows/row-memory.ts";
import { RowStore } from "../src/vector/rows/row-store.ts";
import { similarityRows } from "../src/vector/rows/similarity.ts";
import { LateHits } from "../src/vector/search/late-hits.ts";
import { TopHits } from "../src/vector/search/top-hits.ts";
import { FileRanker } from "../src/vector/threads/file-ranker.ts";
import { clusteredRows } from "../test/harness/clustered-rows.ts";
import { median } from "./harness/statistics.ts";
import { table } from "./harness/table.ts";

const DIMENSION = 384;
const ROUNDS = 7;
const QUERIES = 1_000;
const COLD_QUERIES = 300;
const HIT_COUNT = 10;
/** As of a search for ten: `search/namespace-search.ts` adds spare candidates. */
const COLLECTED = 12;
/** Of the first task of reads: `search/row-ranks.ts`. */
const HELD = 48;
const EFFORT = 160;
const SCANS = 5;

const { values: given } = parseArgs({
  options: { rows: { type: "string", default: "50000" }, directory: { type: "string", default: tmpdir() } },
});
const count = Number(given.rows);
const { code } = similarityRows.COSINE;

const random = seededRandom(DIMENSION);
const values = clusteredRows(random, { count, dimension: DIMENSION, clusters: count / 50, noise: 0.5 });
const rowOf = (record: number): Float32Array => values.subarray(record * DIMENSION, (record + 1) * DIMENSION);
const memory = new RowMemory();
const store = new RowStore(memory, DIMENSION);
store.ensure(count - 1);
for (let record = 0; record < count; record += 1) store.set(record, rowOf(record));

const directory = mkdtempSync(`${given.directory}/larder-row-files-`);
process.on("exit", () => rmSync(directory, { recursive: true }));
const storage = rowFiles(fileDisk, directory);
const identity = { storage, index: 1, namespace: 0, dimension: DIMENSION, versionOf: (record: number) => record + 1 };

/** CPU time of this process, in milliseconds. */
async function cpuMsOf(work: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function setAll(files: RowFiles, from = 0, to = count): void {
  for (let record = from; record < to; record += 1)
    files.set(record, { version: record + 1, squaredLength: store.squaredLength(record), values: rowOf(record) });
}

const writing = (await RowFiles.open(identity)).files;
writing.endRecovery();
const writeMs = await cpuMsOf(async () => {
  for (let from = 0; from < count; from += 1_000) {
    setAll(writing, from, Math.min(count, from + 1_000));
    await writing.flush();
  }
});
await writing.close();
let files = writing;
const openMs = await cpuMsOf(async () => {
  ({ files } = await RowFiles.open(identity));
  setAll(files);
  files.endRecovery();
});
if (files.bufferedCount > 0) throw new Error(`${files.bufferedCount} rows were not found again`);

console.error("building a graph");
const builder = new InlineGraphBuilder();
const graph = builder.open({ dimension: DIMENSION, similarity: "COSINE", read: rowOf });
for (let record = 0; record < count; record += 1) graph.insert(record, record + 1);
await graph.whenBuilt();

const queries = Array.from({ length: QUERIES }, () => {
  const near = rowOf(random.below(count));
  return memory.prepare(near.map((value) => value + 0.3 * (random.unit() - 0.5)));
});

interface Walked {
  readonly candidates: readonly number[];
  readonly distances: readonly number[];
}

function walk(query: PreparedQuery): Walked {
  const request = { query: query.padded.subarray(0, DIMENSION), count: EFFORT, effort: EFFORT };
  const { records, distances, count: found } = graph.search(request);
  return { candidates: [...records.subarray(0, found)], distances: [...distances.subarray(0, found)] };
}

/** The hits among candidates by their ranks. */
function hitsOf({ candidates, distances }: Walked, rank: (i: number) => number): number[] {
  const top = new TopHits(COLLECTED, (record) => record);
  const late = new LateHits("COSINE", COLLECTED);
  for (let i = 0; i < candidates.length && !late.isUnlikely(distances[i] as number, top.threshold); i += 1) {
    const each = rank(i);
    late.note(distances[i] as number, { rank: each, isHit: each >= top.threshold });
    top.offer(candidates[i] as number, each);
    rankedCount += 1;
  }
  const hits = top.sorted().slice(0, HIT_COUNT);
  return hits.map(({ record }) => record);
}

const ranker = FileRanker.create((descriptor, target, offset) =>
  readSync(descriptor, target, 0, target.length, offset),
);
if (ranker === undefined) throw new Error("There is no memory");
let rankedCount = 0;

const fromMemory = (query: PreparedQuery): number[] => {
  const walked = walk(query);
  return hitsOf(walked, (i) => store.rank("COSINE", query, walked.candidates[i] as number));
};
const fromFiles = (query: PreparedQuery): number[] => {
  const walked = walk(query);
  const { places, release } = files.hold(walked.candidates.slice(0, HELD));
  const hits = hitsOf(walked, (i) => {
    const place = places[i];
    const rank = place && ranker.rank(place, { query, similarity: code });
    if (rank === undefined) throw new Error("A row is damaged");
    return rank;
  });
  release();
  return hits;
};
const walkOnly = (query: PreparedQuery): void => void walk(query);

for (const query of queries)
  if (fromMemory(query).join() !== fromFiles(query).join()) throw new Error("The two ways have different hits");
const rankedPerQuery = rankedCount / QUERIES / 2;

const ways = { walk: walkOnly, memory: fromMemory, files: fromFiles };
const times: Record<string, number[]> = { walk: [], memory: [], files: [] };
for (let round = 0; round < ROUNDS; round += 1)
  for (const [name, search] of Object.entries(ways)) {
    const ms = await cpuMsOf(() => {
      for (const query of queries) search(query);
    });
    times[name]?.push((ms * 1_000) / QUERIES);
  }

function dropFromPageCache(): void {
  for (const name of readdirSync(directory))
    execFileSync("dd", [
      `of=${directory}/${name}`,
      "oflag=nocache",
      "conv=notrunc,fdatasync",
      "count=0",
      "status=none",
    ]);
}

dropFromPageCache();
const coldMs: number[] = [];
for (const query of queries.slice(0, COLD_QUERIES)) {
  const startMs = performance.now();
  fromFiles(query);
  coldMs.push(performance.now() - startMs);
}
coldMs.sort((a, b) => a - b);

function scan(query: PreparedQuery): void {
  const top = new TopHits(HIT_COUNT, (record) => record);
  const perBlock = ranker?.blockEntries(DIMENSION) ?? 0;
  const held = files.holdFiles();
  for (const { descriptor, records } of held.files)
    for (let first = 0; first < records.length; first += perBlock) {
      const block = { descriptor, offset: HEAD_BYTES + first * entryBytesOf(DIMENSION), count: 0 };
      block.count = Math.min(perBlock, records.length - first);
      const isRead = ranker?.scan(
        block,
        { query, similarity: code },
        {
          wants: (entry) => records[first + entry] !== NO_RECORD,
          offer: (entry, rank) => top.offer(records[first + entry] as number, rank),
        },
      );
      if (isRead !== true) throw new Error("A row is damaged");
    }
  held.release();
}

const scanMs: number[] = [];
for (const query of queries.slice(0, SCANS)) scanMs.push(await cpuMsOf(() => scan(query)));

const us = (name: string): number => median(times[name] ?? []);
const text = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
console.log(`${count} x ${DIMENSION}, ${rankedPerQuery.toFixed(0)} rows scored for each search\n`);
console.log(
  table(
    ["CPU time of a search, µs", "median"],
    [
      ["walk alone", text(us("walk"))],
      ["with rows in memory", text(us("memory"))],
      ["with rows in files, in the page cache", text(us("files"))],
      ["memory / files", text(us("memory") / us("files"))],
      ["a row from a file", text((us("files") - us("walk")) / rankedPerQuery)],
    ],
  ),
);
console.log();
console.log(
  table(
    ["rows in files", "figure"],
    [
      ["cold search, median ms", text(coldMs[coldMs.length >> 1] ?? 0)],
      ["cold search, p99 ms", text(coldMs[Math.floor(coldMs.length * 0.99)] ?? 0)],
      ["scan of all, CPU ms", text(median(scanMs))],
      ["rows written in a second of CPU", text((count * 1_000) / writeMs)],
      ["rows found again in a second of CPU", text((count * 1_000) / openMs)],
      ["memory of a place, bytes", text(files.byteCount / count)],
    ],
  ),
);
await files.close();
await builder.close();

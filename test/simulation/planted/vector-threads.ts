/** Bugs of searches on other threads, planted between the queue of searches, its threads and the log of changes. */
import type { Namespace } from "../../../src/vector/index/namespace.ts";
import type { VectorIndex } from "../../../src/vector/index/vector-index.ts";
import type { FileRows } from "../../../src/vector/row-files/file-rows.ts";
import type { ScanResult, SearchTask, WalkResult } from "../../../src/vector/threads/search-task.ts";
import type { SearchThreads } from "../../../src/vector/threads/search-threads.ts";
import { runThreadWorld, type ThreadPlant } from "../vector/thread-world.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

export const searchThreadBugs: PlantedBugs<ThreadPlant> = {
  simulation: "searches of the vector index on threads",
  run: async (seed, plant) => (await runThreadWorld(seed, plant)).fault,
  runsMax: 20,
  control: { bug: {}, runs: 10 },
  bugs: [
    {
      name: "a row that changes while a thread reads it is not scored again",
      breaks: "src/vector/search/namespace-search.ts",
      bug: { namespace: withoutChanges },
      seed: 1,
      found: /score of another version|a shown record exists/,
    },
    {
      name: "a search answers for its namespace after that was dropped",
      breaks: "src/vector/index/index-queries.ts",
      bug: { index: withKeptNamespaces },
      seed: 1,
      found: /0 hits instead of/,
    },
    {
      name: "a scan counts although its blocks were freed meanwhile",
      breaks: "src/vector/search/row-scan.ts",
      bug: { namespace: withUnseenReleases },
      seed: 9,
      found: /a shown record exists|hits instead of|is not the nearest/,
    },
    {
      name: "the tasks of a thread that has ended found nothing",
      breaks: "src/vector/threads/search-threads.ts",
      bug: { threads: (threads) => changeTasks(threads, withEmptyResults) },
      seed: 4,
      found: /hits instead of|is not the nearest/,
    },
    {
      name: "the result of a scan is cut",
      breaks: "src/vector/threads/task-words.ts",
      bug: { threads: (threads) => changeTasks(threads, withFewerHits) },
      seed: 2,
      found: /hits instead of|is not the nearest/,
    },
    {
      name: "places are released before a thread reads them",
      breaks: "src/vector/search/row-ranks.ts",
      bug: { fileRows: withUnheldPlaces },
      seed: 7,
      found: /DamagedRow/,
    },
    {
      name: "a scan of files forgets the rows in memory",
      breaks: "src/vector/search/file-scan.ts",
      bug: { fileRows: (rows) => Object.defineProperty(rows, "bufferedRecords", { value: [] }) },
      seed: 1,
      found: /hits instead of|is not the nearest/,
    },
    {
      name: "a late vector is that of another record",
      breaks: "src/vector/row-files/late-rows.ts",
      bug: { fileRows: withTurnedRows },
      seed: 1,
      found: /has the row of/,
    },
  ],
};

function withUnheldPlaces(rows: FileRows): void {
  const hold = rows.hold.bind(rows);
  rows.hold = (records) => {
    const { places, release } = hold(records);
    release();
    return { places, release: () => {} };
  };
}

function withTurnedRows(rows: FileRows): void {
  const read = rows.read.bind(rows);
  rows.read = async (records) => (await read(records)).toReversed();
}

function withoutChanges(namespace: Namespace): void {
  namespace.changes.note = () => {};
}

/** A search has the namespace that it began with: the only one by the name that is used for it. */
function withKeptNamespaces(index: VectorIndex): void {
  const { state } = index;
  const find = state.find.bind(state);
  const query = index.query.bind(index);
  const kept = new Map<string, Namespace | undefined>();
  state.find = (name) => (kept.has(name) ? kept.get(name) : find(name));
  index.query = (name, queries) => {
    const ownName = `search ${kept.size}`;
    kept.set(ownName, find(name));
    return query(ownName, queries);
  };
}

function withUnseenReleases({ rows }: Namespace): void {
  if (rows !== undefined) Object.defineProperty(rows, "releasedCount", { value: 0 });
}

function changeTasks(threads: SearchThreads, change: (task: SearchTask) => SearchTask): void {
  const take = threads.take.bind(threads);
  threads.take = (task, onBack) => take(change(task), onBack);
}

function withEmptyResults(task: SearchTask): SearchTask {
  const records = new Uint32Array(0);
  const ranks = new Float32Array(0);
  if (task.kind === "walk")
    return {
      ...task,
      done: (result?: WalkResult) => task.done(result ?? { records, distances: ranks, isComplete: true }),
    };
  if (task.kind !== "scan") return task;
  return { ...task, done: (result?: ScanResult) => task.done(result ?? { records, ranks, isComplete: true }) };
}

/** The spare hits, and some more, are missing. */
function withFewerHits(task: SearchTask): SearchTask {
  if (task.kind !== "scan") return task;
  const cut = (result: ScanResult): ScanResult => ({
    records: result.records.slice(0, 3),
    ranks: result.ranks.slice(0, 3),
    isComplete: result.isComplete,
  });
  return { ...task, done: (result?: ScanResult) => task.done(result && cut(result)) };
}

/**
 * Question: how fast are search indexes of the store, compared with SQLite's FTS5 and with MiniSearch?
 *
 * Method: 100,000 documents of a title of 6 words, a body of 40, a price and a zone; 40,000 distinct words in a Zipf
 * distribution. Each subject is a process of its own that takes the documents in and then repeats each query for at
 * least 0.25 s; three rounds of all subjects, in turn; medians. Ours are commands of the store (hashes, top 10 with
 * NOCONTENT) without a network, FTS5 is in memory with the stemmer of Porter, MiniSearch stems nothing. All times are
 * processor time, since other programs may run, with that of collections. The words are in 64, 1,174 and 45,000 bodies;
 * `$smart` is what MiniSearch calls fuzzy 1 and prefix. The rate of the index is that of its work alone: writes with an
 * index less writes without one; bytes are those that a collection leaves, without the documents. A start reads keys
 * from a snapshot in memory, and then builds the index. Writes are HSETs of one field, in parts of 50,000 in turn.
 *
 * Read: the goals are in the table. A write that no prefix matches may take 20 ns more than without an index, that of a
 * document half more. The time of one part of a scan is that which a query may wait for.
 *
 * Run: npm run bench -- search [--documents N] [--rounds N] [--only larder]
 *      BENCH_PEERS=/some/folder npm run bench -- search     (a folder with `minisearch` installed)
 *      With 100,000 documents and all subjects, the results replace their part of results.md.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machineFacts } from "./harness/machine.ts";
import { writePart } from "./harness/results-page.ts";
import { median } from "./harness/statistics.ts";
import { table } from "./harness/table.ts";
import { peersFolder, peerVersion } from "./peers/modules.ts";
import { chooseQueryWords, drawDocuments, drawWords } from "./search/data-set.ts";
import { measureFts5 } from "./search/fts5.ts";
import { measureLarder } from "./search/larder.ts";
import type { Figures } from "./search/measure.ts";
import { MINI_SEARCH, measureMiniSearch } from "./search/mini-search.ts";

const DOCUMENTS = 100_000;
const HEADING = "# Search (`bench/search.bench.ts`)";
const HEAP_MB = 12_000;

const subjects = { larder: measureLarder, FTS5: measureFts5, MiniSearch: measureMiniSearch } as const;
type SubjectName = keyof typeof subjects;

const { values } = parseArgs({
  options: {
    documents: { type: "string", default: `${DOCUMENTS}` },
    rounds: { type: "string", default: "3" },
    only: { type: "string" },
    subject: { type: "string" },
  },
});
const documentCount = Number(values.documents);

/** A limit for the figure of a row, from those of all subjects. */
type Goal = (figures: ReadonlyMap<SubjectName, Figures>) => number | undefined;

const atMost =
  (limit: number): Goal =>
  () =>
    limit;

/** Rows of the table whose figures should be small; `wanted` is a maximum, in a rate a minimum. */
const goals: Readonly<Record<string, Goal>> = {
  "index, documents/s": (figures) =>
    Math.max(
      12_000,
      5 * (figures.get("MiniSearch")?.["index, documents/s"] ?? 0),
      (figures.get("FTS5")?.["index, documents/s"] ?? 0) / 4,
    ),
  "bytes for a document": atMost(1_024),
  "longest slice, ms": atMost(8),
  "rare word, ms": atMost(0.04),
  "middling word, ms": atMost(0.2),
  "common word, ms": atMost(3),
  "COUNT of the common word, ms": atMost(0.1),
  "two words, AND, ms": atMost(0.5),
  "phrase of two, ms": atMost(0.5),
  "$smart of a common word, ms": atMost(10),
  "$smart of a rare word, ms": atMost(10),
  "common word with a price below half, ms": atMost(4),
  "common word with a rare price, ms": atMost(4),
  "$terms and $avg over all, ms": atMost(5),
  "start: index, ms": atMost(8_000),
  "write that no prefix matches, ns": (figures) => (figures.get("larder")?.["write without an index, ns"] ?? 0) + 20,
  "write of a document, ns": (figures) => 1.5 * (figures.get("larder")?.["write without an index, ns"] ?? 0),
};

const { subject } = values;
if (subject !== undefined) {
  const words = drawWords();
  const documents = [...drawDocuments(words, documentCount)];
  const measure = subjects[subject as SubjectName];
  const figures = measure(documents, chooseQueryWords(words, documents));
  console.log(JSON.stringify(figures));
} else compare();

function compare(): void {
  const names = (Object.keys(subjects) as SubjectName[]).filter(
    (name) =>
      (values.only === undefined || values.only === name) &&
      (name !== "MiniSearch" || peerVersion(MINI_SEARCH) !== undefined),
  );
  const rounds = names.map((name) => ({ name, measured: [] as Figures[] }));
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { name, measured } of rounds) {
      console.error(`round ${round + 1}: ${name}`);
      measured.push(measureIn(name));
    }
  }
  const figures = new Map(rounds.map(({ name, measured }) => [name, medians(measured)]));
  const page = pageOf(figures);
  console.log(page);
  if (documentCount === DOCUMENTS && names.length === Object.keys(subjects).length) writePart(page);
}

function measureIn(name: SubjectName): Figures {
  const output = execFileSync(
    process.execPath,
    [
      ...["--expose-gc", `--max-old-space-size=${HEAP_MB}`, "--no-warnings", fileURLToPath(import.meta.url)],
      ...["--subject", name, "--documents", `${documentCount}`],
    ],
    { encoding: "utf8", env: { ...process.env, BENCH_PEERS: peersFolder }, stdio: ["ignore", "pipe", "inherit"] },
  );
  return JSON.parse(output) as Figures;
}

function medians(measured: readonly Figures[]): Figures {
  const [first = {}] = measured;
  return Object.fromEntries(
    Object.keys(first).map((row) => [row, median(measured.map((figures) => figures[row] ?? Number.NaN))]),
  );
}

function pageOf(figures: ReadonlyMap<SubjectName, Figures>): string {
  const own = figures.get("larder") ?? {};
  const rows = Object.keys(figures.size === 1 ? ([...figures.values()][0] ?? {}) : own).map((row) => {
    const cells = [...figures.values()].map((each) => shown(each[row]));
    const limit = goals[row]?.(figures);
    const value = own[row];
    if (limit === undefined || value === undefined) return [row, ...cells, "", ""];
    const isReached = row.endsWith("/s") ? value >= limit : value <= limit;
    return [row, ...cells, shown(limit), isReached ? "yes" : "NO"];
  });
  return [
    HEADING,
    "",
    ...machineFacts(new Date()).map((fact) => `- ${fact}`),
    `- minisearch: ${peerVersion(MINI_SEARCH) ?? "not installed"}`,
    `- SQLite: ${process.versions["sqlite"] ?? "unknown"}`,
    `- ${documentCount} documents, processor time, medians of ${values.rounds} rounds`,
    "",
    table(["", ...figures.keys(), "goal", "reached"], rows),
    "",
  ].join("\n");
}

function shown(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "";
  return value >= 100 ? `${Math.round(value)}` : value >= 1 ? value.toFixed(1) : value.toFixed(3);
}

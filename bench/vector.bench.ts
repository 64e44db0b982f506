/**
 * Question: what is the recall of the vector index, how fast is it,
 * and what do its rows cost, compared with alternatives?
 *
 * Method: sets with clusters, made from a seed (vector/data-set.ts), and any
 * file of vectors. Recall@10 is against a plain exact search in float64
 * (vector/truth.ts). Parts:
 *   dense     100,000 x 384 (and 10,000 x 784, once by cosine, once Euclidean):
 *             every subject has an index in its own process, with one
 *             caller and one search at a time. larder `as it comes` is the default of an
 *             index; its graph is also searched with other efforts, bypassing the
 *             engine. `no graph` scans every row.
 *   filtered  the same indexes; then each record has one integer field for each
 *             selectivity
 *   million   1,000,000 x 128; without those that scan every row
 *   http      the program: upserts of 1,000 over 2 connections with everysec,
 *             with one querying caller, while the graph is built: as many
 *             as it accepts, and 12,000 vectors a second; then queries alone over
 *             1, 16 and 64 connections. Clients are processes on core 1, which
 *             they share with the thread that builds.
 *   start     starts with the data of `http`
 *   recall    100,000 x 384 with clusters, and of noise: recall and processor time of a search before and after the
 *             index has measured itself for its recall target, without a filter and with one that follows the
 *             vectors; only if it is named
 *   equal     larder, hnswlib-node and usearch (f16, built by two threads) beside each other, each with the smallest
 *             effort that reaches a recall of 0.99, for topK 10 and 100: 100,000 x 384 with clusters, the same without
 *             clusters and with few directions, and real images (--images); larder in the process and over HTTP; and
 *             the times of building; only if it is named
 *   threads   100,000 x 384: one and two threads that search, with 8 callers in this process and over HTTP
 *             (vector/threads.ts); only if it is named
 *   memory    100,000 x 384: resident bytes of each vector after collections, by parts, and the processor time of
 *             calls that use its tables; only if it is named
 *   sparse    100,000 documents of 60 values, and hybrid ones, compared with plain
 *             inverted lists in TypeScript, which also check the answers
 * Searches are warmed up and run for 1 s, in three rounds whose order
 * alternates, all subjects in the same rounds; medians [min to max]. Peers are
 * built and queried as their own documentation recommends, with 16 neighbours, 128
 * candidates while building, and one thread where that can be set (LanceDB
 * builds on all cores). To install them:
 *     npm install --prefix /some/folder hnswlib-node usearch @lancedb/lancedb sqlite-vec
 *     BENCH_PEERS=/some/folder npm run bench -- vector
 * Missing ones are skipped. `--data <path>` measures the vectors of an
 * .fvecs or idx file (unsigned bytes or float32, also .gz: MNIST's images, for
 * example) in the parts `dense`, `filtered` and `equal` in place of the sets made; its
 * last vectors are the queries.
 *
 * Read: `effort` is the number of candidates of a walk over a graph (ef);
 * compare rates at the same recall only. Resident bytes are the growth of the
 * process, including its runtime. The machine should be idle otherwise;
 * differences below 15 % are noise, and ratios within one run say more than
 * rates. A missed goal is marked NO.
 *
 * Run: npm run build && npm run bench -- vector [--quick]
 *          [--part dense|filtered|http|start|sparse|million|recall|equal|threads|memory]
 *          [--only <pattern of subjects>] [--data <file>] [--euclidean] [--rounds <n>] [--rows <n>] [--program <bin/larder.cjs>]
 *      --quick: 10,500 x 768 and one short round; writes no results
 *      --rows: of the set with clusters, instead of 100,000
 *      --part, --only, --rows and --data make a part of a run, which writes no results; without --part, all but `million`
 *          need about 15 minutes, and `million` as long again
 *      --images: an .fvecs or idx file for `equal`, or BENCH_IMAGES: MNIST's images, Euclidean
 *      --program: another build to measure instead of this one
 */
import { existsSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { machineFacts } from "./harness/machine.ts";
import { isPinning } from "./harness/pinned-process.ts";
import { writePart } from "./harness/results-page.ts";
import { peerVersion } from "./peers/modules.ts";
import { publishedProgram } from "./store/subjects.ts";
import { type DataSet, makeSet, type Recipe, readSet } from "./vector/data-set.ts";
import { type DenseResult, type DenseSize, measureDense } from "./vector/dense.ts";
import { type EqualSize, measureEqual } from "./vector/equal.ts";
import { type HttpSize, measureHttp } from "./vector/http.ts";
import type { Place } from "./vector/larder-server.ts";
import { measureMemory } from "./vector/memory.ts";
import { measureRecall } from "./vector/recall.ts";
import { report } from "./vector/report.ts";
import { measureSparse, type SparseSize } from "./vector/sparse.ts";
import { measureStarts } from "./vector/starts.ts";
import { efforts, subjects } from "./vector/subjects.ts";
import { measureThreads, type ThreadsSize } from "./vector/threads.ts";
import { FILTERED_MODULI, Truth } from "./vector/truth.ts";

/** Of the set without clusters: about the inner dimension of embeddings. */
const FEW_DIRECTIONS = 24;
const TMPFS = 0x0102_1994;

interface Size {
  readonly main: Recipe;
  readonly wide: Recipe | undefined;
  readonly million: Recipe;
  readonly dense: DenseSize;
  readonly http: HttpSize;
  readonly starts: number;
  readonly threads: ThreadsSize;
  readonly sparse: SparseSize;
  readonly equal: EqualSize;
}

const full: Size = {
  main: { rowCount: 100_000, dimension: 384, clusterCount: 2_000, queryCount: 500 },
  wide: { rowCount: 10_000, dimension: 784, clusterCount: 200, queryCount: 500 },
  million: { rowCount: 1_000_000, dimension: 128, clusterCount: 20_000, queryCount: 200 },
  dense: { efforts, rounds: 3, seconds: 1, queryCount: 500, slowQueryCount: 50 },
  http: { rounds: 3, seconds: 5, connections: [1, 16, 64] },
  starts: 3,
  threads: { rounds: 7, seconds: 3 },
  sparse: { documentCount: 100_000, queryCount: 500, seconds: 3 },
  equal: { topKs: [10, 100], rounds: 5, seconds: 1, queryCount: 500 },
};
const quick: Size = {
  main: { rowCount: 10_500, dimension: 768, clusterCount: 210, queryCount: 100 },
  wide: undefined,
  million: { rowCount: 100_000, dimension: 128, clusterCount: 2_000, queryCount: 100 },
  dense: { efforts: [64, 128], rounds: 1, seconds: 0.2, queryCount: 100, slowQueryCount: 10 },
  http: { rounds: 1, seconds: 1, connections: [1, 64] },
  starts: 1,
  threads: { rounds: 3, seconds: 1 },
  sparse: { documentCount: 10_000, queryCount: 50, seconds: 0.3 },
  equal: { topKs: [10, 100], rounds: 3, seconds: 0.3, queryCount: 100 },
};

const parts = [
  "dense",
  "filtered",
  "http",
  "start",
  "sparse",
  "million",
  "recall",
  "equal",
  "threads",
  "memory",
] as const;
type Part = (typeof parts)[number];
/** Parts that run only if they are named. */
const named: readonly Part[] = ["recall", "equal", "threads", "memory"];

const { values } = parseArgs({
  options: {
    quick: { type: "boolean" },
    part: { type: "string", multiple: true, default: [] },
    only: { type: "string", default: "" },
    data: { type: "string" },
    images: { type: "string" },
    euclidean: { type: "boolean" },
    rounds: { type: "string" },
    rows: { type: "string" },
    program: { type: "string" },
  },
});
const chosen = values.quick === true ? quick : full;
const rounds = Number(values.rounds ?? chosen.dense.rounds);
const main = values.rows === undefined ? chosen.main : resized(chosen.main, Number(values.rows));
const size: Size = {
  ...chosen,
  main,
  dense: { ...chosen.dense, rounds },
  http: { ...chosen.http, rounds },
  equal: { ...chosen.equal, rounds: Number(values.rounds ?? chosen.equal.rounds) },
};
const isWhole =
  values.quick !== true &&
  values.rows === undefined &&
  values.only === "" &&
  values.data === undefined &&
  values.part.length === 0;
const log = (line: string): void => console.error(line);

for (const part of values.part) {
  if ((parts as readonly string[]).includes(part)) continue;
  console.error(`--part ${part}: choose from ${parts.join(", ")}`);
  process.exit(2);
}
if (values.program === undefined && !existsSync(fileURLToPath(new URL("../dist/main.js", import.meta.url)))) {
  console.error("dist/main.js does not exist: run npm run build");
  process.exit(1);
}

const parent = mkdtempSync(join(dataParent(), "larder-bench-"));
process.once("exit", () => rmSync(parent, { recursive: true, force: true }));
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
const place: Place = { parent, program: values.program ?? publishedProgram(parent) };

const wantedSubjects = subjects.filter(({ name }) => new RegExp(values.only).test(name));
const mainSet = made(size.main);
const given = values.data === undefined ? undefined : readSet(newFolder(), values.data, size.dense.queryCount);
const measuredSet = given ?? mainSet;
const truths = new Map<DataSet, Truth>();

const dense: DenseResult[] = [];
const moduli = [...(isWanted("dense") ? [1] : []), ...(isWanted("filtered") ? FILTERED_MODULI : [])];
if (moduli.length > 0) dense.push(await measureIn(measuredSet, { moduli }));
if (isWanted("dense") && values.euclidean === true) dense.push(await measureIn(euclidean(measuredSet), {}));
if (isWanted("dense") && given === undefined && size.wide !== undefined) {
  const wide = made(size.wide);
  dense.push(await measureIn(wide, {}), await measureIn(euclidean(wide), {}));
}
if (isWanted("recall"))
  for (const set of [mainSet, made({ ...size.main, isNoise: true })])
    console.log(`\n${await measureRecall(set, log)}\n`);
if (isWanted("equal"))
  for (const set of equalSets()) console.log(`\n${await measureEqual({ place, set, size: size.equal, log })}\n`);
if (isWanted("threads")) console.log(`\n${await measureThreads({ place, set: mainSet, log }, size.threads)}\n`);
if (isWanted("memory")) console.log(`\n${await measureMemory(mainSet, log)}\n`);
const http = isWanted("http")
  ? await measureHttp({ place, set: mainSet, truth: truthOf(mainSet), log }, size.http)
  : undefined;
const starts = isWanted("start") ? await measureStarts({ place, set: mainSet, log }, size.starts) : undefined;
const sparse = isWanted("sparse") ? await measureSparse(size.sparse) : undefined;
const versions = ["hnswlib-node", "usearch", "@lancedb/lancedb", "sqlite-vec"].map(
  (name) => `${name}: ${peerVersion(name) ?? "not installed"}`,
);
const facts = [
  ...machineFacts(new Date()).filter((fact) => !/^(?:redis-server|webdis|wrk):/.test(fact)),
  ...versions,
  isPinning ? "clients on core 1" : "nothing is pinned to a core",
  `searches for ${size.dense.seconds} s, over HTTP for ${size.http.seconds} s, ${rounds} rounds`,
];
const newPage = (): string => report({ facts, goalSet: measuredSet, dense, http, starts, sparse });
// Part of a run, or a short one, is not a result. The largest set may fail where the others are measured already.
if (isWhole) writePart(newPage());
truths.clear();
if (isWanted("million")) dense.push(await measureIn(made(size.million), { isHuge: true }));
const page = newPage();
console.log(page);
if (isWhole) writePart(page);

function isWanted(part: Part): boolean {
  if (given !== undefined && part !== "dense" && part !== "filtered" && part !== "equal") return false;
  if (values.part.length > 0) return values.part.includes(part);
  return !named.includes(part) && (part !== "million" || values.quick !== true);
}

/** The set of --data, or three kinds of data; the third only if a file of it is given. */
function equalSets(): readonly DataSet[] {
  if (given !== undefined) return [values.euclidean === true ? euclidean(given) : given];
  const cloud = made({ ...size.main, clusterCount: 1, innerDimension: FEW_DIRECTIONS });
  const images = values.images ?? process.env["BENCH_IMAGES"];
  if (images !== undefined) return [mainSet, cloud, euclidean(readSet(newFolder(), images, size.equal.queryCount))];
  log("images: no file is given (--images or BENCH_IMAGES)");
  return [mainSet, cloud];
}

function measureIn(
  set: DataSet,
  { moduli: passing = [1], isHuge = false }: { moduli?: readonly number[]; isHuge?: boolean },
): Promise<DenseResult> {
  const taken = wantedSubjects.filter((subject) => !isHuge || !subject.isExact);
  return measureDense({ set, truth: truthOf(set), subjects: taken, moduli: passing, size: size.dense, log });
}

function truthOf(set: DataSet): Truth {
  const known = truths.get(set);
  if (known !== undefined) return known;
  log(`${set.name}: looking at every row for the truth`);
  const truth = new Truth(set);
  truths.set(set, truth);
  return truth;
}

/** With as many rows in each cluster. */
function resized(recipe: Recipe, rowCount: number): Recipe {
  return { ...recipe, rowCount, clusterCount: Math.ceil((recipe.clusterCount * rowCount) / recipe.rowCount) };
}

function made(recipe: Recipe): DataSet {
  log(`${recipe.rowCount} x ${recipe.dimension}: making it`);
  return makeSet(newFolder(), recipe);
}

function euclidean(set: DataSet): DataSet {
  return { ...set, similarity: "EUCLIDEAN" };
}

function newFolder(): string {
  return mkdtempSync(join(parent, "set-"));
}

/** A directory on disk: the temporary one, unless it is in memory. */
function dataParent(): string {
  return statfsSync(tmpdir()).type === TMPFS ? process.cwd() : tmpdir();
}

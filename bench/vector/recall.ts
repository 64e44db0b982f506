/**
 * The recall target: recall and processor time of searches with the effort that
 * any data gets (`fixed`), with that of an index that has measured nothing
 * (`first`), and after it has measured itself (`measured`); and what measuring
 * costs. In this process, with the graph built by another thread. The searches
 * that are measured here are not among those that the index samples.
 */
import { assert } from "../../src/kernel/assert.ts";
import { silentLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { threadGraphBuilder } from "../../src/program/workers/graph-threads.ts";
import type { Effort } from "../../src/vector/api.ts";
import { compileFilter } from "../../src/vector/filter/filter.ts";
import type { VectorIndex } from "../../src/vector/index/vector-index.ts";
import { RecallRound } from "../../src/vector/recall/recall-round.ts";
import { figure, table } from "../harness/table.ts";
import { chunksOf, type DataSet, readQueries } from "./data-set.ts";
import { openEngine, plainQuery } from "./larder-subject.ts";

/** The effort of every search up to topK 106, whatever the data. */
const FIXED_EFFORT = 160;
/** Queries that the index may sample, at most half of them; of the others so many are measured here. */
const SAMPLED = 100;
const MEASURED = 200;
const CHUNK_ROWS = 1_000;

const cases = [
  { topK: 10, filter: "" },
  { topK: 100, filter: "" },
  { topK: 10, filter: "quarter = 0" },
  { topK: 100, filter: "quarter = 0" },
] as const;

interface Figures {
  readonly recall: number;
  readonly least: number;
  readonly microseconds: number;
}

/** Prints a table for the set. */
export async function measureRecall(set: DataSet, log: (line: string) => void): Promise<string> {
  const builder = threadGraphBuilder({ log: silentLog });
  const engine = await openEngine(builder);
  const { dimension, similarity } = set;
  const definition = { type: "DENSE", dimension, similarity, denseModel: undefined, sparseModel: undefined } as const;
  const index = engine.define("bench", definition, { dense: undefined, sparse: undefined });
  log(`${set.name}: building the graph`);
  await fill(index, set);
  const namespace = index.state.find("");
  assert(namespace?.recall !== undefined, "the set is large enough for a graph");
  const { recall } = namespace;
  const queries = readQueries(set);
  const sampled = queries.slice(0, Math.min(SAMPLED, queries.length / 2));
  const measured = queries.slice(sampled.length, sampled.length + MEASURED);

  const lines: string[][] = [];
  for (const { topK, filter } of cases) {
    log(`${set.name}: topK ${topK}, ${filter || "no filter"}`);
    const run = (effort: Effort): Promise<Figures> => figuresOf(index, measured, { topK, filter, effort });
    const scan = await run("exact");
    const fixed = await run(FIXED_EFFORT);
    const [first] = await hitsOf(index, sampled.slice(0, 1), { topK, filter, effort: undefined });
    assert(first !== undefined, "a query is answered");
    const share = filter === "" ? undefined : await shareOf(index, filter);
    const before = await run(recall.effortFor(topK, share));
    await hitsOf(index, sampled, { topK, filter, effort: undefined });
    const startedMs = cpuMs();
    const random = seededRandom(4);
    const size = { rowCount: set.rowCount, insertCount: namespace.graphInsertCount };
    for (let number = recall.findDue(0, size); number !== undefined; number = recall.findDue(0, size)) {
      const round = new RecallRound({ namespace, recall, number, random });
      while (!round.step());
      recall.settle(number, round, { nowMs: 0, size });
    }
    const roundMs = cpuMs() - startedMs;
    const effort = recall.effortFor(topK, share);
    const after = await run(effort);
    const reported = recall.reports.findLast(
      (report) => report.topK === (topK === 10 ? "1-10" : "11-100") && (report.filter === "none") === (filter === ""),
    );
    lines.push([
      `${topK}`,
      filter === "" ? "none" : `${figure((share ?? 0) * 100)} % pass`,
      cell(fixed),
      cell(before),
      cell(after),
      `${effort}`,
      `${figure((reported?.scanShare ?? 0) * 100)} %`,
      `${reported?.recall.toFixed(3)} (${reported?.lowerBound.toFixed(3)})`,
      reported?.isReached === true ? "yes" : "NO",
      figure(scan.microseconds),
      figure(roundMs / 1_000),
    ]);
  }
  engine.close();
  await builder.close();
  const head = ["topK", "filter", `fixed ${FIXED_EFFORT}`, "first", "measured", "effort", "scans"];
  const report = ["reported (lower bound)", "reached", "scan us", "measuring s"];
  return `${set.name}: recall, least recall of a query, microseconds\n\n${table([...head, ...report], lines)}`;
}

/** Each record has one of four quarters of the space, by the signs of two values: the filter follows the vectors. */
async function fill(index: VectorIndex, set: DataSet): Promise<void> {
  const { dimension } = set;
  for (const { first, rows } of chunksOf(set, CHUNK_ROWS)) {
    const records = Array.from({ length: rows.length / dimension }, (_, i) => {
      const vector = rows.slice(i * dimension, (i + 1) * dimension);
      const quarter = Number((vector[0] as number) > 0) + 2 * Number((vector[1] as number) > 0);
      return { id: String(first + i), vector, metadata: `{"quarter":${quarter}}` };
    });
    index.upsert("", records);
  }
  await index.state.find("")?.graph?.whenBuilt();
}

interface Asked {
  readonly topK: number;
  readonly filter: string;
  readonly effort: Effort;
}

async function hitsOf(
  index: VectorIndex,
  queries: readonly Float32Array[],
  asked: Asked,
): Promise<readonly (readonly string[])[]> {
  const all: string[][] = [];
  for (const vector of queries) {
    const lists = await index.query("", [{ ...plainQuery, ...asked, vector }]);
    all.push((lists[0] ?? []).map(({ id }) => id));
  }
  return all;
}

async function figuresOf(index: VectorIndex, queries: readonly Float32Array[], asked: Asked): Promise<Figures> {
  const truth = await hitsOf(index, queries, { ...asked, effort: "exact" });
  await hitsOf(index, queries.slice(0, 20), asked);
  const startMs = cpuMs();
  const found = await hitsOf(index, queries, asked);
  const microseconds = ((cpuMs() - startMs) * 1_000) / queries.length;
  const recalls = truth.map((ids, i) => {
    const hits = new Set(found[i]);
    return ids.filter((id) => hits.has(id)).length / ids.length;
  });
  const recall = recalls.reduce((sum, each) => sum + each, 0) / recalls.length;
  return { recall, least: Math.min(...recalls), microseconds };
}

/** The share of records that pass. */
async function shareOf(index: VectorIndex, filter: string): Promise<number> {
  const namespace = index.state.find("");
  assert(namespace !== undefined, "the namespace exists");
  const match = namespace.filters.start(compileFilter(filter));
  while (!match.step(1_000_000));
  return match.count / namespace.count;
}

function cell({ recall, least, microseconds }: Figures): string {
  return `${recall.toFixed(3)}, ${least.toFixed(2)}, ${figure(microseconds)}`;
}

/** Processor time of this thread. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

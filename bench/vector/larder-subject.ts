/** The engine in this process, without a journal or HTTP, and its graph searched directly with other efforts. */
import { assert } from "../../src/kernel/assert.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { NullJournal } from "../../src/kernel/journal.ts";
import { createLog, silentLog } from "../../src/kernel/log.ts";
import { seededRandom } from "../../src/kernel/random.ts";
import { threadGraphBuilder } from "../../src/program/workers/graph-threads.ts";
import type { VectorQuery } from "../../src/vector/api.ts";
import type { GraphBuilder } from "../../src/vector/graph/graph.ts";
import type { ScoredView } from "../../src/vector/index/record.ts";
import { VectorEngine } from "../../src/vector/index/vector-engine.ts";
import type { VectorIndex } from "../../src/vector/index/vector-index.ts";
import { defaultVectorLimits } from "../../src/vector/limits.ts";
import { LateHits } from "../../src/vector/search/late-hits.ts";
import { TopHits } from "../../src/vector/search/top-hits.ts";
import type { Hits, OpenSet, OpenSubject, Search } from "./subject.ts";
import { FILTERED_MODULI } from "./truth.ts";

export const noInclude = { metadata: false, vectors: false, data: false } as const;

export const plainQuery = {
  include: noInclude,
  filter: "",
  weighting: undefined,
  fusion: "RRF",
} as const satisfies Partial<VectorQuery>;

/** With the graph that the program builds. */
export function openLarder(set: OpenSet): OpenSubject {
  const log = createLog({
    level: "warn",
    format: "text",
    clock: systemClock,
    sink: (line) => process.stderr.write(line),
  });
  return new LarderSubject(set, threadGraphBuilder({ log }));
}

/** As `openLarder`; every effort is that of a query to the engine, which scans if that costs less. */
export function openLarderEngine(set: OpenSet): OpenSubject {
  return new LarderSubject(set, threadGraphBuilder({ log: silentLog }), true);
}

/** Without a graph: every search scans all rows that pass. */
export function openLarderExact(set: OpenSet): OpenSubject {
  return new LarderSubject(set, undefined);
}

export async function openEngine(graphs: GraphBuilder | undefined): Promise<VectorEngine> {
  const engine = new VectorEngine({
    journal: new NullJournal(),
    clock: systemClock,
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs,
    newHandle: () => "handle",
  });
  await engine.start();
  return engine;
}

/** One integer for each selectivity: a filter selects a remainder. */
export function metadataOf(row: number): string {
  return JSON.stringify(Object.fromEntries(FILTERED_MODULI.map((modulus) => [`m${modulus}`, row % modulus])));
}

export function filterOf({ modulus, remainder }: NonNullable<Search["passing"]>): string {
  return `m${modulus} = ${remainder}`;
}

class LarderSubject implements OpenSubject {
  readonly #set: OpenSet;
  readonly #asksEngine: boolean;
  readonly #opening: Promise<VectorEngine>;
  #engine: VectorEngine | undefined;
  #index: VectorIndex | undefined;

  constructor(set: OpenSet, graphs: GraphBuilder | undefined, asksEngine = false) {
    this.#set = set;
    this.#asksEngine = asksEngine;
    this.#opening = openEngine(graphs);
  }

  async add(first: number, rows: Float32Array): Promise<void> {
    const { dimension, similarity, isFiltered } = this.#set;
    this.#engine ??= await this.#opening;
    this.#index ??= this.#engine.define(
      "bench",
      { type: "DENSE", dimension, similarity, denseModel: undefined, sparseModel: undefined },
      { dense: undefined, sparse: undefined },
    );
    const records = Array.from({ length: rows.length / dimension }, (_, i) => ({
      id: String(first + i),
      vector: rows.slice(i * dimension, (i + 1) * dimension),
      metadata: isFiltered ? metadataOf(first + i) : undefined,
    }));
    this.#index.upsert("", records);
  }

  async finish(): Promise<void> {
    await this.#graph?.whenBuilt();
  }

  search({ query, count, effort, passing }: Search): Hits | Promise<Hits> {
    if (effort !== undefined && !this.#asksEngine) return this.#walk(query, count, effort);
    assert(this.#index !== undefined, "rows are added before they are searched");
    const filter = passing === undefined ? "" : filterOf(passing);
    const lists = this.#index.query("", [{ ...plainQuery, filter, effort, vector: query, topK: count }]);
    return lists instanceof Promise ? lists.then(idsOf) : idsOf(lists);
  }

  get isAdjustable(): boolean {
    return this.#graph !== undefined;
  }

  ownBytes(): number {
    return (this.#engine?.memory.usedBytes ?? 0) + (this.#graph?.byteCount ?? 0);
  }

  /** As `DenseSearch` queries a complete graph. */
  #walk(query: Float32Array, count: number, effort: number): Hits {
    const namespace = this.#index?.state.find("");
    const { rows } = namespace ?? {};
    const graph = this.#graph;
    assert(namespace !== undefined && graph !== undefined && rows !== undefined, "the graph exists");
    const top = new TopHits(count, (record) => record);
    const prepared = rows.memory.prepare(query);
    const hits = graph.search({ query, count: effort, effort });
    const late = new LateHits(namespace.similarity, count);
    for (let i = 0; i < hits.count && !late.isUnlikely(hits.distances[i] as number, top.threshold); i += 1) {
      const record = hits.records[i] as number;
      const rank = rows.rank(namespace.similarity, prepared, record);
      late.note(hits.distances[i] as number, { rank, isHit: rank >= top.threshold });
      top.offer(record, rank);
    }
    return top.sorted().map(({ record }) => record);
  }

  /** The only part. */
  get #graph() {
    return this.#index?.state.find("")?.graph?.parts[0]?.graph;
  }
}

function idsOf(lists: readonly (readonly ScoredView[])[]): Hits {
  return (lists[0] ?? []).map(({ id }) => Number(id));
}

/**
 * Searches on threads while their rows change. Every value of a row is its
 * version, so a score shows whether a row was read half-written, too late, or
 * from another record; and the nearest versions to a number are known.
 *
 * To repeat:  LARDER_SEARCH_THREADS_SEED=… npm run t -- src/program/workers/search-threads.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../test/harness/seed.ts";
import { systemClock } from "../../kernel/clock.ts";
import { NullJournal } from "../../kernel/journal.ts";
import { type Log, type LogFields, silentLog } from "../../kernel/log.ts";
import { type Random, seededRandom } from "../../kernel/random.ts";
import { nextTurn } from "../../kernel/turn.ts";
import type { Effort, VectorQuery } from "../../vector/api.ts";
import { InlineGraphBuilder } from "../../vector/graph/inline-graph-builder.ts";
import type { IndexDefinition } from "../../vector/index/definition.ts";
import { VectorEngine } from "../../vector/index/vector-engine.ts";
import type { VectorIndex } from "../../vector/index/vector-index.ts";
import { defaultVectorLimits } from "../../vector/limits.ts";
import type { SearchThreads } from "../../vector/threads/search-threads.ts";
import { openSearchThreads } from "./search-threads.ts";

const DIMENSION = 128;
const RECORDS = 8_000;
const TOP_K = 10;
/** Concurrent callers: with one, every search would run at once on its own thread. */
const CALLERS = 6;
/** Tasks that the threads must have done. */
const TASKS = 150;
const WRITTEN = 40;

const definition: IndexDefinition = {
  type: "DENSE",
  dimension: DIMENSION,
  similarity: "EUCLIDEAN",
  denseModel: undefined,
  sparseModel: undefined,
};

const seed = seedFrom("LARDER_SEARCH_THREADS_SEED");

/** Records whose rows are their versions, with the expected contents in a map. */
class VersionedRecords {
  readonly versions = new Map<string, number>();
  readonly #index: VectorIndex;
  readonly #random: Random;
  #nextVersion = 1;

  constructor(index: VectorIndex, random: Random) {
    this.#index = index;
    this.#random = random;
  }

  upsert(count: number): void {
    const ids = new Set(Array.from({ length: count }, () => `r-${this.#random.below(RECORDS)}`));
    this.#put([...ids]);
  }

  fill(): void {
    this.#put(Array.from({ length: RECORDS }, (_, i) => `r-${i}`));
  }

  remove(count: number): void {
    const ids = [...this.versions.keys()];
    const gone = new Set(
      Array.from({ length: Math.min(count, ids.length) }, () => ids[this.#random.below(ids.length)] ?? ""),
    );
    this.#index.delete("", { kind: "ids", ids: [...gone] });
    for (const id of gone) this.versions.delete(id);
  }

  /** Rows of another namespace, which may get blocks that this one frees. All are as near to a query as can be. */
  fillOther(): void {
    const records = Array.from({ length: 600 }, (_, i) => ({
      id: `other-${i}`,
      vector: new Float32Array(DIMENSION).fill(this.drawVersion()),
    }));
    this.#index.upsert("other", records);
  }

  dropOther(): void {
    this.#index.deleteNamespace("other");
  }

  drawVersion(): number {
    return this.#random.below(this.#nextVersion) + 1;
  }

  /** The best scores now, best first. */
  bestScores(version: number, count: number): readonly number[] {
    const distances = [...this.versions.values()].map((each) => Math.abs(each - version)).sort((a, b) => a - b);
    return distances.slice(0, count).map(scoreOf);
  }

  #put(ids: readonly string[]): void {
    for (let from = 0; from < ids.length; from += 500) {
      const part = ids.slice(from, from + 500);
      const records = part.map((id) => {
        this.versions.set(id, this.#nextVersion);
        const vector = new Float32Array(DIMENSION).fill(this.#nextVersion);
        // Versions are exact in float32, and so are their differences.
        this.#nextVersion = (this.#nextVersion % 100_000) + 1;
        return { id, vector };
      });
      this.#index.upsert("", records);
    }
  }
}

/** The score of two rows that differ by this in every value. */
function scoreOf(distance: number): number {
  return 1 / (1 + DIMENSION * distance * distance);
}

/** The sums are float32, and another version would make more of a difference. */
function assertScore(score: number, expected: number, place: string): void {
  assert.ok(Math.abs(score / expected - 1) < 1e-5, `the score of ${place} is ${score}, not ${expected}`);
}

interface World {
  readonly engine: VectorEngine;
  readonly index: VectorIndex;
  readonly threads: SearchThreads;
  readonly records: VersionedRecords;
  readonly builder: InlineGraphBuilder;
}

async function openWorld({
  hasGraph,
  log = silentLog,
  workerFile,
}: {
  hasGraph: boolean;
  log?: Log;
  workerFile?: URL;
}): Promise<World> {
  const threads = openSearchThreads({ log, count: 3, ...(workerFile !== undefined && { workerFile }) });
  assert.ok(threads !== undefined);
  const builder = new InlineGraphBuilder();
  const engine = new VectorEngine({
    journal: new NullJournal(),
    clock: systemClock,
    random: seededRandom(1),
    limits: defaultVectorLimits,
    graphs: hasGraph ? builder : undefined,
    graphWorkMin: 1_000,
    threads,
    newHandle: () => "handle",
  });
  await engine.start();
  const index = engine.define("docs", definition, { dense: undefined, sparse: undefined });
  const records = new VersionedRecords(index, seededRandom(seed));
  records.fill();
  return { engine, index, threads, records, builder };
}

async function closeWorld({ engine, threads, builder }: World): Promise<void> {
  await threads.close();
  engine.close();
  await builder.close();
}

/** Queries until the threads have done enough, and checks each answer against the state at its time. */
async function callOften({ index, threads, records }: World, effort: Effort): Promise<number> {
  let answerCount = 0;
  const call = async (): Promise<void> => {
    while (threads.takenCount < TASKS) {
      const version = records.drawVersion();
      const query: VectorQuery = {
        vector: new Float32Array(DIMENSION).fill(version),
        topK: TOP_K,
        include: { vectors: true, metadata: false, data: false },
        filter: "",
        weighting: undefined,
        fusion: "RRF",
        effort,
      };
      const [hits = []] = await index.query("", [query]);
      const scores = hits.map(({ id, score, vector }) => {
        const current = records.versions.get(id);
        assert.ok(current !== undefined, `${id} was removed`);
        assert.deepEqual(new Set(vector), new Set([current]), `the row of ${id}`);
        assertScore(score, scoreOf(Math.abs(current - version)), id);
        return score;
      });
      assert.equal(new Set(hits.map(({ id }) => id)).size, hits.length, "no record twice");
      assert.equal(scores.length, TOP_K);
      if (effort === "exact")
        for (const [i, best] of records.bestScores(version, TOP_K).entries())
          assertScore(scores[i] ?? 0, best, `hit ${i}`);
      answerCount += 1;
      await nextTurn();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return answerCount;
}

test("exact searches on threads are right while rows change, shrink, grow and get blocks of others", async (context) => {
  const world = await openWorld({ hasGraph: false });
  const { threads, records } = world;
  let isOver = false;
  const writing = (async () => {
    for (let round = 0; !isOver; round += 1) {
      const phase = round % 120;
      if (phase < 40) records.remove(100);
      else if (phase === 40) records.fillOther();
      else if (phase < 100) records.upsert(WRITTEN);
      else if (phase === 100) records.dropOther();
      else records.upsert(400);
      await nextTurn();
    }
  })();
  try {
    const answers = await callOften(world, "exact");
    context.diagnostic(`SEED=${seed}: ${answers} answers, ${threads.takenCount} scans by threads`);
  } finally {
    isOver = true;
    await writing;
    await closeWorld(world);
  }
});

test("walks on threads return only current records while rows change and the graph is built again", async (context) => {
  const world = await openWorld({ hasGraph: true });
  const { threads, records, builder } = world;
  while (builder.runOnce(1_000) > 0) await nextTurn();
  assert.equal(world.index.info().pendingVectorCount, 0);
  let isOver = false;
  const writing = (async () => {
    for (let round = 0; !isOver; round += 1) {
      if (round % 3 === 0) records.remove(5);
      records.upsert(WRITTEN);
      builder.runOnce(WRITTEN);
      await nextTurn();
    }
  })();
  try {
    const answers = await callOften(world, 100);
    context.diagnostic(`SEED=${seed}: ${answers} answers, ${threads.takenCount} tasks by threads`);
  } finally {
    isOver = true;
    await writing;
    await closeWorld(world);
  }
});

test("threads that always end lose no search: the area's thread does them, and the log has it", async () => {
  const lines: string[] = [];
  const write = (event: string, _fields?: LogFields): void => {
    lines.push(event);
  };
  const log: Log = { debug: write, info: write, warn: write, error: write, with: () => log };
  // A thread that is ready, and ends at its first task.
  const source = `
    import { workerData } from "node:worker_threads";
    const control = new Int32Array(workerData);
    Atomics.store(control, 3, 1);
    Atomics.wait(control, 0, 0);
    process.exit(3);`;
  const workerFile = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
  const world = await openWorld({ hasGraph: false, log, workerFile });
  const { index, threads, records } = world;
  const vector = new Float32Array(DIMENSION).fill(7);
  const query = { vector, topK: 1, include: { vectors: false, metadata: false, data: false }, filter: "" } as const;
  while (lines.length < 3 || threads.threadCount > 0) {
    const asked = Array.from({ length: CALLERS }, () =>
      index.query("", [{ ...query, weighting: undefined, fusion: "RRF", effort: "exact" }]),
    );
    for (const lists of await Promise.all(asked)) assert.equal(lists[0]?.[0]?.score, records.bestScores(7, 1)[0]);
    await nextTurn();
  }
  // Two of them may run when the third ends.
  assert.ok(lines.length <= 4);
  assert.deepEqual(
    new Set(lines),
    new Set(["a thread that searches ended, and its searches run on the thread of the area"]),
  );
  assert.equal(threads.hasIdle, false);
  assert.equal(threads.threadCount, 0);
  await closeWorld(world);
});

test("closing the threads while they search loses no search", async () => {
  const world = await openWorld({ hasGraph: false });
  const { index, threads, records } = world;
  const vector = new Float32Array(DIMENSION).fill(7);
  const query = { vector, topK: 1, include: { vectors: false, metadata: false, data: false }, filter: "" } as const;
  const ask = (): Promise<unknown> =>
    Promise.resolve(index.query("", [{ ...query, weighting: undefined, fusion: "RRF", effort: "exact" }]));
  while (threads.takenCount === 0) {
    await Promise.all(Array.from({ length: CALLERS }, ask));
    await nextTurn();
  }
  const asked = Array.from({ length: CALLERS }, ask);
  await threads.close();
  for (const lists of await Promise.all(asked))
    assert.equal((lists as { score: number }[][])[0]?.[0]?.score, records.bestScores(7, 1)[0]);
  assert.equal(threads.taskCount, 0);
  await closeWorld(world);
});

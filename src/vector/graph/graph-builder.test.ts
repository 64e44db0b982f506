import assert from "node:assert/strict";
import { test } from "node:test";
import { clusteredRows } from "../../../test/harness/clustered-rows.ts";
import { seededRandom } from "../../kernel/random.ts";
import type { NamespaceGraph } from "./graph.ts";
import { type GraphThreadEvents, ThreadGraphBuilder } from "./graph-builder.ts";
import { GraphWorker, type ToGraphWorker } from "./graph-worker.ts";

const DIMENSION = 8;
const COUNT = 3_000;

const all = clusteredRows(seededRandom(77), { count: COUNT, dimension: DIMENSION, clusters: 20, noise: 0.4 });
const rowOf = (record: number): Float32Array => all.subarray(record * DIMENSION, (record + 1) * DIMENSION);

/** A thread that handles its messages when the test says so. */
class ManualThread {
  readonly events: GraphThreadEvents;
  readonly #worker: GraphWorker;
  readonly #messages: ToGraphWorker[] = [];
  isClosed = false;

  constructor(events: GraphThreadEvents) {
    this.events = events;
    this.#worker = new GraphWorker((message) => events.heard(message));
  }

  get buildCount(): number {
    return this.#messages.filter(({ kind }) => kind === "build").length;
  }

  post(message: ToGraphWorker): void {
    this.#messages.push(message);
  }

  /** Handles up to `count` messages. */
  hear(count = Number.POSITIVE_INFINITY): void {
    for (let i = 0; i < count; i += 1) {
      const message = this.#messages.shift();
      if (message === undefined) return;
      this.#worker.hear(message);
    }
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

function builderOnManualThreads(): { builder: ThreadGraphBuilder; threads: ManualThread[] } {
  const threads: ManualThread[] = [];
  const builder = new ThreadGraphBuilder({
    start: (events) => {
      const thread = new ManualThread(events);
      threads.push(thread);
      return thread;
    },
  });
  return { builder, threads };
}

function fill(graph: NamespaceGraph, count: number): void {
  for (let record = 0; record < count; record += 1) graph.insert(record, record);
}

test("starts one thread for the first graph, which serves all graphs", async () => {
  const { builder, threads } = builderOnManualThreads();
  assert.equal(threads.length, 0);

  const graphs = [1, 2, 3].map(() => builder.open({ dimension: DIMENSION, similarity: "COSINE", read: rowOf }));
  for (const graph of graphs) fill(graph, 300);
  const built = Promise.all(graphs.map((graph) => graph.whenBuilt()));
  await Promise.resolve();
  threads[0]?.hear();
  await built;

  assert.equal(threads.length, 1);
  assert.deepEqual(
    graphs.map(({ count }) => count),
    [300, 300, 300],
  );
  await builder.close();
  assert.equal(threads[0]?.isClosed, true);
});

test("sends only a few batches of a backlog at a time", async () => {
  const { builder, threads } = builderOnManualThreads();
  let readCount = 0;
  const read = (record: number): Float32Array => {
    readCount += 1;
    return rowOf(record);
  };

  const graph = builder.open({ dimension: DIMENSION, similarity: "COSINE", read });
  fill(graph, COUNT);
  await Promise.resolve();

  assert.equal(threads[0]?.buildCount, 4);
  assert.equal(readCount, 1_024);
  threads[0]?.hear(2);
  assert.equal(readCount, 1_280);
  assert.equal(graph.count, 256);
});

test("a closed graph gets no events of batches in progress", async () => {
  const { builder, threads } = builderOnManualThreads();
  const graph = builder.open({ dimension: DIMENSION, similarity: "COSINE", read: rowOf });
  fill(graph, 500);
  await Promise.resolve();

  graph.close();
  threads[0]?.hear();

  assert.equal(graph.count, 0);
});

test("when the thread ends, the next one builds its graph again, which answers meanwhile", async () => {
  const { builder, threads } = builderOnManualThreads();
  const graph = builder.open({ dimension: DIMENSION, similarity: "COSINE", read: rowOf });
  fill(graph, COUNT);
  await Promise.resolve();
  threads[0]?.hear(9);
  const before = graph.count;

  threads[0]?.events.ended();
  const whenEnded = graph.count;
  const hits = graph.search({ query: rowOf(0), count: 10, effort: 50 }).count;
  await Promise.resolve();
  threads[1]?.hear();
  await graph.whenBuilt();

  assert.equal(before, 2_048);
  assert.equal(whenEnded, 2_048);
  assert.equal(hits, 10);
  assert.equal(threads.length, 2);
  assert.equal(graph.count, COUNT);
  assert.equal(graph.pendingCount, 0);
  assert.equal(graph.search({ query: rowOf(7), count: COUNT, effort: COUNT }).count, COUNT);
});

test("after the third end of a thread nothing is built, and everything else works", async () => {
  const { builder, threads } = builderOnManualThreads();
  const graph = builder.open({ dimension: DIMENSION, similarity: "COSINE", read: rowOf });
  fill(graph, COUNT);
  await Promise.resolve();
  threads[0]?.hear(9);

  for (let i = 0; i < 3; i += 1) threads[i]?.events.ended();
  await graph.whenBuilt();

  assert.equal(threads.length, 3);
  assert.equal(graph.count, 2_048);
  assert.equal(graph.pendingCount, COUNT - 2_048);
  graph.remove(0);
  graph.insert(1, 5_001);
  assert.equal(graph.isPending(1), true);
  const other = builder.open({ dimension: DIMENSION, similarity: "COSINE", read: rowOf });
  fill(other, 10);
  await other.whenBuilt();
  assert.deepEqual(
    [...other.pending].toSorted((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
});

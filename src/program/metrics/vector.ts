/** The metrics of the vector area. */
import type { Metrics } from "../../kernel/metrics.ts";
import type { SearchThreads, VectorEngine } from "../../vector/index/mod.ts";
import type { IndexRecall } from "../../vector/mod.ts";

type IndexState = NonNullable<ReturnType<VectorEngine["index"]>>["state"];

export function measureVectors(metrics: Metrics, engine: VectorEngine): void {
  const now = (name: string, help: string, read: () => number): void => {
    metrics.reading(`larder_vector_${name}`, help, read);
  };
  const sumOf = (read: (placed: VectorEngine["namespaces"][number]) => number) => (): number =>
    engine.namespaces.reduce((sum, placed) => sum + read(placed), 0);
  now("indexes", "Indexes", () => engine.indexNames.length);
  now("namespaces", "Namespaces of all indexes", () => engine.namespaces.length);
  now(
    "records",
    "Records of all indexes",
    sumOf(({ namespace }) => namespace.count),
  );
  now(
    "pending_records",
    "Records that are not in a graph yet and are searched exactly",
    sumOf(({ namespace }) => namespace.pendingCount),
  );
  now("row_bytes", "Memory of dense vectors and of the tables of records", () => engine.rowBytes);
  now(
    "row_reserved_bytes",
    "Largest memory of dense vectors and of the tables of records so far",
    () => engine.memory.reservedBytes,
  );
  now(
    "graph_bytes",
    "Memory of graphs",
    sumOf(({ namespace }) => namespace.graph?.byteCount ?? 0),
  );
  measureRowFiles(metrics, engine);
  measureRecall(metrics, engine);
  now("waiting_searches", "Searches that are waiting for their next turn", () => engine.waitingCount);
}

/** `threads` are undefined if the thread of the area does all searches. */
export function measureSearchThreads(metrics: Metrics, threads: SearchThreads | undefined): void {
  const now = (name: string, help: string, read: (started: SearchThreads) => number): void => {
    metrics.reading(`larder_vector_${name}`, help, () => (threads === undefined ? 0 : read(threads)));
  };
  now("search_threads", "Running threads that search, not counting that of the area", (started) => started.threadCount);
  now("thread_searches", "Walks and scans that wait or run on these threads", (started) => started.taskCount);
  metrics.readings(
    {
      name: "larder_vector_thread_searches_total",
      help: "Walks and scans that these threads were given",
      kind: "counter",
      labelNames: [],
    },
    () => [{ labelValues: [], values: [threads?.takenCount ?? 0] }],
  );
}

/** For each index whose rows are on disk. */
function measureRowFiles(metrics: Metrics, engine: VectorEngine): void {
  const byIndex = (
    facts: { readonly name: string; readonly help: string; readonly kind: "gauge" | "counter" },
    read: (state: IndexState) => number,
  ): void => {
    metrics.readings({ ...facts, name: `larder_vector_${facts.name}`, labelNames: ["index"] }, () =>
      [...engine.indexes].flatMap(({ name, state }) =>
        state.rows === "disk" ? [{ labelValues: [name], values: [read(state)] }] : [],
      ),
    );
  };
  byIndex(
    { name: "row_file_bytes", help: "Bytes of the files of dense vectors", kind: "gauge" },
    (state) => state.rowFileBytes,
  );
  byIndex(
    {
      name: "row_file_reads_total",
      help: "Reads from these files for searches, answers and graphs",
      kind: "counter",
    },
    (state) => state.rowReads.count,
  );
  byIndex(
    { name: "row_file_read_bytes_total", help: "Bytes that these reads have fetched", kind: "counter" },
    (state) => state.rowReads.bytes,
  );
}

/** For each index and class of queries, the figures of the namespace that is furthest from the target. */
function measureRecall(metrics: Metrics, engine: VectorEngine): void {
  const byClass = (name: string, help: string, read: (report: IndexRecall["measured"][number]) => number): void => {
    const labelNames = ["index", "topk", "filter"];
    metrics.readings({ name: `larder_vector_${name}`, help, kind: "gauge", labelNames }, () =>
      [...engine.indexes].flatMap((index) =>
        (index.state.recall?.measured ?? []).map((report) => ({
          labelValues: [index.name, report.topK, report.filter],
          values: [read(report)],
        })),
      ),
    );
  };
  const byIndex = (name: string, help: string, read: (recall: IndexRecall) => number): void => {
    metrics.readings({ name: `larder_vector_${name}`, help, kind: "gauge", labelNames: ["index"] }, () =>
      [...engine.indexes].flatMap(({ name: index, state: { recall } }) =>
        recall === undefined ? [] : [{ labelValues: [index], values: [read(recall)] }],
      ),
    );
  };
  byClass("recall", "Share of the nearest records that queries find, as measured last", ({ recall }) => recall);
  byClass("recall_lower_bound", "Lower end of the 95 % interval of that share", ({ lowerBound }) => lowerBound);
  byClass(
    "effort",
    "Candidates of a search by the graph, for the largest topK that was measured",
    ({ effort }) => effort,
  );
  byClass(
    "scan_share",
    "Share of queries that rank every record, because the graph would cost more",
    ({ scanShare }) => scanShare,
  );
  byIndex("recall_target", "Recall target of an index with a graph", ({ target }) => target);
  byIndex(
    "recall_missed",
    "Ranges of topK and kinds of filters whose recall target is missed with the largest effort",
    ({ measured }) => measured.filter(({ isReached }) => !isReached).length,
  );
  metrics.readings(
    {
      name: "larder_vector_recall_seconds_total",
      help: "Processor time of measuring the recall",
      kind: "counter",
      labelNames: [],
    },
    () => [{ labelValues: [], values: [engine.recall.usedMs / 1_000] }],
  );
  metrics.readings(
    {
      name: "larder_vector_graph_check_seconds_total",
      help: "Processor time of checking and repairing graphs in idle time",
      kind: "counter",
      labelNames: [],
    },
    () => [{ labelValues: [], values: [engine.graphKeeper.usedMs / 1_000] }],
  );
}

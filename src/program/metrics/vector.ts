/** The metrics of the vector area. */
import type { Metrics } from "../../kernel/metrics.ts";
import type { VectorEngine } from "../../vector/index/mod.ts";

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
  now("row_bytes", "Memory of dense vectors", () => engine.memory.usedBytes);
  now("row_reserved_bytes", "Largest memory of dense vectors so far", () => engine.memory.reservedBytes);
  now(
    "graph_bytes",
    "Memory of graphs",
    sumOf(({ namespace }) => namespace.graph?.byteCount ?? 0),
  );
  now("waiting_searches", "Searches that are waiting for their next turn", () => engine.waitingCount);
}

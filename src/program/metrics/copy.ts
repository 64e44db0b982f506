/** Metrics of the copy of the data directory. */
import type { Metrics } from "../../kernel/metrics.ts";
import type { AreaCopyState, CopyPhase } from "../../replication/copier.ts";
import type { StoreRequestCounts } from "../../replication/objects/store-requests.ts";

const phases = ["starting", "copying", "refused", "replaced", "ended"] as const satisfies readonly CopyPhase[];

/** Of an area; undefined: its copy has not begun. */
export function measureCopiedArea(metrics: Metrics, find: () => AreaCopyState | undefined): void {
  metrics.reading(
    "larder_replication_behind_bytes",
    "Synced bytes of the area that the copy does not have",
    () => find()?.behindBytes ?? 0,
  );
  metrics.reading(
    "larder_replication_behind_seconds",
    "How long the first of these bytes has waited",
    () => (find()?.behindMs ?? 0) / 1_000,
  );
}

export interface MeasuredCopy {
  phase(): CopyPhase;
  /** Undefined before the first report. */
  requests(): StoreRequestCounts | undefined;
}

export function measureCopy(metrics: Metrics, copy: MeasuredCopy): void {
  metrics.readings(
    {
      name: "larder_replication_phase",
      help: "1 for what the copy does: starting, copying, refused (it belongs to another data directory), replaced (another server has taken it over) or ended",
      kind: "gauge",
      labelNames: ["phase"],
    },
    () => phases.map((phase) => ({ labelValues: [phase], values: [phase === copy.phase() ? 1 : 0] })),
  );
  measureStoreRequests(metrics, () => copy.requests());
}

/** Of the process that writes the copy, or of the one that follows it. Undefined: none is known yet. */
export function measureStoreRequests(metrics: Metrics, read: () => StoreRequestCounts | undefined): void {
  for (const [name, field, help] of [
    ["larder_replication_requests_total", "count", "Requests to the store of the copy, as providers count them"],
    ["larder_replication_request_failures_total", "failed", "Requests to the store of the copy that failed"],
    ["larder_replication_sent_bytes_total", "sentBytes", "Bytes sent to the store of the copy"],
    ["larder_replication_received_bytes_total", "receivedBytes", "Bytes received from the store of the copy"],
  ] as const)
    metrics.readings({ name, help, kind: "counter", labelNames: ["kind"] }, () =>
      Object.entries(read() ?? {}).map(([kind, counts]) => ({ labelValues: [kind], values: [counts[field]] })),
    );
}

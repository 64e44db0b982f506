/** Metrics of search indexes: the largest by name, and the sum of the others. */
import { textFromBytes } from "../../kernel/bytes.ts";
import type { Metrics, SeriesSnapshot } from "../../kernel/metrics.ts";
import type { Store } from "../../store/mod.ts";

/** The most indexes with their own series. A database may have 100, and there may be thousands of databases. */
export const INDEXES_NAMED_MAX = 100;

/** The database and the name of the series for the others. */
const OTHERS = ["other", "other"];

interface IndexFigures {
  readonly labelValues: readonly string[];
  readonly memoryBytes: number;
  readonly documentCount: number;
  readonly pendingCount: number;
}

export function measureSearch(metrics: Metrics, store: Store): void {
  const byIndex = (name: string, help: string, read: (figures: IndexFigures) => number): void => {
    metrics.readings({ name, help, kind: "gauge", labelNames: ["database", "index"] }, () => seriesOf(store, read));
  };
  byIndex(
    "larder_search_documents",
    "Documents of a search index; the largest 100 indexes by name, the sum of the others as other",
    ({ documentCount }) => documentCount,
  );
  byIndex("larder_search_memory_bytes", "Memory of a search index", ({ memoryBytes }) => memoryBytes);
  byIndex("larder_search_pending_keys", "Changed keys that are not indexed yet", ({ pendingCount }) => pendingCount);
}

function seriesOf(store: Store, read: (figures: IndexFigures) => number): SeriesSnapshot[] {
  const all = store.databases.flatMap(figuresOf).sort((one, other) => other.memoryBytes - one.memoryBytes);
  const series = new Map<string, { readonly labelValues: readonly string[]; value: number }>();
  for (const [place, figures] of all.entries()) {
    const labelValues = place < INDEXES_NAMED_MAX ? figures.labelValues : OTHERS;
    // Names that are not UTF-8 may have one text, and no combination may occur twice.
    const key = JSON.stringify(labelValues);
    const one = series.get(key) ?? { labelValues, value: 0 };
    one.value += read(figures);
    series.set(key, one);
  }
  return Array.from(series.values(), ({ labelValues, value }) => ({ labelValues, values: [value] }));
}

function figuresOf({ name, search }: Store["databases"][number]): readonly IndexFigures[] {
  return search.found.map(({ name: index, live }) => ({
    labelValues: [name, textFromBytes(index)],
    memoryBytes: live.memoryBytes,
    documentCount: live.index.documentCount,
    pendingCount: live.pendingCount,
  }));
}

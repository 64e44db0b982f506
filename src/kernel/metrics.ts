/**
 * Metrics of a running server: counters, gauges and histograms, printed in the
 * Prometheus text format (version 0.0.4).
 *
 * Each thread has its own `Metrics`; the main thread collects their `snapshot()`,
 * which can be posted between threads, and prints all of them with a further label
 * for the area.
 *
 * (1) A family has at most SERIES_MAX label combinations; further ones count under
 *     the label value `other`. So a client that invents command names cannot grow
 *     the memory.
 * (2) Adding to a series allocates nothing: hot code stores the series that `with`
 *     returns and adds to it.
 */

/** Label combinations per family. */
export const SERIES_MAX = 1_000;

/** The label value of further series. */
const OTHER = "other";

/** Upper bounds in seconds for the time a request takes: 100 µs to 10 s. */
export const LATENCY_BUCKETS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

export type MetricKind = "counter" | "gauge" | "histogram";

export interface SeriesSnapshot {
  readonly labelValues: readonly string[];
  /** One number; for a histogram the count of each bucket (the last is +Inf), then the sum. */
  readonly values: readonly number[];
}

export interface FamilySnapshot {
  readonly name: string;
  readonly help: string;
  readonly kind: MetricKind;
  readonly labelNames: readonly string[];
  readonly buckets: readonly number[];
  /** How the series of several threads become one; absent: they are added up. */
  readonly ofThreads?: "largest";
  readonly series: readonly SeriesSnapshot[];
}

export type FamilyFacts = Omit<FamilySnapshot, "series">;

export class Counter {
  value = 0;

  add(count = 1): void {
    this.value += count;
  }
}

export class Gauge {
  value = 0;

  set(value: number): void {
    this.value = value;
  }
}

export class Histogram {
  readonly #buckets: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(buckets: readonly number[]) {
    this.#buckets = buckets;
    this.#counts = new Float64Array(buckets.length + 1);
  }

  /** Counts one value, in the unit of the buckets (seconds for times). */
  observe(value: number): void {
    let index = 0;
    while (index < this.#buckets.length && value > (this.#buckets[index] as number)) index += 1;
    (this.#counts[index] as number) += 1;
    this.#sum += value;
  }

  values(): number[] {
    return [...this.#counts, this.#sum];
  }
}

/** The series of one name, distinguished by label values. */
export class Family<Series> {
  readonly #labelNames: readonly string[];
  readonly #make: () => Series;
  readonly #series = new Map<string, { labelValues: readonly string[]; series: Series }>();

  constructor(labelNames: readonly string[], make: () => Series) {
    this.#labelNames = labelNames;
    this.#make = make;
  }

  /** The series with these label values, in the order of the label names. Keep it where it is used often (2). */
  with(...labelValues: readonly string[]): Series {
    const key = labelValues.join("\u0000");
    const found = this.#series.get(key);
    if (found !== undefined) return found.series;
    // keeps (1)
    if (this.#series.size >= SERIES_MAX) return this.#overflow();
    return this.#add(key, labelValues);
  }

  entries(): IterableIterator<{ labelValues: readonly string[]; series: Series }> {
    return this.#series.values();
  }

  #overflow(): Series {
    const labelValues = this.#labelNames.map(() => OTHER);
    const key = labelValues.join("\u0000");
    return this.#series.get(key)?.series ?? this.#add(key, labelValues);
  }

  #add(key: string, labelValues: readonly string[]): Series {
    const series = this.#make();
    this.#series.set(key, { labelValues, series });
    return series;
  }
}

export class Metrics {
  readonly #families = new Map<string, { readonly facts: FamilyFacts; readonly take: () => FamilySnapshot }>();

  /** A number that only grows. The name ends in `_total`. */
  counter(name: string, help: string, labelNames: readonly string[] = []): Family<Counter> {
    const family = new Family(labelNames, () => new Counter());
    this.#register({ name, help, kind: "counter", labelNames, buckets: [] }, () =>
      seriesOf(family, (counter) => [counter.value]),
    );
    return family;
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): Family<Gauge> {
    const family = new Family(labelNames, () => new Gauge());
    this.#register({ name, help, kind: "gauge", labelNames, buckets: [] }, () =>
      seriesOf(family, (gauge) => [gauge.value]),
    );
    return family;
  }

  histogram(
    name: string,
    help: string,
    shape: { labelNames?: readonly string[]; buckets?: readonly number[] } = {},
  ): Family<Histogram> {
    const { labelNames = [], buckets = LATENCY_BUCKETS } = shape;
    const family = new Family(labelNames, () => new Histogram(buckets));
    this.#register({ name, help, kind: "histogram", labelNames, buckets }, () =>
      seriesOf(family, (histogram) => histogram.values()),
    );
    return family;
  }

  /** A number that other code maintains: `snapshot` reads it. */
  reading(name: string, help: string, read: () => number, kind: "gauge" | "counter" = "gauge"): void {
    this.#register({ name, help, kind, labelNames: [], buckets: [] }, () => [{ labelValues: [], values: [read()] }]);
  }

  /** Numbers that other code maintains, distinguished by labels. Those beyond the bound are added up. keeps (1) */
  readings(
    facts: {
      name: string;
      help: string;
      kind: "gauge" | "counter";
      labelNames: readonly string[];
      ofThreads?: "largest";
    },
    read: () => SeriesSnapshot[],
  ): void {
    this.#register({ ...facts, buckets: [] }, () => bounded(read()));
  }

  /** All values as plain data that can be posted to another thread. */
  snapshot(): FamilySnapshot[] {
    return [...this.#families.values()].map(({ take }) => take());
  }

  /** The families without their values. */
  get families(): readonly FamilyFacts[] {
    return [...this.#families.values()].map(({ facts }) => facts);
  }

  #register(facts: FamilyFacts, series: () => readonly SeriesSnapshot[]): void {
    if (this.#families.has(facts.name)) throw new Error(`The metric ${facts.name} is registered twice`);
    this.#families.set(facts.name, { facts, take: () => ({ ...facts, series: series() }) });
  }
}

/** One thread's snapshot and the label values that name it, such as `{ area: "store" }`. */
export interface LabelledSnapshot {
  readonly labels: Readonly<Record<string, string>>;
  readonly families: readonly FamilySnapshot[];
}

/** The Prometheus text of several snapshots: families of one name are together, as the format requires. */
export function printMetrics(snapshots: readonly LabelledSnapshot[]): string {
  const blocks = new Map<string, string[]>();
  for (const { labels, families } of snapshots) {
    for (const family of families) {
      let block = blocks.get(family.name);
      if (block === undefined) {
        block = [`# HELP ${family.name} ${escapeHelp(family.help)}`, `# TYPE ${family.name} ${family.kind}`];
        blocks.set(family.name, block);
      }
      for (const series of family.series) block.push(...printSeries(family, series, labels));
    }
  }
  return `${[...blocks.values()].map((lines) => lines.join("\n")).join("\n")}\n`;
}

function printSeries(
  family: FamilySnapshot,
  series: SeriesSnapshot,
  labels: Readonly<Record<string, string>>,
): readonly string[] {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  for (const [index, name] of family.labelNames.entries()) {
    pairs.push(`${name}="${escapeLabel(series.labelValues[index] ?? "")}"`);
  }
  const line = (suffix: string, extra: readonly string[], value: number): string => {
    const all = [...pairs, ...extra];
    return `${family.name}${suffix}${all.length === 0 ? "" : `{${all.join(",")}}`} ${printNumber(value)}`;
  };
  if (family.kind !== "histogram") return [line("", [], series.values[0] ?? 0)];
  const lines: string[] = [];
  let count = 0;
  for (const [index, bound] of [...family.buckets, Number.POSITIVE_INFINITY].entries()) {
    count += series.values[index] ?? 0;
    lines.push(line("_bucket", [`le="${printNumber(bound)}"`], count));
  }
  lines.push(line("_sum", [], series.values.at(-1) ?? 0), line("_count", [], count));
  return lines;
}

function printNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}

function escapeHelp(text: string): string {
  return text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
}

/** The first SERIES_MAX, and the sum of the others. */
function bounded(series: readonly SeriesSnapshot[]): readonly SeriesSnapshot[] {
  if (series.length <= SERIES_MAX) return series;
  let sum = 0;
  const kept = series.filter(({ labelValues, values: [value = 0] }, index) => {
    // A real series with this label value is merged with the others: no combination may occur twice.
    const isKept = index < SERIES_MAX && labelValues.some((label) => label !== OTHER);
    if (!isKept) sum += value;
    return isKept;
  });
  return [...kept, { labelValues: (series[0]?.labelValues ?? []).map(() => OTHER), values: [sum] }];
}

function seriesOf<Series>(family: Family<Series>, values: (series: Series) => readonly number[]): SeriesSnapshot[] {
  return [...family.entries()].map(({ labelValues, series }) => ({ labelValues, values: values(series) }));
}

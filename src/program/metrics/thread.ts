/**
 * Metrics of a thread: event-loop delay, GC pauses, heap. Each thread measures
 * its own; main measures the memory of the process.
 */
import { constants, monitorEventLoopDelay, PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics } from "node:v8";
import type { Metrics } from "../../kernel/metrics.ts";

/** Upper bounds in seconds for one pause of the garbage collector. */
const PAUSE_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/** The interval of the timer that measures its own delay. */
const DELAY_RESOLUTION_MS = 20;

const kindNames: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MINOR]: "minor",
  [constants.NODE_PERFORMANCE_GC_MAJOR]: "major",
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: "incremental",
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: "weak callbacks",
};

/** Registers the figures of this thread. The returned function stops measuring. */
export function measureThread(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  for (const [name, quantile] of [
    ["p50", 50],
    ["p99", 99],
    ["max", 100],
  ] as const) {
    metrics.readings(
      {
        name: `larder_event_loop_delay_${name}_seconds`,
        help: `Delay of the event loop since the last reading, ${name}`,
        kind: "gauge",
        labelNames: [],
        ofThreads: "largest",
      },
      () => {
        // The recorded value is the time between two ticks; NaN before the first.
        const lateMs = delay.percentile(quantile) / 1e6 - DELAY_RESOLUTION_MS;
        // The largest is read last and ends the interval, so that all three are of the same interval.
        if (name === "max") delay.reset();
        return [{ labelValues: [], values: [lateMs > 0 ? lateMs / 1_000 : 0] }];
      },
    );
  }

  const pauses = metrics.histogram("larder_gc_pause_seconds", "Pauses of the garbage collector", {
    labelNames: ["kind"],
    buckets: PAUSE_BUCKETS,
  });
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      // A "gc" entry always has the detail, with the kind of collection.
      const { detail } = entry as PerformanceEntry & { readonly detail?: { readonly kind: number } };
      pauses.with(kindNames[detail?.kind ?? 0] ?? "other").observe(entry.duration / 1_000);
    }
  });
  observer.observe({ entryTypes: ["gc"] });

  metrics.reading("larder_heap_used_bytes", "JavaScript heap in use", () => getHeapStatistics().used_heap_size);
  metrics.reading("larder_heap_limit_bytes", "Largest JavaScript heap", () => getHeapStatistics().heap_size_limit);
  metrics.reading(
    "larder_external_bytes",
    "Memory outside the JavaScript heap that belongs to its objects",
    () => getHeapStatistics().external_memory,
  );
  return () => {
    delay.disable();
    observer.disconnect();
  };
}

/** Registers the figures of the process. */
export function measureProcess(metrics: Metrics, version: string): void {
  metrics
    .gauge("larder_build_info", "Constant 1; the labels have the versions", ["version", "node"])
    .with(version, process.versions.node)
    .set(1);
  metrics.reading("process_resident_memory_bytes", "Resident memory of the process", () => process.memoryUsage.rss());
  metrics.reading(
    "process_cpu_seconds_total",
    "Processor time of the process",
    () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    "counter",
  );
  metrics.reading("process_uptime_seconds", "Time since the process started", () => process.uptime());
}

/** Registers the free space of a data directory. */
export function measureDisk(metrics: Metrics, freeBytes: () => number): void {
  metrics.reading("larder_disk_free_bytes", "Free bytes on the disk of the data directory", freeBytes);
}

/** Metrics of the tenants that use the time of a thread, and that wait for it. */
import type { Metrics, SeriesSnapshot } from "../../kernel/metrics.ts";
import type { Tenant, Turns } from "../../kernel/turns.ts";

/** Registers the figures of the tenants of an area. */
export function measureTurns(metrics: Metrics, turns: Pick<Turns, "tenantsOf">, area: string): void {
  // Beyond the limit of a family, the last tenants are added up: the least busy ones.
  const byUse = (read: (tenant: Tenant) => number): SeriesSnapshot[] =>
    turns
      .tenantsOf(area)
      .filter(({ usedMs }) => usedMs > 0)
      .sort((left, right) => right.usedMs - left.usedMs)
      .map((tenant) => ({ labelValues: [tenant.name], values: [read(tenant)] }));
  const labelNames = ["tenant"];
  metrics.readings(
    {
      name: "larder_tenant_seconds_total",
      help: "Time of the thread that requests took, and of the search threads, by database, index or user; names in parentheses are larder's own work",
      kind: "counter",
      labelNames,
    },
    () => byUse(({ usedMs }) => usedMs / 1_000),
  );
  metrics.readings(
    {
      name: "larder_tenant_waits_total",
      help: "Units of work that waited for their turn",
      kind: "counter",
      labelNames,
    },
    () => byUse(({ waitedCount }) => waitedCount),
  );
  metrics.readings(
    {
      name: "larder_tenant_heavy_units_total",
      help: "Units of work that took 100 ms or more: scripts, transactions and commands that others had to wait for",
      kind: "counter",
      labelNames,
    },
    () => byUse(({ heavyCount }) => heavyCount),
  );
  metrics.readings(
    {
      name: "larder_tenant_wait_seconds_max",
      help: "Longest wait of a unit of work for its turn since the start",
      kind: "gauge",
      labelNames,
      ofThreads: "largest",
    },
    () => byUse(({ waitedMsMax }) => waitedMsMax / 1_000),
  );
  metrics.readings(
    {
      name: "larder_tenant_waiting_units",
      help: "Units of work that are waiting for their turn",
      kind: "gauge",
      labelNames,
    },
    () => byUse(({ waiting }) => waiting.length),
  );
}

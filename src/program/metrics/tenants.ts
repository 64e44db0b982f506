/** Metrics by tenant: memory, the journal's queue and bytes that wait to be sent. */
import type { ByteBudget } from "../../edge/limits/byte-budget.ts";
import type { MemoryGuard } from "../../kernel/memory-guard.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import { tenantSeries } from "./tenant-figures.ts";

/** Registers the figures of a thread: its memory, and waiting bytes by tenant of the area. */
export function measureMemory(metrics: Metrics, { guard, budget }: { guard: MemoryGuard; budget: ByteBudget }): void {
  metrics.reading("larder_memory_used_bytes", "Memory in use, without garbage", () => guard.usedBytes);
  metrics.reading(
    "larder_memory_limit_bytes",
    "Memory limit of the area, together with the other areas of its thread",
    () => guard.bytesMax,
  );
  metrics.readings(
    {
      name: "larder_memory_refusing",
      help: "1 while some tenant may not grow because memory is nearly used up",
      kind: "gauge",
      labelNames: [],
      ofThreads: "largest",
    },
    () => [{ labelValues: [], values: [guard.thresholdBytes === Number.POSITIVE_INFINITY ? 0 : 1] }],
  );
  metrics.readings(
    {
      name: "larder_held_bytes",
      help: "Bytes of pending request bodies and unsent replies, by tenant; none: before its token is known",
      kind: "gauge",
      labelNames: ["tenant"],
    },
    () => tenantSeries([...budget.owners].map(([{ name }, bytes]) => [name === "" ? "none" : name, bytes])),
  );
}

export interface MeasuredTenant {
  readonly name: string;
  readonly memory: { readonly bytes: number };
  readonly journalBytes: number;
}

/** Registers the figures of an engine's tenants. */
export function measureTenants(metrics: Metrics, tenants: () => Iterable<MeasuredTenant>): void {
  const byTenant = (name: string, help: string, read: (tenant: MeasuredTenant) => number): void => {
    metrics.readings({ name, help, kind: "gauge", labelNames: ["tenant"] }, () =>
      tenantSeries([...tenants()].map((tenant) => [tenant.name, read(tenant)])),
    );
  };
  byTenant("larder_tenant_memory_bytes", "Memory of a tenant's data", ({ memory }) => memory.bytes);
  byTenant(
    "larder_tenant_journal_queued_bytes",
    "Bytes of a tenant that are appended to the journal but not yet written",
    ({ journalBytes }) => journalBytes,
  );
}

/** Memory, the journal's queue and what waits to be sent, by tenant. */
import type { ByteBudget } from "../../edge/limits/byte-budget.ts";
import type { MemoryGuard } from "../../kernel/memory-guard.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import { tenantSeries } from "../../kernel/tenant-figures.ts";

/** Registers what a thread knows: its memory, and bytes that wait by the tenants of the area. */
export function measureMemory(metrics: Metrics, { guard, budget }: { guard: MemoryGuard; budget: ByteBudget }): void {
  metrics.reading("larder_memory_used_bytes", "Memory in use, garbage left out, of the limit", () => guard.usedBytes);
  metrics.reading(
    "larder_memory_limit_bytes",
    "What the area may have, with others of its thread",
    () => guard.bytesMax,
  );
  metrics.reading("larder_memory_refusing", "1 while some tenant may not grow because memory is nearly used up", () =>
    guard.thresholdBytes === Number.POSITIVE_INFINITY ? 0 : 1,
  );
  metrics.readings(
    {
      name: "larder_held_bytes",
      help: "Bodies of requests under way and what waits to be sent, by tenant; none: before its token is known",
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

/** Registers what an engine knows of its tenants. */
export function measureTenants(metrics: Metrics, tenants: () => Iterable<MeasuredTenant>): void {
  const byTenant = (name: string, help: string, read: (tenant: MeasuredTenant) => number): void => {
    metrics.readings({ name, help, kind: "gauge", labelNames: ["tenant"] }, () =>
      tenantSeries([...tenants()].map((tenant) => [tenant.name, read(tenant)])),
    );
  };
  byTenant("larder_tenant_memory_bytes", "Memory that the data of a tenant takes", ({ memory }) => memory.bytes);
  byTenant(
    "larder_tenant_journal_queued_bytes",
    "Bytes of a tenant that were appended to the journal and are not written yet",
    ({ journalBytes }) => journalBytes,
  );
}

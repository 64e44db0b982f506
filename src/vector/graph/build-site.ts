/**
 * Where rows become nodes: another thread (`graph-builder.ts`) or the caller's
 * own (`inline-graph-builder.ts`).
 */
import type { GraphKernel } from "./graph-kernel.ts";
import type { RowBatch } from "./graph-writer.ts";

/** What the owner of a graph hears from its site. Never while it is calling the site. */
export interface SiteEvents {
  /** A batch became nodes. Batches come back in the order in which they went, each once. */
  built(batch: RowBatch): void;
  /** The site is about to build and takes batches now. */
  wanted(): void;
  /** Whoever wrote is gone, perhaps in the middle of a node. Batches that are under way do not come back. */
  lost(): void;
}

/** A graph's place at the site. */
export interface BuildSeat {
  /** The batch belongs to the site until it comes back. */
  build(batch: RowBatch): void;
  /** Nothing is heard from it any more. */
  close(): void;
}

export interface BuildSite {
  /** From now on only the site writes nodes. Undefined: the site has given up, nothing is built any more. */
  seat(kernel: GraphKernel, events: SiteEvents): BuildSeat | undefined;
  /** Somebody waits: a site that builds when told builds everything now. */
  finish(): void;
}

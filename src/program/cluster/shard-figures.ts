/**
 * What a node knows of the shards of its cluster, and the metrics of that. The
 * main thread knows owners and the lease, and the thread of an area its commits.
 *
 * (1) A server without a cluster has none of these metrics.
 */
import { type ClusterView, type ShardView, shardIn } from "../../cluster/log-store/log-store.ts";
import { RECOVERY_TRIES_MAX } from "../../cluster/node/bounds.ts";
import type { ShardState as OwnState } from "../../cluster/node/owned-shards.ts";
import { canRead, isFree } from "../../cluster/node/placement.ts";
import type { Missing } from "../../cluster/standby/shard-follower.ts";
import type { Histogram, Metrics } from "../../kernel/metrics.ts";

/**
 * The state of a shard at one node. `standby`: another node owns it. `free`: no living node owns it, and one may claim
 * it. `broken`: nobody claims it until `larder cluster retry`. `unreadable`: no living node owns it, and it was written in
 * a newer format than this node reads.
 */
export const shardConditions = [
  "serving",
  "suspended",
  "recovering",
  "draining",
  "standby",
  "free",
  "broken",
  "unreadable",
] as const;

export type ShardCondition = (typeof shardConditions)[number];

export interface ShardFigures {
  readonly shard: number;
  readonly condition: ShardCondition;
  /** Why this node refuses writes, if it is suspended; otherwise null. */
  readonly suspendedFor: string | null;
  /** Why this node cannot read its snapshot from the object store, or write the next one; null: it can, or has no need to. */
  readonly objectTrouble: string | null;
  readonly epoch: number;
  /** The name of its last owner; null before the first. */
  readonly owner: string | null;
  /** Claims of all nodes since it was last recovered. */
  readonly tries: number;
  /** How often this process has claimed it. */
  readonly takeovers: number;
  /** What this node, as its standby, would have to read from PostgreSQL for a takeover; null: it is not its standby. */
  readonly missing: Missing | null;
  /** The newest format of journals that its owners may have written; 0 before the first poll. */
  readonly format: number;
}

/** What this node knows of a shard besides the last poll. */
export interface OwnShard {
  /** Undefined: this node does not have it. */
  readonly state: OwnState | undefined;
  /** Why its writes are refused: the lease has run out, or PostgreSQL does not take its journal. */
  readonly suspendedFor: string | undefined;
  readonly objectTrouble?: string | undefined;
  readonly takeovers: number;
  /** Undefined: this node does not follow it. */
  readonly missing: Missing | undefined;
  /** The newest format that this node reads. */
  readonly readFormat: number;
}

/** The figures of a shard by the last poll; before the first one it is a `standby` of epoch 0. */
export function shardFigures(shard: number, view: ClusterView | undefined, own: OwnShard): ShardFigures {
  const row = view && shardIn(view, shard);
  const condition = conditionOf(row, view, own);
  return {
    shard,
    condition,
    suspendedFor: condition === "suspended" ? (own.suspendedFor ?? null) : null,
    objectTrouble: own.state === undefined ? null : (own.objectTrouble ?? null),
    epoch: row?.epoch ?? 0,
    owner: row?.ownerName ?? null,
    tries: row?.tries ?? 0,
    takeovers: own.takeovers,
    missing: own.missing ?? null,
    format: row?.writerFormat ?? 0,
  };
}

function conditionOf(row: ShardView | undefined, view: ClusterView | undefined, own: OwnShard): ShardCondition {
  switch (own.state) {
    case "claiming":
    case "loading":
      return "recovering";
    case "serving":
      return own.suspendedFor === undefined ? "serving" : "suspended";
    case "draining":
      return "draining";
    case undefined:
      if (row === undefined || view === undefined || !isFree(row, view.nodes)) return "standby";
      if (row.tries >= RECOVERY_TRIES_MAX) return "broken";
      return canRead({ format: own.readFormat }, row) ? "free" : "unreadable";
    default: {
      const never: never = own.state;
      throw new Error(`Unknown state: ${String(never)}`);
    }
  }
}

/** Why a shard makes the node not ready, besides the state of its area, for the name of one; undefined: it does not. */
export function reasonOf(
  area: string,
  { shard, condition, suspendedFor, objectTrouble, owner, format }: ShardFigures,
): string | undefined {
  switch (condition) {
    case "suspended":
      return `${area} is suspended: ${suspendedFor}`;
    case "recovering":
      return objectTrouble === null
        ? undefined
        : `${area} waits for its snapshot in the object store: ${objectTrouble}`;
    case "broken":
      return `${area} could not be recovered ${RECOVERY_TRIES_MAX} times: see the log of ${owner ?? "its nodes"}, then run larder cluster retry ${shard}`;
    case "unreadable":
      return `${area} has no owner, and was written in format ${format}, which this version does not read: start a node of the newer version`;
    case "free":
      return `${area} has no owner`;
    default:
      return undefined;
  }
}

/** Registers what the main thread knows of the shards of an area. */
export function measureShards(metrics: Metrics, read: () => readonly ShardFigures[]): void {
  const byShard = (name: string, help: string, value: (figures: ShardFigures) => number): void => {
    metrics.readings({ name, help, kind: "gauge", labelNames: ["shard"] }, () =>
      read().map((figures) => ({ labelValues: [String(figures.shard)], values: [value(figures)] })),
    );
  };
  metrics.readings(
    {
      name: "larder_cluster_shard_state",
      help: `1 for the state of the shard at this node, 0 for the others: ${shardConditions.join(", ")}`,
      kind: "gauge",
      labelNames: ["shard", "state"],
    },
    () =>
      read().flatMap(({ shard, condition }) =>
        shardConditions.map((each) => ({
          labelValues: [String(shard), each],
          values: [each === condition ? 1 : 0],
        })),
      ),
  );
  byShard("larder_cluster_shard_epoch", "Claims of the shard by all nodes since it was made", ({ epoch }) => epoch);
  byShard("larder_cluster_shard_tries", "Claims of the shard since it was last recovered", ({ tries }) => tries);
  byShard(
    "larder_cluster_shard_object_trouble",
    "1 while this node cannot read the snapshot of the shard from the object store, or write the next one",
    ({ objectTrouble }) => (objectTrouble === null ? 0 : 1),
  );
  const missing = (name: string, help: string, value: (missing: Missing) => number): void => {
    metrics.readings({ name, help, kind: "gauge", labelNames: ["shard"] }, () =>
      read().flatMap((figures) =>
        figures.missing === null ? [] : [{ labelValues: [String(figures.shard)], values: [value(figures.missing)] }],
      ),
    );
  };
  missing(
    "larder_cluster_standby_missing_bytes",
    "What this node, the standby of the shard, would have to read from PostgreSQL for a takeover",
    ({ bytes }) => bytes,
  );
  missing(
    "larder_cluster_standby_missing_seconds",
    "How long this node, the standby of the shard, has not had all of it",
    ({ ms }) => ms / 1_000,
  );
  metrics.readings(
    {
      name: "larder_cluster_shard_takeovers_total",
      help: "Claims of the shard by this process",
      kind: "counter",
      labelNames: ["shard"],
    },
    () => read().map(({ shard, takeovers }) => ({ labelValues: [String(shard)], values: [takeovers] })),
  );
}

export interface NodeFigures {
  readonly leaseMs: number;
  readonly skewMs: number;
  readonly livingNodes: number;
}

/** Registers what a node knows of itself and of the others. */
export function measureNode(metrics: Metrics, read: () => NodeFigures): void {
  metrics.reading(
    "larder_cluster_lease_seconds",
    "Rest of the lease of this node; 0 when it has run out",
    () => read().leaseMs / 1_000,
  );
  metrics.reading(
    "larder_cluster_clock_skew_seconds",
    "How far the clock of this node is ahead of PostgreSQL's; negative: behind",
    () => read().skewMs / 1_000,
  );
  metrics.reading(
    "larder_cluster_living_nodes",
    "Nodes that are not declared dead, by the last poll",
    () => read().livingNodes,
  );
}

export interface ShippingFigures {
  readonly unshippedBytes: number;
  /** The age of the oldest write that is not committed. */
  readonly lagMs: number;
  readonly healCount: number;
}

/** Registers the commits of a shard, in the thread of its area. Returns the histogram of their times in seconds. */
export function measureShipping(metrics: Metrics, shard: number, read: () => ShippingFigures): Histogram {
  const labelNames = ["shard"];
  const labelValues = [String(shard)];
  const one = (
    facts: { readonly name: string; readonly help: string; readonly kind: "gauge" | "counter" },
    value: (figures: ShippingFigures) => number,
  ): void => metrics.readings({ ...facts, labelNames }, () => [{ labelValues, values: [value(read())] }]);
  one(
    {
      name: "larder_cluster_shard_unshipped_bytes",
      help: "Bytes of the journal that PostgreSQL has not committed",
      kind: "gauge",
    },
    ({ unshippedBytes }) => unshippedBytes,
  );
  one(
    {
      name: "larder_cluster_shard_unshipped_seconds",
      help: "Age of the oldest write that PostgreSQL has not committed",
      kind: "gauge",
    },
    ({ lagMs }) => lagMs / 1_000,
  );
  one(
    {
      name: "larder_cluster_shard_heals_total",
      help: "Times that PostgreSQL had lost rows that it had acknowledged, and they were sent again",
      kind: "counter",
    },
    ({ healCount }) => healCount,
  );
  return metrics
    .histogram(
      "larder_cluster_shard_commit_seconds",
      "Time of each commit of the journal in PostgreSQL, with its repetitions",
      { labelNames },
    )
    .with(...labelValues);
}

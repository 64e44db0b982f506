/** Metrics of `larder follow` while the directory follows: `/metrics` of the server has others after a promotion. */
import type { Metrics } from "../../kernel/metrics.ts";
import type { AppliedFigures } from "../../replication/follow/followed-area.ts";
import type { FollowPhase, FollowRecord } from "../../replication/follow/record.ts";
import type { StoreRequestCounts } from "../../replication/objects/store-requests.ts";
import { measureStoreRequests } from "./copy.ts";

/** `promoting`: a promotion is under way. */
export type FollowerPhase = FollowPhase | "promoting";

export interface MeasuredFollower {
  phase(): FollowerPhase;
  record(): FollowRecord;
  /** Attempts that failed since the start. */
  failures(): number;
  requests(): StoreRequestCounts;
}

const phases = ["waiting", "fetching", "following", "promoting"] as const satisfies readonly FollowerPhase[];

export function measureFollower(metrics: Metrics, follower: MeasuredFollower): void {
  metrics.readings(
    {
      name: "larder_follower_phase",
      help: "1 for the state of the directory: waiting (the copy has nothing yet), fetching (it cannot be promoted), following or promoting",
      kind: "gauge",
      labelNames: ["phase"],
    },
    () => phases.map((phase) => ({ labelValues: [phase], values: [phase === follower.phase() ? 1 : 0] })),
  );
  metrics.reading(
    "larder_follower_generation",
    "Generation of the copy that the directory follows; 0: none yet",
    () => follower.record().generation,
  );
  metrics.reading(
    "larder_follower_checked_timestamp_seconds",
    "When the store was last read without a failure, in Unix time; 0: never",
    () => follower.record().checkedAtMs / 1_000,
  );
  metrics.reading(
    "larder_follower_failures_total",
    "Attempts to read the copy that failed",
    () => follower.failures(),
    "counter",
  );
  measureStoreRequests(metrics, () => follower.requests());
}

export interface MeasuredFollowedArea {
  nowMs(): number;
  /** As in the record of the directory; undefined: not known yet. */
  completeToMs(): number | undefined;
  /** Undefined: nothing was applied yet. */
  applied(): AppliedFigures | undefined;
}

export function measureFollowedArea(metrics: Metrics, area: MeasuredFollowedArea): void {
  metrics.readings(
    {
      name: "larder_follower_behind_seconds",
      help: "Time since the moment to which the area is complete, by the clocks of both machines: a promotion loses no write that is older",
      kind: "gauge",
      labelNames: [],
    },
    () => {
      const completeToMs = area.completeToMs() ?? 0;
      // No figure is better than one since 1970.
      if (completeToMs === 0) return [];
      return [{ labelValues: [], values: [Math.max(0, area.nowMs() - completeToMs) / 1_000] }];
    },
  );
  metrics.reading(
    "larder_follower_behind_bytes",
    "Bytes that the last look at the copy found, and that the directory does not have yet",
    () => area.applied()?.missingBytes ?? 0,
  );
  metrics.reading(
    "larder_follower_applied_timestamp_seconds",
    "When the last object of the copy was applied, in Unix time; 0: none since the start",
    () => (area.applied()?.appliedAtMs ?? 0) / 1_000,
  );
  metrics.reading(
    "larder_follower_applied_objects_total",
    "Objects of the copy that were read and applied",
    () => area.applied()?.objects ?? 0,
    "counter",
  );
  metrics.reading(
    "larder_follower_applied_bytes_total",
    "Bytes of these objects that were read",
    () => area.applied()?.bytes ?? 0,
    "counter",
  );
}

/** Rules about the settings of the copy that depend on one another. */
import { type Combination, clusterPlaceOf, isClustered } from "../../cluster/setting-rules.ts";
import { INTERVAL_MS, KEEP_MS } from "./copy-settings.ts";

export const copyCombinations: readonly Combination[] = [
  {
    reads: ["replicate", "cluster", "clusterUrl"],
    problemsOf(run) {
      if (run.settings.replicate === undefined || !isClustered(run)) return [];
      return [
        `${run.origins.replicate.place} and ${clusterPlaceOf(run)} cannot both be set: the PostgreSQL of a cluster has its data, so back that up`,
      ];
    },
  },
  {
    reads: ["replicate", "dataDirectory"],
    problemsOf({ settings, origins }) {
      if (settings.replicate === undefined || settings.dataDirectory !== undefined) return [];
      return [`${origins.replicate.place} needs a data directory: set ${origins.dataDirectory.place}, or leave it out`];
    },
  },
  {
    reads: ["replicate", "fsync"],
    problemsOf({ settings, origins }) {
      if (settings.replicate === undefined || settings.fsync !== "no") return [];
      return [
        `${origins.replicate.place} copies synced writes only, and ${origins.fsync.place} no does not sync: use always or everysec`,
      ];
    },
  },
  {
    reads: ["replicate", "replicateKeepMs", "replicateIntervalMs"],
    problemsOf({ settings, origins }) {
      if (settings.replicate !== undefined) return [];
      const idle = [
        ...(settings.replicateKeepMs === KEEP_MS ? [] : [origins.replicateKeepMs]),
        ...(settings.replicateIntervalMs === INTERVAL_MS ? [] : [origins.replicateIntervalMs]),
      ];
      return idle.map(
        ({ place }) => `${place} has no effect without ${origins.replicate.place}: set that as well, or leave it out`,
      );
    },
  },
];

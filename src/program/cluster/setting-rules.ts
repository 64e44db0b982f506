/** Rules about the settings of a cluster that depend on one another. */
import { hostname } from "node:os";
import { TAKEOVER_WAIT_MS } from "../settings/cluster-settings.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import type { SettingName } from "../settings/settings.ts";
import { BadValue, parseNodeName } from "../settings/values.ts";
import type { ConnectionPlan } from "./connection-plan.ts";

/** A rule about settings that depend on one another. */
export interface Combination {
  /** If one of them is invalid, the combination is not checked. */
  readonly reads: readonly SettingName[];
  problemsOf(run: RunSettings): readonly string[];
}

/** PostgreSQL of the cluster; undefined: a single server. */
export function clusterConnectionOf({ settings }: RunSettings): ConnectionPlan | undefined {
  return settings.clusterUrl ?? settings.cluster;
}

export function isClustered(run: RunSettings): boolean {
  return clusterConnectionOf(run) !== undefined;
}

/** Where the URL of the cluster was set. */
export function clusterPlaceOf({ settings, origins }: RunSettings): string {
  return (settings.clusterUrl === undefined ? origins.cluster : origins.clusterUrl).place;
}

export function nodeNameOf({ settings }: RunSettings): string {
  return settings.clusterNode ?? hostname();
}

const URLS = ["cluster", "clusterUrl"] as const;

export const clusterCombinations: readonly Combination[] = [
  {
    reads: URLS,
    problemsOf({ settings, origins }) {
      if (settings.cluster === undefined || settings.clusterUrl === undefined) return [];
      return [`${origins.cluster.place} and ${origins.clusterUrl.place} are both set: keep one of them`];
    },
  },
  {
    reads: URLS,
    problemsOf(run) {
      if (run.command !== "dev" || !isClustered(run)) return [];
      return [`${clusterPlaceOf(run)} has no effect in larder dev: start the node with larder serve, or leave it out`];
    },
  },
  {
    reads: [...URLS, "fsync"],
    problemsOf(run) {
      if (run.settings.fsync !== "no" || !isClustered(run)) return [];
      return [
        `${run.origins.fsync.place} no cannot be set in a cluster, where a write would be lost with its node: use always or everysec`,
      ];
    },
  },
  {
    reads: [...URLS, "clusterNode"],
    problemsOf(run) {
      if (!isClustered(run) || run.settings.clusterNode !== undefined) return [];
      try {
        parseNodeName(hostname());
        return [];
      } catch (fault) {
        if (!(fault instanceof BadValue)) throw fault;
        return [`The name of this machine cannot name a node: set ${run.origins.clusterNode.place}`];
      }
    },
  },
  {
    reads: [
      ...URLS,
      "clusterNode",
      "clusterReads",
      "clusterAddress",
      "clusterKey",
      "clusterKeyOld",
      "engineThreads",
      "front",
      "ownerHeader",
      "standby",
    ],
    problemsOf(run) {
      if (isClustered(run)) return [];
      const { settings, origins } = run;
      const idle = [
        ...(settings.clusterNode === undefined ? [] : [origins.clusterNode]),
        ...(settings.clusterReads === "lease" ? [] : [origins.clusterReads]),
        ...(settings.clusterAddress === undefined ? [] : [origins.clusterAddress]),
        ...(settings.clusterKey === undefined ? [] : [origins.clusterKey]),
        ...(settings.clusterKeyOld === undefined ? [] : [origins.clusterKeyOld]),
        ...(settings.engineThreads === 1 ? [] : [origins.engineThreads]),
        ...(settings.front ? [origins.front] : []),
        ...(settings.ownerHeader ? [origins.ownerHeader] : []),
        ...(settings.standby ? [] : [origins.standby]),
      ];
      return idle.map(
        ({ place }) => `${place} has no effect without ${clusterPlaceOf(run)}: set that as well, or leave it out`,
      );
    },
  },
  {
    reads: ["clusterKey", "clusterKeyOld"],
    problemsOf({ settings, origins }) {
      const { clusterKey, clusterKeyOld } = settings;
      if (clusterKeyOld === undefined) return [];
      const { place } = origins.clusterKeyOld;
      if (clusterKey === undefined)
        return [`${place} has no effect without ${origins.clusterKey.place}: set that as well`];
      if (clusterKey !== clusterKeyOld) return [];
      return [`${place} is the same key as ${origins.clusterKey.place}: leave it out, or set it to the key before`];
    },
  },
  {
    reads: ["front", "clusterAddress"],
    problemsOf({ settings, origins }) {
      if (!settings.front || settings.clusterAddress !== undefined) return [];
      return [`${origins.front.place} needs ${origins.clusterAddress.place}: without it this node passes nothing on`];
    },
  },
  {
    reads: ["clusterAddress", "takeoverWaitMs"],
    problemsOf({ settings, origins }) {
      if (settings.takeoverWaitMs === TAKEOVER_WAIT_MS || settings.clusterAddress !== undefined) return [];
      return [
        `${origins.takeoverWaitMs.place} has no effect without ${origins.clusterAddress.place}: set that as well, or leave it out`,
      ];
    },
  },
];

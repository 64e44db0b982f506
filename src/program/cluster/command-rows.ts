/** `larder cluster …`, as rows of the table of commands. They need PostgreSQL, and no running node. */
import { type CommandCall, type CommandRow, jsonOption } from "../cli/command-row.ts";
import { StartRefusal } from "../refusal.ts";
import type { ConnectionPlan } from "./connection-plan.ts";
import { clusterConnectionOf, clusterPlaceOf } from "./setting-rules.ts";

const mainSettings = ["cluster", "clusterUrl", "config"] as const;

export const clusterRows: readonly CommandRow[] = [
  {
    words: "cluster init",
    group: "Cluster",
    operands: [],
    options: [],
    meaning: "makes the tables of a cluster in a database of PostgreSQL, which stay as they are if they exist",
    example: "larder cluster init --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { initCluster } = await import("./init.ts");
      const { plan, place } = connectionOf(call);
      for (const line of await initCluster(plan, place)) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster status",
    group: "Cluster",
    operands: [],
    options: [jsonOption],
    meaning:
      "prints the nodes and shards of a cluster, after it has watched for 3 seconds; exits with 1 unless living nodes serve all shards",
    example: "larder cluster status --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { isWhole, printStatus, readClusterStatus } = await import("./status.ts");
      const { plan, place } = connectionOf(call);
      const status = await readClusterStatus(plan, place);
      const lines = call.options.has("json") ? [JSON.stringify(status, undefined, 2)] : printStatus(status);
      for (const line of lines) call.print(line);
      return isWhole(status) ? 0 : 1;
    },
  },
  {
    words: "cluster retry",
    group: "Cluster",
    operands: ["<shard>"],
    options: [],
    meaning: "lets nodes claim a broken shard again, which could not be recovered three times",
    example: "larder cluster retry 1 --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { retryShard } = await import("./status.ts");
      const { plan, place } = connectionOf(call);
      for (const line of await retryShard(plan, place, call.operands[0] ?? "")) call.print(line);
      return 0;
    },
  },
];

/** Throws a `StartRefusal` if the settings name no cluster. */
function connectionOf({ run }: CommandCall): { readonly plan: ConnectionPlan; readonly place: string } {
  const plan = clusterConnectionOf(run);
  const place = clusterPlaceOf(run);
  if (plan === undefined)
    throw new StartRefusal(`No cluster is named: set ${place}, or the variable LARDER_CLUSTER_URL`, 2);
  return { plan, place };
}

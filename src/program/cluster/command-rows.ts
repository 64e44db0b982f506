/** `larder cluster …`, as rows of the table of commands. Most need PostgreSQL, and none a running node. */
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
    options: [
      {
        name: "shards",
        flag: "--shards",
        argument: "count",
        meaning: "the shards of each area of a new cluster, 1 by default",
      },
    ],
    meaning:
      "makes the tables of a cluster in a database of PostgreSQL; those of a cluster that exists keep their contents, and become those of this version",
    example: "larder cluster init --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { initCluster, parseShardCount } = await import("./init.ts");
      const shards = parseShardCount(call.options.get("shards") ?? "1", "--shards");
      for (const line of await initCluster({ ...connectionOf(call), shards })) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster add-shards",
    group: "Cluster",
    operands: ["<area>", "<count>"],
    options: [],
    meaning: "adds shards to an area of a cluster, which new databases, indexes or users get",
    example: "larder cluster add-shards store 2 --cluster postgres://larder@127.0.0.1/larder",
    operandValues: ["store", "messaging", "vector"],
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { addShards } = await import("./administer/add-shards.ts");
      for (const line of await addShards(connectionOf(call), call.operands)) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster status",
    group: "Cluster",
    operands: [],
    options: [jsonOption],
    meaning:
      "prints the nodes and shards of a cluster, and whether the others have the memory for those of each node, after it has watched for 3 seconds; exits with 1 unless living nodes serve all shards",
    example: "larder cluster status --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { isWhole, printStatus, readClusterStatus } = await import("./status/status.ts");
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
      const { retryShard } = await import("./status/status.ts");
      const { plan, place } = connectionOf(call);
      for (const line of await retryShard(plan, place, call.operands[0] ?? "")) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster pin",
    group: "Cluster",
    operands: ["<shard>", "[<node>]"],
    options: [],
    meaning: "says which node should serve a shard; without a node, the order of the nodes decides again",
    example: "larder cluster pin 4 b --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { pinShard } = await import("./administer/place-shards.ts");
      for (const line of await pinShard(connectionOf(call), call.operands)) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster move",
    group: "Cluster",
    operands: ["<shard>", "<node>"],
    options: [],
    meaning: "pins a shard to a node, and waits until that node serves it",
    example: "larder cluster move 4 b --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { moveShard } = await import("./administer/place-shards.ts");
      return moveShard(connectionOf(call), call.operands, call.print);
    },
  },
  {
    words: "cluster drain",
    group: "Cluster",
    operands: ["<node>"],
    options: [],
    meaning:
      "lets a node give its shards to other nodes and get no more, also after a restart, and waits until it has none",
    example: "larder cluster drain b --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { drainNode } = await import("./administer/place-shards.ts");
      return drainNode(connectionOf(call), call.operands, call.print);
    },
  },
  {
    words: "cluster undrain",
    group: "Cluster",
    operands: ["<node>"],
    options: [],
    meaning: "lets a node that was drained have shards again",
    example: "larder cluster undrain b --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { undrainNode } = await import("./administer/place-shards.ts");
      for (const line of await undrainNode(connectionOf(call), call.operands)) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster move-tenant",
    group: "Cluster",
    operands: ["<area>/<tenant>", "<shard>"],
    options: [],
    meaning:
      "moves a database, an index or a user to a shard that has no others, while nodes run; its writes are refused meanwhile, and the command prints how long that was",
    example: "larder cluster move-tenant store/shop 4 --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { moveTenant } = await import("./administer/move/move-tenant.ts");
      return moveTenant(connectionOf(call), call.operands, call.print);
    },
  },
  {
    words: "cluster rotate-key",
    group: "Cluster",
    operands: [],
    options: [],
    meaning:
      "makes another key by which the nodes of a cluster know each other; nodes that run learn it, and accept the one before until the next rotation",
    example: "larder cluster rotate-key --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { rotateKey } = await import("./administer/rotate-key.ts");
      for (const line of await rotateKey(connectionOf(call))) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster files",
    group: "Cluster",
    operands: ["<address>|off"],
    options: [],
    meaning:
      "lets the snapshots of all shards go to an object store, s3://bucket/prefix or a directory file:///mounted/path that all nodes have, and not into PostgreSQL; each node takes the credentials from its environment",
    example: "larder cluster files s3://backups/larder --cluster postgres://larder@127.0.0.1/larder",
    operandValues: ["off"],
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { setFiles } = await import("./administer/files.ts");
      for (const line of await setFiles(connectionOf(call), call.operands[0] ?? "")) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster change-key",
    group: "Cluster",
    operands: [],
    options: [],
    meaning:
      "seals the tokens of databases, indexes and users that were made at run time again, with LARDER_CLUSTER_KEY instead of LARDER_CLUSTER_KEY_OLD, when each node has both",
    example: "larder cluster change-key --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { changeKey } = await import("./administer/change-key.ts");
      for (const line of await changeKey(call.run, connectionOf(call))) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster grants",
    group: "Cluster",
    operands: ["<role>"],
    options: [],
    meaning: "prints the statements that give a role of PostgreSQL the rights of a node, and no more",
    example: "larder cluster grants larder_node",
    ignoresSettings: true,
    defaults: "serve",
    async run({ operands: [role = ""], print }) {
      const { printGrants } = await import("./administer/grants.ts");
      for (const line of printGrants(role)) print(line);
      return 0;
    },
  },
  {
    words: "cluster import",
    group: "Cluster",
    operands: ["<data directory>"],
    options: [],
    meaning: "makes the data of a stopped single server the data of a cluster whose areas are empty",
    example: "larder cluster import /var/lib/larder --cluster postgres://larder@127.0.0.1/larder",
    operandValues: "files",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { importDirectory } = await import("./administer/import/import.ts");
      for (const line of await importDirectory(call.run, connectionOf(call), call.operands[0] ?? "")) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster export-shard",
    group: "Cluster",
    operands: ["<area or shard>", "<directory>"],
    options: [],
    meaning: "copies a shard of a cluster, by its number or its area, into the data directory of a single server",
    example: "larder cluster export-shard store copy --cluster postgres://larder@127.0.0.1/larder",
    operandValues: "files",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { exportShard } = await import("./administer/export-shard.ts");
      for (const line of await exportShard(call.run, connectionOf(call), call.operands)) call.print(line);
      return 0;
    },
  },
  {
    words: "cluster new-branch",
    group: "Cluster",
    operands: [],
    options: [],
    meaning: "must follow a restore of PostgreSQL to an earlier time: nodes then drop what they have cached",
    example: "larder cluster new-branch --cluster postgres://larder@127.0.0.1/larder",
    mainSettings,
    defaults: "serve",
    async run(call) {
      const { beginBranch } = await import("./administer/new-branch.ts");
      for (const line of await beginBranch(connectionOf(call))) call.print(line);
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

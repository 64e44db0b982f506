/** Settings of a node of a cluster, one row each; part of the table in settings.ts. */
import { parseClusterUrl, parseSecretClusterUrl } from "../cluster/connection-plan.ts";
import type { Setting } from "./setting.ts";
import { parseChoice, parseNodeName } from "./values.ts";

export const clusterSettingRows = {
  cluster: {
    group: "Cluster",
    flag: "--cluster",
    environment: ["LARDER_CLUSTER"],
    fileKey: "cluster",
    argument: "<url>",
    meaning:
      "PostgreSQL of the cluster that this server is a node of, postgres://<user>@<host>,<host>/<database>, without a password; the data directory is then a cache",
    default: undefined,
    defaultMeaning: "none: a single server",
    parse: parseClusterUrl,
  },
  clusterUrl: {
    group: "Cluster",
    environment: ["LARDER_CLUSTER_URL"],
    argument: "<url>",
    meaning: "The same with a password: postgres://<user>:<password>@<host>/<database>",
    default: undefined,
    defaultMeaning: "none",
    secret: true,
    parse: parseSecretClusterUrl,
  },
  clusterNode: {
    group: "Cluster",
    flag: "--cluster-node",
    environment: ["LARDER_CLUSTER_NODE"],
    fileKey: "clusterNode",
    argument: "<name>",
    meaning: "Name of this node, which no other node of the cluster has",
    default: undefined,
    defaultMeaning: "the name of the machine",
    parse: parseNodeName,
  },
  clusterReads: {
    group: "Cluster",
    flag: "--reads",
    environment: ["LARDER_READS"],
    fileKey: "reads",
    argument: "lease|confirm",
    meaning:
      "What a node needs before it answers a read: a lease that it counts by its own clocks, or a commit in PostgreSQL after the read, which trusts no clock and takes one round trip",
    default: "lease",
    parse: parseChoice(["lease", "confirm"]),
  },
} as const satisfies Record<string, Setting<unknown>>;

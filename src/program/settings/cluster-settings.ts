/** Settings of a node of a cluster, one row each; part of the table in settings.ts. */
import { isIP } from "node:net";
import { isHostName } from "../../edge/outbound/host-table.ts";
import { parseClusterUrl, parseSecretClusterUrl } from "../cluster/connection-plan.ts";
import type { Setting } from "./setting.ts";
import {
  BadValue,
  type Parser,
  PORT_MAX,
  parseChoice,
  parseCount,
  parseDurationMs,
  parseNodeName,
  parser,
  parseSwitch,
  printDuration,
} from "./values.ts";

/** The default: a takeover after a crash of the owner takes about this long. */
export const TAKEOVER_WAIT_MS = 10_000;

/** More than a machine has cores that an area could use. */
const ENGINE_THREADS_MAX = 64;

/** Where a node accepts forwarded requests. */
export interface HostAndPort {
  /** An IP address or a host name, without brackets. */
  readonly host: string;
  /** 0: any free ports. */
  readonly port: number;
}

/** A port, and the two after it. */
const FIRST_PORT_MAX = PORT_MAX - 2;
const HOST_AND_PORT = /^(?:\[([\da-fA-F:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/;
/** Addresses of all interfaces, which other machines cannot call. */
const EVERY_INTERFACE: readonly string[] = ["0.0.0.0", "::"];

const parseClusterAddress: Parser<HostAndPort> = parser(
  { type: "string", pattern: HOST_AND_PORT.source, examples: ["10.0.0.1:7400", "[fd00::1]:7400"] },
  (text) => {
    const [, bracketed, name = bracketed ?? "", port] = HOST_AND_PORT.exec(text) ?? [];
    const isHost = bracketed === undefined ? isIP(name) === 4 || isHostName(name) : isIP(name) === 6;
    if (!isHost || Number(port) > FIRST_PORT_MAX)
      throw new BadValue(
        `${JSON.stringify(text)} is not an address with a port from 0 to ${FIRST_PORT_MAX}, such as 10.0.0.1:7400 or [fd00::1]:7400`,
      );
    if (EVERY_INTERFACE.includes(name))
      throw new BadValue(`${name} cannot be called by other nodes: name one address of this machine`);
    return { host: name, port: Number(port) };
  },
);

const KEY = /^[A-Za-z0-9+/]{43}=$/;
/** Random bytes that differ less are one in a number with more than 30 digits. */
const DIFFERENT_BYTES_MIN = 12;

/** 32 random bytes in base64. */
export const parseSecretKey: Parser<string> = parser({ type: "string", pattern: KEY.source }, (text) => {
  if (!KEY.test(text)) throw new BadValue("the key is not 32 bytes in base64: make one with openssl rand -base64 32");
  if (new Set(Buffer.from(text, "base64")).size < DIFFERENT_BYTES_MIN)
    throw new BadValue("the key is not random: make one with openssl rand -base64 32");
  return text;
});

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
  clusterKey: {
    group: "Cluster",
    environment: ["LARDER_CLUSTER_KEY"],
    argument: "<key>",
    meaning:
      "Key of the cluster, the same on every node: 32 random bytes in base64, as openssl rand -base64 32 prints; it seals the tokens of databases, indexes and users that are made at run time",
    default: undefined,
    defaultMeaning: "none: these are made in the configuration only",
    secret: true,
    parse: parseSecretKey,
  },
  clusterKeyOld: {
    group: "Cluster",
    environment: ["LARDER_CLUSTER_KEY_OLD"],
    argument: "<key>",
    meaning:
      "Key of the cluster before LARDER_CLUSTER_KEY, while larder cluster change-key has not run, and until each node is started again: what is sealed with either is opened",
    default: undefined,
    defaultMeaning: "none",
    secret: true,
    parse: parseSecretKey,
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
  clusterAddress: {
    group: "Cluster",
    flag: "--cluster-address",
    environment: ["LARDER_CLUSTER_ADDRESS"],
    fileKey: "clusterAddress",
    argument: "<host>:<port>",
    meaning:
      "Address of this node for the other nodes, which forward requests to it: three ports from this one on, for the store, messaging and the vector index; the connections are encrypted",
    default: undefined,
    defaultMeaning: "none: requests for areas of other nodes are refused with 421",
    parse: parseClusterAddress,
  },
  front: {
    group: "Cluster",
    flag: "--front",
    environment: ["LARDER_FRONT"],
    fileKey: "front",
    argument: "on|off",
    meaning:
      "Serve no shard, and be the standby of none: only read the requests of clients, and pass them on to the nodes that serve their shards; needs a cluster address",
    default: "off",
    parse: parseSwitch,
  },
  takeoverWaitMs: {
    group: "Cluster",
    flag: "--takeover-wait",
    environment: ["LARDER_TAKEOVER_WAIT"],
    fileKey: "takeoverWait",
    argument: "<time>",
    meaning:
      "How long a request, or a login over RESP, waits on a node with a cluster address while no node serves its area; 0s refuses it at once",
    default: printDuration(TAKEOVER_WAIT_MS),
    parse: parseDurationMs(0, 600_000),
  },
  engineThreads: {
    group: "Cluster",
    flag: "--engine-threads",
    environment: ["LARDER_ENGINE_THREADS"],
    fileKey: "engineThreads",
    argument: "<count>",
    meaning:
      "Threads for the shards of each area on this node, at most one for each shard; they share the memory of the area in equal parts, and the shards of the store stay in one thread while the RESP port is set",
    default: "1",
    parse: parseCount(1, ENGINE_THREADS_MAX),
  },
  standby: {
    group: "Cluster",
    flag: "--standby",
    environment: ["LARDER_STANDBY"],
    fileKey: "standby",
    argument: "on|off",
    meaning:
      "Keep the files of those shards that this node would take over from another one, so that a takeover reads little from PostgreSQL and the log of messages goes on; they take disk space, and each byte is read from PostgreSQL once more",
    default: "on",
    parse: parseSwitch,
  },
  ownerHeader: {
    group: "Cluster",
    flag: "--owner-header",
    environment: ["LARDER_OWNER_HEADER"],
    fileKey: "ownerHeader",
    argument: "on|off",
    meaning:
      "Name the node that made an answer in the header Larder-Owner, by an opaque name that larder cluster status shows, so that a load balancer can go straight to it",
    default: "off",
    parse: parseSwitch,
  },
} as const satisfies Record<string, Setting<unknown>>;

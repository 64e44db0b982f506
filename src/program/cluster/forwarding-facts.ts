/** What a node needs to forward requests: the owner of each area, the key of the cluster, and its own address. */
import { hkdfSync } from "node:crypto";
import type { ClusterView } from "../../cluster/log-store/log-store.ts";
import type { AreaOwner } from "../../edge/forward/front.ts";
import { type AreaName, areaNames } from "../areas/area.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { type ClusterFacts, firstShardOf } from "./cluster-facts.ts";
import { parseNodeAddress } from "./node-address.ts";
import type { ForwardingPlan } from "./shard-plan.ts";

const KEY_BYTES = 32;
/** Raised when the signature of requests changes (edge/forward/signature.ts). */
const KEY_PURPOSE = "larder forwarding 1";

/**
 * The key that all nodes of the cluster share, and nobody else has. It is derived from the seeds of the first shards of the
 * areas, 24 secret bytes that every node reads at its start, and that stay when shards are added: tokens differ between nodes while an administrator changes them, and the
 * admin token always may. Who can read the seeds in PostgreSQL can read all data there.
 */
export function forwardingKeyOf(facts: Pick<ClusterFacts, "id" | "branch" | "shards">): Uint8Array {
  const { id, branch } = facts;
  const seeds = Buffer.concat(areaNames.map((area) => firstShardOf(facts, area).hashSeed));
  return new Uint8Array(hkdfSync("sha256", seeds, `${id} ${branch}`, KEY_PURPOSE, KEY_BYTES));
}

/** Undefined if the node has no cluster address. Each area has a port of its own, in the order of `areaNames`. */
export function forwardingPlanOf(
  area: AreaName,
  { settings, origins }: RunSettings,
  facts: ClusterFacts,
): ForwardingPlan | undefined {
  const { clusterAddress, takeoverWaitMs } = settings;
  if (clusterAddress === undefined) return undefined;
  const { host, port } = clusterAddress;
  return {
    key: forwardingKeyOf(facts),
    host,
    port: port === 0 ? 0 : port + areaNames.indexOf(area),
    place: origins.clusterAddress.place,
    waitMs: takeoverWaitMs,
  };
}

/** Who serves a shard, for the node with the life `own`. */
export function ownerOf(
  { nodes, shards }: ClusterView,
  { area, shard, own }: { readonly area: AreaName; readonly shard: number; readonly own: string },
): AreaOwner {
  const life = shards.find((each) => each.shard === shard)?.owner;
  const node = nodes.find((each) => each.life === life);
  if (life === undefined || life === own || node === undefined || node.isDead) return { kind: "nobody" };
  const { cluster } = parseNodeAddress(node.address);
  if (cluster === undefined) return { kind: "unreachable" };
  return { kind: "node", at: { node: node.name, host: cluster.host, port: cluster.ports[area] } };
}

/** What a node needs to forward requests: the owner of each area, the key of the cluster, and its own address. */
import { createHmac, hkdfSync } from "node:crypto";
import type { ClusterView } from "../../cluster/log-store/log-store.ts";
import type { AreaOwner } from "../../edge/forward/front.ts";
import type { NamedKey } from "../../edge/http/shared-key.ts";
import { type AreaName, areaNames } from "../areas/area.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { type ClusterFacts, firstShardOf } from "./cluster-facts.ts";
import { parseNodeAddress } from "./node-address.ts";
import type { ForwardingPlan } from "./shard-plan.ts";

const KEY_BYTES = 32;
const FIRST_KEY = "larder-0";
/** Raised when nodes use the key in another way (edge/http/shared-key.ts). */
const KEY_PURPOSE = "larder forwarding 2";
/** Never raised, or load balancers would have to be told the names again. */
const OWNER_PURPOSE = "larder owner names 1";
const OWNER_NAME_DIGITS = 16;

/**
 * What all nodes of the cluster know and nobody else: the seeds of the first shards of the areas, 24 secret bytes that every
 * node reads at its start, and that stay when shards are added. Tokens differ between nodes while an administrator changes
 * them, and the admin token always may. Who can read the seeds in PostgreSQL can read all data there.
 */
function secretOf(facts: Pick<ClusterFacts, "shards">): Buffer {
  return Buffer.concat(areaNames.map((area) => firstShardOf(facts, area).hashSeed));
}

/** The key by which the nodes of the cluster know each other. */
export function forwardingKeyOf(facts: Pick<ClusterFacts, "id" | "branch" | "shards">): NamedKey {
  const { id, branch } = facts;
  const secret = hkdfSync("sha256", secretOf(facts), `${id} ${branch}`, KEY_PURPOSE, KEY_BYTES);
  return { name: FIRST_KEY, secret: new Uint8Array(secret) };
}

/**
 * What answers call a node, instead of its name: 16 hexadecimal digits, which stay as long as the node has its name, and from
 * which nobody outside of the cluster can tell that name.
 */
export function ownerNameOf(facts: Pick<ClusterFacts, "id" | "shards">, node: string): string {
  const key = hkdfSync("sha256", secretOf(facts), facts.id, OWNER_PURPOSE, KEY_BYTES);
  return createHmac("sha256", new Uint8Array(key)).update(node).digest("hex").slice(0, OWNER_NAME_DIGITS);
}

/** Undefined if the node has no cluster address. Each area has a port of its own, in the order of `areaNames`. */
export function forwardingPlanOf(
  area: AreaName,
  { settings, origins }: RunSettings,
  facts: ClusterFacts,
): ForwardingPlan | undefined {
  const { clusterAddress, takeoverWaitMs, transport } = settings;
  if (clusterAddress === undefined) return undefined;
  const { host, port } = clusterAddress;
  const key = forwardingKeyOf(facts);
  return {
    keys: { offered: key, accepted: [key] },
    host,
    port: port === 0 ? 0 : port + areaNames.indexOf(area),
    place: origins.clusterAddress.place,
    transport,
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

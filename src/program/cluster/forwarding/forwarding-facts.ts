/** What a node needs to forward requests: the owner of each area, and its own address. */
import { type ClusterView, shardIn } from "../../../cluster/log-store/log-store.ts";
import type { AreaOwner } from "../../../edge/forward/front.ts";
import { type AreaName, areaNames } from "../../areas/area.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import type { ClusterFacts } from "../cluster-facts.ts";
import { parseNodeAddress } from "../node-address.ts";
import type { ForwardingPlan } from "../shard-plan.ts";
import { firstKeys } from "./forwarding-keys.ts";

/** Undefined if the node has no cluster address. Each area has a port of its own, in the order of `areaNames`. */
export function forwardingPlanOf(
  area: AreaName,
  { settings, origins }: RunSettings,
  facts: ClusterFacts,
): ForwardingPlan | undefined {
  const { clusterAddress, takeoverWaitMs, transport } = settings;
  if (clusterAddress === undefined) return undefined;
  const { host, port } = clusterAddress;
  return {
    keys: firstKeys(facts),
    host,
    port: port === 0 ? 0 : port + areaNames.indexOf(area),
    place: origins.clusterAddress.place,
    transport,
    waitMs: takeoverWaitMs,
  };
}

/** Who serves a shard, for the node with the life `own`. */
export function ownerOf(
  view: ClusterView,
  { area, shard, own }: { readonly area: AreaName; readonly shard: number; readonly own: string },
): AreaOwner {
  const life = shardIn(view, shard)?.owner;
  const node = view.nodes.find((each) => each.life === life);
  if (life === undefined || life === own || node === undefined || node.isDead) return { kind: "nobody" };
  const { cluster } = parseNodeAddress(node.address);
  if (cluster === undefined) return { kind: "unreachable" };
  return { kind: "node", at: { node: node.name, host: cluster.host, port: cluster.ports[area] } };
}

/**
 * The keys by which the nodes of a cluster know each other, and their rotation.
 *
 * (1) Keys are counted from 0. A node accepts the newest key that it knows and the
 *     one before.
 * (2) A node offers the newest key that each other node accepts, so a rotation
 *     refuses no connection: first all nodes learn the key, and then they use it.
 * (3) A key is added only when each living node accepts the newest one
 *     (`administer/rotate-key.ts`), so no node is two keys behind.
 */
import { createHmac, hkdfSync } from "node:crypto";
import type { ClusterView } from "../../../cluster/log-store/log-store.ts";
import type { NamedKey } from "../../../edge/http/shared-key.ts";
import { areaNames } from "../../areas/area.ts";
import { type ClusterFacts, firstShardOf } from "../cluster-facts.ts";
import type { ForwardingKeys } from "../shard-plan.ts";

const KEY_BYTES = 32;
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
function seedsOf(facts: Pick<ClusterFacts, "shards">): Buffer {
  return Buffer.concat(areaNames.map((area) => firstShardOf(facts, area).hashSeed));
}

/** The keys that a node accepts, the newest one first. keeps (1) */
export function acceptedKeys(facts: Pick<ClusterFacts, "id" | "branch" | "shards" | "keys">): readonly NamedKey[] {
  const { id, branch, keys } = facts;
  const keyOf = (number: number, secret: Buffer | undefined): NamedKey => {
    const derived = hkdfSync("sha256", secret ?? seedsOf(facts), `${id} ${branch}`, KEY_PURPOSE, KEY_BYTES);
    return { name: `larder-${number}`, secret: new Uint8Array(derived) };
  };
  const newest = keyOf(keys.number, keys.newest);
  return keys.number === 0 ? [newest] : [newest, keyOf(keys.number - 1, keys.former)];
}

/** The keys of a node that does not know yet what others accept. */
export function firstKeys(facts: Pick<ClusterFacts, "id" | "branch" | "shards" | "keys">): ForwardingKeys {
  return forwardingKeys(facts, { acceptedByOthers: facts.keys.number - 1 });
}

/** `acceptedByOthers`: the number of a key that each other node accepts. keeps (2) */
export function forwardingKeys(
  facts: Pick<ClusterFacts, "id" | "branch" | "shards" | "keys">,
  { acceptedByOthers }: { readonly acceptedByOthers: number },
): ForwardingKeys {
  const accepted = acceptedKeys(facts);
  const [newest, former] = accepted;
  if (newest === undefined) throw new Error("A cluster has no key");
  return { offered: acceptedByOthers < facts.keys.number ? (former ?? newest) : newest, accepted };
}

/** The number of a key that each living node but one accepts. */
export function acceptedByOthers({ nodes, keyNumber }: Pick<ClusterView, "nodes" | "keyNumber">, own: string): number {
  const others = nodes.filter(({ life, isDead }) => !isDead && life !== own);
  return Math.min(keyNumber, ...others.map((node) => node.keyNumber));
}

/**
 * What answers call a node, instead of its name: 16 hexadecimal digits, which stay as long as the node has its name, and from
 * which nobody outside of the cluster can tell that name.
 */
export function ownerNameOf(facts: Pick<ClusterFacts, "id" | "shards">, node: string): string {
  const key = hkdfSync("sha256", seedsOf(facts), facts.id, OWNER_PURPOSE, KEY_BYTES);
  return createHmac("sha256", new Uint8Array(key)).update(node).digest("hex").slice(0, OWNER_NAME_DIGITS);
}

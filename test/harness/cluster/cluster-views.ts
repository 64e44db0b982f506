/** Nodes and shards as a poll of the cluster shows them, for tests: those that live and are owned, unless facts say otherwise. */
import type { NodeView, ShardView } from "../../../src/cluster/log-store/log-store.ts";

/** A node whose life is `life of <name>`. */
export function nodeView(name: string, facts: Partial<Omit<NodeView, "name">> = {}): NodeView {
  return {
    ...{ name, life: `life of ${name}`, beat: 1, isDead: false, isDrained: false, keyNumber: 0 },
    ...{ address: "", format: 1 },
    ...facts,
  };
}

/** A shard of the store without an owner; with the name of one, owned by its life. */
export function shardView(facts: Partial<ShardView> = {}, owner?: string): ShardView {
  return {
    ...{ shard: 1, area: "store", epoch: 1, owner: owner && `life of ${owner}`, ownerName: owner },
    ...{ heir: undefined, pin: undefined, writerFormat: 1, tries: 0 },
    ...facts,
  };
}

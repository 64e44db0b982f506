/** The nodes of the cluster as this node sees them in its polls, for `GET /v1/stats`. */
import type { NodeView } from "../../../cluster/log-store/log-store.ts";
import { isFront } from "../../../cluster/node/placement.ts";

export interface SeenNode {
  readonly name: string;
  /** Whether it is not declared dead. */
  readonly isAlive: boolean;
  /** Whether `larder cluster drain` keeps shards away from it. */
  readonly isDrained: boolean;
  /** Whether it only reads requests, and serves no shard. */
  readonly isFront: boolean;
  /** The newest format of journals that it reads and writes; 0 for a front. */
  readonly format: number;
  /** When this node first saw it in this state: since its last start at the earliest. RFC 3339. */
  readonly since: string;
}

export class SeenNodes {
  /** By name. */
  #seen: ReadonlyMap<string, { readonly life: string; readonly isDead: boolean; readonly sinceMs: number }> = new Map();

  /** The nodes of a poll. */
  saw(nodes: readonly NodeView[], nowMs: number): void {
    this.#seen = new Map(
      nodes.map(({ name, life, isDead }) => {
        const before = this.#seen.get(name);
        const isSame = before?.life === life && before.isDead === isDead;
        return [name, { life, isDead, sinceMs: isSame ? before.sinceMs : nowMs }];
      }),
    );
  }

  figures(nodes: readonly NodeView[]): readonly SeenNode[] {
    return nodes.flatMap((node) => {
      const { name, isDead, isDrained, format } = node;
      const sinceMs = this.#seen.get(name)?.sinceMs;
      if (sinceMs === undefined) return [];
      const since = new Date(sinceMs).toISOString();
      return [{ name, isAlive: !isDead, isDrained, isFront: isFront(node), format, since }];
    });
  }
}

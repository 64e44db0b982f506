/**
 * The nodes that live, for commands that need all of them to be stopped. A node
 * whose machine is gone, or that a restore of the database has brought back, is
 * listed as alive until somebody declares it dead: this watches its renewals for
 * a lease, as another node would.
 */
import type { LogStore } from "../../../cluster/log-store/log-store.ts";
import { BeatWatch } from "../../../cluster/node/beat-watch.ts";
import { POLL_PERIOD_MS } from "../../../cluster/node/bounds.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { StartRefusal } from "../../refusal.ts";

/** The names of the nodes that are not dead and know no tables of version $1. */
export const OLDER_NODES = "SELECT name FROM larder.node WHERE NOT is_dead AND schema_version < $1::int ORDER BY name";

/**
 * The names of the nodes that were seen to renew, after the silent ones were declared dead; none if all are dead. Returns
 * at once if no node has to be watched. Rejects with the errors of the store.
 */
export async function findLivingNodes(
  store: Pick<LogStore, "watch" | "declareDead">,
  clock: Pick<Clock, "after" | "monotonicMs">,
): Promise<readonly string[]> {
  const beats = new BeatWatch();
  const first = new Map<string, number>();
  for (;;) {
    const sentMs = clock.monotonicMs();
    const { nodes } = await store.watch();
    beats.saw(nodes, { sentMs, answeredMs: clock.monotonicMs() });
    const undead = nodes.filter(({ isDead }) => !isDead);
    for (const { life, beat } of undead) if (!first.has(life)) first.set(life, beat);
    const living = undead.filter(({ life, beat }) => first.get(life) !== beat);
    if (living.length > 0 || undead.length === 0) return living.map(({ name }) => name);
    const silent = beats.silent();
    for (const { life, beat } of silent) await store.declareDead(life, beat);
    // Those were the last, or one of them has renewed: the next look says which.
    if (silent.length === 0) await new Promise<void>((resolve) => clock.after(POLL_PERIOD_MS, resolve));
  }
}

/** `node a` or `nodes a, b`. */
export function printNodes(names: readonly string[]): string {
  return `${names.length === 1 ? "node" : "nodes"} ${names.join(", ")}`;
}

/** Throws a `StartRefusal` if there is a node that knows too little. */
export function assertNoneOlder(nodes: readonly { readonly name: string }[]): void {
  if (nodes.length === 0) return;
  throw new StartRefusal(
    `The ${printNodes(nodes.map(({ name }) => name))} of the cluster runs an earlier version: start it again with this one`,
  );
}

/**
 * Which other nodes have stopped to renew, by the clock of this node alone.
 *
 * (1) A node is silent if its beat was the same in all polls of a whole lease.
 *     The lease begins when the first of these polls has been answered, and
 *     ends when the last one was sent.
 * (2) A poll without an answer, polls that are too far apart, and every other
 *     sign that the store cannot be reached begin all counts again: nobody is
 *     blamed for an outage, or for a pause of this node.
 * (3) A node is settled if it has renewed steadily for a while. Shards move to
 *     settled nodes only, so that one which comes and goes gets none.
 */
import type { NodeView } from "../log-store/log-store.ts";
import { GAP_MS_MAX, LEASE_MS, SETTLED_MS } from "./bounds.ts";

/** An answered poll, by the monotonic clock. */
export interface Poll {
  readonly sentMs: number;
  readonly answeredMs: number;
}

interface Count {
  readonly node: NodeView;
  /** When the first poll with this beat was answered. */
  readonly sinceMs: number;
}

export class BeatWatch {
  #counts = new Map<string, Count>();
  /** When each life that is not dead began to renew steadily. */
  #steadySinceMs = new Map<string, number>();
  #last: Poll | undefined;

  /** All nodes of an answered poll. */
  saw(nodes: readonly NodeView[], poll: Poll): void {
    // keeps (2): between two looks at the store are at most the time from the sending of one to the answer of the next.
    if (this.#last !== undefined && poll.answeredMs - this.#last.sentMs > GAP_MS_MAX) this.restart();
    const counts = new Map<string, Count>();
    const steady = new Map<string, number>();
    for (const node of nodes) {
      if (node.isDead) continue;
      const { life, beat } = node;
      const before = this.#counts.get(life);
      const count = before?.node.beat === beat ? before : { node, sinceMs: poll.answeredMs };
      counts.set(life, count);
      const isSteady = poll.sentMs - count.sinceMs < LEASE_MS / 2;
      steady.set(life, (isSteady ? this.#steadySinceMs.get(life) : undefined) ?? poll.answeredMs);
    }
    this.#counts = counts;
    this.#steadySinceMs = steady;
    this.#last = poll;
  }

  /** keeps (2) */
  restart(): void {
    this.#counts.clear();
    this.#last = undefined;
  }

  /** keeps (1) */
  silent(): readonly NodeView[] {
    const { sentMs } = this.#last ?? { sentMs: Number.NEGATIVE_INFINITY };
    return [...this.#counts.values()].filter(({ sinceMs }) => sentMs - sinceMs >= LEASE_MS).map(({ node }) => node);
  }

  /**
   * When the next node will be silent if its beat stays the same, by the monotonic clock; undefined: all have renewed
   * lately. Not for nodes that are silent already.
   */
  get silentFromMs(): number | undefined {
    const { sentMs } = this.#last ?? { sentMs: Number.POSITIVE_INFINITY };
    const late = [...this.#counts.values()]
      .map(({ sinceMs }) => sinceMs + LEASE_MS)
      .filter((fromMs) => fromMs > sentMs && fromMs - sentMs < LEASE_MS / 2);
    return late.length === 0 ? undefined : Math.min(...late);
  }

  /** keeps (3) */
  isSettled(life: string): boolean {
    const sinceMs = this.#steadySinceMs.get(life);
    return sinceMs !== undefined && this.#last !== undefined && this.#last.sentMs - sinceMs >= SETTLED_MS;
  }
}

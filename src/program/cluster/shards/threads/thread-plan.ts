/**
 * How the shards of an area are spread over several threads of a node, and what
 * connects these threads.
 *
 *     clients, other nodes -> the front, a thread with the ports and its own shards -> other threads with shards
 *
 * (1) A shard has the same thread whenever the node claims it: the shards of the
 *     area take turns, in the order of their numbers.
 * (2) Each thread hosts at least one shard of the cluster, and the front hosts the first.
 * (3) Only the front has ports and forwards requests to other nodes.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { assert } from "../../../../kernel/assert.ts";
import type { AreaPlan, AreaPlans } from "../../../areas/area.ts";

/** Another thread of the area, as the front knows it. */
export interface OtherThread {
  /** From 1 on; the front is 0. */
  readonly thread: number;
  readonly shards: readonly number[];
  readonly port: MessagePort;
}

/** The place of a thread among those of its area. */
export type ThreadLinks =
  | { readonly kind: "front"; readonly others: readonly OtherThread[] }
  | { readonly kind: "engines"; readonly port: MessagePort };

/** What a thread is started with. */
export interface ThreadStart {
  /** For the front those of all shards, for another thread those of its own. */
  readonly plans: AreaPlans;
  /** Undefined: the only thread of its area. */
  readonly links: ThreadLinks | undefined;
  /** Those that the thread hosts. */
  readonly shards: readonly number[];
  /** The ports in `links`, which move to the thread. */
  readonly ports: readonly MessagePort[];
}

/** The starts of the threads of an area, the front first. `threadCount` is at most the number of plans. */
export function planThreads(plans: AreaPlans, threadCount: number): readonly ThreadStart[] {
  assert(threadCount >= 1 && threadCount <= plans.length, "each thread has a shard");
  if (threadCount === 1) return [{ plans, links: undefined, shards: plans.map(shardOf), ports: [] }];
  const others: OtherThread[] = [];
  const starts: ThreadStart[] = [];
  for (let thread = 1; thread < threadCount; thread += 1) {
    const [first, ...rest] = hostedBy(plans, thread, threadCount).map(withoutPorts);
    assert(first !== undefined, "a thread has a shard"); // keeps (2)
    const shards = [first, ...rest].map(shardOf);
    const { port1, port2 } = new MessageChannel();
    others.push({ thread, shards, port: port1 });
    starts.push({ plans: [first, ...rest], links: { kind: "engines", port: port2 }, shards, ports: [port2] });
  }
  const front: ThreadStart = {
    plans,
    links: { kind: "front", others },
    shards: hostedBy(plans, 0, threadCount).map(shardOf),
    ports: others.map(({ port }) => port),
  };
  return [front, ...starts];
}

/** keeps (1) */
function hostedBy(plans: AreaPlans, thread: number, threadCount: number): readonly AreaPlan[] {
  return plans.filter((_, index) => index % threadCount === thread);
}

/** keeps (3) */
function withoutPorts(plan: AreaPlan): AreaPlan {
  const { shard } = plan;
  return { ...plan, listen: undefined, resp: undefined, shard: shard && { ...shard, forwarding: undefined } };
}

function shardOf({ shard }: AreaPlan): number {
  // The only plan of an area of a single server has none.
  return shard?.shard ?? 0;
}

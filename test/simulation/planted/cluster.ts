/** Bugs that nodes of a cluster could have. */

import type { SegmentView, ShardView } from "../../../src/cluster/log-store/log-store.ts";
import { LEASE_MS } from "../../../src/cluster/node/bounds.ts";
import type { ClusterNode, ClusterNodeOptions, NodeStores } from "../../../src/cluster/node/cluster-node.ts";
import type { ClusterBug } from "../cluster/nodes/simulated-process.ts";
import { runClusters } from "../cluster/nodes/simulation.ts";
import { type PlantedBugs, textOf } from "./planted-bugs.ts";

export const clusterBugs: PlantedBugs<ClusterBug> = {
  simulation: "nodes of a cluster",
  run: async (seed, bug) => textOf((await runClusters({ seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 60,
  bugs: [
    {
      name: "a renewal is a read",
      breaks: "src/cluster/postgres/postgres-log-store.ts",
      bug: { options: renewByRead },
      seed: 5,
      found:
        /answers reads of shard \d, which another node owns|replied to a read of shard \d when another node owned it/,
    },
    {
      name: "a lease is counted from the arrival of the answer",
      breaks: "src/cluster/node/renewals.ts",
      bug: { started: countFromArrival },
      seed: 17,
      found: /(?:answers reads|replied to a read) of shard \d,? wh(?:ich another node owns|en another node owned it)/,
    },
    {
      name: "a watch counts through an outage",
      breaks: "src/cluster/node/beat-watch.ts",
      bug: { started: countThroughOutages },
      seed: 33,
      found: /was declared dead \d+ ms after it had renewed/,
    },
    {
      name: "a watch starts when a life is first seen, not with each of its beats",
      breaks: "src/cluster/node/beat-watch.ts",
      bug: { started: countLives },
      seed: 1,
      found: /was declared dead \d+ ms after it had renewed/,
    },
    {
      name: "the log is read before the claim",
      breaks: "src/cluster/node/owned-shards.ts",
      bug: { options: readBeforeClaim },
      seed: 1,
      found: /the acknowledged row \S+ of shard \d was not recovered/,
    },
    {
      name: "the floor of the clock is ignored",
      breaks: "src/cluster/node/engine-clock.ts",
      bug: { engineClock: (_, clock) => clock },
      seed: 2,
      found: /the time of shard \d ran back by \d+ ms/,
    },
    {
      name: "a read waits for the end of a renewal that was sent before it",
      breaks: "src/cluster/node/renewals.ts",
      bug: { options: noteRenewal, started: confirmEarly },
      seed: 4,
      found: /replied to a read of shard \d when another node owned it/,
    },
    {
      name: "calls start while a row waits long for its commit",
      breaks: "src/cluster/node/suspension.ts",
      bug: { mayCall: ({ reason }) => reason === undefined },
      seed: 5,
      found: /started a call of shard \d with a row that was not committed for/,
    },
    {
      name: "a change that was committed late is missed",
      breaks: "src/cluster/postgres/postgres-log-store.ts",
      bug: { options: missLateCommits },
      seed: 1,
      found: /has missed a change of a node or a shard/,
    },
    {
      name: "the format is ignored at a claim",
      breaks: "src/cluster/postgres/postgres-log-store.ts",
      bug: { options: ignoreFormat },
      seed: 5,
      found: /reads format 1 and recovered shard \d with rows of format 2/,
    },
  ],
};

/** A position that names no transactions which ran: as if changes became visible in the order of their numbers. */
function missLateCommits(options: ClusterNodeOptions): ClusterNodeOptions {
  const { polls } = options.stores;
  const watchChanges: NodeStores["polls"]["watchChanges"] = async (position) => {
    const changes = await polls.watchChanges(position);
    const [server, snapshot = ""] = changes.position.split(" ");
    const [, max] = snapshot.split(":");
    return Object.assign(changes, { position: `${server} ${max}:${max}:` });
  };
  return { ...options, stores: { ...options.stores, polls: { watch: () => polls.watch(), watchChanges } } };
}

/** The beat is written too, but nobody waits for it. */
function renewByRead(options: ClusterNodeOptions): ClusterNodeOptions {
  const { renewals, polls } = options.stores;
  const renew: NodeStores["renewals"]["renew"] = async (life, clockMs) => {
    renewals.renew(life, clockMs).catch(() => {});
    const { nodes, shards } = await polls.watch();
    const node = nodes.find((each) => each.life === life && !each.isDead);
    if (node === undefined) return undefined;
    return {
      beat: node.beat,
      storeClockMs: options.clock.nowMs(),
      owned: shards.filter(({ owner }) => owner === life),
    };
  };
  return { ...options, stores: { ...options.stores, renewals: { renew } } };
}

function countFromArrival({ lease }: ClusterNode): void {
  const extend = lease.extend.bind(lease);
  lease.extend = () => extend(lease.begin());
}

function countThroughOutages({ beats }: ClusterNode): void {
  beats.restart = () => {};
}

function countLives({ beats }: ClusterNode): void {
  const firstMs = new Map<string, number>();
  const saw = beats.saw.bind(beats);
  let silent: ReturnType<typeof beats.silent> = [];
  beats.saw = (nodes, poll) => {
    saw(nodes, poll);
    for (const { life } of nodes) if (!firstMs.has(life)) firstMs.set(life, poll.answeredMs);
    const isSilent = (life: string): boolean => poll.sentMs - (firstMs.get(life) ?? poll.sentMs) >= LEASE_MS;
    silent = nodes.filter(({ life, isDead }) => !isDead && isSilent(life));
  };
  beats.silent = () => silent;
}

/** A node that follows the logs of all shards and believes what it has when it claims one. */
function readBeforeClaim(options: ClusterNodeOptions): ClusterNodeOptions {
  const { changes, polls } = options.stores;
  const logs = new Map<number, readonly SegmentView[]>();
  let shards: readonly ShardView[] = [];
  const watchChanges: NodeStores["polls"]["watchChanges"] = async (position) => {
    for (const { shard } of shards) logs.set(shard, await changes.segments(shard));
    ({ shards } = await polls.watch());
    return polls.watchChanges(position);
  };
  const changed: NodeStores["changes"] = {
    register: (node) => changes.register(node),
    declareDead: (life, beat) => changes.declareDead(life, beat),
    claim: (claim) => changes.claim(claim),
    segments: async (shard) => logs.get(shard) ?? [],
    recovered: (shard) => changes.recovered(shard),
    announce: (shard, heir) => changes.announce(shard, heir),
    release: (shard, heir) => changes.release(shard, heir),
  };
  return { ...options, stores: { ...options.stores, polls: { ...polls, watchChanges }, changes: changed } };
}

/** The newest format of any node of the simulation. */
const NEWEST_FORMAT = 2;

/** A node that registers and claims as if it read everything. */
function ignoreFormat(options: ClusterNodeOptions): ClusterNodeOptions {
  return { ...options, node: { ...options.node, format: NEWEST_FORMAT } };
}

/** The last renewal that a node sent. */
const underWay = new WeakMap<object, Promise<unknown>>();

function noteRenewal(options: ClusterNodeOptions): ClusterNodeOptions {
  const { renewals } = options.stores;
  const renew: NodeStores["renewals"]["renew"] = (life, clockMs) => {
    const renewal = renewals.renew(life, clockMs);
    underWay.set(options.host, renewal);
    return renewal;
  };
  return { ...options, stores: { ...options.stores, renewals: { renew } } };
}

function confirmEarly({ reads, lease }: ClusterNode, { host }: ClusterNodeOptions): void {
  if (reads === lease) return;
  reads.whenFresh = async () => {
    await underWay.get(host)?.catch(() => {});
  };
}

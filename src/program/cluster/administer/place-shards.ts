/**
 * Which node serves a shard, as an administrator wants it: `larder cluster pin`,
 * `move`, `drain` and `undrain`.
 *
 * (1) A command writes what is wanted, which stays wanted, and the nodes do it
 *     (`cluster/node/placement.ts`). Two of them also wait until it is done.
 * (2) Nothing is waited for that cannot happen: what keeps a shard where it is
 *     (`ClusterMember.mayMove`) is said at once.
 */
import type { ClusterView, LogStore, NodeView, ShardView } from "../../../cluster/log-store/log-store.ts";
import { POLL_PERIOD_MS } from "../../../cluster/node/bounds.ts";
import { canRead, isFront } from "../../../cluster/node/placement.ts";
import { PostgresLogStore } from "../../../cluster/postgres/postgres-log-store.ts";
import type { SqlSession, Statement } from "../../../cluster/postgres/session.ts";
import { type Clock, systemClock } from "../../../kernel/clock.ts";
import { StartRefusal } from "../../refusal.ts";
import { readIdentity, withSession } from "../cluster-facts.ts";
import { parseNodeAddress } from "../node-address.ts";
import { findShard } from "./find-shard.ts";
import { assertNoneOlder, OLDER_NODES, printNodes } from "./living-nodes.ts";
import type { ClusterPlace } from "./transaction.ts";
import { upgradeIfOlder } from "./upgrade.ts";

type Print = (line: string) => void;

/** The version of the tables whose nodes know that a node is drained. */
const DRAINED_SINCE = 3;
const FIND_OLDER: Statement = { name: "larder-older-nodes", text: OLDER_NODES };

/** A node takes shards when it has lived for 30 s, and then one after the other. */
const PATIENCE_MS = 90_000;

/** Says which node should serve a shard. Returns the lines to print. Throws a `StartRefusal`. */
export async function pinShard(
  place: ClusterPlace,
  [operand = "", name]: readonly string[],
): Promise<readonly string[]> {
  return withStore(place, async (store) => {
    const view = await store.watch();
    const found = findShard(view, operand);
    const { shard, area } = found;
    const node = name === undefined ? undefined : findServingNode(view, name);
    await store.pin(shard, name);
    if (node === undefined) return [`shard ${shard}: the order of the nodes decides who serves it`];
    return [
      `shard ${shard}: node ${name} should serve it`,
      isOnlyShard(view, area)
        ? `it is the only shard of ${area}, so it moves when the node that serves it stops or is gone`
        : "it moves when that node has been up for 30 s, if all nodes forward requests",
      ...(node.isDrained ? [`node ${name} is drained, so it gets no shard before larder cluster undrain ${name}`] : []),
      ...(canRead(node, found) ? [] : [`${unreadableText(node, found)}, so it gets the shard when it is upgraded`]),
    ];
  });
}

/** Pins a shard to a node, and waits until that serves it. Returns the exit code. Throws a `StartRefusal`. */
export async function moveShard(
  place: ClusterPlace,
  [operand = "", name = ""]: readonly string[],
  print: Print,
): Promise<0 | 1> {
  return withStore(place, async (store) => {
    const view = await store.watch();
    const found = findShard(view, operand);
    const { shard } = found;
    const target = findServingNode(view, name);
    if (target.isDead) throw new StartRefusal(`Node ${name} does not run: start it, and run this command again`);
    if (target.isDrained)
      throw new StartRefusal(`Node ${name} is drained: larder cluster undrain ${name} lets it serve shards again`);
    const obstacle = obstacleOf(view, shard) ?? (canRead(target, found) ? undefined : unreadableText(target, found));
    if (obstacle !== undefined) throw new StartRefusal(`Shard ${shard} does not move: ${obstacle}`);
    await store.pin(shard, name);
    const left = await waitUntil(store, systemClock, { shards: [shard], print, isDone: (owner) => owner === name });
    printLeft(left, print);
    return left.length === 0 ? 0 : 1;
  });
}

/** Lets a node give up its shards and get no others, and waits until it has none. Returns the exit code. */
export async function drainNode(place: ClusterPlace, [name = ""]: readonly string[], print: Print): Promise<0 | 1> {
  // The tables of an earlier version cannot say that a node is drained.
  await upgradeIfOlder(place);
  return withStore(place, async (store, session) => {
    assertNoneOlder((await session.run<{ name: string }>(FIND_OLDER, [DRAINED_SINCE])).rows);
    const view = await store.watch();
    const node = findNode(view, name);
    const mayServe = (each: NodeView): boolean => !each.isDead && !each.isDrained && !isFront(each);
    const others = view.nodes.filter((each) => each.name !== name && mayServe(each));
    if (others.length === 0 && !node.isDead)
      throw new StartRefusal(`No other node runs that could serve the shards of node ${name}: start one first`);
    await store.setDrained(name, true);
    print(`node ${name}: gets no shards until larder cluster undrain ${name}`);
    if (node.isDead) return 0;
    const own = view.shards.filter(({ owner }) => owner === node.life).map(({ shard }) => shard);
    const staying = own.flatMap((shard) => {
      const obstacle = obstacleOf(view, shard) ?? formatObstacleOf(view, shard, others);
      return obstacle === undefined ? [] : [{ shard, obstacle }];
    });
    // keeps (2)
    for (const { shard, obstacle } of staying) print(`shard ${shard}: stays, because ${obstacle}`);
    const shards = own.filter((shard) => !staying.some((each) => each.shard === shard));
    const left = await waitUntil(store, systemClock, { shards, print, isDone: (owner) => owner !== name });
    printLeft(left, print);
    if (left.length > 0 || staying.length > 0) return 1;
    print(`node ${name}: serves no shard`);
    return 0;
  });
}

/** Lets a node have shards again. Returns the lines to print. Throws a `StartRefusal`. */
export async function undrainNode(place: ClusterPlace, [name = ""]: readonly string[]): Promise<readonly string[]> {
  // The tables of an earlier version cannot say that a node is drained.
  await upgradeIfOlder(place);
  return withStore(place, async (store) => {
    findNode(await store.watch(), name);
    await store.setDrained(name, false);
    return [`node ${name}: gets its shards when it has been up for 30 s`];
  });
}

interface Waiting {
  readonly shards: readonly number[];
  readonly print: Print;
  /** Whether a shard is where it should be, by the name of the node that serves it. */
  isDone(owner: string): boolean;
}

/** Prints each shard that is done, and returns the others when for 90 s none was. */
export async function waitUntil(
  store: Pick<LogStore, "watch">,
  clock: Pick<Clock, "after" | "monotonicMs">,
  { shards, print, isDone }: Waiting,
): Promise<readonly ShardView[]> {
  const waiting = new Set(shards);
  let changedMs = clock.monotonicMs();
  for (;;) {
    const view = await store.watch();
    const left = view.shards.filter(({ shard }) => waiting.has(shard));
    for (const { shard, owner, ownerName, tries } of left) {
      if (owner === undefined || ownerName === undefined || tries > 0 || !isDone(ownerName)) continue;
      waiting.delete(shard);
      changedMs = clock.monotonicMs();
      print(`shard ${shard}: served by ${ownerName}`);
    }
    if (waiting.size === 0) return [];
    if (clock.monotonicMs() - changedMs >= PATIENCE_MS) return left.filter(({ shard }) => waiting.has(shard));
    await new Promise<void>((resolve) => clock.after(POLL_PERIOD_MS, resolve));
  }
}

/** Prints why the shards that did not move are where they are. */
function printLeft(left: readonly ShardView[], print: Print): void {
  for (const { shard, owner, ownerName } of left) {
    const who = owner === undefined ? "served by nobody" : `still served by ${ownerName}`;
    print(`shard ${shard}: ${who} after ${PATIENCE_MS / 1_000} s; it moves as soon as it can: see the log of the node`);
  }
}

/** What keeps a shard on the node that serves it, or undefined. */
function obstacleOf(view: ClusterView, shard: number): string | undefined {
  const { area } = findShard(view, String(shard));
  if (isOnlyShard(view, area)) return `it is the only shard of ${area}: another node takes it over when its node stops`;
  const silent = view.nodes
    .filter(({ isDead, address }) => !isDead && parseNodeAddress(address).cluster === undefined)
    .map(({ name }) => name);
  return silent.length === 0 ? undefined : `${printNodes(silent)} cannot forward requests: set --cluster-address`;
}

/** What keeps a shard from all of these nodes, or undefined. */
function formatObstacleOf(view: ClusterView, shard: number, others: readonly NodeView[]): string | undefined {
  const found = findShard(view, String(shard));
  if (others.some((node) => canRead(node, found))) return undefined;
  return `no other node reads its format ${found.writerFormat}: upgrade one`;
}

function unreadableText({ name, format }: NodeView, { writerFormat }: ShardView): string {
  return `node ${name} reads format ${format}, and the shard was written in format ${writerFormat}`;
}

function isOnlyShard({ shards }: ClusterView, area: string): boolean {
  return shards.filter((each) => each.area === area).length === 1;
}

/** Throws a `StartRefusal`. */
function findServingNode(view: ClusterView, name: string): NodeView {
  const node = findNode(view, name);
  if (!isFront(node)) return node;
  throw new StartRefusal(`Node ${name} is a front, which serves no shard: start it without --front on`);
}

/** Throws a `StartRefusal`. */
function findNode({ nodes }: ClusterView, name: string): NodeView {
  const found = nodes.find((each) => each.name === name);
  if (found !== undefined) return found;
  const names = nodes.map((each) => each.name);
  throw new StartRefusal(
    `The cluster has no node ${JSON.stringify(name)}: its nodes are ${names.length === 0 ? "none yet" : names.join(", ")}`,
    2,
  );
}

function withStore<Result>(
  { plan, place }: ClusterPlace,
  use: (store: LogStore, session: SqlSession) => Promise<Result>,
): Promise<Result> {
  return withSession(plan, place, async (session) => {
    await readIdentity(session);
    return use(new PostgresLogStore(session), session);
  });
}

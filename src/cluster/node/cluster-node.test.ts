/** Nodes over the model of the log store, in virtual time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelDatabase, ModelLogStore } from "../../../test/simulation/cluster/model-log-store.ts";
import { emptyDirectory, type NodeDirectory, nodeOptions } from "../../../test/simulation/cluster/node-options.ts";
import { VirtualClock } from "../../kernel/clock.virtual.ts";
import { createLog, type Log } from "../../kernel/log.ts";
import type { ShardEpoch } from "../log-store/log-store.ts";
import { ClusterNode } from "./cluster-node.ts";
import { FRONT_FORMAT, rendezvousOrder } from "./placement.ts";
import type { ShardHost, TakenShard } from "./shard-host.ts";

const SHARDS = 12;
const LOAD_MS = 100;

class RecordingHost implements ShardHost {
  readonly #clock: VirtualClock;
  readonly loaded = new Map<number, TakenShard>();
  loading = 0;
  loadingMax = 0;
  readonly reasons: string[] = [];
  broken: number | undefined;
  mayMoveShards = true;
  /** Those with this number and later ones were added after its start. */
  unknownFrom = Number.POSITIVE_INFINITY;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  async load(taken: TakenShard): Promise<void> {
    this.loading += 1;
    this.loadingMax = Math.max(this.loadingMax, this.loading);
    await new Promise<void>((resolve) => this.#clock.after(LOAD_MS, resolve));
    this.loading -= 1;
    if (taken.shard === this.broken) throw new Error("This frame cannot be replayed");
    this.loaded.set(taken.shard, taken);
  }

  async unload({ shard }: ShardEpoch): Promise<void> {
    this.loaded.delete(shard);
  }

  knows(shard: number): boolean {
    return shard < this.unknownFrom;
  }

  mayMove(): boolean {
    return this.mayMoveShards;
  }

  lost(reason: string): void {
    this.reasons.push(reason);
  }
}

interface Started {
  readonly node: ClusterNode;
  readonly host: RecordingHost;
  readonly directory: NodeDirectory;
}

class Cluster {
  readonly clock = new VirtualClock();
  readonly database = new ModelDatabase(() => this.clock.nowMs() + this.storeAheadMs);
  readonly store = new ModelLogStore({ database: this.database, mayCommit: () => Promise.resolve(true) });
  storeAheadMs = 0;
  #lives = 0;

  static async create(): Promise<Cluster> {
    const cluster = new Cluster();
    const shards = Array.from({ length: SHARDS }, (_, shard) => ({ shard, area: "store", hashSeed: Buffer.alloc(4) }));
    await cluster.store.addShards(shards);
    return cluster;
  }

  async start(name: string, facts: { directory?: NodeDirectory; format?: number; log?: Log } = {}): Promise<Started> {
    const host = new RecordingHost(this.clock);
    const directory = facts.directory ?? emptyDirectory();
    const { clock, store } = this;
    this.#lives += 1;
    const life = `life ${this.#lives}`;
    const stores = { renewals: store, polls: store, changes: store };
    const { format, log } = facts;
    const drawLife = () => life;
    const node = await ClusterNode.start(
      nodeOptions({
        ...{ stores, clock, host, name, directory, drawLife },
        ...(format !== undefined && { format }),
        ...(log && { log }),
      }),
    );
    assert.ok(node !== undefined, `${name} was refused`);
    return { node, host, directory };
  }

  /** In steps, so that calls between nodes and store have time. */
  async advance(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) await this.clock.advanceAsync(100);
  }

  async owners(): Promise<readonly (string | undefined)[]> {
    const { nodes, shards } = await this.store.watch();
    return shards.map(({ owner }) => nodes.find(({ life }) => life === owner)?.name);
  }
}

function firstOf(...names: string[]): string[] {
  return Array.from({ length: SHARDS }, (_, shard) => rendezvousOrder(shard, names)[0] ?? "");
}

test("the first node claims all shards, two at a time", async () => {
  const cluster = await Cluster.create();
  const { host, node } = await cluster.start("a");
  await cluster.advance(1_000);
  assert.equal(host.loaded.size, SHARDS);
  assert.equal(host.loadingMax, 2);
  assert.deepEqual(await cluster.owners(), new Array(SHARDS).fill("a"));
  assert.equal(node.lease.isFresh(), true);
});

test("a node claims no shard that was added after its start, and another one does", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  a.host.unknownFrom = 10;
  await cluster.advance(5_000);
  const expected = [...new Array(10).fill("a"), undefined, undefined];
  assert.deepEqual(await cluster.owners(), expected);
  const b = await cluster.start("b");
  await cluster.advance(2_500);
  assert.deepEqual([...b.host.loaded.keys()].toSorted(), [10, 11]);
});

test("shards of a node that stopped are claimed after a lease, by the first of the others", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  await cluster.advance(8_000);
  const b = await cluster.start("b");
  const c = await cluster.start("c");
  await cluster.advance(3_000);
  a.node.stop();
  await cluster.advance(5_000);
  assert.equal(b.host.loaded.size + c.host.loaded.size, 0);
  await cluster.advance(9_000);
  assert.deepEqual(await cluster.owners(), firstOf("b", "c"));
  assert.deepEqual([...b.host.loaded.keys(), ...c.host.loaded.keys()].length, SHARDS);
});

test("the shard of a node that stopped is claimed when its lease has run out, without another poll period", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  await cluster.advance(10_000);
  const b = await cluster.start("b");
  await cluster.advance(10_000);
  a.node.stop();
  let passedMs = 0;
  for (; b.host.loading === 0 && b.host.loaded.size === 0; passedMs += 100) await cluster.advance(100);
  assert.equal(passedMs, 6_000);
});

test("a node that starts again on its directory claims its shards without a wait", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  await cluster.start("b", { format: 1 });
  await cluster.advance(10_000);
  const before = await cluster.owners();
  a.node.stop();
  const again = await cluster.start("a", { directory: a.directory });
  await cluster.advance(1_000);
  assert.deepEqual(await cluster.owners(), before);
  assert.deepEqual([...again.host.loaded.keys()].toSorted(), [...a.host.loaded.keys()].toSorted());
});

test("a node that joins gets its shards after 30 s, one at a time, and none while users would be cut off", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  await cluster.advance(8_000);
  a.host.mayMoveShards = false;
  await cluster.start("b");
  await cluster.advance(40_000);
  assert.deepEqual(await cluster.owners(), new Array(SHARDS).fill("a"));
  a.host.mayMoveShards = true;
  await cluster.advance(60_000);
  assert.deepEqual(await cluster.owners(), firstOf("a", "b"));
  assert.deepEqual(a.host.reasons, []);
});

test("a pin overrides the order", async () => {
  const cluster = await Cluster.create();
  await cluster.start("a");
  await cluster.start("b");
  await cluster.advance(60_000);
  const owners = firstOf("a", "b");
  const other = owners[5] === "a" ? "b" : "a";
  await cluster.store.pin(5, other);
  await cluster.advance(10_000);
  assert.deepEqual(await cluster.owners(), owners.with(5, other));
});

test("a shard that is held is released, claimed by nobody, and keeps no other shard from moving", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  await cluster.advance(10_000);
  await cluster.store.hold(5, true);
  await cluster.advance(2_000);
  const all: readonly (string | undefined)[] = new Array(SHARDS).fill("a");
  assert.deepEqual(await cluster.owners(), all.with(5, undefined));
  assert.equal(a.host.loaded.has(5), false);
  const b = await cluster.start("b");
  await cluster.advance(60_000);
  const owners: readonly (string | undefined)[] = firstOf("a", "b");
  assert.deepEqual(await cluster.owners(), owners.with(5, undefined));
  await cluster.store.hold(5, false);
  await cluster.advance(60_000);
  assert.deepEqual(await cluster.owners(), owners);
  assert.deepEqual(
    [a, b].flatMap(({ host }) => host.reasons),
    [],
  );
});

test("a drained node gives its shards away one at a time, gets none back, and claims what nobody else can", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  const b = await cluster.start("b");
  await cluster.advance(60_000);
  await cluster.store.setDrained("a", true);
  await cluster.advance(30_000);
  assert.deepEqual(await cluster.owners(), new Array(SHARDS).fill("b"));
  // Also after it has started again.
  a.node.stop();
  const again = await cluster.start("a", { directory: a.directory });
  await cluster.advance(60_000);
  assert.deepEqual(await cluster.owners(), new Array(SHARDS).fill("b"));

  b.node.stop();
  await cluster.advance(20_000);
  assert.deepEqual(await cluster.owners(), new Array(SHARDS).fill("a"));
  await cluster.start("c");
  // 30 s until it is settled, and each shard is announced for 2 s.
  await cluster.advance(75_000);
  assert.deepEqual(await cluster.owners(), new Array(SHARDS).fill("c"));

  await cluster.store.setDrained("a", false);
  await cluster.advance(75_000);
  assert.deepEqual(await cluster.owners(), firstOf("a", "c"));
  assert.deepEqual(
    [a, b, again].flatMap(({ host }) => host.reasons),
    [],
  );
});

test("a move is announced while the shard is served, and takes two short polls and the recovery", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  await cluster.advance(2_000);
  const b = await cluster.start("b");
  const announced: number[] = [];
  Object.assign(a.host, { announced: ({ shard }: ShardEpoch) => announced.push(shard) });
  await cluster.advance(29_000);
  const moving = firstOf("a", "b").indexOf("b");
  let servedMs = 0;
  let gapMs = 0;
  for (let passedMs = 0; passedMs < 8_000 && !b.host.loaded.has(moving); passedMs += 10) {
    await cluster.clock.advanceAsync(10);
    if (announced.includes(moving) && a.host.loaded.has(moving)) servedMs += 10;
    if (!a.host.loaded.has(moving) && !b.host.loaded.has(moving)) gapMs += 10;
  }
  assert.ok(b.host.loaded.has(moving), `shard ${moving} has moved`);
  assert.ok(servedMs >= 1_900 && servedMs <= 2_100, `${servedMs} ms after the announcement`);
  assert.ok(gapMs <= LOAD_MS + 210, `${gapMs} ms without service`);
});

test("a node that leaves gives its shards away two at a time", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  const b = await cluster.start("b");
  await cluster.advance(2_000);
  let freeMax = 0;
  const left = a.node.drain();
  let hasLeft = false;
  void left.then(() => {
    hasLeft = true;
  });
  for (let passedMs = 0; passedMs < 4_900 && !hasLeft; passedMs += 10) {
    await cluster.clock.advanceAsync(10);
    const served = a.host.loaded.size + b.host.loaded.size;
    freeMax = Math.max(freeMax, SHARDS - served);
  }
  assert.ok(freeMax <= 2, `${freeMax} shards without service at once`);
  await cluster.advance(10_000);
  assert.deepEqual([hasLeft, b.host.loaded.size], [true, SHARDS]);
});

test("a shard that cannot be recovered is tried three times, by each node first, and is then broken", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  const b = await cluster.start("b");
  a.host.broken = 4;
  b.host.broken = 4;
  await cluster.advance(120_000);
  const broken = (await cluster.store.watch()).shards[4];
  assert.equal(broken?.tries, 3);
  assert.equal(broken?.owner, undefined);
  a.host.broken = undefined;
  b.host.broken = undefined;
  await cluster.store.forgetTries(4);
  await cluster.advance(20_000);
  assert.ok([a, b].some(({ host }) => host.loaded.has(4)));
});

test("a shard that one node cannot recover goes to another", async () => {
  const cluster = await Cluster.create();
  const first = firstOf("a", "b")[4] ?? "";
  const unable = await cluster.start(first);
  unable.host.broken = 4;
  const able = await cluster.start(first === "a" ? "b" : "a");
  await cluster.advance(20_000);
  assert.ok(able.host.loaded.has(4));
});

test("a node of an older format claims nothing that a newer one wrote, and says so once", async () => {
  const cluster = await Cluster.create();
  const newer = await cluster.start("a", { format: 2 });
  await cluster.advance(8_000);
  const lines: string[] = [];
  const log = createLog({ level: "warn", sink: (line) => lines.push(line), clock: cluster.clock, format: "json" });
  const older = await cluster.start("b", { format: 1, log });
  await cluster.advance(5_000);
  assert.equal(lines.length, 0);
  newer.node.stop();
  await cluster.advance(60_000);
  assert.equal(older.host.loaded.size, 0);
  const found = lines.filter((line) => line.includes("free shards have a newer format than this node reads"));
  assert.equal(found.length, 1);
  assert.match(found[0] ?? "", /"shards":"0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11","readFormat":1/);

  const third = await cluster.start("c", { format: 2 });
  await cluster.advance(3_000);
  assert.equal(third.host.loaded.size, SHARDS);
});

test("a front claims nothing, also when no other node lives, and logs nothing about formats", async () => {
  const cluster = await Cluster.create();
  const lines: string[] = [];
  const log = createLog({ level: "warn", sink: (line) => lines.push(line), clock: cluster.clock, format: "json" });
  const front = await cluster.start("f", { format: FRONT_FORMAT, log });
  await cluster.advance(60_000);
  const other = await cluster.start("a");
  await cluster.advance(60_000);
  assert.deepEqual([front.host.loaded.size, other.host.loaded.size], [0, SHARDS]);
  other.node.stop();
  await cluster.advance(60_000);
  assert.equal(front.host.loaded.size, 0);
  assert.deepEqual(
    lines.filter((line) => line.includes("format than")),
    [],
  );
});

test("a node that leaves releases its shards only to nodes that read their format", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a", { format: 2 });
  await cluster.advance(2_000);
  const older = await cluster.start("b", { format: 1 });
  const newer = await cluster.start("c", { format: 2 });
  await cluster.advance(10_000);
  void a.node.drain();
  await cluster.advance(500);
  const { shards } = await cluster.store.watch();
  const heirs = shards.filter(({ heir }) => heir !== undefined).map(({ heir }) => heir);
  assert.deepEqual(heirs, ["c", "c"]);
  await cluster.advance(10_000);
  assert.equal(newer.host.loaded.size, SHARDS);
  assert.equal(older.host.loaded.size, 0);
});

test("a node whose clock differs by more than 5 s claims nothing", async () => {
  const cluster = await Cluster.create();
  cluster.storeAheadMs = 5_500;
  const { host } = await cluster.start("a");
  await cluster.advance(20_000);
  assert.equal(host.loaded.size, 0);
  cluster.storeAheadMs = 0;
  await cluster.advance(10_000);
  assert.equal(host.loaded.size, SHARDS);
});

test("a node that is declared dead ends", async () => {
  const cluster = await Cluster.create();
  const { node, host } = await cluster.start("a");
  await cluster.advance(5_000);
  const { nodes } = await cluster.store.watch();
  await cluster.store.declareDead(node.life, nodes[0]?.beat ?? 0);
  await cluster.advance(2_000);
  assert.deepEqual(host.reasons, ["The node was declared dead"]);
  assert.equal(node.lease.isFresh(), false);
});

test("a node that leaves releases its shards to the others", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  await cluster.advance(2_000);
  await cluster.start("b");
  await cluster.start("c");
  await cluster.advance(10_000);
  let hasLeft = false;
  void a.node.drain().then(() => {
    hasLeft = true;
  });
  await cluster.advance(10_000);
  assert.equal(hasLeft, true);
  assert.deepEqual(await cluster.owners(), firstOf("b", "c"));
  assert.equal(a.host.loaded.size, 0);
  assert.equal((await cluster.store.watch()).nodes[0]?.isDead, true);
});

test("a claim that was committed without an answer is found by a poll and continued", async () => {
  const cluster = await Cluster.create();
  const { node, host } = await cluster.start("a");
  await cluster.advance(8_000);
  await cluster.store.addShards([{ shard: 50, area: "store", hashSeed: Buffer.alloc(4) }]);
  await cluster.store.claim({ shard: 50, epoch: 0, life: node.life, format: 1 });
  await cluster.advance(2_000);
  assert.equal(host.loaded.get(50)?.epoch, 1);
  assert.equal((await cluster.store.watch()).shards.at(-1)?.tries, 0);
});

test("the next owner gets the last time that the former one reported", async () => {
  const cluster = await Cluster.create();
  const a = await cluster.start("a");
  await cluster.advance(8_000);
  const b = await cluster.start("b");
  await cluster.advance(1_000);
  a.node.stop();
  const reported = (await cluster.database.nodes.rows(cluster.database.begin()))[0]?.[1].clockMs;
  await cluster.advance(20_000);
  assert.equal(b.host.loaded.get(0)?.floorMs, reported);
});

/**
 * Nodes that follow changes of tenants while every call between them, the tables
 * and their engines ends in a random order, as a seed says.
 *
 * (1) When every node that is not dead has reported a version, no engine accepts a
 *     token that was replaced or removed by then, now or later.
 * (2) When everything has come to rest, the owner of each shard accepts exactly the
 *     tokens of the tables, and no row of a removed tenant is left.
 * (3) When every node has reported that a tenant is frozen, no engine accepts its
 *     writes, and when every node has reported that it is on another shard, no engine
 *     of the former one accepts its tokens.
 */
import assert from "node:assert/strict";
import { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import { createLog } from "../../../../src/kernel/log.ts";
import { seededRandom } from "../../../../src/kernel/random.ts";
import type { PlacedTenant, TenantChanges } from "../../../../src/program/areas/area-tenant.ts";
import { ClusterKey } from "../../../../src/program/cluster/tenants/cluster-key.ts";
import { RunTimeTenants } from "../../../../src/program/cluster/tenants/run-time-tenants.ts";
import type { TenantRow, TenantsRead } from "../../../../src/program/cluster/tenants/tenant-table.ts";
import { type ShardEngine, TenantsOfShard } from "../../../../src/program/cluster/tenants/tenants-of-shard.ts";
import { defaultIndex } from "../../../../src/program/settings/index-settings.ts";

const STEPS = 250;
const SHARDS = [1, 2];
const NAMES = ["red", "tan", "sky"];
const KEY = new ClusterKey(Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString("base64"), "cluster");

/** What a change of tenants could do wrong. */
export interface RevocationBug {
  /** A node reports a version before its engines have its changes. */
  readonly reportsEarly?: true;
  /** A change is answered when the first node has it, and waits for no other. */
  readonly waitsForOne?: true;
}

/** The calls under way, of which a random one ends next. */
class Calls {
  readonly #waiting: (() => void)[] = [];
  readonly #pick: (count: number) => number;

  constructor(pick: (count: number) => number) {
    this.#pick = pick;
  }

  get count(): number {
    return this.#waiting.length;
  }

  pass(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  endOne(): void {
    this.#waiting.splice(this.#pick(this.#waiting.length), 1)[0]?.();
  }
}

/** An engine accepts for each tenant the token of one version, which is its text. */
class Engine {
  readonly accepted = new Map<string, number>();
  readonly frozen = new Set<string>();
  readonly service: ShardEngine["service"];
  readonly persistence = { journal: { end: 0, synced: 0 } };

  constructor(calls: Calls) {
    this.service = {
      setTokens: async ({ name, tokens, isMoving }) => {
        await calls.pass();
        this.accepted.set(name, Number(tokens[0]?.token));
        if (isMoving === true) this.frozen.add(name);
        else this.frozen.delete(name);
      },
      forgetTokens: (name) => void this.accepted.delete(name),
      dropTenant: async (name) => {
        this.accepted.delete(name);
        await calls.pass();
      },
    };
  }
}

class World {
  readonly random: (count: number) => number;
  readonly calls: Calls;
  version = 0;
  readonly rows = new Map<string, TenantRow>();
  /** The latest version of each name that a replaced token is older than. */
  readonly changed = new Map<string, number>();
  /** Of the last move of each name: its new shard, and the version from which on the former one has nothing. */
  readonly switched = new Map<string, { readonly shard: number; readonly version: number }>();
  nodes: TestNode[] = [];
  readonly owners = new Map<number, TestNode>();
  /** The latest version that all nodes have reported at once, with what was changed by then. */
  reached: ReadonlyMap<string, number> = new Map();
  readonly #history: { readonly version: number; readonly changed: ReadonlyMap<string, number> }[] = [];

  readonly bug: RevocationBug;

  constructor(seed: number, bug: RevocationBug) {
    this.bug = bug;
    const random = seededRandom(seed);
    this.random = (count: number): number => random.below(count);
    this.calls = new Calls(this.random);
  }

  change(): void {
    const name = NAMES[this.random(NAMES.length)] ?? "";
    const row = this.rows.get(name);
    if (row?.isRemoved === true) return; // Its name is taken.
    this.version += 1;
    const { version } = this;
    const place = { area: "store", name, version } as const;
    this.changed.set(name, version);
    if (row !== undefined && row.movingTo === undefined && row.leftOn === undefined && this.random(3) === 0) {
      this.rows.set(name, { ...place, shard: row.shard, isRemoved: true });
      this.switched.delete(name);
    } else {
      const secrets = { token: String(version), readOnlyToken: `r${version}` };
      const content = { definition: undefined, sealed: KEY.seal(secrets, place) };
      const shard = row?.shard ?? SHARDS[this.random(SHARDS.length)] ?? 1;
      this.rows.set(name, { ...row, ...place, shard, isRemoved: false, content });
    }
    this.#history.push({ version, changed: new Map(this.changed) });
  }

  /** The version that all nodes have reported. */
  get seen(): number {
    const reported = this.nodes.map((node) => node.reported);
    return this.bug.waitsForOne === true ? Math.max(...reported) : Math.min(...reported);
  }

  /** The next step of a move, if every node has reported the one before. */
  move(): void {
    const name = NAMES[this.random(NAMES.length)] ?? "";
    const row = this.rows.get(name);
    if (row === undefined || row.isRemoved || this.nodes.length === 0) return;
    const { movingTo, ...rest } = row;
    const other = SHARDS.find((shard) => shard !== row.shard) ?? 1;
    if (movingTo !== undefined && this.seen < (row.moved ?? 0)) return;
    if (movingTo === undefined && row.leftOn !== undefined) return;
    this.version += 1;
    const moved = this.version;
    if (movingTo === undefined) this.rows.set(name, { ...row, moved, movingTo: other });
    else if (movingTo === row.shard) this.rows.set(name, { ...rest, moved });
    else {
      this.rows.set(name, { ...row, moved, shard: movingTo, leftOn: row.shard });
      this.switched.set(name, { shard: movingTo, version: moved });
    }
    this.#history.push({ version: moved, changed: new Map(this.changed) });
  }

  read(since: number): TenantsRead {
    const rows = [...this.rows.values()].map(({ content, ...row }) => ({
      ...row,
      ...(content !== undefined && Math.max(row.version, row.moved ?? 0) > since && { content }),
    }));
    return { version: this.version, rows };
  }

  /** keeps (1) */
  check(): void {
    const { seen } = this;
    if (this.nodes.length > 0)
      this.reached = this.#history.findLast(({ version }) => version <= seen)?.changed ?? this.reached;
    for (const node of this.nodes)
      for (const { serving } of node.shards.values())
        for (const [name, token] of serving?.accepted ?? [])
          assert.ok(token >= (this.reached.get(name) ?? 0), `${node.name} accepts token ${token} of ${name}`);
    this.#checkMoves(seen);
  }

  /** keeps (3) */
  #checkMoves(seen: number): void {
    for (const node of this.nodes)
      for (const [number, { serving }] of node.shards) {
        if (serving === undefined) continue;
        for (const name of serving.accepted.keys()) {
          const { movingTo, moved = 0 } = this.rows.get(name) ?? {};
          const isFrozen = movingTo !== undefined && seen >= moved;
          assert.ok(!isFrozen || serving.frozen.has(name), `${node.name} accepts writes of ${name}`);
          const last = this.switched.get(name);
          const hasLeft = last !== undefined && last.shard !== number && seen >= last.version;
          assert.ok(!hasLeft, `${node.name} serves ${name} on shard ${number}`);
        }
      }
  }
}

interface HostedShard {
  readonly tenants: TenantsOfShard;
  serving: Engine | undefined;
}

class TestNode {
  readonly name: string;
  readonly shards: ReadonlyMap<number, HostedShard>;
  readonly tenants: RunTimeTenants;
  reported = -1;
  readonly #world: World;

  constructor(world: World, name: string) {
    const { calls } = world;
    this.#world = world;
    this.name = name;
    this.shards = new Map(SHARDS.map((shard) => [shard, { tenants: new TenantsOfShard(shard), serving: undefined }]));
    const clock = {
      after(_: number, task: () => void) {
        void calls.pass().then(task);
        return () => {};
      },
    };
    this.tenants = new RunTimeTenants({
      source: {
        read: async (since) => {
          await calls.pass();
          const found = world.read(since);
          await calls.pass();
          if (world.bug.reportsEarly === true && world.nodes.includes(this)) this.reported = found.version;
          return found;
        },
        report: async (version) => {
          await calls.pass();
          this.reported = version;
        },
        forgetLeft: async ({ name: gone, leftOn }) => {
          await calls.pass();
          const row = world.rows.get(gone);
          if (row?.leftOn !== leftOn) return;
          const { leftOn: _, ...rest } = row;
          world.rows.set(gone, rest);
        },
        forget: async ({ name: gone, version }) => {
          await calls.pass();
          const row = world.rows.get(gone);
          if (row?.isRemoved === true && row.version === version) world.rows.delete(gone);
        },
      },
      key: KEY,
      listed: { store: [], messaging: [], vector: [] },
      listedTenant: () => undefined,
      readIndex: () => defaultIndex,
      knows: () => true,
      clock,
      log: createLog({ level: "error", format: "text", clock: new VirtualClock(), sink: () => {} }),
      lost: (reason) => assert.fail(reason),
    });
  }

  async join(): Promise<void> {
    const world = this.#world;
    await this.tenants.load();
    await this.tenants.introduce((_, changes) => this.#give(changes));
    const seen = this.tenants.settledVersion;
    await world.calls.pass();
    this.reported = seen;
    world.nodes.push(this);
    this.tenants.registered(seen);
  }

  async claim(number: number): Promise<void> {
    const world = this.#world;
    const shard = this.shards.get(number) as HostedShard;
    if (world.owners.has(number)) return;
    world.owners.set(number, this);
    const engine = new Engine(world.calls);
    const { made, removed } = await this.tenants.atOpen("store", number);
    shard.tenants.opening();
    for (const name of removed) await engine.service.dropTenant(name);
    for (const tenant of made) await engine.service.setTokens(tenant);
    await shard.tenants.opened(engine);
    shard.serving = engine;
    await this.tenants.opened("store", number);
  }

  async release(number: number): Promise<void> {
    const shard = this.shards.get(number) as HostedShard;
    if (shard.serving === undefined) return;
    shard.serving = undefined;
    await shard.tenants.closed();
    if (this.#world.owners.get(number) === this) this.#world.owners.delete(number);
  }

  async #give(changes: TenantChanges): Promise<readonly PlacedTenant[]> {
    await this.#world.calls.pass();
    const all = await Promise.all([...this.shards.values()].map(({ tenants }) => tenants.change(changes)));
    await this.#world.calls.pass();
    return all.flat();
  }
}

function act(world: World, started: () => string): void {
  const { nodes, random } = world;
  const node = nodes[random(nodes.length)];
  const shard = SHARDS[random(SHARDS.length)] ?? 1;
  const what = random(14);
  if (what < 2) world.change();
  else if (what > 11) world.move();
  else if (what < 5) node?.tenants.saw(world.version);
  else if (what < 6) void node?.claim(shard);
  else if (what < 7 && world.owners.get(shard) !== undefined) void world.owners.get(shard)?.release(shard);
  else if (what < 8 && nodes.length < 3 && random(4) === 0) void new TestNode(world, started()).join();
  else if (what < 9 && nodes.length > 1 && random(8) === 0) {
    // It is declared dead: nothing that it does counts any more.
    world.nodes = nodes.filter((each) => each !== node);
    for (const [number, owner] of world.owners) if (owner === node) world.owners.delete(number);
  } else if (world.calls.count > 0) world.calls.endOne();
}

async function settle(world: World): Promise<void> {
  for (let idle = 0; idle < 3; ) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (world.calls.count > 0) {
      world.calls.endOne();
      idle = 0;
    } else idle += 1;
    world.check();
  }
}

/** One world. Rejects with the first violation. */
export async function runRevocations(seed: number, bug: RevocationBug = {}): Promise<void> {
  const world = new World(seed, bug);
  let count = 0;
  const started = (): string => {
    count += 1;
    return `node ${count}`;
  };
  void new TestNode(world, started()).join();
  await settle(world);
  for (let step = 0; step < STEPS; step += 1) {
    act(world, started);
    await new Promise<void>((resolve) => setImmediate(resolve));
    world.check();
  }
  // keeps (2)
  for (let round = 0; round < 4; round += 1) {
    await settle(world);
    for (const shard of SHARDS) void world.nodes[0]?.claim(shard);
    for (const node of world.nodes) node.tenants.saw(world.version);
  }
  await settle(world);
  const accepted = [...world.owners].flatMap(([shard, owner]) =>
    [...(owner.shards.get(shard)?.serving?.accepted ?? [])].map(([name, token]) => [name, token, shard]),
  );
  const wanted = [...world.rows.values()].map(({ name, version, shard }) => [name, version, shard]);
  assert.deepEqual(accepted.toSorted(), wanted.toSorted());
  assert.ok([...world.rows.values()].every(({ leftOn }) => leftOn === undefined));
  assert.ok([...world.rows.values()].every(({ isRemoved }) => !isRemoved));
}

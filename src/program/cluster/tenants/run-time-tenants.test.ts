/** What a node has of tenants that were made at run time, over tables in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplyLease } from "../../../cluster/node/lease.ts";
import { VirtualClock } from "../../../kernel/clock.virtual.ts";
import { createLog } from "../../../kernel/log.ts";
import type { AreaName } from "../../areas/area.ts";
import type { PlacedTenant, TenantChanges } from "../../areas/area-tenant.ts";
import { defaultIndex } from "../../settings/index-settings.ts";
import { ClusterKey, type TenantSecrets } from "./cluster-key.ts";
import { RunTimeTenants } from "./run-time-tenants.ts";
import type { TenantRow, TenantsRead } from "./tenant-table.ts";

const KEY = new ClusterKey(Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString("base64"), "cluster");
const STRANGE = new ClusterKey(Buffer.alloc(32, "x").toString("base64"), "cluster");

/** The tables, which keep the contents of rows as PostgreSQL does. */
class Tables {
  version = 0;
  rows = new Map<string, TenantRow>();
  readonly reported: number[] = [];
  readonly forgotten: string[] = [];
  isDown = false;

  put(name: string, { area = "store", shard = 1, key = KEY, definition }: Partial<PutOptions> = {}): void {
    this.version += 1;
    const place = { area, name, version: this.version };
    const secrets: TenantSecrets = { token: `${name}-${this.version}`, readOnlyToken: `${name}-r` };
    const content = { definition, sealed: key.seal(secrets, place) };
    this.rows.set(name, { ...place, shard, isRemoved: false, content });
  }

  remove(name: string): void {
    this.version += 1;
    const { content: _, ...row } = this.rows.get(name) as TenantRow;
    this.rows.set(name, { ...row, version: this.version, isRemoved: true });
  }

  async read(since: number): Promise<TenantsRead> {
    if (this.isDown) throw new Error("PostgreSQL does not answer");
    const rows = [...this.rows.values()].map(({ content, ...row }) => ({
      ...row,
      ...(content !== undefined && Math.max(row.version, row.moved ?? 0) > since && { content }),
    }));
    return { version: this.version, rows };
  }

  async report(version: number): Promise<void> {
    this.reported.push(version);
  }

  async forget({ name }: Pick<TenantRow, "name">): Promise<void> {
    this.forgotten.push(name);
    this.rows.delete(name);
  }

  /** A step of a move, which seals nothing. A tenant without a row is one of the configuration. */
  move(name: string, step: Pick<TenantRow, "shard" | "movingTo" | "leftOn">): void {
    this.version += 1;
    const configured = { area: "store", name, version: 0, isRemoved: false, isConfigured: true } as const;
    const { movingTo: _, leftOn: __, ...row } = this.rows.get(name) ?? { ...configured, shard: step.shard };
    this.rows.set(name, { ...row, ...step, moved: this.version });
  }

  async forgetLeft({ name, leftOn }: { readonly name: string; readonly leftOn: number }): Promise<void> {
    this.forgotten.push(`${name} on ${leftOn}`);
    const { leftOn: _, ...row } = this.rows.get(name) as TenantRow;
    this.rows.set(name, row);
  }
}

interface PutOptions {
  readonly area: AreaName;
  readonly shard: number;
  readonly key: ClusterKey;
  readonly definition: string | undefined;
}

class TestNode {
  readonly tables = new Tables();
  readonly clock = new VirtualClock();
  readonly lines: string[] = [];
  readonly lost: string[] = [];
  readonly replies = new ReplyLease(this.clock);
  /** What the areas were told, such as `+shop:shop-1` or `-shop` or `x shop`. */
  told: string[] = [];
  /** Removed tenants are served here. */
  isServing = true;
  isRefusing = false;
  /** Called while an area makes a change. */
  meanwhile: () => Promise<unknown> = async () => {};
  readonly tenants: RunTimeTenants;

  constructor({
    key = KEY,
    listed = [] as readonly string[],
  }: { key?: ClusterKey | undefined; listed?: readonly string[] } = {}) {
    const log = createLog({
      level: "warn",
      format: "text",
      clock: this.clock,
      sink: (line) => this.lines.push(line.slice(25, -1)),
    });
    this.tenants = new RunTimeTenants({
      source: this.tables,
      key,
      listed: { store: listed, messaging: [], vector: [] },
      listedTenant: (_, name) => ({ name, tokens: [{ token: `${name}-listed`, access: "standard" }] }),
      readIndex(definition) {
        if (definition !== "{}") throw new Error("embedding is not a model");
        return defaultIndex;
      },
      knows: (shard) => shard < 9,
      clock: this.clock,
      log,
      lost: (reason) => this.lost.push(reason),
      onUnread: () => this.replies.limit(),
      onRead: () => this.replies.lift(),
    });
  }

  /** Reads the tables and registers, as at a start. */
  async start(): Promise<this> {
    await this.tenants.load();
    await this.tenants.introduce(async (_, changes) => this.#change(changes));
    this.tenants.registered(this.tenants.settledVersion);
    return this;
  }

  /** What the areas are told when a poll has read the version. */
  async poll(): Promise<readonly string[]> {
    this.told = [];
    this.tenants.saw(this.tables.version);
    await this.tenants.refresh();
    return this.told;
  }

  /** A renewal of the lease and a poll return each second; only the tables of tenants may be down. */
  async live(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.advance(1_000);
      this.replies.extend({ monotonicMs: this.clock.monotonicMs(), wallMs: this.clock.nowMs() });
      this.tenants.saw(this.tables.version);
      await this.tenants.refresh().catch(() => {});
    }
  }

  async #change({ put, closed, removed, left }: TenantChanges): Promise<readonly PlacedTenant[]> {
    await this.meanwhile();
    if (this.isRefusing) throw new Error("the area does not answer");
    this.told.push(
      ...put.map(({ name, tokens, shard, isMoving }) => {
        const place = shard === 1 ? "" : ` on ${shard}`;
        return `+${name}:${tokens[0]?.token}${place}${isMoving === true ? " frozen" : ""}`;
      }),
      ...closed.map(({ name }) => `x ${name}`),
      ...removed.map(({ name }) => `-${name}`),
      ...left.map(({ name, shard }) => `-${name} on ${shard}`),
    );
    return this.isServing ? [...removed, ...left] : [];
  }
}

test("tenants that exist at the start are given to the areas, and their version is that of the registration", async () => {
  const node = new TestNode();
  node.tables.put("shop");
  await node.start();
  assert.deepEqual(node.told, ["+shop:shop-1"]);
  assert.equal(node.tenants.settledVersion, 1);
  assert.deepEqual(await node.poll(), []);
  assert.deepEqual(node.tables.reported, []);
});

test("only what has changed is given to the areas, and then reported", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  node.tables.put("toys");
  assert.deepEqual(await node.poll(), ["+shop:shop-1", "+toys:toys-2"]);
  node.tables.put("shop");
  assert.deepEqual(await node.poll(), ["+shop:shop-3"]);
  assert.deepEqual(node.tables.reported, [2, 3]);
});

test("the row of a removed tenant goes when this node has removed its data, and stays otherwise", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  await node.poll();
  node.isServing = false;
  node.tables.remove("shop");
  assert.deepEqual(await node.poll(), ["-shop"]);
  assert.deepEqual(node.tables.forgotten, []);
  assert.deepEqual(node.tables.reported, [1, 2]);
  assert.deepEqual(await node.tenants.atOpen("store", 1), { made: [], removed: ["shop"], elsewhere: [] });
  node.isServing = true;
  await node.tenants.opened("store", 1);
  assert.deepEqual(node.tables.forgotten, ["shop"]);
});

test("a tenant whose row is gone is closed, and its data is left alone", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  await node.poll();
  node.tables.rows.delete("shop");
  node.tables.version += 1;
  assert.deepEqual(await node.poll(), ["x shop"]);
  assert.deepEqual(node.tables.reported, [1, 2]);
});

test("a version is not reported before an area has taken its changes", async () => {
  const node = await new TestNode().start();
  node.isRefusing = true;
  node.tables.put("shop");
  assert.deepEqual(await node.poll(), []);
  assert.deepEqual(node.tables.reported, []);
  assert.match(node.lines[0] ?? "", /^warn {2}tenants not changed area=store fault="the area does not answer"/);
  // A newer change of the same tenant takes the place of the one that failed.
  node.tables.put("shop");
  node.isRefusing = false;
  assert.deepEqual(await node.poll(), ["+shop:shop-2"]);
  assert.deepEqual(node.tables.reported, [2]);
});

test("a change that failed is not repeated over a newer one that was read meanwhile", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  node.isRefusing = true;
  // The shard is opened while the area does not answer, and its tenants are read again.
  node.meanwhile = async () => {
    node.meanwhile = async () => {};
    node.tables.put("shop");
    await node.tenants.atOpen("store", 1);
  };
  assert.deepEqual(await node.poll(), []);
  node.isRefusing = false;
  assert.deepEqual(await node.poll(), ["+shop:shop-2"]);
  assert.deepEqual(await node.poll(), []);
  assert.deepEqual(node.tables.reported, [2]);
});

test("a removal that failed is not undone by the change before it that failed too", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  node.isRefusing = true;
  node.meanwhile = async () => {
    node.meanwhile = async () => {};
    node.tables.remove("shop");
    await node.tenants.atOpen("store", 1);
  };
  assert.deepEqual(await node.poll(), []);
  assert.deepEqual(await node.poll(), []);
  node.isRefusing = false;
  assert.deepEqual(await node.poll(), ["-shop"]);
  assert.deepEqual(node.tables.forgotten, ["shop"]);
  assert.deepEqual(node.tables.reported, [2]);
});

test("a tenant that moves is frozen, is on its new shard then, and is removed from the former one", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  await node.poll();
  node.tables.move("shop", { shard: 1, movingTo: 4 });
  assert.deepEqual(await node.poll(), ["+shop:shop-1 frozen"]);
  assert.deepEqual(
    (await node.tenants.atOpen("store", 1)).made.map(({ name, isMoving }) => [name, isMoving]),
    [["shop", true]],
  );
  node.isServing = false;
  node.tables.move("shop", { shard: 4, movingTo: 4, leftOn: 1 });
  assert.deepEqual(await node.poll(), ["+shop:shop-1 on 4 frozen", "-shop on 1"]);
  assert.deepEqual(await node.tenants.atOpen("store", 1), { made: [], removed: ["shop"], elsewhere: [] });
  node.tables.move("shop", { shard: 4, leftOn: 1 });
  assert.deepEqual(await node.poll(), ["+shop:shop-1 on 4", "-shop on 1"]);
  assert.deepEqual(node.tables.forgotten, []);
  node.isServing = true;
  await node.tenants.opened("store", 1);
  assert.deepEqual(node.tables.forgotten, ["shop on 1"]);
  assert.deepEqual(node.tables.reported, [1, 2, 3, 4]);
  // A token that is replaced afterwards leaves the shard as it is.
  node.tables.put("shop", { shard: 4 });
  assert.deepEqual(await node.poll(), ["+shop:shop-5 on 4"]);
});

test("a tenant of the configuration follows its move with the tokens of the configuration", async () => {
  const node = await new TestNode({ listed: ["shop"] }).start();
  node.tables.move("shop", { shard: 1, movingTo: 4 });
  assert.deepEqual(await node.poll(), ["+shop:shop-listed frozen"]);
  node.tables.move("shop", { shard: 4, movingTo: 4, leftOn: 1 });
  assert.deepEqual(await node.poll(), ["+shop:shop-listed on 4 frozen", "-shop on 1"]);
  const { made, removed, elsewhere } = await node.tenants.atOpen("store", 1);
  assert.deepEqual([made, removed, elsewhere], [[], [], ["shop"]]);
  assert.deepEqual(node.tables.forgotten, ["shop on 1"]);
  assert.deepEqual(node.tables.reported, [1, 2]);
  assert.deepEqual([node.tenants.of("store"), node.lines], [[], []]);
});

test("a node that lists nothing of a configured tenant has no tokens of it, and reports its move", async () => {
  const node = await new TestNode().start();
  node.tables.move("shop", { shard: 1, movingTo: 4 });
  await node.poll();
  assert.deepEqual(node.tables.reported, [1]);
  assert.equal(node.tenants.find("store", "shop"), undefined);
});

test("a move to a shard that this node does not know is not reported", async () => {
  const node = await new TestNode({ listed: ["shop"] }).start();
  node.tables.move("shop", { shard: 1, movingTo: 9 });
  await node.poll();
  assert.deepEqual(node.tables.reported, []);
  assert.match(node.lines[0] ?? "", /a tenant is on a shard that was added later: start this node again .*shard=9/);
});

test("a change that PostgreSQL has lost is undone here", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  await node.poll();
  const before = node.tables.rows.get("shop") as TenantRow;
  node.tables.put("shop");
  await node.poll();
  node.tables.rows.set("shop", before);
  node.tables.version = 7;
  assert.deepEqual(await node.poll(), ["+shop:shop-1"]);
});

test("a tenant of the configuration wins over a row of the same name, with a warning", async () => {
  const node = new TestNode({ listed: ["shop"] });
  node.tables.put("shop");
  await node.start();
  assert.deepEqual(node.told, []);
  node.tables.remove("shop");
  assert.deepEqual(await node.poll(), []);
  assert.equal(node.lines.length, 1);
  assert.match(node.lines[0] ?? "", /made at run time is also in the configuration/);
});

test("secrets that cannot be opened close their tenant, and the version is not reported", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  await node.poll();
  node.tables.put("shop", { key: STRANGE });
  assert.deepEqual(await node.poll(), ["x shop"]);
  assert.deepEqual(node.tables.reported, [1]);
  assert.match(node.lines[0] ?? "", /the secrets of a tenant cannot be opened/);
  assert.deepEqual(node.tenants.unopened, ["store shop"]);
  node.tables.put("shop");
  assert.deepEqual(await node.poll(), ["+shop:shop-3"]);
  assert.deepEqual(node.tenants.unopened, []);
  assert.deepEqual(node.tables.reported, [1, 3]);
});

test("a tenant that this node cannot serve is logged, and the version is not reported", async () => {
  const node = await new TestNode().start();
  node.tables.put("docs", { area: "vector", definition: "{}" });
  assert.deepEqual(await node.poll(), ["+docs:docs-1"]);
  node.tables.put("texts", { area: "vector", definition: '{"embedding":{"model":"unknown"}}' });
  assert.deepEqual(await node.poll(), ["x texts"]);
  node.tables.put("far", { shard: 9 });
  assert.deepEqual(await node.poll(), ["+far:far-3 on 9"]);
  assert.deepEqual(node.tables.reported, [1]);
  assert.match(node.lines[0] ?? "", /this node cannot serve an index .*embedding is not a model/);
  assert.match(node.lines[1] ?? "", /a tenant is on a shard that was added later: start this node again/);
});

test("a node without a key ends when a tenant is made", async () => {
  const node = new TestNode();
  const keyless = new RunTimeTenants({
    source: node.tables,
    key: undefined,
    listed: { store: [], messaging: [], vector: [] },
    listedTenant: () => undefined,
    readIndex: () => defaultIndex,
    knows: () => true,
    clock: node.clock,
    log: createLog({ level: "error", format: "text", clock: node.clock, sink: () => {} }),
    lost: (reason) => node.lost.push(reason),
  });
  await keyless.load();
  assert.deepEqual(node.lost, []);
  node.tables.put("shop");
  await keyless.refresh();
  assert.match(node.lost[0] ?? "", /set LARDER_CLUSTER_KEY to the key of the other nodes/);
});

test("a shard is opened with what was read after its claim, also when PostgreSQL answers late", async () => {
  const node = await new TestNode().start();
  node.tables.put("shop");
  node.tables.put("toys", { shard: 4 });
  node.tables.isDown = true;
  const opening = node.tenants.atOpen("store", 1);
  await node.clock.advanceAsync(600);
  node.tables.isDown = false;
  node.tables.put("shop");
  await node.clock.advanceAsync(300);
  const { made, removed } = await opening;
  assert.deepEqual(
    made.map(({ name, tokens }) => [name, tokens.map(({ token, access }) => `${token} ${access}`)]),
    [["shop", ["shop-3 standard", "shop-r read-only"]]],
  );
  assert.deepEqual(removed, []);
});

test("a node that renews its lease but cannot read a change answers nothing after 5.4 s, until it has read it", async () => {
  const node = await new TestNode().start();
  node.tables.isDown = true;
  await node.live(20);
  assert.equal(node.replies.isFresh(), true, "nothing has changed");
  node.tables.put("shop");
  await node.live(6);
  assert.equal(node.replies.isFresh(), true, "5,000 ms after the poll that showed the change");
  node.clock.advance(399);
  assert.equal(node.replies.isFresh(), true);
  node.clock.advance(1);
  assert.equal(node.replies.isFresh(), false);
  await node.live(60);
  assert.deepEqual([node.replies.isFresh(), node.replies.leftMs, node.replies.isLimited], [false, 0, true]);
  node.tables.isDown = false;
  let isToldFirst = false;
  const resumed = node.replies.whenFresh().then(() => {
    isToldFirst = node.told.includes("+shop:shop-1");
  });
  assert.deepEqual(await node.poll(), ["+shop:shop-1"]);
  await resumed;
  assert.deepEqual([isToldFirst, node.replies.isFresh(), node.replies.isLimited], [true, true, false]);
});

test("changes that are read late, one after the other, do not suspend a node", async () => {
  const node = await new TestNode().start();
  for (let round = 0; round < 10; round += 1) {
    node.tables.put("shop");
    node.tables.isDown = true;
    await node.live(3);
    // Another change is shown before the read returns.
    node.tables.isDown = false;
    node.meanwhile = async () => {
      node.meanwhile = async () => {};
      node.tables.put("shop");
      node.tenants.saw(node.tables.version);
      node.tables.isDown = true;
    };
    await node.live(2);
    assert.equal(node.replies.isFresh(), true);
    node.tables.isDown = false;
  }
});

test("a change that PostgreSQL loses before it was read suspends nothing", async () => {
  const node = await new TestNode().start();
  node.tables.isDown = true;
  node.tables.put("shop");
  await node.live(2);
  node.tables.version = 0;
  await node.live(10);
  assert.deepEqual([node.replies.isFresh(), node.replies.isLimited], [true, false]);
});

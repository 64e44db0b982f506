/** The calls of main to an area of several threads: each goes to the thread that it concerns. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConnectedClient } from "../../../../edge/admin/clients.ts";
import { Metrics } from "../../../../kernel/metrics.ts";
import type { AreaApi, AreaPlan, AreaPlans } from "../../../areas/area.ts";
import { type AreaTenant, NO_TENANTS } from "../../../areas/area-tenant.ts";
import { type AreaOfThread, threadedArea } from "./threaded-area.ts";

const tenant = (name: string): AreaTenant => ({ name, tokens: [] });

/** The parts of the plan of a shard that are read. */
function planOf(shard: number, ...names: readonly string[]): AreaPlan {
  return { area: "store", shard: { shard }, tenants: names.map(tenant) } as unknown as AreaPlan;
}

const PLANS: AreaPlans = [planOf(1, "red"), planOf(4, "tan"), planOf(7, "sky")];

interface ThreadFacts {
  readonly shards: readonly number[];
  /** Tenants with data. */
  readonly names?: readonly string[];
  /** Its close fails. */
  readonly fails?: boolean;
}

function threadOf(number: number, { shards, names = [], fails = false }: ThreadFacts, calls: string[]): AreaOfThread {
  const note = (call: string, ...facts: readonly unknown[]): void => {
    calls.push([number, call, ...facts].join(" "));
  };
  const metrics = new Metrics();
  metrics
    .gauge("keys", "Keys")
    .with()
    .set(number + 1);
  const ids = shards.map((shard) => 10 * shard);
  const api: AreaApi = {
    clients: {
      async list({ count, cursor = 0 }) {
        const listed = ids.filter((id) => id > cursor);
        const clients = listed.slice(0, count).map((id) => ({ id }) as ConnectedClient);
        return { clients, ...(listed.length > count && { cursor: `${clients.at(-1)?.id}` }) };
      },
      kill: async (id) => ids.includes(id),
    },
    control: {
      bind: async () => {
        note("bind");
        return { port: number === 0 ? 80 : undefined, respPort: undefined };
      },
      open: async (claim) => note("open", claim?.shard),
      confirmed: async ({ shard, id }) => note("confirmed", shard, id),
      follow: async ({ shard, owner }) => note("follow", shard, owner.kind),
      replaceKeys: async ({ offered }) => note("keys", offered.name),
      async changeTenants({ removed }) {
        note("change");
        return removed.filter(({ name }) => names.includes(name));
      },
      prepareRelease: async (shard) => note("prepareRelease", shard),
      release: async ({ shard, graceMs }) => note("release", shard, graceMs),
      close: async (graceMs) => {
        note("close", graceMs);
        await new Promise((resolve) => setImmediate(resolve));
        note("closed");
        if (fails) throw new Error("planted");
      },
      figures: async () => metrics.snapshot(),
    },
    data: {
      reset: async () => note("reset"),
      tenantNames: async (shard) => (shard === undefined ? names : names.slice(0, 1)),
      tenantMemory: async () => names.map((name) => ({ name, memoryBytes: name.length })),
      namespaces: async ({ index }) => (names.includes(index) ? { namespaces: [], cursor: `${number}` } : undefined),
      setTokens: async ({ name }) => note("tokens", name),
      dropTenant: async (name) => note("drop", name),
      backUp: async () => 0,
    },
    snapshots: {
      prepareSnapshot: async (shard) => note("prepare", shard),
      finishSnapshot: async (isWritten) => {
        note("finish", isWritten);
        return true;
      },
    },
  };
  return { plans: number === 0 ? PLANS : [PLANS[1] as AreaPlan], shards, api };
}

function areaOf({ frontFails = false } = {}): { readonly area: AreaApi; readonly calls: string[] } {
  const calls: string[] = [];
  const front = threadOf(0, { shards: [1, 7], names: ["red", "sky"], fails: frontFails }, calls);
  const other = threadOf(1, { shards: [4], names: ["tan", "unlisted"] }, calls);
  return { area: threadedArea([front, other]), calls };
}

test("what concerns a shard goes to its thread, and owners and keys go to the front, which forwards", async () => {
  const { area, calls } = areaOf();
  const { control, snapshots } = area;
  assert.deepEqual(await control.bind(), { port: 80, respPort: undefined });
  const claim = { epoch: 1, snapshot: undefined, floorMs: 0, tenants: NO_TENANTS };
  for (const shard of [1, 4, 7]) await control.open({ shard, ...claim });
  await control.confirmed({ shard: 4, id: 9 });
  await control.follow({ shard: 4, owner: { kind: "nobody" } });
  await control.replaceKeys({ offered: { name: "second", secret: Buffer.of(2) }, accepted: [] });
  await control.prepareRelease(4);
  await control.release({ shard: 4, graceMs: 5 });
  await snapshots.prepareSnapshot(4);
  assert.equal(await snapshots.finishSnapshot(true), true);
  await snapshots.prepareSnapshot(7);
  await snapshots.finishSnapshot(false);
  assert.deepEqual(calls, [
    ...[
      "0 bind",
      "1 bind",
      "0 open 1",
      "1 open 4",
      "0 open 7",
      "1 confirmed 4 9",
      "0 follow 4 nobody",
      "0 keys second",
    ],
    ...["1 prepareRelease 4", "1 release 4 5", "1 prepare 4", "1 finish true", "0 prepare 7", "0 finish false"],
  ]);
});

test("changes of tenants at run time go to every thread, which finds shards by their tokens", async () => {
  const { area, calls } = areaOf();
  const removed = ["tan", "sky", "unknown"].map((name) => ({ name, shard: 4 }));
  assert.deepEqual(await area.control.changeTenants({ put: [], closed: [], removed, left: [] }), [
    { name: "sky", shard: 4 },
    { name: "tan", shard: 4 },
  ]);
  assert.deepEqual(calls, ["0 change", "1 change"]);
});

test("tokens and tenants change where their data is, and at the front, which routes by them", async () => {
  const { area, calls } = areaOf();
  assert.deepEqual(await area.data.tenantNames(), ["red", "sky", "tan", "unlisted"]);
  assert.deepEqual(await area.data.tenantNames(4), ["tan"]);
  assert.deepEqual(
    (await area.data.tenantMemory()).map(({ memoryBytes }) => memoryBytes),
    [3, 3, 3, 8],
  );
  const hostOf = async (index: string): Promise<string | undefined> =>
    (await area.data.namespaces?.({ index, count: 1 }))?.cursor;
  assert.deepEqual([await hostOf("sky"), await hostOf("tan"), await hostOf("none")], ["0", "1", undefined]);
  await area.data.setTokens(tenant("red"));
  await area.data.setTokens(tenant("tan"));
  await area.data.dropTenant("tan");
  await area.data.dropTenant("unlisted");
  await area.data.dropTenant("sky");
  await area.data.reset();
  assert.deepEqual(calls, [
    ...["0 tokens red", "1 tokens tan", "0 tokens tan", "0 drop tan", "1 drop tan", "1 drop unlisted", "0 drop sky"],
    ...["0 reset", "1 reset"],
  ]);
  await assert.rejects(area.data.dropTenant("none"), { text: /store is not available/ });
});

test("the front closes before the threads that answer its requests, also if that fails", async () => {
  for (const frontFails of [false, true]) {
    const { area, calls } = areaOf({ frontFails });
    const closed = area.control.close(5);
    if (frontFails) await assert.rejects(closed, /planted/);
    else await closed;
    assert.deepEqual(calls, ["0 close 5", "0 closed", "1 close 5", "1 closed"]);
  }
});

test("the figures are those of all threads", async () => {
  const [family] = await areaOf().area.control.figures();
  assert.deepEqual(family?.series, [{ labelValues: [], values: [3] }]);
});

test("the clients are those of all threads by id, in pages, and one of them is ended in its thread", async () => {
  const { clients } = areaOf().area;
  const page = async (count: number, cursor = 0): Promise<unknown> => {
    const { clients: listed, cursor: next } = await clients.list({ count, cursor });
    return [listed.map(({ id }) => id), next];
  };
  assert.deepEqual(await page(5), [[10, 40, 70], undefined]);
  assert.deepEqual(await page(3), [[10, 40, 70], undefined]);
  assert.deepEqual(await page(2), [[10, 40], "40"]);
  assert.deepEqual(await page(1, 10), [[40], "40"]);
  assert.deepEqual(await page(1, 40), [[70], undefined]);
  assert.deepEqual([await clients.kill(40), await clients.kill(41)], [true, false]);
});

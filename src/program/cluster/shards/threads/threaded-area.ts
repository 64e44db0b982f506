/**
 * An area whose shards are spread over several threads, as main sees it: one area,
 * each of whose calls goes to the thread that it concerns.
 *
 * (1) The front closes first: the requests under way in other threads are its own.
 */
import { areaNotServing } from "../../../../edge/errors.ts";
import { assert } from "../../../../kernel/assert.ts";
import type { AreaApi, AreaControl, AreaData, AreaSnapshots } from "../../../areas/area.ts";
import { clientsOfAll } from "../../../areas/area-clients.ts";
import { mergeThreadFamilies } from "./thread-figures.ts";
import type { ThreadStart } from "./thread-plan.ts";

/** A thread of the area with its calls. */
export interface AreaOfThread extends Pick<ThreadStart, "plans" | "shards"> {
  readonly api: AreaApi;
}

/** `threads` are those of one area, the front first. */
export function threadedArea(threads: readonly [AreaOfThread, ...AreaOfThread[]]): AreaApi {
  const hostOf = (shard: number | undefined): AreaOfThread => {
    const host = threads.find(({ shards }) => shard !== undefined && shards.includes(shard));
    assert(host !== undefined, "a shard of the area has a thread");
    return host;
  };
  return {
    control: controlOf(threads, hostOf),
    data: dataOf(threads, hostOf),
    snapshots: snapshotsOf(hostOf),
    clients: clientsOfAll(() => threads.map(({ api }) => api.clients)),
  };
}

type HostOf = (shard: number | undefined) => AreaOfThread;

function controlOf(threads: readonly [AreaOfThread, ...AreaOfThread[]], hostOf: HostOf): AreaControl {
  const [front, ...others] = threads;
  return {
    async bind() {
      const [ports] = await Promise.all([front.api.control.bind(), ...others.map(({ api }) => api.control.bind())]);
      return ports;
    },
    open: async (claim) => hostOf(claim?.shard).api.control.open(claim),
    confirmed: async (event) => hostOf(event.shard).api.control.confirmed(event),
    follow: (shard) => front.api.control.follow(shard),
    replaceKeys: (keys) => front.api.control.replaceKeys(keys),
    /** Every thread finds the shard of a request by the tokens of all. */
    async changeTenants(changes) {
      return (await Promise.all(threads.map(({ api }) => api.control.changeTenants(changes)))).flat();
    },
    prepareRelease: async (shard) => hostOf(shard).api.control.prepareRelease(shard),
    release: async (shard) => hostOf(shard.shard).api.control.release(shard),
    async close(graceMs) {
      const [first] = await Promise.allSettled([front.api.control.close(graceMs)]); // keeps (1)
      const rest = await Promise.allSettled(others.map(({ api }) => api.control.close(graceMs)));
      for (const end of [first, ...rest]) if (end.status === "rejected") throw end.reason;
    },
    async figures() {
      return mergeThreadFamilies(await Promise.all(threads.map(({ api }) => api.control.figures())));
    },
  };
}

function dataOf(threads: readonly [AreaOfThread, ...AreaOfThread[]], hostOf: HostOf): AreaData {
  const [front] = threads;
  const tenantNames = async (shard?: number): Promise<readonly string[]> => {
    if (shard !== undefined) return hostOf(shard).api.data.tenantNames(shard);
    return (await Promise.all(threads.map(({ api }) => api.data.tenantNames()))).flat();
  };
  /** The thread of a tenant that is listed or has data; the front routes by the tokens of those that are listed. */
  const placeOf = async (name: string): Promise<{ readonly thread: AreaOfThread; readonly isRouted: boolean }> => {
    const plan = front.plans.find(({ tenants }) => tenants.some((tenant) => tenant.name === name));
    if (plan !== undefined) {
      const thread = hostOf(plan.shard?.shard);
      return { thread, isRouted: thread !== front };
    }
    for (const thread of threads)
      if ((await thread.api.data.tenantNames()).includes(name)) return { thread, isRouted: false };
    throw areaNotServing(front.plans[0].area);
  };
  return {
    async reset() {
      await Promise.all(threads.map(({ api }) => api.data.reset()));
    },
    tenantNames,
    async tenantMemory() {
      return (await Promise.all(threads.map(({ api }) => api.data.tenantMemory()))).flat();
    },
    async namespaces(wanted) {
      const pages = await Promise.all(threads.map(({ api }) => api.data.namespaces?.(wanted)));
      return pages.find((page) => page !== undefined);
    },
    async setTokens(tenant) {
      const { thread, isRouted } = await placeOf(tenant.name);
      await thread.api.data.setTokens(tenant);
      if (isRouted) await front.api.data.setTokens(tenant);
    },
    async dropTenant(name) {
      const { thread, isRouted } = await placeOf(name);
      if (isRouted) await front.api.data.dropTenant(name);
      await thread.api.data.dropTenant(name);
    },
    backUp: (target) => front.api.data.backUp(target),
  };
}

/** One snapshot of an area is made at a time. */
function snapshotsOf(hostOf: HostOf): AreaSnapshots {
  let prepared: AreaOfThread | undefined;
  return {
    async prepareSnapshot(shard) {
      prepared = hostOf(shard);
      await prepared.api.snapshots.prepareSnapshot(shard);
    },
    async finishSnapshot(isWritten) {
      const host = prepared;
      prepared = undefined;
      return host === undefined ? false : host.api.snapshots.finishSnapshot(isWritten);
    },
  };
}

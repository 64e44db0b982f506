/**
 * The servers of a run: one that all tests share, and servers with a frozen clock.
 *
 * (1) A server with a frozen clock belongs to one test at a time, because a jump moves the time of all its tenants.
 * (2) Another test gets it when the tenants of the one before are gone, so no message of theirs falls due in its jumps.
 */
import { type FreshTenants, type Larder, type StartOptions, StartRefusal, start } from "../mod.ts";
import type { FreshAnswer, FreshLarderOptions } from "./fresh-larder.ts";

/** The keys of a configuration file for all servers of a run. They keep nothing, and use free ports. */
export type RunOptions = Omit<StartOptions, (typeof decided)[number]>;

/** Options that a run decides itself. */
const decided = [
  "command",
  "clock",
  "dataDir",
  "port",
  "storePort",
  "vectorPort",
  "messagingPort",
  "adminPort",
  "respPort",
] as const;

interface Made {
  readonly larder: Larder;
  readonly tenants: FreshTenants;
}

interface Lease extends Made {
  readonly isFrozen: boolean;
}

export class LarderPool {
  readonly #options: RunOptions;
  readonly #shared: Larder;
  /** Every server with a frozen clock. */
  readonly #frozen = new Set<Larder>();
  /** Those that no test has. */
  readonly #idle: Larder[] = [];
  readonly #leases = new Map<unknown, Lease>();
  /** Tenants of the shared server for the next test, which then need not wait for them. */
  #spare: Promise<FreshTenants> | undefined;
  #lastId = 0;

  private constructor(options: RunOptions, shared: Larder) {
    this.#options = options;
    this.#shared = shared;
  }

  /** Rejects with a `StartRefusal` that names the option. */
  static async open(options: RunOptions): Promise<LarderPool> {
    const given = decided.find((name) => name in options);
    if (given !== undefined) throw new StartRefusal(`${given} in startRun(): a run for tests decides it itself`, 2);
    return new LarderPool(options, await start({ ...options, respPort: 0 }));
  }

  /** Makes tenants for one test. Rejects with a `StartRefusal` that names the option. */
  async fresh({ clock, index }: FreshLarderOptions): Promise<FreshAnswer> {
    if (clock !== undefined && clock !== "running" && clock !== "frozen")
      throw new StartRefusal(`clock in freshLarder(): ${JSON.stringify(clock)} is neither "running" nor "frozen"`, 2);
    const isFrozen = clock === "frozen";
    const { larder, tenants } = isFrozen ? await this.#onFrozen(index) : await this.#onShared(index);
    this.#lastId += 1;
    this.#leases.set(this.#lastId, { larder, tenants, isFrozen });
    const { store, vector, messaging, env } = tenants;
    const redisUrl = env["REDIS_URL"] ?? "";
    return { id: this.#lastId, store, vector, messaging, env, redisUrl, nowMs: larder.clock.now() };
  }

  /** Returns the time after the jump. */
  async advance({ id, ms }: { readonly id: unknown; readonly ms: unknown }): Promise<number> {
    const lease = this.#leases.get(id);
    if (lease?.isFrozen !== true) throw new StartRefusal("The time of a larder that has ended does not move");
    await lease.larder.clock.advance(Number(ms));
    return lease.larder.clock.now();
  }

  /** Resolves when the tenants of the lease are gone. A lease that has ended already ends again without effect. */
  async end({ id }: { readonly id: unknown }): Promise<void> {
    const lease = this.#leases.get(id);
    if (lease === undefined) return;
    this.#leases.delete(id);
    await lease.tenants.end();
    if (lease.isFrozen) this.#idle.push(lease.larder); // keeps (2)
  }

  async close(): Promise<void> {
    await Promise.all([this.#shared, ...this.#frozen].map((larder) => larder.stop()));
  }

  async #onShared(index: FreshLarderOptions["index"]): Promise<Made> {
    const larder = this.#shared;
    if (index !== undefined && Object.keys(index).length > 0)
      return { larder, tenants: await larder.freshTenants({ index }) };
    const spare = this.#spare ?? larder.freshTenants();
    this.#spare = undefined;
    const tenants = await spare;
    this.#spare ??= larder.freshTenants();
    // If it fails, the next test gets the reason.
    this.#spare.catch(() => {});
    return { larder, tenants };
  }

  /** keeps (1) */
  async #onFrozen(index: FreshLarderOptions["index"] = {}): Promise<Made> {
    const larder = this.#idle.pop() ?? (await this.#startFrozen());
    try {
      return { larder, tenants: await larder.freshTenants({ index }) };
    } catch (fault) {
      this.#idle.push(larder);
      throw fault;
    }
  }

  async #startFrozen(): Promise<Larder> {
    const larder = await start({ ...this.#options, respPort: 0, clock: "frozen" });
    this.#frozen.add(larder);
    return larder;
  }
}

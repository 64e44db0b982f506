/**
 * This server as a node of a cluster: it connects before anything is opened,
 * registers when the ports are bound, opens the areas whose shards it claims, and
 * leaves when the server stops.
 *
 *     open     read the facts of the cluster, or refuse to start
 *     join     register, and begin to claim
 *     leave    close and release the shards, or give up after a time
 *
 * (1) A shard stays until its node stops or is gone: nodes need not forward
 *     requests, and then a move would cut off clients for no reason of theirs.
 * (2) A shard that cannot be opened is released, and then the process ends: an
 *     engine is never emptied for a second attempt.
 */

import { mkdirSync } from "node:fs";
import type { ClusterView, ShardEpoch } from "../../cluster/log-store/log-store.ts";
import { ClusterNode, type NodeStores } from "../../cluster/node/cluster-node.ts";
import { Lease } from "../../cluster/node/lease.ts";
import type { LifeFile } from "../../cluster/node/registration.ts";
import type { ShardHost, TakenShard } from "../../cluster/node/shard-host.ts";
import { NO_ANSWER } from "../../cluster/node/suspension.ts";
import { PgSession } from "../../cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../cluster/postgres/postgres-log-store.ts";
import type { AreaOwner } from "../../edge/forward/front.ts";
import { machineClock, systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { type LabelledSnapshot, Metrics } from "../../kernel/metrics.ts";
import { shardDirectory } from "../../persistence/data-directory.ts";
import { FORMAT } from "../../persistence/journal/file-format.ts";
import { type AreaName, areaNames } from "../areas/area.ts";
import { StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import { upgradeTables } from "./administer/upgrade.ts";
import { type ClusterFacts, firstShardOf, nameInUseText, readClusterFacts, withSession } from "./cluster-facts.ts";
import type { ConnectionPlan } from "./connection-plan.ts";
import { Connector } from "./connector.ts";
import { forwardingPlanOf, ownerOf } from "./forwarding-facts.ts";
import { type NodeAddress, printNodeAddress } from "./node-address.ts";
import { openNodeFile } from "./node-file.ts";
import { clusterConnectionOf, clusterPlaceOf, nodeNameOf } from "./setting-rules.ts";
import { measureNode, measureShard, reasonOf, type ShardFigures, shardFigures } from "./shard-figures.ts";
import type { ShardClaim, ShardEvent, ShardPlan } from "./shard-plan.ts";
import { sparseLog } from "./sparse-log.ts";
import { assignTenants, noteTenants, type TenantNames } from "./tenant-shards.ts";

/** The areas of the server. */
export interface ClusterAreas {
  /** Opens an area on its claimed shard. */
  open(area: AreaName, claim: ShardClaim): Promise<void>;
  /** Closes it: everything that it accepted is committed. */
  close(area: AreaName): Promise<void>;
  /** The tenants that an open area has data of. */
  tenantNames(area: AreaName): Promise<readonly string[]>;
  /** A renewal has returned that was sent after the event of the area with this number. */
  confirmed(area: AreaName, id: number): void;
  /** Another node serves an area from now on, or none. */
  follow(area: AreaName, owner: AreaOwner): void;
  /** An area could not be opened, and its shard is released: the server must end. */
  unopened(area: AreaName, fault: unknown): void;
  /** The node has lost its life or a shard: the process must end at once. */
  lost(reason: string): void;
}

export interface MemberOptions {
  readonly run: RunSettings;
  /** Of the process, locked. */
  readonly dataDirectory: string;
  /** Those that the settings list. */
  readonly tenants: TenantNames;
  readonly log: Log;
}

/** Only the owner. */
const DIRECTORY_MODE = 0o700;
/** Longer than a renewal ever takes, unless its server is gone. */
const RENEWAL_PATIENCE_MS = 4_000;
const PATIENCE_MS = 10_000;
/** How long the release of the shards may take, after the grace for requests. */
const LEAVE_MS_MAX = 10_000;
/** How often to look whether a shard that could not be opened is released. */
const RELEASE_LOOK_MS = 50;
/** When to end without its release. */
const RELEASE_LOOKS_MAX = 100;

export class ClusterMember implements ShardHost {
  readonly #options: MemberOptions;
  readonly #connection: ConnectionPlan;
  readonly #facts: ClusterFacts;
  readonly #file: LifeFile;
  readonly #lease = new Lease(machineClock);
  readonly #sessions: PgSession[] = [];
  /** Areas whose journal PostgreSQL does not take now, with the reason. */
  readonly #refusing = new Map<AreaName, string>();
  /** How often this process has claimed the shard of each area. */
  readonly #takeovers = new Map<AreaName, number>();
  readonly #measured: readonly { readonly area: string; readonly metrics: Metrics }[];
  #areas: ClusterAreas | undefined;
  #node: ClusterNode | undefined;
  /** What each area was told last, as JSON. */
  readonly #owners = new Map<AreaName, string>();

  private constructor(
    options: MemberOptions,
    parts: { connection: ConnectionPlan; facts: ClusterFacts; file: LifeFile },
  ) {
    this.#options = options;
    this.#connection = parts.connection;
    this.#facts = parts.facts;
    this.#file = parts.file;
    this.#measured = [{ area: "main", metrics: this.#measureNode() }, ...areaNames.map((area) => this.#measure(area))];
  }

  /** Undefined for a single server. Throws a `StartRefusal` if the cluster cannot be used. */
  static async open(options: MemberOptions): Promise<ClusterMember | undefined> {
    const { run, dataDirectory, log, tenants } = options;
    const connection = clusterConnectionOf(run);
    if (connection === undefined) return undefined;
    const place = { plan: connection, place: clusterPlaceOf(run) };
    const upgrade = (): Promise<number> => upgradeTables(place);
    const facts = await readClusterFacts(connection, { place: place.place, log, upgrade });
    const file = await openNodeFile(dataDirectory, facts.id);
    const several = areaNames.filter((area) => facts.shards[area].length > 1);
    if (several.length > 0)
      throw new StartRefusal(
        `The cluster has several shards of an area (${several.join(", ")}), and this version serves one: use a newer larder`,
      );
    await withSession(connection, place.place, (session) => assignTenants(session, place, tenants));
    for (const area of areaNames)
      mkdirSync(shardDirectory(dataDirectory, firstShardOf(facts, area).shard), {
        recursive: true,
        mode: DIRECTORY_MODE,
      });
    return new ClusterMember(options, { connection, facts, file });
  }

  get name(): string {
    return nodeNameOf(this.#options.run);
  }

  /** The id of the shard of an area. */
  shardOf(area: AreaName): number {
    return firstShardOf(this.#facts, area).shard;
  }

  planOf(area: AreaName): ShardPlan {
    const { shard, hashSeed } = firstShardOf(this.#facts, area);
    return {
      shard,
      // A copy with memory of its own: a buffer of a row is a part of a larger one.
      hashSeed: Uint8Array.from(hashSeed),
      branch: this.#facts.branch,
      connection: this.#connection,
      leaseMemory: this.#lease.memory,
      reads: this.#options.run.settings.clusterReads,
      node: this.name,
      forwarding: forwardingPlanOf(area, this.#options.run, this.#facts),
    };
  }

  /** The figures of the shard of an area. */
  shardFigures(area: AreaName): ShardFigures {
    const shard = this.shardOf(area);
    return shardFigures(shard, this.#node?.view, {
      state: this.#node?.shards.get(shard)?.state,
      suspendedFor: this.#refusing.get(area) ?? (this.#lease.isFresh() ? undefined : NO_ANSWER),
      takeovers: this.#takeovers.get(area) ?? 0,
    });
  }

  /** Why the node is not ready, besides the states of its areas. */
  get reasons(): readonly string[] {
    return areaNames.map((area) => reasonOf(area, this.shardFigures(area))).filter((reason) => reason !== undefined);
  }

  /** The metrics that only a node of a cluster has. */
  figures(): readonly LabelledSnapshot[] {
    return this.#measured.map(({ area, metrics }) => ({ labels: { area }, families: metrics.snapshot() }));
  }

  /** Registers the node at its address, and begins to claim shards. Throws a `StartRefusal` if the name is in use. */
  async join(areas: ClusterAreas, address: NodeAddress): Promise<void> {
    const { run, log } = this.#options;
    this.#areas = areas;
    const store = (patienceMs: number): PostgresLogStore => {
      const connector = new Connector({ plan: this.#connection, clock: systemClock, patienceMs });
      const session = new PgSession(connector.connect);
      this.#sessions.push(session);
      return new PostgresLogStore(session);
    };
    const stores: NodeStores = {
      renewals: store(RENEWAL_PATIENCE_MS),
      polls: store(RENEWAL_PATIENCE_MS),
      changes: store(PATIENCE_MS),
    };
    const { name } = this;
    this.#node = await ClusterNode.start({
      stores,
      node: { name, address: printNodeAddress(address), format: FORMAT },
      file: this.#file,
      clock: systemClock,
      leaseClock: machineClock,
      lease: this.#lease,
      log: sparseLog(log.with({ node: name }), systemClock),
      host: this,
      reads: run.settings.clusterReads,
      drawLife: () => crypto.randomUUID(),
    });
    if (this.#node !== undefined) return;
    throw new StartRefusal(nameInUseText(name, run.origins.clusterNode.place));
  }

  async load({ shard, epoch, snapshot, floorMs }: TakenShard): Promise<void> {
    const area = this.#areaOf(shard);
    this.#takeovers.set(area, (this.#takeovers.get(area) ?? 0) + 1);
    try {
      await this.#joined.open(area, { epoch, snapshot, floorMs });
    } catch (fault) {
      void this.#endWithout(shard, area, fault); // keeps (2)
      // Before the release: its journal may be open, and would find that the next owner has claimed the shard.
      await this.#joined.close(area).catch((closeFault: unknown) => {
        this.#options.log.warn("area not closed", { area, ...faultFields(closeFault) });
      });
      throw fault;
    }
    await this.#noteTenants(area, { shard, epoch });
  }

  unload({ shard }: ShardEpoch): Promise<void> {
    return this.#joined.close(this.#areaOf(shard));
  }

  /** keeps (1) */
  mayMove(): boolean {
    return false;
  }

  saw(view: ClusterView): void {
    const { run } = this.#options;
    const own = this.#node?.life;
    if (run.settings.clusterAddress === undefined || own === undefined) return;
    for (const area of areaNames) {
      const owner = ownerOf(view, { area, shard: this.shardOf(area), own });
      const text = JSON.stringify(owner);
      if (this.#owners.get(area) === text) continue;
      this.#owners.set(area, text);
      this.#areas?.follow(area, owner);
    }
  }

  lost(reason: string): void {
    this.#areas?.lost(reason);
  }

  /** What the area of a shard reports. */
  event(area: AreaName, event: ShardEvent): void {
    switch (event.kind) {
      case "confirm":
        void this.#node?.reads.whenFresh().then(() => this.#areas?.confirmed(area, event.id));
        break;
      case "refusing":
        if (event.reason === undefined) this.#refusing.delete(area);
        else this.#refusing.set(area, event.reason);
        break;
      case "lost":
        this.#node?.lose(event.reason);
        break;
      default: {
        const never: never = event;
        throw new Error(`Unknown event: ${String(never)}`);
      }
    }
  }

  /**
   * Releases the shards and leaves the cluster. Resolves with false if that takes too long, because PostgreSQL does not
   * answer: then the other nodes wait until the lease has run out.
   */
  async leave(graceMs: number): Promise<boolean> {
    const node = this.#node;
    if (node === undefined) return true;
    const late = Promise.withResolvers<false>();
    const cancel = systemClock.after(graceMs + LEAVE_MS_MAX, () => late.resolve(false));
    const hasLeft = await Promise.race([node.drain().then(() => true), late.promise]);
    cancel();
    this.stop();
    if (!hasLeft) this.#options.log.error("node could not leave the cluster: PostgreSQL does not answer");
    return hasLeft;
  }

  /** Ends its calls, and releases nothing. */
  stop(): void {
    this.#node?.stop();
    for (const session of this.#sessions)
      session.close().catch((fault: unknown) => {
        this.#options.log.debug("connection not closed", faultFields(fault));
      });
  }

  /** keeps (2) */
  async #endWithout(shard: number, area: AreaName, fault: unknown): Promise<void> {
    for (
      let looks = 0;
      looks < RELEASE_LOOKS_MAX && (looks === 0 || this.#node?.shards.get(shard) !== undefined);
      looks += 1
    )
      await new Promise<void>((resolve) => systemClock.after(RELEASE_LOOK_MS, resolve));
    this.#areas?.unopened(area, fault);
  }

  /** Needed once for each shard, after an upgrade or an import. */
  async #noteTenants(area: AreaName, shard: ShardEpoch): Promise<void> {
    const known = this.#facts.shards[area].find((each) => each.shard === shard.shard);
    if (known?.areTenantsKnown !== false) return;
    const { run, log } = this.#options;
    try {
      const names = await this.#joined.tenantNames(area);
      await withSession(this.#connection, clusterPlaceOf(run), (session) => noteTenants(session, shard, names));
    } catch (fault) {
      // Only `larder cluster add-shards` needs them, and asks for a start that notes them.
      log.warn("the tenants of a shard are not noted", { shard: shard.shard, ...faultFields(fault) });
    }
  }

  #measureNode(): Metrics {
    const metrics = new Metrics();
    measureNode(metrics, () => ({
      leaseMs: this.#lease.leftMs,
      skewMs: this.#node?.skewMs ?? 0,
      livingNodes: this.#node?.view?.nodes.filter(({ isDead }) => !isDead).length ?? 0,
    }));
    return metrics;
  }

  #measure(area: AreaName): { readonly area: string; readonly metrics: Metrics } {
    const metrics = new Metrics();
    measureShard(metrics, () => this.shardFigures(area));
    return { area, metrics };
  }

  #areaOf(shard: number): AreaName {
    const area = areaNames.find((each) => this.shardOf(each) === shard);
    if (area === undefined) throw new Error(`Shard ${shard} was added after this node started: start it again`);
    return area;
  }

  get #joined(): ClusterAreas {
    if (this.#areas === undefined) throw new Error("The node has not joined");
    return this.#areas;
  }
}

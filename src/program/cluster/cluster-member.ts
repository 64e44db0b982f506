/**
 * This server as a node of a cluster: it connects before anything is opened,
 * registers when the ports are bound, opens the areas whose shards it claims, and
 * leaves when the server stops.
 *
 *     open     read the facts of the cluster, or refuse to start
 *     join     register, and begin to claim
 *     leave    close and release the shards, or give up after a time
 *
 * (1) The only shard of an area stays until its node stops or is gone: nodes need
 *     not forward requests, and then a move would cut off clients for no reason of
 *     theirs. Several shards spread over the nodes, while all of these forward.
 * (2) A shard that cannot be opened is released, and then the process ends: an
 *     engine is never emptied for a second attempt.
 */

import { mkdirSync } from "node:fs";
import type { ShardEpoch } from "../../cluster/log-store/log-store.ts";
import { ClusterNode, type NodeStores } from "../../cluster/node/cluster-node.ts";
import { Lease, ReplyLease } from "../../cluster/node/lease.ts";
import { FRONT_FORMAT, Weights } from "../../cluster/node/placement.ts";
import type { LifeFile } from "../../cluster/node/registration.ts";
import type { ShardHost, TakenShard } from "../../cluster/node/shard-host.ts";
import { NO_ANSWER } from "../../cluster/node/suspension.ts";
import type { SeenChanges } from "../../cluster/node/watched-cluster.ts";
import { PgSession } from "../../cluster/postgres/pg-session.ts";
import { PostgresLogStore } from "../../cluster/postgres/postgres-log-store.ts";
import type { Administration } from "../../edge/admin/routes.ts";
import { machineClock, systemClock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { type LabelledSnapshot, Metrics } from "../../kernel/metrics.ts";
import { shardDirectory } from "../../persistence/data-directory.ts";
import { FORMAT } from "../../persistence/journal/file-format.ts";
import { type AreaName, areaNames, type FollowedShard } from "../areas/area.ts";
import type { AreaTenant, PlacedTenant, TenantChanges } from "../areas/area-tenant.ts";
import { StartRefusal } from "../refusal.ts";
import type { RunSettings } from "../settings/run-settings.ts";
import type { TenantAdministration } from "../tenants/administration.ts";
import { indexRulesOf } from "../tenants/tokens.ts";
import { findUnusableStores } from "./administer/files.ts";
import { upgradeTables } from "./administer/upgrade.ts";
import {
  type ClusterFacts,
  nameInUseText,
  readClusterFacts,
  readKeys,
  refusalOf,
  type ShardFacts,
  withSession,
} from "./cluster-facts.ts";
import type { ConnectionPlan } from "./connection-plan.ts";
import { Connector } from "./connector.ts";
import { forwardingPlanOf, ownerOf } from "./forwarding/forwarding-facts.ts";
import { ownerNameOf } from "./forwarding/forwarding-keys.ts";
import { KeyFollower } from "./forwarding/key-follower.ts";
import { type NodeAddress, parseNodeAddress, printNodeAddress } from "./node-address.ts";
import { openNodeFile } from "./node-file.ts";
import { clusterConnectionOf, clusterPlaceOf, nodeNameOf } from "./setting-rules.ts";
import { measureNode, measureShards, reasonOf, type ShardFigures, shardFigures } from "./shard-figures.ts";
import type { ForwardingKeys, ShardClaim, ShardEvent, ShardPlan } from "./shard-plan.ts";
import { sparseLog } from "./sparse-log.ts";
import { MemberStandbys } from "./standby/member-standbys.ts";
import { type NodeMemory, reportMemory } from "./status/node-memory.ts";
import { type SeenNode, SeenNodes } from "./status/seen-nodes.ts";
import { ClusterAdministration } from "./tenants/cluster-administration.ts";
import type { ClusterKeys } from "./tenants/cluster-key.ts";
import { openKeys, readTenantIndex } from "./tenants/open-tenants.ts";
import { KEY_IS_MISSING, RunTimeTenants } from "./tenants/run-time-tenants.ts";
import { assignTenants, noteTenants, type TenantNames, type TenantShards } from "./tenants/tenant-shards.ts";
import {
  forgetLeftTenant,
  forgetTenant,
  hasTenantRow,
  nodesLacking,
  readTenants,
  reportTenants,
} from "./tenants/tenant-table.ts";

/** The areas of the server, with their shards. */
export interface ClusterAreas {
  /** Opens a claimed shard. */
  open(area: AreaName, claim: ShardClaim): Promise<void>;
  /** A shard will be released soon. */
  prepareRelease(area: AreaName, shard: number): void;
  /** Ends the service of a shard: everything that it accepted is committed. */
  release(area: AreaName, shard: number): Promise<void>;
  /** See `AreaControl.changeTenants`. */
  changeTenants(area: AreaName, changes: TenantChanges): Promise<readonly PlacedTenant[]>;
  /** The tenants that an open shard has data of. */
  tenantNames(area: AreaName, shard: number): Promise<readonly string[]>;
  /** A renewal has returned that was sent after the event of the shard with this number. */
  confirmed(area: AreaName, event: { readonly shard: number; readonly id: number }): void;
  /** Another node serves a shard from now on, or none. */
  follow(area: AreaName, shard: FollowedShard): void;
  /** The keys by which nodes know each other. Resolves when every area accepts and offers them. */
  replaceKeys(keys: ForwardingKeys): Promise<void>;
  /** A shard could not be opened, and is released: the server must end. */
  unopened(area: AreaName, fault: unknown): void;
  /** The node has lost its life or a shard: the process must end at once. */
  lost(reason: string): void;
  /** The memory of the areas; undefined while one of them does not answer. */
  memory(): Promise<NodeMemory | undefined>;
}

export interface MemberOptions {
  readonly run: RunSettings;
  /** Of the process, locked. */
  readonly dataDirectory: string;
  /** Those that the settings list. */
  readonly tenants: Readonly<Record<AreaName, readonly AreaTenant[]>>;
  readonly log: Log;
}

type TenantCalls = Pick<
  Administration,
  "listTenants" | "knownTenants" | "createTenant" | "deleteTenant" | "resetPassword"
>;

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
/** How often the memory of the node is reported. */
const MEMORY_PERIOD_MS = 10_000;
/** For parts of snapshots and whole rows of other nodes' shards. */
const FILES_PATIENCE_MS = 60_000;
/** A statement about tenants at run time, which may wait for a lock or a standby. */
const TENANTS_PATIENCE_MS = 10_000;
/** The reason while the lease for replies has run out, and that of the node has not. */
const TENANTS_UNREAD = "PostgreSQL does not return the changed databases, indexes and users";

export class ClusterMember implements ShardHost {
  readonly #options: MemberOptions;
  readonly #connection: ConnectionPlan;
  readonly #facts: ClusterFacts;
  readonly #tenants: TenantShards;
  readonly #keysOfTenants: ClusterKeys | undefined;
  /** The names of the tenants that the settings list. */
  readonly #listed: TenantNames;
  /** Those that were made at run time. */
  readonly #made: RunTimeTenants;
  /** For them. */
  readonly #session: PgSession;
  readonly #file: LifeFile;
  readonly #lease = new Lease(machineClock);
  /** For what areas answer. */
  readonly #replies = new ReplyLease(machineClock);
  readonly #sessions: PgSession[] = [];
  /** Shards whose journal PostgreSQL does not take now, with the reason. */
  readonly #refusing = new Map<number, string>();
  /** Shards whose snapshots cannot be read from the object store or written to it now, with the reason. */
  readonly #objectTroubles = new Map<number, string>();
  /** How often this process has claimed each shard. */
  readonly #takeovers = new Map<number, number>();
  readonly #measured: readonly { readonly area: string; readonly metrics: Metrics }[];
  #areas: ClusterAreas | undefined;
  #node: ClusterNode | undefined;
  #isStopped = false;
  /** What the area of each shard was told last, as JSON. */
  readonly #owners = new Map<number, string>();
  /** Whether the areas follow what the last poll had. */
  #doFollow = false;
  #cancelReport = (): void => {};
  readonly #weights = new Weights();
  readonly #seenNodes = new SeenNodes();
  readonly #standbys: MemberStandbys;
  #keys: KeyFollower | undefined;

  private constructor(
    options: MemberOptions,
    parts: {
      connection: ConnectionPlan;
      facts: ClusterFacts;
      tenants: TenantShards;
      file: LifeFile;
      keys: ClusterKeys | undefined;
    },
  ) {
    this.#options = options;
    this.#connection = parts.connection;
    this.#facts = parts.facts;
    this.#tenants = parts.tenants;
    this.#file = parts.file;
    this.#keysOfTenants = parts.keys;
    this.#listed = namesOf(options.tenants);
    this.#lease.extendWith(this.#replies);
    this.#session = this.#newSession(TENANTS_PATIENCE_MS);
    this.#made = this.#makeTenants();
    this.#standbys = new MemberStandbys({
      ...{ run: options.run, dataDirectory: options.dataDirectory, log: options.log, node: this.name },
      weights: this.#weights,
      branch: parts.facts.branch,
      store: new PostgresLogStore(this.#newSession(FILES_PATIENCE_MS)),
      findArea: (shard) => this.#findArea(shard),
      isOwned: (shard) => this.#node?.shards.get(shard) !== undefined,
    });
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
    const keys = await withSession(connection, place.place, (session) => openKeys(session, run, facts.id));
    const unusable = await withSession(connection, place.place, (session) => findUnusableStores(session, facts.id));
    for (const { text, isAway } of unusable) {
      if (!isAway) throw new StartRefusal(text);
      log.warn(text);
    }
    const file = await openNodeFile(dataDirectory, facts.id);
    const assigned = await withSession(connection, place.place, (session) =>
      assignTenants(session, place, namesOf(tenants)),
    );
    for (const { shard } of areaNames.flatMap((area) => facts.shards[area]))
      mkdirSync(shardDirectory(dataDirectory, shard), { recursive: true, mode: DIRECTORY_MODE });
    const member = new ClusterMember(options, { connection, facts, tenants: assigned, file, keys });
    try {
      await member.#made.load();
      member.#assertOwnTokens();
    } catch (fault) {
      member.stop();
      throw refusalOf(fault, connection, place.place);
    }
    return member;
  }

  /** Two tenants with the same token could not be told apart, and their shard would not open. */
  #assertOwnTokens(): void {
    for (const area of areaNames) {
      const own = new Set(this.#options.tenants[area].flatMap(({ tokens }) => tokens.map(({ token }) => token)));
      for (const { name, tenant } of this.#made.of(area))
        if (tenant?.tokens.some(({ token }) => own.has(token)) === true)
          throw new StartRefusal(
            `The configuration gives another tenant a token of ${name}, which was made at run time in the area ${area}: give each its own`,
            2,
          );
    }
  }

  get name(): string {
    return nodeNameOf(this.#options.run);
  }

  /** The ids of the shards of an area: at least one. */
  shardsOf(area: AreaName): readonly number[] {
    return this.#facts.shards[area].map(({ shard }) => shard);
  }

  /** Those that this node serves. */
  servedShardsOf(area: AreaName): readonly number[] {
    return this.shardsOf(area).filter((shard) => this.#node?.shards.get(shard)?.state === "serving");
  }

  /** The plans of the shards of an area: at least one. */
  plansOf(area: AreaName): readonly ShardPlan[] {
    return this.#facts.shards[area].map((facts) => this.#planOf(area, facts));
  }

  #planOf(area: AreaName, { shard, hashSeed }: ShardFacts): ShardPlan {
    const isOnly = this.#facts.shards[area].length === 1;
    const tenants = this.#listed[area].filter((name) => this.#tenants[area].get(name) === shard);
    return {
      shard,
      tenants: isOnly ? undefined : tenants,
      // A copy with memory of its own: a buffer of a row is a part of a larger one.
      hashSeed: Uint8Array.from(hashSeed),
      cluster: this.#facts.id,
      branch: this.#facts.branch,
      connection: this.#connection,
      leaseMemory: this.#replies.memory,
      reads: this.#options.run.settings.clusterReads,
      ownerName: this.#options.run.settings.ownerHeader ? ownerNameOf(this.#facts, this.name) : undefined,
      forwarding: forwardingPlanOf(area, this.#options.run, this.#facts),
    };
  }

  /** All nodes, by the last poll. */
  get nodes(): readonly SeenNode[] {
    return this.#seenNodes.figures(this.#node?.view?.nodes ?? []);
  }

  /** The figures of the shards of an area. */
  shardFigures(area: AreaName): readonly ShardFigures[] {
    return this.shardsOf(area).map((shard) =>
      shardFigures(shard, this.#node?.view, {
        state: this.#node?.shards.get(shard)?.state,
        suspendedFor: this.#refusing.get(shard) ?? this.#suspendedFor,
        objectTrouble: this.#objectTroubles.get(shard),
        takeovers: this.#takeovers.get(shard) ?? 0,
        missing: this.#standbys.missing(shard),
        readFormat: FORMAT,
      }),
    );
  }

  get #suspendedFor(): string | undefined {
    if (this.#replies.isFresh()) return undefined;
    return this.#replies.isLimited && this.#lease.isFresh() ? TENANTS_UNREAD : NO_ANSWER;
  }

  /** Why the node is not ready, besides the states of its areas. */
  get reasons(): readonly string[] {
    const unopened = this.#made.unopened.map((tenant) => `the secrets of ${tenant} cannot be opened with the key`);
    const states = areaNames.flatMap((area) => {
      const all = this.shardFigures(area);
      const nameOf = ({ shard }: ShardFigures): string => (all.length === 1 ? area : `${area} (shard ${shard})`);
      return all.map((figures) => reasonOf(nameOf(figures), figures)).filter((reason) => reason !== undefined);
    });
    return [...states, ...unopened];
  }

  /** The metrics that only a node of a cluster has. */
  figures(): readonly LabelledSnapshot[] {
    return this.#measured.map(({ area, metrics }) => ({ labels: { area }, families: metrics.snapshot() }));
  }

  /** The calls of the admin port about tenants. `configured`: those of the configuration. */
  administration(configured: TenantAdministration): TenantCalls {
    const { run } = this.#options;
    return new ClusterAdministration({
      place: { plan: this.#connection, place: clusterPlaceOf(run), patienceMs: TENANTS_PATIENCE_MS },
      ...{ keys: this.#keysOfTenants, tenants: this.#made, configured, listed: this.#listed, clock: systemClock },
      shardsOf: (area) => this.shardsOf(area),
      hasRow: async (area, name) => hasTenantRow(this.#tenantSession, area, name),
      lacking: async (version) => nodesLacking(this.#tenantSession, version),
    });
  }

  /** A tenant that was made at run time, with its tokens. */
  madeTenant(area: AreaName, name: string): AreaTenant | undefined {
    return this.#made.find(area, name)?.tenant;
  }

  /** Gives the areas the tenants that were made at run time, before any request comes. */
  async introduce(areas: ClusterAreas): Promise<void> {
    this.#areas = areas;
    await this.#made.introduce((area, changes) => areas.changeTenants(area, changes));
  }

  /** Registers the node at its address, and begins to claim shards. Throws a `StartRefusal` if the name is in use. */
  async join(address: NodeAddress): Promise<void> {
    const { run, log } = this.#options;
    const changes = this.#newSession(PATIENCE_MS);
    const changesStore = new PostgresLogStore(changes);
    const stores: NodeStores = {
      renewals: new PostgresLogStore(this.#newSession(RENEWAL_PATIENCE_MS)),
      polls: new PostgresLogStore(this.#newSession(RENEWAL_PATIENCE_MS)),
      changes: changesStore,
    };
    const { name } = this;
    this.#keys = new KeyFollower({
      facts: this.#facts,
      read: () => withSession(this.#connection, clusterPlaceOf(run), readKeys),
      replace: (keys) => this.#joined.replaceKeys(keys),
      note: (life, keyNumber) => changesStore.noteKey(life, keyNumber),
      log,
    });
    const tenantsSeen = this.#keysOfTenants === undefined ? undefined : this.#made.settledVersion;
    const keyChecks = this.#keysOfTenants?.checks;
    const format = run.settings.front ? FRONT_FORMAT : FORMAT;
    this.#node = await ClusterNode.start({
      stores,
      node: { name, address: printNodeAddress(address), format, tenantsSeen, keyChecks },
      file: this.#file,
      clock: systemClock,
      leaseClock: machineClock,
      lease: this.#lease,
      log: sparseLog(log.with({ node: name }), systemClock),
      host: this,
      reads: run.settings.clusterReads,
      drawLife: () => crypto.randomUUID(),
      weights: this.#weights,
    });
    if (this.#node !== undefined) {
      this.#made.registered(tenantsSeen);
      this.#reportLater(changes, this.#node.life);
      return;
    }
    throw new StartRefusal(nameInUseText(name, run.origins.clusterNode.place));
  }

  async load({ shard, epoch, snapshot, floorMs }: TakenShard): Promise<void> {
    const area = this.#areaOf(shard);
    await this.#standbys.release(shard);
    this.#takeovers.set(shard, (this.#takeovers.get(shard) ?? 0) + 1);
    try {
      const tenants = await this.#made.atOpen(area, shard);
      await this.#joined.open(area, { shard, epoch, snapshot, floorMs, tenants });
    } catch (fault) {
      void this.#endWithout(shard, area, fault); // keeps (2)
      // Before the release: its journal may be open, and would find that the next owner has claimed the shard.
      await this.#joined.release(area, shard).catch((closeFault: unknown) => {
        this.#options.log.warn("area not closed", { area, shard, ...faultFields(closeFault) });
      });
      throw fault;
    }
    await this.#noteTenants(area, { shard, epoch });
    await this.#made.opened(area, shard).catch((fault: unknown) => {
      // The names stay taken until the next node opens the shard.
      this.#options.log.warn("removed tenants are not forgotten", { area, shard, ...faultFields(fault) });
    });
  }

  announced({ shard }: ShardEpoch): void {
    this.#areas?.prepareRelease(this.#areaOf(shard), shard);
  }

  unload({ shard }: ShardEpoch): Promise<void> {
    this.#objectTroubles.delete(shard);
    return this.#joined.release(this.#areaOf(shard), shard);
  }

  knows(shard: number): boolean {
    return this.#findArea(shard) !== undefined;
  }

  /** keeps (1) */
  mayMove(shard: number): boolean {
    const { settings } = this.#options.run;
    const area = this.#areaOf(shard);
    if (this.shardsOf(area).length === 1 || settings.clusterAddress === undefined) return false;
    const living = this.#node?.view?.nodes.filter(({ isDead }) => !isDead) ?? [];
    return living.every(({ address }) => parseNodeAddress(address).cluster !== undefined);
  }

  saw(seen: SeenChanges): void {
    const { view, shards, haveNodesChanged } = seen;
    const { run } = this.#options;
    const own = this.#node?.life;
    this.#made.saw(view.tenants);
    this.#seenNodes.saw(view.nodes, systemClock.nowMs());
    if (own === undefined) return;
    this.#standbys.saw(seen);
    this.#keys?.saw(view, own);
    if (run.settings.clusterAddress === undefined) return;
    // An owner is read from the row of the shard and from that of its node.
    const changed = this.#doFollow && !haveNodesChanged ? shards : view.shards;
    this.#doFollow = true;
    for (const { shard } of changed) {
      const area = this.#findArea(shard);
      if (area === undefined) continue;
      const owner = ownerOf(view, { area, shard, own });
      const text = JSON.stringify(owner);
      if (this.#owners.get(shard) === text) continue;
      this.#owners.set(shard, text);
      this.#areas?.follow(area, { shard, owner });
    }
  }

  lost(reason: string): void {
    this.#areas?.lost(reason);
  }

  /** What the area of a shard reports. */
  event(area: AreaName, event: ShardEvent): void {
    switch (event.kind) {
      case "confirm":
        void this.#confirm(area, event);
        break;
      case "refusing":
        if (event.reason === undefined) this.#refusing.delete(event.shard);
        else this.#refusing.set(event.shard, event.reason);
        break;
      case "objects":
        if (event.reason === undefined) this.#objectTroubles.delete(event.shard);
        else this.#objectTroubles.set(event.shard, event.reason);
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

  /** A renewal trusts no clock, but it does not prove that this node has read what its tokens are. */
  async #confirm(area: AreaName, event: { readonly shard: number; readonly id: number }): Promise<void> {
    await this.#node?.reads.whenFresh();
    await this.#replies.whenFresh();
    this.#areas?.confirmed(area, event);
  }

  /**
   * Releases the shards and leaves the cluster. Resolves with false if that takes too long, because PostgreSQL does not
   * answer: then the other nodes wait until the lease has run out.
   */
  async leave(graceMs: number): Promise<boolean> {
    const node = this.#node;
    if (node === undefined) return true;
    // It will not take over what it gives up.
    const followed = this.#standbys.stop();
    const late = Promise.withResolvers<false>();
    const cancel = systemClock.after(graceMs + LEAVE_MS_MAX, () => late.resolve(false));
    const hasLeft = await Promise.race([node.drain().then(() => true), late.promise]);
    cancel();
    this.stop();
    await followed;
    if (!hasLeft) this.#options.log.error("node could not leave the cluster: PostgreSQL does not answer");
    return hasLeft;
  }

  /** Ends its calls, and releases nothing. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelReport();
    this.#node?.stop();
    this.#made.stop();
    // Their directories are free when `leave` has resolved; a process that ends at once needs none of them.
    void this.#standbys.stop();
    for (const session of this.#sessions)
      session.close().catch((fault: unknown) => {
        this.#options.log.debug("connection not closed", faultFields(fault));
      });
  }

  #newSession(patienceMs: number): PgSession {
    const connector = new Connector({ plan: this.#connection, clock: systemClock, patienceMs });
    const session = new PgSession(connector.connect);
    this.#sessions.push(session);
    return session;
  }

  /** A closed session would open another connection. */
  get #tenantSession(): PgSession {
    if (this.#isStopped) throw new Error("The node has stopped");
    return this.#session;
  }

  #makeTenants(): RunTimeTenants {
    const { run, tenants, log } = this.#options;
    const rules = indexRulesOf(run);
    return new RunTimeTenants({
      source: {
        read: async (since) => readTenants(this.#tenantSession, since),
        report: async (version) => {
          if (this.#node !== undefined) await reportTenants(this.#tenantSession, this.#node.life, version);
        },
        forget: async (row) => forgetTenant(this.#tenantSession, row),
        forgetLeft: async (row) => forgetLeftTenant(this.#tenantSession, row),
      },
      ...{ key: this.#keysOfTenants, listed: this.#listed, clock: systemClock, log },
      listedTenant: (area, name) => tenants[area].find((tenant) => tenant.name === name),
      readIndex: (definition) => readTenantIndex(definition, rules),
      knows: (shard) => this.knows(shard),
      lost: () => this.#node?.lose(KEY_IS_MISSING),
      onUnread: () => this.#replies.limit(),
      onRead: () => this.#replies.lift(),
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

  /** Reports its memory again and again. A report that fails is old when it could be repeated. */
  #reportLater(session: PgSession, life: string): void {
    let isStopped = false;
    let cancel = (): void => {};
    const report = async (): Promise<void> => {
      try {
        const memory = await this.#joined.memory();
        const standbys = this.#standbys.reports;
        const isReady = memory !== undefined && this.#standbys.isReady;
        // Claims are on the same connection: while PostgreSQL does not answer, nothing is put before them.
        if (isReady && !isStopped && this.#lease.isFresh())
          await reportMemory(session, life, {
            ...memory,
            ...(standbys !== undefined && { standbys }),
            ...(this.#objectTroubles.size > 0 && { objects: Object.fromEntries(this.#objectTroubles) }),
          });
      } catch (fault) {
        this.#options.log.debug("memory not reported", faultFields(fault));
      }
      if (!isStopped) cancel = systemClock.after(MEMORY_PERIOD_MS, () => void report());
    };
    cancel = systemClock.after(MEMORY_PERIOD_MS / 2, () => void report());
    this.#cancelReport = () => {
      isStopped = true;
      cancel();
    };
  }

  /** Needed once for each shard, after an upgrade or an import. */
  async #noteTenants(area: AreaName, shard: ShardEpoch): Promise<void> {
    const known = this.#facts.shards[area].find((each) => each.shard === shard.shard);
    if (known?.areTenantsKnown !== false) return;
    const { run, log } = this.#options;
    try {
      const names = await this.#joined.tenantNames(area, shard.shard);
      await withSession(this.#connection, clusterPlaceOf(run), (session) => noteTenants(session, shard, names));
    } catch (fault) {
      // Only `larder cluster add-shards` needs them, and asks for a start that notes them.
      log.warn("the tenants of a shard are not noted", { shard: shard.shard, ...faultFields(fault) });
    }
  }

  #measureNode(): Metrics {
    const metrics = new Metrics();
    measureNode(metrics, () => ({
      leaseMs: this.#replies.leftMs,
      skewMs: this.#node?.skewMs ?? 0,
      livingNodes: this.#node?.view?.nodes.filter(({ isDead }) => !isDead).length ?? 0,
    }));
    return metrics;
  }

  #measure(area: AreaName): { readonly area: string; readonly metrics: Metrics } {
    const metrics = new Metrics();
    measureShards(metrics, () => this.shardFigures(area));
    return { area, metrics };
  }

  #findArea(shard: number): AreaName | undefined {
    return areaNames.find((area) => this.shardsOf(area).includes(shard));
  }

  #areaOf(shard: number): AreaName {
    const area = this.#findArea(shard);
    if (area === undefined) throw new Error(`Shard ${shard} was added after this node started: start it again`);
    return area;
  }

  get #joined(): ClusterAreas {
    if (this.#areas === undefined) throw new Error("The node has not joined");
    return this.#areas;
  }
}

function namesOf(tenants: MemberOptions["tenants"]): TenantNames {
  const of = (area: AreaName): readonly string[] => tenants[area].map(({ name }) => name);
  return { store: of("store"), vector: of("vector"), messaging: of("messaging") };
}

/**
 * A running larder: data directory, areas, admin port. The command line and the
 * library both run one of these.
 *
 *     open    lock the data directory, decide tenants, open the admin port, bind the ports of all areas, then let them
 *             recover side by side
 *     close   the areas, then the admin port, so that it can report the draining, then the lock
 *
 * (1) When an area crashes, the others get 2 s to commit and close, and then
 *     `onCrash` is called: a new start recovers the state.
 */
import { resolve } from "node:path";
import { withConsole } from "../edge/admin/console/mount.ts";
import { guarded } from "../edge/admin/guard.ts";
import {
  type Administration,
  adminArea,
  guardHeaders,
  isOpenTarget,
  type Readiness,
  type TenantKind,
  tenantKinds,
} from "../edge/admin/routes.ts";
import { TokenTable } from "../edge/auth.ts";
import { areaNotServing, backupOfCluster } from "../edge/errors.ts";
import { IN_FLIGHT_BYTES_MAX, type Listener } from "../edge/http/listener.ts";
import { areaByPrefix } from "../edge/http/prefix.ts";
import { ByteBudget } from "../edge/limits/byte-budget.ts";
import { withOpenApi } from "../edge/openapi/area.ts";
import type { Tracer } from "../edge/tracing.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { faultFields, type Log, type LogFormat } from "../kernel/log.ts";
import { Metrics, printMetrics } from "../kernel/metrics.ts";
import { secretBytes } from "../kernel/random.ts";
import { freeBytesNow } from "../persistence/disk/disk-usage.ts";
import {
  type AreaApi,
  type AreaData,
  type AreaName,
  areaNames,
  CRASH_CLOSE_MS,
  type ListenPlan,
  type OpenPorts,
  type ReplayProgress,
} from "./areas/area.ts";
import { noClients } from "./areas/area-clients.ts";
import { allowedMemoryBytes, divideMemory, type MemoryDivision, memoryOfThread } from "./areas/area-memory.ts";
import { type AreaPlace, areaPlace } from "./areas/area-place.ts";
import { AreaSlot, type SlotEvents } from "./areas/area-slot.ts";
import type { AreaTenant } from "./areas/area-tenant.ts";
import { AreaThread } from "./areas/area-thread.ts";
import { Backups } from "./areas/backups.ts";
import { clientCalls } from "./areas/client-calls.ts";
import { ReplayReport } from "./areas/replay-report.ts";
import { type SnapshotSubject, Snapshots, snapshotBytesOf } from "./areas/snapshots.ts";
import type { Addresses } from "./cli/env-block.ts";
import type { Terminal } from "./cli/terminal-line.ts";
import type { ClusterAreas, ClusterMember } from "./cluster/cluster-member.ts";
import { ungivenSecrets } from "./cluster/given-secrets.ts";
import { clusterAddressOf } from "./cluster/node-address.ts";
import { isClustered } from "./cluster/setting-rules.ts";
import type { ShardEvent } from "./cluster/shard-plan.ts";
import { type DataDirectory, isReadableByOthers, openDataDirectory } from "./directory/data-directory.ts";
import type { DirectoryLock } from "./directory/directory-lock.ts";
import { type LoggedProblem, Problems, recordedLog } from "./events/problems.ts";
import type { EventOutput, EventReporter } from "./events/reporter.ts";
import { fileFormats } from "./facts.ts";
import { addressOf, authorityOf } from "./listeners/address.ts";
import { unusableCertificates } from "./listeners/certificate-problems.ts";
import { DescriptorWatch, descriptorLimit } from "./listeners/descriptors.ts";
import { measureListeners, openListener } from "./listeners/listener.ts";
import { figuresOf, readServerStats } from "./metrics/server-stats.ts";
import { measureDisk, measureProcess, measureThread } from "./metrics/thread.ts";
import { StartRefusal } from "./refusal.ts";
import { openTracer } from "./services/open-telemetry.ts";
import { adminListenPlan, listenPlan, peerLimits, planArea } from "./settings/plan.ts";
import type { RunSettings } from "./settings/run-settings.ts";
import { shownSettings } from "./settings/shown-settings.ts";
import { stderrEvents } from "./stderr.ts";
import { areaOfKind, areaTenantOf, kindOfArea, TenantAdministration, tenantNouns } from "./tenants/administration.ts";
import { type AuditLog, openAuditLog, SERVER } from "./tenants/audit-log.ts";
import { namespaceCalls } from "./tenants/namespace-calls.ts";
import { indexRulesOf, resolveTenants, secretPaths, type Tenants } from "./tenants/tokens.ts";
import type { CopyThread } from "./workers/copy-thread.ts";

export interface ServerOptions {
  readonly run: RunSettings;
  readonly version: string;
  readonly log: Log;
  readonly logFormat: LogFormat;
  /** How events are printed (events/); absent: not at all. */
  readonly events?: EventOutput | undefined;
  /** The lock of the data directory, if this process has it already. */
  readonly lock?: DirectoryLock | undefined;
  /** Ends the use of the admin port by this process, just before it is bound; absent: nothing uses it. */
  readonly freeAdminPort?: (() => Promise<void>) | undefined;
  /** The clock of the engines that run in this thread. */
  readonly clock: Clock;
  /** Shows the progress of a long start; absent: the log does. */
  readonly terminal?: Terminal | undefined;
  /** Messaging makes no deliveries and no schedule fires: a server for one command. */
  readonly deliveriesDisabled?: boolean;
  /** The admin port was asked to stop the server; absent: it refuses. */
  readonly onStopRequest?: () => void;
  /** The server has crashed and has closed as much as possible (1). */
  readonly onCrash: () => void;
  /** As a node of a cluster it has lost its life or a shard, and must end at once; absent: `onCrash`. */
  readonly onLost?: () => void;
  /** Makes the slot of an area; absent: a real area in this thread or another. */
  readonly newSlot?: (name: AreaName, events: SlotEvents) => Slot;
}

/** The part of an area's slot that the server uses. */
export type Slot = Pick<
  AreaSlot,
  "name" | "api" | "local" | "status" | "reasons" | "makeHere" | "makeInWorker" | "close" | "abandon"
>;

const TOKEN_KEY_BYTES = 32;

/** Most log lines about unlisted tenants of one kind. */
const UNLISTED_LINES_MAX = 20;

/** The differences between the listeners of main. */
interface ListenerParts {
  readonly name: string;
  readonly tracer?: Tracer | undefined;
  /** Absent: main's own. */
  readonly budget?: ByteBudget | undefined;
  readonly isReserved?: boolean;
}

type TenantCalls = Pick<
  Administration,
  "listTenants" | "knownTenants" | "createTenant" | "deleteTenant" | "resetPassword"
>;

/** The state of a server once its tenants are resolved. */
interface Decided {
  readonly directory: DataDirectory;
  readonly tenants: Tenants;
  /** Of the configuration and the data directory. */
  readonly administration: TenantAdministration;
  /** The calls of the admin port. */
  readonly calls: TenantCalls;
}

export class Server implements SlotEvents {
  readonly #options: ServerOptions;
  readonly #metrics = new Metrics();
  readonly #figures = measureListeners(this.#metrics);
  readonly #slots: readonly Slot[];
  #division: MemoryDivision;
  #thread: AreaThread | undefined;
  readonly #snapshots: Snapshots;
  readonly #budget = new ByteBudget(IN_FLIGHT_BYTES_MAX);
  /** Of this thread; undefined: nobody watches. */
  readonly #events: EventReporter | undefined;
  readonly #audit: AuditLog;
  readonly #problems = new Problems();
  #decided: Decided | undefined;
  /** Undefined on a single server. */
  #cluster: ClusterMember | undefined;
  /** Undefined: the data directory is not copied. */
  #copy: CopyThread | undefined;
  #admin: Listener | undefined;
  #onePort: Listener | undefined;
  /** Once all of them listen. */
  #ports: Omit<Addresses, "admin"> | undefined;
  /** While the areas open. */
  #replays: ReplayReport | undefined;
  #stopMeasuring: () => void = () => {};
  #descriptors: DescriptorWatch | undefined;
  #closing: Promise<void> | undefined;
  #isCrashing = false;
  /** Whether every area has served, and the audit log has the start. */
  #hasStarted = false;

  constructor(given: ServerOptions) {
    const { settings } = given.run;
    const note = (problem: LoggedProblem): void => this.problem(problem);
    const log = recordedLog(given.log, { level: settings.logLevel, clock: systemClock, note });
    const options = { ...given, log };
    this.#options = options;
    const { logFormat: format, events } = options;
    this.#events = stderrEvents({ log, level: settings.logLevel, format, events });
    const { dataDirectory } = settings;
    this.#audit = openAuditLog(dataDirectory && resolve(dataDirectory), { clock: systemClock, log: options.log });
    const newSlot = options.newSlot ?? ((name, events) => new AreaSlot(name, events));
    this.#slots = areaNames.map((name) => newSlot(name, this));
    this.#division = divideMemory(options.run, { allowedBytes: allowedMemoryBytes(), snapshotBytes: NO_SNAPSHOTS });
    const heapBytesOf = (area: AreaName): number =>
      settings.threads === "one" ? this.#memoryBytes : this.#division.areas[area].heapBytesMax;
    const onWritten = (area: AreaName): void => this.#copy?.filesChanged(area);
    this.#snapshots = new Snapshots({ log: options.log, clock: systemClock, heapBytesOf, onWritten });
  }

  /** Resolves with the base addresses when every area serves. Rejects with a `StartRefusal` for the operator. */
  async open(): Promise<Addresses> {
    const { run, version, lock } = this.#options;
    const directory = await openDataDirectory(run, lock);
    directory.watchLock({ log: this.#options.log, onLost: () => this.#lockLost() });
    try {
      const decided = await this.#decide(directory);
      this.#cluster = await openCluster(run, this.#options.log, decided.tenants);
      this.#copy = await openCopy(this.#options, (problem) => this.problem(problem));
      const { administration } = decided;
      this.#decided = { ...decided, calls: this.#cluster?.administration(administration) ?? administration };
    } catch (fault) {
      directory.release();
      throw fault;
    }
    this.#stopMeasuring = measureThread(this.#metrics);
    measureProcess(this.#metrics, version);
    this.#descriptors = new DescriptorWatch({
      clock: systemClock,
      log: this.#options.log,
      metrics: this.#metrics,
      limit: descriptorLimit(),
    });
    await this.#measureDisk();
    const admin = await this.#openAdmin(this.#decided);
    directory.noteAdminAddress(admin);
    const addresses = { ...(await this.#openAreas(this.#decided.tenants)), admin };
    directory.noteServing({ addresses, command: run.command, pid: process.pid });
    if (this.#cluster === undefined) await this.#reportUnlisted(tenantKinds);
    this.#hasStarted = true;
    this.#copy?.start();
    this.#audit.note({ action: "start", subject: version, caller: SERVER, outcome: "done" });
    return addresses;
  }

  /** Stops accepting, finishes requests, then writes and syncs the rest. Every call returns the same promise. */
  close(graceMs = this.#options.run.settings.shutdownGraceMs): Promise<void> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  get tenants(): Tenants {
    return this.#get().tenants;
  }

  /** Of a single server: those of a cluster are changed by its admin ports. */
  get administration(): TenantAdministration {
    return this.#get().administration;
  }

  get directory(): DataDirectory {
    return this.#get().directory;
  }

  /** Empties all areas. */
  async reset(): Promise<void> {
    const areas = areaNames.map((name) => this.#serving(name));
    await Promise.all(areas.map(({ data }) => data.reset()));
  }

  /** Before it serves, an area replays its journal, and nothing may interfere. */
  #serving(name: AreaName): AreaApi {
    const slot = this.#slots.find((each) => each.name === name);
    if (slot?.api === undefined || slot.status !== "serving") throw areaNotServing(name);
    return slot.api;
  }

  /** Undefined on a node that serves no shard of the area. */
  #servedHere(name: AreaName): AreaApi | undefined {
    const isStandby = this.#slots.some((slot) => slot.name === name && slot.status === "standby");
    return isStandby ? undefined : this.#serving(name);
  }

  snapshotDue(area: AreaName, shard?: number): void {
    const subject = this.#snapshotSubject(area, shard);
    if (this.#options.run.settings.snapshots && subject !== undefined) this.#snapshots.request(subject);
  }

  snapshotRequested(area: AreaName, shard?: number): void {
    const subject = this.#snapshotSubject(area, shard);
    if (subject !== undefined) this.#snapshots.request(subject, { isWanted: true });
  }

  #snapshotSubject(area: AreaName, shard: number | undefined): SnapshotSubject | undefined {
    const { dataDirectory } = this.#options.run.settings;
    const api = this.#slots.find((slot) => slot.name === area)?.api;
    if (dataDirectory === undefined || api === undefined) return undefined;
    const own = shard ?? this.#cluster?.shardsOf(area)[0];
    return { area, snapshots: api.snapshots, dataDirectory: resolve(dataDirectory), shard: own };
  }

  shard(area: AreaName, event: ShardEvent): void {
    this.#cluster?.event(area, event);
  }

  problem(problem: LoggedProblem): void {
    this.#problems.note(problem);
  }

  replayed(area: AreaName, progress: ReplayProgress | undefined): void {
    this.#replays?.report(area, progress);
  }

  /** keeps (1) */
  crashed(area: AreaName, reason: string): void {
    this.#options.log.error("an area crashed; the server ends", { area, reason });
    this.#crash();
  }

  /** keeps (1) for an uncaught error in the main thread. */
  fail(fault: unknown): void {
    this.#options.log.error("uncaught error; the server ends", faultFields(fault));
    this.#crash();
  }

  /** Not even queued frames are written: another process may be writing to the same files. */
  #lockLost(): void {
    this.#options.log.error("another larder uses the data directory, because its lock file was removed; this one ends");
    this.#options.onCrash();
  }

  #crash(): void {
    if (this.#isCrashing) return;
    this.#isCrashing = true;
    const { onCrash } = this.#options;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      onCrash();
    };
    const cancel = systemClock.after(CRASH_CLOSE_MS, end);
    // Failures to close during a crash need no log line.
    this.close(CRASH_CLOSE_MS / 2).then(end, end);
  }

  async #decide(directory: DataDirectory): Promise<Decided> {
    const { log, run } = this.#options;
    for (const path of secretPaths(run, directory.tokensPath)) {
      if (isReadableByOthers(path)) {
        log.warn("other users can read the file of tokens", { path, remedy: `chmod 600 ${path}` });
      }
    }
    const before = directory.readTokens();
    const { tenants, stored, problems } = resolveTenants(this.#options.run, before);
    const certificateProblems = await unusableCertificates(this.#options.run);
    const ungiven = isClustered(this.#options.run) ? ungivenSecrets(tenants) : [];
    const all = [...problems, ...ungiven, ...certificateProblems];
    if (all.length > 0) throw new StartRefusal(all.join("\n"), problems.length + ungiven.length > 0 ? 2 : 1);
    if (stored !== before) {
      await directory.storeTokens(stored);
      if (directory.isFirstStart && !directory.isNew) {
        const path = directory.tokensPath;
        this.#options.log.warn("the file of tokens was missing: new tokens were generated", { path });
      }
    }
    // Looked up at each call, because the area may not serve.
    const dataOf = (area: AreaName): Pick<AreaData, "setTokens" | "dropTenant" | "tenantNames" | "tenantMemory"> => ({
      setTokens: (tenant) => this.#serving(area).data.setTokens(tenant),
      dropTenant: (name) => this.#serving(area).data.dropTenant(name),
      tenantNames: () => this.#serving(area).data.tenantNames(),
      tenantMemory: () => this.#serving(area).data.tenantMemory(),
    });
    const administration = new TenantAdministration({
      tenants,
      stored,
      store: async (changed) => {
        await directory.storeTokens(changed);
        this.#copy?.tokensChanged();
      },
      areas: { databases: dataOf("store"), indexes: dataOf("vector"), users: dataOf("messaging") },
      indexRules: indexRulesOf(this.#options.run),
    });
    return { directory, tenants, administration, calls: administration };
  }

  async #openAdmin({ tenants, administration: own, calls }: Decided): Promise<string> {
    const { run, version, log } = this.#options;
    const tokens = new TokenTable(secretBytes(TOKEN_KEY_BYTES));
    tokens.add(tenants.adminToken.value, { tenant: "admin", access: "standard" });
    const { settings } = run;
    const { dataDirectory } = settings;
    const backups =
      dataDirectory === undefined ? undefined : new Backups(resolve(dataDirectory), (area) => this.#serving(area).data);
    const administration: Administration = {
      readiness: () => this.#readiness(),
      version: { version, node: process.versions.node, formats: fileFormats },
      metrics: () => this.#printMetrics(),
      stats: () =>
        readServerStats({
          ...{ version, slots: this.#slots, metrics: this.#metrics, cluster: this.#cluster, copy: this.#copy },
          listTenants: (kind) => calls.listTenants(kind),
        }),
      settings: () => shownSettings(run),
      problems: () => this.#problems.list(),
      ...clientCalls({
        clients: () => this.#servedHere("store")?.clients ?? noClients,
        databases: () => calls.listTenants("databases"),
        node: this.#cluster?.name,
      }),
      snapshot: () => this.#snapshotAll(),
      listTenants: (kind) => calls.listTenants(kind),
      knownTenants: (kind) => calls.knownTenants(kind),
      createTenant: async (kind, name, description) => {
        const made = await calls.createTenant(kind, name, description);
        this.#events?.note("tenant made", { kind: tenantNouns[kind], name });
        return made;
      },
      deleteTenant: (kind, name) => calls.deleteTenant(kind, name),
      resetPassword: (kind, name) => calls.resetPassword(kind, name),
      ...namespaceCalls({
        data: () => this.#servedHere("vector")?.data,
        indexes: () => calls.knownTenants("indexes"),
      }),
      ...(backups !== undefined && {
        async backUp() {
          if (isClustered(run)) throw backupOfCluster;
          return own.whileUnchanged((tokens) => backups.make(tokens));
        },
      }),
      ...(dataDirectory !== undefined && {
        async audit(query) {
          // Most servers never read it.
          const { readAudit } = await import("./tenants/audit-reader.ts");
          return readAudit(resolve(dataDirectory), query);
        },
      }),
      ...(this.#options.onStopRequest !== undefined && { stop: this.#options.onStopRequest }),
      ...(run.command === "dev" && { reset: () => this.reset() }),
      onChange: (change) => this.#audit.note(change),
      onFault: (fault, requestId) => log.error("request failed", { requestId, ...faultFields(fault) }),
    };
    const plan = adminListenPlan(run);
    const api = withOpenApi(adminArea(administration, tokens), {
      cors: false,
      headers: guardHeaders,
      print: async () => (await import("../edge/openapi/area-documents.ts")).areaDocument("admin", version),
    });
    const area = withConsole(api, {
      isEnabled: settings.console,
      bodyBytesMax: Math.max(settings.requestBytesMax, settings.vectorRequestBytesMax),
      headers: guardHeaders,
      load: async () => {
        const { openConsole } = await import("./services/console/open.ts");
        const tenantOf = (kind: TenantKind, name: string): AreaTenant | undefined =>
          this.#cluster?.madeTenant(areaOfKind[kind], name) ?? own.tenantOf(kind, name);
        const addresses = (): Addresses | undefined =>
          this.#ports && { ...this.#ports, admin: addressOf(plan, this.#admin?.port ?? 0) };
        return openConsole({ run, administration, tokens, clock: systemClock, addresses, tenantOf });
      },
    });
    const rules = {
      listenHost: plan.host,
      isEncrypted: plan.tls !== undefined,
      allowedHosts: settings.adminAllowedHosts,
    };
    const door = guarded(area, { ...rules, isOpen: isOpenTarget, headers: guardHeaders });
    await this.#options.freeAdminPort?.();
    this.#admin = await this.#listen(door, plan, { name: "admin", isReserved: true });
    return addressOf(plan, this.#admin.port);
  }

  async #openAreas(tenants: Tenants): Promise<Omit<Addresses, "admin">> {
    const { run, version, log, logFormat, clock } = this.#options;
    const { settings } = run;
    await this.#divideMemory();
    const onFatal = (fault: unknown): void => this.fail(fault);
    const { requestBytesMax } = settings;
    const thread =
      settings.threads === "one"
        ? new AreaThread({
            ...{ log, clock, onFatal, requestBytesMax },
            events: this.#events,
            memoryBytesMax: this.#memoryBytes,
          })
        : undefined;
    this.#thread = thread;
    await Promise.all(
      this.#slots.map(async (slot) => {
        const { bytesMax } = this.#division.areas[slot.name];
        const deliveriesDisabled = this.#options.deliveriesDisabled === true;
        const shards = this.#cluster?.plansOf(slot.name) ?? [undefined];
        const threadCount = this.#threadCountOf(slot.name, shards.length);
        const { place } = run.origins.engineThreads;
        const memoryBytesMax = memoryOfThread(slot.name, bytesMax, { threadCount, place });
        const heapBytesMax = settings.heapBytesMax ?? memoryBytesMax;
        const [first, ...others] = shards.map((shard) =>
          planArea(slot.name, {
            ...{ run, tenants, logFormat, version, deliveriesDisabled, memoryBytesMax, shard },
            events: this.#options.events,
            synced: this.#copy?.plan.synced.get(slot.name),
            shardCount: shards.length,
          }),
        );
        if (first === undefined) throw new Error(`The area ${slot.name} has no shard`);
        if (thread !== undefined) await slot.makeHere([first, ...others], thread);
        else await slot.makeInWorker([first, ...others], { heapBytesMax, threadCount, clock: systemClock });
      }),
    );
    await this.#cluster?.introduce(this.#clusterAreas);
    const base = await this.#openOnePort();
    // A port in use is refused before any area has begun to recover.
    const ports = await Promise.all(this.#slots.map((slot) => slot.api?.control.bind()));
    const portsOf = (name: AreaName): OpenPorts | undefined =>
      ports[this.#slots.findIndex((slot) => slot.name === name)];
    const address = (name: AreaName): string =>
      base === undefined ? addressOf(listenPlan(run, "storePort"), portsOf(name)?.port ?? 0) : `${base}/${name}`;
    const respPort = portsOf("store")?.respPort;
    const open = {
      store: address("store"),
      vector: address("vector"),
      messaging: address("messaging"),
      ...(respPort !== undefined && {
        resp: { host: authorityOf(settings.host, respPort), isEncrypted: settings.respKeyPath !== undefined },
      }),
    };
    this.#ports = open;
    if (this.#cluster === undefined) await this.#recoverAreas();
    else {
      const clusterPorts = areaNames.map((name) => [name, portsOf(name)?.clusterPort] as const);
      await this.#cluster.join({
        url: open.store,
        cluster: clusterAddressOf(settings.clusterAddress?.host, clusterPorts),
      });
    }
    return open;
  }

  /** A thread without a shard would have nothing to do. Connections of the RESP port are not passed between threads. */
  #threadCountOf(area: AreaName, shardCount: number): number {
    const { run, log } = this.#options;
    const threadCount = Math.min(run.settings.engineThreads, shardCount);
    if (threadCount === 1 || area !== "store" || run.settings.respPort === undefined) return threadCount;
    log.warn("the shards of the store are in one thread, because the RESP port is set", {
      remedy: `leave out ${run.origins.respPort.place} to spread them over ${threadCount} threads`,
    });
    return 1;
  }

  async #recoverAreas(): Promise<void> {
    const { log, terminal } = this.#options;
    const replays = new ReplayReport({ clock: systemClock, log, terminal });
    this.#replays = replays;
    // The progress line is cleared before other output.
    await Promise.all(this.#slots.map((slot) => slot.api?.control.open())).finally(() => replays.end());
  }

  /** The areas of a node of a cluster, which opens them when it has claimed their shards. */
  get #clusterAreas(): ClusterAreas {
    const { log, onCrash, onLost = onCrash, run } = this.#options;
    const controlOf = (area: AreaName): AreaApi["control"] => {
      const api = this.#slots.find(({ name }) => name === area)?.api;
      if (api === undefined) throw areaNotServing(area);
      return api.control;
    };
    return {
      open: async (area, claim) => {
        await controlOf(area).open(claim);
        const { shard, epoch } = claim;
        log.info("area is served", { area, shard, epoch });
        await this.#reportUnlisted([kindOfArea[area]]);
      },
      prepareRelease: (area, shard) =>
        void controlOf(area)
          .prepareRelease(shard)
          .catch(() => {}), // Then the next owner reads that segment later.
      release: (area, shard) => controlOf(area).release({ shard, graceMs: run.settings.shutdownGraceMs }),
      changeTenants: (area, changes) => controlOf(area).changeTenants(changes),
      tenantNames: (area, shard) => this.#serving(area).data.tenantNames(shard),
      confirmed: (area, event) =>
        void controlOf(area)
          .confirmed(event)
          .catch(() => {}), // A thread that ended needs no answer.
      follow: (area, shard) =>
        void controlOf(area)
          .follow(shard)
          .catch(() => {}), // As above.
      replaceKeys: async (keys) => {
        await Promise.all(areaNames.map((area) => controlOf(area).replaceKeys(keys)));
      },
      unopened: (area, fault) => {
        const reason = fault instanceof StartRefusal ? { reason: fault.message } : faultFields(fault);
        log.error("an area could not be opened; the node ends", { area, ...reason });
        this.close().then(onCrash, onCrash);
      },
      lost: onLost,
      memory: async () => {
        const { memoryOf } = await import("./cluster/status/node-memory.ts");
        const areas = await Promise.all(
          this.#slots.map(async (slot) => {
            const { families } = await figuresOf(slot);
            return { area: slot.name, families, served: this.#cluster?.servedShardsOf(slot.name) ?? [] };
          }),
        );
        return memoryOf(areas, run.settings.threads === "one");
      },
    };
  }

  /** All areas together. */
  get #memoryBytes(): number {
    return areaNames.reduce((sum, area) => sum + this.#division.areas[area].bytesMax, 0);
  }

  /** The memory of each area, by the size of its stored data. */
  async #divideMemory(): Promise<void> {
    const { run, log } = this.#options;
    const { dataDirectory } = run.settings;
    const snapshotBytes =
      dataDirectory === undefined
        ? NO_SNAPSHOTS
        : await snapshotBytesOfAreas((area) =>
            (this.#cluster?.shardsOf(area) ?? [undefined]).map((shard) =>
              areaPlace(resolve(dataDirectory), area, shard),
            ),
          );
    this.#division = divideMemory(run, { allowedBytes: allowedMemoryBytes(), snapshotBytes });
    const { warning, areas } = this.#division;
    if (warning !== undefined) log.warn(warning);
    log.debug("memory is divided", Object.fromEntries(areaNames.map((area) => [area, areas[area].bytesMax])));
  }

  /** Tenants whose data is unreachable: the configuration or the environment named them before, but not now. */
  async #reportUnlisted(kinds: readonly TenantKind[]): Promise<void> {
    for (const kind of kinds) {
      const unlisted = (await this.#get().calls.listTenants(kind)).filter(({ source }) => source === "unlisted");
      for (const { name } of unlisted.slice(0, UNLISTED_LINES_MAX)) {
        this.#options.log.warn("the data of a tenant remains, but the configuration no longer lists it", {
          kind,
          name,
          remedy: `list it again to use it, or DELETE /v1/${kind}/${name} on the admin port to remove its data`,
        });
      }
      const more = unlisted.length - UNLISTED_LINES_MAX;
      if (more > 0) this.#options.log.warn("more such tenants have data", { kind, count: more });
    }
  }

  /** Mounts all areas under prefixes of one port, if that is set. Returns its address. */
  async #openOnePort(): Promise<string | undefined> {
    const { run } = this.#options;
    if (run.settings.port === undefined) return undefined;
    const areas = this.#slots.flatMap(({ name, local }) => (local === undefined ? [] : [[`/${name}`, local.http]]));
    const plan = listenPlan(run, "port");
    const { log, version } = this.#options;
    const tracer = await openTracer({ version, log });
    const budget = this.#thread?.budget;
    this.#onePort = await this.#listen(areaByPrefix(Object.fromEntries(areas)), plan, { name: "port", tracer, budget });
    return addressOf(plan, this.#onePort.port);
  }

  #listen(
    area: Parameters<typeof openListener>[0],
    plan: ListenPlan,
    { name, tracer, budget = this.#budget, isReserved = false }: ListenerParts,
  ): Promise<Listener> {
    const { log, run } = this.#options;
    const options = {
      listen: plan,
      headerBytesMax: run.settings.headerBytesMax,
      peers: peerLimits(run),
      name,
      isReserved,
    };
    return openListener(area, options, {
      clock: systemClock,
      log,
      budget,
      figures: this.#figures,
      events: this.#events,
      tracer,
    });
  }

  #snapshotAll(): boolean {
    const { dataDirectory } = this.#options.run.settings;
    if (dataDirectory === undefined) return false;
    for (const area of areaNames) {
      const { snapshots } = this.#serving(area);
      for (const shard of this.#cluster?.servedShardsOf(area) ?? [undefined])
        this.#snapshots.request({ area, snapshots, dataDirectory: resolve(dataDirectory), shard });
    }
    return true;
  }

  async #measureDisk(): Promise<void> {
    const { dataDirectory } = this.#options.run.settings;
    if (dataDirectory === undefined) return;
    const path = resolve(dataDirectory);
    measureDisk(this.#metrics, () => freeBytesNow(path));
  }

  #readiness(): Readiness {
    const reasons = this.#slots.flatMap((slot) => slot.reasons);
    if (this.#descriptors?.reason !== undefined) reasons.push(this.#descriptors.reason);
    reasons.push(...(this.#cluster?.reasons ?? []));
    if (this.#closing !== undefined) reasons.push("the server is stopping");
    const areas = Object.fromEntries(this.#slots.map((slot) => [slot.name, slot.status]));
    return { isReady: reasons.length === 0, hasStarted: this.#hasStarted, areas, reasons };
  }

  async #printMetrics(): Promise<string> {
    const areas = await Promise.all(this.#slots.map((slot) => figuresOf(slot)));
    return printMetrics([
      { labels: { area: "main" }, families: this.#metrics.snapshot() },
      ...areas,
      ...(this.#cluster?.figures() ?? []),
      ...(this.#copy?.snapshots ?? []),
    ]);
  }

  async #close(graceMs: number): Promise<void> {
    await this.#snapshots.stop();
    await this.#onePort?.close(graceMs);
    const hasLeft = await this.#leaveCluster(graceMs);
    // What PostgreSQL does not take cannot be waited for.
    const end = (slot: Slot): Promise<void> => (hasLeft ? slot.close(graceMs) : slot.abandon());
    const ends = await Promise.allSettled(this.#slots.map(end));
    await this.#copy?.close(graceMs);
    await this.#admin?.close(0);
    this.#thread?.close();
    this.#stopMeasuring();
    this.#descriptors?.stop();
    if (this.#hasStarted) {
      const outcome = this.#isCrashing || ends.some(({ status }) => status === "rejected") ? "failed" : "done";
      this.#audit.note({ action: "stop", caller: SERVER, outcome });
    }
    this.#decided?.directory.release();
    for (const end of ends) if (end.status === "rejected") throw end.reason;
    if (!hasLeft) throw new Error("The node could not leave its cluster");
  }

  /** True if nothing waits for PostgreSQL. After a crash nothing is released: an engine may not be in order. */
  async #leaveCluster(graceMs: number): Promise<boolean> {
    if (!this.#isCrashing) return (await this.#cluster?.leave(graceMs)) ?? true;
    this.#cluster?.stop();
    return true;
  }

  #get(): Decided {
    if (this.#decided === undefined) throw new Error("The server is not open yet");
    return this.#decided;
  }
}

/** Undefined for a single server. Rejects with a `StartRefusal`. */
async function openCluster(
  run: RunSettings,
  log: Log,
  { databases, indexes, users }: Tenants,
): Promise<ClusterMember | undefined> {
  const { dataDirectory } = run.settings;
  if (dataDirectory === undefined || !isClustered(run)) return undefined;
  // Loaded only for a node of a cluster.
  const { ClusterMember } = await import("./cluster/cluster-member.ts");
  const tenants = {
    store: databases.map(areaTenantOf),
    vector: indexes.map(areaTenantOf),
    messaging: users.map(areaTenantOf),
  };
  return ClusterMember.open({ run, dataDirectory: resolve(dataDirectory), tenants, log });
}

/** Undefined: nothing is copied, and nothing of the copy is loaded. */
async function openCopy(
  { run, version, log, logFormat: format }: ServerOptions,
  onProblem: (problem: LoggedProblem) => void,
): Promise<CopyThread | undefined> {
  const { replicate: address, dataDirectory, replicateKeepMs: keepMs, replicateIntervalMs: partMs } = run.settings;
  if (address === undefined || dataDirectory === undefined) return undefined;
  const { CopyThread } = await import("./workers/copy-thread.ts");
  const { newSyncedMemory } = await import("./workers/synced-place.ts");
  const synced = new Map(areaNames.map((area) => [area, newSyncedMemory()]));
  const logPlan = { level: run.settings.logLevel, format };
  const key = run.settings.replicateKey;
  const plan = { address, directory: resolve(dataDirectory), version, keepMs, partMs, key, synced, log: logPlan };
  return new CopyThread({ plan, log, clock: systemClock, onProblem });
}

const NO_SNAPSHOTS: Readonly<Record<AreaName, number>> = { store: 0, messaging: 0, vector: 0 };

/** Sizes of the newest snapshot of each area, of all its shards together. */
async function snapshotBytesOfAreas(
  placesOf: (area: AreaName) => readonly AreaPlace[],
): Promise<Readonly<Record<AreaName, number>>> {
  const [store = 0, messaging = 0, vector = 0] = await Promise.all(
    (["store", "messaging", "vector"] as const).map(async (area) => {
      const sizes = await Promise.all(placesOf(area).map(snapshotBytesOf));
      return sizes.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
    }),
  );
  return { store, messaging, vector };
}

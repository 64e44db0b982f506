/**
 * The service of the vector area: the engine, the models of its indexes, the
 * threads that build graphs and search, and the files of graphs.
 */

import type { NamespaceFacts, NamespacesPage } from "../../edge/admin/namespaces.ts";
import { VectorArea } from "../../edge/vector/area.ts";
import { systemClock } from "../../kernel/clock.ts";
import { OWNER_MOVES } from "../../kernel/journal.ts";
import { secretText, systemRandom } from "../../kernel/random.ts";
import { noSpaceText } from "../../persistence/disk/disk.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import {
  DefinitionMismatch,
  GraphCache,
  RowFileSet,
  type RowFileStorage,
  removeOtherRowFiles,
  type SearchThreads,
  type ThreadGraphBuilder,
  VectorEngine,
} from "../../vector/index/mod.ts";
import type { IndexDefinition, RowPlacement } from "../../vector/mod.ts";
import type { TenantMemory, WantedNamespaces } from "../areas/area.ts";
import { type AreaTenant, NO_TENANTS, type TenantsAtOpen } from "../areas/area-tenant.ts";
import { measureTenants } from "../metrics/tenants.ts";
import { measureSearchThreads, measureVectors } from "../metrics/vector.ts";
import { StartRefusal } from "../refusal.ts";
import { defaultIndex } from "../settings/index-settings.ts";
import { graphFiles, linkGraphFiles } from "../workers/graph-files.ts";
import { threadGraphBuilder } from "../workers/graph-threads.ts";
import { rowFiles } from "../workers/row-files.ts";
import { openSearchThreads } from "../workers/search-threads.ts";
import { type IndexEmbedders, openEmbedders } from "./embedders.ts";
import { reportGraphs } from "./graph-report.ts";
import { PeriodicTask } from "./periodic-task.ts";
import type { AreaService, ServiceContext } from "./service.ts";

/** Handles of queries must be unguessable for other clients. */
const HANDLE_LENGTH = 32;
/** How often graphs with many changes are written. */
const SAVE_PERIOD_MS = 60_000;

export class VectorService implements AreaService {
  readonly http: VectorArea;
  readonly #context: ServiceContext;
  readonly #engine: VectorEngine;
  readonly #graphs: ThreadGraphBuilder;
  readonly #threads: SearchThreads | undefined;
  /** Undefined without a directory: then all rows are in memory. */
  readonly #rowStorage: RowFileStorage | undefined;
  readonly #rowFiles: RowFileSet | undefined;
  /** Those that it is opened with. */
  #tenants: readonly AreaTenant[];
  /** By index name. */
  readonly #embedders = new Map<string, IndexEmbedders>();
  #cache: GraphCache | undefined;
  readonly #saving: PeriodicTask;
  #stopReport: () => void = () => {};

  constructor(context: ServiceContext) {
    const { plan, clock, log, metrics, turns, tokens, limiter, persistence, onFatal } = context;
    const { vector, limits } = plan;
    this.#context = context;
    this.#tenants = plan.tenants;
    this.#graphs = threadGraphBuilder({ log });
    this.#rowStorage = plan.directory === undefined ? undefined : rowFiles(fileDisk, plan.directory);
    this.#rowFiles =
      this.#rowStorage &&
      new RowFileSet({
        storage: this.#rowStorage,
        after: (delayMs, callback) => systemClock.after(delayMs, callback),
        isFull: (fault) => noSpaceText(fault) !== undefined,
        onFault: onFatal,
      });
    const readsFiles = this.#rowFiles !== undefined;
    this.#threads = openSearchThreads({ log, count: vector.threads, readsFiles });
    this.#engine = new VectorEngine({
      journal: persistence.journal,
      clock,
      random: systemRandom,
      turns,
      limits: vector.limits,
      graphs: this.#graphs,
      threads: this.#threads,
      newHandle: () => secretText(HANDLE_LENGTH),
      guard: context.guard,
      rowFiles: this.#rowFiles,
      rowsOf: ({ name }) => this.#rowsOf(this.#tenants.find((tenant) => tenant.name === name)),
    });
    this.http = new VectorArea({
      vector: this.#engine,
      tokens,
      ...(limiter !== undefined && { limiter }),
      cors: limits.cors,
      limits: vector.limits,
      clock,
      turns,
    });
    this.#saving = new PeriodicTask({
      clock: systemClock,
      periodMs: SAVE_PERIOD_MS,
      run: () => this.#save(),
      onFault: onFatal,
    });
    measureVectors(metrics, this.#engine);
    measureSearchThreads(metrics, this.#threads);
    measureTenants(metrics, () => [...this.#engine.indexes].map(({ state }) => state));
  }

  async open({ made, removed, elsewhere }: TenantsAtOpen = NO_TENANTS): Promise<void> {
    const { plan, log, persistence } = this.#context;
    this.#tenants = [...plan.tenants.filter(({ name }) => !elsewhere.includes(name)), ...made];
    await this.#openRowFiles();
    await persistence.recover({ apply: (frame) => this.#engine.replay(frame), settle: () => this.#engine.settle() });
    if (plan.directory !== undefined) this.#cache = new GraphCache(graphFiles(fileDisk, plan.directory), log);
    for (const name of removed) await this.dropTenant(name);
    for (const tenant of this.#tenants) await this.setTokens(tenant);
    await this.#engine.start(this.#cache);
    const namespaces = this.#engine.namespaces.map(({ namespace }) => namespace);
    this.#stopReport = reportGraphs(namespaces, { clock: systemClock, log });
    if (this.#cache !== undefined) this.#saving.start();
    this.#engine.recall.start();
    this.#engine.graphKeeper.start();
  }

  async close(): Promise<void> {
    this.#stopReport();
    this.#engine.recall.stop();
    this.#engine.graphKeeper.stop();
    await this.#saving.stop();
    await this.#cache?.save(this.#engine.namespaces, { all: true });
    await this.#context.persistence.close();
    await Promise.all([...this.#embedders.values()].map((embedders) => embedders.close()));
    await this.#threads?.close();
    await this.#rowFiles?.close();
    this.#engine.close();
    await this.#graphs.close();
  }

  async reset(): Promise<void> {
    this.#engine.reset();
    await this.#engine.whenSafe();
  }

  async tenantNames(): Promise<readonly string[]> {
    return this.#engine.indexNames;
  }

  async tenantMemory(): Promise<readonly TenantMemory[]> {
    return [...this.#engine.indexes].map(({ name, state }) => ({ name, memoryBytes: state.memory.bytes }));
  }

  async namespaces({ index, prefix = "", count, cursor = -1 }: WantedNamespaces): Promise<NamespacesPage | undefined> {
    const state = this.#engine.index(index)?.state;
    if (state === undefined) return undefined;
    const namespaces: NamespaceFacts[] = [];
    let last = cursor;
    for (const namespace of state.namespaces) {
      const { number, name, pendingCount } = namespace;
      if (number <= cursor || !name.startsWith(prefix)) continue;
      if (namespaces.length === count) return { namespaces, cursor: String(last) };
      const vectorCount = namespace.count - pendingCount;
      namespaces.push({ name, vectorCount, pendingVectorCount: pendingCount, memoryBytes: state.bytesOf(namespace) });
      last = number;
    }
    return { namespaces };
  }

  async setTokens(tenant: AreaTenant): Promise<void> {
    const { name, tokens, index = defaultIndex } = tenant;
    const before = this.#embedders.get(name);
    this.#warnOfOtherModels(name, index.definition);
    const embedders = await openEmbedders(index, {
      log: this.#context.log,
      dimensionNow: () => this.#engine.index(name)?.definition.dimension,
    });
    try {
      const tuning = { recallTarget: index.recallTarget, rows: this.#rowsOf(tenant) };
      const { state } = this.#engine.define(name, index.definition, embedders, tuning);
      this.#context.persistence.journal.hold(state, tenant.isMoving === true ? OWNER_MOVES : undefined);
    } catch (fault) {
      await embedders.close();
      throw fault instanceof DefinitionMismatch ? new StartRefusal(sentence(fault.message)) : fault;
    }
    this.#embedders.set(name, embedders);
    await before?.close();
    await this.#engine.whenSafe();
    this.#context.tokens.replaceTenant(name, tokens);
  }

  forgetTokens(name: string): void {
    this.#context.tokens.removeTenant(name);
  }

  async dropTenant(name: string): Promise<void> {
    this.forgetTokens(name);
    this.#engine.drop(name);
    await this.#embedders.get(name)?.close();
    this.#embedders.delete(name);
    await this.#engine.whenSafe();
  }

  async backUp(target: string): Promise<number> {
    const { plan, persistence } = this.#context;
    const position = await persistence.backUp(target);
    // Graphs are derived, but building a large one takes longer than the rest of a restore.
    if (plan.directory !== undefined) await linkGraphFiles(fileDisk, { from: plan.directory, to: target });
    return position;
  }

  /** Without a directory nothing is on a disk. */
  #rowsOf(tenant: AreaTenant | undefined): RowPlacement {
    if (this.#rowFiles === undefined) return "memory";
    return tenant?.index?.rows ?? this.#context.plan.vector.rows;
  }

  /** Before the replay, which finds the rows in them. */
  async #openRowFiles(): Promise<void> {
    const { plan, log } = this.#context;
    if (this.#rowStorage === undefined || this.#rowFiles === undefined) return;
    const hasRows = plan.vector.rows === "disk" || this.#tenants.some((tenant) => this.#rowsOf(tenant) === "disk");
    if (!hasRows) {
      await removeOtherRowFiles(this.#rowStorage, []);
      return;
    }
    for (const { name, reason } of await this.#rowFiles.open())
      log.warn("a row file cannot be used, and its rows are read from the journal", { file: name, reason });
  }

  /** Vectors of two models are not comparable, and no record says which model embedded it. */
  #warnOfOtherModels(name: string, { denseModel, sparseModel }: IndexDefinition): void {
    const known = this.#engine.index(name);
    if (known === undefined || known.info().vectorCount === 0) return;
    const { definition } = known;
    if (definition.denseModel === denseModel && definition.sparseModel === sparseModel) return;
    this.#context.log.warn("an index has records embedded by another model: upsert their texts again", {
      index: name,
      before: [definition.denseModel, definition.sparseModel].filter(Boolean).join(", ") || "none",
      now: [denseModel, sparseModel].filter(Boolean).join(", ") || "none",
    });
  }

  async #save(): Promise<void> {
    if (this.#context.persistence.journal.refusal === undefined)
      await this.#cache?.save(this.#engine.namespaces, { all: false });
  }
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

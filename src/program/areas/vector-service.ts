/**
 * The vector area behind its port: the engine, its tokens, the models of its
 * indexes, the thread that builds graphs, and the part of the data directory
 * that it is recovered from and writes to.
 */
import { TokenTable } from "../../edge/auth.ts";
import { RateLimiter } from "../../edge/limits/rate-limit.ts";
import { VectorArea } from "../../edge/vector/area.ts";
import { systemClock } from "../../kernel/clock.ts";
import { secretBytes, secretText, systemRandom } from "../../kernel/random.ts";
import type { AreaStorage } from "../../persistence/area-storage.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { GraphCache } from "../../vector/graph/cache.ts";
import type { IndexDefinition } from "../../vector/index/definition.ts";
import { DefinitionMismatch, VectorEngine as Engine } from "../../vector/vector-engine.ts";
import { type IndexEmbedders, openEmbedders } from "../embedders.ts";
import { measureTenants } from "../metrics/tenants.ts";
import { measureVectors } from "../metrics/vector.ts";
import { StartRefusal } from "../refusal.ts";
import { defaultIndex } from "../settings/index-settings.ts";
import { graphFiles, linkGraphFiles } from "../workers/graph-files.ts";
import { GraphThreads } from "../workers/graph-threads.ts";
import type { AreaTenant } from "./area.ts";
import type { ServiceContext } from "./area-thread.ts";
import { DeferredJournal } from "./deferred-journal.ts";
import { reportGraphs } from "./graph-report.ts";
import type { AreaService } from "./listening-area.ts";
import { getKept, recoverArea, watchTrouble } from "./recover-area.ts";

const TOKEN_KEY_BYTES = 32;
/** Nobody can guess the handle of somebody else's query. */
const HANDLE_LENGTH = 32;
/** How often graphs that changed much are written. */
const SAVE_EVERY_MS = 60_000;

export class VectorService implements AreaService {
  readonly edge: VectorArea;
  readonly #context: ServiceContext;
  readonly #journal = new DeferredJournal();
  readonly #engine: Engine;
  readonly #graphs: GraphThreads;
  readonly #tokens = new TokenTable(secretBytes(TOKEN_KEY_BYTES));
  /** By index name. */
  readonly #embedders = new Map<string, IndexEmbedders>();
  #kept: AreaStorage | undefined;
  #cache: GraphCache | undefined;
  #stops: (() => void)[] = [];
  #saving: Promise<void> = Promise.resolve();

  constructor(context: ServiceContext) {
    const { plan, clock, log, metrics, turns } = context;
    const { vector, limits } = plan;
    const perSecond = limits.requestsPerSecondMax;
    this.#context = context;
    this.#graphs = new GraphThreads({ log });
    this.#engine = new Engine({
      journal: this.#journal,
      clock,
      random: systemRandom,
      turns,
      limits: vector.limits,
      graphs: this.#graphs,
      newHandle: () => secretText(HANDLE_LENGTH),
      guard: context.guard,
    });
    this.edge = new VectorArea({
      vector: this.#engine,
      tokens: this.#tokens,
      ...(perSecond !== undefined && { limiter: new RateLimiter(systemClock, { perSecond, burst: perSecond }) }),
      cors: limits.cors,
      limits: vector.limits,
      clock,
      turns,
    });
    measureVectors(metrics, this.#engine);
    measureTenants(metrics, () => [...this.#engine.indexes].map(({ state }) => state));
  }

  async open(): Promise<void> {
    const { plan, events } = this.#context;
    if (plan.directory !== undefined) await this.#recover(plan.directory);
    for (const tenant of plan.tenants) await this.setTokens(tenant);
    await this.#engine.start(this.#cache);
    const namespaces = this.#engine.namespaces.map(({ namespace }) => namespace);
    this.#stops.push(reportGraphs(namespaces, { clock: systemClock, log: this.#context.log }));
    if (this.#cache !== undefined) this.#saveLater();
    if (this.#kept?.isSnapshotDue() === true) events.snapshotDue();
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#saving;
    await this.#cache?.save(this.#engine.namespaces, { all: true });
    this.#journal.close();
    const lostCount = await this.#kept?.close();
    if (lostCount !== undefined && lostCount > 0) {
      this.#context.log.error("writes that were not acknowledged are lost: no space is left", { frames: lostCount });
    }
    await Promise.all([...this.#embedders.values()].map((embedders) => embedders.close()));
    this.#engine.close();
    await this.#graphs.close();
  }

  async reset(): Promise<void> {
    this.#engine.reset();
    await this.#engine.whenSafe();
  }

  tenantNames(): readonly string[] {
    return this.#engine.indexNames;
  }

  async setTokens({ name, tokens, index = defaultIndex }: AreaTenant): Promise<void> {
    const before = this.#embedders.get(name);
    this.#warnOfOtherModels(name, index.definition);
    const embedders = await openEmbedders(index, this.#context.log);
    try {
      this.#engine.define(name, index.definition, embedders);
    } catch (fault) {
      await embedders.close();
      throw fault instanceof DefinitionMismatch ? new StartRefusal(sentence(fault.message)) : fault;
    }
    this.#embedders.set(name, embedders);
    await before?.close();
    await this.#engine.whenSafe();
    this.#tokens.replaceTenant(name, tokens);
  }

  async dropTenant(name: string): Promise<void> {
    this.#tokens.removeTenant(name);
    this.#engine.drop(name);
    await this.#embedders.get(name)?.close();
    this.#embedders.delete(name);
    await this.#engine.whenSafe();
  }

  async backUp(target: string): Promise<number> {
    const { plan } = this.#context;
    const position = await getKept(this.#kept).backUp(target);
    // Graphs are derived, but building a large one takes longer than anything else of a restore.
    if (plan.directory !== undefined) await linkGraphFiles(fileDisk, { from: plan.directory, to: target });
    return position;
  }

  async prepareSnapshot(): Promise<void> {
    await this.#kept?.closeSegment();
  }

  async finishSnapshot(isWritten: boolean): Promise<boolean> {
    if (isWritten) await this.#kept?.adoptSnapshot();
    return this.#kept?.isSnapshotDue() ?? false;
  }

  /** Vectors of two models do not compare, and nothing but the operator's memory tells which record is of which. */
  #warnOfOtherModels(name: string, { denseModel, sparseModel }: IndexDefinition): void {
    const known = this.#engine.index(name);
    if (known === undefined || known.info().vectorCount === 0) return;
    const { definition } = known;
    if (definition.denseModel === denseModel && definition.sparseModel === sparseModel) return;
    this.#context.log.warn("an index has records that another model embedded: upsert their texts again", {
      index: name,
      before: [definition.denseModel, definition.sparseModel].filter(Boolean).join(", ") || "none",
      now: [denseModel, sparseModel].filter(Boolean).join(", ") || "none",
    });
  }

  async #recover(directory: string): Promise<void> {
    const hooks = { apply: (frame: Buffer): void => this.#engine.replay(frame) };
    this.#kept = await recoverArea(this.#context, { directory, journal: this.#journal, hooks });
    this.#stops.push(watchTrouble(this.#context, this.#journal));
    this.#cache = new GraphCache(graphFiles(fileDisk, directory), this.#context.log);
  }

  #saveLater(): void {
    const cancel = systemClock.after(SAVE_EVERY_MS, () => {
      this.#stops = this.#stops.filter((stop) => stop !== cancel);
      this.#saving = this.#save().then(() => this.#saveLater(), this.#context.onFatal);
    });
    this.#stops.push(cancel);
  }

  async #save(): Promise<void> {
    if (this.#journal.refusal === undefined) await this.#cache?.save(this.#engine.namespaces, { all: false });
  }
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

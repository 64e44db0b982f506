/**
 * Copies a data directory into a store while a server works on it.
 *
 *     claim a generation -> copy everything once -> begin -> follow the journals -> end
 *                                                        \-> replaced: a server has a higher generation
 *
 * (1) A generation begins when it has everything that was durable at its start. Until
 *     then the one before it counts, so a start loses no moment of the copy.
 * (2) Nothing is overwritten. Objects are removed by the newest generation only, which
 *     looks for a newer one before (retention.ts says what may go).
 * (3) The server never waits for the store: this reads files by itself, one megabyte at
 *     a time, and falls behind if the store is slow.
 */
import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import { faultFields, type Log } from "../kernel/log.ts";
import { type Disk, withFile } from "../persistence/disk/disk.ts";
import { readFileIfThere } from "../persistence/disk/durable-file.ts";
import type { SyncedLocation } from "../persistence/journal/file-format.ts";
import { AreaCopier, type LostMoments, type SyncedAt } from "./area-copier.ts";
import { AreaLane } from "./area-lane.ts";
import { claimGeneration } from "./claim.ts";
import type { CopyKey } from "./copy-key.ts";
import {
  findGenerationAt,
  listAll,
  type NoteSource,
  notesIn,
  readBegin,
  readGenerations,
  viewOf,
} from "./copy-view.ts";
import { CopyTakenOver, ForeignCopy } from "./errors.ts";
import { contentOfFile, openIfThere, sumOfFile } from "./local-file.ts";
import { objectsOf, planMoment } from "./moment.ts";
import { beginNameOf, generationPrefix, OWNERS_PREFIX, objectName, ownerName } from "./names.ts";
import { type BeginNote, type BegunArea, printNote, sumOf, type TickNote } from "./notes.ts";
import { contentOf, type ListedObject, type ObjectStore } from "./objects/object-store.ts";
import { CopyEnded, RepeatedCalls, type StoreFault } from "./repeated-calls.ts";
import { findUnneeded, isOver, type RetainedGeneration } from "./retention.ts";

export interface CopierSettings {
  /** The longest wait of a durable byte for its part. */
  readonly partMs: number;
  /** A part of so many bytes does not wait. */
  readonly partBytes: number;
  /** A closed segment whose parts have so many bytes on average stays in them. */
  readonly largePartBytes: number;
  /** How often idle areas are proven to be complete, and a newer generation is looked for. */
  readonly tickMs: number;
  /** How often unneeded objects are removed. */
  readonly sweepMs: number;
  /** Moments of this time can be restored. */
  readonly keepMs: number;
  /** How often the log of messages is copied. */
  readonly historyMs: number;
}

export const copierDefaults: CopierSettings = {
  partMs: 1_000,
  partBytes: 1024 * 1024,
  // Half of what a restore reads at once.
  largePartBytes: 4 * 1024 * 1024,
  tickMs: 5 * 60_000,
  sweepMs: 60 * 60_000,
  keepMs: 7 * 24 * 60 * 60_000,
  historyMs: 60 * 60_000,
};

export interface CopierOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly disk: Disk;
  /** The data directory, which a server uses. */
  readonly directory: string;
  /** From `openDirectoryId`. */
  readonly directoryId: string;
  /** Of the program. */
  readonly version: string;
  readonly areas: readonly string[];
  readonly settings?: Partial<CopierSettings>;
  /** The newest synced location of an area's journal, with the wall-clock time at which the server read it. */
  locate(area: string): Promise<SyncedAt>;
  /** Seals the tokens file. Absent: it is not copied. */
  readonly key?: CopyKey | undefined;
  /**
   * Makes a consistent copy of an area's log of messages, if it has changed, and returns its path. The file is removed when it
   * is copied. Absent or undefined: nothing to copy.
   */
  copyHistory?(area: string): Promise<string | undefined>;
}

/** `refused`: the copy belongs to another data directory. `replaced`: a server with a higher generation copies. */
export type CopyPhase = "starting" | "copying" | "refused" | "replaced" | "ended";

export interface AreaCopyState {
  readonly area: string;
  /** Durable bytes that are not copied, and for how long the first of them has waited. */
  readonly behindBytes: number;
  readonly behindMs: number;
  /** The copy has everything that was durable at this time; 0: it has not begun. */
  readonly completeToMs: number;
  readonly lost: readonly LostMoments[];
  /** Why a file cannot be copied. */
  readonly fault: string | undefined;
}

export interface CopyState {
  readonly phase: CopyPhase;
  /** Why it is refused or replaced, or what failed since the last proof of idle areas, except the store. */
  readonly reason: string | undefined;
  readonly generation: number | undefined;
  /** The last failure of the store, if it has not answered since. */
  readonly storeFault: StoreFault | undefined;
  readonly tokens: "copied" | "not copied: no key" | "no file";
  readonly areas: readonly AreaCopyState[];
}

/** The file with the secrets of tenants in a data directory. */
export const TOKENS_FILE = "tokens.json";
const FORMAT_FILE = "format";
/** After a failure of the first copy that is not the store's. */
const BEGIN_AGAIN_MS = 60_000;
const REMOVED_COUNT_MAX = 1_000;

/** The newest state of the generations before. */
interface EarlierState {
  readonly objects: readonly ListedObject[];
  /** By area: the objects that its last segment is made of, and its log of messages. */
  readonly ends: ReadonlyMap<string, { readonly last: readonly ListedObject[]; readonly history: ListedObject }>;
}

export class Copier {
  readonly #options: CopierOptions;
  readonly #settings: CopierSettings;
  readonly #calls: RepeatedCalls;
  readonly #lanes = new Map<string, AreaLane>();
  readonly #early = new Map<string, SyncedLocation>();
  readonly #begins = new Map<number, BeginNote>();
  readonly #ticks = new Map<number, TickNote>();
  readonly #cancels = new Map<string, () => void>();
  readonly #tasks = new Set<Promise<void>>();
  #phase: CopyPhase = "starting";
  #reason: string | undefined;
  #generation: number | undefined;
  #running: Promise<void> | undefined;
  #lastTickMs = 0;
  #tokens: CopyState["tokens"] = "no file";
  #lastTokensMs = 0;
  /** Of the tokens file that was copied. */
  #tokensSum: string | undefined;

  constructor(options: CopierOptions) {
    this.#options = options;
    this.#settings = { ...copierDefaults, ...options.settings };
    this.#calls = new RepeatedCalls(options);
  }

  get state(): CopyState {
    return {
      phase: this.#phase,
      reason: this.#reason,
      generation: this.#generation,
      storeFault: this.#calls.fault,
      tokens: this.#tokens,
      areas: [...this.#lanes].map(([area, { behind, copier, fault }]) => ({
        ...{ area, behindBytes: behind.bytes, behindMs: behind.ms, fault },
        ...{ completeToMs: copier.completeToMs, lost: copier.lost },
      })),
    };
  }

  /** Begins to copy, and returns at once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Called whenever the synced location of an area's journal has moved (`onSyncedLocation`). */
  moved(area: string, location: SyncedLocation): void {
    this.#lanes.get(area)?.moved(location);
    if (this.#phase === "starting") this.#early.set(area, location);
  }

  /** Called when an area has a new snapshot. */
  filesChanged(area: string): void {
    this.#lanes.get(area)?.filesChanged();
  }

  /** Called when the tokens file has changed. */
  tokensChanged(): void {
    if (this.#phase === "copying") this.#begin(() => this.#copyTokens());
  }

  /**
   * Copies everything that is durable, and ends, at the latest after `withinMs`: then the thread of the copier should end too.
   * Called after the journals are closed; `locate` must still answer. Never rejects.
   */
  async close({ withinMs }: { readonly withinMs: number }): Promise<void> {
    const timeUp = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(withinMs, () => {
      this.#calls.end();
      timeUp.resolve();
    });
    await Promise.race([this.#close(), timeUp.promise]);
    cancel();
    if (this.#phase === "starting" || this.#phase === "copying") this.#phase = "ended";
  }

  async #close(): Promise<void> {
    this.#stopTimers();
    if (this.#phase === "copying") await this.#last().catch((error: unknown) => this.#note(error));
    this.#calls.end();
    await this.#running;
    for (const task of [...this.#tasks]) await task;
    for (const lane of this.#lanes.values()) await lane.close();
  }

  async #last(): Promise<void> {
    for (const lane of this.#lanes.values()) await lane.flush();
    await this.#copyTokens();
    await this.#copyHistories();
    await this.#tick();
  }

  async #run(): Promise<void> {
    while (this.#phase === "starting" && !this.#calls.isEnded) {
      try {
        await this.#claimAndBegin();
        return;
      } catch (error) {
        this.#note(error);
      }
      if (this.#phase === "starting" && !this.#calls.isEnded) await this.#pause(BEGIN_AGAIN_MS);
    }
  }

  async #claimAndBegin(): Promise<void> {
    const { store, directoryId: directory, version, clock } = this.#options;
    const calls = this.#calls;
    const facts = { directory, version, startedAtMs: clock.nowMs() };
    this.#generation ??= await claimGeneration({ store, calls, facts });
    const earlier = await this.#readEarlier(this.#generation);
    await this.#copyTokens();
    const areas: BegunArea[] = [];
    for (const area of this.#options.areas) areas.push(await this.#beginArea(area, earlier));
    await this.#writeBegin(areas);
    if (this.#phase !== "starting" || this.#calls.isEnded) return;
    this.#phase = "copying";
    this.#reason = undefined;
    for (const [area, lane] of this.#lanes) {
      const location = this.#early.get(area);
      if (location !== undefined) lane.moved(location);
      lane.follow();
    }
    this.#every("tick", this.#settings.tickMs, async () => {
      if (await this.#isReplaced()) return;
      await this.#copyTokens();
      await this.#tick();
      this.#reason = undefined;
      for (const lane of this.#lanes.values()) lane.filesChanged();
    });
    this.#every("sweep", this.#settings.sweepMs, () => this.#sweep());
    this.#every("history", this.#settings.historyMs, () => this.#copyHistories());
  }

  /** keeps (1) */
  async #writeBegin(areas: readonly BegunArea[]): Promise<void> {
    const { disk, directory, directoryId, version } = this.#options;
    const format = (await readFileIfThere(disk, `${directory}/${FORMAT_FILE}`))?.toString("latin1");
    assert(format !== undefined, "a data directory in use has a format file");
    const timeMs = Math.max(...areas.map(({ completeToMs }) => completeToMs));
    if (await this.#isReplaced()) return;
    const note = printNote({ timeMs, directory: directoryId, version, format, areas });
    await this.#calls.put(beginNameOf(this.#own), contentOf(note));
  }

  async #beginArea(area: string, { objects, ends }: EarlierState): Promise<BegunArea> {
    const { disk, directory, clock, log } = this.#options;
    const { partMs, partBytes, largePartBytes } = this.#settings;
    const generation = this.#own;
    const put = (name: string, content: Parameters<RepeatedCalls["put"]>[1]): Promise<void> =>
      this.#calls.put(name, content);
    const copier = new AreaCopier({ disk, directory: `${directory}/${area}`, area, generation, largePartBytes, put });
    const locate = (): Promise<SyncedAt> => this.#options.locate(area);
    await this.#lanes.get(area)?.close();
    this.#lanes.set(area, new AreaLane({ copier, clock, log: log.with({ area }), partMs, partBytes, locate }));
    const end = ends.get(area);
    // The history of an earlier state is right for a later one of the same journal.
    const isContinued = end !== undefined && (await copier.holds(end.last));
    const taken = await copier.begin(locate, objects, async () => {
      if (!isContinued) await this.#copyHistory(area);
    });
    const { completeToMs, place } = copier;
    return { name: area, completeToMs, ...place, objects: isContinued ? [...taken, end.history] : taken };
  }

  /** Objects that this generation may take over (retention.ts, 3). */
  async #readEarlier(own: number): Promise<EarlierState> {
    const { store, log } = this.#options;
    try {
      return await this.#calls.repeat(async () => {
        const generations = (await readGenerations(store)).filter((number) => number < own);
        const view = await findGenerationAt(store, generations, undefined);
        const plans = view === undefined ? [] : await planMoment(view, notesIn(store, view.generation));
        const objects = plans.flatMap(objectsOf);
        for (const generation of generations)
          if (generation > (view?.generation ?? 0))
            objects.push(...(await listAll(store, generationPrefix(generation))));
        const ends = new Map(
          plans.flatMap(({ name, segments, history }) => {
            const last = segments.at(-1)?.pieces.map(({ object }) => object);
            return last === undefined || history === undefined ? [] : [[name, { last, history }] as const];
          }),
        );
        return { objects, ends };
      });
    } catch (error) {
      if (error instanceof CopyEnded) throw error;
      log.warn("the copy before is not used, and everything is copied again", faultFields(error));
      return { objects: [], ends: new Map() };
    }
  }

  async #copyTokens(): Promise<void> {
    const { disk, directory, directoryId, key, clock } = this.#options;
    const bytes = await readFileIfThere(disk, `${directory}/${TOKENS_FILE}`);
    if (bytes === undefined || key === undefined) {
      this.#tokens = bytes === undefined ? "no file" : "not copied: no key";
      return;
    }
    const fileSum = sumOf(bytes);
    if (fileSum === this.#tokensSum) return;
    const sealed = key.seal(bytes, directoryId);
    const timeMs = Math.max(clock.nowMs(), this.#lastTokensMs + 1);
    this.#lastTokensMs = timeMs;
    const name = { kind: "tokens", timeMs, sum: sumOf(sealed) } as const;
    await this.#calls.put(objectName(this.#own, name), contentOf(sealed));
    this.#tokensSum = fileSum;
    this.#tokens = "copied";
  }

  async #copyHistories(): Promise<void> {
    for (const area of this.#options.areas) await this.#copyHistory(area);
  }

  async #copyHistory(area: string): Promise<void> {
    const { disk, clock, copyHistory } = this.#options;
    const path = await copyHistory?.(area);
    if (path === undefined) return;
    // Everything that is in it was durable now.
    const timeMs = clock.nowMs();
    const file = await openIfThere(disk, path);
    assert(file !== undefined, "a copy of the log of messages exists until it is copied");
    await withFile(file, async () => {
      const end = await file.size();
      const { sha256, sum } = await sumOfFile({ path, file }, 0, end);
      const name = objectName(this.#own, { kind: "history", area, timeMs, sum });
      await this.#calls.put(name, contentOfFile({ path, file }, { start: 0, end, sha256 }));
    });
    await disk.unlink(path);
  }

  async #tick(): Promise<void> {
    const areas: TickNote["areas"][number][] = [];
    for (const [name, { copier }] of this.#lanes) areas.push(await copier.prove(() => this.#options.locate(name)));
    const timeMs = Math.max(
      this.#options.clock.nowMs(),
      this.#lastTickMs + 1,
      ...areas.map(({ completeToMs }) => completeToMs),
    );
    const note: TickNote = { timeMs, areas };
    await this.#calls.put(objectName(this.#own, { kind: "tick", timeMs }), contentOf(printNote(note)));
    this.#lastTickMs = timeMs;
    this.#ticks.set(timeMs, note);
  }

  /** keeps (2) */
  async #sweep(): Promise<void> {
    const { store, clock, log } = this.#options;
    const own = this.#own;
    const fromMs = clock.nowMs() - this.#settings.keepMs;
    const begun: Omit<RetainedGeneration, "objects">[] = [];
    for (const generation of await this.#calls.repeat(() => readGenerations(store)))
      if (generation <= own) begun.push({ generation, begin: await this.#beginOf(generation) });
    const generations: RetainedGeneration[] = [];
    for (const each of begun) {
      // All of an earlier generation stays until it is over, so it need not be listed.
      const isListed = each.generation === own || isOver(each.generation, begun, fromMs);
      const prefix = generationPrefix(each.generation);
      generations.push({ ...each, objects: isListed ? await this.#calls.repeat(() => listAll(store, prefix)) : [] });
    }
    const newest = generations.at(-1);
    if (newest?.generation !== own || newest.begin === undefined) return;
    const view = viewOf(own, newest.begin, newest.objects);
    const names = await this.#calls.repeat(() => findUnneeded({ generations, own: view, notes: this.#notes, fromMs }));
    const owners = generations
      .filter(({ generation, objects }) => objects.length === 0 && isOver(generation, begun, fromMs))
      .map(({ generation }) => ownerName(generation));
    const removed = [...names, ...owners];
    if (removed.length === 0 || (await this.#isReplaced())) return;
    for (let start = 0; start < removed.length; start += REMOVED_COUNT_MAX)
      await this.#calls.repeat(() => store.remove(removed.slice(start, start + REMOVED_COUNT_MAX)));
    for (const timeMs of [...this.#ticks.keys()])
      if (names.includes(objectName(own, { kind: "tick", timeMs }))) this.#ticks.delete(timeMs);
    log.debug("removed objects of the copy that no restore needs", { count: removed.length });
  }

  /** Notes never change, so each is read once. */
  async #beginOf(generation: number): Promise<BeginNote | undefined> {
    const found =
      this.#begins.get(generation) ?? (await this.#calls.repeat(() => readBegin(this.#options.store, generation)));
    if (found !== undefined) this.#begins.set(generation, found);
    return found;
  }

  get #notes(): NoteSource {
    const stored = notesIn(this.#options.store, this.#own);
    return { ...stored, tick: async (timeMs) => this.#ticks.get(timeMs) ?? stored.tick(timeMs) };
  }

  /** Looks for a newer generation, and stops if there is one. */
  async #isReplaced(): Promise<boolean> {
    const { store } = this.#options;
    const own = this.#own;
    const newer = await this.#calls.repeat(() => store.list(OWNERS_PREFIX, ownerName(own)));
    const newest = newer.at(-1);
    if (newest === undefined) return false;
    this.#stop("replaced", new CopyTakenOver(own, Number(newest.name.slice(OWNERS_PREFIX.length))));
    return true;
  }

  get #own(): number {
    assert(this.#generation !== undefined, "a generation is claimed first");
    return this.#generation;
  }

  #stop(phase: "refused" | "replaced", error: Error): void {
    this.#phase = phase;
    this.#reason = error.message;
    this.#options.log.error("the data directory is not copied any more", { reason: error.message });
    this.#stopTimers();
    this.#calls.end();
  }

  #stopTimers(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
  }

  #every(name: string, periodMs: number, work: () => Promise<void>): void {
    const cancel = this.#options.clock.after(periodMs, () => {
      this.#begin(work, () => {
        if (this.#phase === "copying" && this.#cancels.has(name)) this.#every(name, periodMs, work);
      });
    });
    this.#cancels.set(name, cancel);
  }

  #begin(work: () => Promise<void>, next: () => void = () => {}): void {
    const task = work()
      .catch((error: unknown) => this.#note(error))
      .then(() => {
        this.#tasks.delete(task);
        next();
      });
    this.#tasks.add(task);
  }

  #note(error: unknown): void {
    if (error instanceof CopyEnded) return;
    if (error instanceof ForeignCopy) this.#stop("refused", error);
    else {
      this.#reason = error instanceof Error ? error.message : String(error);
      this.#options.log.error("a part of the copying failed", faultFields(error));
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        cancel();
        this.#cancels.delete("pause");
        resolve();
      };
      const cancel = this.#options.clock.after(ms, done);
      this.#cancels.set("pause", done);
    });
  }
}

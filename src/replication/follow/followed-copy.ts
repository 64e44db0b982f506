/**
 * Brings a directory to the newest state of a copy, again and again.
 *
 * A whole pass plans the newest state as a restore does (moment.ts) and makes the files
 * those of the plan. A short one only lists the parts that are newer than the last one,
 * and appends them: one request for each area, and one that looks for a newer
 * generation.
 *
 * (1) The record never says more than what is durable, and its areas are at places that
 *     the copy had. It is written after the segments and before a newer snapshot gets
 *     its name, so a promotion can always cut the segments at the recorded places.
 * (2) What the state does not need is removed after the record says that it is whole, or
 *     before, if the files are not a whole state anyway.
 * (3) In a generation the places only move forwards: a copy that seems to have less, as
 *     with lists that lag, changes nothing.
 */
import type { Clock } from "../../kernel/clock.ts";
import { ByteProgress, type OnBytes } from "../../persistence/byte-progress.ts";
import { assertFormat } from "../../persistence/data-directory.ts";
import type { Disk } from "../../persistence/disk/disk.ts";
import { readFileIfThere, writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { TOKENS_FILE } from "../copier.ts";
import type { CopyKey } from "../copy-key.ts";
import { findGenerationAt, type GenerationView, notesIn, readBegin, readGenerations } from "../copy-view.ts";
import { UnusableCopy } from "../errors.ts";
import { fetchObject } from "../fetch.ts";
import { type AreaPlan, objectsOf, planMoment } from "../moment.ts";
import { generationPrefix, OWNERS_PREFIX, ownerName, parseObjectName } from "../names.ts";
import type { ListedObject, ObjectStore } from "../objects/object-store.ts";
import { type AppliedFigures, FollowedArea, type ListedPart } from "./followed-area.ts";
import { type FollowedPlace, type FollowRecord, newRecord, readRecord, writeRecord } from "./record.ts";

export interface FollowedCopyOptions {
  readonly disk: Disk;
  /** The directory, which is not used by anything else. */
  readonly directory: string;
  /** Of the copy, for the record. */
  readonly address: string;
  readonly clock: Pick<Clock, "nowMs">;
  /** The areas that a copy may have. */
  readonly areas: readonly string[];
  /** Opens the tokens. Absent: they are not fetched. */
  readonly key?: CopyKey | undefined;
  /** The name of the log of messages in the directory of an area. */
  readonly historyFile: string;
  /** Told of whole passes. */
  readonly onBytes?: OnBytes;
}

/** What a pass did. `waiting`: the copy has nothing yet. */
export type PassOutcome = "waiting" | "unchanged" | "moved";

/** The copy seems to have less than before. keeps (3) */
export class CopyBehind extends Error {
  override name = "CopyBehind";

  constructor(area: string) {
    super(
      `The copy seems to have less of ${area} than the directory: its list is old, or objects were removed from it. If that was on purpose, follow it in an empty directory`,
    );
  }
}

const TOKENS_MODE = 0o600;

export class FollowedCopy {
  readonly #options: FollowedCopyOptions;
  readonly #areas = new Map<string, FollowedArea>();
  #record: FollowRecord;
  #progress: ByteProgress | undefined;
  /** The generation whose state was fetched; 0: none since the start. */
  #generation = 0;
  /** The one whose bytes the areas know. */
  #knownGeneration = 0;
  #newestOwner = 0;
  /** By area: the last part that was seen. */
  readonly #cursors = new Map<string, string>();
  #tokensObject: string | undefined;

  private constructor(options: FollowedCopyOptions, record: FollowRecord) {
    this.#options = options;
    this.#record = record;
  }

  /** Begins to follow in an empty directory, or continues. Rejects with `DamagedData`, or with the system's error. */
  static async open(options: FollowedCopyOptions): Promise<FollowedCopy> {
    const { disk, directory, address } = options;
    const found = await readRecord(disk, directory);
    const record = { ...(found ?? newRecord(address)), address };
    await writeRecord(disk, directory, record);
    return new FollowedCopy(options, record);
  }

  get record(): FollowRecord {
    return this.#record;
  }

  /** What an area has taken since the start; undefined: it is not known yet. */
  figuresOf(area: string): AppliedFigures | undefined {
    return this.#areas.get(area)?.figures;
  }

  /** Notes why an attempt failed. Rejects with the system's error. */
  async note(problem: string): Promise<void> {
    if (problem !== this.#record.problem) await this.#write({ problem });
  }

  /** After a fault of the directory: nothing about its files is known any more. */
  forget(): void {
    this.#generation = 0;
    this.#knownGeneration = 0;
    for (const area of this.#areas.values()) area.forget();
  }

  /**
   * Fetches the newest state. Rejects with `UnusableCopy` if this copy can never be followed here, with `DamagedCopy` or
   * `CopyBehind`, as the store does, or with the system's error; another call continues.
   */
  async fetchAll(store: ObjectStore): Promise<PassOutcome> {
    const generations = await readGenerations(store);
    const newestOwner = generations.at(-1) ?? 0;
    const view = await findGenerationAt(store, generations, undefined);
    if (view === undefined) {
      await this.#write({ checkedAtMs: this.#options.clock.nowMs(), problem: "" });
      return "waiting";
    }
    await this.#assertUsable(view);
    const plans = await planMoment(view, notesIn(store, view.generation));
    this.#assertForwards(view, plans); // keeps (3)
    const before = this.#record;
    await this.#prepare(view, plans);
    await this.#fetchPlans(store, view, plans);
    this.#newestOwner = newestOwner;
    for (const { name } of plans) this.#cursors.set(name, lastPartOf(view, name));
    const hasMoved =
      before.phase !== "following" || JSON.stringify(before.areas) !== JSON.stringify(this.#record.areas);
    return hasMoved ? "moved" : "unchanged";
  }

  /** Fetches new parts, or the newest state if that is not enough. Rejects as `fetchAll`. */
  async fetchNew(store: ObjectStore): Promise<PassOutcome> {
    if (this.#generation === 0 || (await this.#hasNewGeneration(store))) return this.fetchAll(store);
    const places: FollowedPlace[] = [];
    for (const place of this.#record.areas) {
      const area = this.#areas.get(place.name);
      const cursor = this.#cursors.get(place.name) ?? "";
      const page = await store.list(`${generationPrefix(this.#generation)}${place.name}/part/`, cursor);
      const completeToMs = page.length === 0 ? 0 : await area?.append(store, partsIn(page));
      if (completeToMs === undefined || area?.place === undefined) return this.fetchAll(store);
      this.#cursors.set(place.name, page.at(-1)?.name ?? cursor);
      places.push({ ...place, ...area.place, completeToMs: Math.max(place.completeToMs, completeToMs) });
    }
    const hasMoved = JSON.stringify(places) !== JSON.stringify(this.#record.areas);
    await this.#write({ areas: places, checkedAtMs: this.#options.clock.nowMs(), problem: "" });
    return hasMoved ? "moved" : "unchanged";
  }

  async #hasNewGeneration(store: ObjectStore): Promise<boolean> {
    const newer = await store.list(OWNERS_PREFIX, ownerName(this.#newestOwner));
    if (newer.length > 0) return true;
    return this.#newestOwner > this.#generation && (await readBegin(store, this.#newestOwner)) !== undefined;
  }

  async #assertUsable({ begin, areas }: GenerationView): Promise<void> {
    const { directory } = this.#record;
    if (directory !== "" && begin.directory !== directory)
      throw new UnusableCopy(
        `it is that of another data directory (${begin.directory}), and ${this.#options.directory} follows that of ${directory}: follow it in an empty directory, or correct the address`,
      );
    for (const area of areas.keys())
      if (!this.#options.areas.includes(area)) throw new UnusableCopy(`it has an unknown area: ${area}`);
    assertFormat(begin.format, "format in the copy");
  }

  #assertForwards({ generation }: GenerationView, plans: readonly AreaPlan[]): void {
    const { generation: before, areas } = this.#record;
    if (generation < before) throw new CopyBehind("all areas");
    if (generation > before) return;
    for (const place of areas) {
      const plan = plans.find(({ name }) => name === place.name);
      if (plan === undefined || isBefore(placeOf(plan), place)) throw new CopyBehind(place.name);
    }
  }

  async #prepare({ generation, begin }: GenerationView, plans: readonly AreaPlan[]): Promise<void> {
    const { disk, clock, directory, historyFile } = this.#options;
    // Only forwards, and from the place on, or the files are between two states for a time.
    const isContinued = plans.every(({ name, segments }) => {
      const place = this.#recorded(name);
      return place !== undefined && (segments[0]?.number ?? 0) <= place.segment;
    });
    if (this.#record.phase === "waiting" || !isContinued)
      await this.#write({ phase: "fetching", directory: begin.directory, format: begin.format });
    if (this.#knownGeneration !== generation) this.forget();
    this.#knownGeneration = generation;
    for (const { name } of plans) {
      if (this.#areas.has(name)) continue;
      await disk.mkdir(`${directory}/${name}`);
      const onBytes = (bytes: number): void => this.#progress?.add(bytes);
      this.#areas.set(name, new FollowedArea({ disk, clock, directory: `${directory}/${name}`, historyFile, onBytes }));
    }
    await disk.syncDirectory(directory);
  }

  async #fetchPlans(store: ObjectStore, view: GenerationView, plans: readonly AreaPlan[]): Promise<void> {
    const bytes = plans.flatMap(objectsOf).reduce((sum, object) => sum + object.bytes, 0);
    this.#progress = new ByteProgress("files", bytes, this.#generation === 0 ? this.#options.onBytes : undefined);
    const replacing = async (): Promise<void> => {
      if (this.#record.phase === "following") await this.#write({ phase: "fetching" });
    };
    const areas = plans.map((plan) => [this.#areas.get(plan.name) as FollowedArea, plan] as const);
    for (const [area, plan] of areas) area.expect(plan);
    for (const [area, plan] of areas) await area.fetchSegments(store, plan, replacing);
    const { generation, begin } = view;
    const places = plans.map((plan) => {
      const before = this.#record.generation === generation ? this.#recorded(plan.name)?.completeToMs : undefined;
      // A part may have proven more than the objects that replaced it.
      return { name: plan.name, ...placeOf(plan), completeToMs: Math.max(plan.completeToMs, before ?? 0) };
    });
    const reached = { generation, directory: begin.directory, format: begin.format, areas: places };
    const remove = async (): Promise<void> => {
      for (const [area, plan] of areas) await area.removeOthers(plan);
    };
    if (this.#record.phase === "following") await this.#write(reached); // keeps (1)
    for (const [area, plan] of areas) await area.fetchWhole(store, plan, replacing);
    const tokens = await this.#fetchTokens(store, view);
    // A snapshot of another history of an area must not be taken for one of this.
    if (this.#record.phase === "fetching") await remove();
    await this.#write({
      ...reached,
      ...{ phase: "following", tokens, checkedAtMs: this.#options.clock.nowMs(), problem: "" },
    });
    await remove(); // keeps (2)
    this.#generation = generation;
  }

  #recorded(area: string): FollowedPlace | undefined {
    return this.#record.areas.find(({ name }) => name === area);
  }

  async #fetchTokens(store: ObjectStore, { tokens, begin }: GenerationView): Promise<FollowRecord["tokens"]> {
    const { disk, directory, key } = this.#options;
    const newest = tokens.at(-1)?.object;
    if (newest === undefined) return "none";
    if (key === undefined) return "no key";
    if (newest.name === this.#tokensObject) return "restored";
    const ranges: Buffer[] = [];
    await fetchObject(store, newest, (range) => void ranges.push(range));
    const bytes = key.open(Buffer.concat(ranges), begin.directory);
    if (bytes === undefined)
      throw new UnusableCopy("its tokens were sealed with another key: set the same LARDER_REPLICATE_KEY");
    const path = `${directory}/${TOKENS_FILE}`;
    if ((await readFileIfThere(disk, path))?.equals(bytes) !== true)
      await writeFileDurably(path, bytes, { mode: TOKENS_MODE, disk });
    this.#tokensObject = newest.name;
    return "restored";
  }

  async #write(changes: Partial<FollowRecord>): Promise<void> {
    const record = { ...this.#record, ...changes };
    await writeRecord(this.#options.disk, this.#options.directory, record);
    this.#record = record;
  }
}

function placeOf({ segments }: AreaPlan): { readonly segment: number; readonly offset: number } {
  const last = segments.at(-1);
  if (last === undefined) return { segment: 1, offset: 0 };
  return last.isEnded ? { segment: last.number + 1, offset: 0 } : { segment: last.number, offset: last.end };
}

function isBefore(
  place: { readonly segment: number; readonly offset: number },
  other: { readonly segment: number; readonly offset: number },
): boolean {
  return place.segment < other.segment || (place.segment === other.segment && place.offset < other.offset);
}

/** The last part of an area that this generation has; empty: it has none. */
function lastPartOf({ generation, areas }: GenerationView, area: string): string {
  const prefix = generationPrefix(generation);
  let last = "";
  for (const { parts } of areas.get(area)?.segments.values() ?? [])
    for (const { object } of parts) if (object.name > last && object.name.startsWith(prefix)) last = object.name;
  return last;
}

function partsIn(page: readonly ListedObject[]): readonly ListedPart[] {
  return page.flatMap((object) => {
    const name = parseObjectName(object.name)?.name;
    return name?.kind === "part" ? [{ object, name }] : [];
  });
}

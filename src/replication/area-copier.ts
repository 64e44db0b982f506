/**
 * Copies the files of one area into one generation of a copy.
 *
 *     journal   | closed segment | closed segment | open segment        |
 *     copy      | object         | part part part | part part           |
 *                                  ^ one object when it is closed, beside the parts
 *
 * (1) Only bytes up to a location that the journal calls synced are copied, so no
 *     copy is ahead of what a power cut leaves.
 * (2) Parts follow each other without a gap, and end with a synced location. The
 *     time of a part is that of the location: everything that was durable then ends
 *     with it. Times ascend.
 * (3) A segment's part is stored after all parts of the segments before it, and a
 *     closed segment as one object after its parts. If its parts are large, it stays
 *     in them: one object more would save few requests, and send all bytes again.
 * (4) If the server removed segments that were not copied, the snapshot that covers
 *     them is stored first, and the copy continues after it. The moments between are
 *     lost, and are reported.
 */
import { assert } from "../kernel/assert.ts";
import { type AreaFiles, listAreaFiles } from "../persistence/area-files.ts";
import type { Disk } from "../persistence/disk/disk.ts";
import { MissingData } from "../persistence/errors.ts";
import type { FileKind, SyncedLocation } from "../persistence/journal/file-format.ts";
import { contentOfFile, type LocalFile, openLocalFile, sumOfFile } from "./local-file.ts";
import { type CopyName, type NameOf, objectName, parseObjectName } from "./names.ts";
import { printNote, type SegmentTime, type TickedArea } from "./notes.ts";
import { contentOf, type ListedObject, type ObjectContent } from "./objects/object-store.ts";

/** A synced location of a journal, with the wall-clock time of the server at which it was the newest one. */
export interface SyncedAt extends SyncedLocation {
  readonly atMs: number;
}

export interface AreaCopierOptions {
  readonly disk: Disk;
  /** The directory of the area. */
  readonly directory: string;
  readonly area: string;
  readonly generation: number;
  /** A closed segment whose parts have so many bytes on average is not stored as one object. */
  readonly largePartBytes: number;
  /** Resolves when the object is stored. Rejects when the copying ends, or with the error of `content`. */
  put(name: string, content: ObjectContent): Promise<void>;
}

/** Moments that cannot be restored, because the copy was behind when the server removed segments. */
export interface LostMoments {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Closed segments that wait to be stored as one object. If there are more, they remain in parts. */
const CLOSED_COUNT_MAX = 4;

/** Lost moments that are reported. `verifyCopy` finds all. */
const LOST_COUNT_MAX = 100;

interface ClosedSegment extends LocalFile {
  readonly times: readonly SegmentTime[];
}

export class AreaCopier {
  /** The last ones, the newest at the end. */
  readonly lost: LostMoments[] = [];
  readonly #options: AreaCopierOptions;
  #completeToMs = 0;
  /** The place of the next byte to be copied. */
  #segment = 0;
  #offset = 0;
  /** The place after the last byte that was copied: another one when segments were removed. */
  #place = { segment: 0, offset: 0 };
  /** The file of that segment, and the ends of its parts. */
  #current: LocalFile | undefined;
  #times: SegmentTime[] = [];
  /** With those of earlier generations, which have one end together. */
  #partCount = 0;
  /**
   * A part, or the times of a segment without parts, that may be stored although its call has failed. It is stored with the same
   * name again, or its moments would have two states.
   */
  #begun: { readonly end: number; readonly sha256: string; readonly name: NameOf<"part"> } | undefined;
  #begunWhole: readonly SegmentTime[] | undefined;
  #closed: ClosedSegment[] = [];
  #existing: Pick<TickedArea, "segments" | "segmentsFrom"> = { segments: [], segmentsFrom: 0 };
  /** The files before the next location, if segments were removed that are not copied (4). */
  #listed: AreaFiles | undefined;
  /** Objects of this generation that are stored, and those of earlier ones that are the same. */
  readonly #names = new Map<string, string>();

  constructor(options: AreaCopierOptions) {
    this.#options = options;
  }

  /** Everything that was durable at this time is in the copy; 0: nothing is known. */
  get completeToMs(): number {
    return this.#completeToMs;
  }

  /** The place after the last byte that was copied. */
  get place(): { readonly segment: number; readonly offset: number } {
    return this.#place;
  }

  /** Whether everything before a location is copied. */
  has({ segment, offset }: { readonly segment: number; readonly offset: number }): boolean {
    return this.#segment > segment || (this.#segment === segment && this.#offset >= offset);
  }

  /**
   * Copies all existing files, up to the synced location that `locate` reports. Objects of earlier generations that have the
   * same bytes are taken instead, and returned. `copyHistory` copies the log of messages: all segments that existed before are
   * copied after it.
   */
  async begin(
    locate: () => Promise<SyncedAt>,
    earlier: readonly ListedObject[],
    copyHistory: () => Promise<void>,
  ): Promise<readonly ListedObject[]> {
    const same = new SameObjects(this.#options.area, earlier);
    for (;;) {
      // Before the location: the state there needs no segment that was removed before.
      const { snapshots, segments } = await this.#files();
      await copyHistory();
      const at = await locate();
      const closed = segments.filter((number) => number < at.segment);
      for (let number = segments.at(-1) ?? 0; number > 0 && number < at.segment; number += 1) closed.push(number);
      const snapshot = snapshots.findLast((number) => number <= at.segment);
      const isThere = snapshot === undefined || (await this.#copyWhole("snapshot", snapshot, at.atMs, same));
      if (!isThere || !(await this.#copyClosed(closed, at, same))) continue;
      await this.#leave();
      this.#segment = at.segment;
      this.#offset = 0;
      await this.#takeParts(at, same);
      await this.copyTo(at);
      if (this.has(at)) return same.taken;
    }
  }

  /** False if the server has removed one meanwhile: a newer snapshot exists, or an engine does not need it any more. */
  async #copyClosed(numbers: readonly number[], at: SyncedAt, same: SameObjects): Promise<boolean> {
    for (const number of new Set(numbers)) if (!(await this.#copyWhole("segment", number, at.atMs, same))) return false;
    return true;
  }

  /** Takes the parts of an earlier generation that have the bytes of the open segment. */
  async #takeParts(at: SyncedAt, same: SameObjects): Promise<void> {
    const file = await this.#open();
    if (file === undefined) return;
    for (const { object, name } of same.partsOf(file)) {
      const end = name.start + object.bytes;
      if (name.start !== this.#offset || end > at.offset || name.isLast) continue;
      if ((await sumOfFile(file, name.start, end)).sum !== name.sum) continue;
      same.take(object);
      this.#offset = end;
      this.#partCount += 1;
    }
    if (this.#offset > 0) this.#times.push({ end: this.#offset, timeMs: at.atMs });
    this.#place = { segment: this.#segment, offset: this.#offset };
  }

  /** Whether the segments of this area have the bytes of these parts and segments of a copy, so that they are its past. */
  async holds(objects: readonly ListedObject[]): Promise<boolean> {
    const { disk } = this.#options;
    for (const { name: text, bytes } of objects) {
      const name = parseObjectName(text)?.name;
      if (name?.kind !== "part" && name?.kind !== "segment") return false;
      const file = await openLocalFile(disk, this.#options, { kind: "segment", number: name.number });
      if (file === undefined) return false;
      try {
        const start = name.kind === "part" ? name.start : 0;
        const isThere = file.salt === name.salt && (await file.file.size()) >= start + bytes;
        if (!isThere || (await sumOfFile(file, start, start + bytes)).sum !== name.sum) return false;
      } finally {
        await file.file.close();
      }
    }
    return true;
  }

  /**
   * Copies what is missing before a synced location. Not all of it (`has`) if the server has removed segments: then another call
   * with a later location continues. Rejects as `put`, or with the error of a file. keeps (1), (2), (3)
   */
  async copyTo(at: SyncedAt): Promise<void> {
    const atMs = Math.max(at.atMs, this.#completeToMs, this.#begun?.name.timeMs ?? 0, this.#times.at(-1)?.timeMs ?? 0);
    while (!this.has(at)) {
      const current = await this.#open();
      if (current === undefined) {
        if (!(await this.#passRemoved(at, atMs))) return;
        continue;
      }
      const isClosed = current.number < at.segment;
      const end = isClosed ? await current.file.size() : at.offset;
      let isDone = isClosed;
      if (isClosed && this.#offset === 0 && this.#begun === undefined) {
        this.#begunWhole ??= [{ end, timeMs: atMs }];
        await this.#putClosed({ ...current, times: this.#begunWhole });
        this.#begunWhole = undefined;
        await this.#leave();
      } else {
        isDone = await this.#putPart(current, { end, atMs, isLast: isClosed });
        if (isDone) await this.#close(current);
      }
      if (isDone) {
        this.#segment += 1;
        this.#offset = 0;
      }
      this.#place = { segment: this.#segment, offset: this.#offset };
    }
    this.#completeToMs = atMs;
  }

  /** True if the segment ends with the part. One that was begun before is completed first. */
  async #putPart(
    file: LocalFile,
    { end, atMs, isLast }: { end: number; atMs: number; isLast: boolean },
  ): Promise<boolean> {
    const { area } = this.#options;
    const { number, salt } = file;
    const start = this.#offset;
    assert(end > start, "a part has bytes");
    if (this.#begun === undefined) {
      const { sha256, sum } = await sumOfFile(file, start, end);
      this.#begun = { end, sha256, name: { kind: "part", area, number, salt, start, timeMs: atMs, sum, isLast } };
    }
    const begun = this.#begun;
    await this.#put(begun.name, contentOfFile(file, { start, ...begun }));
    this.#begun = undefined;
    this.#offset = begun.end;
    this.#times.push({ end: begun.end, timeMs: begun.name.timeMs });
    this.#partCount += 1;
    return begun.name.isLast;
  }

  /** The segment has all its parts. */
  async #close(current: LocalFile): Promise<void> {
    // keeps (3)
    if (this.#offset >= this.#partCount * this.#options.largePartBytes) return this.#leave();
    this.#closed.push({ ...current, times: this.#times });
    this.#current = undefined;
    this.#times = [];
    this.#partCount = 0;
    if (this.#closed.length > CLOSED_COUNT_MAX) await this.#closed.shift()?.file.close();
  }

  async #leave(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    this.#times = [];
    this.#partCount = 0;
    await current?.file.close();
  }

  /**
   * keeps (4). False if another location is needed: the files are listed before it, so that the state there needs no segment
   * that was removed before. Segments that the snapshot covers and that still exist are copied too.
   */
  async #passRemoved(at: SyncedAt, atMs: number): Promise<boolean> {
    const files = this.#listed;
    this.#listed = undefined;
    if (files === undefined) {
      this.#listed = await this.#files();
      return false;
    }
    const snapshot = files.snapshots.at(-1) ?? 0;
    if (snapshot <= this.#segment) {
      const { directory } = this.#options;
      throw new MissingData(`${directory}: segment ${this.#segment}`, "it is not copied, and no snapshot covers it");
    }
    if (snapshot > at.segment || !(await this.#copyWhole("snapshot", snapshot, atMs))) return false;
    for (const number of files.segments) {
      if (number <= this.#segment || number >= snapshot) continue;
      if (!(await this.#copyWhole("segment", number, atMs))) return false;
    }
    if (this.#completeToMs > 0) this.lost.push({ fromMs: this.#completeToMs, toMs: atMs });
    if (this.lost.length > LOST_COUNT_MAX) this.lost.shift();
    this.#segment = snapshot;
    this.#offset = 0;
    return true;
  }

  /**
   * Copies the newest snapshot, and segments that were closed since the last call as one object each. Rejects as `copyTo`;
   * another call continues.
   */
  async copyFiles(): Promise<void> {
    const { snapshots } = await this.#files();
    const snapshot = snapshots.at(-1);
    if (snapshot !== undefined && snapshot <= this.#segment)
      await this.#copyWhole("snapshot", snapshot, this.#completeToMs);
    for (let closed = this.#closed[0]; closed !== undefined; closed = this.#closed[0]) {
      await this.#putClosed(closed);
      const isStillFirst = this.#closed[0] === closed;
      if (!isStillFirst) continue;
      this.#closed.shift();
      await closed.file.close();
    }
  }

  /**
   * What is complete now. The segments are listed before the location: none that was removed before is needed by the state at
   * the location, or by a later one.
   */
  async prove(locate: () => Promise<SyncedAt>): Promise<TickedArea> {
    const { segments } = await this.#files();
    const at = await locate();
    if (this.has(at)) {
      this.#completeToMs = Math.max(at.atMs, this.#completeToMs);
      this.#existing = { segments, segmentsFrom: at.segment };
    }
    return { name: this.#options.area, completeToMs: this.#completeToMs, ...this.#place, ...this.#existing };
  }

  async closeFiles(): Promise<void> {
    await this.#leave();
    for (const { file } of this.#closed.splice(0)) await file.close();
  }

  async #putClosed(file: ClosedSegment): Promise<void> {
    const { area } = this.#options;
    const { number, salt, times } = file;
    const { end, timeMs } = times.at(-1) as SegmentTime;
    await this.#put({ kind: "times", area, number, salt }, contentOf(printNote({ times })));
    const { sha256, sum } = await sumOfFile(file, 0, end);
    const content = contentOfFile(file, { start: 0, end, sha256 });
    await this.#put({ kind: "segment", area, number, salt, timeMs, sum }, content);
  }

  /** Stores a closed file, unless that has happened, or `same` has it. False if it does not exist. */
  async #copyWhole(kind: FileKind, number: number, atMs: number, same?: SameObjects): Promise<boolean> {
    const { disk, area } = this.#options;
    const file = await openLocalFile(disk, this.#options, { kind, number });
    if (file === undefined) return false;
    try {
      const { salt } = file;
      const key = `${kind} ${number} ${salt}`;
      if (this.#names.has(key)) return true;
      const end = await file.file.size();
      if (kind === "segment" && (await this.#takeAllParts(file, end, same))) return true;
      const { sha256, sum } = await sumOfFile(file, 0, end);
      const taken = same?.find(kind, { number, salt, sum, bytes: end });
      const name: CopyName =
        kind === "segment" ? { kind, area, number, salt, timeMs: atMs, sum } : { kind, area, number, salt, sum };
      if (taken !== undefined) same?.take(taken);
      else await this.#put(name, contentOfFile(file, { start: 0, end, sha256 }));
      this.#names.set(key, sum);
      return true;
    } finally {
      await file.file.close();
    }
  }

  /** Takes the parts that a closed segment stayed in. False if others are needed, or one object. */
  async #takeAllParts(file: LocalFile, end: number, same: SameObjects | undefined): Promise<boolean> {
    const parts: { readonly object: ListedObject; readonly start: number; readonly sum: string }[] = [];
    let offset = 0;
    for (const { object, name } of same?.partsOf(file) ?? []) {
      const { start, sum, isLast } = name;
      const isNext = start === offset && start + object.bytes <= end && isLast === (start + object.bytes === end);
      if (!isNext) continue;
      parts.push({ object, start, sum });
      offset += object.bytes;
    }
    if (end === 0 || offset !== end || end < parts.length * this.#options.largePartBytes) return false;
    for (const { object, start, sum } of parts)
      if ((await sumOfFile(file, start, start + object.bytes)).sum !== sum) return false;
    for (const { object } of parts) same?.take(object);
    return true;
  }

  #put(name: CopyName, content: ObjectContent): Promise<void> {
    return this.#options.put(objectName(this.#options.generation, name), content);
  }

  /** The file of the segment that is copied; undefined if the server has removed it. */
  async #open(): Promise<LocalFile | undefined> {
    const number = this.#segment;
    this.#current ??= await openLocalFile(this.#options.disk, this.#options, { kind: "segment", number });
    return this.#current;
  }

  #files(): ReturnType<typeof listAreaFiles> {
    return listAreaFiles(this.#options.disk, this.#options.directory);
  }
}

/** Objects of earlier generations, and which of them are taken. */
class SameObjects {
  readonly #objects: readonly { readonly object: ListedObject; readonly name: CopyName }[];
  readonly #taken = new Map<string, ListedObject>();

  constructor(area: string, earlier: readonly ListedObject[]) {
    this.#objects = earlier.flatMap((object) => {
      const name = parseObjectName(object.name)?.name;
      return name !== undefined && "area" in name && name.area === area ? [{ object, name }] : [];
    });
  }

  get taken(): readonly ListedObject[] {
    return [...this.#taken.values()];
  }

  take(object: ListedObject): void {
    this.#taken.set(object.name, object);
  }

  find(
    kind: FileKind,
    { number, salt, sum, bytes }: { number: number; salt: number; sum: string; bytes: number },
  ): ListedObject | undefined {
    return this.#objects.find(
      ({ name, object }) =>
        name.kind === kind &&
        name.number === number &&
        name.salt === salt &&
        name.sum === sum &&
        object.bytes === bytes,
    )?.object;
  }

  partsOf({ number, salt }: LocalFile): readonly { readonly object: ListedObject; readonly name: NameOf<"part"> }[] {
    const parts = this.#objects.flatMap(({ object, name }) =>
      name.kind === "part" && name.number === number && name.salt === salt ? [{ object, name }] : [],
    );
    return parts.sort((a, b) => a.name.start - b.name.start || b.object.bytes - a.object.bytes);
  }
}

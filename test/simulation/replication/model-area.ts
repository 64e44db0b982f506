/**
 * A server's area for simulations of copies: keys with values on a real journal. Its
 * states are known by position, so a restored area is compared with all of them.
 *
 * A value of an area with bodies is read from its segment: such an area retains covered
 * segments.
 */
import assert from "node:assert/strict";
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { type Random, seededRandom } from "../../../src/kernel/random.ts";
import { segmentPath } from "../../../src/persistence/area-files.ts";
import { type AreaStorage, openAreaStorage } from "../../../src/persistence/area-storage.ts";
import { type Disk, readFully, withFile } from "../../../src/persistence/disk/disk.ts";
import type { JournalLocation, SyncedLocation } from "../../../src/persistence/journal/file-format.ts";
import type { FsyncMode } from "../../../src/persistence/journal/journal.ts";
import { writeSnapshot } from "../../../src/persistence/snapshot.ts";

interface Value {
  readonly text: string;
  /** The frame that has it. */
  location: JournalLocation | undefined;
}

const KEY_COUNT = 6;
/** `key=text`, and in a snapshot `key=text@segment:offset`. */
const FRAME = /^(\w+)=([^@]*)(?:@(\d+):(\d+))?$/;

/** The state of an area. */
export class ModelState {
  readonly values = new Map<string, Value>();

  replay(frame: Buffer, location: JournalLocation | undefined): void {
    const [, key = "", text = "", segment, offset] = FRAME.exec(frame.toString("latin1")) ?? [];
    const own = segment === undefined ? undefined : { segment: Number(segment), offset: Number(offset) };
    this.values.set(key, { text, location: location === undefined ? own : { ...location } });
  }

  *dump(): Iterable<Uint8Array> {
    for (const [key, { text, location }] of this.values) {
      const place = location === undefined ? "" : `@${location.segment}:${location.offset}`;
      yield Buffer.from(`${key}=${text}${place}`, "latin1");
    }
  }

  neededSegments(): Set<number> {
    return new Set([...this.values.values()].flatMap(({ location }) => (location ? [location.segment] : [])));
  }

  get text(): string {
    return [...this.values]
      .map(([key, { text }]) => `${key}=${text}`)
      .sort()
      .join(" ");
  }
}

export interface ModelAreaOptions {
  readonly name: string;
  readonly hasBodies: boolean;
  readonly disk: Disk;
  readonly directory: string;
  readonly clock: VirtualClock;
  readonly seed: number;
  readonly mode: FsyncMode;
  readonly segmentBytesMax: number;
  /** The texts of the life before. */
  readonly known: ReadonlyMap<number, string>;
  moved(location: SyncedLocation): void;
  failed(error: unknown): void;
}

export class ModelArea {
  readonly name: string;
  /** The text of the state after each position, as far as this life knows it. */
  readonly texts: Map<number, string>;
  /** When which position was durable. */
  readonly synced: { readonly atMs: number; readonly position: number }[] = [];
  readonly #options: ModelAreaOptions;
  readonly #random: Random;
  readonly #state = new ModelState();
  readonly #unplaced = new Map<number, { value: Value; offset: number }>();
  #storage: AreaStorage | undefined;
  #count = 0;
  #isSnapshotting = false;

  constructor(options: ModelAreaOptions) {
    this.#options = options;
    this.name = options.name;
    this.texts = new Map(options.known);
    this.#random = seededRandom(options.seed);
  }

  /** Recovers, and compares with what the life before knew. */
  async start(): Promise<void> {
    const { disk, directory, clock, mode, segmentBytesMax, hasBodies, name: area, failed } = this.#options;
    const storage = await openAreaStorage({
      ...{ disk, directory, area, clock, mode, segmentBytesMax, log: silentLog, reserveBytes: 0, onFatal: failed },
      random: this.#random,
      apply: (frame, location) => this.#state.replay(frame, hasBodies ? location : undefined),
      onBatchWritten: (batch) => {
        for (let position = batch.start + 1; position <= batch.end; position += 1) {
          const placed = this.#unplaced.get(position);
          if (placed !== undefined && hasBodies)
            placed.value.location = { segment: batch.segment, offset: batch.offset + placed.offset };
          this.#unplaced.delete(position);
        }
      },
      onSyncedLocation: (location) => {
        this.#noteSynced(location);
        this.#options.moved(location);
      },
      ...(hasBodies && { mayRemove: (segment: number) => this.#mayRemove(segment) }),
    });
    this.#storage = storage;
    const { end } = storage.journal;
    for (const position of [...this.texts.keys()]) if (position > end) this.texts.delete(position);
    assert.equal(
      this.#state.text,
      this.texts.get(end) ?? (end === 0 ? "" : undefined),
      `${area} recovers position ${end}`,
    );
    this.texts.set(end, this.#state.text);
    this.#noteSynced(storage.journal.syncedLocation);
  }

  get storage(): AreaStorage {
    assert(this.#storage !== undefined, "the area is open");
    return this.#storage;
  }

  get location(): SyncedLocation {
    return this.storage.journal.syncedLocation;
  }

  ask(): void {
    const { journal } = this.storage;
    if (journal.refusal !== undefined) return;
    const key = `k${this.#random.below(KEY_COUNT)}`;
    this.#count += 1;
    const text = `${this.#options.seed}-${this.#count}-${"x".repeat(this.#random.below(60))}`;
    const value: Value = { text, location: undefined };
    const position = journal.append(Buffer.from(`${key}=${text}`, "latin1"));
    this.#unplaced.set(position, { value, offset: journal.appendedOffset });
    this.#state.values.set(key, value);
    this.texts.set(position, this.#state.text);
  }

  /** The work of a snapshot. Rejects with the disk's errors. */
  async snapshot(): Promise<boolean> {
    if (this.#isSnapshotting) return false;
    this.#isSnapshotting = true;
    try {
      const { disk, directory, name: area, hasBodies } = this.#options;
      await this.storage.closeSegment();
      const state = new ModelState();
      const engine = {
        replay: (frame: Buffer, location: JournalLocation | undefined) =>
          state.replay(frame, hasBodies ? location : undefined),
        dump: () => state.dump(),
      };
      await writeSnapshot({ disk, directory, area, engine, random: this.#random });
      return await this.storage.adoptSnapshot();
    } finally {
      this.#isSnapshotting = false;
    }
  }

  /** Everything up to this position was durable at a time. */
  syncedAt(atMs: number): number {
    return this.synced.findLast((note) => note.atMs <= atMs)?.position ?? -1;
  }

  /** Everything up to this position was durable before a time. */
  syncedBefore(atMs: number): number {
    return this.synced.findLast((note) => note.atMs < atMs)?.position ?? -1;
  }

  #mayRemove(segment: number): boolean {
    return this.#unplaced.size === 0 && !this.#state.neededSegments().has(segment);
  }

  #noteSynced({ position }: SyncedLocation): void {
    this.synced.push({ atMs: this.#options.clock.nowMs(), position });
  }
}

/** Reads the values of a state from the segments in a directory. Throws if one is not there. */
export async function assertBodies(disk: Disk, directory: string, state: ModelState): Promise<void> {
  for (const [key, { text, location }] of state.values) {
    assert(location !== undefined, `the place of ${key} is known`);
    const expected = `${key}=${text}`;
    const bytes = Buffer.alloc(expected.length);
    await withFile(await disk.open(segmentPath(directory, location.segment), "read"), (file) =>
      readFully(file, bytes, location.offset),
    );
    assert.equal(bytes.toString("latin1"), expected);
  }
}

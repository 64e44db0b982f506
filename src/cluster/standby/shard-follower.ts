/**
 * Keeps the files of a shard that another node owns, so that a takeover by this
 * node reads little from the log store: the latest snapshot, and the segments that
 * have ended, each fetched once.
 *
 * (1) It decides nothing and proves nothing. What it has is a cache as that of a
 *     former owner, with the same notes, and a claim compares all of it with the
 *     store (shipped/open-shard.ts).
 * (2) It takes what cannot change any more: segments before the last one, when
 *     the present owner has begun a segment of its own. Until then a new owner may
 *     cut off a torn batch, or add an end mark.
 * (3) Nothing is begun that the disk has no room for, and an unfinished file is
 *     removed when its fetch has failed. When the disk becomes full, everything is
 *     removed: others need the space, and this node only might.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { listAreaFiles, segmentPath } from "../../persistence/area-files.ts";
import type { Disk } from "../../persistence/disk/disk.ts";
import { FILE_HEADER_BYTES, type SyncedLocation } from "../../persistence/journal/file-format.ts";
import type { LogStore, SegmentView, ShardHead, SnapshotPointer } from "../log-store/log-store.ts";
import type { ObjectStores } from "../objects/objects.ts";
import { CacheNotes } from "../shipped/cache-notes.ts";
import { DamagedLog } from "../shipped/errors.ts";
import { type FetchOptions, fetchSegment, fetchSnapshot, readHeader, removeIfThere } from "../shipped/fetch.ts";
import { removeStrangers } from "../shipped/open-shard.ts";

export interface ShardFollowerOptions {
  /** The directory of the shard, which exists, and which nothing else uses meanwhile. */
  readonly local: Disk;
  readonly directory: string;
  /** The area's name, as the shard's files state it. */
  readonly area: string;
  readonly shard: number;
  /** The id of the database's branch. */
  readonly branch: string;
  readonly store: Pick<LogStore, "segments" | "read" | "readSnapshotPart">;
  /** For snapshots that are objects. */
  readonly objects: ObjectStores;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Log;
  /** Whether the disk has room for a file of so many bytes. */
  hasRoom(bytes: number): Promise<boolean>;
  /** Whether the disk is nearly full. Then it has room for no file. */
  isFull(): Promise<boolean>;
  /**
   * Called when all segments that have ended are here: with the end of the last one, and the number of the segment after
   * it.
   */
  ended?(place: SyncedLocation, next: number): void;
}

/** What the store has of a shard and this node lacks. */
export interface Missing {
  /** Of the snapshot and of all segments. */
  readonly bytes: number;
  /** How long something has been missing. */
  readonly ms: number;
}

/** The disk has no room for the next file. */
export class NoRoom extends Error {
  override name = "NoRoom";
}

class Closed extends Error {
  override name = "Closed";
}

export class ShardFollower {
  readonly #options: ShardFollowerOptions;
  readonly #notes: CacheNotes;
  /** The head whose ended segments and snapshot are all here. */
  #done: ShardHead | undefined;
  #missingBytes = 0;
  /** By the monotonic clock: when nothing was missing. */
  #completeMs: number;
  #following: Promise<void> | undefined;
  #isClosing = false;

  private constructor(options: ShardFollowerOptions, notes: CacheNotes) {
    this.#options = options;
    this.#notes = notes;
    this.#completeMs = options.clock.monotonicMs();
  }

  static async open(options: ShardFollowerOptions): Promise<ShardFollower> {
    return new ShardFollower(options, await CacheNotes.read(options));
  }

  get missing(): Missing {
    const ms = this.#missingBytes === 0 ? 0 : this.#options.clock.monotonicMs() - this.#completeMs;
    return { bytes: this.#missingBytes, ms };
  }

  /**
   * Fetches what `head` has and this node lacks. One call at a time. Resolves early if `close` is called meanwhile.
   * Rejects with `NoRoom`, with `DamagedLog` if the owner has changed the log meanwhile or it is damaged, or with the error
   * of the store or of the disk; another call then goes on.
   */
  async follow(head: ShardHead): Promise<void> {
    if (this.#isClosing) return;
    this.#following = this.#followWithRoom(head);
    try {
      await this.#following;
    } catch (error) {
      if (error instanceof Closed) return;
      await this.#removeDrafts(); // keeps (3)
      throw error;
    } finally {
      this.#following = undefined;
    }
  }

  /** Resolves when nothing is written to the directory any more. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#following?.catch(() => undefined); // The caller of `follow` receives the error.
    await this.#notes.settled();
  }

  async #followWithRoom(head: ShardHead): Promise<void> {
    if (await this.#options.isFull()) {
      await this.#removeAll();
      throw new NoRoom("The disk is nearly full");
    }
    if (this.#done !== undefined && isSame(head, this.#done)) this.#measure(head.lastBytes);
    else await this.#follow(head);
  }

  async #follow(head: ShardHead): Promise<void> {
    const { store, shard, local, directory } = this.#options;
    const { snapshot } = head;
    const views = await this.#ask(() => store.segments(shard));
    const open = views.at(-1);
    const ended = views.slice(0, -1);
    this.#measureAll(views, snapshot);
    if (open === undefined || open.epoch !== head.epoch) return; // keeps (2)
    await removeStrangers({ local, directory, snapshot }, { notes: this.#notes, views });
    const { segments } = await listAreaFiles(local, directory);
    if (snapshot !== undefined && this.#notes.snapshot === undefined) {
      await this.#needRoom(snapshot.bytes);
      await fetchSnapshot(this.#fetch, snapshot);
      this.#notes.noteSnapshot(snapshot);
      await this.#notes.settled();
      this.#measureAll(views, snapshot);
    }
    for (const view of ended) {
      if (segments.includes(view.segment) && this.#isNoted(view)) continue;
      await this.#fetchEnded(view);
      this.#measureAll(views, snapshot);
    }
    this.#done = head;
    this.#measure(open.bytes);
    await this.#reportEnd(ended.at(-1), open.segment);
  }

  async #fetchEnded(view: SegmentView): Promise<void> {
    const { local, directory, shard } = this.#options;
    const { segment: number, epoch, bytes } = view;
    this.#notes.forgetSegment(number);
    await removeIfThere(local, segmentPath(directory, number));
    await this.#needRoom(bytes);
    const { header, isEnded } = await fetchSegment(this.#fetch, view);
    // Its owner sends again what the store has lost, so it may be whole the next time.
    if (!isEnded) throw new DamagedLog(shard, `segment ${number} has no end, and another one follows it`);
    this.#notes.noteSegment({ number, epoch, salt: header.salt, bytes });
    await this.#notes.settled();
  }

  async #reportEnd(last: SegmentView | undefined, next: number): Promise<void> {
    if (last === undefined || this.#options.ended === undefined) return;
    const { position } = await readHeader(this.#fetch, next);
    this.#options.ended({ segment: last.segment, offset: last.bytes, position }, next);
  }

  #isNoted({ segment, epoch, bytes }: SegmentView): boolean {
    const noted = this.#notes.segment(segment);
    return noted?.epoch === epoch && noted.bytes === bytes;
  }

  #measureAll(views: readonly SegmentView[], snapshot: SnapshotPointer | undefined): void {
    const segments = views.filter((view) => !this.#isNoted(view)).map(({ bytes }) => bytes);
    const noted = this.#notes.snapshot;
    const isHere = noted?.number === snapshot?.number && noted?.epoch === snapshot?.epoch;
    this.#measure(segments.reduce((sum, bytes) => sum + bytes, isHere ? 0 : (snapshot?.bytes ?? 0)));
  }

  /** A segment that was begun, with nothing in it, is nothing that a takeover would wait for. */
  #measure(bytes: number): void {
    this.#missingBytes = bytes <= FILE_HEADER_BYTES ? 0 : bytes;
    if (this.#missingBytes === 0) this.#completeMs = this.#options.clock.monotonicMs();
  }

  async #needRoom(bytes: number): Promise<void> {
    if (!(await this.#options.hasRoom(bytes))) throw new NoRoom(`The disk has no room for ${bytes} bytes`);
  }

  /** keeps (3). The next call of `follow` finds that everything is missing. */
  async #removeAll(): Promise<void> {
    const { local, directory } = this.#options;
    this.#done = undefined;
    await removeStrangers({ local, directory, snapshot: undefined }, { notes: this.#notes, views: [] });
  }

  async #removeDrafts(): Promise<void> {
    const { local, directory } = this.#options;
    const { unfinished } = await listAreaFiles(local, directory);
    for (const name of unfinished) await removeIfThere(local, `${directory}/${name}`);
  }

  get #fetch(): FetchOptions {
    const { local, directory, area, store, shard, objects: stores } = this.#options;
    return {
      ...{ local, directory, area, store, shard },
      statements: { run: (statement) => this.#ask(statement) },
      objects: { stores, patiently: (call) => this.#ask(call) },
    };
  }

  /** Nothing is repeated here: the next call of `follow` is. */
  #ask<Result>(statement: () => Promise<Result>): Promise<Result> {
    return this.#isClosing ? Promise.reject(new Closed()) : statement();
  }
}

/** Whether two heads have the same ended segments and the same snapshot. */
function isSame(a: ShardHead, b: ShardHead): boolean {
  return (
    a.epoch === b.epoch &&
    a.firstSegment === b.firstSegment &&
    a.lastSegment === b.lastSegment &&
    a.snapshot?.epoch === b.snapshot?.epoch &&
    a.snapshot?.number === b.snapshot?.number
  );
}

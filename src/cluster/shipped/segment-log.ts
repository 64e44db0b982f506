/**
 * Ships the bytes of a shard's segments to the log store.
 *
 * (1) A row has what one sync covers, or ROW_BYTES_MAX bytes of it. Only the last
 *     row of a sync is shorter, and it ends with a whole write, so a segment that
 *     ends in the middle of a frame ends with a row of ROW_BYTES_MAX bytes, and
 *     nobody was promised a frame in it.
 * (2) Rows of a segment follow each other without a gap. Each names the start of
 *     the one before it, so a row is never there without those before it.
 * (3) One row is under way at a time (statements.ts).
 * (4) What the store has lost although it had acknowledged it is sent again, from
 *     the files and under the same epoch, before anything else.
 * (5) What was sent again can be lost again, and rows that were committed before it
 *     are then still there, so that the next append looks whole. The first row that is
 *     sent after it is followed by a look at everything that the store should have.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { segmentPath } from "../../persistence/area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully, withFile } from "../../persistence/disk/disk.ts";
import { DamagedData } from "../../persistence/errors.ts";
import type { AppendOutcome, LogRow, LogStore, SegmentView, ShardEpoch } from "../log-store/log-store.ts";
import { DamagedLog } from "./errors.ts";
import type { SegmentState } from "./segment-state.ts";
import type { Statements } from "./statements.ts";

export interface SegmentLogOptions {
  /** The files are here. */
  readonly local: Disk;
  readonly directory: string;
  readonly store: LogStore;
  readonly statements: Statements;
  readonly owner: ShardEpoch;
  readonly rowBytesMax: number;
  readonly log: Log;
  /** All segments of this shard that are local. */
  readonly states: ReadonlyMap<number, SegmentState>;
  /** Ends this owner, and returns the error for its callers. */
  deposed(): Error;
  /** The first segment that the latest snapshot does not cover; 1 without a snapshot. */
  snapshotNumber(): number;
  /** Makes sure that the store has the latest snapshot. */
  healSnapshot(): Promise<void>;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Called with the time of each append, from when it was first sent until it is proven, in ms. */
  onCommitted(tookMs: number): void;
}

/**
 * The bytes of all rows but the last one of a sync. It never changes: rows of earlier versions must keep (1) of
 * `SegmentLog`.
 */
export const ROW_BYTES_MAX = 8 * 1024 * 1024;

/** A store that loses the same rows again and again is damaged. */
const HEALINGS_MAX = 10;

export class SegmentLog {
  readonly #options: SegmentLogOptions;
  #last: Promise<unknown> = Promise.resolve();
  /** How often (4) was needed. */
  #healCount = 0;
  #isHealing = false;
  /** Rows were sent again, and none that was sent after them has proved that they are there. */
  #isUnproven = false;

  constructor(options: SegmentLogOptions) {
    this.#options = options;
  }

  get healCount(): number {
    return this.#healCount;
  }

  /** Resolves when the store has committed all whole writes so far. `file` stays open until then. */
  ship(state: SegmentState, file: DiskFile): Promise<void> {
    const target = state.wholeBytes;
    const shipped = this.#last.then(() => this.#ship(state, file, target));
    this.#last = shipped.catch(() => undefined); // The caller receives the error.
    return shipped;
  }

  async #ship(state: SegmentState, file: DiskFile, target: number): Promise<void> {
    if (state.cutBytes !== undefined) await this.#cut(state, state.cutBytes);
    while (state.shippedBytes < target) {
      const start = state.shippedBytes;
      const end = Math.min(start + this.#options.rowBytesMax, target); // keeps (1)
      const bytes = state.recent.take(start, end) ?? (await this.#read(state, file, { start, end }));
      await this.#append(state, { segment: state.number, start, bytes });
    }
  }

  async #read(
    state: SegmentState,
    file: DiskFile,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(end - start);
    const count = await readFully(file, bytes, start);
    if (count === bytes.length) return bytes;
    const what = `${bytes.length - count} bytes are missing that were written`;
    throw new DamagedData(this.#pathOf(state), start + count, what);
  }

  async #append(state: SegmentState, row: LogRow): Promise<void> {
    const { owner, deposed, snapshotNumber, clock } = this.#options;
    const end = row.start + row.bytes.length;
    const sentMs = clock.monotonicMs();
    const provesAll = this.#isUnproven && !this.#isHealing;
    for (let healings = 0; ; healings += 1) {
      const outcome = await this.#appendOnce(state, row);
      if (outcome === "deposed") throw deposed();
      if (outcome === "committed") {
        state.lastStart = row.start;
        state.shippedBytes = end;
        this.#options.onCommitted(clock.monotonicMs() - sentMs);
        if (provesAll) await this.#proveAll(state);
        else if (row.start === 0) await this.#proveBefore(state);
        return;
      }
      // A row that is healed, and that a snapshot has covered meanwhile, is needed no more.
      if (state.number < snapshotNumber()) {
        state.shippedBytes = end;
        return;
      }
      // Another row may be there only if a cut is lost.
      if (healings === HEALINGS_MAX || (outcome === "foreign" && state.rowsCutAt === undefined)) {
        deposed();
        throw new DamagedLog(owner.shard, `segment ${row.segment} at byte ${row.start} is not what this node wrote`);
      }
      await this.#heal(state.number);
    }
  }

  async #appendOnce(state: SegmentState, row: LogRow): Promise<AppendOutcome> {
    const { store, statements, owner } = this.#options;
    const { start } = row;
    const before = start === 0 ? 0 : (state.lastStart ?? (await this.#findRowWith(state, start - 1))?.start);
    if (before === undefined) return "missing";
    return statements.run(() => store.append({ ...owner, ...row, before }));
  }

  /**
   * keeps (4): the first row of a segment names no row before it, so the store takes it if it has a part of the segment
   * before, even if the end of that is lost. Read after the commit, so both are in the same server.
   */
  async #proveBefore({ number }: SegmentState): Promise<void> {
    const before = this.#options.states.get(number - 1);
    if (before === undefined || before.shippedBytes === 0) return;
    const { lastStart } = before;
    const row = await this.#findRowWith(before, before.shippedBytes - 1, lastStart);
    const isWhole = row !== undefined && row.start + row.bytes.length === before.shippedBytes;
    if (!isWhole) await this.#heal(number);
  }

  /** keeps (5). A row that is committed after those that were sent again is lost with them. */
  async #proveAll({ number }: SegmentState): Promise<void> {
    if (await this.#hasAll(number)) this.#isUnproven = false;
    else await this.#heal(number);
  }

  /** Whether the store has the latest snapshot, and of the segments up to this one that it does not cover all that was shipped. */
  async #hasAll(lastNumber: number): Promise<boolean> {
    const { store, statements, owner, states, snapshotNumber } = this.#options;
    const { shard } = owner;
    const number = snapshotNumber();
    const [head] = await statements.run(() => store.heads([shard]));
    if ((head?.snapshot?.number ?? 1) < number) return false;
    const views = await statements.run(() => store.segments(shard));
    const bytesOf = new Map(views.map(({ segment, bytes }) => [segment, bytes]));
    // A snapshot may have been adopted meanwhile.
    const first = snapshotNumber();
    return [...states.values()].every(
      (state) =>
        state.number < first || state.number > lastNumber || (bytesOf.get(state.number) ?? 0) >= state.shippedBytes,
    );
  }

  /**
   * Removes a torn batch from the store. The part of its first row that belongs to whole frames is appended again: the
   * state that recovery has found includes them.
   */
  async #cut(state: SegmentState, bytes: number): Promise<void> {
    const { owner, rowBytesMax } = this.#options;
    const path = this.#pathOf(state);
    // What was noted was ended, so the file has changed here and not in the store.
    if (state.isKept) throw new DamagedData(path, bytes, "it was closed, and it does not end with its end mark");
    const row = await this.#findRowWith(state, bytes);
    if (row === undefined) throw new DamagedLog(owner.shard, `segment ${state.number} has no row with byte ${bytes}`);
    if (row.bytes.length !== rowBytesMax) {
      // keeps (1)
      throw new DamagedData(path, bytes, `the ${row.bytes.length} bytes from ${row.start} on were acknowledged`);
    }
    await this.#cutAt(state, row.start);
    state.cutBytes = undefined;
    state.rowsCutAt = row.start;
  }

  async #cutAt(state: SegmentState, start: number): Promise<void> {
    const { store, statements, owner, deposed } = this.#options;
    const outcome = await statements.run(() => store.cut(owner, state.number, start));
    if (outcome === "deposed") throw deposed();
    state.shippedBytes = start;
    state.lastStart = undefined;
  }

  /** keeps (4): sends what the store lacks of the segments up to this one. */
  async #heal(number: number): Promise<void> {
    const { store, statements, owner, log } = this.#options;
    const { shard } = owner;
    this.#healCount += 1;
    this.#isUnproven = true;
    log.error("PostgreSQL has lost rows that it had acknowledged: sending them again", { shard });
    const views = await statements.run(() => store.segments(shard));
    const { snapshotNumber } = this.#options;
    // If what the snapshot does not cover begins in the store, no moment needs the snapshot and lacks it.
    const needsSnapshot = (views.at(-1)?.segment ?? 0) < snapshotNumber();
    if (needsSnapshot) await this.#options.healSnapshot();
    const isInner = this.#isHealing;
    this.#isHealing = true;
    try {
      await this.#healSegments(number, views);
    } finally {
      this.#isHealing = isInner;
    }
    if (!needsSnapshot) await this.#options.healSnapshot();
  }

  async #healSegments(lastNumber: number, views: readonly SegmentView[]): Promise<void> {
    const { local, states, snapshotNumber } = this.#options;
    const bytesOf = new Map(views.map(({ segment, bytes }) => [segment, bytes]));
    const sent = [...states.values()].filter(({ number }) => number <= lastNumber);
    for (const state of sent.sort((a, b) => a.number - b.number)) {
      // A snapshot may have covered it meanwhile.
      if (state.number < snapshotNumber()) continue;
      const bytes = bytesOf.get(state.number) ?? 0;
      const target = state.shippedBytes;
      state.lastStart = undefined;
      if (state.rowsCutAt !== undefined) {
        // The cut may be lost too.
        await this.#cutAt(state, Math.min(state.rowsCutAt, bytes));
      } else if (bytes < target) {
        state.shippedBytes = bytes;
      } else {
        continue;
      }
      try {
        await withFile(await local.open(this.#pathOf(state), "read"), (file) => this.#ship(state, file, target));
      } catch (error) {
        if (codeOf(error) !== "ENOENT" || states.has(state.number)) throw error;
      }
    }
  }

  /** The row of the store that has this byte of the segment. With its start, no other row is read. */
  async #findRowWith({ number }: SegmentState, offset: number, start?: number): Promise<LogRow | undefined> {
    const { store, statements, owner, rowBytesMax } = this.#options;
    const from = start ?? Math.max(0, offset + 1 - rowBytesMax);
    const bytesMax = start === undefined ? offset + 1 - from : 1;
    const rows = await statements.run(() => store.read(owner.shard, number, from, bytesMax));
    const row = rows.at(-1);
    return row !== undefined && row.start + row.bytes.length > offset ? row : undefined;
  }

  #pathOf({ number }: SegmentState): string {
    return segmentPath(this.#options.directory, number);
  }
}

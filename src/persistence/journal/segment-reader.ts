/**
 * Reads parts of segments by location: payloads that an engine dropped from
 * memory and needs again.
 *
 * (1) A file in use is not closed before its reads have ended, even if the
 *     segment is removed or the reader is closed meanwhile.
 * (2) At most FILES_MAX files stay open, apart from files that reads still use.
 */
import { faultFields, type Log } from "../../kernel/log.ts";
import { segmentPath } from "../area-files.ts";
import { codeOf, type Disk, type DiskFile, readFully } from "../disk/disk.ts";
import { DamagedData } from "../errors.ts";

/** The segment was removed, or the area was closed. */
export class SegmentRemoved extends Error {
  override name = "SegmentRemoved";
  readonly segment: number;

  constructor(segment: number, path: string, why: string, cause?: unknown) {
    super(`${path} cannot be read: ${why}`, { cause });
    this.segment = segment;
  }
}

export interface SegmentReaderOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly log: Log;
}

interface OpenSegmentFile {
  readonly file: Promise<DiskFile>;
  readCount: number;
  /** Resolves when no read uses the file and none will. */
  readonly idle: PromiseWithResolvers<void>;
  isLeaving: boolean;
}

const FILES_MAX = 16;

export class SegmentReader {
  readonly #options: SegmentReaderOptions;
  /** By segment, the most recently used one last. */
  readonly #files = new Map<number, OpenSegmentFile>();
  /** Files that are being closed. */
  readonly #leaving = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: SegmentReaderOptions) {
    this.#options = options;
  }

  /**
   * Reads the `length` bytes at `offset` of a segment, unchecked. Rejects with `SegmentRemoved`, `DamagedData` if the
   * segment ends before that, or with the system's error.
   */
  async read(segment: number, offset: number, length: number): Promise<Buffer> {
    const path = segmentPath(this.#options.directory, segment);
    if (this.#isClosed) throw new SegmentRemoved(segment, path, "the area was closed");
    const entry = this.#use(segment, path);
    try {
      const file = await entry.file;
      // Not from Node's pool: a short body would hold the 8 KB around it in memory.
      const bytes = Buffer.allocUnsafeSlow(length);
      const count = await readFully(file, bytes, offset);
      if (count < length) throw new DamagedData(path, offset + count, `${length - count} bytes are missing`);
      return bytes;
    } catch (error) {
      // Another read may succeed with a new file.
      if (this.#files.get(segment) === entry) this.#drop(segment, entry);
      if (codeOf(error) === "ENOENT") throw new SegmentRemoved(segment, path, "the segment was removed", error);
      throw error;
    } finally {
      entry.readCount -= 1;
      if (entry.isLeaving && entry.readCount === 0) entry.idle.resolve();
    }
  }

  /** Closes the file of a removed segment, so that later reads fail. */
  forget(segment: number): void {
    const entry = this.#files.get(segment);
    if (entry !== undefined) this.#drop(segment, entry);
  }

  /** Resolves when the running reads have ended and every file is closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const [segment, entry] of this.#files) this.#drop(segment, entry);
    await Promise.all(this.#leaving);
  }

  #use(segment: number, path: string): OpenSegmentFile {
    const entry = this.#files.get(segment) ?? {
      file: this.#options.disk.open(path, "read"),
      readCount: 0,
      idle: Promise.withResolvers<void>(),
      isLeaving: false,
    };
    entry.readCount += 1;
    this.#files.delete(segment);
    this.#files.set(segment, entry);
    for (const [oldest, unused] of this.#files) {
      if (this.#files.size <= FILES_MAX) break; // keeps (2)
      this.#drop(oldest, unused);
    }
    return entry;
  }

  #drop(segment: number, entry: OpenSegmentFile): void {
    this.#files.delete(segment);
    entry.isLeaving = true;
    if (entry.readCount === 0) entry.idle.resolve();
    const leaving = this.#closeIdle(entry, segment).finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }

  /** keeps (1) */
  async #closeIdle({ file, idle }: OpenSegmentFile, segment: number): Promise<void> {
    await idle.promise;
    const opened = await file.catch(() => undefined); // The reads received the error.
    try {
      await opened?.close();
    } catch (fault) {
      this.#options.log.warn("cannot close a segment after reading it", { segment, ...faultFields(fault) });
    }
  }
}

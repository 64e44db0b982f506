/**
 * The row files of all namespaces: opened before a recovery, given to the
 * namespaces that want them, and written in the background.
 *
 *     open -> take … -> endRecovery -> take … -> close
 *
 * (1) Files that no namespace has taken when the recovery ends are removed: their
 *     namespaces were dropped, or have their rows in memory now.
 * (2) Files of a dropped namespace are removed when no reader holds them.
 * (3) After a full disk, writing is tried again after RETRY_MS; rows are in memory
 *     until then. Any other fault is reported, and ends the process.
 */
import type { RowMemory } from "../rows/row-memory.ts";
import { FileRows } from "./file-rows.ts";
import { HEAD_BYTES, identityOf, type RowFileIdentity } from "./row-entries.ts";
import type { RowFileStorage, RowReads } from "./row-file-storage.ts";
import { type RefusedRowFile, RowFiles, type RowFilesOptions } from "./row-files.ts";

/** A recovery waits while more bytes of rows than this are not written. */
const UNWRITTEN_BYTES_MAX = 16_777_216;
const RETRY_MS = 1_000;
const FILE_NAME = /^rows-(\d+)-(\d+)-\d+$/;

export interface RowFileSetOptions {
  readonly storage: RowFileStorage;
  /** Calls back after a time; the returned function cancels that. */
  after(delayMs: number, callback: () => void): () => void;
  /** Whether a fault of the disk means that it is full. */
  isFull(fault: unknown): boolean;
  /** A row cannot be read, or a file cannot be written: the process must end. */
  onFault(fault: unknown): void;
  /** The most bytes of a file; absent outside of tests. */
  readonly segmentBytes?: number | undefined;
  /** Rows are written when they take so much memory, as in `FileRowsOptions`. */
  readonly bufferBytes?: number | undefined;
}

/** What a namespace says of its rows. */
export interface TakenRows extends RowFileIdentity {
  readonly memory: RowMemory;
  /** The version of the current row of a record that has one. */
  versionOf(record: number): number;
  /** Counts reads of rows for searches, answers and graphs. */
  noteReads(reads: RowReads): void;
}

interface OpenFiles {
  readonly key: string;
  readonly files: RowFiles;
  readonly dimension: number;
  /** The namespace, when it has taken them. */
  readonly owner: { taken: TakenRows | undefined };
  /** Nobody has rows in them any more. */
  isRetired: boolean;
  /** They changed while they were written. */
  isChanged: boolean;
}

export class RowFileSet {
  readonly #options: RowFileSetOptions;
  /** By the numbers of index and namespace. */
  readonly #open = new Map<string, OpenFiles>();
  readonly #flushing = new Map<OpenFiles, Promise<void>>();
  /** Those that are written again after RETRY_MS. */
  readonly #retried = new Set<OpenFiles>();
  #cancelRetry: (() => void) | undefined;
  #isRecovering = true;
  #isClosed = false;

  constructor(options: RowFileSetOptions) {
    this.#options = options;
  }

  /** The memory of the places of rows, and of rows that are not written. */
  get byteCount(): number {
    let bytes = 0;
    for (const { files } of this.#open.values()) bytes += files.byteCount;
    return bytes;
  }

  /** The bytes of all files. */
  get fileBytes(): number {
    let bytes = 0;
    for (const { files } of this.#open.values()) bytes += files.fileBytes;
    return bytes;
  }

  /** Reads the files of an earlier life, so that a recovery finds their rows. Returns those that it has removed. */
  async open(): Promise<readonly RefusedRowFile[]> {
    const { storage } = this.#options;
    const refused: RefusedRowFile[] = [];
    const names = await storage.names();
    for (const name of names) {
      const key = keyOfName(name);
      if (key === undefined || this.#open.has(key)) continue;
      const identity = await this.#readIdentity(name);
      // Another file of the namespace may have a head that is right.
      if (identity === undefined || keyOf(identity) !== key) continue;
      const owner: OpenFiles["owner"] = { taken: undefined };
      const opened = await RowFiles.open(this.#filesOptions(identity, owner));
      refused.push(...opened.refused);
      this.#add({ key, files: opened.files, dimension: identity.dimension, owner });
    }
    for (const name of names) {
      const key = keyOfName(name);
      if (key === undefined || this.#open.has(key)) continue;
      refused.push({ name, reason: "its head cannot be read" });
      await storage.remove(name);
    }
    return refused;
  }

  /** The rows of a namespace, which takes them once. */
  take(taken: TakenRows): FileRows {
    const key = keyOf(taken);
    const known = this.#open.get(key);
    const isFound = known !== undefined && known.owner.taken === undefined && !known.isRetired;
    const entry = isFound && known.dimension === taken.dimension ? known : this.#create(key, taken, known);
    entry.owner.taken = taken;
    return new FileRows({
      memory: taken.memory,
      dimension: taken.dimension,
      files: entry.files,
      versionOf: taken.versionOf,
      noteReads: taken.noteReads,
      bufferBytes: this.#options.bufferBytes,
      flushSoon: () => this.#flushSoon(entry),
      onFault: (fault) => this.#report(fault),
      onClosed: () => this.#retire(entry),
    });
  }

  /** Resolves when rows were written; undefined if a recovery may go on at once. */
  settle(): Promise<void> | undefined {
    let bytes = 0;
    for (const { files } of this.#open.values()) bytes += files.bufferedBytes;
    if (bytes <= UNWRITTEN_BYTES_MAX || this.#flushing.size === 0) return undefined;
    return Promise.all(this.#flushing.values()).then(() => undefined);
  }

  /** Called after the replay. keeps (1) */
  endRecovery(): void {
    this.#isRecovering = false;
    for (const entry of [...this.#open.values()]) {
      entry.files.endRecovery();
      if (entry.owner.taken === undefined) {
        entry.files.clear();
        this.#retire(entry);
      } else this.#flushSoon(entry);
    }
  }

  /** Writes all rows and closes the files, which stay for the next start. Nothing may be held, and no call may follow. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry?.();
    await Promise.all(this.#flushing.values());
    for (const { files } of this.#open.values()) {
      try {
        await files.flush();
      } catch (fault) {
        // Rows that are not written are in the journal.
        if (!this.#options.isFull(fault)) this.#options.onFault(fault);
      }
      await files.close();
    }
    this.#open.clear();
  }

  #create(key: string, taken: TakenRows, before: OpenFiles | undefined): OpenFiles {
    const owner: OpenFiles["owner"] = { taken: undefined };
    const options = { ...this.#filesOptions(taken, owner), firstSegment: before?.files.nextSegment ?? 1 };
    const files = RowFiles.create(options);
    if (!this.#isRecovering) files.endRecovery();
    if (before !== undefined) {
      // Of another dimension: the data directory was restored to an older state, which went on differently.
      before.files.clear();
      this.#open.delete(key);
      this.#open.set(`${key}-before`, before);
      this.#retire(before);
    }
    return this.#add({ key, files, dimension: taken.dimension, owner });
  }

  #add(parts: Pick<OpenFiles, "key" | "files" | "dimension" | "owner">): OpenFiles {
    const entry: OpenFiles = { ...parts, isRetired: false, isChanged: false };
    this.#open.set(parts.key, entry);
    return entry;
  }

  #filesOptions({ index, namespace, dimension }: RowFileIdentity, owner: OpenFiles["owner"]): RowFilesOptions {
    const { storage, segmentBytes } = this.#options;
    const versionOf = (record: number): number => owner.taken?.versionOf(record) ?? Number.NaN;
    const noteRead = (bytes: number): void => owner.taken?.noteReads({ count: 1, bytes });
    return { storage, index, namespace, dimension, versionOf, noteRead, segmentBytes };
  }

  /** What the head of a file says; undefined if it is damaged. */
  async #readIdentity(name: string): Promise<RowFileIdentity | undefined> {
    const file = await this.#options.storage.open(name);
    try {
      const head = new Uint8Array(HEAD_BYTES);
      const count = await file.read(head, 0);
      return identityOf(head.subarray(0, count));
    } finally {
      await file.close();
    }
  }

  /** keeps (2) */
  #retire(entry: OpenFiles): void {
    entry.isRetired = true;
    if (!this.#isRecovering) this.#flushSoon(entry);
  }

  #flushSoon(entry: OpenFiles): void {
    if (this.#isClosed) return;
    entry.isChanged = true;
    if (this.#flushing.has(entry)) return;
    this.#retried.delete(entry);
    this.#flushing.set(entry, this.#flush(entry));
  }

  async #flush(entry: OpenFiles): Promise<void> {
    const { files } = entry;
    try {
      while (entry.isChanged) {
        entry.isChanged = false;
        await files.flush();
      }
      if (entry.isRetired && files.fileCount > 0) this.#retryLater(entry);
      else if (entry.isRetired) this.#forget(entry);
    } catch (fault) {
      if (this.#options.isFull(fault)) this.#retryLater(entry);
      else this.#report(fault);
    } finally {
      this.#flushing.delete(entry);
    }
  }

  #forget(entry: OpenFiles): void {
    for (const [key, open] of this.#open) if (open === entry) this.#open.delete(key);
  }

  /** keeps (3) */
  #retryLater(entry: OpenFiles): void {
    if (this.#isClosed) return;
    this.#retried.add(entry);
    this.#cancelRetry ??= this.#options.after(RETRY_MS, () => {
      this.#cancelRetry = undefined;
      for (const each of [...this.#retried]) this.#flushSoon(each);
    });
  }

  #report(fault: unknown): void {
    if (!this.#isClosed) this.#options.onFault(fault);
  }
}

function keyOf({ index, namespace }: Pick<RowFileIdentity, "index" | "namespace">): string {
  return `${index}-${namespace}`;
}

function keyOfName(name: string): string | undefined {
  const [, index, namespace] = FILE_NAME.exec(name) ?? [];
  return index === undefined ? undefined : `${index}-${namespace}`;
}

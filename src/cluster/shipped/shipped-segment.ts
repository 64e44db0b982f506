/** Segments as a `ShippedDisk` opens them. */
import type { DiskFile } from "../../persistence/disk/disk.ts";
import type { SegmentState } from "./segment-state.ts";

export interface SegmentHooks {
  /** Resolves when the store has all whole writes. */
  ship(state: SegmentState, file: DiskFile): Promise<void>;
  /** A write has ended. */
  wrote(): void;
  /** Something was written or shipped. */
  written(state: SegmentState): void;
  /** The file was closed, and the store has its end mark. */
  ended(state: SegmentState): void;
}

/** A local segment: reads and writes are those of its file, a sync is one of the store. */
export class ShippedSegment implements DiskFile {
  readonly #file: DiskFile;
  readonly #state: SegmentState;
  readonly #hooks: SegmentHooks;

  constructor(file: DiskFile, state: SegmentState, hooks: SegmentHooks) {
    this.#file = file;
    this.#state = state;
    this.#hooks = hooks;
  }

  async write(bytes: Uint8Array, offset: number): Promise<number> {
    this.#state.beginWrite(bytes, offset);
    const count = await this.#file.write(bytes, offset);
    this.#endWrite(bytes.subarray(0, count), offset);
    return count;
  }

  writeNow(bytes: Uint8Array, offset: number): number {
    this.#state.beginWrite(bytes, offset);
    const count = this.#file.writeNow(bytes, offset);
    this.#endWrite(bytes.subarray(0, count), offset);
    return count;
  }

  read(target: Uint8Array, offset: number): Promise<number> {
    return this.#file.read(target, offset);
  }

  async fdatasync(): Promise<void> {
    await this.#hooks.ship(this.#state, this.#file);
    this.#hooks.written(this.#state);
  }

  async fsync(): Promise<void> {
    await this.fdatasync();
    await this.#file.fsync();
  }

  async truncate(bytes: number): Promise<void> {
    await this.#file.truncate(bytes);
    this.#state.truncate(bytes);
  }

  size(): Promise<number> {
    return this.#file.size();
  }

  async close(): Promise<void> {
    await this.#file.close();
    if (this.#state.isEnded) this.#hooks.ended(this.#state);
  }

  #endWrite(written: Uint8Array, offset: number): void {
    this.#state.endWrite(written, offset);
    this.#hooks.wrote();
    this.#hooks.written(this.#state);
  }
}

/** A covered segment that is only in the store, opened to read: its file is fetched when it is first read. */
export class RemoteSegment implements DiskFile {
  readonly #bytes: number;
  readonly #fetch: () => Promise<DiskFile>;
  #file: Promise<DiskFile> | undefined;

  constructor(bytes: number, fetch: () => Promise<DiskFile>) {
    this.#bytes = bytes;
    this.#fetch = fetch;
  }

  async read(target: Uint8Array, offset: number): Promise<number> {
    this.#file ??= this.#fetch();
    return (await this.#file).read(target, offset);
  }

  size(): Promise<number> {
    return Promise.resolve(this.#bytes);
  }

  async close(): Promise<void> {
    const file = await this.#file?.catch(() => undefined); // The reader received the error.
    await file?.close();
  }

  async fdatasync(): Promise<void> {}

  async fsync(): Promise<void> {}

  write(): Promise<number> {
    return Promise.reject(readOnly());
  }

  writeNow(): number {
    throw readOnly();
  }

  truncate(): Promise<void> {
    return Promise.reject(readOnly());
  }
}

function readOnly(): Error {
  return Object.assign(new Error("The file was opened to read"), { code: "EBADF" });
}

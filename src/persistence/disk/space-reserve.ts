/**
 * Space reserved for a full disk.
 *
 * Frames that are queued when the disk fills up have already changed memory,
 * and a reply that depends on them must wait until they are written: without
 * space all reads would wait too. So a file of our own takes up some space
 * while there is enough. When a write finds no space, this file is emptied;
 * then the queue fits, reads continue, and new writes are refused until the
 * reserve is filled again. For the same reason a start accepts no write while
 * there is no space for the reserve.
 *
 * Its bytes are noise, because on a file system that compresses, other bytes
 * would reserve no space.
 */
import { faultFields, type Log } from "../../kernel/log.ts";
import { secretBytes } from "../../kernel/random.ts";
import { codeOf, type Disk, type DiskFile, noSpaceText, writeFully } from "./disk.ts";

/** The queue is rarely longer than the requests of a few turns of the event loop. */
export const RESERVE_BYTES = 1024 * 1024;

export interface SpaceReserveOptions {
  readonly disk: Disk;
  readonly path: string;
  /** 0: no reserve. */
  readonly bytes: number;
  readonly log: Log;
}

export class SpaceReserve {
  readonly #options: SpaceReserveOptions;
  #file: DiskFile | undefined;
  #filling: Promise<unknown> = Promise.resolve();
  #isFull = false;
  /** A reserve that cannot be written is left out. */
  #isGivenUp: boolean;
  #lack: string | undefined;

  constructor(options: SpaceReserveOptions) {
    this.#options = options;
    this.#isGivenUp = options.bytes === 0;
  }

  /** False while there is not enough space for it. */
  get isReady(): boolean {
    return this.#isFull || this.#isGivenUp;
  }

  /** Why the last `fill` took no space, or undefined if it did. */
  get lack(): string | undefined {
    return this.isReady ? undefined : this.#lack;
  }

  /** Releases the space. Returns false if there was none to release. */
  async release(): Promise<boolean> {
    if (!this.#isFull || this.#file === undefined) return false;
    this.#isFull = false;
    return this.#attempt(this.#file.truncate(0));
  }

  /** Takes the space if there is enough; `isReady` says whether it did. */
  async fill(): Promise<void> {
    if (this.isReady) return;
    this.#filling = this.#attempt(this.#fill());
    await this.#filling;
  }

  async close(): Promise<void> {
    await this.#filling;
    this.#isGivenUp = true;
    await this.#file?.close();
  }

  async #fill(): Promise<void> {
    const { bytes } = this.#options;
    this.#file ??= await this.#open();
    const file = this.#file;
    const size = await file.size();
    try {
      if (size < bytes) await writeFully(file, secretBytes(bytes - size), size);
      await file.fdatasync();
      this.#isFull = true;
    } catch (error) {
      // A partial reserve would take the space that others wait for.
      if (noSpaceText(error) !== undefined) await file.truncate(0);
      throw error;
    }
  }

  async #open(): Promise<DiskFile> {
    const { disk, path } = this.#options;
    try {
      return await disk.open(path, "update");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      return disk.open(path, "create");
    }
  }

  async #attempt(step: Promise<void>): Promise<boolean> {
    try {
      await step;
      return true;
    } catch (error) {
      this.#lack = noSpaceText(error);
      if (this.#lack === undefined) {
        this.#isGivenUp = true;
        this.#options.log.warn("cannot reserve disk space", faultFields(error));
      }
      return false;
    }
  }
}

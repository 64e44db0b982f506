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
 * While the disk is nearly full, the reserve grows before a frame that it could
 * not hold is accepted, or the frame is refused (`lackFor`).
 *
 * Its bytes are noise, because on a file system that compresses, other bytes
 * would reserve no space.
 */
import { faultFields, type Log } from "../../kernel/log.ts";
import { secretBytes } from "../../kernel/random.ts";
import { codeOf, type Disk, type DiskFile, noSpaceText, writeFully, writeFullyNow } from "./disk.ts";

/** The queue is rarely longer than the requests of a few turns of the event loop. */
export const RESERVE_BYTES = 1024 * 1024;
/** It grows by pieces of this many bytes at most. */
const PIECE_BYTES_MAX = 1024 * 1024;
const NO_SPACE = "No space left on device";

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
  /** Of its file, while it is full. */
  #size = 0;
  /** Set while its file is being cut. */
  #cutting: Promise<unknown> | undefined;
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
    await this.#cutting;
    return this.#attempt(this.#file.truncate(0));
  }

  /** Takes the space if there is enough; `isReady` says whether it did. */
  async fill(): Promise<void> {
    if (this.isReady) return;
    this.#filling = this.#attempt(this.#fill());
    await this.#filling;
  }

  /**
   * Why the disk has no room for so many bytes; undefined: they are reserved. What is taken besides stays until `release`
   * or `shrink`. A reserve that was left out has room for everything.
   */
  lackFor(bytes: number): string | undefined {
    const file = this.#file;
    if (this.#isGivenUp || (this.#isFull && bytes <= this.#size)) return undefined;
    if (!this.#isFull || this.#cutting !== undefined || file === undefined) return this.#lack ?? NO_SPACE;
    try {
      const noise = secretBytes(Math.min(PIECE_BYTES_MAX, bytes - this.#size));
      for (let at = this.#size; at < bytes; at += noise.length)
        writeFullyNow(file, noise.subarray(0, Math.min(noise.length, bytes - at)), at);
      this.#size = bytes;
      return undefined;
    } catch (error) {
      // A part of it would take the space that shorter frames need. Queued frames may need what was there before.
      this.#cutTo(file, this.#size);
      const lack = noSpaceText(error);
      if (lack === undefined) this.#giveUp(error);
      return lack;
    }
  }

  /** Gives back what `lackFor` has taken. */
  shrink(): void {
    const { bytes } = this.#options;
    const file = this.#file;
    if (!this.#isFull || this.#size <= bytes || this.#cutting !== undefined || file === undefined) return;
    this.#size = bytes;
    this.#cutTo(file, bytes);
  }

  #cutTo(file: DiskFile, bytes: number): void {
    this.#cutting = this.#attempt(file.truncate(bytes)).finally(() => {
      this.#cutting = undefined;
    });
  }

  async close(): Promise<void> {
    await this.#filling;
    await this.#cutting;
    this.#isGivenUp = true;
    await this.#file?.close();
  }

  async #fill(): Promise<void> {
    const { bytes } = this.#options;
    this.#file ??= await this.#open();
    const file = this.#file;
    const size = await file.size();
    try {
      if (size > bytes) await file.truncate(bytes);
      if (size < bytes) await writeFully(file, secretBytes(bytes - size), size);
      await file.fdatasync();
      this.#isFull = true;
      this.#size = bytes;
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
      if (this.#lack === undefined) this.#giveUp(error);
      return false;
    }
  }

  #giveUp(error: unknown): void {
    this.#isGivenUp = true;
    this.#options.log.warn("cannot reserve disk space", faultFields(error));
  }
}

/**
 * Space that is kept for the moment when none is left.
 *
 * What was appended when the disk fills up has changed memory already, and no
 * reply that saw it may leave before it is written: without space all reads
 * would wait with it. So a file of our own takes up room while there is some.
 * It is emptied when a write finds no space; what is queued then fits, reads go
 * on, and new writes are refused until the reserve could be filled again.
 *
 * Its bytes are noise, because file systems that compress would keep no room
 * for anything else.
 */
import { faultFields, type Log } from "../../kernel/log.ts";
import type { Random } from "../../kernel/random.ts";
import { codeOf, type Disk, type DiskFile, noSpaceText, writeFully } from "./disk.ts";

/** What is queued at one moment is rarely more than the requests of a few turns of the event loop. */
export const RESERVE_BYTES = 1024 * 1024;

export interface SpaceReserveOptions {
  readonly disk: Disk;
  readonly path: string;
  /** 0: there is no reserve. */
  readonly bytes: number;
  readonly random: Random;
  readonly log: Log;
}

export class SpaceReserve {
  readonly #options: SpaceReserveOptions;
  #file: DiskFile | undefined;
  #filling: Promise<unknown> = Promise.resolve();
  #isFull = false;
  /** A reserve that cannot be kept is done without. */
  #isGivenUp: boolean;

  constructor(options: SpaceReserveOptions) {
    this.#options = options;
    this.#isGivenUp = options.bytes === 0;
  }

  /** False while space is missing for it. */
  get isReady(): boolean {
    return this.#isFull || this.#isGivenUp;
  }

  /** Gives the space back to the disk. False if there is none to give. */
  async release(): Promise<boolean> {
    if (!this.#isFull || this.#file === undefined) return false;
    this.#isFull = false;
    return this.#attempt(this.#file.truncate(0));
  }

  /** Takes the space if there is some; `isReady` tells. */
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
    const { bytes, random } = this.#options;
    this.#file ??= await this.#open();
    const file = this.#file;
    const size = await file.size();
    try {
      if (size < bytes) await writeFully(file, noise(bytes - size, random), size);
      await file.fdatasync();
      this.#isFull = true;
    } catch (error) {
      // Half a reserve would keep the space from those who wait for it.
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
      if (noSpaceText(error) === undefined) {
        this.#isGivenUp = true;
        this.#options.log.warn("no space is kept in reserve", faultFields(error));
      }
      return false;
    }
  }
}

/** Bytes that do not compress: xorshift32. */
function noise(count: number, random: Random): Uint8Array {
  const words = new Uint32Array(Math.ceil(count / 4));
  let word = random.below(2 ** 32) | 1;
  for (let i = 0; i < words.length; i += 1) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    words[i] = word;
  }
  return new Uint8Array(words.buffer, 0, count);
}

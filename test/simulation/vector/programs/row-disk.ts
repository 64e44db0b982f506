/**
 * The row files of the engine of a random program, on a simulated disk, over its
 * lives: a stop writes all rows, a crash leaves any part of what was written, and
 * before the next life files may be damaged or come from an earlier one.
 */
import { type Random, seededRandom } from "../../../../src/kernel/random.ts";
import { rowFiles } from "../../../../src/program/workers/row-files.ts";
import { entryBytesOf, HEAD_BYTES } from "../../../../src/vector/row-files/row-entries.ts";
import { RowFileSet } from "../../../../src/vector/row-files/row-file-set.ts";
import { SimulatedDisk } from "../../disk/simulated-disk.ts";
import { damageRowFile } from "../damaged-row-files.ts";

const DIRECTORY = "/area";
/** Rows of the largest dimension in a file. */
const ROWS_PER_FILE: readonly number[] = [1, 20, 300];
/** Rows are written when they take so much memory. */
const BUFFER_BYTES: readonly number[] = [1, 500, 10_000];
const DAMAGES_MAX = 3;
/** One start in so many finds the files of an earlier life. */
const STALE_ONE_IN = 6;
const SEEDS = 2 ** 32;

export interface RowDiskOptions {
  readonly random: Random;
  /** The largest dimension of a row. */
  readonly dimensionMax: number;
  onFault(fault: unknown): void;
}

export class RowDisk {
  readonly #options: RowDiskOptions;
  readonly #entryBytes: number;
  readonly #rowsPerFile: number;
  readonly #bufferBytes: number;
  #disk: SimulatedDisk;
  #set: RowFileSet;
  /** Ends the callbacks of the current life. */
  #life = { isOver: false };
  /** The files at the beginning of an earlier life. */
  #earlier: ReadonlyMap<string, Buffer> = new Map();

  constructor(options: RowDiskOptions) {
    const { random, dimensionMax } = options;
    this.#options = options;
    this.#entryBytes = entryBytesOf(dimensionMax);
    this.#rowsPerFile = ROWS_PER_FILE[random.below(ROWS_PER_FILE.length)] as number;
    this.#bufferBytes = BUFFER_BYTES[random.below(BUFFER_BYTES.length)] as number;
    this.#disk = new SimulatedDisk({ seed: random.below(SEEDS) });
    void this.#disk.mkdir(DIRECTORY);
    void this.#disk.syncDirectory("/");
    this.#set = this.#newSet();
  }

  /** The files of the current life. */
  get set(): RowFileSet {
    return this.#set;
  }

  get fileBytes(): number {
    return this.#set.fileBytes;
  }

  /** Reads of other threads. */
  readonly readNow = (descriptor: number, target: Uint8Array, offset: number): number =>
    this.#disk.readNow(descriptor, target, offset);

  /** Ends a life; its engine must not be closed before. */
  async end(how: "stop" | "crash"): Promise<void> {
    const { random } = this.#options;
    if (how === "stop") await this.#set.close();
    this.#life.isOver = true;
    const isPowerCut = how === "crash" && random.below(2) === 0;
    const left = isPowerCut ? this.#disk.afterPowerCut(random) : this.#disk.afterKill(random);
    this.#disk = left.restarted({ seed: random.below(SEEDS) });
    this.#life = { isOver: false };
  }

  /** Begins the next life. `mayDamage`: its files may have been damaged meanwhile. */
  async begin({ mayDamage }: { mayDamage: boolean }): Promise<void> {
    const { random } = this.#options;
    if (random.below(STALE_ONE_IN) === 0) {
      for (const path of this.#disk.paths) this.#disk.remove(path);
      for (const [path, bytes] of this.#earlier) this.#disk.put(path, bytes);
    }
    if (mayDamage)
      for (let count = random.below(DAMAGES_MAX + 1); count > 0; count -= 1)
        damageRowFile(this.#disk, this.#disk.paths, random);
    if (random.below(2) === 0)
      this.#earlier = new Map(this.#disk.paths.map((path) => [path, this.#disk.bytesOf(path)]));
    this.#set = this.#newSet();
    await this.#set.open();
  }

  #newSet(): RowFileSet {
    const life = this.#life;
    return new RowFileSet({
      storage: rowFiles(this.#disk, DIRECTORY, { readNow: this.readNow }),
      after: (_, callback) => {
        const next = setImmediate(() => {
          if (!life.isOver) callback();
        });
        return () => clearImmediate(next);
      },
      isFull: () => false,
      onFault: (fault) => {
        if (!life.isOver) this.#options.onFault(fault);
      },
      segmentBytes: HEAD_BYTES + this.#rowsPerFile * this.#entryBytes,
      bufferBytes: this.#bufferBytes,
    });
  }
}

/** Drawn for a program from its seed, apart from its commands. */
export function rowRandomOf(seed: number): Random {
  return seededRandom(seed ^ 0x5eed);
}

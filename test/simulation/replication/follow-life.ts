/** One life of a follower: its disk, its calls of the store, and its loop. */
import type { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import type { Random } from "../../../src/kernel/random.ts";
import type { Disk } from "../../../src/persistence/disk/disk.ts";
import { FollowedCopy } from "../../../src/replication/follow/followed-copy.ts";
import { Follower } from "../../../src/replication/follow/follower.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import { AREAS, COPY_KEY } from "./copy-life.ts";
import { type ModelObjectStore, SteppedCalls } from "./model-object-store.ts";

export const FOLLOWER = "/follower";
export const HISTORY_FILE = "history.sqlite";
const ADDRESS = "s3://bucket/copy";

/** The disk as a follower with a bug uses it. */
export type FollowBug = (disk: Disk) => Disk;

export interface FollowLifeOptions {
  readonly disk: SimulatedDisk;
  readonly clock: VirtualClock;
  readonly store: ModelObjectStore;
  readonly bug: FollowBug;
  failed(error: unknown): void;
}

export class FollowLife {
  readonly disk: SimulatedDisk;
  readonly clock: VirtualClock;
  readonly calls = new SteppedCalls();
  readonly #options: FollowLifeOptions;
  #follower: Follower | undefined;
  #copy: FollowedCopy | undefined;
  isOver = false;

  constructor(options: FollowLifeOptions) {
    this.#options = options;
    this.disk = options.disk;
    this.clock = options.clock;
  }

  /** Opens the directory and begins to follow. */
  async start(): Promise<void> {
    const { store, bug, clock } = this.#options;
    const copy = await FollowedCopy.open({
      ...{ disk: bug(this.disk), directory: FOLLOWER, address: ADDRESS, clock, key: COPY_KEY },
      ...{ areas: AREAS.map(({ name }) => name), historyFile: HISTORY_FILE },
    });
    if (this.isOver) return;
    this.#copy = copy;
    const client = store.client(this.calls.trouble);
    const follower = new Follower({ copy, store: client, clock, log: silentLog, intervalMs: 300, planMs: 2_500 });
    this.#follower = follower;
    follower.start();
  }

  get copy(): FollowedCopy | undefined {
    return this.#copy;
  }

  get follower(): Follower | undefined {
    return this.#follower;
  }

  /** The process ends at once. */
  crash(random: Random): void {
    this.isOver = true;
    this.calls.crash(random);
  }
}

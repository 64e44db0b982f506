/** The disk of a node that follows the shard, whose operations and calls move only when the run moves them. */
import { DoubtfulOutcome, type LogStore } from "../../../src/cluster/log-store/log-store.ts";
import { ObjectTrouble } from "../../../src/cluster/objects/objects.ts";
import { DamagedLog } from "../../../src/cluster/shipped/errors.ts";
import { ShardFollower } from "../../../src/cluster/standby/shard-follower.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import type { SimulatedDisk } from "../disk/simulated-disk.ts";
import { DIRECTORY } from "../server.ts";
import { type ClusterWorld, SHARD } from "./cluster-world.ts";
import type { ObjectLink } from "./model-objects.ts";
import { SimulatedLink } from "./simulated-link.ts";

export interface FollowedDiskOptions {
  readonly world: ClusterWorld;
  /** Stepped. */
  readonly disk: SimulatedDisk;
  /** The area's name, as the shard's files state it. */
  readonly area: string;
  readonly branch: string;
  /** The store as the follower sees it. */
  readonly see?: ((store: LogStore) => LogStore) | undefined;
}

/** It changes nothing in the store, so its calls name no epoch. */
const NO_EPOCH = -1;

export class FollowedDisk {
  readonly link: SimulatedLink;
  /** How often everything that had ended was here. */
  completeCount = 0;
  readonly objects: ObjectLink;
  readonly #options: FollowedDiskOptions;
  #follower: ShardFollower | undefined;
  #pass: Promise<void> | undefined;
  #isOver = false;

  constructor(options: FollowedDiskOptions) {
    const { world, disk } = options;
    this.#options = options;
    this.link = new SimulatedLink({
      ...{ shared: world.shared, random: world.random, isOrdered: true, violate: world.violate },
      owner: { shard: SHARD, epoch: NO_EPOCH },
      committed: world.committed,
    });
    this.objects = world.linkObjects();
    world.add(disk);
    world.add(this.link);
  }

  get disk(): SimulatedDisk {
    return this.#options.disk;
  }

  /** Begins to fetch what has ended, unless that is under way. */
  follow(): void {
    if (this.#isOver) return;
    this.#pass ??= this.#follow()
      .catch((fault: unknown) => {
        // The store has changed meanwhile, or the connection was lost.
        if (!this.#isOver && ![DamagedLog, DoubtfulOutcome, ObjectTrouble].some((kind) => fault instanceof kind))
          this.#options.world.fail(fault);
      })
      .finally(() => {
        this.#pass = undefined;
      });
  }

  /** Lets it close its files, as before a claim of its node. */
  async close(): Promise<void> {
    await this.#options.world.drive(Promise.all([this.#follower?.close(), this.#pass]));
    this.#end();
  }

  /** Ends it at once. Returns the disk that the next start finds. */
  crash(): SimulatedDisk {
    const { world, disk } = this.#options;
    this.#end();
    return world.random.below(3) === 0 ? disk.afterKill(world.random) : disk.afterPowerCut(world.random);
  }

  #end(): void {
    const { world, disk } = this.#options;
    this.#isOver = true;
    this.link.die();
    this.objects.die();
    world.remove(disk);
    world.remove(this.link);
    world.remove(this.objects);
  }

  async #follow(): Promise<void> {
    const { world, disk, area, branch, see = (each) => each } = this.#options;
    const store = see(this.link.store);
    this.#follower ??= await ShardFollower.open({
      ...{ local: disk, directory: DIRECTORY, area, shard: SHARD, branch, store, clock: world.clock },
      objects: this.objects,
      log: silentLog,
      hasRoom: () => Promise.resolve(true),
      isFull: () => Promise.resolve(false),
      ended: () => {
        this.completeCount += 1;
      },
    });
    const [head] = await store.heads([SHARD]);
    if (head !== undefined) await this.#follower.follow(head);
  }
}

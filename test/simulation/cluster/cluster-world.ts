/**
 * What the lives of a run on one shard share: the store, the time, and the nodes
 * whose disks and links move only when the run moves them.
 *
 * (1) What happens, and in which order, follows from the seed of the run.
 * (2) The next `settle` throws the first broken rule.
 */
import { VirtualClock } from "../../../src/kernel/clock.virtual.ts";
import type { Random } from "../../../src/kernel/random.ts";
import { nextTurn } from "../../../src/kernel/turn.ts";
import { ModelDatabase, ModelLogStore } from "./model-log-store.ts";
import { ObjectLink, type StoredObjects } from "./model-objects.ts";
import { brokenShardRule, type CheckedShard } from "./shard-rules.ts";
import type { SharedStore } from "./simulated-link.ts";

/** Something that has operations under way: a disk or a link. */
export interface Mover {
  readonly underwayCount: number;
  step(random: Random): boolean;
}

export class ClusterViolation extends Error {
  override name = "ClusterViolation";
}

export const SHARD = 1;
/** The bytes of a row of all nodes: so short that many batches are torn. */
export const ROW_BYTES = 1_000;
/** After this many rounds without an end, something waits permanently. */
const ROUND_COUNT_MAX = 40_000;
const TICK_MS_MAX = 100;

export class ClusterWorld {
  readonly random: Random;
  readonly clock = new VirtualClock();
  readonly shared: SharedStore;
  /** Commits at once, and is never in doubt. */
  readonly admin: ModelLogStore;
  /** The store has lost what it had acknowledged, and its owner has not sent all of it again. */
  isLossy = false;
  /** Whether snapshots may go to the object store. */
  hasObjects = false;
  /** Its objects. */
  readonly objects: StoredObjects = new Map();
  readonly #checked: CheckedShard;
  readonly #movers = new Set<Mover>();
  #fault: unknown;

  constructor(random: Random, area: string) {
    this.random = random;
    const database = new ModelDatabase(() => this.clock.nowMs());
    this.shared = { database, replicated: 0, isFull: false, doubtOneIn: 0 };
    this.admin = new ModelLogStore({ database, mayCommit: () => Promise.resolve(true) });
    const { objects } = this;
    this.#checked = { database, shard: SHARD, area, rowBytesMax: ROW_BYTES, salts: new Map(), objects };
  }

  add(mover: Mover): void {
    this.#movers.add(mover);
  }

  remove(mover: Mover): void {
    this.#movers.delete(mover);
  }

  readonly fail = (fault: unknown): void => {
    this.#fault ??= fault;
  };

  readonly violate = (text: string): void => this.fail(new ClusterViolation(text));

  /** To be called after each commit. */
  readonly committed = (): void => {
    const broken = this.isLossy ? undefined : brokenShardRule(this.#checked);
    if (broken !== undefined) this.violate(broken);
  };

  /** Lets every part continue that can. keeps (2) */
  async settle(): Promise<void> {
    await nextTurn();
    await nextTurn();
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** Lets one operation of a disk or a link go on. False if nothing is under way. keeps (1) */
  step(): boolean {
    const busy = [...this.#movers].filter(({ underwayCount }) => underwayCount > 0);
    return busy[this.random.below(busy.length)]?.step(this.random) ?? false;
  }

  tick(): void {
    this.clock.advance(this.random.below(TICK_MS_MAX));
  }

  async until(what: string, isDone: () => boolean): Promise<void> {
    for (let round = 0; !isDone(); round += 1) {
      if (round === ROUND_COUNT_MAX) throw new ClusterViolation(`${what} never came`);
      if (this.random.below(8) === 0 || !this.step()) this.tick();
      await this.settle();
    }
  }

  /** A connection of a node to the object store. */
  linkObjects(): ObjectLink {
    const link = new ObjectLink({
      ...{ objects: this.objects, random: this.random },
      doubtOneIn: () => this.shared.doubtOneIn,
    });
    this.add(link);
    return link;
  }

  /** Moves everything until a promise is settled, and returns its value. */
  async drive<Value>(work: Promise<Value>): Promise<Value> {
    let isDone = false;
    const end = (): void => {
      isDone = true;
    };
    work.then(end, end);
    await this.until("an answer", () => isDone);
    return await work;
  }
}

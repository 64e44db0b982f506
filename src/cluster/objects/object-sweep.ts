/**
 * Removes snapshots of a shard from the object store that newer ones have replaced.
 *
 * (1) An object is removed when another snapshot has been the latest one for
 *     `OBJECT_RETENTION_MS`, so that tables which are restored to a moment of that
 *     time still find theirs. Time counts from the first look that finds it
 *     replaced, by the clock of this owner: the next owner begins again.
 * (2) Only what nobody can point to any more is removed: snapshots of earlier
 *     epochs, which can complete none, and those of this one before the latest. An
 *     object that is being written is neither.
 * (3) Before a removal the latest snapshot is committed again under the epoch of
 *     this owner.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import type { ShardEpoch, SnapshotPointer } from "../log-store/log-store.ts";
import type { ObjectStores, Objects } from "./objects.ts";
import { objectPrefix, parseSnapshotName } from "./snapshot-object.ts";

/** How long a snapshot stays in the object store after another one has replaced it. */
export const OBJECT_RETENTION_MS = 60 * 60_000;
/** Looks in the time of the retention. */
const LOOKS = 4;
/** At most so many objects are removed by one call. */
const REMOVED_MAX = 1_000;

export interface ObjectSweepOptions {
  readonly stores: ObjectStores;
  /** The id of the cluster. */
  readonly cluster: string;
  readonly owner: ShardEpoch;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  readonly log: Log;
  readonly retentionMs: number;
  /** Where snapshots go to now; undefined: not to an object store. */
  address(): Promise<string | undefined>;
  /** The latest snapshot, as this owner knows it. */
  pointer(): SnapshotPointer | undefined;
  /** Commits it again. Rejects if another node owns the shard. */
  prove(): Promise<void>;
}

export class ObjectSweep {
  readonly #options: ObjectSweepOptions;
  /** Where an object of this shard may be. */
  readonly #addresses = new Set<string>();
  /** When each object was first found to be replaced, by its address and name. keeps (1) */
  readonly #replacedMs = new Map<string, number>();
  #cancel = (): void => {};
  #isStopped = false;

  constructor(options: ObjectSweepOptions) {
    this.#options = options;
    this.#later();
  }

  /** Nothing is removed any more, but by a call that is under way. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Looks once, and removes what has been replaced for long enough. */
  async runOnce(): Promise<void> {
    const { address, pointer, stores } = this.#options;
    for (const each of [await address(), pointer()?.object?.address]) if (each !== undefined) this.#addresses.add(each);
    for (const each of this.#addresses) {
      const objects = await stores.open(each);
      const due = await this.#findDue(each, objects);
      if (due.length === 0 || this.#isStopped) continue;
      await this.#options.prove(); // keeps (3)
      const kept = pointer()?.object?.name;
      const removed = due.filter((name) => name !== kept).slice(0, REMOVED_MAX);
      await objects.remove(removed);
      for (const name of removed) this.#replacedMs.delete(keyOf(each, name));
      this.#options.log.info("replaced snapshots are removed from the object store", { objects: removed.length });
    }
  }

  async #findDue(address: string, objects: Objects): Promise<readonly string[]> {
    const { cluster, owner, clock, retentionMs } = this.#options;
    const prefix = objectPrefix(cluster, owner.shard);
    const nowMs = clock.monotonicMs();
    const due: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await objects.list(prefix, after);
      for (const { name } of page) {
        const key = keyOf(address, name);
        if (!this.#isReplaced(name)) this.#replacedMs.delete(key);
        else if (!this.#replacedMs.has(key)) this.#replacedMs.set(key, nowMs);
        else if (nowMs - (this.#replacedMs.get(key) ?? nowMs) >= retentionMs) due.push(name);
      }
      after = page.at(-1)?.name;
      if (after === undefined) return due;
    }
  }

  /** keeps (2) */
  #isReplaced(name: string): boolean {
    const { owner, pointer } = this.#options;
    const latest = pointer();
    const named = parseSnapshotName(name);
    if (named === undefined || name === latest?.object?.name) return false;
    if (named.epoch !== owner.epoch) return named.epoch < owner.epoch;
    return latest?.epoch === owner.epoch && named.number < latest.number;
  }

  #later(): void {
    const { clock, log, retentionMs } = this.#options;
    if (this.#isStopped) return;
    this.#cancel = clock.after(Math.ceil(retentionMs / LOOKS), () => {
      this.runOnce()
        .catch((fault: unknown) => {
          if (!this.#isStopped)
            log.warn("replaced snapshots are not removed from the object store", faultFields(fault));
        })
        .finally(() => this.#later());
    });
  }
}

function keyOf(address: string, name: string): string {
  return `${address} ${name}`;
}

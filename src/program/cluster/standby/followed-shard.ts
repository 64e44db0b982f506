/**
 * A shard that this node follows: its files, and for messaging the log of messages
 * over them, which the snapshot does not have.
 *
 * (1) A takeover by this node continues that log. It is never believed to be
 *     complete: its position says which frames it has.
 * (2) The log of messages follows the segments that have ended only.
 */

import type { LogStore, ShardHead } from "../../../cluster/log-store/log-store.ts";
import type { ObjectStores } from "../../../cluster/objects/objects.ts";
import { type Missing, ShardFollower } from "../../../cluster/standby/shard-follower.ts";
import type { Followed } from "../../../cluster/standby/standbys.ts";
import { systemClock } from "../../../kernel/clock.ts";
import { faultFields, type Log } from "../../../kernel/log.ts";
import { readFreeBytes } from "../../../persistence/disk/disk-usage.ts";
import { fileDisk } from "../../../persistence/disk/file-disk.ts";
import type { AreaPlace } from "../../areas/area-place.ts";
import { type HistoryStore, openHistory } from "../../history/history-store.ts";
import { removeDerived } from "./derived-files.ts";

export interface FollowedShardOptions {
  readonly shard: number;
  readonly place: AreaPlace;
  readonly branch: string;
  readonly store: LogStore;
  readonly objects: ObjectStores;
  readonly log: Log;
  /** The free space of the disk below which writes are refused; undefined: none. */
  readonly freeDiskBytesMin: number | undefined;
  /** How long the log of messages has an entry; undefined: the area has no such log. */
  readonly logRetentionMs: number | undefined;
}

/** What files of other nodes' shards leave free, besides the bound below which this node refuses writes. */
const ROOM_BYTES = 64 * 1024 * 1024;

export class FollowedShard implements Followed {
  readonly #follower: ShardFollower;
  #log: HistoryStore | undefined;
  /** What the log of messages will have when it has this position. */
  #ended: { readonly position: number; readonly next: number } | undefined;

  private constructor(follower: ShardFollower) {
    this.#follower = follower;
  }

  static async open(options: FollowedShardOptions): Promise<FollowedShard> {
    const { shard, place, branch, store, objects, freeDiskBytesMin = 0, logRetentionMs } = options;
    const { directory, name: area } = place;
    const log = options.log.with({ shard });
    await removeDerived(directory, branch);
    let followed: FollowedShard | undefined;
    const follower = await ShardFollower.open({
      ...{ local: fileDisk, directory, area, shard, branch, store, objects, clock: systemClock, log },
      hasRoom: async (bytes) => (await readFreeBytes(directory)) - bytes >= 2 * freeDiskBytesMin + ROOM_BYTES,
      isFull: async () => (await readFreeBytes(directory)) < freeDiskBytesMin + ROOM_BYTES / 2,
      ended(end, next) {
        if (followed === undefined) return;
        followed.#ended = { position: end.position, next };
        followed.#log?.durableTo(end);
      },
    });
    followed = new FollowedShard(follower);
    if (logRetentionMs !== undefined) await followed.#openLog({ directory, area, retentionMs: logRetentionMs, log });
    return followed;
  }

  get missing(): Missing {
    return this.#follower.missing;
  }

  /** Each change of the position is synced, so a power cut loses nothing of what this says. */
  get history(): number | undefined {
    const isRead = this.#ended !== undefined && (this.#log?.position ?? 0) >= this.#ended.position;
    return isRead ? this.#ended?.next : undefined;
  }

  follow(head: ShardHead): Promise<void> {
    return this.#follower.follow(head);
  }

  async close(): Promise<void> {
    await this.#follower.close();
    await this.#log?.close();
  }

  /** Without the log of messages the files are followed as well. */
  async #openLog(options: {
    readonly directory: string;
    readonly area: string;
    readonly retentionMs: number;
    readonly log: Log;
  }): Promise<void> {
    const failed = (fault: unknown): void => {
      this.#log = undefined;
      options.log.error("the log of messages of a followed shard is not kept", faultFields(fault));
    };
    try {
      this.#log = await openHistory({ ...options, onFatal: failed });
    } catch (fault) {
      failed(fault);
    }
  }
}

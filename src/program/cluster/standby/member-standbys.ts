/** The shards that this server follows as their standby, in the directories where it would serve them. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { LogStore } from "../../../cluster/log-store/log-store.ts";
import type { Weights } from "../../../cluster/node/placement.ts";
import type { SeenChanges } from "../../../cluster/node/watched-cluster.ts";
import type { Missing } from "../../../cluster/standby/shard-follower.ts";
import { Standbys } from "../../../cluster/standby/standbys.ts";
import { systemClock } from "../../../kernel/clock.ts";
import type { Log } from "../../../kernel/log.ts";
import { highWaterPath } from "../../../persistence/journal/high-water.ts";
import type { AreaName } from "../../areas/area.ts";
import { areaPlace } from "../../areas/area-place.ts";
import { ClusterObjects } from "../../services/objects/cluster-objects.ts";
import type { RunSettings } from "../../settings/run-settings.ts";
import { sparseLog } from "../sparse-log.ts";
import { FollowedShard } from "./followed-shard.ts";
import type { StandbyReport } from "./standby-report.ts";

export interface MemberStandbysOptions {
  readonly run: RunSettings;
  readonly dataDirectory: string;
  readonly node: string;
  readonly weights: Weights;
  readonly branch: string;
  /** On a connection of its own: it reads whole segments. */
  readonly store: LogStore;
  readonly log: Log;
  /** Undefined: the shard was added after this node started. */
  findArea(shard: number): AreaName | undefined;
  /** Whether this node has claimed the shard, or is about to. */
  isOwned(shard: number): boolean;
}

export class MemberStandbys {
  readonly #standbys: Standbys | undefined;
  readonly #objects = new ClusterObjects("read");

  /** Follows nothing if the settings say so. */
  constructor(options: MemberStandbysOptions) {
    const { run, dataDirectory, node, weights, branch, store, findArea, isOwned } = options;
    const { standby, freeDiskBytesMin, logRetentionMs } = run.settings;
    if (!standby) return;
    const log = sparseLog(options.log, systemClock);
    const objects = this.#objects;
    const placeOf = (shard: number) => {
      const area = findArea(shard);
      if (area === undefined) throw new Error(`Shard ${shard} is not known`);
      return { area, place: areaPlace(dataDirectory, area, shard) };
    };
    this.#standbys = new Standbys({
      ...{ store, clock: systemClock, log, node, weights, isOwned },
      knows: (shard) => findArea(shard) !== undefined,
      open(shard) {
        const { area, place } = placeOf(shard);
        const hasLog = area === "messaging";
        const kept = { freeDiskBytesMin, logRetentionMs: hasLog ? logRetentionMs : undefined };
        return FollowedShard.open({ shard, place, branch, store, objects, log, ...kept });
      },
      async forget(shard) {
        const { directory } = placeOf(shard).place;
        const names = readdirSync(directory);
        for (const name of names) rmSync(join(directory, name), { recursive: true, force: true });
        rmSync(highWaterPath(directory), { force: true });
        if (names.length > 0) log.info("files of a shard that other nodes have are removed", { shard });
      },
    });
  }

  /** See `Standbys.saw`. */
  saw(seen: SeenChanges): void {
    this.#standbys?.saw(seen);
  }

  /** Resolves when the directory of a shard is free. */
  async release(shard: number): Promise<void> {
    await this.#standbys?.release(shard);
  }

  /** Resolves when all directories are free. */
  async stop(): Promise<void> {
    await this.#standbys?.stop();
    await this.#objects.close();
  }

  /** What a takeover of a shard would have to read; undefined: it is not followed. */
  missing(shard: number): Missing | undefined {
    return this.#standbys?.states.get(shard)?.missing;
  }

  /** False until the node knows which shards it follows. */
  get isReady(): boolean {
    return this.#standbys?.hasSeen ?? true;
  }

  /** By the number of the shard; undefined: this node follows none, by its settings. */
  get reports(): Readonly<Record<string, StandbyReport>> | undefined {
    if (this.#standbys === undefined) return undefined;
    const { followed, states } = this.#standbys;
    const reports: Record<string, StandbyReport> = {};
    for (const shard of followed) {
      const { missing, history } = states.get(shard) ?? {};
      const seconds = Math.round((missing?.ms ?? 0) / 1_000);
      reports[shard] = { bytes: missing?.bytes ?? null, seconds, history: history ?? null };
    }
    return reports;
  }
}

/**
 * Snapshots: a process of the same program recovers an area from its closed
 * segments and writes its state (the role `internal-snapshot`). One area or shard at a
 * time, because that process needs about as much memory as the area.
 *
 * A failed snapshot costs only time at the next start, so it is logged and
 * retried when the area reports that a snapshot is due again.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { newestSnapshotBytes } from "../../persistence/snapshot-file.ts";
import { programFile } from "../package-files.ts";
import type { AreaName, AreaSnapshots } from "./area.ts";
import { type AreaPlace, areaPlace } from "./area-place.ts";

/** The variable by which `bin/larder.cjs` ends a process together with its parent. */
const TIED = "NODE_LARDER_TIED";

/** Until `bin/larder.cjs` ignores SIGUSR1, it ends the process rather than open Node's debugger. */
const NO_DEBUGGER = "--disable-sigusr1";

export interface SnapshotSubject {
  readonly area: AreaName;
  readonly snapshots: AreaSnapshots;
  /** The data directory, which contains the area's directory. */
  readonly dataDirectory: string;
  /** A shard of the area; undefined on a single server. */
  readonly shard?: number | undefined;
}

export interface SnapshotsOptions {
  readonly log: Log;
  readonly clock: Clock;
  /** The process needs about as much as the area. */
  readonly heapBytesOf: (area: AreaName) => number;
  readonly onWritten?: (area: AreaName) => void;
}

export class Snapshots {
  readonly #options: SnapshotsOptions;
  /** By area and shard. */
  readonly #queue = new Map<string, SnapshotSubject>();
  #child: ChildProcess | undefined;
  /** The area and shard of the current snapshot. */
  #current: string | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  /**
   * Requests a snapshot of an area; repeated requests count once. If one of the area is under way, another follows it
   * only if `isWanted`: closing a segment for a snapshot makes the area request one.
   */
  request(subject: SnapshotSubject, { isWanted = false } = {}): void {
    const key = keyOf(subject);
    if (this.#isStopped || (!isWanted && this.#current === key)) return;
    this.#queue.set(key, subject);
    this.#running ??= this.#runQueue();
  }

  /** Ends the current snapshot; the next start removes its partial files. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#queue.clear();
    this.#child?.kill("SIGKILL");
    await this.#running;
  }

  async #runQueue(): Promise<void> {
    for (const [key, subject] of this.#queue) {
      this.#queue.delete(key);
      this.#current = key;
      const isDueAgain = await this.#runOnce(subject);
      this.#current = undefined;
      if (isDueAgain) this.request(subject);
    }
    this.#running = undefined;
  }

  /** True if it was written and the next one is already due. */
  async #runOnce({ area, snapshots, dataDirectory, shard }: SnapshotSubject): Promise<boolean> {
    const place = areaPlace(dataDirectory, area, shard);
    const { clock } = this.#options;
    const log = this.#options.log.with({ area });
    const startMs = clock.monotonicMs();
    try {
      await snapshots.prepareSnapshot(shard);
      log.info("snapshot started");
      const end = this.#isStopped ? "stopped" : await this.#spawn(dataDirectory, area, shard);
      if (this.#isStopped) return false;
      const isDueAgain = await snapshots.finishSnapshot(end === "written");
      const seconds = Math.round(clock.monotonicMs() - startMs) / 1_000;
      if (end === "written") this.#options.onWritten?.(area);
      if (end === "written") log.info("snapshot written", { bytes: await snapshotBytesOf(place), seconds });
      else log.warn("snapshot failed; the journal is kept, and the snapshot will be retried", { end, seconds });
      return isDueAgain && end === "written";
    } catch (fault) {
      // The thread of the area has ended, and its slot reports that; or the area could not adopt it, and tries again.
      log.warn("snapshot abandoned", { reason: fault instanceof Error ? fault.message : String(fault) });
      return false;
    }
  }

  #spawn(dataDirectory: string, area: AreaName, shard: number | undefined): Promise<string> {
    const heapFlag = `--max-old-space-size=${Math.floor(this.#options.heapBytesOf(area) / 2 ** 20)}`;
    const words = [heapFlag, NO_DEBUGGER, fileURLToPath(programFile), "internal-snapshot", dataDirectory, area];
    if (shard !== undefined) words.push(String(shard));
    const child = spawn(process.execPath, words, {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: { ...process.env, [TIED]: "1" },
    });
    this.#child = child;
    // The server has priority. Set here, so that it also holds for the start of the process and for all its threads.
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    return new Promise((resolve) => {
      child.on("error", (fault) => resolve(fault.message));
      child.on("exit", (code, signal) => {
        this.#child = undefined;
        resolve(code === 0 ? "written" : (signal ?? `exit code ${code}`));
      });
    });
  }
}

function keyOf({ area, shard }: SnapshotSubject): string {
  return `${area} ${shard ?? ""}`;
}

/** Size of the newest snapshot of an area; undefined if it has none. */
export async function snapshotBytesOf({ directory }: AreaPlace): Promise<number | undefined> {
  return newestSnapshotBytes(fileDisk, directory);
}

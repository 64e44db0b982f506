/**
 * The thread that copies the data directory to a store of objects (replication/).
 * Started by `copy-thread.ts`. It looks at the synced locations of the journals
 * some times a second, in memory that it shares with their threads.
 */
import "../prototype.ts";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../../kernel/clock.ts";
import type { Log, LogFormat, LogLevel } from "../../kernel/log.ts";
import { secretBytes, systemRandom } from "../../kernel/random.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import type { SyncedLocation } from "../../persistence/journal/file-format.ts";
import { Copier, type CopyState } from "../../replication/copier.ts";
import { CopyKey } from "../../replication/copy-key.ts";
import { openDirectoryId } from "../../replication/directory-id.ts";
import { type ObjectStore, ObjectStoreFailure } from "../../replication/objects/object-store.ts";
import { countRequest, noRequests, type StoreRequestCounts } from "../../replication/objects/store-requests.ts";
import type { AreaName } from "../areas/area.ts";
import { type LoggedProblem, recordedLog } from "../events/problems.ts";
import { copyHistoryFile } from "../history/copy.ts";
import { HISTORY_FILE } from "../history/history-store.ts";
import { copyAddressOf } from "../services/objects/copy-settings.ts";
import { openObjectStore } from "../services/objects/open-store.ts";
import { stderrLog } from "../stderr.ts";
import { SyncedPlaceReader } from "./synced-place.ts";

/** What the thread is started with. */
export interface CopyPlan {
  readonly address: string;
  /** The data directory, absolute. */
  readonly directory: string;
  readonly version: string;
  readonly keepMs: number;
  readonly partMs: number;
  readonly key: string | undefined;
  /** The newest synced location of each area's journal (synced-place.ts). */
  readonly synced: ReadonlyMap<AreaName, SharedArrayBuffer>;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
}

export type ToCopyThread =
  | { readonly kind: "files changed"; readonly area: AreaName }
  | { readonly kind: "tokens changed" }
  | { readonly kind: "close"; readonly withinMs: number };

export type FromCopyThread =
  | { readonly kind: "state"; readonly state: CopyState; readonly requests: StoreRequestCounts }
  /** The store cannot be opened. */
  | { readonly kind: "unopened"; readonly reason: string }
  /** The thread has logged a warning or an error. */
  | { readonly kind: "problem"; readonly problem: LoggedProblem }
  | { readonly kind: "closed" };

/**
 * How often the locations are looked at: so many times while a part may wait, but not more rarely than this. Waking up costs an
 * idle thread more than the look, so a report is made in the same turn (bench/copies.bench.ts).
 */
const LOOKS_PER_PART = 4;
const LOOK_MS_MAX = 250;
const REPORT_MS = 1_000;
/** After a store refused to be opened. */
const OPEN_AGAIN_MS = 30_000;
/** An area that is behind for so long is logged. */
const BEHIND_MS = 60_000;
const STAGE_MODE = 0o700;
/** In the data directory: the log of messages while it is copied. */
const STAGE = "copying";

class CopyWork {
  readonly #plan: CopyPlan;
  readonly #port: MessagePort;
  readonly #log: Log;
  readonly #places: ReadonlyMap<AreaName, SyncedPlaceReader>;
  readonly #told = new Map<AreaName, SyncedLocation>();
  readonly #late = new Set<string>();
  readonly #requests = noRequests();
  #store: ObjectStore | undefined;
  #hasNewTokens = false;
  #copier: Copier | undefined;
  #cancel: () => void = () => {};
  #reportedAtMs = 0;
  #lastReport = "";
  #historyStamp = "";
  #isClosing = false;

  constructor(plan: CopyPlan, port: MessagePort) {
    this.#plan = plan;
    this.#port = port;
    const { level, format } = plan.log;
    const note = (problem: LoggedProblem): void => this.#post({ kind: "problem", problem });
    this.#log = recordedLog(stderrLog(level, format), { level, clock: systemClock, note }).with({ part: "copy" });
    this.#places = new Map([...plan.synced].map(([area, memory]) => [area, new SyncedPlaceReader(memory)]));
  }

  /** Opens the store, again and again if it refuses, and begins to copy. */
  async open(): Promise<void> {
    const { directory, version, keepMs, partMs, key, address, synced } = this.#plan;
    try {
      const store = await openObjectStore(copyAddressOf(address), {
        ...{ environment: process.env, clock: systemClock, random: systemRandom, access: "write" },
        onRequest: (request) => countRequest(this.#requests, request),
        // The copier repeats its calls itself, without an end.
        patienceMs: 0,
      });
      if (this.#isClosing) return store.close();
      this.#store = store;
      if (this.#lastReport !== "") this.#log.info("the store of the copy does not refuse any more");
    } catch (fault) {
      if (!(fault instanceof ObjectStoreFailure)) throw fault;
      if (this.#lastReport !== fault.message)
        this.#log.error("the store of the copy refused", { reason: fault.message });
      this.#lastReport = fault.message;
      this.#post({ kind: "unopened", reason: fault.message });
      this.#cancel = systemClock.after(OPEN_AGAIN_MS, () => void this.open());
      return;
    }
    rmSync(join(directory, STAGE), { recursive: true, force: true });
    const directoryId = await openDirectoryId(fileDisk, directory, secretBytes);
    if (this.#isClosing) return;
    const copier = new Copier({
      ...{ store: this.#store, clock: systemClock, log: this.#log, disk: fileDisk, directory, version },
      directoryId,
      areas: [...synced.keys()],
      settings: { keepMs, partMs },
      key: key === undefined ? undefined : new CopyKey(key),
      locate: async (area) => {
        // First the time: everything that was durable then is before the location.
        const atMs = systemClock.nowMs();
        const location = this.#places.get(area as AreaName)?.read();
        if (location === undefined) throw new Error(`The journal of ${area} is not open`);
        return { ...location, atMs };
      },
      copyHistory: (area) => this.#copyHistory(area),
    });
    this.#copier = copier;
    copier.start();
    this.#lookAgain(Math.min(LOOK_MS_MAX, partMs / LOOKS_PER_PART));
  }

  hear(message: ToCopyThread): void {
    if (message.kind === "files changed") this.#copier?.filesChanged(message.area);
    else if (message.kind === "tokens changed") this.#tokensChanged();
    else void this.#close(message.withinMs);
  }

  /** A copy that begins may have read the file before: then it is told once more. */
  #tokensChanged(): void {
    this.#hasNewTokens = this.#copier?.state.phase === "starting";
    this.#copier?.tokensChanged();
  }

  async #close(withinMs: number): Promise<void> {
    this.#isClosing = true;
    this.#cancel();
    this.#look();
    await this.#copier?.close({ withinMs });
    this.#report();
    await this.#store?.close();
    rmSync(join(this.#plan.directory, STAGE), { recursive: true, force: true });
    this.#post({ kind: "closed" });
  }

  #lookAgain(periodMs: number): void {
    this.#cancel = systemClock.after(periodMs, () => {
      this.#look();
      const nowMs = systemClock.monotonicMs();
      // Half a period sooner, because timers are late.
      if (nowMs - this.#reportedAtMs >= REPORT_MS - periodMs / 2) {
        this.#reportedAtMs = nowMs;
        this.#report();
      }
      if (!this.#isClosing) this.#lookAgain(periodMs);
    });
  }

  #look(): void {
    for (const [area, reader] of this.#places) {
      const location = reader.read();
      if (location === undefined || location === this.#told.get(area)) continue;
      this.#told.set(area, location);
      this.#copier?.moved(area, location);
    }
  }

  #report(): void {
    if (this.#copier === undefined) return;
    const { state } = this.#copier;
    if (this.#hasNewTokens && state.phase === "copying") this.#tokensChanged();
    for (const { area, behindMs, behindBytes } of state.areas) {
      if (behindMs >= BEHIND_MS === this.#late.has(area)) continue;
      if (this.#late.delete(area)) this.#log.info("the copy has caught up", { area });
      else {
        this.#late.add(area);
        this.#log.warn("the copy is behind", { area, bytes: behindBytes, seconds: Math.round(behindMs / 1_000) });
      }
    }
    const text = JSON.stringify([state, this.#requests]);
    if (text === this.#lastReport) return;
    this.#lastReport = text;
    this.#post({ kind: "state", state, requests: this.#requests });
  }

  /** A consistent copy of the log of messages, if it has changed since the last one was stored. */
  async #copyHistory(area: string): Promise<string | undefined> {
    const { directory } = this.#plan;
    const from = join(directory, area);
    const stamp = ["", "-wal"].map((suffix) => stampOf(join(from, `${HISTORY_FILE}${suffix}`))).join();
    const stage = join(directory, STAGE);
    const path = join(stage, HISTORY_FILE);
    if (area !== "messaging") return undefined;
    // A copy that is still there was not stored.
    if (stamp === this.#historyStamp && stampOf(path) === "") return undefined;
    rmSync(stage, { recursive: true, force: true });
    mkdirSync(stage, { mode: STAGE_MODE });
    await copyHistoryFile(from, stage, this.#log);
    this.#historyStamp = stamp;
    return stampOf(path) === "" ? undefined : path;
  }

  #post(message: FromCopyThread): void {
    this.#port.postMessage(message);
  }
}

/** Empty: it does not exist. */
function stampOf(path: string): string {
  const facts = statSync(path, { throwIfNoEntry: false });
  return facts === undefined ? "" : `${facts.size} ${facts.mtimeMs}`;
}

if (parentPort !== null) {
  const work = new CopyWork(workerData as CopyPlan, parentPort);
  parentPort.on("message", (message: ToCopyThread) => work.hear(message));
  await work.open();
}

/**
 * The store of a simulated cluster and the connections to it. It can be down, let
 * commits hang, refuse them, or leave the end of a call unknown: not carried
 * out, carried out without an answer, or carried out later.
 */
import {
  type ClusterChanges,
  type ClusterView,
  DoubtfulOutcome,
  type LogStore,
} from "../../../../src/cluster/log-store/log-store.ts";
import type { Random } from "../../../../src/kernel/random.ts";
import { ModelDatabase, ModelLogStore } from "../model-log-store.ts";
import type { SimulatedTime } from "./simulated-time.ts";

/** How the store is: `hangs` and `refuses` are about commits, reads are answered. */
export type StoreState = "up" | "down" | "hangs" | "refuses";

/** A lost connection is noticed after at most this time. */
const NOTICE_MS_MAX = 3_000;
/** A backend whose client is gone may still commit for so long, and an answer may be on its way. */
export const LATE_MS_MAX = 8_000;
/** Outages that are shorter may pass without being noticed, and so may this part of longer ones. */
const NOTICED_MS_MIN = 4_500;

export class StoreServer {
  readonly database: ModelDatabase;
  readonly #time: SimulatedTime;
  readonly #random: Random;
  #state: StoreState = "up";
  #changedMs = 0;
  /** Outages that have ended, long enough to be noticed. */
  readonly #outages: { readonly fromMs: number; readonly toMs: number }[] = [];
  #hanging: (() => void)[] = [];
  /** What the store that answered had at the moment of an answer. */
  readonly #had = new WeakMap<ClusterChanges, ClusterView>();
  /** Added to each commit. */
  commitMs = 0;

  constructor(time: SimulatedTime, random: Random, clockMs: () => number) {
    this.#time = time;
    this.#random = random;
    this.database = new ModelDatabase(clockMs);
  }

  get state(): StoreState {
    return this.#state;
  }

  become(state: StoreState): void {
    if (state === this.#state) return;
    const { nowMs } = this.#time;
    if (this.#state !== "up" && nowMs - this.#changedMs >= NOTICED_MS_MIN)
      this.#outages.push({ fromMs: this.#changedMs, toMs: nowMs });
    this.#state = state;
    this.#changedMs = nowMs;
    const hanging = this.#hanging;
    this.#hanging = [];
    for (const goOn of hanging) goOn();
  }

  /** How long commits have been possible since then, or impossible for too short a time to be noticed. */
  upMsSince(sinceMs: number): number {
    const { nowMs } = this.#time;
    const outages = [...this.#outages];
    if (this.#state !== "up" && nowMs - this.#changedMs >= NOTICED_MS_MIN)
      outages.push({ fromMs: this.#changedMs, toMs: nowMs });
    let upMs = nowMs - sinceMs;
    for (const { fromMs, toMs } of outages) upMs -= Math.max(0, toMs - Math.max(fromMs, sinceMs) - NOTICED_MS_MIN);
    return upMs;
  }

  /** The store as one backend has it. */
  backend(): LogStore {
    return new ModelLogStore({ database: this.database, mayCommit: () => this.#mayCommit() });
  }

  /** Everything that the store had when it answered with these changes. */
  whatItHad(changes: ClusterChanges): ClusterView | undefined {
    return this.#had.get(changes);
  }

  /** Runs a read of `store`. */
  async read(store: LogStore, name: string, args: readonly unknown[]): Promise<unknown> {
    const answer = (Reflect.get(store, name) as (...args: unknown[]) => Promise<unknown>).apply(store, [...args]);
    if (name !== "watchChanges") return answer;
    // Nothing is committed in between: both have read what they return.
    const had = store.watch();
    this.#had.set((await answer) as ClusterChanges, await had);
    return answer;
  }

  async #mayCommit(): Promise<boolean> {
    await this.wait(1 + this.#random.below(10) + this.#random.below(1 + this.commitMs));
    while (this.#state === "hangs") await new Promise<void>((goOn) => this.#hanging.push(goOn));
    return this.#state === "up";
  }

  get nowMs(): number {
    return this.#time.nowMs;
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#time.after(ms, resolve));
  }
}

/** The connections of one process. */
export interface LinkFaults {
  /** No connection gets through. */
  isCut: boolean;
  /** The connection for renewals does not get through. */
  isRenewalCut: boolean;
  /** What it reads, while it reaches only a former primary that is cut off. */
  frozen: ModelDatabase | undefined;
  /** Of 100 calls, how many have an unknown end. */
  doubtful: number;
  /** The maximum time of a message on its way. */
  latencyMs: number;
}

const READS: readonly string[] = ["watch", "watchChanges", "segments", "heads", "read", "readSnapshotPart"];

export interface LinkOptions {
  readonly server: StoreServer;
  readonly random: Random;
  readonly faults: LinkFaults;
  readonly isForRenewals: boolean;
  /** Runs a task when the process runs, and never if it has ended. */
  readonly deliver: (task: () => void) => void;
}

type Call = () => Promise<unknown>;

/** A connection whose answer came late is slow for a while: a lease that was counted wrongly is then not set right at once. */
interface Slowness {
  untilMs: number;
}

/** A connection: one call at a time, in order. */
export function openLink(options: LinkOptions): LogStore {
  const backend = options.server.backend();
  const slowness: Slowness = { untilMs: 0 };
  let last: Promise<unknown> = Promise.resolve();
  return new Proxy(backend, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function" || typeof name !== "string") return method;
      return (...args: unknown[]) => {
        const run: Call = () => method.apply(target, args) as Promise<unknown>;
        const isRead = READS.includes(name);
        const read: Call = () => {
          const { frozen } = options.faults;
          const never = (): Promise<boolean> => Promise.resolve(false);
          const store = frozen === undefined ? target : new ModelLogStore({ database: frozen, mayCommit: never });
          return options.server.read(store, name, args);
        };
        const answer = last.then(() => (isRead ? callRead(options, read) : callChange(options, run, slowness)));
        last = answer.catch(() => {});
        return answer;
      };
    },
  });
}

async function callRead({ server, random, faults, deliver }: LinkOptions, read: Call): Promise<unknown> {
  await server.wait(random.below(faults.latencyMs));
  if (faults.isCut || server.state === "down") return lost(server, random, deliver);
  const result = await read();
  await server.wait(random.below(faults.latencyMs));
  if (faults.isCut) return lost(server, random, deliver);
  return delivered(deliver, result);
}

async function callChange(
  { server, random, faults, isForRenewals, deliver }: LinkOptions,
  run: Call,
  slowness: Slowness,
): Promise<unknown> {
  await server.wait(random.below(server.nowMs < slowness.untilMs ? LATE_MS_MAX : faults.latencyMs));
  const isCut = (): boolean => faults.isCut || faults.frozen !== undefined || (isForRenewals && faults.isRenewalCut);
  if (isCut() || server.state === "down") return lost(server, random, deliver);
  let answerMs = random.below(faults.latencyMs);
  if (random.below(100) < faults.doubtful) {
    const how = random.below(4);
    if (how === 1) await run().catch(() => {});
    if (how === 2) carryOutLate(server, random, run);
    if (how < 3) return lost(server, random, deliver);
    answerMs = random.below(LATE_MS_MAX);
    slowness.untilMs = server.nowMs + LATE_MS_MAX;
  }
  let result: unknown;
  try {
    result = await run();
  } catch (error) {
    if (server.state === "refuses") return failed(deliver, new Error("No space left on device"));
    if (error instanceof Error && error.name !== "Aborted") return failed(deliver, error);
    return lost(server, random, deliver);
  }
  await server.wait(answerMs);
  if (isCut()) return lost(server, random, deliver);
  return delivered(deliver, result);
}

function carryOutLate(server: StoreServer, random: Random, run: Call): void {
  const delayMs = random.below(LATE_MS_MAX);
  const late = async (): Promise<void> => {
    await server.wait(delayMs);
    if (server.state !== "down") await run().catch(() => {});
  };
  void late();
}

async function lost(server: StoreServer, random: Random, deliver: LinkOptions["deliver"]): Promise<never> {
  await server.wait(random.below(NOTICE_MS_MAX));
  return failed(deliver, new DoubtfulOutcome("The connection was lost"));
}

function delivered<Result>(deliver: LinkOptions["deliver"], result: Result): Promise<Result> {
  return new Promise((resolve) => deliver(() => resolve(result)));
}

function failed(deliver: LinkOptions["deliver"], error: Error): Promise<never> {
  return new Promise((_, reject) => deliver(() => reject(error)));
}

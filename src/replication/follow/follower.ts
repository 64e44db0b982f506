/**
 * Keeps a directory up to date with a copy until it is told to end: one attempt after
 * the other, with a pause between them.
 *
 * (1) It never gives up and never promotes: a store that is away, or a copy that cannot be
 *     read, is a problem that is told and tried again, with growing pauses.
 * (2) One attempt is under way at a time. An attempt that is ended touches nothing any more
 *     when `close` or `finish` has resolved.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { DamagedData, NewerFormat } from "../../persistence/errors.ts";
import { DamagedCopy, UnusableCopy } from "../errors.ts";
import { type ObjectStore, ObjectStoreFailure } from "../objects/object-store.ts";
import { AttemptEnded, EndableStore } from "./endable-store.ts";
import { CopyBehind, type FollowedCopy, type PassOutcome } from "./followed-copy.ts";
import type { FollowRecord } from "./record.ts";

export interface FollowerOptions {
  readonly copy: FollowedCopy;
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Between two looks at the store. */
  readonly intervalMs: number;
  /** Between two whole passes; absent: `PLAN_MS`. */
  readonly planMs?: number;
}

/** How often the newest state is planned as a whole: then snapshots, tokens and the log of messages are fetched too. */
const PLAN_MS = 5 * 60_000;
/** A server proves every five minutes that its copy is complete. */
export const STALE_MS = 15 * 60_000;
const PAUSE_MS_MAX = 60_000;
const LAST_AGAIN_MS = 1_000;
/** A list that is read while objects are removed may fail once. */
const PASSING_COUNT = 2;

/** Why the newest state could not be fetched in time. */
export class LastFetchFailed extends Error {
  override name = "LastFetchFailed";
}

/** Whether the server that writes the copy has proven nothing for some time: it is stopped, or it does not copy. */
export function isStale({ areas }: Pick<FollowRecord, "areas">, nowMs: number): boolean {
  return areas.length > 0 && nowMs - Math.max(...areas.map(({ completeToMs }) => completeToMs)) > STALE_MS;
}

export class Follower {
  readonly #options: FollowerOptions;
  #current: EndableStore | undefined;
  /** Resolves after the attempt that is under way. */
  #turn: Promise<unknown> = Promise.resolve();
  #wake: () => void = () => {};
  #isRunning = false;
  #isClosing = false;
  #loop: Promise<void> = Promise.resolve();
  #failureCount = 0;
  #failuresInAll = 0;
  #plannedAtMs = Number.NEGATIVE_INFINITY;
  #told = "";
  #isStaleTold = false;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Attempts that failed since the start; one that was ended did not fail. */
  get failures(): number {
    return this.#failuresInAll;
  }

  /** One attempt. Returns why it failed; the loop would try again. */
  attempt(): Promise<unknown> {
    const result = this.#turn.then(() => this.#attempt());
    this.#turn = result;
    return result;
  }

  /** Follows until `close` or `finish`, and returns at once. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#loop = this.#loop.then(() => this.#run());
  }

  /** Ends everything. keeps (2) */
  async close(): Promise<void> {
    this.#isRunning = false;
    this.#isClosing = true;
    this.#current?.end();
    this.#wake();
    await this.#turn;
    await this.#loop;
    this.#isClosing = false;
  }

  /**
   * Ends the loop and fetches the newest state once more. Rejects with `LastFetchFailed` if that takes longer than `withinMs`,
   * or cannot succeed: `start` goes on then.
   */
  async finish(withinMs: number): Promise<void> {
    await this.close();
    const { clock, copy, store } = this.#options;
    const endMs = clock.monotonicMs() + withinMs;
    for (let reason = "the time was too short"; ; ) {
      const leftMs = endMs - clock.monotonicMs();
      if (leftMs <= 0) throw new LastFetchFailed(reason);
      const attempt = new EndableStore(store);
      const cancel = clock.after(leftMs, () => attempt.end());
      try {
        const outcome = await copy.fetchAll(attempt);
        if (outcome === "waiting") throw new UnusableCopy("no server has copied a whole data directory to it");
        return;
      } catch (error) {
        if (!(error instanceof AttemptEnded)) this.#failuresInAll += 1;
        if (error instanceof UnusableCopy) throw new LastFetchFailed(error.message);
        if (!(error instanceof AttemptEnded)) reason = error instanceof Error ? error.message : String(error);
        if (!isAboutCopy(error)) copy.forget();
      } finally {
        cancel();
      }
      await this.#pause(Math.min(LAST_AGAIN_MS, Math.max(0, endMs - clock.monotonicMs())));
    }
  }

  async #run(): Promise<void> {
    const { intervalMs } = this.#options;
    while (this.#isRunning) {
      await this.attempt();
      const factor = 2 ** Math.min(16, Math.max(0, this.#failureCount - 1));
      // keeps (1)
      if (this.#isRunning) await this.#pause(Math.max(intervalMs, Math.min(PAUSE_MS_MAX, intervalMs * factor)));
    }
  }

  async #attempt(): Promise<unknown> {
    const { copy, store, clock, planMs = PLAN_MS } = this.#options;
    const attempt = new EndableStore(store);
    if (this.#isClosing) attempt.end();
    this.#current = attempt;
    const nowMs = clock.monotonicMs();
    const isPlanned = this.#failureCount > 0 || nowMs - this.#plannedAtMs >= planMs;
    try {
      const outcome = await (isPlanned ? copy.fetchAll(attempt) : copy.fetchNew(attempt));
      if (isPlanned) this.#plannedAtMs = nowMs;
      this.#failureCount = 0;
      this.#tellProgress(outcome);
      return undefined;
    } catch (error) {
      if (error instanceof AttemptEnded) return error;
      this.#failureCount += 1;
      this.#failuresInAll += 1;
      await this.#tellProblem(error);
      return error;
    } finally {
      this.#current = undefined;
    }
  }

  #tellProgress(outcome: PassOutcome): void {
    const { copy, log, clock } = this.#options;
    const { generation, areas } = copy.record;
    const what = outcome === "waiting" ? outcome : `generation ${generation}`;
    if (what !== this.#told) {
      this.#told = what;
      if (outcome === "waiting")
        log.info("the copy has nothing yet: the directory waits for a server that copies to it");
      else
        log.info("the directory has caught up with the copy", {
          generation,
          completeTo: new Date(Math.min(...areas.map(({ completeToMs }) => completeToMs))).toISOString(),
        });
    }
    if (isStale(copy.record, clock.nowMs()) === this.#isStaleTold) return;
    this.#isStaleTold = !this.#isStaleTold;
    if (this.#isStaleTold)
      log.warn("the copy has had nothing new for some time: its server is stopped, or does not copy", {
        completeTo: new Date(Math.max(...areas.map(({ completeToMs }) => completeToMs))).toISOString(),
      });
    else log.info("the copy has something new again");
  }

  async #tellProblem(error: unknown): Promise<void> {
    const { copy, log } = this.#options;
    const isPassing = error instanceof DamagedCopy || error instanceof CopyBehind;
    if (isPassing && this.#failureCount < PASSING_COUNT) return;
    const text = error instanceof Error ? error.message : String(error);
    const isKnown = isAboutCopy(error);
    if (!isKnown) copy.forget();
    if (this.#told !== text)
      log.warn("cannot follow the copy, and tries again", isKnown ? { reason: text } : faultFields(error));
    this.#told = text;
    // On a full disk the record stays as it is; the log has the problem.
    await copy.note(text).catch(() => {});
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const goOn = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.#options.clock.after(ms, goOn);
      this.#wake = goOn;
    });
  }
}

/** Whether an error is about the copy and not about the directory. */
function isAboutCopy(error: unknown): boolean {
  return [AttemptEnded, CopyBehind, DamagedCopy, DamagedData, NewerFormat, ObjectStoreFailure, UnusableCopy].some(
    (kind) => error instanceof kind,
  );
}

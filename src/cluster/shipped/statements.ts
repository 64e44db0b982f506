/**
 * Statements to the log store, one at a time and each until its end is known.
 *
 * (1) A statement whose end is unknown is sent again, the same, and no other one
 *     of this queue is sent before its answer.
 * (2) No trouble of the store is an error of a statement: it is repeated, and
 *     after ANSWER_MS_MAX, or at once if the store is full, `trouble` says why.
 * (3) After `end` nothing is sent, and what waits fails.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { DoubtfulOutcome, SnapshotIncomplete, StoreFull } from "../log-store/log-store.ts";

export interface StatementsOptions {
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** Called with the reason when nothing is stored, and with undefined when a statement has returned again. */
  trouble(reason: string | undefined): void;
}

export const NO_ANSWER = "PostgreSQL does not answer";
export const STORE_FULL = "PostgreSQL is full";

const ANSWER_MS_MAX = 2_000;
/** A lost connection is opened again at once; a store that refuses is asked each second. */
const REPEAT_MS_MIN = 50;
const REPEAT_MS_MAX = 1_000;

export class Statements {
  readonly #options: StatementsOptions;
  /** Settles after the statement before. */
  #last: Promise<unknown> = Promise.resolve();
  #trouble: string | undefined;
  #ended: Error | undefined;
  /** Fails the statement that is running. */
  #fail: (reason: Error) => void = () => {};
  /** Ends the wait before a repetition. */
  #stopWaiting: () => void = () => {};

  constructor(options: StatementsOptions) {
    this.#options = options;
  }

  /** Resolves with the answer of the store. Rejects with `SnapshotIncomplete`, or after `end` with its reason. */
  run<Result>(statement: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(() => this.#run(statement));
    this.#last = result.catch(() => undefined); // The caller receives the error.
    return result;
  }

  /** Fails the statement that is running and all later ones. */
  end(reason: Error): void {
    this.#ended ??= reason;
    this.#fail(this.#ended);
    this.#stopWaiting();
  }

  async #run<Result>(statement: () => Promise<Result>): Promise<Result> {
    const cancelWatch = this.#options.clock.after(ANSWER_MS_MAX, () => this.#report(NO_ANSWER));
    try {
      const ended = new Promise<never>((_, reject) => {
        this.#fail = reject;
      });
      return await Promise.race([this.#untilAnswered(statement), ended]);
    } finally {
      cancelWatch();
      this.#fail = () => {};
    }
  }

  /** keeps (1) and (2) */
  async #untilAnswered<Result>(statement: () => Promise<Result>): Promise<Result> {
    for (let waitMs = REPEAT_MS_MIN; ; waitMs = Math.min(2 * waitMs, REPEAT_MS_MAX)) {
      if (this.#ended !== undefined) throw this.#ended; // keeps (3)
      try {
        const result = await statement();
        this.#report(undefined);
        return result;
      } catch (fault) {
        if (fault instanceof SnapshotIncomplete || this.#ended !== undefined) throw fault;
        const isFull = fault instanceof StoreFull;
        if (isFull) this.#report(STORE_FULL);
        else this.#options.log.warn("a statement to the log store is repeated", faultFields(fault));
        await this.#wait(fault instanceof DoubtfulOutcome ? waitMs : REPEAT_MS_MAX);
      }
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, resolve);
      this.#stopWaiting = () => {
        cancel();
        resolve();
      };
    });
  }

  #report(reason: string | undefined): void {
    if (reason === this.#trouble || this.#ended !== undefined) return;
    this.#trouble = reason;
    this.#options.trouble(reason);
  }
}

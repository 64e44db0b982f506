/**
 * Repeats calls of an object store until they succeed: for a takeover, which has
 * no other state to begin with.
 */
import type { Clock } from "../../kernel/clock.ts";
import { faultFields, type Log } from "../../kernel/log.ts";
import { ObjectTrouble } from "./objects.ts";

export interface ObjectPatienceOptions {
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** Called with the reason when a call has failed, and with undefined when one has succeeded again. */
  trouble(reason: string | undefined): void;
}

const REPEAT_MS_MIN = 500;
const REPEAT_MS_MAX = 10_000;

export class ObjectPatience {
  readonly #options: ObjectPatienceOptions;
  #trouble: string | undefined;

  constructor(options: ObjectPatienceOptions) {
    this.#options = options;
  }

  /** Rejects with errors that are not `ObjectTrouble`. */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    for (let waitMs = REPEAT_MS_MIN; ; waitMs = Math.min(2 * waitMs, REPEAT_MS_MAX)) {
      try {
        const result = await call();
        this.#report(undefined);
        return result;
      } catch (fault) {
        if (!(fault instanceof ObjectTrouble)) throw fault;
        this.#options.log.warn("a call of the object store is repeated", faultFields(fault));
        this.#report(fault.message);
        await new Promise<void>((resolve) => this.#options.clock.after(waitMs, resolve));
      }
    }
  }

  #report(reason: string | undefined): void {
    if (reason === this.#trouble) return;
    this.#trouble = reason;
    this.#options.trouble(reason);
  }
}

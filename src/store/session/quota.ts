/** The daily request limit of a database: commands counted per UTC day, forgotten at a restart. */
import { CommandError } from "../errors.ts";

const DAY_MS = 86_400_000;

export class Quota {
  readonly #max: number;
  #day = 0;
  #used = 0;

  /** `max` commands a day; 0 means no limit. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Counts commands, all or none of them. Returns the refusal if they would exceed the limit. */
  take(count: number, nowMs: number): CommandError | undefined {
    return this.#max === 0 ? undefined : this.#takeOfDay(count, nowMs);
  }

  #takeOfDay(count: number, nowMs: number): CommandError | undefined {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#used = 0;
    }
    const usage = this.#used + count;
    if (usage > this.#max) {
      return new CommandError(
        `ERR max daily request limit exceeded. Limit: ${this.#max}, Usage: ${usage}. The operator sets it with --daily-request-limit`,
      );
    }
    this.#used = usage;
    return undefined;
  }
}

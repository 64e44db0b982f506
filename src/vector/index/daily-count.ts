/** Counts the use of an index on each UTC day. The count is in memory, so a restart resets it. */
import type { Clock } from "../../kernel/clock.ts";
import { VectorFailure } from "../failure.ts";

const DAY_MS = 86_400_000;

export class DailyCount {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #what: string;
  readonly #countMax: number;
  #day = -1;
  #count = 0;

  /** `countMax` 0 means no limit. `what` names the counted units, in the plural. */
  constructor(clock: Pick<Clock, "nowMs">, what: string, countMax: number) {
    this.#clock = clock;
    this.#what = what;
    this.#countMax = countMax;
  }

  /** Throws a `VectorFailure` and counts nothing if `count` more exceed the limit. */
  add(count: number): void {
    if (this.#countMax === 0) return;
    const day = Math.floor(this.#clock.nowMs() / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#count = 0;
    }
    if (this.#count + count > this.#countMax)
      throw new VectorFailure(
        "too many requests",
        `Maximum number of ${this.#what} per day exceeded: ${this.#countMax}`,
      );
    this.#count += count;
  }
}

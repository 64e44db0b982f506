/** How much was asked of an index today, in UTC days. Counted in memory: a restart begins anew. */
import type { Clock } from "../../kernel/clock.ts";
import { VectorFailure } from "../failure.ts";

const DAY_MS = 86_400_000;

export class DailyCount {
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #what: string;
  readonly #countMax: number;
  #day = -1;
  #count = 0;

  /** `countMax` 0: no limit. `what` is counted, in the plural. */
  constructor(clock: Pick<Clock, "nowMs">, what: string, countMax: number) {
    this.#clock = clock;
    this.#what = what;
    this.#countMax = countMax;
  }

  /** Throws a `VectorFailure` and counts nothing when `count` more are too many. */
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

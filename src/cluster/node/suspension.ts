/**
 * Whether a shard is suspended: its memory stays, but writes are refused and no
 * call starts. It is, while the lease of its node has run out or a commit of its
 * journal takes too long. A renewal that returns and the end of the commit resume
 * it: losing the lease is not losing the shard.
 *
 * Nothing is timed: each question reads the clock, so that a process which was
 * paused knows it at once when it wakes.
 */
import type { Clock } from "../../kernel/clock.ts";
import { COMMIT_MS_MAX } from "./bounds.ts";
import type { ReadGuard } from "./lease.ts";

const NO_ANSWER = "PostgreSQL does not answer";

export class Suspension {
  readonly #lease: ReadGuard;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** When each commit that is under way began, the oldest first. */
  readonly #commits = new Map<symbol, number>();
  #waiting: (() => void)[] = [];

  constructor(lease: ReadGuard, clock: Pick<Clock, "monotonicMs">) {
    this.#lease = lease;
    this.#clock = clock;
  }

  /** A commit begins. Call the returned function when it has returned. */
  commitBegins(): () => void {
    const commit = Symbol("commit");
    this.#commits.set(commit, this.#clock.monotonicMs());
    return () => {
      this.#commits.delete(commit);
      if (this.reason === undefined) this.#wake();
    };
  }

  /** Why writes are refused now, or undefined. */
  get reason(): string | undefined {
    const [oldestMs] = this.#commits.values();
    const isSlow = oldestMs !== undefined && this.#clock.monotonicMs() - oldestMs > COMMIT_MS_MAX;
    return isSlow || !this.#lease.isFresh() ? NO_ANSWER : undefined;
  }

  /** Resolves when the shard is not suspended. */
  async whenResumed(): Promise<void> {
    while (this.reason !== undefined) {
      if (this.#lease.isFresh()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      else await this.#lease.whenFresh();
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

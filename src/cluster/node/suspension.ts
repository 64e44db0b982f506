/**
 * Whether a shard is suspended: its memory stays, but writes are refused and no
 * call starts. It is, while the lease of its node has run out or a commit of its
 * journal takes too long. A renewal that returns and the end of the commit resume
 * it: losing the lease is not losing the shard.
 *
 * (1) Calls of destinations stop earlier, when the oldest frame that is not
 *     committed is CALL_LAG_MS_MAX old. What a call does is repeated by the next
 *     owner unless its result is committed, so a node that was cut off must not
 *     go on calling until its lease ends.
 *
 * Nothing is timed: each question reads the clock, so that a process which was
 * paused knows it at once when it wakes.
 */
import type { Clock } from "../../kernel/clock.ts";
import { CALL_LAG_MS_MAX, COMMIT_MS_MAX } from "./bounds.ts";
import type { ReadGuard } from "./lease.ts";

/** The reason while there is no fresh lease, or a commit takes too long. */
export const NO_ANSWER = "PostgreSQL does not answer";

export class Suspension {
  readonly #lease: ReadGuard;
  /** When each commit that is under way began. */
  readonly #commits: Ages;
  /** When each write that is not committed was made. */
  readonly #writes: Ages;
  #waiting: (() => void)[] = [];

  constructor(lease: ReadGuard, clock: Pick<Clock, "monotonicMs">) {
    this.#lease = lease;
    this.#commits = new Ages(clock);
    this.#writes = new Ages(clock);
  }

  /** A commit begins. Call the returned function when it has returned. */
  commitBegins(): () => void {
    const ends = this.#commits.begin();
    return () => {
      ends();
      if (this.reason === undefined) this.#wake();
    };
  }

  /** A frame was written. Call the returned function when it is committed. */
  written(): () => void {
    return this.#writes.begin();
  }

  /** Why writes are refused now, or undefined. */
  get reason(): string | undefined {
    return this.#commits.oldestMs > COMMIT_MS_MAX || !this.#lease.isFresh() ? NO_ANSWER : undefined;
  }

  /** The age of the oldest write that is not committed, in milliseconds; 0 without one. */
  get lagMs(): number {
    return this.#writes.oldestMs;
  }

  /** Whether a call of a destination may start now: keeps (1). */
  get mayCall(): boolean {
    return this.reason === undefined && this.lagMs <= CALL_LAG_MS_MAX;
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

/** How long each of several things has been under way. */
class Ages {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** When they began, the oldest first. */
  readonly #begun = new Map<symbol, number>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  begin(): () => void {
    const key = Symbol("begun");
    this.#begun.set(key, this.#clock.monotonicMs());
    return () => this.#begun.delete(key);
  }

  /** 0 if nothing is under way. */
  get oldestMs(): number {
    const [first] = this.#begun.values();
    return first === undefined ? 0 : this.#clock.monotonicMs() - first;
  }
}

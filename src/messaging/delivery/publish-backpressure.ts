/**
 * Delivers before it accepts: when calling lags behind, publishers wait.
 * Otherwise requests that are quick to accept would take all the time of the
 * thread, and messages would pile up that could be delivered.
 *
 * Calling lags when a message has waited for longer than LAG_MS_MAX although
 * nothing holds it but us: it is ready and a slot is free, or it waits for a
 * slot of a destination that answers quickly. What waits for retries, rates,
 * queues or a slow destination slows nobody down.
 *
 * While it lags, each call that ends lets one publisher through, so as much is
 * accepted as is delivered; and nobody waits longer than WAIT_MS_MAX.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Scheduler } from "./scheduler.ts";

const LAG_MS_MAX = 50;
const WAIT_MS_MAX = 250;
/** The lag is worked out so often at most. */
const LOOK_EVERY_MS = 5;

export class PublishBackpressure {
  readonly #scheduler: Scheduler;
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isLagging = false;

  /** Publishers wait in real time, so the clock is the real one. */
  constructor(scheduler: Scheduler, clock: Clock) {
    this.#scheduler = scheduler;
    this.#clock = clock;
  }

  /** Publishers that wait. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Undefined: accept at once. Otherwise when the promise resolves. */
  wait(): Promise<void> | undefined {
    const realMs = this.#clock.monotonicMs();
    if (realMs - this.#lookedAtMs >= LOOK_EVERY_MS) {
      this.#lookedAtMs = realMs;
      this.#isLagging = this.#scheduler.lagMs(realMs) > LAG_MS_MAX;
    }
    if (!this.#isLagging) return undefined;
    return new Promise((resolve) => {
      const cancel = this.#clock.after(WAIT_MS_MAX, () => {
        this.#waiting = this.#waiting.filter((other) => other !== release);
        resolve();
      });
      const release = (): void => {
        cancel();
        resolve();
      };
      this.#waiting.push(release);
    });
  }

  /** A call has ended. */
  release(): void {
    this.#waiting.shift()?.();
  }
}

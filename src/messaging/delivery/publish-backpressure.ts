/**
 * Backpressure: publishers wait when calls are late. Otherwise requests, which
 * are quick to accept, would take all the time of the thread, and messages that
 * could be delivered would pile up.
 *
 * Calls are late when a message has waited for longer than LAG_MS_MAX only
 * because this server is busy: it is ready and a slot is free, or it waits for a
 * slot of a destination that answers quickly. Messages that wait for retries,
 * rates, queues or a slow destination do not delay publishers.
 *
 * While calls are late, each call that ends lets one publisher through, so as
 * many messages are accepted as are delivered. No publisher waits longer than
 * WAIT_MS_MAX.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Scheduler } from "./scheduler.ts";

const LAG_MS_MAX = 50;
const WAIT_MS_MAX = 250;
/** The lag is computed at most this often. */
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

  /** Undefined: the publish is accepted at once. Otherwise it is accepted when the promise resolves. */
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

  /** A call has ended: lets one publisher through. */
  release(): void {
    this.#waiting.shift()?.();
  }
}

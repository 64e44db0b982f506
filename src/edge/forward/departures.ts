/**
 * How many requests may begin a connection at once. A burst of requests would
 * otherwise begin one handshake for each, and while the thread computes all of
 * them, the first ones take longer than a connection may.
 *
 * (1) At most DEPARTURES_MAX requests are on their way to a connection; others wait
 *     for these, in their order.
 * (2) When a connection cannot be made, those that wait are refused: nothing of
 *     them was sent, and each would wait for the same peer in turn.
 */
import { type Dispatcher, errors } from "undici";

export const DEPARTURES_MAX = 32;

/** A request of the HTTP client that says when it has left. */
export interface Traveller extends Dispatcher.DispatchHandler {
  /** Called once: a connection has taken it, or none could be made. */
  onLeft: ((isConnected: boolean) => void) | undefined;
  /** The HTTP client refuses it. */
  failed(fault: unknown): void;
  /** It was not sent, and will not be. */
  refused(): void;
}

/** True for a request that the HTTP client itself refuses, whatever its connection. */
export function isUnsendable(fault: unknown): boolean {
  return fault instanceof errors.InvalidArgumentError || fault instanceof errors.NotSupportedError;
}

export interface Departure {
  /** Goes to a connection. Its owner calls `left` of the departures once, at once or later. */
  begin(): void;
  /** It was not begun and never will be. */
  refuse(): void;
}

export class Departures {
  readonly #waiting: Departure[] = [];
  #underWayCount = 0;
  #isBeginning = false;
  #isClosed = false;
  #whenNone: (() => void) | undefined;

  add(departure: Departure): void {
    if (this.#isClosed) {
      departure.refuse();
      return;
    }
    this.#waiting.push(departure);
    this.#beginNext();
  }

  /** A departure has its connection, or has none and gets none. */
  left({ isConnected }: { readonly isConnected: boolean }): void {
    this.#underWayCount -= 1;
    if (!isConnected) this.#refuseAll(); // keeps (2)
    this.#beginNext();
    if (this.#underWayCount > 0 || this.#waiting.length > 0) return;
    const task = this.#whenNone;
    this.#whenNone = undefined;
    task?.();
  }

  /** Calls once when all have left: at once, if no request is under way. */
  whenNone(task: () => void): void {
    if (this.#underWayCount === 0 && this.#waiting.length === 0) task();
    else this.#whenNone = task;
  }

  /** Refuses those that wait and those that come. */
  close(): void {
    this.#isClosed = true;
    this.#refuseAll();
  }

  /** keeps (1). A departure that leaves at once calls `left` while this runs. */
  #beginNext(): void {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    while (this.#underWayCount < DEPARTURES_MAX) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#underWayCount += 1;
      next.begin();
    }
    this.#isBeginning = false;
  }

  #refuseAll(): void {
    for (const departure of this.#waiting.splice(0)) departure.refuse();
  }
}

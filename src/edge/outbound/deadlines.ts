/**
 * The deadlines of calls. Most calls of a server have the same timeout and end
 * long before it, so there is one timer for all calls with the same timeout.
 *
 * (1) Calls with one timeout are in the order of their deadlines, because they
 *     were added in the order of time.
 * (2) While a list has calls, its timer fires at the deadline of the first one or
 *     before it. A list without calls has no timer, which would keep the process
 *     running.
 * (3) Timers run before the poll of the event loop, so input that has arrived
 *     meanwhile is read before a call expires.
 */
import type { Clock } from "../../kernel/clock.ts";
import { afterPoll } from "../../kernel/turn.ts";

/** A call with a deadline. `Deadlines` sets the fields. */
export interface Timed {
  deadlineMs: number;
  earlier: Timed | undefined;
  later: Timed | undefined;
  /** Its deadline has passed. It has been removed. */
  expire(): void;
}

interface List {
  first: Timed | undefined;
  last: Timed | undefined;
  cancel: () => void;
}

export class Deadlines {
  readonly #clock: Pick<Clock, "after" | "monotonicMs">;
  /** By timeout in ms. */
  readonly #lists = new Map<number, List>();

  constructor(clock: Pick<Clock, "after" | "monotonicMs">) {
    this.#clock = clock;
  }

  add(call: Timed, timeoutMs: number): void {
    call.deadlineMs = this.#clock.monotonicMs() + timeoutMs;
    const list = this.#lists.get(timeoutMs);
    if (list === undefined) {
      const opened: List = { first: call, last: call, cancel: () => {} };
      this.#lists.set(timeoutMs, opened);
      this.#arm(opened, timeoutMs, timeoutMs);
      return;
    }
    call.earlier = list.last;
    if (list.last !== undefined) list.last.later = call;
    list.last = call;
  }

  /** A call has ended; with the timeout of `add`. Has no effect on a call that has expired. */
  remove(call: Timed, timeoutMs: number): void {
    const list = this.#lists.get(timeoutMs);
    const { earlier, later } = call;
    if (list === undefined || (earlier === undefined && list.first !== call)) return;
    if (earlier !== undefined) earlier.later = later;
    else list.first = later;
    if (later !== undefined) later.earlier = earlier;
    else list.last = earlier;
    call.earlier = undefined;
    call.later = undefined;
    if (list.first !== undefined) return;
    list.cancel(); // keeps (2)
    this.#lists.delete(timeoutMs);
  }

  #arm(list: List, timeoutMs: number, delayMs: number): void {
    list.cancel = afterPoll(this.#clock, delayMs, () => this.#expire(list, timeoutMs)); // keeps (3)
  }

  #expire(list: List, timeoutMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    for (let { first } = list; first !== undefined && first.deadlineMs <= nowMs; first = list.first) {
      this.remove(first, timeoutMs);
      first.expire();
    }
    // keeps (2): timers may fire a fraction of a millisecond early.
    if (list.first !== undefined) this.#arm(list, timeoutMs, Math.max(1, list.first.deadlineMs - nowMs));
  }
}

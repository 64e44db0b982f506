/**
 * The log of messages as a history stores it: it receives the durable frames in
 * order, lags at random, and outlives crashes with its contents. In the end it
 * has each state that a message reached, once.
 */
import { historyEventsOf } from "../../../src/messaging/history.ts";
import { messageStateName } from "../../../src/messaging/state/states.ts";
import type { Ledger } from "./ledger.ts";
import { check } from "./violation.ts";

export class HistoryCopy {
  /** The position after the last frame received. */
  position = 0;
  readonly #statesBySequence = new Map<number, string[]>();

  follow(frames: readonly Buffer[], to: number): void {
    for (; this.position < to; this.position += 1) {
      const { messages, entries } = historyEventsOf(frames[this.position] as Buffer);
      for (const { message } of messages) this.#statesBySequence.set(message, []);
      for (const { message, state: to, timeMs } of entries)
        this.#statesBySequence.get(message)?.push(`${messageStateName(to)} ${timeMs}`);
    }
  }

  checkComplete(ledger: Ledger): void {
    for (const [sequence, { entries }] of ledger.messages) {
      const expected = entries.map(({ state: to, atMs }) => `${messageStateName(to)} ${atMs}`).join(", ");
      const found = this.#statesBySequence.get(sequence)?.join(", ");
      check(found === expected, () => `The history has ${found} of message ${sequence}, not ${expected}`);
    }
    check(this.#statesBySequence.size === ledger.messages.size, () => "The history has messages that never existed");
  }
}

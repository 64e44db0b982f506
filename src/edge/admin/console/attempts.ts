/**
 * A limit on wrong log-ins, by address (for IPv6, by /64 network).
 *
 * (1) After `WRONG_MAX` wrong tokens within `WINDOW_MS`, the address is refused
 *     until the window is over, with the right token too, so that an answer says
 *     nothing about it.
 * (2) The table has at most `ADDRESSES_MAX` entries; the oldest is replaced. Many
 *     addresses may so try more often, which the length of the token allows for.
 */
import type { Clock } from "../../../kernel/clock.ts";
import { addressGroup } from "../../http/trusted-proxies.ts";

export const WRONG_MAX = 5;
export const WINDOW_MS = 60_000;
export const ADDRESSES_MAX = 1_000;

interface Window {
  readonly startedAtMs: number;
  count: number;
}

export class LoginAttempts {
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** By address, the oldest first. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  get addressCount(): number {
    return this.#windows.size;
  }

  /** How long the address is refused. keeps (1) */
  waitMs(address: string): number {
    const window = this.#windows.get(addressGroup(address));
    if (window === undefined || window.count < WRONG_MAX) return 0;
    return Math.max(0, window.startedAtMs + WINDOW_MS - this.#clock.monotonicMs());
  }

  /** Counts a wrong token. */
  noteWrong(address: string): void {
    const nowMs = this.#clock.monotonicMs();
    const group = addressGroup(address);
    const window = this.#windows.get(group);
    if (window !== undefined && nowMs - window.startedAtMs < WINDOW_MS) {
      window.count += 1;
      return;
    }
    this.#windows.delete(group);
    for (const [oldest] of this.#windows) {
      if (this.#windows.size < ADDRESSES_MAX) break;
      this.#windows.delete(oldest); // keeps (2)
    }
    this.#windows.set(group, { startedAtMs: nowMs, count: 1 });
  }
}

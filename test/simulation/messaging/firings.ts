/** When schedules fired: once for each moment, and once for all missed moments. */
import type { MessagingState } from "../../../src/messaging/state/messaging-state.ts";
import type { Tracked } from "./ledger.ts";
import { check } from "./violation.ts";

interface Firing {
  readonly momentMs: number;
  readonly atMs: number;
  readonly position: number;
}

export class Firings {
  readonly #firings = new Map<string, Firing[]>();

  /** A schedule was put, or its moments were corrected after a wrong clock: it begins again. */
  put(user: number, id: string): void {
    this.#firings.delete(`${user} ${id}`);
  }

  recovered(position: number): void {
    for (const [key, firings] of this.#firings) {
      this.#firings.set(
        key,
        firings.filter((firing) => firing.position <= position),
      );
    }
  }

  /** A frame has a message that names a schedule. */
  seen(state: MessagingState, { user, fields, sequence, createdAtMs: atMs, position }: Tracked): void {
    const id = fields.scheduleId ?? "";
    const record = state.userOf(user).schedules.get(id)?.record;
    // A retried dead letter names its schedule too.
    if (record?.lastMessages.some((fired) => fired.sequence === sequence) !== true) return;
    const { lastFireMs: momentMs, isPaused } = record;
    const key = `${user} ${id}`;
    const firings = this.#firings.get(key) ?? [];
    this.#firings.set(key, firings);
    const last = firings.at(-1);
    if (last?.position === position) return; // The same firing, to another endpoint.
    check(!isPaused, () => `The schedule ${id} fires while it is paused`);
    check(momentMs <= atMs, () => `The schedule ${id} fires ${momentMs - atMs} ms before its moment`);
    if (last !== undefined) {
      check(momentMs > last.momentMs, () => `The schedule ${id} fires again for ${momentMs} after ${last.momentMs}`);
      check(momentMs > last.atMs, () => `The schedule ${id} fires for ${momentMs}, but caught up at ${last.atMs}`);
    }
    firings.push({ momentMs, atMs, position });
  }
}

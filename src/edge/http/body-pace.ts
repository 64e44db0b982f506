/**
 * How fast the bodies of requests have to come (threats S-01): after a while
 * with less than the least rate on average a request is refused.
 *
 * Time is counted in ticks of our own timer, and a late tick counts as one that
 * came in time: when the thread was busy, what the peer has sent may lie in the
 * kernel, unread, and nobody is refused for that.
 */
import type { Clock } from "../../kernel/clock.ts";

/** A request whose body is being read. */
export interface PacedBody {
  readonly receivedBytes: number;
  /** Nothing is read of it for now, whatever comes. */
  readonly isPaused: boolean;
  /** Kept for the one who paces it: how long it has been waited for. Begins at 0. */
  waitedMs: number;
  tooSlow(): void;
}

export interface BodyPaceOptions {
  readonly clock: Clock;
  readonly bytesPerSecondMin: number;
  /** So long nothing is asked of a body. */
  readonly graceMs: number;
  readonly bodies: () => Iterable<PacedBody>;
}

const TICK_MS = 1_000;

/** Looks at the bodies each second until the returned function is called. */
export function paceBodies({ clock, bytesPerSecondMin, graceMs, bodies }: BodyPaceOptions): () => void {
  let cancel = (): void => {};
  const tick = (): void => {
    cancel = clock.after(TICK_MS, tick);
    for (const body of [...bodies()]) {
      if (body.isPaused) continue;
      body.waitedMs += TICK_MS;
      if (body.waitedMs <= graceMs) continue;
      if (body.receivedBytes < (bytesPerSecondMin * body.waitedMs) / 1_000) body.tooSlow();
    }
  };
  cancel = clock.after(TICK_MS, tick);
  return () => cancel();
}

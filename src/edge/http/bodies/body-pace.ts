/**
 * The least rate of request bodies (threats S-01). A request is refused when its
 * average rate is below it after a grace period.
 *
 * Time is counted in ticks of our own timer, and a late tick counts as a timely
 * one: while the thread is busy, bytes of the peer may lie unread in the kernel,
 * and that is no reason to refuse a request.
 */
import type { Clock } from "../../../kernel/clock.ts";

/** A request whose body is being read. */
export interface PacedBody {
  readonly receivedBytes: number;
  /** Reading is paused, so missing bytes are not the peer's fault. */
  readonly isPaused: boolean;
  /** Time that `paceBodies` has counted for it. Begins at 0. */
  waitedMs: number;
  tooSlow(): void;
}

export interface BodyPaceOptions {
  readonly clock: Clock;
  readonly bytesPerSecondMin: number;
  /** A body has no least rate for so long. */
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

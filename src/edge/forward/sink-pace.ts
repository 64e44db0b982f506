/**
 * Passes a stream on as fast as its client reads. A sink does not say when its bytes
 * were sent, so it is looked at while it has too many.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { StreamSink } from "../handler.ts";

/** Unsent bytes of a stream above which its source waits, and how often to look whether they were sent. */
const QUEUED_BYTES_MAX = 64 * 1024;
const QUEUE_LOOK_MS = 20;

export class SinkPace {
  readonly #clock: Pick<Clock, "after">;
  #cancelLook: (() => void) | undefined;

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** Whether the source has to wait. If so, `resume` is called when it need not, unless the pace is stopped before. */
  mustWait(sink: Pick<StreamSink, "queuedBytes">, resume: () => void): boolean {
    if (sink.queuedBytes <= QUEUED_BYTES_MAX) return false;
    this.#cancelLook ??= this.#clock.after(QUEUE_LOOK_MS, () => {
      this.#cancelLook = undefined;
      if (!this.mustWait(sink, resume)) resume();
    });
    return true;
  }

  /** The stream has ended. */
  stop(): void {
    this.#cancelLook?.();
  }
}

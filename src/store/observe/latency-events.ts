/**
 * Runs of commands and sweeps that held the engine longer than the threshold,
 * for LATENCY, by the name of the event. In memory, as in Redis.
 *
 * (1) An event has its newest `SAMPLES_MAX` samples, the longest of each second.
 */

export interface LatencySample {
  readonly atSeconds: number;
  readonly tookMs: number;
}

/** `fast-command`: a command that Redis calls fast. `expire-cycle`: a sweep, with its evictions. */
export type LatencyEventName = "command" | "fast-command" | "expire-cycle";

export interface LatencyEvent {
  readonly name: LatencyEventName;
  /** The oldest first. */
  readonly samples: LatencySample[];
  /** The longest since the last reset, even if its sample is gone. */
  worstMs: number;
}

const SAMPLES_MAX = 160;

export class LatencyEvents {
  readonly #byName = new Map<string, LatencyEvent>();

  all(): readonly LatencyEvent[] {
    return [...this.#byName.values()];
  }

  find(name: string): LatencyEvent | undefined {
    return this.#byName.get(name);
  }

  /** keeps (1) */
  add(name: LatencyEventName, { atMs, tookMs }: { readonly atMs: number; readonly tookMs: number }): void {
    let event = this.#byName.get(name);
    if (event === undefined) {
      event = { name, samples: [], worstMs: 0 };
      this.#byName.set(name, event);
    }
    const sample = { atSeconds: Math.floor(atMs / 1_000), tookMs: Math.round(tookMs) };
    const { samples } = event;
    event.worstMs = Math.max(event.worstMs, sample.tookMs);
    const last = samples.at(-1);
    if (last?.atSeconds === sample.atSeconds) {
      if (sample.tookMs > last.tookMs) samples[samples.length - 1] = sample;
      return;
    }
    samples.push(sample);
    if (samples.length > SAMPLES_MAX) samples.shift();
  }

  /** Resets an event; true if it existed. */
  forget(name: string): boolean {
    return this.#byName.delete(name);
  }
}

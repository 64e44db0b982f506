/**
 * The clock of the engines of a shard: the clock of the machine, but never before
 * the floor, which is the last time that the former owner reported. Otherwise a
 * shard that moves to a node whose clock is slower would see time run back.
 */
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { SKEW_MS_MAX } from "./bounds.ts";

/** The floor that a claimed shard gets. One that is too far ahead is an error of a clock, and is ignored. */
export function usableFloorMs(floorMs: number, { nowMs, log }: { nowMs: number; log: Log }): number {
  if (floorMs - nowMs <= SKEW_MS_MAX) return floorMs;
  log.error("time of the former owner is too far ahead and is ignored", { aheadMs: floorMs - nowMs });
  return 0;
}

/** `clock` with a wall clock that is at least `floorMs`. */
export function clockFrom(floorMs: number, clock: Clock): Clock {
  return flooredClock(() => floorMs, clock);
}

/** The same for a clock that exists before its floor is known: the floor of the next reading is `floorMs()`. */
export function flooredClock(floorMs: () => number, clock: Clock): Clock {
  return {
    nowMs: () => Math.max(floorMs(), clock.nowMs()),
    monotonicMs: () => clock.monotonicMs(),
    threadCpuMs: () => clock.threadCpuMs(),
    at: (atMs, task) => (atMs <= floorMs() ? clock.after(0, task) : clock.at(atMs, task)),
    after: (delayMs, task) => clock.after(delayMs, task),
    housekeep: (delayMs, task) => clock.housekeep(delayMs, task),
    real: clock.real,
  };
}

/** Runs random programs: an engine with the indexes of a program, its journal, and its ends and restarts. */
import type { VirtualClock } from "../../../../src/kernel/clock.virtual.ts";
import type { Eventually, IndexApi } from "../../../../src/vector/api.ts";
import type { Program } from "./draw-programs.ts";

export interface Subject {
  /** In the order of the program's indexes. A restart replaces them. */
  readonly apis: readonly IndexApi[];
  /** Frames in the journal since the last snapshot. */
  readonly frameCount: number;
  /** Restarts from the journal. */
  restart(): Eventually<void>;
  /** Restarts from a snapshot, with an empty journal after it. */
  snapshot(): Eventually<void>;
  /** Restarts from the first frames of the journal, this many. */
  cut(frameCount: number): Eventually<void>;
  /** Until `release`, no text becomes a vector, and every long search waits for its turn. */
  delay(): void;
  release(): void;
  /** Does some background work. Returns how many rows went into graphs. Throws what went wrong in the background. */
  work(): number;
  /** Ends it. Not used after that. */
  close(): Eventually<void>;
}

export type OpenSubject = (program: Program, clock: VirtualClock) => Subject;

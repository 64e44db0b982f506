/** What random programs are run on: an engine with the indexes of a program, its journal, and its ends and new beginnings. */
import type { VirtualClock } from "../../src/kernel/clock.virtual.ts";
import type { IndexApi } from "../../src/vector/api.ts";
import type { Program } from "./draw-programs.ts";

export interface Subject {
  /** In the order of the program's indexes. A life that begins anew has new ones. */
  readonly doors: readonly IndexApi[];
  /** Frames in the journal since the last snapshot. */
  readonly frameCount: number;
  /** Begins anew with what the journal says. */
  restart(): void;
  /** Begins anew with a snapshot, and an empty journal behind it. */
  snapshot(): void;
  /** Begins anew with the first so many frames of the journal. */
  cut(frameCount: number): void;
  /** Until `release`, no text becomes a vector, and whatever searches long enough waits for its turn. */
  delay(): void;
  release(): void;
  /** Does some of what goes on in the background. Returns how many rows went into graphs. */
  work(): number;
}

export type OpenSubject = (program: Program, clock: VirtualClock) => Subject;

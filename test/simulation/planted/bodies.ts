/** Bugs of an engine whose bodies are only in the journal, or of a history that follows the journal. */

import { runKeptBodies } from "../bodies/kept-bodies.ts";
import type { BodyBug } from "../bodies/life.ts";
import { type PlantedBugs, textOf } from "./planted-bugs.ts";

export const bodyBugs: PlantedBugs<BodyBug> = {
  simulation: "bodies in the journal",
  run: async (seed, bug) => textOf((await runKeptBodies({ seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 70,
  bugs: [
    {
      name: "a segment with live bodies is removed",
      breaks: "src/persistence/area-storage.ts",
      bug: { mayRemove: () => true },
      seed: 2,
      found: /cannot be read: the segment was removed/,
    },
    {
      name: "the history receives frames that are written but not synced",
      breaks: "src/persistence/journal/frame-follower.ts",
      bug: {
        durableLocation: ({ segmentNumber, segmentBytes, written }) => ({
          segment: segmentNumber,
          offset: segmentBytes,
          position: written,
        }),
      },
      seed: 6,
      found: /Position \d+ is before that of the history/,
    },
  ],
};

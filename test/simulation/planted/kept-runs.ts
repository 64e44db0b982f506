/** Bugs that lose or reorder entries of runs that are only in the journal. */
import type { Entry } from "../../../src/messaging/state/run.ts";
import type { KeptRunsBug } from "../workflow/kept-run-life.ts";
import { runKeptRuns } from "../workflow/kept-runs.ts";
import { hastyJournal } from "./crashes.ts";
import { type PlantedBugs, textOf } from "./planted-bugs.ts";

export const keptRunBugs: PlantedBugs<KeptRunsBug> = {
  simulation: "entries of runs in the journal",
  run: async (seed, bug) => textOf((await runKeptRuns({ seed, allowance: { count: 1 }, bug })).violation),
  runsMax: 15,
  bugs: [
    {
      name: "a segment with live entries is removed",
      breaks: "src/persistence/area-storage.ts",
      bug: { mayRemove: () => true },
      seed: 1,
      found: /the segment was removed/,
    },
    {
      name: "entries are acknowledged and delivered before they are on the disk",
      breaks: "src/persistence/journal/journal.ts",
      bug: { journal: hastyJournal },
      seed: 7,
      found: /the entry \S+ of \S+ is gone/,
    },
    {
      name: "a recovery finds entries in another order",
      breaks: "src/messaging/state/run.ts",
      bug: {
        beforeStart({ engine }) {
          for (const user of engine.state.users)
            for (const run of user.runs.values()) (run.entries as Entry[]).reverse();
        },
      },
      seed: 1,
      found: /entry \d+ of \S+ was \S+ and is \S+/,
    },
  ],
};

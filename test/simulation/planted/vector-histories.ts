/** Bugs of repairing graphs, planted in the code of their writer. */
import { CHECK_FOUND, CHECK_REPAIRED, type GraphKernel } from "../../../src/vector/graph/graph-kernel.ts";
import { FIRST_RECORDS, faultOfHistory, type PlantInCode } from "../vector/graph-history.ts";
import type { PlantedBugs } from "./planted-bugs.ts";

/** The most pinned links of a node, which are the first of its links. */
const PINS_MAX = 16;

export const historyBugs: PlantedBugs<PlantInCode> = {
  simulation: "histories of graphs",
  run: faultOfHistory,
  runsMax: 6,
  // Without a bug, `graph-history.test.ts` runs the seeds of the rows and more.
  bugs: [
    {
      name: "a repair forgets one direction",
      breaks: "assembly/graph-repair.ts",
      bug: (code, kernel) => ({
        check: (node, effort) => {
          const found = code.check(node, effort);
          if (found === CHECK_REPAIRED) forgetLinksTo(node, kernel);
          return found;
        },
      }),
      seed: 1,
      found: /of the records are found by their own vectors$/,
    },
    {
      name: "a check sees only new records",
      breaks: "src/vector/graph/graph-maintenance.ts",
      bug: (code) => ({
        check: (node, effort) => (node < FIRST_RECORDS ? CHECK_FOUND : code.check(node, effort)),
      }),
      seed: 1,
      found: /of the records are found by their own vectors$/,
    },
    {
      name: "a pass frees nodes before it has reached all lists",
      breaks: "src/vector/graph/graph-maintenance.ts",
      bug: (code) => ({
        sweep: (first, end) => code.sweep(first, Math.min(end, FIRST_RECORDS / 2)),
        // Neither is it seen that something is linked to them.
        free: () => 1,
      }),
      seed: 1,
      found: /was used again/,
    },
  ],
};

/** Replaces the first links to a node by others of the same lists. */
function forgetLinksTo(node: number, kernel: GraphKernel): void {
  const { words } = kernel;
  for (let from = 0; from < kernel.nodeCount; from += 1) {
    const start = kernel.linksAt(from, 0);
    for (let at = start; at < start + PINS_MAX; at += 1)
      if (words[at] === node + 1 && words[at + 1] !== 0) words[at] = words[at + 1] as number;
  }
}

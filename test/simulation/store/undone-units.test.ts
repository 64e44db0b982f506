/**
 * Random transactions and scripts of every family of commands, stopped at random points.
 *
 * To repeat:  LARDER_UNDO_SEED=… npm run t -- test/simulation/store/undone-units.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { serverFamily } from "../../differential/families/server.ts";
import { families as allFamilies } from "../../differential/families.ts";
import { seedFrom } from "../../harness/seed.ts";
import { runSeeds, throwViolation } from "../seeds.ts";
import { runUndoneUnits } from "./undone-units.ts";

const seed = seedFrom("LARDER_UNDO_SEED");
/** Commands of the server report commands that ran, also those of an undone unit. */
const families = allFamilies.filter((family) => family !== serverFamily);

test("a stopped unit of random commands leaves no trace in state, journal and later replies", async (context) => {
  let undone = 0;
  let completed = 0;
  const { runs, violation } = await runSeeds(
    {
      seed,
      allowance: allowanceOf("undone-units"),
      runsMin: families.length,
      seen: () => [undone, completed],
      counted: () => undone,
    },
    async (each) => {
      const family = families[each % families.length];
      assert.ok(family !== undefined);
      const counts = runUndoneUnits(family, each);
      undone += counts.undone;
      completed += counts.completed;
    },
  );
  context.diagnostic(`${runs} programs, ${undone} units undone, ${completed} completed`);
  throwViolation(
    violation,
    (failed) => `LARDER_UNDO_SEED=${failed} npm run t -- test/simulation/store/undone-units.test.ts`,
  );
});

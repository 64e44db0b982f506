/**
 * Random programs on a store with search indexes, beside a search through all keys.
 *
 * To repeat:  LARDER_SEARCH_SEED=… npm run t -- test/simulation/search/search-programs.test.ts
 */
import { test } from "node:test";
import { allowanceOf } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { runSeeds, throwViolation } from "../seeds.ts";
import { SearchProgram } from "./search-programs.ts";

const seed = seedFrom("LARDER_SEARCH_SEED");

test("indexes agree with their keys after random writes, by every kind of search and after restarts", async (context) => {
  const total = { queries: 0, hits: 0, aggregations: 0, restarts: 0, undone: 0, evicted: 0 };
  const { runs, violation } = await runSeeds(
    {
      seed,
      allowance: allowanceOf("search-programs"),
      runsMin: 1,
      seen: () => [total.hits, total.aggregations],
      counted: (count) => count,
    },
    async (each) => {
      const counts = new SearchProgram(each).run();
      for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += counts[name];
    },
  );
  context.diagnostic(`${runs} programs: ${JSON.stringify(total)}`);
  throwViolation(
    violation,
    (failed) => `LARDER_SEARCH_SEED=${failed} npm run t -- test/simulation/search/search-programs.test.ts`,
  );
});

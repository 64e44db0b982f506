/**
 * Random programs of some families compared with a real redis-server 7.0.15. Without
 * redis-server on the PATH the comparisons are skipped; the test that journal and
 * snapshots rebuild the state of random programs always runs.
 *
 * Run longer: LARDER_DIFFERENTIAL_COMMANDS=200000 npm run t -- differential
 * Run again:  LARDER_DIFFERENTIAL_SEED=… before the same command
 */
import { test } from "node:test";
import { allowanceOf } from "../budget.ts";
import { seedFrom } from "../harness/seed.ts";
import { besideRedis } from "./beside-redis.ts";
import type { Family } from "./programs.ts";
import { type Coverage, runFamily } from "./run.ts";

const seed = seedFrom("LARDER_DIFFERENTIAL_SEED");
const wanted = process.env["LARDER_DIFFERENTIAL_COMMANDS"];
/** The comparison also tests journal and snapshots of its programs, so a few more are enough. */
const rebuilt = allowanceOf("rebuilt-states");

/** Two tests for each family. `suite`: the row of the budget with the amount to compare. */
export function testFamilies(families: readonly Family[], suite = "differential"): void {
  const limit = wanted === undefined ? allowanceOf(suite) : { count: Number(wanted) };
  besideRedis((redis) => {
    for (const family of families) {
      test(`${family.name}: random programs are answered as Redis answers them`, async (context) => {
        const coverage = await runFamily({ family, seed, limit, redis: redis() });
        context.diagnostic(summary(family.name, coverage));
      });
    }
  });

  for (const family of families) {
    test(`${family.name}: journal and snapshot rebuild the state of random programs`, async (context) => {
      const coverage = await runFamily({ family, seed, limit: rebuilt });
      context.diagnostic(summary(family.name, coverage));
    });
  }
}

function summary(name: string, { commandCount, programCount, pairs, neverWell }: Coverage): string {
  const only = neverWell.size === 0 ? "" : `; only errors from: ${[...neverWell].join(" ")}`;
  return `${name}: SEED=${seed}: ${commandCount} commands in ${programCount} programs, ${pairs.size} pairs of command and kind of reply${only}`;
}

/**
 * The form of a planted bug, and the search for it.
 *
 * A simulation that finds nothing may be blind. So each has a table of bugs that
 * the product could have:
 *
 * (1) The simulation finds each bug within `runsMax` runs, for the reason that its row names.
 * (2) It finds nothing in the same runs and with the same wiring without a bug.
 *
 * What a run does follows from its seed, so the runs before the one that finds a
 * bug find nothing each time. The search begins with the seed of the row, and
 * with seed 1 in a proof. If a change of the product or of the draws moves the
 * bug to a later seed, the search goes on and its output names that seed.
 *
 * `npm test` looks for a part of each table, which a seed draws. To repeat it:
 *
 *     LARDER_TEST_SIZE=test LARDER_PLANTED_SEED=… npm run t -- test/simulation/planted
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { seededRandom } from "../../../src/kernel/random.ts";
import { isProof } from "../../budget.ts";
import { drawnPart } from "../../harness/drawn-part.ts";
import { seedFrom } from "../../harness/seed.ts";
import type { SeedViolation } from "../seeds.ts";

export interface PlantedBug<Bug> {
  readonly name: string;
  /** The file of the product in which a developer could make this mistake. */
  readonly breaks: string;
  readonly bug: Bug;
  /** The first seed from 1 on whose run finds it. */
  readonly seed: number;
  /** The rule that the run finds broken. */
  readonly found: RegExp;
}

export interface PlantedBugs<Bug> {
  readonly simulation: string;
  /** One run with a bug in it. Resolves with the text of the broken rule; undefined if all rules hold. */
  readonly run: (seed: number, bug: Bug) => Promise<string | undefined>;
  /** A bug that needs more runs than this has become hard to find. */
  readonly runsMax: number;
  /**
   * The wiring of the bugs without one, and the count of first seeds that a proof runs with it, beside the seeds of the
   * rows. Absent: the suite does this.
   */
  readonly control?: { readonly bug: Bug; readonly runs: number };
  readonly bugs: readonly PlantedBug<Bug>[];
}

const random = seededRandom(seedFrom("LARDER_PLANTED_SEED"));

/** Defines the tests of a table. */
export function testPlantedBugs<Bug>({ simulation, run, runsMax, control, bugs: all }: PlantedBugs<Bug>): void {
  const bugs = drawnPart(all, { oneIn: 4, random });
  describe(simulation, () => {
    for (const { name, breaks, bug, seed, found } of bugs) {
      test(`finds: ${name}`, async (context) => {
        assert.ok(existsSync(breaks), `${breaks} does not exist`);
        const first = isProof() ? 1 : seed;
        const finding = await search(first, first + runsMax, (next) => run(next, bug));
        assert.ok(finding !== undefined, `nothing was found in ${runsMax} runs from seed ${first} on`);
        context.diagnostic(`seed ${finding.seed}${finding.seed === seed ? "" : `, not ${seed} as in its row`}`);
        assert.match(finding.text, found);
      });
    }
    if (control === undefined) return;
    test("finds nothing in the same runs without a bug", async () => {
      const first = Array.from({ length: isProof() ? control.runs : 1 }, (_, i) => i + 1);
      for (const seed of new Set([...first, ...bugs.map((row) => row.seed)])) {
        assert.equal(await run(seed, control.bug), undefined, `seed ${seed}`);
      }
    });
  });
}

async function search(
  first: number,
  end: number,
  run: (seed: number) => Promise<string | undefined>,
): Promise<{ readonly seed: number; readonly text: string } | undefined> {
  for (let seed = first; seed < end; seed += 1) {
    const text = await run(seed);
    if (text !== undefined) return { seed, text };
  }
  return undefined;
}

/** The broken rule and its causes. */
export function textOf(violation: SeedViolation | undefined): string | undefined {
  const texts: string[] = [];
  for (let error: unknown = violation?.error; error instanceof Error; error = error.cause) texts.push(error.message);
  return violation === undefined ? undefined : texts.join("\n");
}

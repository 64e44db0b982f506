/**
 * Our answers beside those of a real redis-server 7.0.15: random programs for
 * each family, and programs written by hand. Without redis-server on the PATH
 * the comparisons are skipped; that journal and snapshots rebuild the state of
 * random programs is proved in any case.
 *
 * Run longer: LARDER_DIFFERENTIAL_COMMANDS=200000 node --test test/differential/differential.test.ts
 * Run again:  LARDER_DIFFERENTIAL_SEED=… in front of the same
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { systemRandom } from "../../src/kernel/random.ts";
import { commands } from "../../src/store/commands.ts";
import { allowanceOf } from "../budget.ts";
import { splitLine } from "../store-harness.ts";
import { families } from "./families.ts";
import { namesOf } from "./programs.ts";
import { type RedisProcess, redisMissing, startRedis } from "./redis-process.ts";
import { type Coverage, runFamily, runSteps } from "./run.ts";
import { scripts } from "./scripts.ts";
import { skipList } from "./skip-list.ts";

const seed = Number(process.env["LARDER_DIFFERENTIAL_SEED"] ?? systemRandom.below(2 ** 31));
const wanted = process.env["LARDER_DIFFERENTIAL_COMMANDS"];
const limit = wanted === undefined ? allowanceOf("differential") : { count: Number(wanted) };
/** Journal and snapshots of the same programs are proved beside the comparison too, so a few more are enough. */
const JOURNAL_COMMANDS = 10_000;

const comparisons = new Map(families.flatMap((family) => [...(family.comparisons ?? [])]));

suite("beside redis-server", { skip: redisMissing }, () => {
  let redis: RedisProcess | undefined;

  before(async () => {
    redis = await startRedis();
  });

  after(async () => {
    await redis?.stop();
  });

  for (const family of families) {
    test(`${family.name}: random programs are answered as Redis answers them`, async (context) => {
      assert.ok(redis !== undefined);
      const coverage = await runFamily({ family, seed, limit, redis });
      context.diagnostic(summary(family.name, coverage));
    });
  }

  for (const script of scripts) {
    test(`script: ${script.name}`, async () => {
      assert.ok(redis !== undefined);
      const steps = script.lines.map((line) => [splitLine(line)]);
      const failure = await runSteps({ steps, stateEvery: 1, redis, comparisons });
      if (failure !== undefined) assert.fail(failure.text);
    });
  }
});

for (const family of families) {
  test(`${family.name}: journal and snapshot rebuild what random programs leave`, async (context) => {
    const coverage = await runFamily({ family, seed, limit: { count: JOURNAL_COMMANDS } });
    context.diagnostic(summary(family.name, coverage));
  });
}

test("every command is drawn by its family or on the skip list", () => {
  const listed = new Set(skipList.map(({ what }) => what));
  const drawn = new Set(families.flatMap((family) => [...namesOf(family, { extensions: true })]));
  const missing = commands.filter(
    ({ name, family }) => !drawn.has(name) && !listed.has(name) && !listed.has(`family ${family}`),
  );
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  );
});

function summary(name: string, { commandCount, programCount, pairs, neverWell }: Coverage): string {
  const only = neverWell.size === 0 ? "" : `; answered by errors alone: ${[...neverWell].join(" ")}`;
  return `${name}: SEED=${seed}: ${commandCount} commands in ${programCount} programs, ${pairs.size} pairs of command and kind of reply${only}`;
}

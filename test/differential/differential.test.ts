/**
 * Programs written by hand, compared with a real redis-server 7.0.15, and a check that
 * every command is compared with it. Random programs of the families
 * are in two separate files, which run in parallel.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { commands } from "../../src/store/commands/table.ts";
import { splitLine } from "../harness/store-harness.ts";
import { besideRedis } from "./beside-redis.ts";
import { families } from "./families.ts";
import { namesOf } from "./programs.ts";
import { runSteps } from "./run.ts";
import { scripts } from "./scripts.ts";
import { skipList } from "./skip-list.ts";
import { waitingNames } from "./waiting-programs.ts";

const comparisons = new Map(families.flatMap((family) => [...(family.comparisons ?? [])]));

besideRedis((redis) => {
  for (const script of scripts) {
    test(`script: ${script.name}`, async () => {
      const steps = script.lines.map((line) => [splitLine(line)]);
      const failure = await runSteps({ steps, stateEvery: 1, redis: redis(), comparisons });
      if (failure !== undefined) assert.fail(failure.text);
    });
  }
});

test("every command is drawn by its family or is on the skip list", () => {
  const listed = new Set(skipList.map(({ what }) => what));
  const drawn = new Set(families.flatMap((family) => [...namesOf(family, { extensions: true })]));
  for (const name of waitingNames()) drawn.add(name);
  const missing = commands.filter(
    ({ name, family }) => !drawn.has(name) && !listed.has(name) && !listed.has(`family ${family}`),
  );
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  );
});

/**
 * Indexes and aliases beside a model of two maps, with crashes at any frame.
 *
 * To repeat:  LARDER_SEARCH_SEED=… npm run t -- test/simulation/search/definition-programs.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isProof } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { DefinitionProgram } from "./definition-programs.ts";

const seed = seedFrom("LARDER_SEARCH_SEED");
const PROGRAMS = isProof() ? 500 : 5;

test("indexes and aliases are those of two maps, also after a crash at any frame", async () => {
  for (let each = seed; each < seed + PROGRAMS; each += 1)
    await new DefinitionProgram(each).run().catch((error: unknown) => {
      throw new Error(`LARDER_SEARCH_SEED=${each}`, { cause: error });
    });
});

test("a journal that lost one of its frames is found out", async () => {
  const damage = (frames: readonly Buffer[]): readonly Buffer[] => frames.filter((_, at) => at % 9 !== 4);
  let found = 0;
  for (let each = 1; each <= 5; each += 1)
    await new DefinitionProgram(each, { damage }).run().catch((error: unknown) => {
      assert.match(String(error), /the lists of names after frame|after frame/);
      found += 1;
    });
  assert.ok(found >= 3, `${found} of 5`);
});

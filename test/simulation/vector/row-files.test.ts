/**
 * Rows in files, through crashes and damage: each record has its row, or the row
 * is read from the journal again.
 *
 * To repeat:  LARDER_ROW_FILES_SEED=… npm run t -- test/simulation/vector/row-files.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { type RowFilesFigures, runRowFilesWorld } from "./row-files-world.ts";

/** The figures are not 0 after so many worlds. */
const WORLDS_MIN = 8;

const seed = seedFrom("LARDER_ROW_FILES_SEED");

test("rows in files are those of the journal after crashes, damage and restored journals", async (context) => {
  const sums: Partial<Record<keyof RowFilesFigures, number>> = {};
  const isSpent = spending(allowanceOf("row-files"));
  let worlds = 0;
  for (; worlds < WORLDS_MIN || !isSpent(worlds); worlds += 1) {
    const { fault, figures } = await runRowFilesWorld(seed + worlds);
    assert.equal(fault, undefined, `LARDER_ROW_FILES_SEED=${seed + worlds}`);
    for (const [name, count] of Object.entries(figures) as [keyof RowFilesFigures, number][])
      sums[name] = (sums[name] ?? 0) + count;
  }
  const counts = Object.entries(sums).map(([name, count]) => `${name} ${count}`);
  context.diagnostic(`SEED=${seed}: ${worlds} worlds, ${counts.join(", ")}`);
  for (const [name, count] of Object.entries(sums)) assert.ok(count > 0, `${name} is tried`);
});

/**
 * Lives on full disks (full-disk-lives.ts).
 *
 * To repeat:  LARDER_FULL_DISK_SEED=… npm run t -- test/simulation/store/full-disks.test.ts
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowanceOf, spending } from "../../budget.ts";
import { seedFrom } from "../../harness/seed.ts";
import { liveOnFullDisk } from "./full-disk-lives.ts";

test("S-04: on a full disk every request is answered, and a refused one has changed nothing", async () => {
  const first = seedFrom("LARDER_FULL_DISK_SEED");
  const isSpent = spending(allowanceOf("full-disk-lives"));
  for (let lives = 0; !isSpent(lives); lives += 1)
    assert.equal(await liveOnFullDisk(first + lives), undefined, `LARDER_FULL_DISK_SEED=${first + lives}`);
});

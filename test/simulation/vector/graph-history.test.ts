/** Graphs after random histories (`graph-history.ts`). Replay: HISTORY_SEED=<seed> npm run t -- this file. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isProof } from "../../budget.ts";
import { faultOfHistory } from "./graph-history.ts";

const { HISTORY_SEED } = process.env;
/** In a proof at least one history of each similarity. */
const SEEDS = isProof() ? 30 : 1;
const seeds = HISTORY_SEED === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [Number(HISTORY_SEED)];

describe("after a random history, walks find all but 1 % of the records", () => {
  for (const seed of seeds) {
    test(`seed ${seed}`, async () => {
      assert.equal(await faultOfHistory(seed), undefined, `HISTORY_SEED=${seed}`);
    });
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../src/kernel/random.ts";
import { drawShares } from "./drawn-shares.ts";

const shares = { link: 3, kill: 2, away: 1 };

test("each kind has its share of the rounds, in an order that the seed draws", () => {
  const drawn = (rounds: number, seed: number): string[] => drawShares(shares, rounds, seededRandom(seed));
  const sorted = ["away", "away", "kill", "kill", "kill", "kill", "link", "link", "link", "link", "link", "link"];
  assert.deepEqual(drawn(12, 1).sort(), sorted);
  assert.deepEqual(drawn(12, 1), drawn(12, 1));
  assert.notDeepEqual(drawn(12, 1), drawn(12, 2));
});

test("a count of rounds that the shares do not divide is kept", () => {
  assert.equal(drawShares(shares, 7, seededRandom(1)).length, 7);
  assert.equal(drawShares(shares, 1, seededRandom(1)).length, 1);
  assert.deepEqual(drawShares(shares, 0, seededRandom(1)), []);
});

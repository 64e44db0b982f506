/** The ledger of vectors finds a batch of which a part was done. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ledger } from "./ledger.ts";
import { DIMENSION, signsOf } from "./signs.ts";

test("finds a partly done batch", () => {
  const ledger = new Ledger();
  const entries = ["a", "b"].map((id) => ledger.entry(1, "ns", id));
  ledger.begin({ kind: "an upsert", isWhole: true, path: "", text: "", entries }, (entry) => {
    return { seed: entry.id === "a" ? 1 : 2, version: 1 };
  });
  const vector = Array.from({ length: DIMENSION }, (_, i) =>
    ((signsOf(1)[i >> 3] as number) >> (i & 7)) & 1 ? -1 : 1,
  );
  const damages: string[] = [];

  const [a, b] = entries as [(typeof entries)[number], (typeof entries)[number]];
  ledger.check(a, { id: "a", vector, metadata: { client: 1, version: 1 }, data: "1" }, damages);
  ledger.check(b, undefined, damages);

  assert.deepEqual(damages, []);
  assert.deepEqual(ledger.takeHalves(), ["a part of an upsert of ns/a,ns/b was done"]);
});

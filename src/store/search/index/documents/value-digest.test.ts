/** Digests of values: equal for equal values only. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SearchDocument } from "../../definition.ts";
import { digest, digestValues } from "./value-digest.ts";

function digestOf(document: SearchDocument): string {
  digestValues(document);
  return Array.from(digest, (word) => word.toString(16).padStart(8, "0")).join("");
}

test("equal values have one digest", () => {
  assert.equal(digestOf([["a reef"], undefined, [1, 2n ** 60n]]), digestOf([["a reef"], undefined, [1, 2n ** 60n]]));
  const text = "octopus ".repeat(100);
  assert.equal(digestOf([[text]]), digestOf([[Buffer.from(text).latin1Slice()]]));
});

test("values that differ in kind, place, order or sign have different digests", () => {
  const documents: readonly SearchDocument[] = [
    [undefined, undefined],
    [[""], undefined],
    [undefined, [""]],
    [["", ""], undefined],
    [["a"], undefined],
    [["a\0"], undefined],
    [["\0a"], undefined],
    [["a", "b"], undefined],
    [["b", "a"], undefined],
    [["ab"], undefined],
    [["a"], ["b"]],
    [[1], undefined],
    [["1"], undefined],
    [[1n], undefined],
    [[0], undefined],
    [[-0], undefined],
    [[-1], undefined],
    [[-1n], undefined],
    [[2n ** 64n - 2n], undefined],
    [[2n ** 32n], undefined],
    [[1, 1], undefined],
    [[1], [1]],
  ];
  assert.equal(new Set(documents.map(digestOf)).size, documents.length);
});

test("each half of the digests of similar documents differs", () => {
  const digests: string[] = [];
  for (let i = 0; i < 15_000; i += 1) {
    digests.push(digestOf([[`document ${i}`], [i]]));
    digests.push(digestOf([[`document ${i}`], [i / 2]]), digestOf([["x".repeat(i % 500) + i], undefined]));
  }
  assert.equal(new Set(digests).size, new Set(digests.map((text) => text.slice(0, 16))).size);
  assert.equal(new Set(digests).size, new Set(digests.map((text) => text.slice(16))).size);
  // Only document 0 has one number for i and i / 2.
  assert.equal(new Set(digests).size, 44_999);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest, suggestionFor } from "./suggestion.ts";

const known = ["serve", "dev", "check", "stats", "status", "--data-dir", "--host"];

const cases: readonly (readonly [word: string, found: string | undefined])[] = [
  ["serv", "serve"],
  ["sevre", "serve"],
  ["Serve", "serve"],
  ["chekc", "check"],
  ["statu", "stats"],
  ["de", "dev"],
  ["start", undefined],
  ["restore", undefined],
  ["--datadir", "--data-dir"],
  ["--hots", "--host"],
  ["--x", undefined],
  ["", undefined],
  ["s".repeat(65), undefined],
];

for (const [word, found] of cases) {
  test(`the nearest known word of ${JSON.stringify(word)} is ${found}`, () => {
    assert.equal(nearest(word, known), found);
  });
}

test("a suggestion completes a sentence, or is empty", () => {
  assert.equal(suggestionFor("serv", known), ": did you mean serve?");
  assert.equal(suggestionFor("unlike", known), "");
});

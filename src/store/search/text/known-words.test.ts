/** The table of known words: what it finds is right, and it moves few words at a time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KnownWords, loadText, UNKNOWN } from "./known-words.ts";

test("a table that grows never finds a wrong term, and moves one word at most for each that it takes in", () => {
  const known = new KnownWords();
  const find = (term: number): number => {
    const word = `w${term.toString(36)}`;
    loadText(word);
    return known.find(0, word.length);
  };
  const count = 10_000;
  for (let term = 0; term < count; term += 1) {
    const before = known.moves;
    assert.equal(find(term), UNKNOWN);
    known.remember(term);
    assert.equal(find(term), term);
    assert.ok(known.moves - before <= 1, `${known.moves - before} moves for term ${term}`);
  }
  let foundCount = 0;
  for (let term = 0; term < count; term += 1) {
    const found = find(term);
    if (found === UNKNOWN) known.remember(term);
    else foundCount += 1;
    assert.ok(found === UNKNOWN || found === term);
  }
  // A table that has just grown has forgotten the others.
  assert.ok(foundCount >= 1_500, `${foundCount}`);
});

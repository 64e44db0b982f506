import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesFromText } from "../../../kernel/bytes.ts";
import { analyzerFor } from "./analyzer.ts";
import { highlight } from "./highlight.ts";

const stemmed = analyzerFor("english", { isTokenized: true, isStemmed: true });
const whole = analyzerFor("english", { isTokenized: false, isStemmed: true });

test("each word whose term is asked for is between the tags, and the whole text comes back", () => {
  const brackets = { analyzer: stemmed, terms: new Set(["coral"]), open: "[", close: "]" };
  const table: readonly [string, string][] = [
    ["Coral, coral and more coral", "[Coral], [coral] and more [coral]"],
    ["A pale octopus hides under coral", "A pale octopus hides under [coral]"],
    ["CORALS", "[CORALS]"],
    ["Sea grass", "Sea grass"],
    ["", ""],
    ["coralline", "coralline"],
  ];
  for (const [text, marked] of table) assert.equal(highlight(text, brackets), marked);
});

test("terms are stems, so that other forms of a word are marked", () => {
  const options = { analyzer: stemmed, terms: new Set(["run", "studi"]), open: "<em>", close: "</em>" };
  assert.equal(
    highlight("He runs; running studies & <b>runner</b>", options),
    "He <em>runs</em>; <em>running</em> <em>studies</em> & <b>runner</b>",
  );
});

test("offsets are bytes, so that text around a word keeps its characters", () => {
  const terms = new Set([bytesFromText("été")]);
  const options = {
    analyzer: analyzerFor("french", { isTokenized: true, isStemmed: false }),
    terms,
    open: "<",
    close: ">",
  };
  assert.equal(highlight(bytesFromText("L’ÉTÉ à 🐙 été."), options), bytesFromText("L’<ÉTÉ> à 🐙 <été>."));
});

test("a field without words is marked as a whole", () => {
  const options = { analyzer: whole, terms: new Set(["new york"]), open: "<em>", close: "</em>" };
  assert.equal(highlight("New York", options), "<em>New York</em>");
  assert.equal(highlight("New York City", options), "New York City");
});

test("without terms nothing is marked, and empty tags change nothing", () => {
  assert.equal(highlight("coral", { analyzer: stemmed, terms: new Set(), open: "[", close: "]" }), "coral");
  assert.equal(
    highlight("a coral reef", { analyzer: stemmed, terms: new Set(["coral"]), open: "", close: "" }),
    "a coral reef",
  );
});

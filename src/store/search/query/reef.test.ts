/** The published example of the search family, with exact scores; the words are stemmed as Porter2 does. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { stemOf } from "../../../kernel/text/porter2.ts";
import type { FieldType, IndexDefinition, SearchDocument } from "../definition.ts";
import { atOnce } from "../slices.ts";
import type { Ranking } from "./contract.ts";
import { makeFilterParser } from "./filter-parser.ts";
import { naiveReader, plainAnalyzer } from "./naive-reader.virtual.ts";
import { countMatches, findHits, matchingDocuments } from "./search.ts";

const field = (name: string, type: FieldType) => ({
  name,
  type,
  isTokenized: true,
  isStemmed: true,
  isFast: type === "F64",
  path: undefined,
});

const definition: IndexDefinition = {
  dataType: "JSON",
  prefixes: ["reef:"],
  language: "english",
  fields: [field("note", "TEXT"), field("depth", "F64"), field("zone", "KEYWORD"), field("taxon", "FACET")],
};

const documents: SearchDocument[] = [
  [["A pale octopus hides under coral"], [12.5], ["slope"], ["/mollusc/octopus"]],
  [["Coral, coral and more coral"], [3], ["flat"], ["/cnidaria/coral"]],
  [["The octopus watched the diver; the diver fled"], [30], ["slope"], ["/mollusc/octopus"]],
  [["Octopuses and squids"], [200], ["deep"], ["/mollusc"]],
  [["Sea grass"], undefined, ["flat"], ["/plant/grass"]],
];

const analyzerFor = plainAnalyzer(stemOf);
const index = naiveReader({ definition, documents, analyzerFor });
const parse = makeFilterParser({
  analyzerFor,
  compilePattern: (pattern) => {
    const whole = new RegExp(`^(?:${pattern})$`, "i");
    return { matches: (token) => whole.test(token) };
  },
});
const spend = (): boolean => false;
const byScore: Ranking = { orderBy: undefined, scoreFunction: undefined };

const hitsOf = (filter: unknown, ranking = byScore): string =>
  atOnce(findHits(index, parse(JSON.stringify(filter), definition), { ranking, offset: 0, limit: 10, spend }))
    .map(({ document, score }) => `${document}: ${score}`)
    .join(", ");

const table: [filter: unknown, hits: string][] = [
  [{ note: { $eq: "octopus" } }, "3: 0.636667, 0: 0.48898652, 2: 0.42349726"],
  [{ note: { $eq: "coral" } }, "1: 1.3635619, 0: 0.7942397"],
  [{ note: { $phrase: "pale octopus" } }, "0: 1.7466556"],
  [{ note: { $phrase: { value: "octopus coral", slop: 2 } } }, "0: 1.2832263"],
  [{ note: { $phrase: { value: "octopus coral", slop: 1 } } }, ""],
  [{ note: { $phrase: { value: "octopus pale", slop: 2 } } }, "0: 1.7466556"],
  [{ note: { $phrase: { value: "octopus pale", slop: 1 } } }, ""],
  [{ note: { $fuzzy: "octopu diver" } }, "2: 2"],
  [{ note: "octopus" }, "3: 3.273334, 0: 2.977973, 2: 2.8469944"],
  [{ note: { $regex: "OCTO.*" } }, "0: 1, 2: 1, 3: 1"],
  [{ zone: "slope", $should: { note: { $eq: "diver", $boost: 2 } } }, "2: 4.210366, 0: 1"],
  [{ taxon: "/mollusc" }, "0: 1, 2: 1, 3: 1"],
  [{ $mustNot: { zone: "flat" } }, ""],
  [{}, "0: 1, 1: 1, 2: 1, 3: 1, 4: 1"],
];

test("the published example has these hits and scores", () => {
  for (const [filter, expected] of table) assert.equal(hitsOf(filter), expected, JSON.stringify(filter));
});

test("counts and document lists agree with the hits of the published example", () => {
  for (const [filter, expected] of table) {
    const parsed = parse(JSON.stringify(filter), definition);
    const documents = [...expected.matchAll(/(\d): /g)].map(([, document]) => Number(document)).sort();
    assert.equal(atOnce(countMatches(index, parsed, spend)), documents.length);
    assert.deepEqual([...atOnce(matchingDocuments(index, parsed, spend))], documents);
  }
});

test("ORDERBY shows the value of the field, and 0 without one", () => {
  const order = (isAscending: boolean): Ranking => ({ ...byScore, orderBy: { field: 1, isAscending } });
  assert.equal(hitsOf({}, order(false)), "3: 200, 2: 30, 0: 12.5, 1: 3, 4: 0");
  assert.equal(hitsOf({}, order(true)), "1: 3, 0: 12.5, 2: 30, 3: 200, 4: 0");
});

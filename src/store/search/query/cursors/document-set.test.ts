import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../kernel/random.ts";
import type { IndexDefinition, SearchDocument } from "../../definition.ts";
import { NO_DOCUMENT } from "../../index/index-reader.ts";
import { atOnce } from "../../slices.ts";
import { naiveReader, plainAnalyzer } from "../naive-reader.virtual.ts";
import type { Cursor } from "./cursor.ts";
import { BitsCursor, type DocumentSet, documentSetOf, ListCursor } from "./document-set.ts";

const definition: IndexDefinition = {
  dataType: "HASH",
  prefixes: [""],
  language: "english",
  fields: [{ name: "t", type: "TEXT", isTokenized: true, isStemmed: false, isFast: false, path: undefined }],
};

const words = ["a", "b", "c", "d"];

/** The set of documents that have any of the words, each of which is in a document with this probability. */
function drawSet(seed: number, probability: number): { set: DocumentSet; expected: number[]; limit: number } {
  const random = seededRandom(seed);
  const limit = 1 + random.below(700);
  const documents = Array.from({ length: limit }, (): SearchDocument => {
    const text = words.filter(() => random.unit() < probability).join(" ");
    return [[text]];
  });
  const text = naiveReader({ definition, documents, analyzerFor: plainAnalyzer((word) => word) }).text(0);
  const terms = words.map((word) => text.term(word)).filter((term) => term !== undefined);
  const expected = documents.flatMap((document, number) => (document[0]?.[0] === "" ? [] : [number]));
  return { set: atOnce(documentSetOf(text, terms, { documentLimit: limit, spend: () => true })), expected, limit };
}

const cursorOf = (set: DocumentSet): Cursor =>
  set.kind === "list" ? new ListCursor(1, set.documents) : new BitsCursor(1, set);

test("the documents of several terms are found once each, as a list or as bits", () => {
  const kinds = new Set<string>();
  for (let seed = 1; seed <= 60; seed += 1) {
    const { set, expected, limit } = drawSet(seed, [0.004, 0.5][seed % 2] as number);
    kinds.add(set.kind);
    const found: number[] = [];
    const cursor = cursorOf(set);
    while (cursor.next() !== NO_DOCUMENT) found.push(cursor.document);
    assert.deepEqual(found, expected, `seed ${seed}`);
    assert.equal(cursor.next(), NO_DOCUMENT);
    const random = seededRandom(seed);
    const seeker = cursorOf(set);
    const asked = cursorOf(set);
    for (let target = 0; target < limit; target += 1 + random.below(40)) {
      const next = expected.find((document) => document >= target) ?? NO_DOCUMENT;
      assert.equal(seeker.seek(target), next, `seed ${seed}, ${target}`);
      assert.equal(asked.accepts(target), next === target, `seed ${seed}, ${target}`);
    }
  }
  assert.deepEqual([...kinds].sort(), ["bits", "list"]);
});

/** Words of documents keep their values, and full pages their memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DocumentWords } from "./document-words.ts";

test("a full page is never copied, and a small table is small", () => {
  const words = new DocumentWords(2);
  assert.equal(words.memoryBytes, 128);
  const pages = new Set<Uint32Array>();
  const count = 20_000;
  for (let document = 0; document < count; document += 1) {
    words.reserve(document);
    words.pageOf(document).set([document, document + 1], words.placeOf(document));
    if (document % 4_096 === 4_095) pages.add(words.pageOf(document));
  }
  for (let document = 0; document < count; document += 1) {
    const page = words.pageOf(document);
    const at = words.placeOf(document);
    if (page[at] !== document || page[at + 1] !== document + 1) assert.fail(`document ${document}`);
    pages.add(page);
  }
  assert.equal(pages.size, 5);
  assert.equal(words.memoryBytes, 5 * 4_096 * 8);
});

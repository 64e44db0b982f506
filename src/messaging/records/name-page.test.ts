import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOfPage } from "./name-page.ts";

test("pages join to the whole list in the order of names, with its filters", () => {
  const names = Array.from({ length: 500 }, (_, index) => `n${(index * 263) % 500}`);
  const joined: string[] = [];
  for (let page = namesOfPage(names, { count: 7 }); page.length > 0; ) {
    joined.push(...page);
    page = namesOfPage(names, { count: 7, cursor: page.at(-1) });
  }
  assert.deepEqual(joined, [...names].sort());
  assert.deepEqual(namesOfPage(names, { count: 3, prefix: "n49", cursor: "n490" }), ["n491", "n492", "n493"]);
  assert.deepEqual(namesOfPage(names, { count: 9, search: "n49", cursor: "n498" }), ["n499"]);
});

test("names that come and go between pages move no other name", () => {
  const names = new Set(["d", "b", "a", "c"]);
  assert.deepEqual(namesOfPage(names, { count: 2 }), ["a", "b"]);
  names.delete("b");
  names.add("aa").add("bb");
  assert.deepEqual(namesOfPage(names, { count: 9, cursor: "b" }), ["bb", "c", "d"]);
});

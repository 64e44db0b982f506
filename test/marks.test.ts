/** The marks of pages that the tools fill (tools/marks.ts). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fillMarks } from "../tools/marks.ts";

const parts = {
  tables: { policies: () => ["| policy |", "|---|", "| `noeviction` |"] },
  values: { silent: "60" },
};

test("a table and a value are written between their marks, and the rest of the page is unchanged", () => {
  assert.equal(
    fillMarks(
      "manual.md",
      "# Page\n\n<!-- table: policies -->\n\nold\n\n<!-- end -->\n\nIdle for <!-- value: silent -->5<!-- end --> s.\n",
      parts,
    ),
    "# Page\n\n<!-- table: policies -->\n\n| policy |\n|---|\n| `noeviction` |\n\n<!-- end -->\n\nIdle for <!-- value: silent -->60<!-- end --> s.\n",
  );
});

const table = "<!-- table: policies --><!-- end -->";
const value = "<!-- value: silent --><!-- end -->";

const refused: readonly (readonly [what: string, text: string, error: string])[] = [
  [
    "an unknown table",
    `${table}${value}<!-- table: colours --><!-- end -->`,
    "manual.md: unknown mark <!-- table: colours -->",
  ],
  [
    "a table marked as a value",
    `${value}<!-- value: policies --><!-- end -->`,
    "manual.md: unknown mark <!-- value: policies -->",
  ],
  ["a page without the mark of a table", value, 'manual.md: the mark of "policies" is missing'],
  ["a page without the mark of a value", table, 'manual.md: the mark of "silent" is missing'],
  ["a mark without an end", `${table}<!-- value: silent -->`, "manual.md: <!-- value: silent --> has no <!-- end -->"],
  [
    "a mark inside another",
    `<!-- table: policies -->${value}<!-- end -->`,
    "manual.md: <!-- table: policies --> has no <!-- end -->",
  ],
  ["an end without a mark", `${table}${value}<!-- end -->`, "manual.md: <!-- end --> without a mark before it"],
];

for (const [what, text, message] of refused) {
  test(`${what} is an error`, () => {
    assert.throws(() => fillMarks("manual.md", text, parts), { message });
  });
}

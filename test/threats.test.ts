/** Filling the column of tests in docs/threats.md (tools/threats.ts). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { threatsText } from "../tools/threats.ts";

const UNCOVERED = "<!-- value: uncovered --><!-- end -->";

test("the last cell of a row is filled, and a threat without a test is listed", () => {
  assert.equal(
    threatsText(`| Z-01 | nobody | nothing | 7 in old |\n\n${UNCOVERED}\n`),
    "| Z-01 | nobody | nothing | none |\n\n<!-- value: uncovered -->Z-01<!-- end -->\n",
  );
});

test("a threat with two rows is an error", () => {
  const row = "| Z-01 | nobody | nothing | |";
  assert.throws(() => threatsText(`${row}\n${row}\n${UNCOVERED}`), { message: "docs/threats.md: Z-01 has two rows" });
});

test("a row with too few cells is an error", () => {
  assert.throws(() => threatsText(`| Z-01 | nobody |\n${UNCOVERED}`), {
    message: "docs/threats.md: the row of Z-01 is not | id | threat | what larder does | tests |",
  });
});

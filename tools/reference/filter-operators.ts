/** The operators of metadata filters, from their rows. */
import { operators } from "../../src/vector/filter/operators.ts";
import { code, header, type Page, row } from "./page.ts";

export const filterOperatorsPage: Page = {
  file: "filter-operators.md",
  title: "Operators of metadata filters",
  about: "what each operator of a metadata filter compares, and which fields it matches",
  lines: () => [
    "How they are put together stands in the [manual](../manual.md#the-filters-of-metadata).",
    "",
    ...header("operator", "stands", "takes", "matches fields of", "true when", "example"),
    ...operators.map(({ words, place, operand, fields, meaning, example }) =>
      row(
        code(words),
        place,
        operand === "none" ? "nothing" : `a ${operand}`,
        fields.join(", "),
        meaning,
        code(example),
      ),
    ),
  ],
};

/** The operators of metadata filters, from their rows. */
import { operators } from "../../src/vector/filter/operators.ts";
import type { Parts } from "../marks.ts";
import { code, header, row } from "./table.ts";

export const filterOperatorParts: Parts = {
  tables: {
    operators: () => [
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
  },
};

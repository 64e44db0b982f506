/** The properties of operators agree with their tests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileFilter } from "../filter/filter.ts";
import type { Json } from "../filter/json.ts";
import { operators } from "../filter/operators.ts";
import { equalIds, markSide } from "./passing-values.ts";
import { ValueDictionary } from "./value-dictionary.ts";

const values: readonly Json[] = [
  ...[null, true, false, 0, 1, -1, 2, 2.5, 1e21, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  ...["", "a", "1", "true", [], [1], ["a", true], {}],
];
const operands = ["0", "1", "2.5", "-1", "1e21", "true", "false", "''", "'a'", "'1'", "'z'"];

test("`equality` and `side` of an operator state exactly the values that pass", () => {
  const dictionary = new ValueDictionary();
  const ids = values.map((value) => dictionary.idOf(value));
  let compared = 0;
  for (const { words, equality, side, operand } of operators) {
    if (equality === undefined && side === undefined) continue;
    for (const literal of operands) {
      const { expression } = compileFilter(`a ${words} ${operand === "list" ? `(${literal}, 7)` : literal}`);
      assert.ok(expression?.kind === "condition");
      const passes = expression.operator.test(expression.operands);
      const expected = ids.filter((_, at) => passes(values[at] ?? null));
      if (equality) assert.deepEqual([...(equalIds(expression, dictionary) ?? [])].sort(), expected.sort());
      const [bound] = expression.operands;
      if (side !== undefined && typeof bound === "number") {
        const marks = new Uint8Array(dictionary.limit);
        markSide(marks, { numbers: dictionary.numbers, side, bound, start: 0, end: marks.length });
        assert.deepEqual(
          [...marks.keys()].filter((id) => marks[id] === 1).sort(),
          expected.sort(),
          expression.operator.words,
        );
      }
      compared += 1;
    }
  }
  assert.equal(compared, 66);
});

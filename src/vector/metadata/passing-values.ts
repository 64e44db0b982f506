/**
 * Finds the values of a column that pass a condition. If an operator's row has
 * `equality` or `side`, they are found without testing each value, unless `side` is
 * of a text or the path has `[*]`; otherwise the operator's own test decides.
 */
import { assert } from "../../kernel/assert.ts";
import { someListedTest } from "../filter/any-element.ts";
import type { Scalar } from "../filter/json.ts";
import type { FieldTest, Operator } from "../filter/operators.ts";
import type { Condition } from "../filter/parser.ts";
import { ABSENT, MISSING, type ValueDictionary } from "./value-dictionary.ts";

/** Whether the value of an id passes. False for an id that is not in use. */
export type Decider = (id: number) => boolean;

export function deciderOf(condition: Condition, dictionary: ValueDictionary): Decider {
  const equal = equalIds(condition, dictionary);
  if (equal !== undefined) {
    const wanted = new Set(equal);
    return (id) => wanted.has(id);
  }
  const test = valueTest(condition);
  const { whenMissing } = condition.operator;
  return (id) => {
    if (id === MISSING) return whenMissing;
    if (id === ABSENT) return false;
    const value = dictionary.value(id);
    return value !== undefined && test(value);
  };
}

/** The ids that pass a condition of equality; undefined for other conditions. */
export function equalIds(
  { path, operator, operands }: Condition,
  dictionary: ValueDictionary,
): readonly number[] | undefined {
  if (operator.equality !== true || path.isMany) return undefined;
  const ids = new Set(operands.flatMap((operand: Scalar) => dictionary.idsLike(operand)));
  return [...ids];
}

/** The bound and side of a condition that compares the field with a number; undefined for other conditions. */
export function numberRange({ path, operator, operands }: Condition): Pick<Sided, "bound" | "side"> | undefined {
  const { side } = operator;
  const [bound] = operands;
  return side === undefined || typeof bound !== "number" || path.isMany ? undefined : { bound, side };
}

/** The test of a value of the column: of a field, or of the list of the fields of a path with `[*]`. */
function valueTest({ path, operator, operands }: Condition): FieldTest {
  const test = operator.test(operands);
  // A list without values is of fields that only exist.
  return path.isMany && operator.operand !== "none" ? someListedTest(test) : test;
}

/** The values from `start` to before `end`, and the side of `bound` that passes. */
export interface Sided {
  readonly numbers: Float64Array;
  readonly side: NonNullable<Operator["side"]>;
  readonly bound: number;
  readonly start: number;
  readonly end: number;
}

/** Marks the numbers on one side of a bound. NaN, which replaces other values, is on neither side. */
export function markSide(marks: Uint8Array, { numbers, side, bound, start, end }: Sided): void {
  const last = Math.min(end, numbers.length);
  switch (side) {
    case "below":
      for (let id = start; id < last; id += 1) marks[id] = (numbers[id] as number) < bound ? 1 : 0;
      return;
    case "at most":
      for (let id = start; id < last; id += 1) marks[id] = (numbers[id] as number) <= bound ? 1 : 0;
      return;
    case "above":
      for (let id = start; id < last; id += 1) marks[id] = (numbers[id] as number) > bound ? 1 : 0;
      return;
    case "at least":
      for (let id = start; id < last; id += 1) marks[id] = (numbers[id] as number) >= bound ? 1 : 0;
      return;
    default: {
      const never: never = side;
      assert(false, `a side of a bound is known: ${never}`);
    }
  }
}

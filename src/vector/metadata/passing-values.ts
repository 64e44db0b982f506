/**
 * Finds the values of a column that pass a condition. If an operator's row has
 * `equality` or `side`, they are found without testing each value; otherwise the
 * operator's own test decides.
 */
import { assert } from "../../kernel/assert.ts";
import type { Scalar } from "../filter/json.ts";
import type { Operator } from "../filter/operators.ts";
import type { Condition } from "../filter/parser.ts";
import { ABSENT, MISSING, type ValueDictionary } from "./value-dictionary.ts";

/** Whether the value of an id passes. False for an id that is not in use. */
export type Decider = (id: number) => boolean;

export function deciderOf({ operator, operands }: Condition, dictionary: ValueDictionary): Decider {
  const equal = equalIds({ operator, operands }, dictionary);
  if (equal !== undefined) {
    const wanted = new Set(equal);
    return (id) => wanted.has(id);
  }
  const test = operator.test(operands);
  const { whenMissing } = operator;
  return (id) => {
    if (id === MISSING) return whenMissing;
    if (id === ABSENT) return false;
    const value = dictionary.value(id);
    return value !== undefined && test(value);
  };
}

/** The ids that pass a condition of equality; undefined for other conditions. */
export function equalIds(
  condition: Pick<Condition, "operator" | "operands">,
  dictionary: ValueDictionary,
): readonly number[] | undefined {
  const { operator, operands } = condition;
  if (operator.equality !== true) return undefined;
  const ids = new Set(operands.flatMap((operand: Scalar) => dictionary.idsLike(operand)));
  return [...ids];
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

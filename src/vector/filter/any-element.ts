/**
 * Paths with `[*]`, which stand for any element of an array, so they may lead to
 * several fields of a record. `items[*].price` leads to the price of each element
 * that has one.
 *
 * (1) A test of such a path passes if one of its fields passes it, also with a
 *     negated operator: `items[*].price != 5` needs a price that is not 5.
 * (2) A path that leads to no field is a missing field: the array is missing,
 *     empty or not an array, or no element has the rest of the path.
 */
import { ANY_ELEMENT, type FieldPath, type Step } from "./field-path.ts";
import { elementAt, isArray, type Json, ownMember } from "./json.ts";
import { type FieldTest, hasElement } from "./operators.ts";
import { filterWork } from "./work.ts";

/** Returns a function that tests whether a field of the path passes. The function allocates nothing. */
export function someFieldTest({ steps }: FieldPath, test: FieldTest): FieldTest {
  const walk = { steps, test };
  return (metadata) => somePasses(walk, metadata, 0);
}

/** Returns a function that lists the fields of the path, in the order of the elements. */
export function fieldsReader({ steps }: FieldPath): (metadata: Json) => readonly Json[] {
  return (metadata) => {
    const fields: Json[] = [];
    // It passes nothing, so it gets every field.
    const collect: FieldTest = (field) => {
      fields.push(field);
      return false;
    };
    somePasses({ steps, test: collect }, metadata, 0);
    return fields;
  };
}

/** Returns a function that tests the listed fields of one record. */
export function someListedTest(test: FieldTest): FieldTest {
  return (fields) => isArray(fields) && hasElement(fields, test);
}

interface Walk {
  readonly steps: readonly Step[];
  readonly test: FieldTest;
}

/** Tests the fields that the steps from `firstStep` on lead to, until one passes. */
function somePasses(walk: Walk, from: Json, firstStep: number): boolean {
  const { steps, test } = walk;
  let value: Json | undefined = from;
  for (let i = firstStep; i < steps.length; i += 1) {
    const step = steps[i] as Step;
    if (step === ANY_ELEMENT) {
      if (!isArray(value)) return false;
      filterWork.steps += value.length;
      for (let at = 0; at < value.length; at += 1) if (somePasses(walk, value[at] as Json, i + 1)) return true;
      return false;
    }
    value = typeof step === "string" ? ownMember(value, step) : elementAt(value, step);
    if (value === undefined) return false;
  }
  return test(value);
}

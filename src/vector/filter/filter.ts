/**
 * A metadata filter is compiled once and matched against any number of records.
 * Each condition becomes a function with its field and operands, and AND and OR
 * become functions of those, so that matching a record parses nothing and
 * allocates nothing.
 *
 * A missing field gives `whenMissing` of the operator's row; a record without
 * metadata has no fields. Every record matches an empty filter, even one without
 * metadata.
 */
import { someFieldTest } from "./any-element.ts";
import { fieldReader } from "./field-path.ts";
import type { Json } from "./json.ts";
import { type Condition, type Expression, parseFilter } from "./parser.ts";

export interface Filter {
  readonly text: string;
  /** The parsed expression, for planning a search; undefined for an empty filter. */
  readonly expression: Expression | undefined;
  /** Whether a record with this metadata passes. Never throws; `filterWork` has the cost. */
  matches(metadata: Json | undefined): boolean;
}

type Predicate = (metadata: Json) => boolean;

/** The fields of a record without metadata. */
const NO_METADATA: Json = Object.freeze(Object.create(null));

/** Compiles a filter. Throws a `FilterFailure` that states the error and its place. */
export function compileFilter(text: string): Filter {
  return filterOf(text, parseFilter(text));
}

/** The filter of an expression; `text` is what it is called. */
export function filterOf(text: string, expression: Expression | undefined): Filter {
  const passes = expression === undefined ? everything : predicateOf(expression);
  return { text, expression, matches: (metadata) => passes(metadata === undefined ? NO_METADATA : metadata) };
}

const everything: Predicate = () => true;

function predicateOf(expression: Expression): Predicate {
  switch (expression.kind) {
    case "condition":
      return conditionPredicate(expression);
    case "and":
      return everyOf(expression.parts.map(predicateOf));
    case "or":
      return anyOf(expression.parts.map(predicateOf));
    default: {
      const never: never = expression;
      return never;
    }
  }
}

function conditionPredicate({ path, operator, operands }: Condition): Predicate {
  const test = operator.test(operands);
  const { whenMissing } = operator;
  if (path.isMany) {
    const passes = someFieldTest(path, test);
    if (!whenMissing) return passes;
    const exists = someFieldTest(path, () => true);
    return (metadata) => passes(metadata) || !exists(metadata);
  }
  const read = fieldReader(path);
  return (metadata) => {
    const field = read(metadata);
    return field === undefined ? whenMissing : test(field);
  };
}

function everyOf(parts: readonly Predicate[]): Predicate {
  return (metadata) => {
    for (let i = 0; i < parts.length; i += 1) if (!(parts[i] as Predicate)(metadata)) return false;
    return true;
  };
}

function anyOf(parts: readonly Predicate[]): Predicate {
  return (metadata) => {
    for (let i = 0; i < parts.length; i += 1) if ((parts[i] as Predicate)(metadata)) return true;
    return false;
  };
}

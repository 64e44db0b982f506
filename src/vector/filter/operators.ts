/**
 * The operators of the metadata filter, one row each. The parser takes its
 * keywords from `words`, and the manual its rows from the rest; a test parses
 * every example, so neither can drift.
 *
 * `test` gets the operands once, when the filter is compiled, and returns the
 * function that sees the fields. It never sees a missing field: `whenMissing`
 * answers for that. A field of a type that is not in `fields` does not match,
 * however the operator is negated; JSON null is of no type and only exists.
 * Among the types in `fields`, values of different types are never equal, but
 * that true and false are also 1 and 0. Nothing here can fail.
 */
import { compileGlob } from "./glob.ts";
import { exact, isArray, isNumeric, isScalar, type Json, type Scalar } from "./json.ts";
import { filterWork } from "./work.ts";

export type FieldTest = (field: Json) => boolean;
export type FieldType = "string" | "number" | "boolean" | "array" | "any";

export interface Operator {
  /** In upper case; read in any. */
  readonly words: string;
  /** Where the words stand. */
  readonly place: "before the field" | "after the field";
  readonly operand: "literal" | "string" | "list" | "none";
  /** Types of fields that it can match. */
  readonly fields: readonly FieldType[];
  /** What it answers for a field that the record does not have. */
  readonly whenMissing: boolean;
  /** True: exactly the fields that are equal to an operand pass. For whoever finds records by value. */
  readonly equality?: true;
  /** Exactly the numbers on this side of the operand pass. For whoever has many numbers at once. */
  readonly side?: "below" | "at most" | "above" | "at least";
  /** True when the condition holds, for the manual. */
  readonly meaning: string;
  readonly example: string;
  test(operands: readonly Scalar[]): FieldTest;
}

const scalars: readonly FieldType[] = ["string", "number", "boolean"];

export const operators: readonly Operator[] = [
  {
    words: "=",
    place: "after the field",
    operand: "literal",
    fields: scalars,
    whenMissing: false,
    equality: true,
    meaning: "the field is equal to the value",
    example: "geography.continent = 'Asia'",
    test: ([wanted]) => equalTo(wanted),
  },
  {
    words: "!=",
    place: "after the field",
    operand: "literal",
    fields: scalars,
    whenMissing: false,
    meaning: "the field is there and not equal to the value",
    example: "country != 'Germany'",
    test: ([unwanted]) => scalarBut(equalTo(unwanted)),
  },
  {
    words: "<",
    place: "after the field",
    operand: "literal",
    fields: ["number"],
    whenMissing: false,
    side: "below",
    meaning: "the field is a number below the given number",
    example: "population < 20000000",
    test: ([bound]) => ordered(bound, (least) => (field) => isNumeric(field) && field < least),
  },
  {
    words: "<=",
    place: "after the field",
    operand: "literal",
    fields: ["number"],
    whenMissing: false,
    side: "at most",
    meaning: "the field is a number, at most the given number",
    example: "population <= 20000000",
    test: ([bound]) => ordered(bound, (most) => (field) => isNumeric(field) && field <= most),
  },
  {
    words: ">",
    place: "after the field",
    operand: "literal",
    fields: ["number"],
    whenMissing: false,
    side: "above",
    meaning: "the field is a number above the given number",
    example: "geography.coordinates.latitude > -23.5",
    test: ([bound]) => ordered(bound, (most) => (field) => isNumeric(field) && field > most),
  },
  {
    words: ">=",
    place: "after the field",
    operand: "literal",
    fields: ["number"],
    whenMissing: false,
    side: "at least",
    meaning: "the field is a number, at least the given number",
    example: "population >= 1e6",
    test: ([bound]) => ordered(bound, (least) => (field) => isNumeric(field) && field >= least),
  },
  {
    words: "GLOB",
    place: "after the field",
    operand: "string",
    fields: ["string"],
    whenMissing: false,
    meaning: "the whole field matches the pattern, upper and lower case told apart",
    example: "city GLOB '?[sz]*[^m-z]'",
    test([pattern]) {
      const matches = compileGlob(String(pattern));
      return (field) => typeof field === "string" && matches(field);
    },
  },
  {
    words: "NOT GLOB",
    place: "after the field",
    operand: "string",
    fields: ["string"],
    whenMissing: false,
    meaning: "the field is a string that does not match the pattern",
    example: "city NOT GLOB 'A*'",
    test([pattern]) {
      const matches = compileGlob(String(pattern));
      return (field) => typeof field === "string" && !matches(field);
    },
  },
  {
    words: "IN",
    place: "after the field",
    operand: "list",
    fields: scalars,
    whenMissing: false,
    equality: true,
    meaning: "the field is equal to one of the values",
    example: "country IN ('Germany', 'Turkey', 'France')",
    test: (wanted) => oneOf(wanted),
  },
  {
    words: "NOT IN",
    place: "after the field",
    operand: "list",
    fields: scalars,
    whenMissing: false,
    meaning: "the field is there and equal to none of the values",
    example: "country NOT IN ('Germany', 'Turkey', 'France')",
    test: (unwanted) => scalarBut(oneOf(unwanted)),
  },
  {
    words: "CONTAINS",
    place: "after the field",
    operand: "literal",
    fields: ["array"],
    whenMissing: false,
    meaning: "an element of the array is equal to the value",
    example: "economy.major_industries CONTAINS 'Tourism'",
    test([wanted]) {
      const isWanted = equalTo(wanted);
      return (field) => isArray(field) && hasElement(field, isWanted);
    },
  },
  {
    words: "NOT CONTAINS",
    place: "after the field",
    operand: "literal",
    fields: ["array"],
    whenMissing: false,
    meaning: "the field is an array of which no element is equal to the value",
    example: "economy.major_industries NOT CONTAINS 'Steel'",
    test([unwanted]) {
      const isUnwanted = equalTo(unwanted);
      return (field) => isArray(field) && !hasElement(field, isUnwanted);
    },
  },
  {
    words: "HAS FIELD",
    place: "before the field",
    operand: "none",
    fields: ["any"],
    whenMissing: false,
    meaning: "the field is there, even as null",
    example: "HAS FIELD geography.coordinates",
    test: () => () => true,
  },
  {
    words: "HAS NOT FIELD",
    place: "before the field",
    operand: "none",
    fields: [],
    whenMissing: true,
    meaning: "the field is not there; also true for a record without metadata",
    example: "HAS NOT FIELD geography.coordinates",
    test: () => () => false,
  },
];

const never: FieldTest = () => false;

function equalTo(wanted: Scalar | undefined): FieldTest {
  const value = typeof wanted === "boolean" ? Number(wanted) : wanted;
  if (typeof value === "bigint") return (field) => exactField(field) === value;
  // Not more than one comparison where one is enough: this is the innermost function of a scan.
  if (value !== 1 && value !== 0) return (field) => field === value;
  const flag = value === 1;
  return (field) => field === value || field === flag;
}

function oneOf(wanted: readonly Scalar[]): FieldTest {
  const values = new Set<Json>();
  for (const value of wanted) {
    values.add(value);
    if (value === true || value === 1) values.add(true).add(1);
    if (value === false || value === 0) values.add(false).add(0);
  }
  if (wanted.some((value) => typeof value === "bigint")) return (field) => values.has(exactField(field));
  return (field) => values.has(field);
}

function exactField(field: Json): Json {
  return typeof field === "number" ? exact(field) : field;
}

function scalarBut(isUnwanted: FieldTest): FieldTest {
  return (field) => isScalar(field) && !isUnwanted(field);
}

/** Only numbers have an order: the grammar allows other bounds, and nothing is on either side of them. */
function ordered(bound: Scalar | undefined, test: (bound: number | bigint) => FieldTest): FieldTest {
  return bound !== undefined && isNumeric(bound) ? test(bound) : never;
}

function hasElement(array: readonly Json[], isWanted: FieldTest): boolean {
  filterWork.steps += array.length;
  for (let i = 0; i < array.length; i += 1) if (isWanted(array[i] as Json)) return true;
  return false;
}

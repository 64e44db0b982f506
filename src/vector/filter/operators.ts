/**
 * The operators of the metadata filter, one row each. The parser takes its
 * keywords from `words`, and the manual its rows from the rest; a test parses
 * every example, so neither can drift.
 *
 * `test` gets the operands once, when the filter is compiled, and returns the
 * function that tests fields. It never gets a missing field: `whenMissing` is
 * the result for those. A field of a type that is not in `fields` does not match,
 * even if the operator is negated; JSON null has no type and only exists. Values
 * of different types are never equal, except that true and false are also 1 and
 * 0, and never in an order. Nothing here can fail.
 */
import { compileGlob } from "./glob.ts";
import { exact, isArray, isNumeric, isScalar, type Json, type Scalar } from "./json.ts";
import { textOrder } from "./text-order.ts";
import { filterWork } from "./work.ts";

export type FieldTest = (field: Json) => boolean;
export type FieldType = "string" | "number" | "boolean" | "array" | "any";

export interface Operator {
  /** In upper case; parsed in any case. */
  readonly words: string;
  /** The place of the words. */
  readonly place: "before the field" | "after the field";
  readonly operand: "literal" | "string" | "list" | "none";
  /** The types of fields that it can match. */
  readonly fields: readonly FieldType[];
  /** The result for a missing field. */
  readonly whenMissing: boolean;
  /** True if exactly the fields that are equal to an operand pass. For lookups by value. */
  readonly equality?: true;
  /** The side of the operand on which numbers pass. For testing many numbers at once. */
  readonly side?: "below" | "at most" | "above" | "at least";
  /** When the condition holds, for the manual. */
  readonly meaning: string;
  readonly example: string;
  test(operands: readonly Scalar[]): FieldTest;
}

const scalars: readonly FieldType[] = ["string", "number", "boolean"];
const ordered: readonly FieldType[] = ["string", "number"];

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
    meaning: "the field exists and is not equal to the value",
    example: "country != 'Germany'",
    test: ([unwanted]) => scalarBut(equalTo(unwanted)),
  },
  {
    words: "<",
    place: "after the field",
    operand: "literal",
    fields: ordered,
    whenMissing: false,
    side: "below",
    meaning: "the field is a number below the given number, or a text before the given text",
    example: "population < 20000000",
    test: ([bound]) =>
      rangeTest(bound, {
        ofNumbers: (least) => (field) => isNumeric(field) && field < least,
        ofTexts: (order) => (field) => typeof field === "string" && order(field) < 0,
      }),
  },
  {
    words: "<=",
    place: "after the field",
    operand: "literal",
    fields: ordered,
    whenMissing: false,
    side: "at most",
    meaning: "the field is a number, at most the given number, or a text, at most the given text",
    example: "population <= 20000000",
    test: ([bound]) =>
      rangeTest(bound, {
        ofNumbers: (most) => (field) => isNumeric(field) && field <= most,
        ofTexts: (order) => (field) => typeof field === "string" && order(field) <= 0,
      }),
  },
  {
    words: ">",
    place: "after the field",
    operand: "literal",
    fields: ordered,
    whenMissing: false,
    side: "above",
    meaning: "the field is a number above the given number, or a text after the given text",
    example: "geography.coordinates.latitude > -23.5",
    test: ([bound]) =>
      rangeTest(bound, {
        ofNumbers: (most) => (field) => isNumeric(field) && field > most,
        ofTexts: (order) => (field) => typeof field === "string" && order(field) > 0,
      }),
  },
  {
    words: ">=",
    place: "after the field",
    operand: "literal",
    fields: ordered,
    whenMissing: false,
    side: "at least",
    meaning: "the field is a number, at least the given number, or a text, at least the given text",
    example: "population >= 1e6",
    test: ([bound]) =>
      rangeTest(bound, {
        ofNumbers: (least) => (field) => isNumeric(field) && field >= least,
        ofTexts: (order) => (field) => typeof field === "string" && order(field) >= 0,
      }),
  },
  {
    words: "GLOB",
    place: "after the field",
    operand: "string",
    fields: ["string"],
    whenMissing: false,
    meaning: "the whole field matches the pattern, case-sensitive",
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
    meaning: "the field exists and is not equal to any of the values",
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
    meaning: "the field is an array, and no element is equal to the value",
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
    meaning: "the field exists, even as null",
    example: "HAS FIELD geography.coordinates",
    test: () => () => true,
  },
  {
    words: "HAS NOT FIELD",
    place: "before the field",
    operand: "none",
    fields: [],
    whenMissing: true,
    meaning: "the field does not exist; also true for a record without metadata",
    example: "HAS NOT FIELD geography.coordinates",
    test: () => () => false,
  },
];

const never: FieldTest = () => false;

function equalTo(wanted: Scalar | undefined): FieldTest {
  const value = typeof wanted === "boolean" ? Number(wanted) : wanted;
  if (typeof value === "bigint") return (field) => exactField(field) === value;
  // Only one comparison where one is enough: this is the innermost function of a scan.
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

interface RangeTests {
  ofNumbers(bound: number | bigint): FieldTest;
  /** `order` has the sign of a text's place relative to the bound. */
  ofTexts(order: (text: string) => number): FieldTest;
}

/** A number is only compared with numbers, and a text with texts. The grammar also allows true and false as bounds. */
function rangeTest(bound: Scalar | undefined, { ofNumbers, ofTexts }: RangeTests): FieldTest {
  if (typeof bound === "string") return ofTexts(textOrder(bound));
  return bound !== undefined && isNumeric(bound) ? ofNumbers(bound) : never;
}

/** Whether an element passes. Counts the work. */
export function hasElement(array: readonly Json[], isWanted: FieldTest): boolean {
  filterWork.steps += array.length;
  for (let i = 0; i < array.length; i += 1) if (isWanted(array[i] as Json)) return true;
  return false;
}

/**
 * The operators of fields in filters: one table, a row for each operator with
 * the types that it fits and how its value becomes a clause.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { JsonNode } from "../../json/node.ts";
import { doubleOf, isNumber, WholeDouble } from "../../json/number.ts";
import { JsonObject } from "../../json/object.ts";
import type { FieldType, SearchField } from "../definition.ts";
import type { TokenPattern } from "../index/index-reader.ts";
import {
  conditionValueWrong,
  elementsTooMany,
  operatorParameterUnknown,
  operatorParameterWrong,
  patternInvalid,
  patternTooLong,
  slopWithPrefix,
} from "../search-errors.ts";
import type { AnalysedWord, AnalyzerFor } from "../text/analyzer.ts";
import { allOf, anyOf, boosted, type Clause, type Comparison, type FuzzyClause, nothing } from "./clauses.ts";
import { dateMs } from "./dates.ts";

/** What reading a filter needs from other parts of search. */
export interface FilterTools {
  readonly analyzerFor: AnalyzerFor;
  /** Throws an object whose `reason` is the fault of the pattern, as a part of a sentence. */
  readonly compilePattern: (pattern: Bytes) => TokenPattern;
}

/** The field and operator whose value is read. */
export interface Condition {
  readonly number: number;
  readonly field: SearchField;
  readonly operator: Bytes;
  readonly tools: FilterTools;
  /** The words of a text, analysed as the field is. */
  readonly wordsOf: (text: Bytes) => readonly AnalysedWord[];
  /** Takes a term that HIGHLIGHT marks. */
  readonly highlight: (token: Bytes) => void;
}

export interface FieldOperator {
  readonly name: Bytes;
  readonly types: readonly FieldType[];
  /** Throws a `CommandError` if the value does not fit. */
  readonly clauseOf: (value: JsonNode, condition: Condition) => Clause;
}

export const IN_VALUES_MAX = 10_000;
export const PATTERN_BYTES_MAX = 1_024;
export const SLOP_MAX = 1_000_000;
const DISTANCE_MAX = 2;

const everyType: readonly FieldType[] = ["TEXT", "KEYWORD", "U64", "I64", "F64", "BOOL", "DATE", "FACET"];
const orderedTypes: readonly FieldType[] = ["KEYWORD", "U64", "I64", "F64", "DATE"];

/** The operator of a value that is given without one. */
export const plainOperator: Bytes = "$smart";

const rows: readonly FieldOperator[] = [
  { name: "$eq", types: everyType, clauseOf: equals },
  { name: "$in", types: everyType, clauseOf: isIn },
  {
    name: plainOperator,
    types: everyType,
    clauseOf: (value, condition) => (condition.field.type === "TEXT" ? smart : equals)(value, condition),
  },
  ...(["$gt", "$gte", "$lt", "$lte"] as const).map((name) => ({
    name,
    types: orderedTypes,
    clauseOf: (value: JsonNode, condition: Condition) => range(name, value, condition),
  })),
  { name: "$phrase", types: ["TEXT"], clauseOf: phrase },
  { name: "$fuzzy", types: ["TEXT"], clauseOf: fuzzy },
  { name: "$regex", types: ["TEXT"], clauseOf: regex },
];

export const fieldOperators: ReadonlyMap<Bytes, FieldOperator> = new Map(rows.map((row) => [row.name, row]));

function equals(value: JsonNode, condition: Condition): Clause {
  if (condition.field.type === "TEXT") return textEquals(textOf(value, condition), condition);
  return equalsAny([value], condition);
}

function isIn(value: JsonNode, condition: Condition): Clause {
  const { field, operator } = condition;
  if (!Array.isArray(value)) throw conditionValueWrong(field.name, operator, "an array");
  if (value.length > IN_VALUES_MAX) throw elementsTooMany(field.name, operator, IN_VALUES_MAX);
  if (field.type !== "TEXT") return value.length === 0 ? nothing : equalsAny(value, condition);
  return anyOf(value.map((element) => textEquals(textOf(element, condition), condition)));
}

/** For all types but TEXT. */
function equalsAny(values: readonly JsonNode[], condition: Condition): Clause {
  const { number: field } = condition;
  switch (condition.field.type) {
    case "KEYWORD":
      return { kind: "words", field, test: { kind: "equals", words: values.map((value) => textOf(value, condition)) } };
    case "FACET":
      return { kind: "words", field, test: { kind: "below", paths: values.map((value) => pathOf(value, condition)) } };
    default: {
      const numbers = values.map((value) => numberOf(value, condition));
      return { kind: "numbers", field, test: { kind: "equals", values: numbers } };
    }
  }
}

function range(comparison: Comparison, value: JsonNode, condition: Condition): Clause {
  const { number: field } = condition;
  if (condition.field.type === "KEYWORD")
    return { kind: "words", field, test: { kind: "range", comparison, bound: textOf(value, condition) } };
  return { kind: "numbers", field, test: { kind: "range", comparison, bound: numberOf(value, condition) } };
}

/** A value as the column of the field has it. */
function numberOf(value: JsonNode, { field, operator }: Condition): number | bigint {
  const { type, name } = field;
  if (type === "BOOL") {
    if (typeof value !== "boolean") throw conditionValueWrong(name, operator, "true or false");
    return value ? 1 : 0;
  }
  if (type === "DATE") {
    const ms = typeof value === "string" ? dateMs(value) : undefined;
    if (ms === undefined) throw conditionValueWrong(name, operator, "a date as text: RFC 3339, or YYYY-MM-DD");
    return ms;
  }
  if (!isNumber(value)) throw conditionValueWrong(name, operator, "a number");
  if (type === "F64") return doubleOf(value);
  if (!(value instanceof WholeDouble)) return value;
  return Number.isSafeInteger(value.value) ? value.value : BigInt(value.value);
}

function textOf(value: JsonNode, { field, operator }: Condition): Bytes {
  if (typeof value !== "string") throw conditionValueWrong(field.name, operator, "a string");
  return value;
}

function pathOf(value: JsonNode, { field, operator }: Condition): Bytes {
  if (typeof value !== "string" || !value.startsWith("/"))
    throw conditionValueWrong(field.name, operator, "a string that begins with /");
  return value;
}

/** One word is a term, several are a phrase. */
function textEquals(text: Bytes, condition: Condition): Clause {
  return phraseOf(termsOf(condition.wordsOf(text), condition), 0, condition);
}

/** The terms of words, which are highlighted. */
function termsOf(words: readonly AnalysedWord[], { highlight }: Condition): readonly Bytes[] {
  return words.map(({ term }) => {
    highlight(term);
    return term;
  });
}

function phraseOf(tokens: readonly Bytes[], slop: number, { number: field }: Condition): Clause {
  const [token] = tokens;
  if (token === undefined) return nothing;
  return tokens.length === 1 ? { kind: "term", field, token } : { kind: "phrase", field, tokens, slop };
}

function phrase(value: JsonNode, condition: Condition): Clause {
  if (typeof value === "string") return textEquals(value, condition);
  const parameters = parametersOf(value, ["value", "slop", "prefix"], condition);
  const text = parameters.text();
  if (parameters.has("slop") && parameters.has("prefix")) throw slopWithPrefix;
  const words = condition.wordsOf(text);
  if (!parameters.flag("prefix", false)) {
    const slop = parameters.wholeNumber("slop", { fallback: 0, most: SLOP_MAX });
    return phraseOf(termsOf(words, condition), slop, condition);
  }
  const last = words.at(-1);
  if (last === undefined) return nothing;
  const { number: field } = condition;
  if (words.length === 1) return { kind: "prefix", field, word: last };
  // The last word is no term, so it is not highlighted.
  return { kind: "phrasePrefix", field, tokens: termsOf(words.slice(0, -1), condition), last };
}

function fuzzy(value: JsonNode, condition: Condition): Clause {
  if (typeof value === "string") return fuzzyWords(condition.wordsOf(value), {}, condition);
  const parameters = parametersOf(value, ["value", "distance", "transpositionCostOne", "prefix"], condition);
  const options = {
    distance: parameters.wholeNumber("distance", { fallback: 1, most: DISTANCE_MAX }),
    transpositionCostOne: parameters.flag("transpositionCostOne", true),
    isPrefix: parameters.flag("prefix", false),
  };
  return fuzzyWords(condition.wordsOf(parameters.text()), options, condition);
}

type FuzzyParameters = Partial<Pick<FuzzyClause, "distance" | "transpositionCostOne" | "isPrefix">>;

function fuzzyWords(words: readonly AnalysedWord[], parameters: FuzzyParameters, condition: Condition): Clause {
  if (words.length === 0) return nothing;
  return allOf(words.map(({ term }) => fuzzyWord(term, parameters, condition)));
}

function fuzzyWord(token: Bytes, parameters: FuzzyParameters, { number: field }: Condition): Clause {
  const defaults = { distance: 1, transpositionCostOne: true, isPrefix: false };
  return { kind: "fuzzy", field, token, ...defaults, ...parameters };
}

function regex(value: JsonNode, condition: Condition): Clause {
  const pattern = textOf(value, condition);
  if (pattern.length > PATTERN_BYTES_MAX) throw patternTooLong(condition.field.name, PATTERN_BYTES_MAX);
  return { kind: "regex", field: condition.number, pattern: compiled(pattern, condition) };
}

function compiled(pattern: Bytes, { field, tools }: Condition): TokenPattern {
  try {
    return tools.compilePattern(pattern);
  } catch (error) {
    if (typeof error === "object" && error !== null && "reason" in error && typeof error.reason === "string")
      throw patternInvalid(field.name, error.reason);
    throw error;
  }
}

/** The weights of the parts of `$smart` of several words; others have 1. */
const PHRASE_WEIGHT = 3;
const SLOPPY_PHRASE_WEIGHT = 2;
const TERMS_WEIGHT = 2;
const SMART_SLOP = 2;

const QUOTED = /^[ \t\r\n]*"([^"]*)"[ \t\r\n]*$/;

/** A text as a person types it into a search box. Any part of the following is enough to match. */
function smart(value: JsonNode, condition: Condition): Clause {
  const text = textOf(value, condition);
  const quoted = QUOTED.exec(text)?.[1];
  if (quoted !== undefined) return textEquals(quoted, condition);
  const words = condition.wordsOf(text);
  const tokens = termsOf(words, condition);
  const last = tokens.at(-1);
  if (last === undefined) return nothing;
  const { number: field } = condition;
  if (tokens.length === 1) return { kind: "smartWord", field, token: last };
  const terms = tokens.map((token): Clause => ({ kind: "term", field, token }));
  const spellings = tokens.map((token) => fuzzyWord(token, {}, condition));
  const beginnings = fuzzyWord(last, { isPrefix: true }, condition);
  return anyOf([
    boosted(phraseOf(tokens, 0, condition), PHRASE_WEIGHT),
    boosted(phraseOf(tokens, SMART_SLOP, condition), SLOPPY_PHRASE_WEIGHT),
    boosted(anyOf(terms), TERMS_WEIGHT),
    anyOf(spellings),
    beginnings,
  ]);
}

/** The parameters of `$phrase` and `$fuzzy`. */
interface Parameters {
  readonly has: (name: Bytes) => boolean;
  readonly text: () => Bytes;
  readonly flag: (name: Bytes, fallback: boolean) => boolean;
  readonly wholeNumber: (name: Bytes, bounds: { readonly fallback: number; readonly most: number }) => number;
}

function parametersOf(value: JsonNode, names: readonly Bytes[], { field, operator }: Condition): Parameters {
  if (!(value instanceof JsonObject)) throw conditionValueWrong(field.name, operator, "a string or an object");
  value.visit((name) => {
    if (!names.includes(name)) throw operatorParameterUnknown(operator, name);
  });
  return {
    has: (name) => value.has(name),
    text: () => {
      const text = value.get("value");
      if (typeof text !== "string") throw operatorParameterWrong(operator, "value", "a string");
      return text;
    },
    flag: (name, fallback) => {
      const flag = value.get(name);
      if (flag === undefined) return fallback;
      if (typeof flag !== "boolean") throw operatorParameterWrong(operator, name, "true or false");
      return flag;
    },
    wholeNumber: (name, { fallback, most }) => {
      const node = value.get(name);
      if (node === undefined) return fallback;
      const number = isNumber(node) ? doubleOf(node) : Number.NaN;
      if (!(Number.isInteger(number) && number >= 0 && number <= most))
        throw operatorParameterWrong(operator, name, `a whole number from 0 to ${most}`);
      return number;
    },
  };
}

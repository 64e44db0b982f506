/**
 * Reads a filter: JSON text becomes a tree of clauses that fit the schema of
 * the index. Of members with the same name the last one counts, as everywhere
 * in documents.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { JsonNode } from "../../json/node.ts";
import { doubleOf, isNumber } from "../../json/number.ts";
import { JsonObject } from "../../json/object.ts";
import { parseJson } from "../../json/parse.ts";
import type { IndexDefinition } from "../definition.ts";
import {
  boostNotNumber,
  conditionEmpty,
  filterClausesTooMany,
  filterNotObject,
  filterTooDeep,
  filterTooLarge,
  filterWordsTooMany,
  operatorNotForType,
  operatorNotNodes,
  unknownField,
  unknownFieldOperator,
  unknownOperator,
} from "../search-errors.ts";
import type { AnalysedWord } from "../text/analyzer.ts";
import { allOf, boosted, type Clause, ClauseFilter, nothing } from "./clauses.ts";
import type { ParseFilter } from "./contract.ts";
import { type Condition, type FilterTools, fieldOperators, plainOperator } from "./field-operators.ts";

export const FILTER_BYTES_MAX = 1024 * 1024;
/** Nodes inside nodes; the outermost one counts. */
export const FILTER_DEPTH_MAX = 32;
/** Nodes, and operators of fields. */
export const FILTER_CLAUSES_MAX = 4_096;
/** Words in all texts together: each becomes a clause or a part of one. */
export const FILTER_WORDS_MAX = 20_000;
/** Far above any use, and small enough for every product of nested boosts to be a finite double. */
export const BOOST_MAX = 1e9;

/** The parser that SEARCH.QUERY, SEARCH.COUNT and SEARCH.AGGREGATE share. */
export function makeFilterParser(tools: FilterTools): ParseFilter {
  return (text, definition) => {
    if (text.length > FILTER_BYTES_MAX) throw filterTooLarge(FILTER_BYTES_MAX);
    const { node } = parseJson(text);
    if (!(node instanceof JsonObject)) throw filterNotObject;
    const parser = new FilterParser(tools, definition);
    const clause = parser.node(node, { depth: 1, isExcluded: false });
    return new ClauseFilter(clause, parser.highlighted);
  };
}

/** Where a node is. */
interface Place {
  readonly depth: number;
  /** Below a `$mustNot`, whose terms are not highlighted. */
  readonly isExcluded: boolean;
}

/** The clauses of a node; an operator that the node does not have is undefined. */
interface Parts {
  required: Clause[] | undefined;
  optional: Clause[] | undefined;
  excluded: Clause[] | undefined;
  boost: number;
}

interface NodeOperator {
  readonly name: Bytes;
  readonly part: "required" | "optional" | "excluded";
}

const nodeOperators: ReadonlyMap<Bytes, NodeOperator> = new Map(
  (
    [
      { name: "$must", part: "required" },
      { name: "$and", part: "required" },
      { name: "$should", part: "optional" },
      { name: "$or", part: "optional" },
      { name: "$mustNot", part: "excluded" },
    ] as const
  ).map((row) => [row.name, row]),
);

const BOOST = "$boost";

class FilterParser {
  readonly highlighted = new Map<number, Set<Bytes>>();
  readonly #tools: FilterTools;
  readonly #definition: IndexDefinition;
  readonly #numbers: ReadonlyMap<Bytes, number>;
  #clausesLeft = FILTER_CLAUSES_MAX;
  #wordsLeft = FILTER_WORDS_MAX;

  constructor(tools: FilterTools, definition: IndexDefinition) {
    this.#tools = tools;
    this.#definition = definition;
    this.#numbers = fieldNumbersOf(definition);
  }

  node(node: JsonObject, place: Place): Clause {
    if (place.depth > FILTER_DEPTH_MAX) throw filterTooDeep(FILTER_DEPTH_MAX);
    this.#countClause();
    const parts: Parts = { required: undefined, optional: undefined, excluded: undefined, boost: 1 };
    let isEmpty = true;
    node.visit((name, value) => {
      if (name === BOOST) {
        parts.boost = boostOf(value);
        return;
      }
      isEmpty = false;
      if (!name.startsWith("$")) {
        parts.required ??= [];
        parts.required.push(this.#condition(name, value, place));
        return;
      }
      const operator = nodeOperators.get(name);
      if (operator === undefined) throw unknownOperator(name);
      const { part } = operator;
      parts[part] ??= [];
      this.#addNodes(parts[part], operator, { value, place });
    });
    if (isEmpty) parts.required = [];
    return boosted(clauseOf(parts), parts.boost);
  }

  /** An object is a list of its members, each a node of its own. */
  #addNodes(
    clauses: Clause[],
    { name, part }: NodeOperator,
    { value, place }: { value: JsonNode; place: Place },
  ): void {
    const inner: Place = { depth: place.depth + 1, isExcluded: place.isExcluded || part === "excluded" };
    if (Array.isArray(value)) {
      for (const element of value) {
        if (!(element instanceof JsonObject)) throw operatorNotNodes(name);
        clauses.push(this.node(element, inner));
      }
      return;
    }
    if (!(value instanceof JsonObject)) throw operatorNotNodes(name);
    const boost = value.get(BOOST);
    const factor = boost === undefined ? 1 : boostOf(boost);
    value.visit((member, node) => {
      if (member !== BOOST) clauses.push(boosted(this.node(new JsonObject([member, node]), inner), factor));
    });
  }

  #condition(name: Bytes, value: JsonNode, place: Place): Clause {
    const number = this.#numbers.get(name);
    if (number === undefined) throw unknownField(name);
    if (!(value instanceof JsonObject)) return this.#operator(plainOperator, value, { number, place });
    const clauses: Clause[] = [];
    let boost = 1;
    value.visit((operator, operand) => {
      if (operator === BOOST) boost = boostOf(operand);
      else clauses.push(this.#operator(operator, operand, { number, place }));
    });
    if (clauses.length === 0) throw conditionEmpty(name);
    return boosted(allOf(clauses), boost);
  }

  #operator(operator: Bytes, value: JsonNode, { number, place }: { number: number; place: Place }): Clause {
    this.#countClause();
    const field = this.#definition.fields[number];
    const row = fieldOperators.get(operator);
    if (row === undefined || field === undefined) throw unknownFieldOperator(operator);
    if (!row.types.includes(field.type)) throw operatorNotForType(operator, field.name, field.type);
    const condition: Condition = {
      number,
      field,
      operator,
      tools: this.#tools,
      wordsOf: (text) => this.#wordsOf(text, number),
      highlight: (token) => {
        if (!place.isExcluded) this.#highlight(number, token);
      },
    };
    return row.clauseOf(value, condition);
  }

  #wordsOf(text: Bytes, number: number): readonly AnalysedWord[] {
    const { language, fields } = this.#definition;
    const words = this.#tools.analyzerFor(language, fields[number] as (typeof fields)[number]).words(text);
    this.#wordsLeft -= words.length;
    if (this.#wordsLeft < 0) throw filterWordsTooMany(FILTER_WORDS_MAX);
    return words;
  }

  #highlight(number: number, token: Bytes): void {
    const tokens = this.highlighted.get(number);
    if (tokens === undefined) this.highlighted.set(number, new Set([token]));
    else tokens.add(token);
  }

  #countClause(): void {
    this.#clausesLeft -= 1;
    if (this.#clausesLeft < 0) throw filterClausesTooMany(FILTER_CLAUSES_MAX);
  }
}

function clauseOf({ required, optional, excluded = [] }: Parts): Clause {
  if (required !== undefined && required.length > 0) return group({ required, optional: optional ?? [], excluded });
  // Nothing is required, so one of the optional clauses must match.
  if (optional !== undefined) return optional.length === 0 ? nothing : group({ required: [], optional, excluded });
  // `{}` and `{"$must": []}` ask for every document; `$mustNot` alone matches nothing, as documented by the service.
  return required === undefined ? nothing : group({ required: [{ kind: "all" }], optional: [], excluded });
}

interface GroupParts {
  readonly required: readonly Clause[];
  readonly optional: readonly Clause[];
  readonly excluded: readonly Clause[];
}

function group(parts: GroupParts): Clause {
  const { required, optional, excluded } = parts;
  if (optional.length + excluded.length === 0) return allOf(required);
  return { kind: "group", ...parts };
}

function boostOf(value: JsonNode): number {
  const boost = isNumber(value) ? doubleOf(value) : Number.NaN;
  if (!(Math.abs(boost) <= BOOST_MAX)) throw boostNotNumber(BOOST_MAX);
  return boost;
}

const numbersByDefinition = new WeakMap<IndexDefinition, ReadonlyMap<Bytes, number>>();

/** A definition never changes, so the map is made once for each. */
export function fieldNumbersOf(definition: IndexDefinition): ReadonlyMap<Bytes, number> {
  const known = numbersByDefinition.get(definition);
  if (known !== undefined) return known;
  const numbers = new Map(definition.fields.map(({ name }, number) => [name, number]));
  numbersByDefinition.set(definition, numbers);
  return numbers;
}

/** Reads the JSON of SEARCH.AGGREGATE, and checks it against the definition of the index. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { JsonNode } from "../../json/node.ts";
import { JsonObject } from "../../json/object.ts";
import { parseJson } from "../../json/parse.ts";
import {
  aggregationsNotObject,
  aggregationsTooLong,
  aliasesTooMany,
  aliasTooLong,
  facetInside,
  fieldMissing,
  fieldNotFast,
  fieldTypeWrong,
  fieldUnknown,
  nestedTooDeep,
  notObject,
  operatorNotObject,
  operatorsNotOne,
  operatorUnknown,
  parameterInvalid,
  subAggregationsForbidden,
} from "../aggregation-errors.ts";
import { type IndexDefinition, isSortable } from "../definition.ts";
import type { Aggregations, ParseAggregations } from "./contract.ts";
import { type Operator, operators } from "./operators.ts";
import { AggregationParameters } from "./parameters.ts";
import type { Aggregation, PlannedField } from "./plan.ts";

export const AGGREGATIONS_BYTES_MAX = 1024 * 1024;
/** Of a command, with those in `$aggs`. */
export const ALIASES_MAX = 100;
export const ALIAS_BYTES_MAX = 512;
/** Levels of aggregations: the first one is 1. */
export const DEPTH_MAX = 8;

/** What `parseAggregations` returns. */
export class PlannedAggregations implements Aggregations {
  readonly aggregations: readonly Aggregation[];

  constructor(aggregations: readonly Aggregation[]) {
    this.aggregations = aggregations;
  }

  get aliases(): readonly Bytes[] {
    return this.aggregations.map(({ alias }) => alias);
  }
}

export const parseAggregations: ParseAggregations = (text, definition) => {
  if (text.length > AGGREGATIONS_BYTES_MAX) throw aggregationsTooLong(AGGREGATIONS_BYTES_MAX);
  const { node } = parseJson(text);
  if (!(node instanceof JsonObject)) throw aggregationsNotObject;
  return new PlannedAggregations(new AggregationParser(definition).level(node, 1));
};

const operatorsByName: ReadonlyMap<Bytes, Operator> = new Map(operators.map((row) => [row.name, row]));

/** The key beside an operator that has the aggregations of its buckets. */
const SUB_AGGREGATIONS = "$aggs";

class AggregationParser {
  readonly #definition: IndexDefinition;
  #aliasCount = 0;

  constructor(definition: IndexDefinition) {
    this.#definition = definition;
  }

  /** The aggregations of one object. `depth` is 1 for the outermost. */
  level(object: JsonObject, depth: number): Aggregation[] {
    this.#aliasCount += object.size;
    if (this.#aliasCount > ALIASES_MAX) throw aliasesTooMany(ALIASES_MAX);
    const aggregations: Aggregation[] = [];
    object.visit((alias, node) => {
      if (alias.length > ALIAS_BYTES_MAX) throw aliasTooLong(ALIAS_BYTES_MAX);
      aggregations.push(this.#aggregation(alias, node, depth));
    });
    return aggregations;
  }

  #aggregation(alias: Bytes, node: JsonNode, depth: number): Aggregation {
    if (!(node instanceof JsonObject)) throw notObject(alias);
    if (depth > DEPTH_MAX) throw nestedTooDeep(alias, DEPTH_MAX);
    const names = node.names().filter((name) => name !== SUB_AGGREGATIONS);
    const [name] = names;
    if (name === undefined || names.length > 1) throw operatorsNotOne(alias);
    const operator = operatorsByName.get(name);
    if (operator === undefined) throw operatorUnknown(alias, name);
    if (depth > 1 && !operator.isSubAggregation) throw facetInside(alias, name);
    const object = node.get(name);
    if (!(object instanceof JsonObject)) throw operatorNotObject(alias, name);
    const field = this.#field(alias, operator, object);
    const below = this.#subAggregations(alias, { operator, node: node.get(SUB_AGGREGATIONS), depth });
    const parameters = new AggregationParameters(object, { alias, operator: name });
    const plan = operator.plan(field, parameters, below);
    parameters.finish();
    return { alias, plan, metrics: operator.metrics };
  }

  #field(alias: Bytes, operator: Operator, object: JsonObject): PlannedField {
    const name = object.get("field");
    if (name === undefined || name === null) throw fieldMissing(alias);
    if (typeof name !== "string") throw parameterInvalid(alias, { name: "field", rule: "must be a string" });
    const number = this.#definition.fields.findIndex((each) => each.name === name);
    const field = this.#definition.fields[number];
    if (field === undefined) throw fieldUnknown(alias, name);
    if (!operator.types.includes(field.type))
      throw fieldTypeWrong(alias, { operator: operator.name, field: name, type: field.type });
    if (field.type !== "FACET" && !isSortable(field))
      throw fieldNotFast(alias, { operator: operator.name, field: name });
    return { field, number };
  }

  #subAggregations(
    alias: Bytes,
    { operator, node, depth }: { operator: Operator; node: JsonNode | undefined; depth: number },
  ): Aggregation[] {
    if (node === undefined) return [];
    if (!operator.hasSubAggregations) throw subAggregationsForbidden(alias, operator.name);
    if (!(node instanceof JsonObject))
      throw parameterInvalid(alias, { name: SUB_AGGREGATIONS, rule: "must be a JSON object" });
    return this.level(node, depth + 1);
  }
}

/** Every error text of aggregations. Each names the alias, and the operator, parameter or field if one is at fault. */
import type { Bytes } from "../../kernel/bytes.ts";
import { CommandError } from "../errors.ts";

export const aggregationsNotObject = new CommandError("ERR Aggregations must be a JSON object");

/** `prefix` is the alias in the words of the service. */
const about = (alias: Bytes, rest: string): CommandError => new CommandError(`ERR Aggregation '${alias}' ${rest}`);

export const aggregationsTooLong = (bytesMax: number): CommandError =>
  new CommandError(`ERR Aggregations must be at most ${bytesMax} bytes`);

export const aliasesTooMany = (countMax: number): CommandError =>
  new CommandError(`ERR Aggregations must have at most ${countMax} names, those in $aggs included`);

export const aliasTooLong = (bytesMax: number): CommandError =>
  new CommandError(`ERR The name of an aggregation must be at most ${bytesMax} bytes`);

export const notObject = (alias: Bytes): CommandError => about(alias, "must be a JSON object");

export const operatorsNotOne = (alias: Bytes): CommandError => about(alias, "must have exactly one operator");

export const operatorUnknown = (alias: Bytes, operator: Bytes): CommandError =>
  about(alias, `has an unknown operator: ${operator}`);

export const operatorNotObject = (alias: Bytes, operator: Bytes): CommandError =>
  about(alias, `operator '${operator}' must be a JSON object`);

export const fieldMissing = (alias: Bytes): CommandError => about(alias, "is missing required 'field' property");

export const fieldUnknown = (alias: Bytes, field: Bytes): CommandError =>
  about(alias, `has an unknown field: ${field}`);

export const fieldNotFast = (alias: Bytes, { operator, field }: { operator: Bytes; field: Bytes }): CommandError =>
  about(alias, `operator '${operator}' requires field '${field}' to be FAST`);

export const fieldTypeWrong = (
  alias: Bytes,
  { operator, field, type }: { operator: Bytes; field: Bytes; type: string },
): CommandError => about(alias, `operator '${operator}' does not support field '${field}' of type ${type}`);

export const parameterMissing = (alias: Bytes, name: string): CommandError =>
  about(alias, `is missing required '${name}' property`);

export const parameterUnknown = (alias: Bytes, { operator, name }: { operator: Bytes; name: Bytes }): CommandError =>
  about(alias, `operator '${operator}' has no property '${name}'`);

/** `rule` says what the property must be, like "must be a positive number". */
export const parameterInvalid = (alias: Bytes, { name, rule }: { name: string; rule: string }): CommandError =>
  about(alias, `property '${name}' ${rule}`);

export const subAggregationsForbidden = (alias: Bytes, operator: Bytes): CommandError =>
  about(alias, `operator '${operator}' cannot have $aggs`);

export const facetInside = (alias: Bytes, operator: Bytes): CommandError =>
  about(alias, `operator '${operator}' cannot be inside $aggs`);

export const nestedTooDeep = (alias: Bytes, depthMax: number): CommandError =>
  about(alias, `is nested deeper than ${depthMax} levels`);

export const rangesOverlap = (alias: Bytes): CommandError => about(alias, "has overlapping ranges");

export const bucketsTooMany = (countMax: number): CommandError =>
  new CommandError(`ERR Aggregations have more than ${countMax} buckets: use a smaller size or a larger interval`);

export const valuesTooMany = (countMax: number): CommandError =>
  new CommandError(`ERR Aggregations have more than ${countMax} values of documents in buckets with $aggs`);

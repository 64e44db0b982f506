/**
 * The errors of filters and of the options of SEARCH.QUERY. Texts name the
 * field, operator or option, and never repeat values or documents.
 */
import { type Bytes, upperCase } from "../../kernel/bytes.ts";
import { CommandError } from "../errors.ts";

/** Names can be as long as the filter. */
const PRINTED_NAME_BYTES_MAX = 128;

function printed(name: Bytes): Bytes {
  return name.length <= PRINTED_NAME_BYTES_MAX ? name : `${name.slice(0, PRINTED_NAME_BYTES_MAX)}...`;
}

// Filters.

export const filterNotObject = new CommandError("ERR the filter must be a JSON object");

export function filterTooLarge(bytesMax: number): CommandError {
  return new CommandError(`ERR the filter is larger than ${bytesMax} bytes`);
}

export function filterTooDeep(depthMax: number): CommandError {
  return new CommandError(`ERR the filter is nested deeper than ${depthMax} levels`);
}

export function filterClausesTooMany(countMax: number): CommandError {
  return new CommandError(`ERR the filter has more than ${countMax} clauses`);
}

export function filterWordsTooMany(countMax: number): CommandError {
  return new CommandError(`ERR the texts of the filter have more than ${countMax} words`);
}

export function unknownOperator(name: Bytes): CommandError {
  return new CommandError(`ERR Unknown operator: ${printed(name)}`);
}

export function unknownField(name: Bytes): CommandError {
  return new CommandError(`ERR Unknown field: ${printed(name)}`);
}

/** Wording of the service. */
export function unknownFieldOperator(name: Bytes): CommandError {
  return new CommandError(`ERR Unknown field operator: ${printed(name)}`);
}

export function operatorNotNodes(operator: Bytes): CommandError {
  return new CommandError(`ERR the value of ${operator} must be an array of objects, or an object`);
}

export function boostNotNumber(magnitudeMax: number): CommandError {
  return new CommandError(`ERR $boost must be a number from -${magnitudeMax} to ${magnitudeMax}`);
}

export function operatorNotForType(operator: Bytes, field: Bytes, type: string): CommandError {
  return new CommandError(`ERR operator ${operator} is not for fields of type ${type}: ${printed(field)}`);
}

export function conditionEmpty(field: Bytes): CommandError {
  return new CommandError(`ERR the condition of field ${printed(field)} has no operator`);
}

/** `expected` continues "must be". */
export function conditionValueWrong(field: Bytes, operator: Bytes, expected: string): CommandError {
  return new CommandError(`ERR the value of ${operator} for field ${printed(field)} must be ${expected}`);
}

export function elementsTooMany(field: Bytes, operator: Bytes, countMax: number): CommandError {
  return new CommandError(`ERR ${operator} of field ${printed(field)} has more than ${countMax} values`);
}

export function operatorParameterUnknown(operator: Bytes, name: Bytes): CommandError {
  return new CommandError(`ERR ${operator} has no parameter ${printed(name)}`);
}

/** `expected` continues "must be". */
export function operatorParameterWrong(operator: Bytes, name: Bytes, expected: string): CommandError {
  return new CommandError(`ERR ${name} of ${operator} must be ${expected}`);
}

export const slopWithPrefix = new CommandError("ERR $phrase takes slop or prefix, not both");

export function patternTooLong(field: Bytes, bytesMax: number): CommandError {
  return new CommandError(`ERR $regex of field ${printed(field)} is longer than ${bytesMax} bytes`);
}

/** `reason` is a part of a sentence, such as "unclosed (". */
export function patternInvalid(field: Bytes, reason: string): CommandError {
  return new CommandError(`ERR $regex of field ${printed(field)} is not a valid pattern: ${reason}`);
}

// Options of SEARCH.QUERY.

/** Wording of the service, which means 1 to 1000. */
export const limitOutOfRange = new CommandError("ERR limit should be a positive number less than 1000");
export const searchOffsetOutOfRange = new CommandError("ERR offset should be a non-negative number up to 10000");
export const orderWithScoreFunction = new CommandError("ERR ORDERBY and SCOREFUNC cannot be used together");
export const noContentWithContent = new CommandError("ERR NOCONTENT cannot be used with SELECT or HIGHLIGHT");
/** Documents in a reply of a transaction or script would make it too large. */
export const contentInUnit = new CommandError(
  "ERR SEARCH.QUERY needs NOCONTENT in a transaction, a script or a function",
);
export const scoreFunctionEmpty = new CommandError("ERR SCOREFUNC needs FIELDVALUE and a field");

export function scoreFieldsTooMany(countMax: number): CommandError {
  return new CommandError(`ERR SCOREFUNC has more than ${countMax} fields`);
}

export function notSortableField(option: string, field: Bytes): CommandError {
  return new CommandError(`ERR ${option} needs a field with FAST: ${printed(field)}`);
}

export function notScoreField(field: Bytes): CommandError {
  return new CommandError(`ERR SCOREFUNC needs a field of type U64, I64 or F64 with FAST: ${printed(field)}`);
}

export function notHighlightField(field: Bytes): CommandError {
  return new CommandError(`ERR HIGHLIGHT needs a field of type TEXT: ${printed(field)}`);
}

export function optionCountInvalid(option: string): CommandError {
  return new CommandError(`ERR ${option} needs the number of its fields`);
}

/** `word` names what has one of a few values: MODIFIER, SCOREMODE, COMBINEMODE. */
export function scoreWordUnknown(word: string, choices: readonly string[]): CommandError {
  return new CommandError(`ERR ${word} must be one of ${choices.map(upperCase).join(", ")}`);
}

export function scoreNumberWrong(word: string): CommandError {
  return new CommandError(`ERR ${word} must be a number`);
}

/**
 * The types of values, one row each: their names in TYPE and OBJECT ENCODING,
 * and how a value is copied.
 */
import { memoryBytesOf } from "../../kernel/bytes.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { HashValue } from "./hash.ts";
import { JsonValue } from "./json.ts";
import { ListValue } from "./list.ts";
import { SearchDefinition } from "./search-definition.ts";
import { SetValue } from "./set.ts";
import { SortedSetValue } from "./sorted-set.ts";
import { StreamValue } from "./stream.ts";
import { isString, type StringValue } from "./string.ts";

export type Value =
  | StringValue
  | HashValue
  | ListValue
  | SetValue
  | SortedSetValue
  | JsonValue
  | StreamValue
  | SearchDefinition;

export interface ValueType<V extends Value = Value> {
  /** As in TYPE. */
  readonly name: string;
  readonly holds: (value: Value) => value is V;
  /** As in OBJECT ENCODING, by Redis' own bounds. */
  readonly encoding: (value: V) => string;
  /** A copy that shares nothing mutable with the original. */
  readonly copy: (value: V) => V;
}

/** Redis' limit for a string kept inside its object header. */
const EMBEDDED_BYTES_MAX = 44;

const stringType: ValueType<StringValue> = {
  name: "string",
  holds: isString,
  encoding: (value) => {
    if (typeof value !== "string") return "raw";
    if (value.length <= 20 && parseInteger(value) !== undefined) return "int";
    return value.length <= EMBEDDED_BYTES_MAX ? "embstr" : "raw";
  },
  copy: (value) => (typeof value === "string" ? value : value.copy()),
};

const hashType: ValueType<HashValue> = {
  name: "hash",
  holds: (value) => value instanceof HashValue,
  encoding: (value) => (value.isListpack ? "listpack" : "hashtable"),
  copy: (value) => value.copy(),
};

const listType: ValueType<ListValue> = {
  name: "list",
  holds: (value) => value instanceof ListValue,
  // Redis 7.0 uses it for short lists too.
  encoding: () => "quicklist",
  copy: (value) => value.copy(),
};

const setType: ValueType<SetValue> = {
  name: "set",
  holds: (value) => value instanceof SetValue,
  encoding: (value) => (value.isIntset ? "intset" : "hashtable"),
  copy: (value) => value.copy(),
};

const sortedSetType: ValueType<SortedSetValue> = {
  name: "zset",
  holds: (value) => value instanceof SortedSetValue,
  encoding: (value) => (value.isListpack ? "listpack" : "skiplist"),
  copy: (value) => value.copy(),
};

const streamType: ValueType<StreamValue> = {
  name: "stream",
  holds: (value) => value instanceof StreamValue,
  encoding: () => "stream",
  copy: (value) => value.copy(),
};

const jsonType: ValueType<JsonValue> = {
  // As in Redis' module.
  name: "ReJSON-RL",
  holds: (value) => value instanceof JsonValue,
  encoding: () => "raw",
  copy: (value) => value.copy(),
};

const searchType: ValueType<SearchDefinition> = {
  name: "search",
  holds: (value) => value instanceof SearchDefinition,
  encoding: () => "raw",
  // No command copies an index, and a definition is immutable.
  copy: ({ definition }) => new SearchDefinition(definition),
};

export const valueTypes: readonly Pick<ValueType, "name">[] = [
  stringType,
  hashType,
  listType,
  setType,
  sortedSetType,
  jsonType,
  streamType,
  searchType,
];

const typeByName = new Map(valueTypes.map((type) => [type.name, type]));

/** Approximate memory of a value in bytes. */
export function valueBytesOf(value: Value): number {
  return typeof value === "string" ? memoryBytesOf(value) : value.memoryBytes;
}

/** The row of a value. */
export function typeOf(value: Value): ValueType {
  // The row has the type of the value, so passing the value to its functions is sound.
  return (isString(value) ? stringType : typeByName.get(value.typeName)) as unknown as ValueType;
}

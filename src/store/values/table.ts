/**
 * The types a key can hold, one row each: what TYPE and OBJECT ENCODING say, and
 * how a value is copied.
 */
import { memoryBytesOf } from "../../kernel/bytes.ts";
import { parseInteger } from "../structures/numbers/number-text.ts";
import { HashValue } from "./hash.ts";
import { JsonValue } from "./json.ts";
import { ListValue } from "./list.ts";
import { SetValue } from "./set.ts";
import { SortedSetValue } from "./sorted-set.ts";
import { StreamValue } from "./stream.ts";
import { isString, type StringValue } from "./string.ts";

export type Value = StringValue | HashValue | ListValue | SetValue | SortedSetValue | JsonValue | StreamValue;

export interface ValueType<V extends Value = Value> {
  /** As TYPE says it. */
  readonly name: string;
  readonly holds: (value: Value) => value is V;
  /** As OBJECT ENCODING says it, by Redis' own bounds. */
  readonly encoding: (value: V) => string;
  /** A value that shares nothing changeable with the original. */
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
  // Redis 7.0 keeps short lists so too.
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
  // As Redis' module says it.
  name: "ReJSON-RL",
  holds: (value) => value instanceof JsonValue,
  encoding: () => "raw",
  copy: (value) => value.copy(),
};

export const valueTypes: readonly Pick<ValueType, "name">[] = [
  stringType,
  hashType,
  listType,
  setType,
  sortedSetType,
  jsonType,
  streamType,
];

const typeByName = new Map(valueTypes.map((type) => [type.name, type]));

/** About how much memory a value takes, in bytes. */
export function valueBytesOf(value: Value): number {
  return typeof value === "string" ? memoryBytesOf(value) : value.memoryBytes;
}

/** The row of a value. */
export function typeOf(value: Value): ValueType {
  // The row that answers holds values of this very type, so asking it about this value is sound.
  return (isString(value) ? stringType : typeByName.get(value.typeName)) as unknown as ValueType;
}

/**
 * From the value of a key to what an index takes of it.
 *
 * A value of another type than that of the index, a string that is not a JSON
 * object, and a document whose root is not an object are no documents. A field is
 * taken if its value is there and of the right type; otherwise it alone is left
 * out. Of an array, every scalar element that fits is a value of the field.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import { CommandError } from "../errors.ts";
import type { JsonNode } from "../json/node.ts";
import { doubleOf, isNumber, WholeDouble } from "../json/number.ts";
import { JsonObject } from "../json/object.ts";
import { parseJson } from "../json/parse.ts";
import { HashValue } from "../values/hash.ts";
import { JsonValue } from "../values/json.ts";
import { bytesOf, isString } from "../values/string.ts";
import type { Value } from "../values/table.ts";
import type { DataType, FieldType, FieldValue, IndexDefinition, SearchDocument } from "./definition.ts";
import { dateMs } from "./query/dates.ts";

const U64_MAX = 2n ** 64n - 1n;
const I64_MIN = -(2n ** 63n);
const I64_MAX = 2n ** 63n - 1n;
/** Digits of 2^64 - 1; leading zeros are few in practice. */
const DIGITS_MAX = 32;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

type ReadDocument = (value: Value, nowMs: number) => SearchDocument | undefined;

/** A function that reads documents for an index: undefined if the value is no document. */
export function documentReader({ dataType, fields }: IndexDefinition): ReadDocument {
  const places = fields.map(({ name, type, path }) => ({ type, path: path ?? name }));
  if (dataType === "HASH") {
    const readers = places.map(({ type, path }) => ({ read: readText[type], path }));
    return (value, nowMs) => {
      const hash = liveHash(value, nowMs);
      return hash === undefined ? undefined : readers.map(({ read, path }) => valuesOfText(read, hash.get(path)));
    };
  }
  const routes = places.map(({ type, path }) => ({ type, steps: path.split(".") }));
  return (value) => {
    const root = rootOf(dataType, value);
    return root === undefined ? undefined : routes.map(({ type, steps }) => valuesOf(type, nodeAt(root, steps)));
  };
}

/** Whether a value has the type of the documents of an index. It may still be no document. */
export function hasDataType(dataType: DataType, value: Value): boolean {
  if (dataType === "HASH") return value instanceof HashValue;
  return dataType === "JSON" ? value instanceof JsonValue : isString(value);
}

/** The root of a JSON or STRING document; undefined if the value is no document. */
export function rootOf(dataType: DataType, value: Value): JsonObject | undefined {
  let root: JsonNode | undefined;
  if (dataType === "JSON" && value instanceof JsonValue) root = value.root;
  else if (dataType === "STRING" && isString(value)) root = parsedOf(bytesOf(value));
  return root instanceof JsonObject ? root : undefined;
}

/** The node at a path of object members. */
export function nodeAt(root: JsonObject, steps: readonly Bytes[]): JsonNode | undefined {
  let node: JsonNode | undefined = root;
  for (const step of steps) {
    if (!(node instanceof JsonObject)) return undefined;
    node = node.get(step);
  }
  return node;
}

/** The hash without expired fields; undefined if all have expired, or for another type. */
export function liveHash(value: Value, nowMs: number): HashValue | undefined {
  if (!(value instanceof HashValue)) return undefined;
  if (value.nextDueMs >= nowMs) return value;
  return value.hasFieldNotDue(nowMs) ? value.copyWithoutDue(nowMs) : undefined;
}

function parsedOf(text: Bytes): JsonNode | undefined {
  // Most other strings are told apart by their first character.
  if (!/^[ \t\r\n]*\{/.test(text)) return undefined;
  try {
    return parseJson(text).node;
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

function valuesOfText(
  read: (text: Bytes) => FieldValue | undefined,
  text: Bytes | undefined,
): readonly FieldValue[] | undefined {
  const value = text === undefined ? undefined : read(text);
  return value === undefined ? undefined : [value];
}

function valuesOf(type: FieldType, node: JsonNode | undefined): readonly FieldValue[] | undefined {
  if (node === undefined) return undefined;
  const read = readNode[type];
  if (!Array.isArray(node)) {
    const value = read(node);
    return value === undefined ? undefined : [value];
  }
  const values: FieldValue[] = [];
  for (const element of node) {
    const value = read(element);
    if (value !== undefined) values.push(value);
  }
  return values.length === 0 ? undefined : values;
}

const readNode: Readonly<Record<FieldType, (node: JsonNode) => FieldValue | undefined>> = {
  TEXT: stringOf,
  KEYWORD: stringOf,
  U64: (node) => integerOf(node, 0n, U64_MAX),
  I64: (node) => integerOf(node, I64_MIN, I64_MAX),
  F64: (node) => (isNumber(node) ? doubleOf(node) : undefined),
  BOOL: (node) => (typeof node === "boolean" ? Number(node) : undefined),
  DATE: (node) => (typeof node === "string" ? dateMs(node) : undefined),
  FACET: (node) => facetOf(stringOf(node)),
};

const readText: Readonly<Record<FieldType, (text: Bytes) => FieldValue | undefined>> = {
  TEXT: (text) => text,
  KEYWORD: (text) => text,
  U64: (text) => (/^\d+$/.test(text) ? integerIn(text, 0n, U64_MAX) : undefined),
  I64: (text) => (/^[+-]?\d+$/.test(text) ? integerIn(text, I64_MIN, I64_MAX) : undefined),
  F64: (text) => (DECIMAL.test(text) ? finite(Number(text)) : undefined),
  BOOL: (text) => (text === "true" ? 1 : text === "false" ? 0 : undefined),
  DATE: dateMs,
  FACET: facetOf,
};

function stringOf(node: JsonNode): Bytes | undefined {
  return typeof node === "string" ? node : undefined;
}

function facetOf(text: Bytes | undefined): Bytes | undefined {
  return text?.startsWith("/") === true ? text : undefined;
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}

/** A number without a fraction, also one that is spelled 1.0 or 1e3. */
function integerOf(node: JsonNode, min: bigint, max: bigint): number | bigint | undefined {
  if (!isNumber(node)) return undefined;
  const value = node instanceof WholeDouble ? node.value : node;
  if (typeof value === "number" && !Number.isInteger(value)) return undefined;
  return within(BigInt(value), min, max);
}

function integerIn(digits: Bytes, min: bigint, max: bigint): number | bigint | undefined {
  return digits.length > DIGITS_MAX ? undefined : within(BigInt(digits.replace("+", "")), min, max);
}

/** A number if it is safe, else the bigint. */
function within(value: bigint, min: bigint, max: bigint): number | bigint | undefined {
  if (value < min || value > max) return undefined;
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}

/**
 * A JSON document is a tree of nodes: null, booleans, strings (their UTF-8 as
 * byte strings), numbers (`number.ts`), arrays and objects. A container is in
 * one place of one document, so it may change in place.
 */
import { type Bytes, memoryBytesOf } from "../../kernel/bytes.ts";
import { compareNumbers, isInteger, isNumber, type JsonNumber, WholeDouble } from "./number.ts";
import { JsonObject, objectOf } from "./object.ts";

export type JsonNode = null | boolean | Bytes | JsonNumber | JsonNode[] | JsonObject;

/** Maximum depth of nesting: as in Redis' module, and small enough for recursion. */
export const DOCUMENT_DEPTH_MAX = 128;
/** Far below the limit of one array in V8. */
export const ELEMENTS_MAX = 2 ** 25;
/** A length that can always be sent in a reply, if it needs no escapes. */
export const JSON_STRING_BYTES_MAX = 64 * 1024 * 1024;

/** An array, and the header of its elements. */
const ARRAY_BYTES = 48;
const POINTER_BYTES = 8;
/** A number that is not a small integer, and a `WholeDouble` beside it. */
const HEAP_NUMBER_BYTES = 16;
const WHOLE_DOUBLE_BYTES = 40;
const BIGINT_BYTES = 24;
/** The size of a pointer in V8. */
const SMALL_INTEGER_MAX = 2 ** 31 - 1;

/** As in JSON.TYPE. */
export function typeNameOf(node: JsonNode): string {
  if (node === null) return "null";
  if (typeof node === "boolean") return "boolean";
  if (typeof node === "string") return "string";
  if (isNumber(node)) return isInteger(node) ? "integer" : "number";
  return Array.isArray(node) ? "array" : "object";
}

export function isContainer(node: JsonNode): node is JsonNode[] | JsonObject {
  return Array.isArray(node) || node instanceof JsonObject;
}

/** Approximate memory of a node and all nodes below it, in bytes. */
export function nodeBytesOf(node: JsonNode): number {
  if (node === null || typeof node === "boolean") return 0;
  if (typeof node === "string") return textBytesOf(node);
  if (typeof node === "number") return (node | 0) === node ? 0 : HEAP_NUMBER_BYTES;
  if (typeof node === "bigint") return BIGINT_BYTES;
  if (node instanceof WholeDouble) return wholeDoubleBytesOf(node.value);
  let bytes = ownBytesOf(node);
  if (Array.isArray(node)) for (const element of node) bytes += nodeBytesOf(element);
  else
    node.visit((name, member) => {
      bytes += textBytesOf(name) + nodeBytesOf(member);
    });
  return bytes;
}

/** Memory of a name or a string. V8 has one shared string for each single character. */
export function textBytesOf(text: Bytes): number {
  return text.length <= 1 ? 0 : memoryBytesOf(text);
}

function wholeDoubleBytesOf(value: number): number {
  return Math.abs(value) <= SMALL_INTEGER_MAX ? WHOLE_DOUBLE_BYTES - HEAP_NUMBER_BYTES : WHOLE_DOUBLE_BYTES;
}

/** The share of the container itself. */
export function ownBytesOf(container: JsonNode[] | JsonObject): number {
  return Array.isArray(container) ? ARRAY_BYTES + POINTER_BYTES * container.length : container.tableBytes;
}

/** A copy of a tree that shares nothing mutable with the original. */
export function copyOfNode(node: JsonNode): JsonNode {
  if (Array.isArray(node)) return node.map(copyOfNode);
  if (!(node instanceof JsonObject)) return node;
  const pairs: (Bytes | JsonNode)[] = [];
  node.visit((name, member) => pairs.push(name, copyOfNode(member)));
  return objectOf(pairs);
}

/**
 * Whether two nodes are the same document, with members in any order. With `byValue`, 1 equals 1.0, as in comparisons
 * of a path; otherwise they differ. `spend` is called with the steps and may throw.
 */
export function areEqual(
  one: JsonNode,
  other: JsonNode,
  rules: { readonly byValue: boolean; readonly spend: (steps: number) => void },
): boolean {
  rules.spend(1);
  if (isNumber(one))
    return (
      isNumber(other) && compareNumbers(one, other) === 0 && (rules.byValue || isInteger(one) === isInteger(other))
    );
  if (typeof one === "string") {
    if (typeof other !== "string" || one.length !== other.length) return false;
    rules.spend(one.length >>> 8);
    return one === other;
  }
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false;
    return one.every((element, index) => areEqual(element, other[index] as JsonNode, rules));
  }
  if (!(one instanceof JsonObject)) return one === other;
  if (!(other instanceof JsonObject) || one.size !== other.size) return false;
  let isEqual = true;
  one.visit((name, member) => {
    const counterpart = isEqual ? other.get(name) : undefined;
    isEqual = counterpart !== undefined && areEqual(member, counterpart, rules);
  });
  return isEqual;
}

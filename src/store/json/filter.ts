/**
 * Evaluates the tests of filters as RFC 9535, 2.3.5 defines: nothing differs
 * from null and equals only nothing; numbers compare by value and strings by
 * code point, which is how their UTF-8 bytes compare; other types have no order.
 */
import { textFromBytes } from "../../kernel/bytes.ts";
import { areEqual, isContainer, type JsonNode } from "./node.ts";
import { compareNumbers, isNumber } from "./number.ts";
import { JsonObject } from "./object.ts";
import type { Comparison, MatchTest, Operand, Test } from "./path.ts";
import { compilePattern, matches, type Pattern, PatternFailure } from "./pattern.ts";
import type { Walk } from "./walk.ts";

/** Approximate steps per character for compiling a pattern from a document. */
const COMPILE_STEPS = 16;

/** Whether the test is true for a node. */
export function filterHolds(test: Test, node: JsonNode, walk: Walk): boolean {
  walk.budget.spend(1);
  switch (test.kind) {
    case "or":
      return test.tests.some((one) => filterHolds(one, node, walk));
    case "and":
      return test.tests.every((one) => filterHolds(one, node, walk));
    case "not":
      return !filterHolds(test.test, node, walk);
    case "exists":
      return walk.query(test.query, node).length > 0;
    case "compare":
      return compares(
        test.comparison,
        [operandValue(test.left, node, walk), operandValue(test.right, node, walk)],
        walk,
      );
    case "match":
      return matchHolds(test, node, walk);
    default:
      return test satisfies never;
  }
}

/** The value of an operand, or undefined for nothing. */
function operandValue(operand: Operand, node: JsonNode, walk: Walk): JsonNode | undefined {
  switch (operand.kind) {
    case "literal":
      return operand.node;
    case "node":
      return walk.query(operand.query, node)[0]?.node;
    case "length":
      return lengthOf(operandValue(operand.of, node, walk), walk);
    case "count":
      return walk.query(operand.query, node).length;
    case "value": {
      const found = walk.query(operand.query, node);
      return found.length === 1 ? found[0]?.node : undefined;
    }
    default:
      return operand satisfies never;
  }
}

/** The number of characters of a string, elements of an array, or members of an object. */
function lengthOf(value: JsonNode | undefined, walk: Walk): JsonNode | undefined {
  if (typeof value === "string") {
    walk.budget.spend(value.length >>> 4);
    let count = 0;
    // Every byte except the continuation bytes of UTF-8 starts a character.
    for (let i = 0; i < value.length; i += 1) if ((value.charCodeAt(i) & 0xc0) !== 0x80) count += 1;
    return count;
  }
  if (value === undefined || !isContainer(value)) return undefined;
  return value instanceof JsonObject ? value.size : value.length;
}

function compares(
  comparison: Comparison,
  [left, right]: readonly [JsonNode | undefined, JsonNode | undefined],
  walk: Walk,
): boolean {
  const equal = (): boolean => {
    if (left === undefined || right === undefined) return left === right;
    return areEqual(left, right, { byValue: true, spend: walk.budget.spend });
  };
  switch (comparison) {
    case "==":
      return equal();
    case "!=":
      return !equal();
    case "<":
      return isLess(left, right, walk);
    case ">":
      return isLess(right, left, walk);
    case "<=":
      return isLess(left, right, walk) || equal();
    case ">=":
      return isLess(right, left, walk) || equal();
    default:
      return comparison satisfies never;
  }
}

function isLess(one: JsonNode | undefined, other: JsonNode | undefined, walk: Walk): boolean {
  if (isNumber(one) && isNumber(other)) return compareNumbers(one, other) < 0;
  if (typeof one !== "string" || typeof other !== "string") return false;
  walk.budget.spend(Math.min(one.length, other.length) >>> 8);
  return one < other;
}

function matchHolds(test: MatchTest, node: JsonNode, walk: Walk): boolean {
  const text = operandValue(test.text, node, walk);
  const pattern = "states" in test.pattern ? test.pattern : patternOf(operandValue(test.pattern, node, walk), walk);
  if (typeof text !== "string" || pattern === undefined) return false;
  walk.budget.spend(text.length);
  return matches(pattern, textFromBytes(text), { isWhole: test.isWhole, spend: walk.budget.spend });
}

/** The pattern in a string of the document; undefined for an invalid one, which matches nothing. */
function patternOf(value: JsonNode | undefined, walk: Walk): Pattern | undefined {
  if (typeof value !== "string") return undefined;
  walk.budget.spend(COMPILE_STEPS * (value.length + 1));
  try {
    return compilePattern(textFromBytes(value));
  } catch (error) {
    if (error instanceof PatternFailure) return undefined;
    throw error;
  }
}

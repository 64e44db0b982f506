/**
 * Random metadata filters as trees, with a plain evaluation: no closures, no
 * prototypes, every case spelled out. `spell` writes one of the many equivalent
 * texts of a tree, which the product parses and evaluates in its own way.
 */
import assert from "node:assert/strict";
import type { Random } from "../../../src/kernel/random.ts";

type Scalar = string | number | boolean;
export type Value = Scalar | null | Value[] | Map<string, Value>;

/** The step `[*]`. */
const EACH = Symbol("each element");

type Step = string | number | typeof EACH;

interface Condition {
  readonly path: readonly Step[];
  readonly words: string;
  readonly operands: readonly Scalar[];
}
export type Node = Condition | { readonly and: readonly Node[] } | { readonly or: readonly Node[] };

const plainNames = [
  "a",
  "b",
  "c",
  "d-1",
  "in",
  "not",
  "has",
  "field",
  "and",
  "true",
  "__proto__",
  "constructor",
  "length",
];
/** Names that filters write in backticks. V8 takes one of those with an escape in JSON for another (kernel/json/parse.ts). */
const QUOTED_NAMES = [
  ...["a b", "a.b", "a[0]", "a`b", "`", "", "1a", "-", "größe", "😀", "[*]", "a = 'b'", " "],
  ...["\\", '"', '"\\', "a\\", 'a"', "\n", "a\n"],
];
export const names = [...plainNames, ...QUOTED_NAMES];
export const strings = [
  "",
  "a",
  "ab",
  "ba",
  "aab",
  "it's",
  'say "a"',
  "a\\b",
  "\\",
  "😀",
  "é",
  "1",
  "true",
  "*",
  "[a]",
];
/** UTF-16 units order these differently than code points do. */
const farStrings = ["\uffee", "😀", "a\ue000", "a😀", "a😁"];
export const patterns = [
  "*",
  "?",
  "a*",
  "*a*",
  "[ab]?",
  "[^a]*",
  "*😀",
  "\\*",
  "[",
  "a\\\\b",
  "[a-é]*b",
  "??",
  "",
  "*a*a*b",
];
const numbers = [0, 1, -1, 2, 2.5, 1000, -0.001, 1e21];
export const words = ["=", "!=", "<", "<=", ">", ">=", "GLOB", "NOT GLOB", "IN", "NOT IN", "CONTAINS", "NOT CONTAINS"];
/** Three times in four one of the first few is drawn, so that filters and records share values. */
const USUAL_COUNT = 3;

/** The plain evaluation. */
export function holds(node: Node, metadata: Value): boolean {
  if ("and" in node) return node.and.every((part) => holds(part, metadata));
  if ("or" in node) return node.or.some((part) => holds(part, metadata));
  const fields = find([metadata], node.path);
  if (node.words === "HAS FIELD") return fields.length > 0;
  if (node.words === "HAS NOT FIELD") return fields.length === 0;
  return fields.some((field) => passes(field, node));
}

function passes(field: Value, { words, operands }: Condition): boolean {
  if (field === null) return false;
  const [first] = operands;
  if (first === undefined) return assert.fail("an operator after a field has an operand");
  switch (words) {
    case "=":
      return equals(field, first);
    case "!=":
      return typeof field !== "object" && !equals(field, first);
    case "IN":
      return operands.some((operand) => equals(field, operand));
    case "NOT IN":
      return typeof field !== "object" && operands.every((operand) => !equals(field, operand));
    case "CONTAINS":
      return Array.isArray(field) && field.some((element) => equals(element, first));
    case "NOT CONTAINS":
      return Array.isArray(field) && field.every((element) => !equals(element, first));
    case "GLOB":
      return typeof field === "string" && globs([...String(first)], [...field]);
    case "NOT GLOB":
      return typeof field === "string" && !globs([...String(first)], [...field]);
  }
  const order = orderOf(field, first);
  if (order === undefined) return false;
  if (words === "<") return order < 0;
  if (words === "<=") return order <= 0;
  return words === ">" ? order > 0 : order >= 0;
}

/** Negative if the field is before the bound; undefined if they have no order. */
function orderOf(field: Value, bound: Scalar): number | undefined {
  if (typeof field === "number" && typeof bound === "number") return field < bound ? -1 : field > bound ? 1 : 0;
  if (typeof field !== "string" || typeof bound !== "string") return undefined;
  // In UTF-8, bytes are in the order of code points.
  return Buffer.compare(Buffer.from(field), Buffer.from(bound));
}

/** The fields that a path leads to from these values. */
function find(values: readonly Value[], [step, ...rest]: readonly Step[]): readonly Value[] {
  if (step === undefined) return values;
  const next = values.flatMap((value): readonly (Value | undefined)[] => {
    if (typeof step === "string") return value instanceof Map ? [value.get(step)] : [];
    if (!Array.isArray(value)) return [];
    return step === EACH ? value : [value.at(step)];
  });
  return find(
    next.filter((value) => value !== undefined),
    rest,
  );
}

function equals(value: Value, operand: Scalar): boolean {
  if (typeof value === "object") return false;
  const [one, other] = [value, operand].map((each) => (typeof each === "boolean" ? Number(each) : each));
  return one === other;
}

/** Tries every length of each star, which is fine for short texts. */
function globs(pattern: readonly string[], text: readonly string[]): boolean {
  const [sign, ...rest] = pattern;
  if (sign === undefined) return text.length === 0;
  if (sign === "*") return globs(rest, text) || (text.length > 0 && globs(pattern, text.slice(1)));
  const [character, ...others] = text;
  if (character === undefined) return false;
  if (sign === "?") return globs(rest, others);
  if (sign === "\\" && rest.length > 0) return rest[0] === character && globs(rest.slice(1), others);
  if (sign !== "[") return sign === character && globs(rest, others);
  const isNegated = rest[0] === "^";
  const close = rest.indexOf("]");
  const inside = rest.slice(isNegated ? 1 : 0, close < 0 ? rest.length : close);
  let isInside = false;
  for (let i = 0; i < inside.length; i += 1) {
    const isRange = inside[i + 1] === "-" && inside[i + 2] !== undefined;
    const first = inside[i]?.codePointAt(0) ?? 0;
    const last = (isRange ? inside[i + 2] : inside[i])?.codePointAt(0) ?? 0;
    const code = character.codePointAt(0) ?? 0;
    if (code >= first && code <= last) isInside = true;
    if (isRange) i += 2;
  }
  return isInside !== isNegated && globs(close < 0 ? [] : rest.slice(close + 1), others);
}

/** Depth counts AND and OR. */
export function drawNode(random: Random, depth: number): Node {
  if (depth > 0 && random.below(2) === 0) {
    const parts = Array.from({ length: 2 + random.below(2) }, () => drawNode(random, depth - 1));
    return random.below(2) === 0 ? { and: parts } : { or: parts };
  }
  const path: Step[] = [drawName(random)];
  while (path.length < 4 && random.below(3) === 0) path.push(drawStep(random));
  if (random.below(6) === 0)
    return { path, words: random.below(2) === 0 ? "HAS FIELD" : "HAS NOT FIELD", operands: [] };
  const operator = pick(random, words);
  if (operator.endsWith("GLOB")) return { path, words: operator, operands: [pick(random, patterns)] };
  if (/[<>]/.test(operator) && random.below(2) === 0)
    return { path, words: operator, operands: [pick(random, farStrings)] };
  const operandCount = operator.endsWith("IN") ? 1 + random.below(4) : 1;
  return { path, words: operator, operands: Array.from({ length: operandCount }, () => drawScalar(random)) };
}

function drawStep(random: Random): Step {
  const kind = random.below(4);
  return kind < 2 ? drawName(random) : kind === 2 ? EACH : random.below(6) - 3;
}

function drawName(random: Random): string {
  return pickUsual(random, names);
}

function drawScalar(random: Random): Scalar {
  const kind = random.below(3);
  if (kind === 0) return random.below(3) === 0 ? pick(random, farStrings) : pickUsual(random, strings);
  return kind === 1 ? pickUsual(random, numbers) : random.below(2) === 0;
}

function drawValue(random: Random, depth: number): Value {
  const kind = random.below(10);
  if (kind === 0) return null;
  if (depth > 0 && kind < 3) return drawObject(random, depth - 1);
  if (depth > 0 && kind < 6) return Array.from({ length: random.below(4) }, () => drawValue(random, depth - 1));
  return drawScalar(random);
}

/** Metadata; depth counts objects and arrays below it. */
export function drawObject(random: Random, depth: number): Value {
  return new Map(Array.from({ length: random.below(7) }, () => [drawName(random), drawValue(random, depth)]));
}

/** The JSON text of metadata. */
export function jsonOf(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join()}]`;
  if (!(value instanceof Map)) return JSON.stringify(value);
  return `{${[...value].map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`).join()}}`;
}

/** One of the many equivalent texts. */
export function spell(random: Random, node: Node): string {
  let text = "";
  for (const token of tokensOf(random, node)) {
    const needsSpace = /[\w.\][#-]$/.test(text) && /^[\w.[#+-]/.test(token);
    text += (needsSpace ? " " : pick(random, ["", " ", "\n\t"])) + token;
  }
  return text;
}

function tokensOf(random: Random, node: Node): readonly string[] {
  if ("and" in node || "or" in node) {
    const [word, parts] = "and" in node ? ["and", node.and] : ["or", node.or];
    const tokens = parts.flatMap((part, i) => {
      const mustWrap = word === "and" && "or" in part;
      const inner = tokensOf(random, part);
      const wrapped = mustWrap || random.below(4) === 0 ? ["(", ...inner, ")"] : inner;
      return i === 0 ? wrapped : [inAnyCase(random, word), ...wrapped];
    });
    return random.below(8) === 0 ? ["(", ...tokens, ")"] : tokens;
  }
  const path = node.path.map((step, i) => spellStep(random, step, i === 0)).join("");
  const operator = node.words.split(" ").map((word) => inAnyCase(random, word));
  if (node.words.startsWith("HAS")) return [...operator, path];
  const operands = node.operands.flatMap((operand, i) => (i === 0 ? [] : [","]).concat(literalOf(random, operand)));
  return [path, ...operator, ...(node.words.endsWith("IN") ? ["(", ...operands, ")"] : operands)];
}

function spellStep(random: Random, step: Step, isFirst: boolean): string {
  if (step === EACH) return "[*]";
  if (typeof step === "number") return step < 0 ? `[#${step}]` : `[${step}]`;
  const isQuoted = !plainNames.includes(step) || random.below(4) === 0;
  const name = isQuoted ? `\`${step.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\`` : step;
  return isFirst ? name : `.${name}`;
}

function literalOf(random: Random, operand: Scalar): string {
  if (typeof operand === "boolean") return inAnyCase(random, String(operand));
  if (typeof operand === "number") return random.below(2) === 0 ? String(operand) : operand.toExponential();
  const quote = pick(random, ["'", '"']);
  return quote + operand.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`) + quote;
}

function inAnyCase(random: Random, word: string): string {
  return pick(random, [word, word.toUpperCase(), word.toLowerCase(), word.slice(0, 1) + word.slice(1).toLowerCase()]);
}

function pickUsual<Item>(random: Random, from: readonly Item[]): Item {
  const usual = random.below(4) > 0 ? from.slice(0, USUAL_COUNT) : from;
  return pick(random, usual);
}

/** One of a list that is not empty. */
export function pick<Item>(random: Random, from: readonly Item[]): Item {
  const item = from[random.below(from.length)];
  return item ?? assert.fail("the list is not empty");
}

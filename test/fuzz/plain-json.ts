/**
 * A plain implementation of JSON and paths, to compare with the store: values
 * are those of JavaScript, with maps for objects, and a path is evaluated with
 * lists of matches, every rule of RFC 9535 spelled out, no budget. Both
 * can be drawn at random and written in one of their many spellings.
 */
import type { Random } from "../../src/kernel/random.ts";

export type Plain = null | boolean | number | string | Plain[] | Map<string, Plain>;
export type Step = string | number;

type Selector =
  | { readonly name: string }
  | { readonly index: number }
  | { readonly slice: readonly [start: number | undefined, end: number | undefined, step: number | undefined] }
  | { readonly filter: Test }
  | "*";
export interface Segment {
  readonly below: boolean;
  readonly selectors: readonly Selector[];
}
type Test =
  | { readonly all: readonly Test[] }
  | { readonly some: readonly Test[] }
  | { readonly not: Test }
  | { readonly exists: readonly Segment[]; readonly fromRoot: boolean }
  | { readonly sign: string; readonly left: Side; readonly right: Side };
type Side = { readonly value: Plain } | { readonly path: readonly Segment[]; readonly fromRoot: boolean };

export interface Found {
  readonly value: Plain;
  readonly at: readonly Step[];
}

const names = ["a", "b", "c", "é", "", "a b", "'", '"', "\\", "__proto__", "length"];
const scalars: readonly Plain[] = [null, true, false, 0, 1, -1, 2.5, "", "a", "b", "é", "😀", "1"];
const signs = ["==", "!=", "<", "<=", ">", ">="];

/** All matches of the segments, in the order of the store: matches below a value come before the value. */
export function follow(start: readonly Found[], segments: readonly Segment[], root: Plain): readonly Found[] {
  return segments.reduce(
    (found, { below, selectors }) =>
      found.flatMap((one) => (below ? withAllBelow(one) : [one]).flatMap((each) => select(each, selectors, root))),
    start,
  );
}

/** Matches below come first. */
function withAllBelow(one: Found): readonly Found[] {
  return [...childrenOf(one).flatMap(withAllBelow), one];
}

function childrenOf({ value, at }: Found): readonly Found[] {
  if (Array.isArray(value)) return value.map((element, index) => ({ value: element, at: [...at, index] }));
  if (value instanceof Map) return [...value].map(([name, member]) => ({ value: member, at: [...at, name] }));
  return [];
}

function select(one: Found, selectors: readonly Selector[], root: Plain): readonly Found[] {
  const children = childrenOf(one);
  return selectors.flatMap((selector) => {
    if (selector === "*") return children;
    if ("filter" in selector) return children.filter(({ value }) => holds(selector.filter, value, root));
    if ("name" in selector)
      return one.value instanceof Map ? children.filter(({ at }) => at.at(-1) === selector.name) : [];
    if (!Array.isArray(one.value)) return [];
    if ("index" in selector)
      return children.slice(selector.index).slice(0, children.at(selector.index) === undefined ? 0 : 1);
    const [start, end, step = 1] = selector.slice;
    return placesOf(children.length, start, end, step).map((place) => children[place] as Found);
  });
}

/** The indices of a slice, by checking each index. */
function placesOf(count: number, start: number | undefined, end: number | undefined, step: number): readonly number[] {
  if (step === 0) return [];
  const places = Array.from({ length: count }, (_, place) => place);
  const normal = (bound: number): number => (bound < 0 ? count + bound : bound);
  if (step < 0) {
    const first = Math.min(normal(start ?? count - 1), count - 1);
    const last = end === undefined ? -1 : Math.max(normal(end), -1);
    return places.toReversed().filter((place) => place <= first && place > last && (first - place) % -step === 0);
  }
  const first = Math.max(normal(start ?? 0), 0);
  const last = normal(end ?? count);
  return places.filter((place) => place >= first && place < last && (place - first) % step === 0);
}

function holds(test: Test, node: Plain, root: Plain): boolean {
  if ("all" in test) return test.all.every((one) => holds(one, node, root));
  if ("some" in test) return test.some.some((one) => holds(one, node, root));
  if ("not" in test) return !holds(test.not, node, root);
  if ("exists" in test) return follow([{ value: test.fromRoot ? root : node, at: [] }], test.exists, root).length > 0;
  const [left, right] = [test.left, test.right].map((side) => {
    if ("value" in side) return side.value;
    return follow([{ value: side.fromRoot ? root : node, at: [] }], side.path, root)[0]?.value;
  });
  const isEqual = sameAs(left, right);
  const isLess = lessThan(left, right);
  if (test.sign === "==") return isEqual;
  if (test.sign === "!=") return !isEqual;
  if (test.sign === "<") return isLess;
  if (test.sign === "<=") return isLess || isEqual;
  return test.sign === ">" ? lessThan(right, left) : lessThan(right, left) || isEqual;
}

/** Equal as filters compare: members in any order. */
export function sameAs(one: Plain | undefined, other: Plain | undefined): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((element, index) => sameAs(element, other[index]));
  if (one instanceof Map && other instanceof Map)
    return (
      one.size === other.size && [...one].every(([name, member]) => other.has(name) && sameAs(member, other.get(name)))
    );
  return one === other;
}

function lessThan(one: Plain | undefined, other: Plain | undefined): boolean {
  if (typeof one === "number" && typeof other === "number") return one < other;
  if (typeof one !== "string" || typeof other !== "string") return false;
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;
}

/** Segments of a path; `depth` bounds filters in filters. */
export function drawSegments(random: Random, depth: number): readonly Segment[] {
  return Array.from({ length: random.below(4) }, () => ({
    below: random.below(5) === 0,
    selectors: Array.from({ length: random.below(4) === 0 ? 2 : 1 }, () => drawSelector(random, depth)),
  }));
}

function drawSelector(random: Random, depth: number): Selector {
  const bound = (): number | undefined => (random.below(3) === 0 ? undefined : random.below(10) - 5);
  switch (random.below(depth > 0 ? 8 : 7)) {
    case 0:
      return "*";
    case 1:
    case 2:
      return { index: random.below(8) - 4 };
    case 3:
      return { slice: [bound(), bound(), bound()] };
    case 7:
      return { filter: drawTest(random, depth - 1) };
    default:
      return { name: pick(random, names) };
  }
}

function drawTest(random: Random, depth: number): Test {
  const kind = random.below(8);
  if (depth > 0 && kind === 0) return { all: [drawTest(random, depth - 1), drawTest(random, depth - 1)] };
  if (depth > 0 && kind === 1) return { some: [drawTest(random, depth - 1), drawTest(random, depth - 1)] };
  if (kind === 2) return { not: drawTest(random, depth - 1) };
  if (kind === 3) return { exists: drawSegments(random, depth), fromRoot: random.below(4) === 0 };
  return { sign: pick(random, signs), left: drawSide(random), right: drawSide(random) };
}

function drawSide(random: Random): Side {
  if (random.below(2) === 0) return { value: pick(random, scalars) };
  const path = Array.from({ length: random.below(3) }, () => ({
    below: false,
    selectors: [random.below(3) === 0 ? { index: random.below(4) - 2 } : { name: pick(random, names) }],
  }));
  return { path, fromRoot: random.below(4) === 0 };
}

/** A value with at most this depth. */
export function drawValue(random: Random, depth: number): Plain {
  const kind = random.below(depth > 0 ? 5 : 1);
  if (kind === 0) return pick(random, scalars);
  const count = random.below(5);
  if (kind < 3) return Array.from({ length: count }, () => drawValue(random, depth - 1));
  return new Map(Array.from({ length: count }, () => [pick(random, names), drawValue(random, depth - 1)]));
}

export function jsonOf(value: Plain): string {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join()}]`;
  if (!(value instanceof Map)) return JSON.stringify(value);
  return `{${[...value].map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`).join()}}`;
}

/** One of the many equivalent texts. */
export function spellSegment(random: Random, { below, selectors }: Segment): string {
  const [first] = selectors;
  const dots = below ? ".." : "";
  if (selectors.length === 1 && random.below(2) === 0) {
    if (first === "*") return `${dots || "."}*`;
    if (first !== undefined && "name" in first && /^[a-z_é]+$/.test(first.name)) return `${dots || "."}${first.name}`;
  }
  const blank = (): string => pick(random, ["", "", " ", "\t"]);
  return `${dots}[${selectors.map((selector) => blank() + spellSelector(random, selector) + blank()).join()}]`;
}

function spellSelector(random: Random, selector: Selector): string {
  if (selector === "*") return "*";
  if ("name" in selector) return quote(random, selector.name);
  if ("index" in selector) return `${selector.index}`;
  if ("filter" in selector) {
    const test = spellTest(random, selector.filter);
    return random.below(2) === 0 ? `?${test}` : `?(${test})`;
  }
  const [start, end, step] = selector.slice;
  return `${start ?? ""}:${end ?? ""}${step === undefined ? "" : `:${step}`}`;
}

function spellTest(random: Random, test: Test): string {
  const inner = (one: Test): string => `(${spellTest(random, one)})`;
  if ("all" in test) return test.all.map(inner).join(pick(random, ["&&", " && "]));
  if ("some" in test) return test.some.map(inner).join(pick(random, ["||", " || "]));
  if ("not" in test) return `!${inner(test.not)}`;
  if ("exists" in test)
    return (test.fromRoot ? "$" : "@") + test.exists.map((one) => spellSegment(random, one)).join("");
  const blank = pick(random, ["", " "]);
  return spellSide(random, test.left) + blank + test.sign + blank + spellSide(random, test.right);
}

function spellSide(random: Random, side: Side): string {
  if ("path" in side) return (side.fromRoot ? "$" : "@") + side.path.map((one) => spellSegment(random, one)).join("");
  return typeof side.value === "string" ? quote(random, side.value) : jsonOf(side.value);
}

function quote(random: Random, text: string): string {
  const sign = pick(random, ["'", '"']);
  return sign + text.replaceAll("\\", "\\\\").replaceAll(sign, `\\${sign}`) + sign;
}

export function pick<Item>(random: Random, from: readonly Item[]): Item {
  return from[random.below(from.length)] as Item;
}

/** The text in UTF-8, as the store has it. */
export function latin(text: string): string {
  return Buffer.from(text, "utf8").latin1Slice();
}

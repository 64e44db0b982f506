/**
 * JSON paths in numbers: random ones find in random documents what a plain
 * reading of RFC 9535 finds, in the same order and at the same places, and
 * whatever else is sent is refused by a `CommandError` in no time.
 *
 * Run again:  LARDER_JSON_SEED=… node --test "test/fuzz/json-*.test.ts"
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../src/kernel/clock.ts";
import { type Random, seededRandom, systemRandom } from "../../src/kernel/random.ts";
import { CommandError } from "../../src/store/errors.ts";
import { parseJson } from "../../src/store/json/parse.ts";
import { parsePath } from "../../src/store/json/path-parser.ts";
import { textOfNode } from "../../src/store/json/print.ts";
import { StepBudget } from "../../src/store/json/step-budget.ts";
import { locationOf, matchesOf } from "../../src/store/json/walk.ts";
import { allowanceOf } from "../budget.ts";

const seed = Number(process.env["LARDER_JSON_SEED"] ?? systemRandom.below(2 ** 31));

type Plain = null | boolean | number | string | Plain[] | Map<string, Plain>;
type Step = string | number;

type Selector =
  | { readonly name: string }
  | { readonly index: number }
  | { readonly slice: readonly [start: number | undefined, end: number | undefined, step: number | undefined] }
  | { readonly filter: Test }
  | "*";
interface Segment {
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

interface Found {
  readonly value: Plain;
  readonly at: readonly Step[];
}

const names = ["a", "b", "c", "é", "", "a b", "'", '"', "\\", "__proto__", "length"];
const scalars: readonly Plain[] = [null, true, false, 0, 1, -1, 2.5, "", "a", "b", "é", "😀", "1"];
const signs = ["==", "!=", "<", "<=", ">", ">="];

test("random paths find what a plain reading of them finds", (context) => {
  const random = seededRandom(seed);
  let foundCount = 0;
  const count = repeat(() => {
    const segments = drawSegments(random, 2);
    const path = `$${segments.map((segment) => spellSegment(random, segment)).join("")}`;
    const document = drawValue(random, 4);
    const text = jsonOf(document);
    const where = `SEED=${seed} ${path} in ${text}`;
    const expected = follow([{ value: document, at: [] }], segments, document);
    const { node } = parseJson(latin(text));
    const found = matchesOf(node, parsePath(latin(path)).segments, new StepBudget());
    assert.deepEqual(
      found.map((match) => [locationOf(match), textOfNode(match.node)]),
      expected.map(({ value, at }) => [
        at.map((step) => (typeof step === "string" ? latin(step) : step)),
        latin(jsonOf(value)),
      ]),
      where,
    );
    foundCount += found.length;
  });
  assert.ok(count < 1_000 || foundCount > count / 2, `${foundCount} nodes found by ${count} paths`);
  context.diagnostic(`SEED=${seed}: ${count} paths found ${foundCount} nodes`);
});

test("A-08: no text does anything but lead somewhere or be refused, and none takes long", (context) => {
  const random = seededRandom(seed);
  const { node } = parseJson(latin(jsonOf(drawValue(random, 5))));
  let readCount = 0;
  const count = repeat(() => {
    const text = drawJunk(random);
    const startMs = systemClock.monotonicMs();
    try {
      matchesOf(node, parsePath(latin(text)).segments, new StepBudget());
      readCount += 1;
    } catch (error) {
      assert.ok(error instanceof CommandError, `SEED=${seed} ${JSON.stringify(text)}: ${String(error)}`);
      assert.match(error.text, /^ERR (?:Invalid JSON path at character \d+: |JSON path )/);
      assert.ok(error.text.length < 200, error.text);
    }
    assert.ok(systemClock.monotonicMs() - startMs < 4_000, `SEED=${seed} ${JSON.stringify(text)}`);
  });
  context.diagnostic(`SEED=${seed}: ${count} texts, ${readCount} of them paths`);
});

/** Half of the suite's allowance for each of the two tests. Returns how often it ran. */
function repeat(once: () => void): number {
  const allowance = allowanceOf("json-paths");
  const endMs = "budgetMs" in allowance ? systemClock.monotonicMs() + allowance.budgetMs / 2 : Number.POSITIVE_INFINITY;
  const countMax = "count" in allowance ? allowance.count / 2 : Number.POSITIVE_INFINITY;
  let count = 0;
  for (; count < countMax && systemClock.monotonicMs() < endMs; count += 1) once();
  return count;
}

// The plain reading: lists of found values, every rule spelled out, no budget.

function follow(start: readonly Found[], segments: readonly Segment[], root: Plain): readonly Found[] {
  return segments.reduce(
    (found, { below, selectors }) =>
      found.flatMap((one) => (below ? withAllBelow(one) : [one]).flatMap((each) => select(each, selectors, root))),
    start,
  );
}

/** What lies below comes first. */
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

/** The places that a slice names, by asking of each place whether it is one. */
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

function sameAs(one: Plain | undefined, other: Plain | undefined): boolean {
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

function drawSegments(random: Random, depth: number): readonly Segment[] {
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

function drawValue(random: Random, depth: number): Plain {
  const kind = random.below(depth > 0 ? 5 : 1);
  if (kind === 0) return pick(random, scalars);
  const count = random.below(5);
  if (kind < 3) return Array.from({ length: count }, () => drawValue(random, depth - 1));
  return new Map(Array.from({ length: count }, () => [pick(random, names), drawValue(random, depth - 1)]));
}

function jsonOf(value: Plain): string {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join()}]`;
  if (!(value instanceof Map)) return JSON.stringify(value);
  return `{${[...value].map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`).join()}}`;
}

/** One of the many texts that say the same. */
function spellSegment(random: Random, { below, selectors }: Segment): string {
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

const junk = [
  ...[
    "$",
    ".",
    "..",
    "*",
    "[",
    "]",
    "(",
    ")",
    "?",
    "@",
    ":",
    ",",
    "-",
    "0",
    "1",
    "99999999999999999999",
    "'",
    '"',
    "\\",
  ],
  ...["==", "=~", "&&", "||", "!", "<=", "null", "true", "length(", "match(@,'(a+)+$')", "count(@..*)", "..*", "[*]"],
  ...["[?@.a]", "[?@==$]", "[?$..[?@]]", "[0]", "['a']", "[::]", " ", "\0", "é", "\u2028", "a", "__proto__", "\\u0041"],
];

function drawJunk(random: Random): string {
  if (random.below(3) === 0) {
    // A path with one place changed.
    const segments = drawSegments(random, 2).map((segment) => spellSegment(random, segment));
    const text = `$${segments.join("")}`;
    const at = random.below(text.length + 1);
    return text.slice(0, at) + (random.below(2) === 0 ? pick(random, junk) : "") + text.slice(at + random.below(3));
  }
  const lengthMax = random.below(32) === 0 ? 70_000 : random.below(60);
  const isOnePiece = random.below(4) === 0;
  const piece = pick(random, junk);
  let text = random.below(2) === 0 ? "$" : "";
  while (text.length < lengthMax) text += isOnePiece ? piece : pick(random, junk);
  return text;
}

function pick<Item>(random: Random, from: readonly Item[]): Item {
  return from[random.below(from.length)] as Item;
}

/** The text in UTF-8, as the store has it. */
function latin(text: string): string {
  return Buffer.from(text, "utf8").latin1Slice();
}

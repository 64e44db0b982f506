/** Patterns of tokens against a matcher that tries everything, and hostile ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seedFrom } from "../../../../test/harness/seed.ts";
import { bytesFromText } from "../../../kernel/bytes.ts";
import { type Random, seededRandom } from "../../../kernel/random.ts";
import { atOnce } from "../slices.ts";
import { SortedTerms } from "./terms/sorted-terms.ts";
import { walkTerms } from "./terms/term-walk.ts";
import { type CompiledTokenPattern, compileTokenPattern, TokenPatternFault } from "./token-pattern.ts";

const seed = seedFrom("LARDER_TOKEN_PATTERN_SEED");
const isProof = process.env["LARDER_TEST_SIZE"] === "proof";

function takes(pattern: string, token: string): boolean {
  return compileTokenPattern(bytesFromText(pattern)).matches(bytesFromText(token), () => false);
}

test("a pattern matches a whole token and ignores the case", () => {
  const table: readonly (readonly [pattern: string, token: string, isMatch: boolean])[] = [
    ["OCTO.*", "octopus", true],
    ["octo", "octopus", false],
    ["pus", "octopus", false],
    ["^octopus$", "octopus", true],
    ["^octo", "octopus", false],
    ["(?i)octopus", "octopus", true],
    ["[O-P]ctopu[^A-R]", "octopus", true],
    ["running.*", "run", false],
    ["a{2,3}", "aaa", true],
    ["a{2,3}", "aaaa", false],
    ["(?P<year>\\d{4})-?(?<month>\\d\\d)", "202611", true],
    ["\\w+", "a_1", true],
    ["caf.", "café", true],
    ["CAFÉ", "café", true],
    [".", "😀", true],
    ["(a|b$)*", "ab", true],
    ["a^b", "ab", false],
    ["a$b", "ab", false],
    ["", "", true],
    ["", "a", false],
    ["[\\]b]", "]", true],
    ["\\\\b", "\\b", true],
    ["[^b]", "a", true],
  ];
  for (const [pattern, token, isMatch] of table) assert.equal(takes(pattern, token), isMatch, `${pattern} ${token}`);
});

test("a bad pattern is a fault with its reason", () => {
  const table: readonly (readonly [pattern: string, reason: string])[] = [
    ["(?=a)b", "look-around is not supported"],
    ["(?!a)b", "look-around is not supported"],
    ["(?<=a)b", "look-around is not supported"],
    ["(?<!a)b", "look-around is not supported"],
    ["(a)\\1", "back-references are not supported"],
    ["(?<x>a)\\k<x>", "back-references are not supported"],
    ["\\bword\\b", "word boundaries are not supported"],
    ["(?<1>a)", "invalid name of a group"],
    ["(", "unclosed ("],
    ["a)", "unmatched )"],
    ["[b-a]", "range in the wrong order"],
    ["[]", "empty class"],
    ["a**", "a repetition cannot be repeated"],
    ["a{1001}", "count too large"],
    ["((a{100}){100}){100}", "too long"],
    ["a".repeat(1_025), "longer than 1024 bytes"],
    ["\\", "unexpected end"],
  ];
  for (const [pattern, reason] of table) {
    assert.throws(
      () => compileTokenPattern(pattern),
      (error) => error instanceof TokenPatternFault && error.reason === reason,
      pattern,
    );
  }
});

test("hostile patterns take a bounded number of steps", () => {
  const token = "a".repeat(2_000);
  const hostile = ["((a*)*)*b", "(a|a)*b", "(a|aa)+$b", "(.*)(.*)(.*)(.*)c", "(a?){60}a{60}b", "((a{0,9}){0,9}){0,9}b"];
  for (const pattern of hostile) {
    let steps = 0;
    const spend = (count: number): boolean => {
      steps += count;
      return false;
    };
    assert.equal(compileTokenPattern(pattern).matches(token, spend), false, pattern);
    assert.ok(steps < 6_000_000, `${pattern}: ${steps}`);
  }
});

test("a pattern with more states than are kept still matches, and spends what it computes again", () => {
  const random = seededRandom(5);
  const pattern = compileTokenPattern("(a|b)*a(a|b){12}");
  let steps = 0;
  for (let i = 0; i < 4; i += 1) {
    const token = Array.from({ length: 3_000 }, () => "ab".charAt(random.below(2))).join("");
    const isMatch = pattern.matches(token, (count) => {
      steps += count;
      return false;
    });
    assert.equal(isMatch, token.at(-13) === "a");
  }
  assert.ok(steps > 100_000, `${steps}`);
});

type Node =
  | { readonly kind: "letter"; readonly letter: string }
  | { readonly kind: "dot" }
  | { readonly kind: "class"; readonly letters: string; readonly isNegated: boolean }
  | { readonly kind: "all" | "any"; readonly nodes: readonly Node[] }
  | { readonly kind: "repeat"; readonly node: Node; readonly least: number; readonly most: number };

const letters = ["a", "b", "é"];

function drawNode(random: Random, depth: number): Node {
  const kind = random.below(depth > 0 ? 7 : 3);
  const some = (): Node[] => Array.from({ length: 1 + random.below(3) }, () => drawNode(random, depth - 1));
  if (kind === 0) return { kind: "letter", letter: letters[random.below(3)] as string };
  if (kind === 1) return { kind: "dot" };
  if (kind === 2)
    return { kind: "class", letters: random.below(2) === 0 ? "a" : "bé", isNegated: random.below(2) === 0 };
  if (kind === 3 || kind === 4) return { kind: kind === 3 ? "all" : "any", nodes: some() };
  const least = random.below(3);
  const most = random.below(3) === 0 ? Number.POSITIVE_INFINITY : least + random.below(3);
  return { kind: "repeat", node: drawNode(random, depth - 1), least, most };
}

function printed(node: Node): string {
  switch (node.kind) {
    case "letter":
      return node.letter.toUpperCase();
    case "dot":
      return ".";
    case "class":
      return `[${node.isNegated ? "^" : ""}${node.letters}]`;
    case "all":
      return `(${node.nodes.map(printed).join("")})`;
    case "any":
      return `(${node.nodes.map(printed).join("|")})`;
    case "repeat":
      return `(?:${printed(node.node)}){${node.least},${Number.isFinite(node.most) ? node.most : ""}}`;
  }
}

/** All places where a match that begins at `at` can end. */
function endsOf(node: Node, token: readonly string[], at: number): Set<number> {
  const character = token[at];
  const one = (isMatch: boolean): Set<number> => new Set(character !== undefined && isMatch ? [at + 1] : []);
  switch (node.kind) {
    case "letter":
      return one(character === node.letter);
    case "dot":
      return one(true);
    case "class":
      return one(node.letters.includes(character ?? "?") !== node.isNegated);
    case "all":
      return node.nodes.reduce((ends, part) => afterAll(ends, part, token), new Set([at]));
    case "any":
      return new Set(node.nodes.flatMap((part) => [...endsOf(part, token, at)]));
    case "repeat": {
      let ends = new Set([at]);
      for (let i = 0; i < node.least; i += 1) ends = afterAll(ends, node.node, token);
      const reached = new Set(ends);
      for (let i = node.least; i < Math.min(node.most, node.least + token.length + 1); i += 1) {
        ends = afterAll(ends, node.node, token);
        for (const end of ends) reached.add(end);
      }
      return reached;
    }
  }
}

function afterAll(ends: ReadonlySet<number>, node: Node, token: readonly string[]): Set<number> {
  return new Set([...ends].flatMap((end) => [...endsOf(node, token, end)]));
}

test(`a walk finds the tokens that a slow matcher takes (seed ${seed})`, () => {
  for (let i = 0; i < (isProof ? 5_000 : 60); i += 1) {
    const random = seededRandom(seed + i);
    const texts = [
      ...new Set(
        Array.from({ length: 60 }, () =>
          Array.from({ length: random.below(7) }, () => letters[random.below(3)]).join(""),
        ),
      ),
    ];
    const tokens = texts.map(bytesFromText);
    const sorted = new SortedTerms(tokens);
    for (let term = 0; term < tokens.length; term += 1) sorted.insert(term);
    const node = drawNode(random, 3);
    const pattern = compileTokenPattern(bytesFromText(printed(node))) as CompiledTokenPattern;
    const found: string[] = [];
    const spend = (): boolean => false;
    atOnce(
      walkTerms(
        pattern.automaton(spend),
        { tokens, sorted },
        { take: (term) => found.push(texts[term] as string), spend },
      ),
    );
    const expected = texts.filter((text) => endsOf(node, Array.from(text), 0).has(Array.from(text).length));
    assert.deepEqual(found.toSorted(), expected.toSorted(), `${i} ${printed(node)}`);
    for (const text of texts)
      assert.equal(pattern.matches(bytesFromText(text), spend), expected.includes(text), `${printed(node)} ${text}`);
  }
});

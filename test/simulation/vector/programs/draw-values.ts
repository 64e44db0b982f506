/**
 * Parts of random programs: few ids, names and values, so that written records
 * are also found, changed and removed, and among them values that break maps,
 * paths and rounding. The same random numbers draw the same values.
 */
import type { Random } from "../../../../src/kernel/random.ts";
import type { Include, SparseVector } from "../../../../src/vector/index/record.ts";
import { jsonOf, type Tree } from "./plain-metadata.ts";

/**
 * `halves`: every sum of products is exact in float32, in whatever order it is taken, and many scores are equal.
 * `floats`: sums depend on their order. `wild`: from the smallest to the largest magnitudes, and zeros of both signs.
 */
export type Components = "halves" | "floats" | "wild";

const WILD: readonly number[] = [
  ...[0, -0, 1, -1, 0.1, 1e-45, -1e-45, 1.5e-38, 1e-30, -1e-20, 1e-10, 1e10, -1e15, 1e18, 3e18, 16_777_217],
];
/** Its square is not a float32, nor is that of a vector that holds it. */
const TOO_LARGE = 2e19;

const NAMESPACES: readonly string[] = ["", "ns", "a/b", "__proto__", "é\u{1F600}", "constructor", "e\u0301 \0..", "x"];
const ID_PREFIXES: readonly string[] = ["", "a-", "a-b-", "__proto__", "ü/", "1"];
const NAMES: readonly string[] = [
  "a",
  "b",
  "c",
  "n",
  "tags",
  "__proto__",
  "constructor",
  "7",
  "in-x",
  "a b.c",
  '"',
  "\\",
];
const STRINGS: readonly string[] = ["x", "y", "xy", "", "1", "it's", "\u{1F600}", "\\", "\uffee"];
const NUMBERS: readonly number[] = [0, 1, 2, 3, -1, 2.5, 1e21];
const PATTERNS: readonly string[] = ["*", "x*", "?", "[xy]", "[^x]*", "*y", ""];
const WORDS: readonly string[] = ["cat", "dog", "bird", "fish", "tree"];
const SPARSE_INDICES: readonly number[] = [0, 1, 2, 3, 4, 5, 6, -1, 2 ** 31 - 1, -(2 ** 31)];
const TOP_KS: readonly number[] = [1, 1, 2, 3, 5, 10, 10, 40, 100, 1000];
const INVALID_FILTERS: readonly string[] = ["a =", "a = b", "NOT a = 1", "a IN ()", "(a = 1", "a = 1 b"];

export class Draw {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A whole number from 0 to bound - 1. */
  below(bound: number): number {
    return this.#random.below(bound);
  }

  /** True with a chance of one in `count`. */
  oneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  list<Item>(count: number, make: () => Item): Item[] {
    return Array.from({ length: count }, make);
  }

  /** One of the first `count`, sometimes any. */
  namespace(count: number): string {
    return this.pick(this.oneIn(15) ? NAMESPACES : NAMESPACES.slice(0, count));
  }

  /** One of `countMax` ids. */
  id(countMax: number): string {
    const number = this.below(countMax);
    return `${ID_PREFIXES[number % ID_PREFIXES.length]}${Math.floor(number / ID_PREFIXES.length)}`;
  }

  /** The start of some ids, sometimes of none. */
  prefix(): string {
    return this.oneIn(8) ? "none" : this.pick(["a", "a-", "a-b-", "a-1", "ü", "1", "1", "__", "2"]);
  }

  vector(components: Components, dimension: number): Float32Array {
    if (this.oneIn(200)) return new Float32Array(dimension);
    // A vector that holds only one value is often a multiple of another one.
    const only = this.oneIn(10) ? this.component(components) : undefined;
    return Float32Array.from({ length: dimension }, () => only ?? this.component(components));
  }

  component(components: Components): number {
    if (components === "halves") return (this.below(9) - 4) / 2;
    if (components === "floats") return this.#random.unit() * 2 - 1;
    return this.oneIn(2_000) ? TOO_LARGE : this.pick(WILD);
  }

  /** Indices in any order; one may occur twice. */
  sparse(components: Components): SparseVector {
    const count = this.oneIn(100) ? 0 : 1 + this.below(6);
    const drawValue = (): number =>
      components === "wild" ? this.component("floats") * 1e6 : this.component(components);
    return {
      indices: Int32Array.from({ length: count }, () => this.pick(SPARSE_INDICES)),
      values: Float32Array.from({ length: count }, drawValue),
    };
  }

  include(): Include {
    return { metadata: !this.oneIn(3), vectors: this.oneIn(2), data: this.oneIn(2) };
  }

  topK(): number {
    return this.pick(TOP_KS);
  }

  /** Some words, or none that any model knows. */
  text(): string {
    return this.list(this.below(5), () => this.pick(WORDS)).join(" ");
  }

  /** Undefined if the record has none. */
  metadata(): string | undefined {
    return this.oneIn(6) ? undefined : jsonOf(this.tree(3));
  }

  /** As a PATCH: with nulls, which remove. */
  patch(): string {
    return jsonOf(this.tree(2));
  }

  tree(depth: number): Tree {
    const members = this.list(this.below(5), () => [this.pick(NAMES), this.value(depth - 1)] as const);
    // A number that most records have and filters use.
    if (!this.oneIn(5)) members.push(["n", this.below(10)]);
    return new Map(members);
  }

  value(depth: number): Tree {
    const kind = this.below(12);
    if (kind === 0) return null;
    if (depth > 0 && kind < 3) return this.tree(depth);
    if (depth > 0 && kind < 5) return this.list(this.below(4), () => this.value(depth - 1));
    return this.scalar();
  }

  scalar(): string | number | boolean {
    const kind = this.below(5);
    return kind < 2 ? this.pick(STRINGS) : kind < 4 ? this.pick(NUMBERS) : this.oneIn(2);
  }

  /** Usually empty; sometimes refused. */
  filter(): string {
    if (this.oneIn(40)) return this.pick(INVALID_FILTERS);
    return this.oneIn(2) ? "" : this.condition(2);
  }

  condition(depth: number): string {
    if (depth > 0 && this.oneIn(3)) {
      const word = this.pick([" AND ", " or "]);
      return `(${this.list(2 + this.below(2), () => this.condition(depth - 1)).join(word)})`;
    }
    if (this.oneIn(3)) return `n ${this.pick(["<", "<=", ">", ">=", "=", "!="])} ${this.below(10)}`;
    const field = this.field();
    switch (this.below(6)) {
      case 0:
        return `${this.pick(["HAS FIELD", "HAS NOT FIELD"])} ${field}`;
      case 1:
        return `${field} ${this.pick(["GLOB", "NOT GLOB"])} ${literal(this.pick(PATTERNS))}`;
      case 2:
        return `${field} ${this.pick(["IN", "NOT IN"])} (${this.list(1 + this.below(3), () => literal(this.scalar())).join()})`;
      case 3:
        return `${field} ${this.pick(["CONTAINS", "NOT CONTAINS"])} ${literal(this.scalar())}`;
      default:
        return `${field} ${this.pick(["=", "!=", "<", ">="])} ${literal(this.scalar())}`;
    }
  }

  /** A path to a field, or to several. */
  field(): string {
    const steps = this.list(this.below(2), () =>
      this.oneIn(3) ? this.pick(["[0]", "[#-1]", "[1]", "[*]"]) : `.${spelled(this.pick(NAMES))}`,
    );
    return spelled(this.pick(NAMES)) + steps.join("");
  }
}

/** A name as filters write it: in backticks if it needs them. */
function spelled(name: string): string {
  return /^[a-zA-Z_][\w-]*$/.test(name) ? name : `\`${name.replaceAll("\\", "\\\\")}\``;
}

function literal(value: string | number | boolean): string {
  return typeof value === "string" ? `"${value.replaceAll("\\", "\\\\")}"` : String(value);
}

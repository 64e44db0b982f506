/**
 * A parsed JSON path: `path-parser.ts` creates it and `walk.ts` follows it.
 *
 *     $.store.book[0, 2:5, ?@.price < 10]..title
 *     root, then segments; a segment has selectors and may select all descendants
 *
 * A path that begins with `$` returns all its matches. Any other is a path of
 * the old syntax (`.`, `.a.b`, `a[0]`) and returns one value.
 */
import type { Bytes } from "../../kernel/bytes.ts";
import type { JsonNode } from "./node.ts";
import type { Pattern } from "./pattern.ts";

export interface JsonPath {
  readonly text: Bytes;
  readonly isLegacy: boolean;
  readonly segments: readonly Segment[];
}

export interface Segment {
  /** `..`: the selectors apply to a node and all nodes below it. */
  readonly isDescendant: boolean;
  readonly selectors: readonly Selector[];
}

export type Selector =
  | { readonly kind: "name"; readonly name: Bytes }
  | { readonly kind: "wildcard" }
  /** Negative: from the end. */
  | { readonly kind: "index"; readonly index: number }
  | {
      readonly kind: "slice";
      readonly start: number | undefined;
      readonly end: number | undefined;
      readonly step: number;
    }
  | { readonly kind: "filter"; readonly test: Test };

/** A path inside a filter, from `$` or from the tested node, `@`. */
export interface Query {
  readonly isAbsolute: boolean;
  readonly segments: readonly Segment[];
}

export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=";

/** A condition on a node. */
export type Test =
  | { readonly kind: "or" | "and"; readonly tests: readonly Test[] }
  | { readonly kind: "not"; readonly test: Test }
  | { readonly kind: "exists"; readonly query: Query }
  | { readonly kind: "compare"; readonly comparison: Comparison; readonly left: Operand; readonly right: Operand }
  | MatchTest;

/** match(), search() and =~. */
export interface MatchTest {
  readonly kind: "match";
  /** True if the pattern must match the whole text. */
  readonly isWhole: boolean;
  readonly text: Operand;
  /** The operand is a pattern from the document. */
  readonly pattern: Pattern | Operand;
}

/** An expression that gives a value, or nothing. */
export type Operand =
  | { readonly kind: "literal"; readonly node: JsonNode }
  /** The node of a path that leads to at most one node. */
  | { readonly kind: "node"; readonly query: Query }
  | { readonly kind: "length"; readonly of: Operand }
  | { readonly kind: "count" | "value"; readonly query: Query };

/** True if the path leads to at most one node, by names and indexes alone. */
export function isSingular(segments: readonly Segment[]): boolean {
  return segments.every(
    ({ isDescendant, selectors: [first, second] }) =>
      !isDescendant && second === undefined && (first?.kind === "name" || first?.kind === "index"),
  );
}

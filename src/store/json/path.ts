/**
 * A JSON path as it was read: what `path-parser.ts` makes and `walk.ts` follows.
 *
 *     $.store.book[0, 2:5, ?@.price < 10]..title
 *     root, then segments; a segment has selectors and may reach all descendants
 *
 * A path that begins with `$` answers all its matches. Any other is a path of
 * the old syntax (`.`, `.a.b`, `a[0]`) and answers one value.
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
  /** `..`: the selectors apply to a node and all below it. */
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

/** A path inside a filter, from `$` or from the node that is tested, `@`. */
export interface Query {
  readonly isAbsolute: boolean;
  readonly segments: readonly Segment[];
}

export type Comparison = "==" | "!=" | "<" | "<=" | ">" | ">=";

/** What is true or false of a node. */
export type Test =
  | { readonly kind: "or" | "and"; readonly tests: readonly Test[] }
  | { readonly kind: "not"; readonly test: Test }
  | { readonly kind: "exists"; readonly query: Query }
  | { readonly kind: "compare"; readonly comparison: Comparison; readonly left: Operand; readonly right: Operand }
  | MatchTest;

/** match(), search() and =~. */
export interface MatchTest {
  readonly kind: "match";
  /** True if the pattern must take the text from end to end. */
  readonly isWhole: boolean;
  readonly text: Operand;
  /** An operand is a pattern that the document holds. */
  readonly pattern: Pattern | Operand;
}

/** What gives a value, or nothing. */
export type Operand =
  | { readonly kind: "literal"; readonly node: JsonNode }
  /** The node of a path that leads to one node at most. */
  | { readonly kind: "node"; readonly query: Query }
  | { readonly kind: "length"; readonly of: Operand }
  | { readonly kind: "count" | "value"; readonly query: Query };

/** True if the path leads to one node at most, by names and indexes alone. */
export function isSingular(segments: readonly Segment[]): boolean {
  return segments.every(
    ({ isDescendant, selectors: [first, second] }) =>
      !isDescendant && second === undefined && (first?.kind === "name" || first?.kind === "index"),
  );
}

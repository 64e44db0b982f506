/**
 * A filter as it was read: a tree of clauses. A clause matches documents and
 * gives each of them a score:
 *
 *     term, phrase, phrasePrefix           BM25
 *     prefix, fuzzy, regex, numbers, words, all     1
 *     group       the sum of its matching required and optional clauses
 *     boosted     the score of its clause times the boost
 *     smartWord   the sum of its parts (`partsOfSmartWord`)
 *
 * A group with required clauses needs all of them; one without needs any of its
 * optional ones. No excluded clause may match.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { TokenPattern } from "../index/index-reader.ts";
import type { AnalysedWord } from "../text/analyzer.ts";
import type { Filter } from "./contract.ts";

export type Clause =
  | { readonly kind: "all" }
  | { readonly kind: "nothing" }
  | { readonly kind: "term"; readonly field: number; readonly token: Bytes }
  | PhraseClause
  | PhrasePrefixClause
  | { readonly kind: "prefix"; readonly field: number; readonly word: AnalysedWord }
  | FuzzyClause
  | SmartWordClause
  | { readonly kind: "regex"; readonly field: number; readonly pattern: TokenPattern }
  | { readonly kind: "numbers"; readonly field: number; readonly test: NumberTest }
  | { readonly kind: "words"; readonly field: number; readonly test: WordTest }
  | GroupClause
  | { readonly kind: "boosted"; readonly clause: Clause; readonly boost: number };

export interface PhraseClause {
  readonly kind: "phrase";
  readonly field: number;
  /** At least two. */
  readonly tokens: readonly Bytes[];
  /** By how many positions the words may move, in sum, to become adjacent and in order. */
  readonly slop: number;
}

/** A phrase whose last word may be the beginning of a token. */
export interface PhrasePrefixClause {
  readonly kind: "phrasePrefix";
  readonly field: number;
  /** The words before the last one: at least one. */
  readonly tokens: readonly Bytes[];
  readonly last: AnalysedWord;
}

export interface FuzzyClause {
  readonly kind: "fuzzy";
  readonly field: number;
  readonly token: Bytes;
  readonly distance: number;
  readonly transpositionCostOne: boolean;
  readonly isPrefix: boolean;
}

/** `$smart` of one word. */
export interface SmartWordClause {
  readonly kind: "smartWord";
  readonly field: number;
  readonly token: Bytes;
}

export interface GroupClause {
  readonly kind: "group";
  readonly required: readonly Clause[];
  readonly optional: readonly Clause[];
  readonly excluded: readonly Clause[];
}

/** Values are numbers, or bigints beyond ±(2^53 - 1) for U64 and I64. */
export type NumberTest =
  | { readonly kind: "equals"; readonly values: readonly (number | bigint)[] }
  | { readonly kind: "range"; readonly comparison: Comparison; readonly bound: number | bigint };

export type WordTest =
  | { readonly kind: "equals"; readonly words: readonly Bytes[] }
  | { readonly kind: "range"; readonly comparison: Comparison; readonly bound: Bytes }
  /** A path of a FACET or anything below it. */
  | { readonly kind: "below"; readonly paths: readonly Bytes[] };

export type Comparison = "$gt" | "$gte" | "$lt" | "$lte";

export const nothing: Clause = { kind: "nothing" };

/** Matches documents that match all of the clauses, of which it has at least one. */
export function allOf(clauses: readonly Clause[]): Clause {
  return clauses.length === 1
    ? (clauses[0] as Clause)
    : { kind: "group", required: clauses, optional: [], excluded: [] };
}

/** Matches documents that match any of the clauses. */
export function anyOf(clauses: readonly Clause[]): Clause {
  if (clauses.length === 0) return nothing;
  return clauses.length === 1
    ? (clauses[0] as Clause)
    : { kind: "group", required: [], optional: clauses, excluded: [] };
}

export const SMART_TERM_WEIGHT = 2;
/** The score of documents that have only words like the one of a `$smart`, at most. */
export const SMART_LIKE_SCORE = 2;

/** The term, fuzzy words, and fuzzy beginnings. Each includes the documents of the one before it. */
export function partsOfSmartWord({ field, token }: SmartWordClause): readonly [Clause, FuzzyClause, FuzzyClause] {
  const near: FuzzyClause = { kind: "fuzzy", field, token, distance: 1, transpositionCostOne: true, isPrefix: false };
  return [boosted({ kind: "term", field, token }, SMART_TERM_WEIGHT), near, { ...near, isPrefix: true }];
}

export function boosted(clause: Clause, boost: number): Clause {
  return boost === 1 ? clause : { kind: "boosted", clause, boost };
}

/** What a parser of filters returns, as the execution sees it. */
export class ClauseFilter implements Filter {
  readonly clause: Clause;
  readonly highlighted: ReadonlyMap<number, ReadonlySet<Bytes>>;

  constructor(clause: Clause, highlighted: ReadonlyMap<number, ReadonlySet<Bytes>>) {
    this.clause = clause;
    this.highlighted = highlighted;
  }
}

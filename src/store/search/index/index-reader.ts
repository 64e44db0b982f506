/**
 * An index as queries and aggregations see it. Documents are numbers that rise
 * in the order of indexing; a document that changed has a new number, and a
 * removed one has none. Cursors, postings and columns show live documents only,
 * and are valid until the next change of the index.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { IndexDefinition } from "../definition.ts";
import type { InSlices, Spend } from "../slices.ts";

export type { Spend } from "../slices.ts";

/** What a cursor points at after its last document; greater than all numbers of documents. */
export const NO_DOCUMENT = 0x7fff_ffff;

export interface IndexReader {
  readonly definition: IndexDefinition;
  /** Live documents. */
  readonly documentCount: number;
  /** Numbers of documents are below it. */
  readonly documentLimit: number;
  readonly isLive: (document: number) => boolean;
  /** The key of a live document. */
  readonly keyOf: (document: number) => Bytes;
  /** The postings of a TEXT field, by its number. */
  readonly text: (field: number) => TextReader;
  /** The column of any other field, by its number. */
  readonly column: (field: number) => Column;
}

/** A term of one field, until the next change of the index. */
export type Term = number;

export interface TextReader {
  /** Tokens of the field in all live documents. */
  readonly tokenCount: number;
  /** Tokens of the field in a document, rounded down as `lengths.ts` says: 0 for a document without the field. */
  readonly lengthOf: (document: number) => number;
  /** The term of this token, or undefined. */
  readonly term: (token: Bytes) => Term | undefined;
  /** The token of a term. */
  readonly tokenOf: (term: Term) => Bytes;
  /** Live documents with the term. */
  readonly documentFrequency: (term: Term) => number;
  readonly postings: (term: Term) => Postings;
  /** Terms that begin with this, in the order of their bytes, at most `limit` of them; only those with live documents. */
  readonly termsWithPrefix: (
    prefix: Bytes,
    options: { readonly limit: number; readonly spend: Spend },
  ) => InSlices<Term[]>;
  /** Terms that are within the distance of the token, only those with live documents, in the order of their bytes. */
  readonly termsNear: (token: Bytes, options: FuzzyOptions) => InSlices<Term[]>;
  /** Terms that a pattern of `$regex` matches as a whole, only those with live documents, in the order of their bytes. */
  readonly termsMatching: (pattern: TokenPattern, spend: Spend) => InSlices<Term[]>;
}

export interface FuzzyOptions {
  /** Changes of one code point: 0, 1 or 2. */
  readonly distance: number;
  /** Whether two swapped neighbours are one change, or two. */
  readonly transpositionCostOne: boolean;
  /** Whether some beginning of the term may be within the distance, in place of the whole. */
  readonly isPrefix: boolean;
  readonly spend: Spend;
}

/** A compiled pattern of `$regex`; `compileTokenPattern` makes it. */
export interface TokenPattern {
  /** Whether the pattern matches a whole token. For tests: indexes walk their terms with it. */
  readonly matches: (token: Bytes, spend: Spend) => boolean;
}

/** The live documents of a term in rising order. It begins before the first one: call `next` or `seek` first. */
export interface Postings {
  /** The document that it points at, or `NO_DOCUMENT`. */
  readonly document: number;
  /** How often the document has the term. */
  readonly frequency: number;
  /** Moves to the next document, and returns it or `NO_DOCUMENT`. */
  readonly next: () => number;
  /** Moves to the first document at or after this one; never backwards. */
  readonly seek: (document: number) => number;
  /**
   * The positions of the term in the document, rising, from 0. The array is used again by the next call, and only its
   * first `frequency` numbers count.
   */
  readonly positions: () => Uint32Array;
  /**
   * The block of documents that has the first document at or after `document`: no document up to `last` has a greater
   * frequency than `maxFrequency` or a smaller length than `minLength`. Moves nothing. `last` is NO_DOCUMENT at the end.
   */
  readonly boundsAt: (document: number) => PostingBounds;
}

/** Used again by the next call. */
export interface PostingBounds {
  readonly last: number;
  readonly maxFrequency: number;
  readonly minLength: number;
}

export type Column = NumberColumn | WordColumn;

/** U64, I64, F64, DATE and BOOL. */
export interface NumberColumn {
  readonly kind: "numbers";
  /** True if some value is a bigint. */
  readonly hasBigints: boolean;
  /** The number of values that a document has. */
  readonly countOf: (document: number) => number;
  /** A value of a document: `at` is below `countOf`. */
  readonly valueOf: (document: number, at: number) => number | bigint;
  /** The value of each document, NaN without one. Undefined if documents may have several or bigints. */
  readonly singles?: Float64Array | undefined;
}

/** KEYWORD and FACET: each distinct value has an ordinal, in no order. */
export interface WordColumn {
  readonly kind: "words";
  /** Ordinals are below it; some may have no live document. */
  readonly ordinalLimit: number;
  readonly ordinalOfWord: (word: Bytes) => number | undefined;
  readonly wordOf: (ordinal: number) => Bytes;
  readonly countOf: (document: number) => number;
  /** An ordinal of a document: `at` is below `countOf`. */
  readonly ordinalOf: (document: number, at: number) => number;
  /** The ordinal of each document plus 1, 0 without one. Undefined if documents may have several. */
  readonly singles?: Uint32Array | undefined;
}

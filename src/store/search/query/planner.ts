/**
 * Turns the clauses of a filter into cursors over an index. Clauses that cannot
 * match disappear, nested sums become one, and boosts become factors of scores.
 */
import { assert } from "../../../kernel/assert.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import type { IndexReader, Postings, Spend, Term, TextReader } from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";
import type { AnalysedWord } from "../text/analyzer.ts";
import {
  type Clause,
  type FuzzyClause,
  type GroupClause,
  type PhraseClause,
  type PhrasePrefixClause,
  partsOfSmartWord,
  SMART_LIKE_SCORE,
  SMART_TERM_WEIGHT,
  type SmartWordClause,
} from "./clauses.ts";
import { type Cursor, EmptyCursor } from "./cursors/cursor.ts";
import { BitsCursor, type DocumentSet, documentSetOf, ListCursor } from "./cursors/document-set.ts";
import { ConjunctionCursor, DisjunctionCursor } from "./cursors/group-cursors.ts";
import { PhraseCursor, type PhraseWord } from "./cursors/phrase-cursor.ts";
import { EveryCursor, NumberCursor, WordCursor } from "./cursors/scan-cursor.ts";
import { Bm25, inverseFrequency, PlainTermCursor, TermCursor } from "./cursors/term-cursor.ts";

/** The last word of a phrase with `prefix` stands for at most this many tokens. */
export const EXPANSIONS_MAX = 50;

/** Steps of making a cursor, apart from its own. */
const STEPS_OF_A_CURSOR = 50;

export interface PlanOptions {
  readonly index: IndexReader;
  readonly spend: Spend;
  /** Without scores, clauses that only add to the score are left out. */
  readonly needsScores: boolean;
}

/** The matching documents of a clause. */
export function cursorOf(clause: Clause, options: PlanOptions): InSlices<Cursor> {
  return new Planner(options).cursor(clause, 1);
}

/** The same for a clause that is no group and needs no walk over terms; undefined for all others. */
export function simpleCursorOf(clause: Clause, options: PlanOptions): Cursor | undefined {
  return new Planner(options).simple(clause, 1);
}

/**
 * For a `$smart` of one word: the documents that have the word itself, with all of their score, and the greatest score of
 * others. There may be many words like it, and the best hits rarely need them. Undefined for other clauses.
 */
export function smartWordCursorOf(
  clause: Clause,
  options: PlanOptions,
): { readonly cursor: Cursor; readonly scoreOfOthers: number } | undefined {
  const { clause: word, boost } = flattened(clause, 1);
  if (word.kind !== "smartWord" || boost <= 0) return undefined;
  return { cursor: new Planner(options).wordItself(word, boost), scoreOfOthers: boost * SMART_LIKE_SCORE };
}

class Planner {
  readonly #index: IndexReader;
  readonly #spend: Spend;
  readonly #needsScores: boolean;
  /** The same word may be in many clauses. */
  readonly #setsByWord = new Map<string, DocumentSet>();

  constructor({ index, spend, needsScores }: PlanOptions) {
    this.#index = index;
    this.#spend = spend;
    this.#needsScores = needsScores;
  }

  simple(clause: Clause, boost: number): Cursor | undefined {
    switch (clause.kind) {
      case "all":
        return new EveryCursor(this.#scan(boost));
      case "nothing":
        return new EmptyCursor();
      case "numbers":
      case "words":
        return this.#column(clause, boost);
      case "term":
        return this.#term(this.#index.text(clause.field), clause.token, { boost, bonus: 0 });
      case "phrase":
        return this.#phrase(clause, boost);
      default:
        return undefined;
    }
  }

  *cursor(clause: Clause, boost: number): InSlices<Cursor> {
    if (this.#spend(STEPS_OF_A_CURSOR)) yield;
    switch (clause.kind) {
      case "boosted":
        return yield* this.cursor(clause.clause, boost * clause.boost);
      case "group":
        return yield* this.#group(clause, boost);
      case "phrasePrefix":
        return yield* this.#phrasePrefix(clause, boost);
      case "prefix":
        return yield* this.#prefix(clause, boost);
      case "fuzzy":
        return yield* this.#fuzzy(clause, boost);
      case "smartWord":
        return yield* this.#any([clause], boost);
      case "regex": {
        const text = this.#index.text(clause.field);
        const terms = yield* text.termsMatching(clause.pattern, this.#spend);
        return yield* this.#anyTerm(text, { terms, boost });
      }
      default: {
        const simple = this.simple(clause, boost);
        assert(simple !== undefined, "each kind of clause has a cursor");
        return simple;
      }
    }
  }

  /** As `simple`, with its steps. */
  #quick({ clause, boost }: { clause: Clause; boost: number }): Cursor | undefined {
    const cursor = this.simple(clause, boost);
    if (cursor !== undefined) this.#spend(STEPS_OF_A_CURSOR);
    return cursor;
  }

  /** The term with the score of all parts of a `$smart`, which match its documents too. */
  wordItself({ field, token }: SmartWordClause, boost: number): Cursor {
    const bonus = boost * SMART_LIKE_SCORE;
    return this.#term(this.#index.text(field), token, { boost: boost * SMART_TERM_WEIGHT, bonus });
  }

  #scan(score: number): { score: number; index: IndexReader; spend: Spend } {
    return { score, index: this.#index, spend: this.#spend };
  }

  *#group({ required, optional, excluded }: GroupClause, boost: number): InSlices<Cursor> {
    if (required.length === 0) return yield* this.#without(yield* this.#any(optional, boost), excluded);
    const cursors = yield* this.#all(required, boost);
    if (cursors === undefined) return new EmptyCursor();
    const added = this.#needsScores ? yield* this.#matching(optional, boost) : [];
    return this.#conjunction(cursors, { optional: added, excluded: yield* this.#matching(excluded, 1) });
  }

  *#without(cursor: Cursor, excluded: readonly Clause[]): InSlices<Cursor> {
    if (cursor instanceof EmptyCursor) return cursor;
    return this.#conjunction([cursor], { optional: [], excluded: yield* this.#matching(excluded, 1) });
  }

  #conjunction(required: Cursor[], rest: { optional: Cursor[]; excluded: Cursor[] }): Cursor {
    if (required.length === 1 && rest.optional.length + rest.excluded.length === 0) return required[0] as Cursor;
    return new ConjunctionCursor({ required, ...rest }, this.#spend);
  }

  /** The cursors of clauses that all must match, or undefined if one cannot. */
  *#all(clauses: readonly Clause[], boost: number): InSlices<Cursor[] | undefined> {
    const cursors: Cursor[] = [];
    for (const clause of clauses) {
      const inner = flattened(clause, boost);
      if (isAllOf(inner.clause)) {
        const nested = yield* this.#all(inner.clause.required, inner.boost);
        if (nested === undefined) return undefined;
        cursors.push(...nested);
        continue;
      }
      const cursor = this.#quick(inner) ?? (yield* this.cursor(inner.clause, inner.boost));
      if (cursor instanceof EmptyCursor) return undefined;
      cursors.push(cursor);
    }
    return cursors;
  }

  *#any(clauses: readonly Clause[], boost: number): InSlices<Cursor> {
    const cursors = yield* this.#matching(clauses, boost);
    if (cursors.length === 0) return new EmptyCursor();
    if (cursors.length === 1) return cursors[0] as Cursor;
    return new DisjunctionCursor(cursors, { spend: this.#spend, needsScores: this.#needsScores });
  }

  /** The cursors of those clauses that can match; sums in the sum are opened. */
  *#matching(clauses: readonly Clause[], boost: number): InSlices<Cursor[]> {
    const cursors: Cursor[] = [];
    for (const clause of clauses) {
      const inner = flattened(clause, boost);
      if (isAnyOf(inner.clause)) {
        cursors.push(...(yield* this.#matching(inner.clause.optional, inner.boost)));
        continue;
      }
      if (inner.clause.kind === "smartWord") {
        const parts = partsOfSmartWord(inner.clause);
        // Without scores the last part is enough: it includes the documents of the others.
        cursors.push(...(yield* this.#matching(this.#needsScores ? parts : parts.slice(-1), inner.boost)));
        continue;
      }
      const cursor = this.#quick(inner) ?? (yield* this.cursor(inner.clause, inner.boost));
      if (!(cursor instanceof EmptyCursor)) cursors.push(cursor);
    }
    return cursors;
  }

  #column(clause: Extract<Clause, { kind: "numbers" | "words" }>, boost: number): Cursor {
    const column = this.#index.column(clause.field);
    const options = this.#scan(boost);
    if (clause.kind === "numbers" && column.kind === "numbers") return new NumberCursor(column, clause.test, options);
    if (clause.kind === "words" && column.kind === "words") return new WordCursor(column, clause.test, options);
    throw new Error("the column is not of the type of its field");
  }

  #term(text: TextReader, token: Bytes, { boost, bonus }: { boost: number; bonus: number }): Cursor {
    const term = text.term(token);
    const count = term === undefined ? 0 : text.documentFrequency(term);
    if (term === undefined || count === 0) return new EmptyCursor();
    const postings = text.postings(term);
    if (!this.#needsScores) return new PlainTermCursor(boost, { postings, count });
    return new TermCursor(text, { postings, cost: count, bm25: this.#bm25(text, this.#inverse(count), boost), bonus });
  }

  #inverse(count: number): number {
    return inverseFrequency(count, this.#index.documentCount);
  }

  #bm25(text: TextReader, inverse: number, boost: number): Bm25 {
    return new Bm25(text, { inverseFrequency: inverse, boost, documentCount: this.#index.documentCount });
  }

  #phrase({ field, tokens, slop }: PhraseClause, boost: number): Cursor {
    const text = this.#index.text(field);
    const words = this.#phraseWords(text, tokens);
    if (words === undefined) return new EmptyCursor();
    const { inverse, cost } = words;
    return new PhraseCursor(text, {
      words: words.words,
      slop,
      cost,
      bm25: this.#bm25(text, inverse, boost),
      spend: this.#spend,
    });
  }

  /** Expansions add nothing to the weight of the phrase: each stands for the same beginning. */
  *#phrasePrefix({ field, tokens, last }: PhrasePrefixClause, boost: number): InSlices<Cursor> {
    const text = this.#index.text(field);
    const words = this.#phraseWords(text, tokens);
    const expansions = yield* this.#beginningWith(text, last, EXPANSIONS_MAX);
    if (words === undefined || expansions.length === 0) return new EmptyCursor();
    this.#spend(STEPS_OF_A_CURSOR * expansions.length);
    // Postings of their own: a word of the phrase may be an expansion of the last one.
    const alternatives = expansions.map((term) => text.postings(term));
    return new PhraseCursor(text, {
      words: [...words.words, { alternatives }],
      slop: 0,
      cost: words.cost,
      bm25: this.#bm25(text, words.inverse, boost),
      spend: this.#spend,
    });
  }

  /** Undefined if no document has one of the words. */
  #phraseWords(
    text: TextReader,
    tokens: readonly Bytes[],
  ): { words: PhraseWord[]; inverse: number; cost: number } | undefined {
    const known = new Map<Term, Postings>();
    const words: PhraseWord[] = [];
    let inverse = 0;
    let cost = this.#index.documentCount;
    for (const token of tokens) {
      const term = text.term(token);
      const count = term === undefined ? 0 : text.documentFrequency(term);
      if (term === undefined || count === 0) return undefined;
      const postings = known.get(term) ?? text.postings(term);
      if (!known.has(term)) this.#spend(STEPS_OF_A_CURSOR);
      known.set(term, postings);
      words.push({ alternatives: [postings] });
      inverse += this.#inverse(count);
      cost = Math.min(cost, count);
    }
    return { words, inverse, cost };
  }

  *#prefix({ field, word }: Extract<Clause, { kind: "prefix" }>, boost: number): InSlices<Cursor> {
    const text = this.#index.text(field);
    const terms = yield* this.#beginningWith(text, word, Number.MAX_SAFE_INTEGER);
    return yield* this.#anyTerm(text, { terms, boost });
  }

  /** Terms that begin with the word or with its stem, in the order of their bytes. */
  *#beginningWith(text: TextReader, { lower, term }: AnalysedWord, limit: number): InSlices<readonly Term[]> {
    const options = { limit, spend: this.#spend };
    const ofWord = yield* text.termsWithPrefix(lower, options);
    if (lower === term) return ofWord;
    const ofStem = yield* text.termsWithPrefix(term, options);
    if (lower.startsWith(term)) return ofStem;
    const both = [...new Set([...ofWord, ...ofStem])].map((found) => ({ found, token: text.tokenOf(found) }));
    both.sort((one, other) => (one.token < other.token ? -1 : 1));
    return both.slice(0, limit).map(({ found }) => found);
  }

  *#fuzzy({ field, token, distance, transpositionCostOne, isPrefix }: FuzzyClause, boost: number): InSlices<Cursor> {
    const text = this.#index.text(field);
    const word = [field, distance, transpositionCostOne, isPrefix, token].join(" ");
    const known = this.#setsByWord.get(word);
    if (known !== undefined) return cursorOfSet(known, boost);
    const terms = yield* text.termsNear(token, { distance, transpositionCostOne, isPrefix, spend: this.#spend });
    return yield* this.#anyTerm(text, { terms, boost, word });
  }

  *#anyTerm(
    text: TextReader,
    { terms, boost, word }: { terms: readonly Term[]; boost: number; word?: string },
  ): InSlices<Cursor> {
    const [term] = terms;
    if (term === undefined) return new EmptyCursor();
    if (terms.length === 1)
      return new PlainTermCursor(boost, { postings: text.postings(term), count: text.documentFrequency(term) });
    const { documentLimit } = this.#index;
    const documents = yield* documentSetOf(text, terms, { documentLimit, spend: this.#spend });
    if (word !== undefined) this.#setsByWord.set(word, documents);
    return cursorOfSet(documents, boost);
  }
}

function cursorOfSet(documents: DocumentSet, score: number): Cursor {
  return documents.kind === "list" ? new ListCursor(score, documents.documents) : new BitsCursor(score, documents);
}

/** The clause below nested boosts, and their product. */
function flattened(clause: Clause, boost: number): { clause: Clause; boost: number } {
  let inner = clause;
  let product = boost;
  while (inner.kind === "boosted") {
    product *= inner.boost;
    inner = inner.clause;
  }
  return { clause: inner, boost: product };
}

function isAllOf(clause: Clause): clause is GroupClause {
  return clause.kind === "group" && clause.required.length > 0 && clause.optional.length + clause.excluded.length === 0;
}

function isAnyOf(clause: Clause): clause is GroupClause {
  return clause.kind === "group" && clause.required.length + clause.excluded.length === 0;
}

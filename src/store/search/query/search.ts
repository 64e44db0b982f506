/** Runs filters over an index: the hits of SEARCH.QUERY, the count of SEARCH.COUNT, the documents of SEARCH.AGGREGATE. */
import { assert } from "../../../kernel/assert.ts";
import type { Bytes } from "../../../kernel/bytes.ts";
import { type Column, type IndexReader, NO_DOCUMENT, type Spend } from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";
import { BestDocuments, type CompareKeys } from "./best-documents.ts";
import { type Clause, ClauseFilter } from "./clauses.ts";
import type { CountMatches, Filter, FindHits, Hit, MatchingDocuments, Ranking, ScoreFunction } from "./contract.ts";
import { type Cursor, PAUSED } from "./cursors/cursor.ts";
import { DisjunctionCursor } from "./cursors/group-cursors.ts";
import { BestCollector, collectBestSums } from "./max-score.ts";
import { cursorOf, simpleCursorOf, smartWordCursorOf } from "./planner.ts";
import { rescoreOf } from "./score-function.ts";
import { doubleText, roundedScore, roundedScoreText } from "./score-text.ts";

/** Documents between two calls of `spend`. */
const STRIDE = 256;
const STEPS_OF_A_MATCH = 2;

interface HitOptions {
  readonly ranking: Ranking;
  readonly offset: number;
  readonly limit: number;
  readonly spend: Spend;
}

export const findHits: FindHits = (index, filter, options) => {
  const clause = index.documentCount === 0 || options.limit === 0 ? NOTHING : clauseOf(filter);
  const { orderBy, scoreFunction } = options.ranking;
  if (orderBy !== undefined) return hitsInOrder({ index, clause }, orderBy, options);
  if (scoreFunction !== undefined) return hitsByFunction({ index, clause }, scoreFunction, options);
  return hitsByScore({ index, clause }, options);
};

const NOTHING: Clause = { kind: "nothing" };

export const countMatches: CountMatches = function* (index, filter, spend) {
  if (index.documentCount === 0) return 0;
  const clause = clauseOf(filter);
  const plan = { index, spend, needsScores: false };
  const cursor = simpleCursorOf(clause, plan) ?? (yield* cursorOf(clause, plan));
  if (cursor.matchCount !== undefined) return cursor.matchCount;
  let count = 0;
  yield* visit(cursor, spend, () => {
    count += 1;
  });
  return count;
};

export const matchingDocuments: MatchingDocuments = function* (index, filter, spend) {
  if (index.documentCount === 0) return new Uint32Array(0);
  const clause = clauseOf(filter);
  if (clause.kind === "all") return yield* allDocuments(index, spend);
  const plan = { index, spend, needsScores: false };
  const cursor = simpleCursorOf(clause, plan) ?? (yield* cursorOf(clause, plan));
  let documents = new Uint32Array(Math.min(cursor.matchCount ?? FIRST_CAPACITY, index.documentCount));
  let count = 0;
  yield* visit(cursor, spend, (document) => {
    if (count === documents.length) {
      const larger = new Uint32Array(Math.min(2 * count, index.documentCount));
      larger.set(documents);
      documents = larger;
    }
    documents[count] = document;
    count += 1;
  });
  return documents.subarray(0, count);
};

const FIRST_CAPACITY = 1_024;

/** 0, 1, 2 …: the documents of an index of which none was removed. Nobody changes it. */
let everyNumber = new Uint32Array(0);
/** More numbers than this, 4 MB, are made for each search. */
const KEPT_NUMBERS_MAX = 2 ** 20;

/**
 * A loop of its own: most aggregations are over all documents, and cost hardly more than this. The steps are the same
 * whether the numbers are known or not.
 */
function* allDocuments(index: IndexReader, spend: Spend): InSlices<Uint32Array> {
  const { documentCount, documentLimit } = index;
  const areAllLive = documentCount === documentLimit;
  const isKnown = areAllLive && documentCount <= everyNumber.length;
  const documents = isKnown ? everyNumber.subarray(0, documentCount) : new Uint32Array(documentCount);
  let count = 0;
  for (let start = 0; start < documentLimit; start += STRIDE) {
    const end = Math.min(documentLimit, start + STRIDE);
    for (let document = isKnown ? end : start; document < end; document += 1) {
      if (!areAllLive && !index.isLive(document)) continue;
      documents[count] = document;
      count += 1;
    }
    if (spend(STEPS_OF_A_MATCH * (end - start))) yield;
  }
  if (areAllLive && !isKnown && documentCount <= KEPT_NUMBERS_MAX) everyNumber = documents;
  return documents;
}

/** The place that a filter has to search. */
interface Query {
  readonly index: IndexReader;
  readonly clause: Clause;
}

function clauseOf(filter: Filter): Clause {
  assert(filter instanceof ClauseFilter, "a filter comes from the parser");
  return filter.clause;
}

function* visit(cursor: Cursor, spend: Spend, take: (document: number) => void): InSlices<void> {
  let count = 0;
  for (let document = cursor.next(); document !== NO_DOCUMENT; document = cursor.next()) {
    if (document === PAUSED) {
      yield;
      continue;
    }
    take(document);
    count += 1;
    if (count % STRIDE === 0 && spend(STEPS_OF_A_MATCH * STRIDE)) yield;
  }
}

function* hitsByScore({ index, clause }: Query, { offset, limit, spend }: HitOptions): InSlices<Hit[]> {
  const plan = { index, spend, needsScores: true };
  const word = smartWordCursorOf(clause, plan);
  if (word !== undefined) {
    const hits = new BestDocuments<number>(offset + limit, descending);
    const collector = new BestCollector(word.cursor, hits, spend);
    while (!collector.run()) yield;
    if (hits.worst !== undefined && hits.worst.key > roundedScore(word.scoreOfOthers)) return printedPage(hits, offset);
  }
  const cursor = simpleCursorOf(clause, plan) ?? (yield* cursorOf(clause, plan));
  const hits = new BestDocuments<number>(offset + limit, descending);
  if (cursor instanceof DisjunctionCursor)
    yield* collectBestSums(cursor.cursors, hits, { documentLimit: index.documentLimit, spend });
  else {
    const collector = new BestCollector(cursor, hits, spend);
    while (!collector.run()) yield;
  }
  return printedPage(hits, offset);
}

function printedPage(hits: BestDocuments<number>, offset: number): Hit[] {
  return page(hits, offset).map(({ document, key }) => ({ document, score: roundedScoreText(key) }));
}

const descending: CompareKeys<number> = (one, other) => (one > other ? -1 : one < other ? 1 : 0);

function* hitsByFunction(
  query: Query,
  scoreFunction: ScoreFunction,
  { offset, limit, spend }: HitOptions,
): InSlices<Hit[]> {
  const { index, clause } = query;
  const replaces = scoreFunction.scoreMode === "REPLACE";
  const cursor = yield* cursorOf(clause, { index, spend, needsScores: !replaces });
  const rescore = rescoreOf(index, scoreFunction);
  const hits = new BestDocuments<number>(offset + limit, descending);
  yield* visit(cursor, spend, (document) => {
    const score = rescore(document, replaces ? 0 : cursor.score());
    hits.offer(document, replaces ? score : roundedScore(score));
  });
  const textOf = replaces ? doubleText : roundedScoreText;
  return page(hits, offset).map(({ document, key }) => ({ document, score: textOf(key) }));
}

/** What orders a document; undefined if it has no value in the field. */
type OrderKey = number | bigint | Bytes | undefined;

function* hitsInOrder(
  { index, clause }: Query,
  { field, isAscending }: NonNullable<Ranking["orderBy"]>,
  { offset, limit, spend }: HitOptions,
): InSlices<Hit[]> {
  const cursor = yield* cursorOf(clause, { index, spend, needsScores: false });
  const column = index.column(field);
  const hits = new BestDocuments<OrderKey>(offset + limit, isAscending ? ascendingOrder : descendingOrder);
  yield* visit(cursor, spend, (document) => hits.offer(document, orderKeyOf(column, document)));
  return page(hits, offset).map(({ document, key }) => ({ document, score: orderText(key) }));
}

const ascendingOrder: CompareKeys<OrderKey> = (one, other) => compareOrder(one, other, 1);
const descendingOrder: CompareKeys<OrderKey> = (one, other) => compareOrder(one, other, -1);

/** Documents without a value come last in both directions. */
function compareOrder(one: OrderKey, other: OrderKey, direction: 1 | -1): number {
  if (one === other) return 0;
  if (one === undefined) return 1;
  if (other === undefined) return -1;
  return one < other ? -direction : direction;
}

/** Of several values, the first one in the document counts. */
function orderKeyOf(column: Column, document: number): OrderKey {
  if (column.countOf(document) === 0) return undefined;
  return column.kind === "numbers" ? column.valueOf(document, 0) : column.wordOf(column.ordinalOf(document, 0));
}

/** Words are no scores. */
function orderText(key: OrderKey): Bytes {
  return typeof key === "number" || typeof key === "bigint" ? doubleText(Number(key)) : "0";
}

function page<Key>(hits: BestDocuments<Key>, offset: number): ReturnType<BestDocuments<Key>["takeSorted"]> {
  const sorted = hits.takeSorted();
  return offset === 0 ? sorted : sorted.slice(offset);
}

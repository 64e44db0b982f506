/**
 * The slow, obvious search that tests compare an index with. It goes through
 * all documents for each question, and through the parsed JSON of the filter
 * for each document. It shares no code with the parser and the execution of
 * filters, and keeps nothing but the tokens of the documents and their counts.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import { textFromBytes } from "../../../kernel/bytes.ts";
import { plainFloat32Text } from "../../../kernel/float32/text.virtual.ts";
import type { JsonNode } from "../../json/node.ts";
import { doubleOf, WholeDouble } from "../../json/number.ts";
import { JsonObject } from "../../json/object.ts";
import { parseJson } from "../../json/parse.ts";
import type { FieldValue, IndexDefinition, SearchDocument } from "../definition.ts";
import type { AnalyzerFor } from "../text/analyzer.ts";
import type { Ranking } from "./contract.ts";

export interface BruteForceInput {
  readonly definition: IndexDefinition;
  /** By number; undefined for numbers without a live document. */
  readonly documents: readonly (SearchDocument | undefined)[];
  readonly analyzerFor: AnalyzerFor;
  /** Whether the pattern of `$regex` matches the whole token. */
  readonly matchesPattern: (pattern: Bytes, token: Bytes) => boolean;
}

export interface SlowHit {
  readonly document: number;
  /** Not rounded; for `orderBy`, the value of the field, or 0. */
  readonly score: number;
}

const FLOAT32_MAX = 3.4028234663852886e38;

/** A token of a document, and its position in the field. */
interface PlacedToken {
  readonly token: Bytes;
  readonly position: number;
}

/** A score, or undefined if the document does not match. */
type Outcome = number | undefined;

export class BruteForce {
  readonly #input: BruteForceInput;
  /** By the number of the document and of the field. */
  readonly #tokens: readonly (readonly (readonly PlacedToken[])[])[];
  readonly #live: readonly number[];
  /** Live documents with a token, by field and token. */
  readonly #counts = new Map<string, number>();
  /** The number of tokens of each field in all live documents. */
  readonly #totals: readonly number[];

  constructor(input: BruteForceInput) {
    this.#input = input;
    this.#live = input.documents.flatMap((document, number) => (document === undefined ? [] : [number]));
    this.#tokens = input.documents.map((document) =>
      input.definition.fields.map((_, field) => this.#tokensOf(document, field)),
    );
    this.#totals = input.definition.fields.map((_, field) =>
      this.#live.reduce((sum, document) => sum + this.#tokensIn({ field, document }).length, 0),
    );
  }

  /** The scores of all matching documents, by their numbers, not rounded. */
  scores(filter: Bytes): Map<number, number> {
    const { node } = parseJson(filter);
    const scores = new Map<number, number>();
    for (const document of this.#live) {
      const score = this.#node(node as JsonObject, document);
      if (score !== undefined) scores.set(document, score);
    }
    return scores;
  }

  /** All matching documents, best first. */
  hits(filter: Bytes, { orderBy, scoreFunction }: Ranking): SlowHit[] {
    const scored = [...this.scores(filter)];
    if (orderBy !== undefined) {
      const keyed = scored.map(([document]) => ({ document, key: this.#firstValue(document, orderBy.field) }));
      const sign = orderBy.isAscending ? 1 : -1;
      keyed.sort((one, other) => {
        if (one.key === undefined || other.key === undefined)
          return Number(one.key === undefined) - Number(other.key === undefined) || one.document - other.document;
        return sign * (one.key < other.key ? -1 : one.key > other.key ? 1 : 0) || one.document - other.document;
      });
      return keyed.map(({ document, key }) => ({
        document,
        score: key === undefined || typeof key === "string" ? 0 : Number(key),
      }));
    }
    const hits = scored.map(([document, score]) => {
      if (scoreFunction === undefined) return { document, score, rank: Math.fround(score) };
      const values = scoreFunction.fields.map(({ field, modifier, factor, missing }) => {
        const value = this.#firstValue(document, field);
        const candidates = [
          value === undefined ? Number.NaN : modified(Number(value), modifier),
          modified(missing, modifier),
        ];
        return factor * (candidates.find((candidate) => Number.isFinite(candidate)) ?? missing);
      });
      const sum = values.reduce((total, value) => total + value, 0);
      const product = values.reduce((total, value) => total * value, 1);
      const combined = scoreFunction.combineMode === "SUM" ? sum : product;
      const { scoreMode } = scoreFunction;
      const final = scoreMode === "REPLACE" ? combined : scoreMode === "SUM" ? score + combined : score * combined;
      if (scoreMode === "REPLACE") return { document, score: final, rank: final };
      const finite = Math.min(FLOAT32_MAX, Math.max(-FLOAT32_MAX, final));
      return { document, score: finite, rank: Math.fround(finite) };
    });
    hits.sort((one, other) => other.rank - one.rank || one.document - other.document);
    return hits.map(({ document, score }) => ({ document, score }));
  }

  #firstValue(document: number, field: number): FieldValue | undefined {
    return this.#input.documents[document]?.[field]?.[0];
  }

  #tokensOf(document: SearchDocument | undefined, field: number): PlacedToken[] {
    const { definition, analyzerFor } = this.#input;
    const schema = definition.fields[field];
    if (schema?.type !== "TEXT") return [];
    const tokens: PlacedToken[] = [];
    let base = 0;
    for (const value of document?.[field] ?? []) {
      let next = base;
      analyzerFor(definition.language, schema).analyse(value as Bytes, (token) => {
        tokens.push({ token, position: next });
        next += 1;
      });
      // One position stays free between two values.
      base = next + 1;
    }
    return tokens;
  }

  #node(node: JsonObject, document: number): Outcome {
    const required: Outcome[] = [];
    const optional: Outcome[] = [];
    let boost = 1;
    let isExcluded = false;
    const names = node.names().filter((name) => name !== "$boost");
    node.visit((name, value) => {
      if (name === "$boost") boost = doubleOf(value as number);
      else if (name === "$must" || name === "$and") required.push(...this.#nodes(value, document));
      else if (name === "$should" || name === "$or") optional.push(...this.#nodes(value, document));
      else if (name === "$mustNot") isExcluded ||= this.#nodes(value, document).some((score) => score !== undefined);
      else required.push(this.#field(name, value, document));
    });
    if (isExcluded || required.includes(undefined)) return undefined;
    const matched = optional.filter((score) => score !== undefined);
    const sum = [...required, ...matched].reduce((total: number, score) => total + (score as number), 0);
    if (required.length > 0) return boost * sum;
    if (names.includes("$should") || names.includes("$or")) return matched.length > 0 ? boost * sum : undefined;
    const asksForAll = names.length === 0 || names.includes("$must") || names.includes("$and");
    return asksForAll ? boost : undefined;
  }

  #nodes(value: JsonNode, document: number): Outcome[] {
    if (Array.isArray(value)) return value.map((element) => this.#node(element as JsonObject, document));
    const object = value as JsonObject;
    const boost = doubleOf((object.get("$boost") ?? 1) as number);
    return object
      .names()
      .filter((name) => name !== "$boost")
      .map((name) => {
        const score = this.#node(new JsonObject([name, object.get(name) as JsonNode]), document);
        return score === undefined ? undefined : boost * score;
      });
  }

  #field(name: Bytes, value: JsonNode, document: number): Outcome {
    const field = this.#input.definition.fields.findIndex((candidate) => candidate.name === name);
    if (!(value instanceof JsonObject)) return this.#operator("$smart", value, { field, document });
    let score: Outcome = 0;
    let boost = 1;
    value.visit((operator, operand) => {
      if (operator === "$boost") boost = doubleOf(operand as number);
      else score = plus(score, this.#operator(operator, operand, { field, document }));
    });
    return times(boost, score);
  }

  #operator(operator: Bytes, operand: JsonNode, place: { field: number; document: number }): Outcome {
    const { field, document } = place;
    if (this.#input.definition.fields[field]?.type === "TEXT") return this.#textOperator(operator, operand, place);
    const values = this.#input.documents[document]?.[field] ?? [];
    const operands = operator === "$in" ? (operand as JsonNode[]) : [operand];
    const holds = values.some((value) => operands.some((one) => this.#holds(value, operator, { field, operand: one })));
    return holds ? 1 : undefined;
  }

  #holds(value: FieldValue, operator: Bytes, { field, operand }: { field: number; operand: JsonNode }): boolean {
    const type = this.#input.definition.fields[field]?.type;
    if (type === "FACET") {
      const path = operand as Bytes;
      return path === "/" || value === path || `${value}`.startsWith(path.endsWith("/") ? path : `${path}/`);
    }
    let bound: FieldValue;
    if (typeof operand === "boolean") bound = Number(operand);
    else if (type === "DATE") bound = Date.parse(operand as Bytes);
    else if (type === "F64") bound = doubleOf(operand as number);
    else if (operand instanceof WholeDouble) bound = operand.value;
    else bound = operand as FieldValue;
    const isLess = value < bound;
    const isGreater = value > bound;
    switch (operator) {
      case "$gt":
        return isGreater;
      case "$gte":
        return !isLess;
      case "$lt":
        return isLess;
      case "$lte":
        return !isGreater;
      default:
        return !isLess && !isGreater;
    }
  }

  #textOperator(operator: Bytes, operand: JsonNode, place: { field: number; document: number }): Outcome {
    const { field, document } = place;
    const terms = (text: JsonNode): Bytes[] => this.#words(text as Bytes, field).map(({ term }) => term);
    switch (operator) {
      case "$eq":
        return this.#phrase(terms(operand), 0, place);
      case "$in":
        return any((operand as JsonNode[]).map((text) => this.#phrase(terms(text), 0, place)));
      case "$phrase": {
        if (!(operand instanceof JsonObject)) return this.#phrase(terms(operand), 0, place);
        const text = operand.get("value") as Bytes;
        if (operand.get("prefix") === true) return this.#phrasePrefix(text, place);
        return this.#phrase(terms(text), doubleOf((operand.get("slop") ?? 0) as number), place);
      }
      case "$fuzzy": {
        const isObject = operand instanceof JsonObject;
        const words = terms(isObject ? (operand.get("value") as Bytes) : operand);
        const option = (name: Bytes, fallback: JsonNode): JsonNode =>
          (isObject ? operand.get(name) : undefined) ?? fallback;
        const options = {
          most: doubleOf(option("distance", 1) as number),
          swapsCostOne: option("transpositionCostOne", true) as boolean,
          isPrefix: option("prefix", false) as boolean,
        };
        if (words.length === 0) return undefined;
        return words.map((word) => this.#fuzzy(word, options, place)).reduce(plus, 0);
      }
      case "$regex":
        return this.#tokensIn(place).some(({ token }) => this.#input.matchesPattern(operand as Bytes, token))
          ? 1
          : undefined;
      default:
        return this.#smart(operand as Bytes, { field, document });
    }
  }

  #smart(text: Bytes, place: { field: number; document: number }): Outcome {
    const inside = /^\s*"([^"]*)"\s*$/.exec(text)?.[1];
    const tokens = this.#words(inside ?? text, place.field).map(({ term }) => term);
    const [first] = tokens;
    if (first === undefined) return undefined;
    if (inside !== undefined) return this.#phrase(tokens, 0, place);
    const near = { most: 1, swapsCostOne: true, isPrefix: false };
    const parts = [
      ...tokens.map((token) => times(2, this.#phrase([token], 0, place))),
      ...tokens.map((token) => this.#fuzzy(token, near, place)),
      this.#fuzzy(tokens.at(-1) as Bytes, { ...near, isPrefix: true }, place),
    ];
    if (tokens.length > 1)
      parts.push(times(3, this.#phrase(tokens, 0, place)), times(2, this.#phrase(tokens, 2, place)));
    return any(parts);
  }

  #words(text: Bytes, field: number): readonly { lower: Bytes; term: Bytes }[] {
    const { analyzerFor, definition } = this.#input;
    const schema = definition.fields[field];
    return schema === undefined ? [] : analyzerFor(definition.language, schema).words(text);
  }

  #tokensIn({ field, document }: { field: number; document: number }): readonly PlacedToken[] {
    return this.#tokens[document]?.[field] ?? [];
  }

  #fuzzy(
    word: Bytes,
    { most, swapsCostOne, isPrefix }: { most: number; swapsCostOne: boolean; isPrefix: boolean },
    place: { field: number; document: number },
  ): Outcome {
    const near = (token: Bytes): boolean => slowDistance(word, token, { swapsCostOne, isPrefix }) <= most;
    return this.#tokensIn(place).some(({ token }) => near(token)) ? 1 : undefined;
  }

  /** BM25; a phrase of one word is a term. */
  #phrase(tokens: readonly Bytes[], slop: number, place: { field: number; document: number }): Outcome {
    if (tokens.length === 0) return undefined;
    const found = this.#tokensIn(place);
    const places = tokens.map((token, word) =>
      found.filter((candidate) => candidate.token === token).map(({ position }) => position - word),
    );
    return this.#bm25(tokens, occurrences(places, slop), place);
  }

  #phrasePrefix(text: Bytes, place: { field: number; document: number }): Outcome {
    const words = this.#words(text, place.field);
    const last = words.at(-1);
    if (last === undefined) return undefined;
    const beginsSo = (token: Bytes): boolean => token.startsWith(last.lower) || token.startsWith(last.term);
    const found = this.#tokensIn(place);
    if (words.length === 1) return found.some(({ token }) => beginsSo(token)) ? 1 : undefined;
    const all = this.#live.flatMap((document) => this.#tokensIn({ field: place.field, document }));
    const expansions = [...new Set(all.map(({ token }) => token).filter(beginsSo))].sort().slice(0, 50);
    const terms = words.slice(0, -1).map(({ term }) => term);
    const places = [...terms.map((term) => [term]), expansions].map((tokens, word) =>
      found.filter(({ token }) => tokens.includes(token)).map(({ position }) => position - word),
    );
    return this.#bm25(terms, occurrences(places, 0), place);
  }

  #bm25(terms: readonly Bytes[], frequency: number, place: { field: number; document: number }): Outcome {
    if (frequency === 0) return undefined;
    const { field } = place;
    const liveCount = this.#live.length;
    let inverse = 0;
    for (const term of terms) {
      const count = this.#documentsWith(term, field);
      inverse += Math.log(1 + (liveCount - count + 0.5) / (count + 0.5));
    }
    const length = quantised(this.#tokensIn(place).length);
    const mean = (this.#totals[field] as number) / liveCount;
    return (inverse * 2.2 * frequency) / (frequency + 1.2 * (0.25 + 0.75 * (length / mean)));
  }

  #documentsWith(term: Bytes, field: number): number {
    const name = `${field} ${term}`;
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const has = (document: number): boolean => this.#tokensIn({ field, document }).some(({ token }) => token === term);
    const count = this.#live.filter(has).length;
    this.#counts.set(name, count);
    return count;
  }
}

function plus(one: Outcome, other: Outcome): Outcome {
  return one === undefined || other === undefined ? undefined : one + other;
}

function times(factor: number, score: Outcome): Outcome {
  return score === undefined ? undefined : factor * score;
}

function any(scores: readonly Outcome[]): Outcome {
  const matched = scores.filter((score) => score !== undefined);
  return matched.length === 0 ? undefined : matched.reduce((sum, score) => sum + score, 0);
}

/**
 * By trying all choices of positions: how many positions of the first word begin a phrase. `places` has, for each word,
 * its positions less its number in the phrase.
 */
export function occurrences(places: readonly (readonly number[])[], slop: number): number {
  const [first = [], ...others] = places;
  const isWithin = (chosen: readonly number[], rest: readonly (readonly number[])[]): boolean => {
    const [next, ...following] = rest;
    if (next === undefined) return movesOf(chosen) <= slop;
    return next.some((place) => isWithin([...chosen, place], following));
  };
  return first.filter((place) => isWithin([place], others)).length;
}

/** The fewest moves that make all numbers equal. */
function movesOf(numbers: readonly number[]): number {
  const least = Math.min(...numbers);
  const most = Math.max(...numbers);
  let moves = Number.POSITIVE_INFINITY;
  for (let target = least; target <= most; target += 1)
    moves = Math.min(
      moves,
      numbers.reduce((sum, number) => sum + Math.abs(number - target), 0),
    );
  return moves;
}

/**
 * The changes of code points from the word to the token, or to the nearest beginning of the token. Swapped neighbours
 * are one change with `swapsCostOne`, and are not changed further.
 */
export function slowDistance(
  word: Bytes,
  token: Bytes,
  { swapsCostOne, isPrefix }: { readonly swapsCostOne: boolean; readonly isPrefix: boolean },
): number {
  const from = [...textFromBytes(word)];
  const to = [...textFromBytes(token)];
  const table = from.map((): number[] => []);
  table.push([]);
  const at = (i: number, j: number): number => table[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 0; i <= from.length; i += 1) {
    for (let j = 0; j <= to.length; j += 1) {
      let cost = i === 0 ? j : j === 0 ? i : Number.POSITIVE_INFINITY;
      if (i > 0 && j > 0) {
        cost = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + Number(from[i - 1] !== to[j - 1]));
        const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
        if (swapsCostOne && isSwap) cost = Math.min(cost, at(i - 2, j - 2) + 1);
      }
      (table[i] as number[])[j] = cost;
    }
  }
  const last = table[from.length] as number[];
  return isPrefix ? Math.min(...last) : (last[to.length] as number);
}

/** A length as one byte keeps it: exact up to 40, then eight steps of each size. */
export function quantised(length: number): number {
  if (length <= 40) return length;
  let kept = 40;
  for (let step = 2; ; step *= 2) {
    for (let i = 0; i < 8; i += 1) {
      if (kept + step > length) return kept;
      kept += step;
    }
  }
}

function modified(value: number, modifier: string): number {
  switch (modifier) {
    case "LOG":
      return Math.log10(value);
    case "LOG1P":
      return Math.log10(value + 1);
    case "LOG2P":
      return Math.log10(value + 2);
    case "LN":
      return Math.log(value);
    case "LN1P":
      return Math.log(value + 1);
    case "LN2P":
      return Math.log(value + 2);
    case "SQUARE":
      return value ** 2;
    case "SQRT":
      return Math.sqrt(value);
    case "RECIPROCAL":
      return 1 / value;
    default:
      return value;
  }
}

/** The text of a score that is a float32. */
export function slowFloat32Text(score: number): Bytes {
  return plainFloat32Text(score).replace(/\.0$/, "");
}

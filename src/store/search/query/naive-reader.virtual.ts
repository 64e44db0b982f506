/** A small index in plain arrays and maps, for tests of queries and aggregations. It is built once, and never changes. */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { IndexDefinition, SearchDocument } from "../definition.ts";
import {
  type Column,
  type IndexReader,
  NO_DOCUMENT,
  type Postings,
  type Term,
  type TextReader,
} from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";
import type { AnalyzerFor } from "../text/analyzer.ts";
import { quantised, slowDistance } from "./brute-force.virtual.ts";

export interface NaiveIndexInput {
  readonly definition: IndexDefinition;
  /** By number; undefined for numbers without a live document. */
  readonly documents: readonly (SearchDocument | undefined)[];
  readonly analyzerFor: AnalyzerFor;
  /** Documents of a block of `boundsAt`. */
  readonly blockLength?: number;
}

export function naiveReader(input: NaiveIndexInput): IndexReader {
  const { definition, documents } = input;
  const fields = definition.fields.map(({ type }, field) => ({
    text: type === "TEXT" ? textReader(input, field) : undefined,
    column: type === "TEXT" ? undefined : columnOf(input, field),
  }));
  return {
    definition,
    documentCount: documents.filter((document) => document !== undefined).length,
    documentLimit: documents.length,
    isLive: (document) => documents[document] !== undefined,
    keyOf: (document) => `key:${document}`,
    text: (field) => fields[field]?.text as TextReader,
    column: (field) => fields[field]?.column as Column,
  };
}

interface Posting {
  readonly document: number;
  readonly positions: number[];
}

function textReader(
  { definition, documents, analyzerFor, blockLength = 4 }: NaiveIndexInput,
  field: number,
): TextReader {
  const schema = definition.fields[field] as (typeof definition.fields)[number];
  const analyzer = analyzerFor(definition.language, schema);
  const tokens: Bytes[] = [];
  const terms = new Map<Bytes, Term>();
  const postings: Posting[][] = [];
  const lengths = new Uint32Array(documents.length);
  let tokenCount = 0;
  for (const [document, values] of documents.entries()) {
    let base = 0;
    for (const text of values?.[field] ?? []) {
      let position = base;
      analyzer.analyse(text as Bytes, (token) => {
        let term = terms.get(token);
        if (term === undefined) {
          term = tokens.length;
          terms.set(token, term);
          tokens.push(token);
          postings.push([]);
        }
        const list = postings[term] as Posting[];
        const last = list.at(-1);
        if (last?.document === document) last.positions.push(position);
        else list.push({ document, positions: [position] });
        position += 1;
      });
      lengths[document] = (lengths[document] as number) + position - base;
      tokenCount += position - base;
      base = position + 1;
    }
  }
  const lengthOf = (document: number): number => quantised(lengths[document] as number);
  const sorted = [...terms].sort(([one], [other]) => (one < other ? -1 : 1));
  const termsWhere = (test: (token: Bytes) => boolean): Term[] =>
    sorted.filter(([token]) => test(token)).map(([, term]) => term);
  return {
    tokenCount,
    lengthOf,
    term: (token) => terms.get(token),
    tokenOf: (term) => tokens[term] as Bytes,
    documentFrequency: (term) => (postings[term] as Posting[]).length,
    postings: (term) => new NaivePostings(postings[term] as Posting[], { lengthOf, blockLength }),
    termsWithPrefix: (prefix, { limit }) => known(termsWhere((token) => token.startsWith(prefix)).slice(0, limit)),
    termsNear: (word, { distance, transpositionCostOne, isPrefix, spend }) =>
      known(
        termsWhere((token) => {
          spend(token.length);
          return slowDistance(word, token, { swapsCostOne: transpositionCostOne, isPrefix }) <= distance;
        }),
      ),
    termsMatching: (pattern, spend) => known(termsWhere((token) => pattern.matches(token, spend))),
  };
}

/** What is known without work, after a pause. */
function* known<Result>(result: Result): InSlices<Result> {
  yield;
  return result;
}

class NaivePostings implements Postings {
  readonly #list: readonly Posting[];
  readonly #lengthOf: (document: number) => number;
  readonly #blockLength: number;
  #at = -1;

  constructor(
    list: readonly Posting[],
    { lengthOf, blockLength }: { lengthOf: (document: number) => number; blockLength: number },
  ) {
    this.#list = list;
    this.#lengthOf = lengthOf;
    this.#blockLength = blockLength;
  }

  get document(): number {
    return this.#at < 0 ? -1 : (this.#list[this.#at]?.document ?? NO_DOCUMENT);
  }

  get frequency(): number {
    return this.#list[this.#at]?.positions.length ?? 0;
  }

  next(): number {
    this.#at += 1;
    return this.document;
  }

  seek(document: number): number {
    this.#at = this.#indexFrom(document);
    return this.document;
  }

  /** Longer than the frequency, as the array of an index may be. */
  positions(): Uint32Array {
    return Uint32Array.from([...(this.#list[this.#at]?.positions ?? []), 0, 0]);
  }

  boundsAt(document: number): { last: number; maxFrequency: number; minLength: number } {
    const at = this.#indexFrom(document);
    const begin = at - (at % this.#blockLength);
    const block = this.#list.slice(begin, begin + this.#blockLength);
    const isLast = begin + this.#blockLength >= this.#list.length;
    return {
      last: isLast ? NO_DOCUMENT : (block.at(-1) as Posting).document,
      maxFrequency: Math.max(0, ...block.map(({ positions }) => positions.length)),
      minLength: Math.min(...block.map((posting) => this.#lengthOf(posting.document))),
    };
  }

  #indexFrom(document: number): number {
    let at = Math.max(0, this.#at);
    while (at < this.#list.length && (this.#list[at] as Posting).document < document) at += 1;
    return at;
  }
}

function columnOf({ definition, documents }: NaiveIndexInput, field: number): Column {
  const type = definition.fields[field]?.type;
  const valuesOf = documents.map((document) => document?.[field] ?? []);
  const countOf = (document: number): number => valuesOf[document]?.length ?? 0;
  if (type !== "KEYWORD" && type !== "FACET") {
    return {
      kind: "numbers",
      hasBigints: valuesOf.some((values) => values.some((value) => typeof value === "bigint")),
      countOf,
      valueOf: (document, at) => valuesOf[document]?.[at] as number | bigint,
    };
  }
  const words = [...new Set(valuesOf.flat())] as Bytes[];
  const ordinals = new Map(words.map((word, ordinal) => [word, ordinal]));
  return {
    kind: "words",
    ordinalLimit: words.length,
    ordinalOfWord: (word) => ordinals.get(word),
    wordOf: (ordinal) => words[ordinal] as Bytes,
    countOf,
    ordinalOf: (document, at) => ordinals.get(valuesOf[document]?.[at] as Bytes) as number,
  };
}

/** Divides at everything that is no ASCII letter or digit; `stem` is for fields that are stemmed. */
export function plainAnalyzer(stem: (word: string) => string): AnalyzerFor {
  return (_language, { isTokenized, isStemmed }) => {
    const finish = (token: string): Bytes => {
      const lower = token.toLowerCase();
      return isTokenized && isStemmed ? stem(lower) : lower;
    };
    const pattern = isTokenized ? /[a-zA-Z0-9]+/g : /^.+$/gs;
    return {
      analyse: (text, take) => {
        for (const { 0: token, index } of text.matchAll(pattern)) take(finish(token), index, index + token.length);
      },
      words: (text) =>
        [...text.matchAll(pattern)].map(([token]) => ({ lower: token.toLowerCase(), term: finish(token) })),
    };
  };
}

/**
 * Documents found by looking at each one: all live ones, or those whose column
 * passes a test. Beside a cheaper clause they are only asked about its matches.
 */
import type { Bytes } from "../../../../kernel/bytes.ts";
import {
  type IndexReader,
  NO_DOCUMENT,
  type NumberColumn,
  type Spend,
  type WordColumn,
} from "../../index/index-reader.ts";
import type { NumberTest, WordTest } from "../clauses.ts";
import { ConstantCursor, PAUSED } from "./cursor.ts";

/** Documents that are looked at between two calls of `spend`. */
const STRIDE = 256;

export interface ScanOptions {
  readonly score: number;
  readonly index: IndexReader;
  readonly spend: Spend;
}

abstract class ScanCursor extends ConstantCursor {
  override readonly cost: number;
  protected readonly index: IndexReader;
  readonly #limit: number;
  /** No document between `document` and this one matches. */
  #passed = 0;
  readonly #spend: Spend;

  constructor({ score, index, spend }: ScanOptions) {
    super(score);
    this.index = index;
    this.cost = index.documentLimit;
    this.#limit = index.documentLimit;
    this.#spend = spend;
  }

  /** Whether a document below the limit matches; it may be dead. */
  protected abstract has(document: number): boolean;

  override next(): number {
    return this.document === NO_DOCUMENT ? NO_DOCUMENT : this.#from(this.document + 1);
  }

  override seek(target: number): number {
    return this.document >= target ? this.document : this.#from(target);
  }

  override accepts(document: number): boolean {
    if (this.document >= document) return this.document === document;
    const isMatch = this.has(document);
    if (isMatch) this.document = document;
    return isMatch;
  }

  #from(first: number): number {
    let begin = Math.max(first, this.#passed);
    while (begin < this.#limit) {
      const end = Math.min(this.#limit, begin + STRIDE);
      for (let document = begin; document < end; document += 1) {
        if (!this.has(document)) continue;
        this.#spend(document - begin + 1);
        this.document = document;
        return document;
      }
      const isOver = this.#spend(end - begin);
      begin = end;
      if (!isOver) continue;
      this.#passed = end;
      return PAUSED;
    }
    this.document = NO_DOCUMENT;
    return NO_DOCUMENT;
  }
}

/** Every live document. */
export class EveryCursor extends ScanCursor {
  override readonly matchCount: number;

  constructor(options: ScanOptions) {
    super(options);
    this.matchCount = options.index.documentCount;
  }

  protected override has(document: number): boolean {
    return this.index.isLive(document);
  }
}

export class NumberCursor extends ScanCursor {
  readonly #column: NumberColumn;
  readonly #test: (value: number | bigint) => boolean;

  constructor(column: NumberColumn, test: NumberTest, options: ScanOptions) {
    super(options);
    this.#column = column;
    this.#test = numberTestOf(test);
  }

  protected override has(document: number): boolean {
    const column = this.#column;
    const count = column.countOf(document);
    for (let at = 0; at < count; at += 1)
      if (this.#test(column.valueOf(document, at))) return this.index.isLive(document);
    return false;
  }
}

/** Numbers and bigints compare by value; equal ones are never of different kinds in one column. */
function numberTestOf(test: NumberTest): (value: number | bigint) => boolean {
  if (test.kind === "equals") {
    const [first] = test.values;
    if (test.values.length === 1) return (value) => value === first;
    const values = new Set(test.values);
    return (value) => values.has(value);
  }
  const { bound } = test;
  switch (test.comparison) {
    case "$gt":
      return (value) => value > bound;
    case "$gte":
      return (value) => value >= bound;
    case "$lt":
      return (value) => value < bound;
    case "$lte":
      return (value) => value <= bound;
    default: {
      const never: never = test.comparison;
      throw new Error(never);
    }
  }
}

export class WordCursor extends ScanCursor {
  readonly #column: WordColumn;
  readonly #test: (ordinal: number) => boolean;

  constructor(column: WordColumn, test: WordTest, options: ScanOptions) {
    super(options);
    this.#column = column;
    this.#test = ordinalTestOf(column, test);
  }

  protected override has(document: number): boolean {
    const column = this.#column;
    const count = column.countOf(document);
    for (let at = 0; at < count; at += 1)
      if (this.#test(column.ordinalOf(document, at))) return this.index.isLive(document);
    return false;
  }
}

/** Columns of up to this many words have the answer for each noted, 1 byte each. */
const NOTED_WORDS_MAX = 4_096;
const NOT_TESTED = 0;
const FAILED = 1;
const PASSED = 2;

function ordinalTestOf(column: WordColumn, test: WordTest): (ordinal: number) => boolean {
  if (test.kind === "equals") {
    const ordinals = new Set(test.words.map((word) => column.ordinalOfWord(word)));
    const [first] = ordinals;
    return ordinals.size === 1 ? (ordinal) => ordinal === first : (ordinal) => ordinals.has(ordinal);
  }
  const passes = wordTestOf(test);
  if (column.ordinalLimit > NOTED_WORDS_MAX) return (ordinal) => passes(column.wordOf(ordinal));
  const notes = new Uint8Array(column.ordinalLimit);
  return (ordinal) => {
    if (notes[ordinal] === NOT_TESTED) notes[ordinal] = passes(column.wordOf(ordinal)) ? PASSED : FAILED;
    return notes[ordinal] === PASSED;
  };
}

/** Words compare by their UTF-8 bytes, as byte strings do. */
function wordTestOf(test: Exclude<WordTest, { kind: "equals" }>): (word: Bytes) => boolean {
  if (test.kind === "below") {
    const { paths } = test;
    const [first = ""] = paths;
    if (paths.length === 1) return (word) => isAtOrBelow(word, first);
    const pathSet = new Set(paths);
    return (word) => pathsAbove(word).some((path) => pathSet.has(path));
  }
  const { bound } = test;
  switch (test.comparison) {
    case "$gt":
      return (word) => word > bound;
    case "$gte":
      return (word) => word >= bound;
    case "$lt":
      return (word) => word < bound;
    case "$lte":
      return (word) => word <= bound;
    default: {
      const never: never = test.comparison;
      throw new Error(never);
    }
  }
}

/** `/` is above every path. */
function isAtOrBelow(word: Bytes, path: Bytes): boolean {
  if (!word.startsWith(path)) return false;
  return word.length === path.length || path.endsWith("/") || word[path.length] === "/";
}

/** All paths that `isAtOrBelow` accepts for a word. */
function pathsAbove(word: Bytes): Bytes[] {
  const paths = [word];
  for (let at = word.indexOf("/"); at >= 0; at = word.indexOf("/", at + 1))
    paths.push(word.slice(0, at), word.slice(0, at + 1));
  return paths;
}

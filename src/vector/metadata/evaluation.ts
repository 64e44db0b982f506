/**
 * Finds the records that pass a filter, with columns if they are faster than
 * parsing.
 *
 * A condition is tested once for each distinct value of its field. In an AND, the
 * condition that probably the fewest records pass goes first, and the others only
 * test the remaining records. If few remain and a field has no column yet, they
 * are parsed instead of building one. An OR is the union of its parts.
 *
 * (1) The bits are correct for every record that has not changed after `position`
 *     of the log. A record that changes during the evaluation may have a wrong
 *     bit, but is in the log, which users of the bits follow.
 * (2) A chain of a column is never left half walked between two slices.
 */
import { assert } from "../../kernel/assert.ts";
import type { FieldPath } from "../filter/field-path.ts";
import type { Filter } from "../filter/filter.ts";
import type { Condition, Expression } from "../filter/parser.ts";
import { clearBit, countBits, lowestBit, wordCountOf } from "../search/bits.ts";
import type { Column } from "./column.ts";
import { COLUMNS_MAX, type ColumnSet } from "./column-set.ts";
import { addMarked, keepMarked } from "./marked-records.ts";
import type { MetadataStore } from "./metadata-store.ts";
import { deciderOf, equalIds, markSide, numberRange } from "./passing-values.ts";
import { Slice } from "./slice.ts";
import { MISSING } from "./value-dictionary.ts";

/** Work that can be interrupted at each `yield`. */
type Steps<Result> = Generator<undefined, Result, undefined>;

/** Values tested, or words of 32 records read, between two checks of the slice. */
const VALUES_AT_ONCE = 1_024;
const WORDS_AT_ONCE = 512;

/** The longest chains that are walked; for longer ones all records are read, in slices. */
const CHAIN_RECORDS_MAX = 32_768;
/** A chain jumps in memory: one link costs as much as reading this many records in order. */
const RECORDS_PER_LINK = 8;
/** The cost of testing a value, besides the work that the filter counts. */
const TEST_COST = 10;
/** One of this many records may be parsed for lack of a column. */
const RECORDS_PER_PARSED = 16;

interface AskedFields {
  readonly filter: Filter;
  readonly paths: readonly FieldPath[];
}

export class Evaluation {
  readonly #filter: Filter;
  readonly #paths: readonly FieldPath[];
  readonly #store: MetadataStore;
  readonly #columns: ColumnSet;
  readonly #steps: Steps<void>;
  #slice = new Slice();
  #words: Uint32Array;
  #position: number;
  /** The words that can have bits; later words are room to grow. */
  #wordCount: number;

  /** `paths` is the result of `pathsOf` for the filter. */
  constructor({ filter, paths }: AskedFields, store: MetadataStore, columns: ColumnSet) {
    this.#filter = filter;
    this.#paths = paths;
    this.#store = store;
    this.#columns = columns;
    this.#words = new Uint32Array(0);
    this.#wordCount = 0;
    this.#position = store.log.end;
    this.#steps = this.#evaluate();
  }

  /** Correct as (1) states after `step` has returned true. */
  get words(): Uint32Array {
    return this.#words;
  }

  get position(): number {
    return this.#position;
  }

  /** Returns true when done. */
  step(slice: Slice): boolean {
    this.#slice = slice;
    return this.#steps.next().done === true;
  }

  *#evaluate(): Steps<void> {
    const { expression } = this.#filter;
    if (expression === undefined) {
      this.#begin();
      this.#words.set(this.#store.present.subarray(0, this.#wordCount));
      return;
    }
    if (this.#paths.length > COLUMNS_MAX) {
      this.#begin();
      this.#words.set(this.#store.present.subarray(0, this.#wordCount));
      return yield* this.#restrictByParsing(this.#words);
    }
    if (expression.kind === "and" && (yield* this.#evaluateByPart(expression.parts))) return;
    const columns = yield* this.#prepare(this.#paths);
    this.#begin();
    yield* this.#produce(expression, columns, this.#words);
  }

  /** Narrows the records down by existing columns and parses the rest if they are few. Otherwise returns false. */
  *#evaluateByPart(parts: readonly Expression[]): Steps<boolean> {
    const lacking = this.#paths.filter((path) => !this.#columns.isReady(path));
    const ready = parts.filter((part) => canUseColumns(pathsOf(part), this.#columns));
    const [only] = ready;
    if (lacking.length === 0 || only === undefined) return false;
    const known: Expression = ready.length === 1 ? only : { kind: "and", parts: ready };
    const columns = yield* this.#prepare(pathsOf(known));
    this.#begin();
    yield* this.#produce(known, columns, this.#words);
    const count = countBits(this.#words);
    if (count * RECORDS_PER_PARSED > this.#store.limit) return false;
    if (count > 0 && !this.#columns.mayGoWithout(lacking, count)) return false;
    yield* this.#restrictByParsing(this.#words);
    return true;
  }

  /** The complete columns, up to date. */
  *#prepare(paths: readonly FieldPath[]): Steps<ReadonlyMap<string, Column>> {
    let columns = this.#columns.acquire(paths);
    while (!(this.#columns.build(columns, this.#slice) && this.#columns.follow(columns, this.#slice))) {
      yield;
      if (this.#columns.hasLost(columns)) columns = this.#columns.acquire(paths);
    }
    return new Map(columns.map((column) => [column.path.text, column]));
  }

  /** Notes the position from which changes are in the log. keeps (1) */
  #begin(): void {
    this.#position = this.#store.log.end;
    this.#wordCount = wordCountOf(this.#store.limit);
    this.#words = new Uint32Array(this.#wordCount + (this.#wordCount >>> 4));
  }

  /** Sets the bits of the records that pass, if no bits are set yet. */
  *#produce(expression: Expression, columns: ReadonlyMap<string, Column>, words: Uint32Array): Steps<void> {
    if (expression.kind !== "and") return yield* this.#add(expression, columns, words);
    const [first, ...others] = ordered(expression.parts, columns);
    if (first === undefined) return;
    yield* this.#produce(first, columns, words);
    for (const part of others) yield* this.#restrict(part, columns, words);
  }

  /** Sets the bits of the records that pass, in addition to those already set. */
  *#add(expression: Expression, columns: ReadonlyMap<string, Column>, words: Uint32Array): Steps<void> {
    switch (expression.kind) {
      case "condition":
        return yield* this.#addCondition(expression, columnOf(expression, columns), words);
      case "or":
        for (const part of expression.parts) yield* this.#add(part, columns, words);
        return;
      case "and": {
        const passing = new Uint32Array(words.length);
        yield* this.#produce(expression, columns, passing);
        for (let at = 0; at < passing.length; at += 1) words[at] = (words[at] as number) | (passing[at] as number);
        this.#slice.left -= passing.length;
        return;
      }
      default: {
        const never: never = expression;
        return never;
      }
    }
  }

  /** Clears the bits of the records that do not pass. */
  *#restrict(expression: Expression, columns: ReadonlyMap<string, Column>, words: Uint32Array): Steps<void> {
    switch (expression.kind) {
      case "condition":
        return yield* this.#restrictCondition(expression, columnOf(expression, columns), words);
      case "and":
        for (const part of ordered(expression.parts, columns)) yield* this.#restrict(part, columns, words);
        return;
      case "or": {
        const rest = words.slice();
        words.fill(0);
        for (const part of expression.parts) {
          const passing = rest.slice();
          yield* this.#restrict(part, columns, passing);
          for (let at = 0; at < rest.length; at += 1) {
            words[at] = (words[at] as number) | (passing[at] as number);
            rest[at] = (rest[at] as number) & ~(passing[at] as number);
          }
          this.#slice.left -= 2 * rest.length;
        }
        return;
      }
      default: {
        const never: never = expression;
        return never;
      }
    }
  }

  *#addCondition(condition: Condition, column: Column, words: Uint32Array): Steps<void> {
    if (this.#slice.left <= 0) yield;
    const equal = equalIds(condition, column.dictionary);
    if (equal !== undefined) {
      const count = countOf(equal, column);
      if (count <= CHAIN_RECORDS_MAX && count * RECORDS_PER_LINK <= this.#store.limit) {
        // keeps (2)
        for (const id of equal) column.addRecords(id, words);
        this.#slice.left -= count * RECORDS_PER_LINK;
        return;
      }
    }
    const marks = yield* this.#marksOf(condition, column);
    for (let start = 0; start < this.#wordCount; start += WORDS_AT_ONCE) {
      if (this.#slice.left <= 0) yield;
      const end = Math.min(this.#wordCount, start + WORDS_AT_ONCE);
      column.reserve(end << 5);
      addMarked(words, { ids: column.ids, marks, start, end });
      this.#slice.left -= (end - start) << 5;
    }
  }

  *#restrictCondition(condition: Condition, column: Column, words: Uint32Array): Steps<void> {
    const count = countBits(words);
    this.#slice.left -= words.length;
    const { dictionary } = column;
    const isEach = count < dictionary.limit;
    const decide = isEach ? deciderOf(condition, dictionary) : undefined;
    const marks = isEach ? undefined : yield* this.#marksOf(condition, column);
    for (let start = 0; start < this.#wordCount; start += WORDS_AT_ONCE) {
      if (this.#slice.left <= 0) yield;
      const end = Math.min(this.#wordCount, start + WORDS_AT_ONCE);
      column.reserve(end << 5);
      if (marks !== undefined) this.#slice.left -= keepMarked(words, { ids: column.ids, marks, start, end });
      if (decide === undefined) continue;
      const { ids } = column;
      for (let at = start; at < end; at += 1) {
        for (let word = words[at] as number; word !== 0; word &= word - 1) {
          const record = (at << 5) + lowestBit(word);
          if (!decide(ids[record] as number)) clearBit(words, record);
          this.#slice.left -= TEST_COST;
          this.#slice.takeFilterWork();
          if (this.#slice.left <= 0) yield;
        }
      }
    }
  }

  /** 1 for each id whose value passes. Ids assigned later are beyond its end, or belong to changed records. */
  *#marksOf(condition: Condition, { dictionary }: Column): Steps<Uint8Array> {
    const marks = new Uint8Array(dictionary.limit);
    const equal = equalIds(condition, dictionary);
    if (equal !== undefined) {
      for (const id of equal) marks[id] = 1;
      return marks;
    }
    const { operator } = condition;
    if (operator.operand === "none") {
      // The condition only tests whether the field exists.
      const [passes, missing] = [operator.test([])(null), operator.whenMissing];
      marks.fill(passes ? 1 : 0, MISSING + 1);
      marks[MISSING] = missing ? 1 : 0;
      return marks;
    }
    const range = dictionary.hasLargeNumbers ? undefined : numberRange(condition);
    const decide = deciderOf(condition, dictionary);
    for (let start = 0; start < marks.length; start += VALUES_AT_ONCE) {
      if (this.#slice.left <= 0) yield;
      const end = Math.min(marks.length, start + VALUES_AT_ONCE);
      if (range !== undefined) {
        markSide(marks, { numbers: dictionary.numbers, side: range.side, bound: range.bound, start, end });
        this.#slice.left -= end - start;
        continue;
      }
      for (let id = start; id < end; id += 1) {
        marks[id] = decide(id) ? 1 : 0;
        this.#slice.left -= TEST_COST;
        this.#slice.takeFilterWork();
        // A single long text can fill a slice.
        if (this.#slice.left <= 0) yield;
      }
    }
    return marks;
  }

  /** Clears the bits of the records whose current texts do not pass the whole filter. */
  *#restrictByParsing(words: Uint32Array): Steps<void> {
    for (let at = 0; at < this.#wordCount; at += 1) {
      for (let word = words[at] as number; word !== 0; word &= word - 1) {
        const record = (at << 5) + lowestBit(word);
        this.#slice.takeParsing(this.#store.textBytesOf(record));
        if (!this.#filter.matches(this.#store.parsed(record))) clearBit(words, record);
        this.#slice.takeFilterWork();
        if (this.#slice.left <= 0) yield;
      }
    }
  }
}

function countOf(ids: readonly number[], { counts }: Column): number {
  let count = 0;
  for (const id of ids) count += counts[id] ?? 0;
  return count;
}

/** The parts of an AND, in the order of evaluation. */
function ordered(parts: readonly Expression[], columns: ReadonlyMap<string, Column>): readonly Expression[] {
  return parts
    .map((part) => ({ part, price: priceOf(part, columns) }))
    .sort((one, other) => one.price - other.price)
    .map(({ part }) => part);
}

/** The estimated cost: records that pass (exact for equality, else half of the possible ones) and values to test. */
function priceOf(expression: Expression, columns: ReadonlyMap<string, Column>): number {
  switch (expression.kind) {
    case "and":
      return Math.min(...expression.parts.map((part) => priceOf(part, columns)));
    case "or":
      return expression.parts.reduce((sum, part) => sum + priceOf(part, columns), 0);
    case "condition": {
      const { operator } = expression;
      const column = columnOf(expression, columns);
      const equal = equalIds(expression, column.dictionary);
      if (equal !== undefined) return countOf(equal, column);
      const missing = column.counts[MISSING] as number;
      if (operator.operand === "none") return operator.whenMissing ? missing : column.recordCount - missing;
      const tested = numberRange(expression) === undefined ? column.dictionary.limit : 0;
      return (column.recordCount - missing) / 2 + tested;
    }
    default: {
      const never: never = expression;
      return never;
    }
  }
}

function columnOf({ path }: Condition, columns: ReadonlyMap<string, Column>): Column {
  const column = columns.get(path.text);
  assert(column !== undefined, "every field of the filter has a column");
  return column;
}

/** Each field of a filter once. */
export function pathsOf(expression: Expression | undefined): readonly FieldPath[] {
  const paths = new Map<string, FieldPath>();
  if (expression !== undefined) collectPaths(expression, paths);
  return [...paths.values()];
}

/** Whether all these fields have columns, so that matching all records is cheap. */
export function canUseColumns(paths: readonly FieldPath[], columns: ColumnSet): boolean {
  return paths.length <= COLUMNS_MAX && paths.every((path) => columns.isReady(path));
}

function collectPaths(expression: Expression, paths: Map<string, FieldPath>): void {
  if (expression.kind === "condition") paths.set(expression.path.text, expression.path);
  else for (const part of expression.parts) collectPaths(part, paths);
}

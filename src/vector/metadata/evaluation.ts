/**
 * Which records pass a filter, from columns where they are quicker than parsing.
 *
 * A condition is tested once for each distinct value of its field. Of an AND the
 * condition that the fewest records seem to pass goes first, and the others only
 * look at what is left; when that is little, and a field has no column yet, the
 * few records are parsed instead of building one. An OR is the union of its parts.
 *
 * (1) The bits are right for every record that has not changed after `position`
 *     of the log. What changes while this runs may leave a wrong bit, and is in
 *     the log: whoever uses the bits follows it.
 * (2) No chain of a column is left half walked between two slices.
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
import { deciderOf, equalIds, markSide } from "./passing-values.ts";
import { Slice } from "./slice.ts";
import { MISSING } from "./value-dictionary.ts";

/** Work that may be interrupted at each `yield`. */
type Steps<Result> = Generator<undefined, Result, undefined>;

/** Values tested, and words of 32 records looked at, between two looks at the slice. */
const VALUES_AT_ONCE = 1_024;
const WORDS_AT_ONCE = 512;

/** Records of which the chain is walked at most; beyond it all records are looked at, in slices. */
const CHAIN_RECORDS_MAX = 32_768;
/** A chain jumps about in memory: looking at so many records in order costs as much as one of its links. */
const RECORDS_PER_LINK = 8;
/** Testing a value, beside what the filter itself counts. */
const TEST_COST = 10;
/** Of so many records one may be parsed for want of a column. */
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
  /** Words that can have a bit; those after them are room to grow. */
  #wordCount: number;

  /** `paths` is what `pathsOf` finds in the filter. */
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

  /** Right as (1) says once `step` has returned true. */
  get words(): Uint32Array {
    return this.#words;
  }

  get position(): number {
    return this.#position;
  }

  /** True: done. */
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

  /** What has a column narrows the records down to so few that the rest is decided by parsing them. False: it does not. */
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

  /** Complete columns as of now. */
  *#prepare(paths: readonly FieldPath[]): Steps<ReadonlyMap<string, Column>> {
    let columns = this.#columns.acquire(paths);
    while (!(this.#columns.build(columns, this.#slice) && this.#columns.follow(columns, this.#slice))) {
      yield;
      if (this.#columns.hasLost(columns)) columns = this.#columns.acquire(paths);
    }
    return new Map(columns.map((column) => [column.path.text, column]));
  }

  /** From here on changes are found in the log. keeps (1) */
  #begin(): void {
    this.#position = this.#store.log.end;
    this.#wordCount = wordCountOf(this.#store.limit);
    this.#words = new Uint32Array(this.#wordCount + (this.#wordCount >>> 4));
  }

  /** Sets the bits of the records that pass, where none is set yet. */
  *#produce(expression: Expression, columns: ReadonlyMap<string, Column>, words: Uint32Array): Steps<void> {
    if (expression.kind !== "and") return yield* this.#add(expression, columns, words);
    const [first, ...others] = ordered(expression.parts, columns);
    if (first === undefined) return;
    yield* this.#produce(first, columns, words);
    for (const part of others) yield* this.#restrict(part, columns, words);
  }

  /** Sets the bits of the records that pass, beside those that are set. */
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

  /** 1 for each id whose value passes. Ids that are given out later are beyond its end, or belong to changed records. */
  *#marksOf(condition: Condition, { dictionary }: Column): Steps<Uint8Array> {
    const marks = new Uint8Array(dictionary.limit);
    const equal = equalIds(condition, dictionary);
    if (equal !== undefined) {
      for (const id of equal) marks[id] = 1;
      return marks;
    }
    const { operator, operands } = condition;
    if (operator.operand === "none") {
      // It asks for nothing of the field but that it is there.
      const [passes, missing] = [operator.test([])(null), operator.whenMissing];
      marks.fill(passes ? 1 : 0, MISSING + 1);
      marks[MISSING] = missing ? 1 : 0;
      return marks;
    }
    const [bound] = operands;
    const decide = deciderOf(condition, dictionary);
    for (let start = 0; start < marks.length; start += VALUES_AT_ONCE) {
      if (this.#slice.left <= 0) yield;
      const end = Math.min(marks.length, start + VALUES_AT_ONCE);
      if (operator.side !== undefined && typeof bound === "number" && !dictionary.hasLargeNumbers) {
        markSide(marks, { numbers: dictionary.numbers, side: operator.side, bound, start, end });
        this.#slice.left -= end - start;
        continue;
      }
      for (let id = start; id < end; id += 1) {
        marks[id] = decide(id) ? 1 : 0;
        this.#slice.left -= TEST_COST;
        this.#slice.takeFilterWork();
        // One long text alone can be a slice.
        if (this.#slice.left <= 0) yield;
      }
    }
    return marks;
  }

  /** Clears the bits of the records that do not pass the whole filter, as their texts are now. */
  *#restrictByParsing(words: Uint32Array): Steps<void> {
    for (let at = 0; at < this.#wordCount; at += 1) {
      for (let word = words[at] as number; word !== 0; word &= word - 1) {
        const record = (at << 5) + lowestBit(word);
        this.#slice.takeParsing(this.#store.text(record));
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

/** The parts of an AND, the one to begin with first. */
function ordered(parts: readonly Expression[], columns: ReadonlyMap<string, Column>): readonly Expression[] {
  return parts
    .map((part) => ({ part, price: priceOf(part, columns) }))
    .sort((one, other) => one.price - other.price)
    .map(({ part }) => part);
}

/** How many records seem to pass: known for equality, half of those that could for the rest. And values to be tested. */
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
      const tested = operator.side === undefined ? column.dictionary.limit : 0;
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

/** Whether there are columns for all these fields, so that deciding all records costs little. */
export function canUseColumns(paths: readonly FieldPath[], columns: ColumnSet): boolean {
  return paths.length <= COLUMNS_MAX && paths.every((path) => columns.isReady(path));
}

function collectPaths(expression: Expression, paths: Map<string, FieldPath>): void {
  if (expression.kind === "condition") paths.set(expression.path.text, expression.path);
  else for (const part of expression.parts) collectPaths(part, paths);
}

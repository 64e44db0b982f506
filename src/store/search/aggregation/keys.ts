/** The keys of values: small numbers, by which documents are put into cells. */
import type { Bytes } from "../../../kernel/bytes.ts";
import { valuesTooMany } from "../aggregation-errors.ts";
import type { InSlices, Spend } from "../slices.ts";
import { inChunks } from "./columns.ts";
import { Cells } from "./ordinals.ts";
import type { Group, Run } from "./plan.ts";

/** The values of documents as keys. */
export interface Keys {
  readonly countOf: (document: number) => number;
  /** The key of a value, or `NO_KEY` for one that is in no bucket. */
  readonly keyOf: (document: number, at: number) => number;
  /** The key of documents without a value, or `NO_KEY`. */
  readonly missing: number;
  /** Keys are below it; undefined: known when all documents were read. */
  readonly limit: number | undefined;
  /** The key of each document plus 1, 0 without one. Undefined if documents may have several. */
  readonly singles?: Uint32Array | undefined;
}

export const NO_KEY = -1;

/** Pairs of one aggregation: 128 MB. */
export const PAIRS_MAX = 2 ** 24;

/** The documents that were counted, each with its cell: a document is there once for each cell that it is in. */
export class Pairs {
  #documents: Uint32Array;
  #cells: Uint32Array;
  #length: number;
  /** True if the documents are the array of the group, which must not be changed. */
  #isShared = true;

  /** The first `length` documents of a group, each with one cell. */
  constructor(documents: Uint32Array, cells: Uint32Array, length: number) {
    this.#documents = documents;
    this.#cells = cells;
    this.#length = length;
  }

  get documents(): Uint32Array {
    return this.#documents.subarray(0, this.#length);
  }

  get cells(): Uint32Array {
    return this.#cells.subarray(0, this.#length);
  }

  push(document: number, cell: number): void {
    if (this.#isShared) this.#own();
    if (this.#length === this.#cells.length) this.#grow();
    this.#documents[this.#length] = document;
    this.#cells[this.#length] = cell;
    this.#length += 1;
  }

  #grow(): void {
    if (this.#length >= PAIRS_MAX) throw valuesTooMany(PAIRS_MAX);
    const capacity = Math.max(64, 2 * this.#length);
    for (const name of ["documents", "cells"] as const) {
      const larger = new Uint32Array(capacity);
      larger.set(this[name]);
      if (name === "documents") this.#documents = larger;
      else this.#cells = larger;
    }
  }

  #own(): void {
    this.#documents = this.#documents.slice();
    this.#isShared = false;
  }

  /** Keeps the pairs whose cell has an owner, and replaces the cell by it: `owners` has each owner plus one, or 0. */
  *keep(owners: Uint32Array, spend: Spend): InSlices<void> {
    if (this.#isShared && this.#length > 0) this.#own();
    const [documents, cells] = [this.#documents, this.#cells];
    let length = 0;
    yield* inChunks(this.#length, spend, (start, end) => {
      for (let at = start; at < end; at += 1) {
        const owner = owners[cells[at] as number] as number;
        if (owner === 0) continue;
        documents[length] = documents[at] as number;
        cells[length] = owner - 1;
        length += 1;
      }
    });
    this.#length = length;
  }
}

export interface Collected {
  readonly cells: Cells;
  readonly pairs: Pairs;
}

/** Puts the documents of a group into cells. With `keepsPairs`, the pairs are for sub-aggregations. */
export function* collectCells(
  group: Group,
  { spend }: Run,
  { keys, keepsPairs }: { keys: Keys; keepsPairs: boolean },
): InSlices<Collected> {
  const { documents, owners, ownerCount } = group;
  const cells = new Cells(ownerCount, { keyLimit: keys.limit, spend });
  const { singles, missing } = keys;
  if (singles !== undefined) {
    const pairs = yield* collectSingles(group, spend, { cells, singles, missing, keepsPairs });
    return { cells, pairs };
  }
  const pairs = new Pairs(documents, new Uint32Array(keepsPairs ? documents.length : 0), 0);
  const add = (place: number, document: number, key: number): void => {
    if (key === NO_KEY) return;
    const cell = cells.add(place, owners === undefined ? 0 : (owners[place] as number), key);
    if (cell >= 0 && keepsPairs) pairs.push(document, cell);
  };
  yield* inChunks(documents.length, spend, (start, end) => {
    for (let place = start; place < end; place += 1) {
      const document = documents[place] as number;
      const valueCount = keys.countOf(document);
      for (let at = 0; at < valueCount; at += 1) add(place, document, keys.keyOf(document, at));
      if (valueCount === 0) add(place, document, missing);
      else if (valueCount > 1) spend(valueCount);
    }
  });
  return { cells, pairs };
}

interface Singles {
  readonly cells: Cells;
  readonly singles: Uint32Array;
  readonly missing: number;
  readonly keepsPairs: boolean;
}

/** The documents of a group, which have one key each, or none. */
function* collectSingles(
  { documents, owners }: Group,
  spend: Spend,
  { cells, singles, missing, keepsPairs }: Singles,
): InSlices<Pairs> {
  const cellOf = new Uint32Array(keepsPairs ? documents.length : 0);
  let { count, counts } = cells;
  /** Undefined until a document is in no cell: then those before it, and what follows. */
  let some: Pairs | undefined;
  yield* inChunks(documents.length, spend, (start, end) => {
    for (let place = start; place < end; place += 1) {
      const document = documents[place] as number;
      const single = singles[document] as number;
      const key = single === 0 ? missing : single - 1;
      if (key === NO_KEY) {
        if (keepsPairs) some ??= new Pairs(documents, cellOf, place);
        continue;
      }
      const cell = cells.cellOf(owners === undefined ? 0 : (owners[place] as number), key);
      if (cell >= count) ({ count, counts } = cells);
      counts[cell] = (counts[cell] as number) + 1;
      if (some !== undefined) some.push(document, cell);
      else if (keepsPairs) cellOf[place] = cell;
    }
  });
  return some ?? new Pairs(documents, cellOf, cellOf.length);
}

/** The words of a KEYWORD by key. `missing` is a word of its own if no document has it. */
export interface WordKeys extends Keys {
  readonly wordOf: (key: number) => Bytes;
}

/** The keys of a KEYWORD are its ordinals. */
export function keysOfWords(run: Run, number: number, missing: Bytes | undefined): WordKeys {
  const column = run.index.column(number);
  if (column.kind !== "words") throw new TypeError("the field has no column of words");
  const { ordinalLimit } = column;
  return {
    countOf: (document) => column.countOf(document),
    keyOf: (document, at) => column.ordinalOf(document, at),
    missing: missing === undefined ? NO_KEY : (column.ordinalOfWord(missing) ?? ordinalLimit),
    limit: ordinalLimit + 1,
    singles: column.singles,
    wordOf: (key) => (key === ordinalLimit ? (missing as Bytes) : column.wordOf(key)),
  };
}

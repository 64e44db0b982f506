/** The columns of fields, as aggregations read them. */
import { assert } from "../../../kernel/assert.ts";
import type { NumberColumn, Spend, WordColumn } from "../index/index-reader.ts";
import type { InSlices } from "../slices.ts";
import type { Run } from "./plan.ts";

export function numbersOf({ index }: Run, field: number): NumberColumn {
  const column = index.column(field);
  assert(column.kind === "numbers", "the field has a column of numbers");
  return column;
}

export function wordsOf({ index }: Run, field: number): WordColumn {
  const column = index.column(field);
  assert(column.kind === "words", "the field has a column of words");
  return column;
}

/** Documents between two calls of `spend`. */
const CHUNK_DOCUMENTS = 4_096;
/** A document, with a call of the column for its values. */
const DOCUMENT_STEPS = 2;

/** Visits the places 0 … count-1 in chunks, and spends the steps of each chunk before it. Yields between chunks. */
export function* inChunks(count: number, spend: Spend, visit: (start: number, end: number) => void): InSlices<void> {
  for (let start = 0; start < count; start += CHUNK_DOCUMENTS) {
    const end = Math.min(start + CHUNK_DOCUMENTS, count);
    if (spend(DOCUMENT_STEPS * (end - start))) yield;
    visit(start, end);
  }
}

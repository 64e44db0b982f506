/** All that an index holds, as its readers show it, in a form that can be compared. */
import assert from "node:assert/strict";
import type { Bytes } from "../../../src/kernel/bytes.ts";
import { type IndexReader, NO_DOCUMENT } from "../../../src/store/search/index/index-reader.ts";
import { atOnce } from "../../../src/store/search/slices.ts";

const spend = (): boolean => false;

export interface IndexDigest {
  /** In the order of the documents. */
  readonly keys: readonly Bytes[];
  /** A line for each posting, length and value, by the key of its document; in order. */
  readonly lines: readonly string[];
}

export function digestOf(index: IndexReader): IndexDigest {
  const numbers = Array.from({ length: index.documentLimit }, (_, number) => number).filter(index.isLive.bind(index));
  const keys = numbers.map((number) => index.keyOf(number));
  const lines = [`${index.documentCount} documents`];
  for (const [field, { name, type }] of index.definition.fields.entries()) {
    if (type === "TEXT") {
      const text = index.text(field);
      lines.push(`${name} has ${text.tokenCount} tokens`);
      for (const number of numbers) lines.push(`${name} of ${index.keyOf(number)} has ${text.lengthOf(number)}`);
      for (const term of atOnce(text.termsWithPrefix("", { limit: Number.POSITIVE_INFINITY, spend }))) {
        const token = text.tokenOf(term);
        lines.push(`${name} ${token} is in ${text.documentFrequency(term)}, known: ${text.term(token) === term}`);
        const postings = text.postings(term);
        for (let number = postings.next(); number !== NO_DOCUMENT; number = postings.next()) {
          const { last, maxFrequency, minLength } = postings.boundsAt(number);
          const isWithin = last >= number && maxFrequency >= postings.frequency && minLength <= text.lengthOf(number);
          assert.ok(isWithin, `the bounds of ${token} at ${number}`);
          const positions = [...postings.positions().subarray(0, postings.frequency)];
          lines.push(`${name} ${token} in ${index.keyOf(number)} at ${positions}`);
        }
      }
      continue;
    }
    const column = index.column(field);
    for (const number of numbers) {
      const values = Array.from({ length: column.countOf(number) }, (_, at) => {
        if (column.kind === "words") return column.wordOf(column.ordinalOf(number, at));
        const value = column.valueOf(number, at);
        return Object.is(value, -0) ? "-0" : `${value} ${typeof value}`;
      });
      lines.push(`${name} of ${index.keyOf(number)}: ${values.join(" | ")}`);
    }
  }
  return { keys, lines: lines.sort() };
}

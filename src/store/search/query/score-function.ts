/** SCOREFUNC: scores from the numbers of documents, alone or together with those of the filter. */
import type { Column, IndexReader } from "../index/index-reader.ts";
import type { Modifier, ScoreFunction } from "./contract.ts";

/** What a modifier makes of a value; not finite where it is not defined. */
export const modifiers: Readonly<Record<Modifier, (value: number) => number>> = {
  NONE: (value) => value,
  LOG: (value) => Math.log10(value),
  LOG1P: (value) => Math.log10(1 + value),
  LOG2P: (value) => Math.log10(2 + value),
  LN: (value) => Math.log(value),
  LN1P: (value) => Math.log(1 + value),
  LN2P: (value) => Math.log(2 + value),
  SQUARE: (value) => value * value,
  SQRT: (value) => Math.sqrt(value),
  RECIPROCAL: (value) => 1 / value,
};

/** The score of a document, from that of the filter. */
export type Rescore = (document: number, score: number) => number;

export function rescoreOf(index: IndexReader, { fields, scoreMode, combineMode }: ScoreFunction): Rescore {
  const parts = fields.map(({ field, modifier, factor, missing }) => {
    const modify = modifiers[modifier];
    const ofMissing = modify(missing);
    return {
      column: index.column(field),
      modify,
      factor,
      fallback: bounded(factor * (Number.isFinite(ofMissing) ? ofMissing : missing)),
    };
  });
  const combinedOf = (document: number): number => {
    let combined = combineMode === "SUM" ? 0 : 1;
    for (const { column, modify, factor, fallback } of parts) {
      const value = firstNumberOf(column, document);
      const modified = value === undefined ? Number.NaN : modify(value);
      const part = Number.isFinite(modified) ? bounded(factor * modified) : fallback;
      combined = bounded(combineMode === "SUM" ? combined + part : combined * part);
    }
    return combined;
  };
  switch (scoreMode) {
    case "REPLACE":
      return (document) => combinedOf(document);
    case "SUM":
      return (document, score) => score + combinedOf(document);
    case "MULTIPLY":
      return (document, score) => bounded(score * combinedOf(document));
    default: {
      const never: never = scoreMode;
      throw new Error(never);
    }
  }
}

/** Products of finite numbers stay finite, so that no score becomes NaN. */
function bounded(value: number): number {
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));
}

/** Of several values, the first one in the document counts. */
function firstNumberOf(column: Column, document: number): number | undefined {
  if (column.kind !== "numbers" || column.countOf(document) === 0) return undefined;
  return Number(column.valueOf(document, 0));
}

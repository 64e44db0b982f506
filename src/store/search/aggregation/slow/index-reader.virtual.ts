/** An index in plain arrays, for tests of aggregations: documents are rows, and columns read them. */
import type { Bytes } from "../../../../kernel/bytes.ts";
import type { FieldType, FieldValue, IndexDefinition, SearchDocument, SearchField } from "../../definition.ts";
import type { Column, IndexReader } from "../../index/index-reader.ts";

/** A field of a test: FAST wherever the type has it. */
export function fieldOf(name: Bytes, type: FieldType, isFast = true): SearchField {
  return { name, type, isTokenized: true, isStemmed: true, isFast, path: undefined };
}

export function definitionOf(fields: readonly SearchField[]): IndexDefinition {
  return { dataType: "JSON", prefixes: ["d:"], language: "english", fields };
}

/** An index of these documents. `undefined` is a number without a document. */
export function indexOf(definition: IndexDefinition, documents: readonly (SearchDocument | undefined)[]): IndexReader {
  const columns = definition.fields.map(({ type }, field) => {
    const valuesOf = (document: number): readonly FieldValue[] => documents[document]?.[field] ?? [];
    return type === "KEYWORD" || type === "FACET"
      ? wordColumn(documents.length, valuesOf)
      : numberColumn(documents.length, valuesOf);
  });
  return {
    definition,
    documentCount: documents.filter((document) => document !== undefined).length,
    documentLimit: documents.length,
    isLive: (document) => documents[document] !== undefined,
    keyOf: (document) => `d:${document}`,
    text: () => {
      throw new Error("aggregations read no text");
    },
    column: (field) => columns[field] as Column,
  };
}

type ValuesOf = (document: number) => readonly FieldValue[];

function hasSeveral(limit: number, valuesOf: ValuesOf): boolean {
  return Array.from({ length: limit }, (_, document) => valuesOf(document).length).some((count) => count > 1);
}

function numberColumn(limit: number, valuesOf: ValuesOf): Column {
  const all = Array.from({ length: limit }, (_, document) => valuesOf(document)).flat();
  return {
    kind: "numbers",
    hasBigints: all.some((value) => typeof value === "bigint"),
    singles:
      hasSeveral(limit, valuesOf) || all.some((value) => typeof value === "bigint")
        ? undefined
        : Float64Array.from({ length: limit }, (_, document) => Number(valuesOf(document)[0] ?? Number.NaN)),
    countOf: (document) => valuesOf(document).length,
    valueOf: (document, at) => valuesOf(document)[at] as number | bigint,
  };
}

function wordColumn(limit: number, valuesOf: ValuesOf): Column {
  // One word that no document has, as a column that documents were removed from.
  const words = [
    ...new Set(["removed", ...Array.from({ length: limit }, (_, document) => valuesOf(document)).flat()]),
  ] as Bytes[];
  const ordinals = new Map(words.map((word, ordinal) => [word, ordinal]));
  return {
    kind: "words",
    ordinalLimit: words.length,
    ordinalOfWord: (word) => ordinals.get(word),
    wordOf: (ordinal) => words[ordinal] as Bytes,
    singles: hasSeveral(limit, valuesOf)
      ? undefined
      : Uint32Array.from({ length: limit }, (_, document) => (ordinals.get(valuesOf(document)[0] as Bytes) ?? -1) + 1),
    countOf: (document) => valuesOf(document).length,
    ordinalOf: (document, at) => ordinals.get(valuesOf(document)[at] as Bytes) as number,
  };
}

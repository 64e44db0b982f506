/** What an index is: a value of the keyspace, which never changes after SEARCH.CREATE. */
import type { Bytes } from "../../kernel/bytes.ts";

/** Which type of key holds the documents of an index. */
export type DataType = "HASH" | "JSON" | "STRING";

export type FieldType = "TEXT" | "KEYWORD" | "U64" | "I64" | "F64" | "BOOL" | "DATE" | "FACET";

/** A field of an index. Its place in `IndexDefinition.fields` is its number. */
export interface SearchField {
  /** UTF-8; filters, orders and aggregations name the field by it. */
  readonly name: Bytes;
  readonly type: FieldType;
  /** Whether a TEXT is divided into words; false with NOTOKENIZE. */
  readonly isTokenized: boolean;
  /** Whether the words of a TEXT are reduced to their stems; false with NOSTEM. */
  readonly isStemmed: boolean;
  /** Whether FAST was given. KEYWORD can be sorted and aggregated without it. */
  readonly isFast: boolean;
  /** Where documents have the value, if that is not the name: `FROM`. */
  readonly path: Bytes | undefined;
}

export interface IndexDefinition {
  readonly dataType: DataType;
  /** Keys that begin with one of them are documents. None begins with another one. */
  readonly prefixes: readonly Bytes[];
  readonly language: Language;
  readonly fields: readonly SearchField[];
}

/** The names of LANGUAGE, in the order of the documentation. */
export const languages = [
  "english",
  "arabic",
  "danish",
  "dutch",
  "finnish",
  "french",
  "german",
  "greek",
  "hungarian",
  "italian",
  "norwegian",
  "portuguese",
  "romanian",
  "russian",
  "spanish",
  "swedish",
  "tamil",
  "turkish",
] as const;

export type Language = (typeof languages)[number];

/**
 * A value that a document has in a field, by the type of the field:
 *
 *     TEXT, KEYWORD, FACET   Bytes (UTF-8)
 *     U64, I64               a number, or a bigint beyond ±(2^53 - 1)
 *     F64                    a number, finite
 *     BOOL                   0 or 1
 *     DATE                   ms since 1970, as a number
 */
export type FieldValue = Bytes | number | bigint;

/**
 * What an index takes of one key: by the number of the field, the values in the order of the document, or undefined.
 * Most fields have one value; arrays of a document give several.
 */
export type SearchDocument = readonly (readonly FieldValue[] | undefined)[];

/** Whether a field has a column that orders and aggregations may use. */
export function isSortable({ type, isFast }: SearchField): boolean {
  return type === "KEYWORD" || (isFast && type !== "TEXT" && type !== "FACET");
}

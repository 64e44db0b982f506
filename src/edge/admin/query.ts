/**
 * Parameters in the query of a route of the admin port, as rows: the route, its
 * OpenAPI entry and the reader of the query use the same row. An unknown, repeated
 * or invalid parameter is refused by name.
 */
import { adminParameterInvalid, adminParameterRepeated, adminParameterUnknown } from "../errors.ts";
import { integer, type Schema, text, words } from "../openapi/schema.ts";

export interface QueryParameter<Value = unknown> {
  /** One sentence without a full stop. */
  readonly meaning: string;
  readonly schema: Schema;
  /** Reads its text; undefined: it is not a value of it. */
  readonly read: (given: string) => Value | undefined;
  /** Completes "is not …" in a refusal. */
  readonly expected: string;
}

export type QueryRows = Readonly<Record<string, QueryParameter>>;

/** The values of the parameters that a query has. */
export type QueryValues<Rows extends QueryRows> = {
  readonly [Name in keyof Rows]?: Rows[Name] extends QueryParameter<infer Value> ? Value : never;
};

/** `query`: as written, without the `?`. Throws a `RequestFailure`. */
export function readQuery<Rows extends QueryRows>(rows: Rows, query: string): QueryValues<Rows> {
  const values = new Map<string, unknown>();
  for (const [name, given] of new URLSearchParams(query)) {
    const row = Object.hasOwn(rows, name) ? rows[name] : undefined;
    if (row === undefined) throw adminParameterUnknown(name, Object.keys(rows));
    if (values.has(name)) throw adminParameterRepeated(name);
    const value = row.read(given);
    if (value === undefined) throw adminParameterInvalid(name, given, row.expected);
    values.set(name, value);
  }
  // Each value is from the row of its name.
  return Object.fromEntries(values) as QueryValues<Rows>;
}

/** A text that is not empty. */
export function textParameter(meaning: string): QueryParameter<string> {
  return { meaning, schema: text, expected: "a text with a character", read: (given) => given || undefined };
}

export function wordParameter<const Word extends string>(meaning: string, all: readonly Word[]): QueryParameter<Word> {
  return {
    meaning,
    schema: words(...all),
    expected: `one of ${all.join(", ")}`,
    read: (given) => all.find((each) => each === given),
  };
}

/** A whole number from 1 to `max`. */
export function countParameter(meaning: string, { max }: { readonly max: number }): QueryParameter<number> {
  return {
    meaning,
    schema: { ...integer, minimum: 1, maximum: max },
    expected: `a whole number from 1 to ${max}`,
    read: (given) =>
      /^\d{1,9}$/.test(given) && Number(given) >= 1 && Number(given) <= max ? Number(given) : undefined,
  };
}

const MOMENT = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** A moment in Unix ms, or as RFC 3339. */
export function momentParameter(meaning: string): QueryParameter<number> {
  return {
    meaning,
    schema: text,
    expected: "a moment: write it as 2026-01-31T18:00:00Z, or in milliseconds since 1970",
    read(given) {
      const ms = /^\d{1,15}$/.test(given) ? Number(given) : MOMENT.test(given) ? Date.parse(given.toUpperCase()) : NaN;
      return Number.isSafeInteger(ms) ? ms : undefined;
    },
  };
}

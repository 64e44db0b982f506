/**
 * The fields of the configuration file, one row each: meaning, allowed values
 * and reader. The reader of the file, the JSON Schema
 * (`config.schema.json`), the reference and the types are all
 * generated from these rows.
 *
 * (1) A row reads its own field and nothing else. Rules about several fields,
 *     or about this machine, are in the reader of the object.
 * (2) A schema accepts every value that its row reads, except spellings that
 *     nobody writes (a text for a number in a list of one). It may accept more.
 */
import type { Schema } from "../../edge/openapi/schema.ts";
import { at, type FieldReader, type Fields } from "./field-reader.ts";
import type { Parser } from "./values.ts";

/** The description of a field for the reference and the schema. */
interface Facts {
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** The default. */
  readonly default?: string;
  /** The field is required, and this is the problem if it is missing. */
  readonly missing?: string;
}

export interface Field<Value> extends Facts {
  readonly values: Schema | Nested;
  /** Undefined if the field is missing, or if a problem was noted. */
  readonly read: (reader: FieldReader, value: unknown, path: string) => Value | undefined;
}

/** An object with fields of its own. */
export interface Nested {
  /** One object, a list of objects, or a map of objects by names that the user chooses. */
  readonly container: "object" | "list" | "map";
  readonly entriesMax?: number;
  readonly forms: readonly Form[];
}

/** One form that such an object may have. */
export interface Form {
  /** The reference appends this to the path, such as ` with the provider http`. */
  readonly title?: string;
  /** The reference lists the rows at another path. */
  readonly isShownElsewhere?: boolean;
  readonly rows: FieldRows;
}

export type FieldRows = Readonly<Record<string, Field<unknown>>>;

/** The values of fields, by the names of their rows. */
export type ValuesOf<Rows extends FieldRows> = {
  readonly [Name in keyof Rows]?: Rows[Name] extends Field<infer Value> ? Value : never;
};

interface Place {
  readonly fields: Fields;
  readonly path: string;
}

/**
 * Reads the fields of an object by their rows. Problems are noted in the order in which the caller reads the fields.
 */
export function fieldsAt<Values>(
  reader: FieldReader,
  rows: { readonly [Name in keyof Values]: Field<Values[Name]> },
  { fields, path }: Place,
): <Name extends keyof Values & string>(name: Name) => Values[Name] | undefined {
  return (name) => {
    const { missing, read } = rows[name];
    const value = fields.get(name);
    const place = at(path, name);
    if (value !== undefined) return read(reader, value, place);
    if (missing !== undefined) reader.problem(place, missing);
    return undefined;
  };
}

/** A string that `parse` accepts. */
export function textField(parse: Parser<string>, facts: Facts): Field<string> {
  return { ...facts, values: parse.schema, read: (reader, value, path) => reader.text(value, path, parse) };
}

/** A value in the form of a setting, such as a size or a time. */
export function settingField<Value>(parse: Parser<Value>, facts: Facts): Field<Value> {
  return { ...facts, values: parse.schema, read: (reader, value, path) => reader.setting(value, path, parse) };
}

export function choiceField<Choice extends string>(choices: readonly Choice[], facts: Facts): Field<Choice> {
  return { ...facts, values: { enum: choices }, read: (reader, value, path) => reader.choice(value, path, choices) };
}

/** A whole number from `min` to `max`. */
export function countField({ min, max }: { min: number; max: number }, facts: Facts): Field<number> {
  return {
    ...facts,
    values: { type: "integer", minimum: min, maximum: max },
    read: (reader, value, path) => reader.count(value, path, { min, max }),
  };
}

/** A value that the reader of the object parses, because its rules need more than the value. */
export function rawField(values: Schema | Nested, facts: Facts): Field<unknown> {
  return { ...facts, values, read: (_reader, value) => value };
}

/**
 * Reads records of messaging from a listing or an exported file. Unknown fields
 * are ignored, because listings contain more than a transfer needs. A field of the
 * wrong type is refused by name.
 */
import { StartRefusal } from "../../program/refusal.ts";

/** Names and values, ordered by name. */
export type NamedValues = readonly (readonly [name: string, values: readonly string[]])[];

export class RecordFields {
  readonly #fields: ReadonlyMap<string, unknown>;
  readonly #path: string;

  /** `path`: the name of the record in error texts: `schedules[2]`. */
  constructor(value: unknown, path: string) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new StartRefusal(`${path} is not an object`);
    this.#fields = new Map(Object.entries(value));
    this.#path = path;
  }

  text(name: string): string {
    return this.optionalText(name) ?? this.#refuse(name, "is missing");
  }

  /** An empty string counts as missing. */
  optionalText(name: string): string | undefined {
    const value = this.#given(name);
    if (value === undefined || value === "") return undefined;
    return typeof value === "string" ? value : this.#refuse(name, "is not a string");
  }

  /** A whole number, 0 or more. */
  count(name: string): number | undefined {
    const value = this.#given(name);
    if (value === undefined) return undefined;
    return typeof value === "number" && Number.isSafeInteger(value) && value >= 0
      ? value
      : this.#refuse(name, "is not a whole number of 0 or more");
  }

  /** A missing field is false. */
  flag(name: string): boolean {
    const value = this.#given(name) ?? false;
    return typeof value === "boolean" ? value : this.#refuse(name, "is neither true nor false");
  }

  texts(name: string): readonly string[] {
    const value = this.#given(name) ?? [];
    return isTexts(value) ? value : this.#refuse(name, "is not an array of strings");
  }

  objects(name: string): readonly RecordFields[] {
    const value = this.#given(name) ?? [];
    if (!Array.isArray(value)) return this.#refuse(name, "is not an array");
    return value.map((each, index) => new RecordFields(each, `${this.#path}.${name}[${index}]`));
  }

  /** An object whose values are strings or arrays of strings. */
  namedValues(name: string): NamedValues {
    const value = this.#given(name) ?? {};
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return this.#refuse(name, "is not an object");
    return Object.entries(value)
      .map(([key, each]): readonly [string, readonly string[]] => {
        const values: unknown = typeof each === "string" ? [each] : each;
        return isTexts(values)
          ? [key, values]
          : this.#refuse(`${name}.${key}`, "is neither a string nor an array of strings");
      })
      .sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** null counts as absent. */
  #given(name: string): unknown {
    return this.#fields.get(name) ?? undefined;
  }

  #refuse(name: string, what: string): never {
    throw new StartRefusal(`${this.#path}.${name} ${what}`);
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/** The reverse of `headers`; undefined when there are no headers. */
export function valuesObject(values: NamedValues): Readonly<Record<string, readonly string[]>> | undefined {
  // `fromEntries` creates an own property for every name, also for `__proto__`.
  return values.length === 0 ? undefined : Object.fromEntries(values);
}
